//! Types and state variables.

use hadal_ir::{
    Field, ScalarsetId, Segment, Simple, SimpleKind, Type, TypeId, UnionPart, ValueMap, Var,
};

use super::{Class, Maker};

impl Maker {
    pub(super) fn make_types(&mut self) {
        let types = &mut self.program.types;
        let boolean = types.add(Type::Simple(Simple::boolean()));
        self.pool.boolean = Some(boolean);
        self.pool.integer = Some(types.add(Type::Simple(Simple::integer())));
        self.pool.simple.push(boolean);
        for _ in 0..2 {
            let lo = self.int(-1, 1);
            let hi = lo + self.int(0, 3);
            self.add_simple(Simple::range(lo, hi));
        }
        let members: Vec<String> = (0..1 + self.upto(2)).map(|n| format!("M{n}")).collect();
        let hi = members.len() as i64 - 1;
        self.add_simple(Simple {
            lo: 0,
            hi,
            kind: SimpleKind::Enum(members),
            is_total: false,
        });
        for number in 0..1 + self.upto(1) {
            let size = 2 + u32::from(self.chance(0.4));
            let set = self.program.types.add_scalarset(format!("S{number}"), size);
            self.pool.scalarsets.push(set);
            let ty = self.add_simple(Simple {
                lo: 0,
                hi: i64::from(size) - 1,
                kind: SimpleKind::Scalarset(set),
                is_total: false,
            });
            // Twice in the pool, for scalarsets are what makes models interesting.
            self.pool.simple.push(ty);
        }
        if self.config.totals > 0.0 {
            self.make_totals();
        }
        self.make_union();
        self.make_maps();
        for _ in 0..4 {
            self.make_aggregate();
        }
    }

    fn add_simple(&mut self, simple: Simple) -> TypeId {
        // Nothing is drawn where there are none, so that seeds keep their programs.
        let totals = self.config.totals;
        let may_be_total = matches!(simple.kind, SimpleKind::Range | SimpleKind::Enum(_))
            && simple.contains(0)
            && totals > 0.0;
        let simple = match may_be_total && self.chance(totals) {
            true => simple.total(),
            false => simple,
        };
        let ty = self.program.types.add(Type::Simple(simple));
        self.pool.simple.push(ty);
        ty
    }

    /// Total types as other languages have them: bits, bytes, and a few with a sign.
    fn make_totals(&mut self) {
        let ranges = [
            (0, 0),
            (0, 3),
            (0, 5),
            (0, 255),
            (-1, 0),
            (-2, 1),
            (-3, 2),
            (-128, 127),
        ];
        for _ in 0..3 {
            let (lo, hi) = self.pick(&ranges).unwrap_or((0, 1));
            self.add_simple(Simple::range(lo, hi).total());
        }
        self.add_simple(Simple::boolean().total());
    }

    fn make_union(&mut self) {
        let set = self.pool.scalarsets[0];
        let n_members = 1 + self.upto(1);
        let parts = vec![
            UnionPart::Enum((0..n_members).map(|n| format!("U{n}")).collect()),
            UnionPart::Scalarset(set),
        ];
        let size = i64::from(self.program.types.scalarsets[set.index()].size);
        let union = self.add_simple(Simple {
            lo: 0,
            hi: n_members as i64 + size - 1,
            kind: SimpleKind::Union(parts),
            is_total: false,
        });
        // The scalarset into the union and back.
        let element = self.element_type(set);
        let (lo, hi) = (n_members as i64, n_members as i64 + size - 1);
        self.program.maps.push(ValueMap {
            segments: vec![Segment {
                lo: 0,
                hi: size - 1,
                to: lo,
            }],
            from: element,
        });
        self.program.maps.push(ValueMap {
            segments: vec![Segment { lo, hi, to: 0 }],
            from: union,
        });
    }

    fn make_maps(&mut self) {
        let from = self.pool.simple[1];
        let (to, other) = (self.int(-1, 2), self.int(-1, 2));
        self.program.maps.push(ValueMap {
            segments: vec![
                Segment { lo: 1, hi: 2, to },
                Segment {
                    lo: -1,
                    hi: 0,
                    to: other,
                },
            ],
            from,
        });
    }

