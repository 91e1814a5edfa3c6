//! Expressions of a wanted class.

use hadal_ir::{
    Arg, BinaryOp, By, Domain, Expr, ExprId, FunctionId, LocalId, LocalKind, MapId, ParamMode,
    Place, Quantifier, SimpleKind, TypeId, UnaryOp, UnionPart,
};

use super::frames::{Care, Scope};
use super::places::Access;
use super::{Class, MAX_NESTING, Maker};

impl Maker {
    pub(super) fn expr(&mut self, expr: Expr) -> ExprId {
        let site = self.site();
        self.program.add_expr(expr, site)
    }

    /// A value of a class that is defined; `None` where scalarsets have none to offer.
    pub(super) fn value_of(
        &mut self,
        scope: &mut Scope,
        class: Class,
        depth: u32,
    ) -> Option<ExprId> {
        match class {
            Class::Bool => Some(self.truth(scope, depth)),
            Class::Int => Some(self.integer(scope, depth)),
            Class::Element(_) | Class::Union(_) => self.element(scope, class, depth),
        }
    }

    /// A value for a place or parameter of simple type; may be undefined, and mostly fits.
    pub(super) fn value_for(&mut self, scope: &mut Scope, ty: TypeId, depth: u32) -> ExprId {
        let class = self.class(ty);
        match self.upto(19) {
            0 if !self.program.types.has_total_leaf(ty) => return self.expr(Expr::Undefined),
            1..=3 => {
                let wanted = move |_: &Maker, other: TypeId, _: &_| other == ty;
                if let Some((place, _)) = self.place(scope, Access::Read, &wanted) {
                    let read = self.expr(Expr::Read(place));
                    return match self.upto(3) {
                        0 => self.chosen(scope, read, ty, depth),
                        _ => read,
                    };
                }
            }
            4 if scope.care != Care::Never => {
                let wanted = move |_: &Maker, result: Option<TypeId>| result == Some(ty);
                if let Some(function) = self.callable(scope, &wanted)
                    && let Some(args) = self.args(scope, function)
                {
                    return self.expr(Expr::Call { function, args });
                }
            }
            _ => {}
        }
        let Some(value) = self.value_of(scope, class, depth) else {
            return self.expr(Expr::Undefined);
        };
        let Some(simple) = self.program.types.simple(ty).cloned() else {
            return value;
        };
        if class != Class::Int || scope.care == Care::Free || simple.is_empty() {
            return value;
        }
        let inside = self.expr(Expr::InRange {
            value,
            lo: simple.lo,
            hi: simple.hi,
        });
        let other = if simple.hi.checked_sub(simple.lo).is_some_and(|n| n < 100) {
            self.int(simple.lo, simple.hi)
        } else {
            self.int(-3, 3)
        };
        let other = self.expr(Expr::Int(other));
        self.expr(Expr::Cond(inside, value, other))
    }

    /// A choice between a value that may be undefined and another place of the same type, or
    /// undefined.
    fn chosen(&mut self, scope: &mut Scope, value: ExprId, ty: TypeId, depth: u32) -> ExprId {
        let condition = self.truth(scope, depth.saturating_sub(1));
        let wanted = move |_: &Maker, other: TypeId, _: &_| other == ty;
        let other = match self.place(scope, Access::Read, &wanted) {
            Some((place, _)) if self.chance(0.8) => self.expr(Expr::Read(place)),
            _ if self.program.types.has_total_leaf(ty) => value,
            _ => self.expr(Expr::Undefined),
        };
        let (yes, no) = match self.chance(0.5) {
            true => (value, other),
            false => (other, value),
        };
        self.expr(Expr::Cond(condition, yes, no))
    }

    /// What a place of simple type holds; guarded, so that it yields `otherwise` where undefined.
    pub(super) fn guarded(&mut self, scope: &Scope, place: Place, otherwise: ExprId) -> ExprId {
        let read = self.expr(Expr::Read(place.clone()));
        let value = self.expr(Expr::Defined(read));
        if scope.care == Care::Free {
            return value;
        }
        let undefined = self.expr(Expr::IsUndefined(place));
        self.expr(Expr::Cond(undefined, otherwise, value))
    }

