//! Places: every part of what is in scope can be chosen.

use hadal_ir::{Expr, LocalId, LocalKind, Place, Projection, Root, SiteId, Type, TypeId};

use super::frames::{Care, Scope};
use super::{Class, MAX_NESTING, Maker};

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// To be bound to a reference that could be written through.
    Bind,
}

/// A part of something in scope, with the kinds of steps that lead to it.
#[derive(Clone)]
struct Part {
    root: Root,
    ty: TypeId,
    /// Fields as they are, arrays and multisets by type, for an index is chosen later.
    steps: Vec<Step>,
}

#[derive(Clone, Copy)]
enum Step {
    Field(u32),
    Element(TypeId),
    Slot(u32),
}

impl Part {
    fn leads_through_slot(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step, Step::Slot(_)))
    }
}

/// Which parts will do.
type Wanted<'a> = &'a dyn Fn(&Maker, TypeId, &Root) -> bool;

impl Maker {
    /// A random place in scope whose type is wanted.
    pub(super) fn place(
        &mut self,
        scope: &mut Scope,
        access: Access,
        wanted: Wanted<'_>,
    ) -> Option<(Place, TypeId)> {
        let mut parts: Vec<Part> = Vec::new();
        for (root, ty) in self.roots(scope, access) {
            self.parts(
                Part {
                    root,
                    ty,
                    steps: Vec::new(),
                },
                &mut parts,
            );
        }
        parts.retain(|part| wanted(self, part.ty, &part.root));
        if access != Access::Read && scope.care != Care::Free {
            // A slot that is written must hold an element.
            parts.retain(|part| !part.leads_through_slot());
        }
        // Parts without a usable index are given up; a few tries are enough.
        for _ in 0..3 {
            let part = self.pick(&parts)?;
            if let Some(place) = self.reach(scope, &part) {
                return Some((place, part.ty));
            }
        }
        None
    }

    /// A random part below a place that is given, to be written.
    pub(super) fn part_of(
        &mut self,
        scope: &mut Scope,
        place: &Place,
        ty: TypeId,
        wanted: Wanted<'_>,
    ) -> Option<(Place, TypeId)> {
        let mut parts = Vec::new();
        self.parts(
            Part {
                root: place.root.clone(),
                ty,
                steps: Vec::new(),
            },
            &mut parts,
        );
        parts.retain(|part| wanted(self, part.ty, &part.root));
        if scope.care != Care::Free {
            parts.retain(|part| !part.leads_through_slot());
        }
        let part = self.pick(&parts)?;
        self.reach(scope, &part).map(|place| (place, part.ty))
    }

    fn roots(&mut self, scope: &mut Scope, access: Access) -> Vec<(Root, TypeId)> {
        let mut roots: Vec<(Root, TypeId)> = Vec::new();
        let write = access == Access::Write;
        if !(write && scope.pure) {
            for (number, var) in self.program.vars.iter().enumerate() {
                let root = Root::Var(hadal_ir::VarId::new(number));
                // State matters more than locals do.
                roots.push((root.clone(), var.ty));
                roots.push((root, var.ty));
            }
        }
        let local = |id: LocalId| (Root::Local(id), scope.frame.local(id).kind.ty());
        roots.extend(scope.values.iter().copied().map(local));
        if access == Access::Read {
            roots.extend(scope.fixed.iter().copied().map(local));
        }
        for &id in &scope.refs {
            let allowed = match scope.frame.local(id).kind {
                LocalKind::ConstRef(_) => access == Access::Read,
                _ => !write || !scope.pure || scope.own_refs.contains(&id),
            };
            if allowed {
                roots.push(local(id));
            }
        }
        if access == Access::Read && scope.care != Care::Never && self.chance(0.2) {
            roots.extend(self.result_root(scope));
        }
        roots
    }

    /// The aggregate a call returns, kept in a local of its own.
    fn result_root(&mut self, scope: &mut Scope) -> Option<(Root, TypeId)> {
        let wanted = |maker: &Maker, result: Option<TypeId>| {
            result.is_some_and(|ty| maker.program.types.simple(ty).is_none())
        };
        let function = self.callable(scope, &wanted)?;
        let args = self.args(scope, function)?;
        let ty = self.program.function(function).result?;
        let into = scope.frame.add("result", LocalKind::Value(ty));
        let root = Root::Result {
            function,
            args,
            into,
            site: SiteId(0),
        };
        Some((root, ty))
    }