    /// The type of the elements of a scalarset.
    pub(super) fn element_type(&self, set: ScalarsetId) -> TypeId {
        let is_it = |ty: &&TypeId| {
            let simple = self.program.types.simple(**ty);
            simple.is_some_and(|simple| simple.kind == SimpleKind::Scalarset(set))
        };
        (self.pool.simple.iter().find(is_it))
            .copied()
            .expect("every scalarset has a type in the pool")
    }

    fn make_aggregate(&mut self) {
        let parts: Vec<TypeId> = (self.pool.simple.iter())
            .chain(&self.pool.aggregates)
            .copied()
            .filter(|ty| self.program.types.bits(*ty) <= 6)
            .collect();
        let Some(element) = self.pick(&parts) else {
            return;
        };
        let ty = match self.upto(3) {
            0 => {
                let mut fields = Vec::new();
                for number in 0..1 + self.upto(2) {
                    if let Some(ty) = self.pick(&parts) {
                        let name = format!("f{number}");
                        fields.push(Field { name, ty });
                    }
                }
                Type::Record { fields }
            }
            1 => {
                let ty = Type::Multiset {
                    capacity: 1 + self.upto(1) as u32,
                    element,
                };
                let id = self.program.types.add(ty);
                self.pool.multisets.push(id);
                self.pool.aggregates.push(id);
                return;
            }
            _ => {
                let simple = self.pool.simple.clone();
                let Some(index) = self.pick(&simple) else {
                    return;
                };
                Type::Array { index, element }
            }
        };
        let id = self.program.types.add(ty);
        self.pool.aggregates.push(id);
    }

    pub(super) fn make_vars(&mut self) {
        let mut left = self.config.max_state_bits;
        // An aggregate first, or the bits are soon gone for simple ones.
        let least = self.config.max_vars.div_ceil(2);
        for number in 0..least + self.upto(self.config.max_vars - least) {
            let aggregate = number == 0 || self.chance(0.4);
            let from = if aggregate && self.chance(0.4) && !self.pool.multisets.is_empty() {
                &self.pool.multisets
            } else if aggregate {
                &self.pool.aggregates
            } else {
                &self.pool.simple
            };
            let fitting: Vec<TypeId> = (from.iter().copied())
                .filter(|ty| self.program.types.bits(*ty) <= left)
                .collect();
            if let Some(ty) = self.pick(&fitting) {
                left -= self.program.types.bits(ty);
                let name = format!("x{number}");
                self.program.vars.push(Var { name, ty });
            }
        }
        if self.program.vars.is_empty()
            && let Some(ty) = self.pool.boolean
            && self.program.types.bits(ty) <= left
        {
            self.program.vars.push(Var {
                name: "x".to_owned(),
                ty,
            });
        }
    }

    pub(super) fn make_registers(&mut self) {
        let n = 1 + self.upto(1);
        for number in 0..n {
            let hi = self.int(1, 3);
            let ty = self.add_simple(Simple::range(0, hi).total());
            let name = format!("r{number}");
            self.program.vars.push(Var { name, ty });
        }
        self.program.n_registers = n;
    }

    /// What the values of a simple type may be used for.
    pub(super) fn class(&self, ty: TypeId) -> Class {
        match self.program.types.simple(ty).map(|simple| &simple.kind) {
            Some(SimpleKind::Boolean) => Class::Bool,
            Some(SimpleKind::Scalarset(set)) if self.config.symmetric => Class::Element(*set),
            Some(SimpleKind::Union(_)) if self.config.symmetric => Class::Union(ty),
            _ => Class::Int,
        }
    }

    /// Whether a type holds elements that must stay interchangeable, as leaves.
    pub(super) fn has_elements(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        match types.get(ty) {
            Type::Simple(_) => matches!(self.class(ty), Class::Element(_) | Class::Union(_)),
            // Clearing empties multisets, so their elements do not matter.
            Type::Multiset { .. } => false,
            Type::Array { element, .. } => self.has_elements(*element),
            Type::Record { fields } => fields.iter().any(|field| self.has_elements(field.ty)),
        }
    }
}