    fn simple_place(&mut self, scope: &mut Scope, class: Class) -> Option<(Place, TypeId)> {
        self.place(scope, Access::Read, &move |maker, ty, _| {
            maker.program.types.simple(ty).is_some() && maker.class(ty) == class
        })
    }

    fn truth(&mut self, scope: &mut Scope, depth: u32) -> ExprId {
        let literal = self.chance(0.5);
        let literal = self.expr(Expr::Bool(literal));
        if depth == 0 || self.chance(0.2) {
            return match self.simple_place(scope, Class::Bool) {
                Some((place, _)) => self.guarded(scope, place, literal),
                None => literal,
            };
        }
        let less = depth - 1;
        match self.upto(13) {
            0 => {
                let value = self.truth(scope, less);
                self.expr(Expr::Unary(UnaryOp::Not, value))
            }
            1 | 2 => {
                let parts = (0..2 + self.upto(1))
                    .map(|_| self.truth(scope, less))
                    .collect();
                let and = self.chance(0.5);
                self.expr(if and {
                    Expr::And(parts)
                } else {
                    Expr::Or(parts)
                })
            }
            3..=5 => self.comparison(scope, less),
            6 => {
                let wanted =
                    |maker: &Maker, ty: TypeId, _: &_| maker.program.types.simple(ty).is_some();
                match self.place(scope, Access::Read, &wanted) {
                    Some((place, _)) => self.expr(Expr::IsUndefined(place)),
                    None => literal,
                }
            }
            7 => self.same_bits(scope).unwrap_or(literal),
            8 => self.present(scope).unwrap_or(literal),
            9 | 10 => {
                let quantifier = if self.chance(0.5) {
                    Quantifier::Forall
                } else {
                    Quantifier::Exists
                };
                self.quantified(scope, quantifier, less)
            }
            11 => {
                let (condition, yes, no) = (
                    self.truth(scope, less),
                    self.truth(scope, less),
                    self.truth(scope, less),
                );
                self.expr(Expr::Cond(condition, yes, no))
            }
            12 => self.membership(scope, less).unwrap_or(literal),
            _ => self.call(scope, Class::Bool).unwrap_or(literal),
        }
    }