    /// Collects a part and the parts below it.
    fn parts(&self, part: Part, found: &mut Vec<Part>) {
        let below = |ty: TypeId, step: Step| {
            let mut inner = part.clone();
            inner.ty = ty;
            inner.steps.push(step);
            inner
        };
        match self.program.types.get(part.ty) {
            Type::Simple(_) => {}
            Type::Array { index, element } => {
                self.parts(below(*element, Step::Element(*index)), found);
            }
            Type::Record { fields } => {
                for (number, field) in fields.iter().enumerate() {
                    self.parts(below(field.ty, Step::Field(number as u32)), found);
                }
            }
            Type::Multiset { capacity, element } => {
                self.parts(below(*element, Step::Slot(*capacity)), found);
            }
        }
        found.push(part);
    }

    /// The place of a part, with an index for each array on the way.
    fn reach(&mut self, scope: &mut Scope, part: &Part) -> Option<Place> {
        let mut place = Place {
            root: part.root.clone(),
            path: Vec::new(),
        };
        for step in &part.steps {
            let projection = match step {
                Step::Field(number) => Projection::Field(*number),
                Step::Element(index) => Projection::Index(self.index(scope, *index)?),
                Step::Slot(capacity) => Projection::Index(self.slot(scope, &place, *capacity)?),
            };
            place.path.push(projection);
        }
        Some(place)
    }

    /// An index that is there, unless faults are wanted.
    fn index(&mut self, scope: &mut Scope, ty: TypeId) -> Option<hadal_ir::ExprId> {
        let class = self.class(ty);
        if scope.care == Care::Free && self.nesting < MAX_NESTING {
            self.nesting += 1;
            let value = self.value_of(scope, class, 1);
            self.nesting -= 1;
            return value;
        }
        let fixed: Vec<LocalId> = (scope.fixed.iter().copied())
            .filter(|id| scope.frame.local(*id).kind.ty() == ty)
            .collect();
        if self.chance(0.7)
            && let Some(local) = self.pick(&fixed)
        {
            return Some(self.read_fixed(local));
        }
        match class {
            Class::Bool => {
                let value = self.chance(0.5);
                Some(self.expr(Expr::Bool(value)))
            }
            Class::Int => {
                let simple = self.program.types.simple(ty)?;
                let (lo, hi) = (simple.lo, simple.hi);
                let value = self.int(lo, hi);
                Some(self.expr(Expr::Int(value)))
            }
            Class::Element(_) | Class::Union(_) => {
                let local = self.pick(&fixed)?;
                Some(self.read_fixed(local))
            }
        }
    }

    /// The value of a loop variable or parameter, which always has one.
    pub(super) fn read_fixed(&mut self, local: LocalId) -> hadal_ir::ExprId {
        let read = self.expr(Expr::Read(Place::local(local)));
        self.expr(Expr::Defined(read))
    }

    /// The number of a slot of a multiset.
    pub(super) fn slot(
        &mut self,
        scope: &mut Scope,
        multiset: &Place,
        capacity: u32,
    ) -> Option<hadal_ir::ExprId> {
        let chosen: Vec<LocalId> = (scope.slots.iter())
            .filter(|(_, place)| self.config.symmetric.then_some(place == multiset) != Some(false))
            .filter(|(_, place)| place == multiset || scope.care == Care::Free)
            .map(|(local, _)| *local)
            .collect();
        if let Some(local) = self.pick(&chosen)
            && self.chance(0.8)
        {
            return Some(self.read_fixed(local));
        }
        if self.config.symmetric {
            // Which element stands in a numbered slot depends on the order of elements.
            return None;
        }
        let most = i64::from(capacity) - i64::from(scope.care != Care::Free);
        let value = self.int(0, most);
        Some(self.expr(Expr::Int(value)))
    }

    /// Capacity and element of a multiset type.
    pub(super) fn multiset(&self, ty: TypeId) -> Option<(u32, TypeId)> {
        match self.program.types.get(ty) {
            Type::Multiset { capacity, element } => Some((*capacity, *element)),
            _ => None,
        }
    }
}