    fn comparison(&mut self, scope: &mut Scope, depth: u32) -> ExprId {
        let mut classes = vec![Class::Bool, Class::Int, Class::Int];
        if self.config.symmetric {
            let sets = self.pool.scalarsets.clone();
            classes.extend(sets.into_iter().map(Class::Element));
            classes.extend(self.union().map(Class::Union));
        }
        let class = self.pick(&classes).unwrap_or(Class::Int);
        let is_lax = self.chance(0.25);
        let mut side = |scope: &mut Scope| match is_lax {
            true => self.maybe_undefined(scope, class, depth),
            false => self.value_of(scope, class, depth),
        };
        let pair = (side(scope), side(scope));
        let (Some(left), Some(right)) = pair else {
            return self.expr(Expr::Bool(true));
        };
        if is_lax {
            return self.expr(Expr::Binary(BinaryOp::Same, left, right));
        }
        let ordered = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge];
        let equal = [BinaryOp::Eq, BinaryOp::Ne];
        let op = if class == Class::Int && self.chance(0.5) {
            self.pick(&ordered)
        } else {
            self.pick(&equal)
        };
        self.expr(Expr::Binary(op.unwrap_or(BinaryOp::Eq), left, right))
    }

    /// A value of a class that may be undefined.
    fn maybe_undefined(&mut self, scope: &mut Scope, class: Class, depth: u32) -> Option<ExprId> {
        match self.upto(9) {
            0 => Some(self.expr(Expr::Undefined)),
            1..=6 => {
                let (place, ty) = self.simple_place(scope, class)?;
                let read = self.expr(Expr::Read(place));
                Some(match self.upto(3) {
                    0 => self.chosen(scope, read, ty, depth),
                    _ => read,
                })
            }
            _ => self.value_of(scope, class, depth),
        }
    }

    fn same_bits(&mut self, scope: &mut Scope) -> Option<ExprId> {
        let (a, ty) = self.place(scope, Access::Read, &|_, _, _| true)?;
        let symmetric = self.config.symmetric;
        let (b, _) = self.place(scope, Access::Read, &move |maker, other, _| {
            other == ty || !symmetric && maker.program.types.same_layout(ty, other)
        })?;
        Some(self.expr(Expr::SameBits(a, b)))
    }

    fn present(&mut self, scope: &mut Scope) -> Option<ExprId> {
        let wanted = |maker: &Maker, ty: TypeId, _: &_| maker.multiset(ty).is_some();
        let (multiset, ty) = self.place(scope, Access::Read, &wanted)?;
        let (capacity, _) = self.multiset(ty)?;
        let slot = self.slot(scope, &multiset, capacity)?;
        Some(self.expr(Expr::Present { multiset, slot }))
    }

    /// Whether a value lies in a range, or that of a union in a member.
    fn membership(&mut self, scope: &mut Scope, depth: u32) -> Option<ExprId> {
        if self.config.symmetric && self.chance(0.5) {
            let union = self.union()?;
            let value = self.element(scope, Class::Union(union), depth)?;
            let (n_members, hi) = self.union_split(union)?;
            return Some(self.expr(Expr::InRange {
                value,
                lo: n_members,
                hi,
            }));
        }
        let value = self.integer(scope, depth);
        let lo = self.int(-1, 1);
        let hi = lo + self.int(0, 2);
        Some(self.expr(Expr::InRange { value, lo, hi }))
    }

    fn union(&self) -> Option<TypeId> {
        let is_union = |ty: &&TypeId| {
            let simple = self.program.types.simple(**ty);
            simple.is_some_and(|simple| matches!(simple.kind, SimpleKind::Union(_)))
        };
        self.pool.simple.iter().find(is_union).copied()
    }

    /// The number of members of the enumeration in a union, and the greatest value.
    fn union_split(&self, union: TypeId) -> Option<(i64, i64)> {
        let simple = self.program.types.simple(union)?;
        match &simple.kind {
            SimpleKind::Union(parts) => match &parts[0] {
                UnionPart::Enum(members) => Some((members.len() as i64, simple.hi)),
                UnionPart::Scalarset(_) => None,
            },
            _ => None,
        }
    }

    fn integer(&mut self, scope: &mut Scope, depth: u32) -> ExprId {
        let literal = self.int(-2, 4);
        let literal = self.expr(Expr::Int(literal));
        if depth == 0 || self.chance(0.3) {
            return match self.simple_place(scope, Class::Int) {
                Some((place, _)) => self.guarded(scope, place, literal),
                None => literal,
            };
        }
        let less = depth - 1;
        match self.upto(11) {
            0..=3 => self.arithmetic(scope, less),
            4 => {
                let value = self.integer(scope, less);
                let op = if self.chance(0.7) {
                    UnaryOp::Neg
                } else {
                    UnaryOp::BitNot
                };
                self.expr(Expr::Unary(op, value))
            }
            5 => {
                let (condition, yes, no) = (
                    self.truth(scope, less),
                    self.integer(scope, less),
                    self.integer(scope, less),
                );
                self.expr(Expr::Cond(condition, yes, no))
            }
            6 | 7 => self.quantified(scope, Quantifier::Count, less),
            8 => self.call(scope, Class::Int).unwrap_or(literal),
            9 if scope.care != Care::Never => self.remapped(scope, less),
            _ => literal,
        }
    }

    fn arithmetic(&mut self, scope: &mut Scope, depth: u32) -> ExprId {
        let (left, right) = (self.integer(scope, depth), self.integer(scope, depth));
        let ops = [
            BinaryOp::Add,
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::BitAnd,
            BinaryOp::BitOr,
            BinaryOp::BitXor,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::Shl,
            BinaryOp::Shr,
        ];
        let op = self.pick(&ops).unwrap_or(BinaryOp::Add);
        let right = match op {
            // A divisor that is not 0, and a shift that is short.
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr
                if scope.care != Care::Free =>
            {
                let value = self.int(1, 3);
                self.expr(Expr::Int(value))
            }
            _ => right,
        };
        // Products of what a loop accumulates may leave any range.
        if scope.care == Care::Never && matches!(op, BinaryOp::Mul | BinaryOp::Shl) {
            return left;
        }
        self.expr(Expr::Binary(op, left, right))
    }

    /// A value in another numbering; the map has images for -1..=2 only.
    fn remapped(&mut self, scope: &mut Scope, depth: u32) -> ExprId {
        let value = self.integer(scope, depth);
        let value = if scope.care == Care::Free {
            value
        } else {
            let inside = self.expr(Expr::InRange {
                value,
                lo: -1,
                hi: 2,
            });
            let zero = self.expr(Expr::Int(0));
            self.expr(Expr::Cond(inside, value, zero))
        };
        self.expr(Expr::Remap {
            value,
            map: MapId(2),
        })
    }

    /// An element of a scalarset, or a value of a union with one.
    fn element(&mut self, scope: &mut Scope, class: Class, depth: u32) -> Option<ExprId> {
        let fixed: Vec<LocalId> = (scope.fixed.iter().copied())
            .filter(|id| self.class(scope.frame.local(*id).kind.ty()) == class)
            .collect();
        let fallback = match class {
            Class::Union(union) if self.chance(0.5) => {
                let (n_members, _) = self.union_split(union)?;
                let value = self.int(0, n_members - 1);
                Some(self.expr(Expr::Int(value)))
            }
            _ => self.pick(&fixed).map(|local| self.read_fixed(local)),
        };
        // The two maps of the program go between the first scalarset and the union.
        if depth > 0 && self.chance(0.3) {
            let first = Class::Element(self.pool.scalarsets[0]);
            match class {
                Class::Union(_) => {
                    if let Some(value) = self.element(scope, first, depth - 1) {
                        let map = MapId(0);
                        return Some(self.expr(Expr::Remap { value, map }));
                    }
                }
                _ if class == first && scope.care == Care::Free => {
                    let union = Class::Union(self.union()?);
                    if let Some(value) = self.element(scope, union, depth - 1) {
                        let map = MapId(1);
                        return Some(self.expr(Expr::Remap { value, map }));
                    }
                }
                _ => {}
            }
        }
        if depth > 0
            && self.chance(0.1)
            && let Some(value) = self.call(scope, class)
        {
            return Some(value);
        }
        match (self.simple_place(scope, class), fallback) {
            (Some((place, _)), Some(fallback)) if self.chance(0.6) => {
                Some(self.guarded(scope, place, fallback))
            }
            (Some((place, _)), None) if scope.care == Care::Free => {
                let read = self.expr(Expr::Read(place));
                Some(self.expr(Expr::Defined(read)))
            }
            (_, fallback) => fallback,
        }
    }

    /// The defined value of a call.
    fn call(&mut self, scope: &mut Scope, class: Class) -> Option<ExprId> {
        if scope.care == Care::Never {
            return None;
        }
        let wanted = move |maker: &Maker, result: Option<TypeId>| {
            result.is_some_and(|ty| {
                maker.program.types.simple(ty).is_some() && maker.class(ty) == class
            })
        };
        let function = self.callable(scope, &wanted)?;
        let args = self.args(scope, function)?;
        let call = self.expr(Expr::Call { function, args });
        Some(self.expr(Expr::Defined(call)))
    }

    /// A function that may be called here, by what it returns.
    pub(super) fn callable(
        &mut self,
        scope: &Scope,
        wanted: &dyn Fn(&Maker, Option<TypeId>) -> bool,
    ) -> Option<FunctionId> {
        if self.nesting >= MAX_NESTING {
            return None;
        }
        let found: Vec<FunctionId> = (self.functions.iter())
            .filter(|made| made.pure || !scope.pure)
            .map(|made| made.id)
            .filter(|id| wanted(self, self.program.function(*id).result))
            .collect();
        self.pick(&found)
    }

    /// Arguments for a call, where there is something of the right type for each reference.
    pub(super) fn args(&mut self, scope: &mut Scope, function: FunctionId) -> Option<Vec<Arg>> {
        let function = self.program.function(function);
        let params: Vec<(ParamMode, TypeId)> = (function.params.iter())
            .zip(&function.frame.locals)
            .map(|(mode, local)| (*mode, local.kind.ty()))
            .collect();
        self.nesting += 1;
        let args = self.args_for(scope, &params);
        self.nesting -= 1;
        args
    }

    fn args_for(&mut self, scope: &mut Scope, params: &[(ParamMode, TypeId)]) -> Option<Vec<Arg>> {
        let mut args = Vec::new();
        for &(mode, ty) in params {
            let arg = match mode {
                ParamMode::Value if self.program.types.simple(ty).is_some() => {
                    Arg::Value(self.value_for(scope, ty, 1))
                }
                ParamMode::Value => {
                    let wanted = move |_: &Maker, other: TypeId, _: &_| other == ty;
                    Arg::Copy(self.place(scope, Access::Read, &wanted)?.0)
                }
                ParamMode::ConstRef => {
                    let wanted = move |_: &Maker, other: TypeId, _: &_| other == ty;
                    Arg::Ref(self.place(scope, Access::Read, &wanted)?.0)
                }
                ParamMode::Ref => {
                    let wanted = move |_: &Maker, other: TypeId, _: &_| other == ty;
                    Arg::Ref(self.place(scope, Access::Write, &wanted)?.0)
                }
            };
            args.push(arg);
        }
        Some(args)
    }

    fn quantified(&mut self, scope: &mut Scope, quantifier: Quantifier, depth: u32) -> ExprId {
        let (ty, domain) = self.domain(scope);
        let outer = scope.clone();
        let var = scope.frame.add("i", LocalKind::Value(ty));
        scope.fixed.push(var);
        if matches!(self.class(ty), Class::Element(_) | Class::Union(_)) {
            scope.care = Care::Never;
        }
        let body = self.truth(scope, depth);
        scope.leave(outer);
        self.expr(Expr::Quantified {
            quantifier,
            var,
            domain,
            body,
        })
    }

    /// A domain with the type of the variable that runs over it.
    pub(super) fn domain(&mut self, scope: &mut Scope) -> (TypeId, Domain) {
        let integer = self.pool.integer.expect("types are made first");
        if self.chance(0.6) {
            let from = self.pool.simple.clone();
            let ty = self.pick(&from).unwrap_or(integer);
            return (ty, Domain::Type(ty));
        }
        let (from, to) = (self.int(-1, 2), self.int(-1, 3));
        let (from, to) = (self.expr(Expr::Int(from)), self.expr(Expr::Int(to)));
        let to = if self.chance(0.2) {
            let value = self.integer(scope, 0);
            let inside = self.expr(Expr::InRange {
                value,
                lo: -4,
                hi: 8,
            });
            self.expr(Expr::Cond(inside, value, to))
        } else {
            to
        };
        let by = match self.upto(5) {
            0 => By::Constant(-1),
            1 => By::Constant(2),
            2 => By::Toward,
            3 if scope.care == Care::Free => By::Step(self.integer(scope, 0)),
            3 => {
                // The direction that leads to the end.
                let (up, down) = (self.expr(Expr::Int(1)), self.expr(Expr::Int(-1)));
                let order = self.expr(Expr::Binary(BinaryOp::Le, from, to));
                By::Step(self.expr(Expr::Cond(order, up, down)))
            }
            _ => By::Constant(1),
        };
        (integer, Domain::Span { from, to, by })
    }
}
