//! Statements.

use hadal_ir::{
    Arg, BinaryOp, Block, CoverPoint, Expr, ExprId, LocalId, LocalKind, Place, PutItem,
    ReturnValue, Root, Stmt, StmtKind, Type, TypeId, UnaryOp,
};

use hadal_model::FaultKind;

use super::frames::{Care, Scope};
use super::places::Access;
use super::{Class, Maker};

impl Maker {
    pub(super) fn stmt(&mut self, kind: StmtKind) -> Stmt {
        let site = self.site();
        Stmt { kind, site }
    }

    /// Some statements; what they bind is forgotten after them.
    pub(super) fn block(&mut self, scope: &mut Scope, depth: u32) -> Block {
        let outer = scope.clone();
        let mut block = Vec::new();
        for _ in 0..self.upto(self.config.block_len) {
            self.choose_care(scope);
            if let Some(stmts) = self.statements(scope, depth) {
                block.extend(stmts);
            }
        }
        scope.leave(outer);
        block
    }

    fn statements(&mut self, scope: &mut Scope, depth: u32) -> Option<Vec<Stmt>> {
        let one = |stmt: Stmt| vec![stmt];
        let top = self.config.expr_depth;
        match self.upto(25) {
            0..=6 => self.write_stmt(scope, None).map(one),
            7 | 8 if depth > 0 => Some(one(self.if_stmt(scope, depth - 1))),
            9 | 10 if depth > 0 => self.for_stmt(scope, depth - 1).map(one),
            11 if depth > 0 => self.while_stmts(scope, depth - 1),
            12 | 13 => self.bind(scope).map(one),
            14 | 15 => {
                let function = self.callable(scope, &|_, _| true)?;
                let args = self.args(scope, function)?;
                Some(one(self.stmt(StmtKind::Call { function, args })))
            }
            16 | 17 => self.multiset_stmt(scope).map(one),
            18 => {
                let condition = self.value_of(scope, Class::Bool, top)?;
                let condition = self.weaken(condition);
                let goes_on = self.config.steps && !scope.pure && self.chance(0.5);
                let message = self.name("assertion");
                Some(one(self.stmt(StmtKind::Assert {
                    condition,
                    message,
                    goes_on,
                })))
            }
            19 if !scope.pure => {
                let (a, b) = (
                    self.value_of(scope, Class::Bool, top)?,
                    self.value_of(scope, Class::Bool, 1)?,
                );
                let condition = self.expr(Expr::Or(vec![a, b]));
                Some(one(self.stmt(StmtKind::Assume(condition))))
            }
            20 if !scope.pure => {
                let condition = self.value_of(scope, Class::Bool, top)?;
                let point = self.program.cover_points.len() as u32;
                let (name, site) = (self.name("cover"), self.site());
                self.program.cover_points.push(CoverPoint { name, site });
                Some(one(self.stmt(StmtKind::Cover { point, condition })))
            }
            21 => self.put(scope).map(one),
            22 => self.local_assign(scope).map(one),
            23 if depth < self.config.stmt_depth => Some(one(self.return_stmt(scope))),
            24 if self.chance(self.config.faults) => {
                let kind = match self.config.steps && self.chance(0.5) {
                    true => FaultKind::ProcessLimit,
                    false => FaultKind::Error,
                };
                let message = self.name("error");
                Some(one(self.stmt(StmtKind::Error { kind, message })))
            }
            _ => None,
        }
    }

    /// True in most cases, but evaluated in full.
    fn weaken(&mut self, condition: ExprId) -> ExprId {
        if self.chance(self.config.faults) {
            return condition;
        }
        let always = self.expr(Expr::Bool(true));
        self.expr(Expr::Or(vec![condition, always]))
    }

    /// Writes to something: a simple place, or a whole aggregate; below `target` if given.
    pub(super) fn write_stmt(&mut self, scope: &mut Scope, target: Option<Place>) -> Option<Stmt> {
        let found = match target {
            Some(place) => {
                let Root::Var(var) = place.root else {
                    return None;
                };
                let ty = self.program.var(var).ty;
                self.part_of(scope, &place, ty, &|maker, ty, _| {
                    maker.program.types.simple(ty).is_some()
                })
            }
            None => {
                let only_simple = self.chance(0.8);
                self.place(scope, Access::Write, &move |maker, ty, _| {
                    !only_simple || maker.program.types.simple(ty).is_some()
                })
            }
        };
        let (place, ty) = found?;
        let kind = match self.upto(9) {
            0 if !self.program.types.has_total_leaf(ty) => StmtKind::Undefine(place),
            1 if !self.has_elements(ty) => StmtKind::Clear(place),
            _ if self.program.types.simple(ty).is_some() => {
                let value = self.value_for(scope, ty, self.config.expr_depth);
                StmtKind::Assign { place, value }
            }
            _ => {
                let symmetric = self.config.symmetric;
                let (from, _) = self.place(scope, Access::Read, &move |maker, other, _| {
                    other == ty || !symmetric && maker.program.types.same_layout(ty, other)
                })?;
                StmtKind::Copy { to: place, from }
            }
        };
        Some(self.stmt(kind))
    }

    /// Moves a variable on: to the next value or to that of a parameter. Random values alone would
    /// hardly lead anywhere new.
    pub(super) fn step_stmt(&mut self, scope: &mut Scope) -> Option<Stmt> {
        // A multiset first: without elements, rules that choose among them never fire.
        if self.chance(0.3)
            && let Some(stmt) = self.multiset_stmt(scope)
        {
            return Some(stmt);
        }
        let (place, ty) = self.place(scope, Access::Write, &|maker, ty, root| {
            // Slots that hold nothing forget what is written to them.
            maker.program.types.simple(ty).is_some()
                && matches!(root, Root::Var(var)
                    if !maker.program.types.has_multiset(maker.program.var(*var).ty))
        })?;
        let same: Vec<LocalId> = (scope.fixed.iter().copied())
            .filter(|id| scope.frame.local(*id).kind.ty() == ty)
            .collect();
        let value = if self.chance(0.4)
            && let Some(local) = self.pick(&same)
        {
            self.read_fixed(local)
        } else {
            self.next_value(scope, &place, ty)?
        };
        Some(self.stmt(StmtKind::Assign { place, value }))
    }

    /// The value after the one in a place, the first one after the last; where elements have no
    /// order, that of a parameter.
    fn next_value(&mut self, scope: &mut Scope, place: &Place, ty: TypeId) -> Option<ExprId> {
        let (lo, hi) = match self.program.types.simple(ty) {
            Some(simple) if !simple.is_empty() => (simple.lo, simple.hi),
            _ => return None,
        };
        match self.class(ty) {
            Class::Bool => {
                let first = self.expr(Expr::Bool(true));
                let value = self.guarded(scope, place.clone(), first);
                Some(self.expr(Expr::Unary(UnaryOp::Not, value)))
            }
            Class::Int => {
                let first = self.expr(Expr::Int(lo));
                let last = self.expr(Expr::Int(hi));
                let one = self.expr(Expr::Int(1));
                let value = self.guarded(scope, place.clone(), last);
                let next = self.expr(Expr::Binary(BinaryOp::Add, value, one));
                let value = next;
                let inside = self.expr(Expr::InRange { value, lo, hi });
                Some(self.expr(Expr::Cond(inside, next, first)))
            }
            class => self.value_of(scope, class, 1),
        }
    }

    /// An assignment to a simple local, or to a part of one.
    pub(super) fn local_assign(&mut self, scope: &mut Scope) -> Option<Stmt> {
        if scope.values.is_empty() && self.chance(0.5) {
            let from = self.pool.simple.clone();
            let ty = self.pick(&from)?;
            scope
                .values
                .push(scope.frame.add("z", LocalKind::Value(ty)));
        }
        let values = scope.values.clone();
        let (place, ty) = self.place(scope, Access::Write, &move |maker, ty, root| {
            let own = matches!(root, Root::Local(id) if values.contains(id));
            own && maker.program.types.simple(ty).is_some()
        })?;
        let value = self.value_for(scope, ty, self.config.expr_depth);
        Some(self.stmt(StmtKind::Assign { place, value }))
    }

    fn if_stmt(&mut self, scope: &mut Scope, depth: u32) -> Stmt {
        let mut arms = Vec::new();
        for _ in 0..1 + self.upto(1) {
            if let Some(condition) = self.value_of(scope, Class::Bool, self.config.expr_depth) {
                arms.push((condition, self.block(scope, depth)));
            }
        }
        let otherwise = self.block(scope, depth);
        self.stmt(StmtKind::If { arms, otherwise })
    }

    fn for_stmt(&mut self, scope: &mut Scope, depth: u32) -> Option<Stmt> {
        let (ty, domain) = self.domain(scope);
        let outer = scope.clone();
        let var = scope.frame.add("i", LocalKind::Value(ty));
        scope.fixed.push(var);
        let body = match self.class(ty) {
            Class::Element(_) | Class::Union(_) => self.unordered_body(scope, ty),
            _ => Some(self.block(scope, depth)),
        };
        scope.leave(outer);
        let body = body?;
        Some(self.stmt(StmtKind::For { var, domain, body }))
    }

    /// The body of a loop whose order must not show: it sets a part of an array at the loop's own
    /// index, to something that no other round changes.
    fn unordered_body(&mut self, scope: &mut Scope, ty: TypeId) -> Option<Block> {
        if scope.pure {
            return None;
        }
        let arrays: Vec<(Place, TypeId)> = (self.program.vars.iter().enumerate())
            .filter_map(|(number, var)| match self.program.types.get(var.ty) {
                Type::Array { index, element } if *index == ty => {
                    Some((Place::var(hadal_ir::VarId::new(number)), *element))
                }
                _ => None,
            })
            .collect();
        let (array, element) = self.pick(&arrays)?;
        let var = *scope.fixed.last()?;
        let index = self.read_fixed(var);
        let place = array.at(index);
        let kind = match self.program.types.simple(element).cloned() {
            Some(simple) if self.chance(0.7) => {
                let (lo, hi) = (simple.lo, simple.hi);
                let value = match self.class(element) {
                    Class::Bool => {
                        let value = self.chance(0.5);
                        Expr::Bool(value)
                    }
                    Class::Int => Expr::Int(self.int(lo, hi)),
                    _ if element == ty => Expr::Read(Place::local(var)),
                    _ => Expr::Undefined,
                };
                let value = self.expr(value);
                StmtKind::Assign { place, value }
            }
            _ if self.has_elements(element) && self.program.types.has_total_leaf(element) => {
                return None;
            }
            _ if self.has_elements(element) => StmtKind::Undefine(place),
            _ => StmtKind::Clear(place),
        };
        Some(vec![self.stmt(kind)])
    }

    /// A loop with a counter, so that it ends.
    fn while_stmts(&mut self, scope: &mut Scope, depth: u32) -> Option<Vec<Stmt>> {
        let outer = scope.clone();
        let integer = self.pool.integer?;
        let counter = scope.frame.add("rounds", LocalKind::Value(integer));
        scope.fixed.push(counter);
        let (zero, most) = (self.expr(Expr::Int(0)), self.expr(Expr::Int(3)));
        let before = self.stmt(StmtKind::Assign {
            place: Place::local(counter),
            value: zero,
        });
        let rounds = self.read_fixed(counter);
        let below = self.expr(Expr::Binary(BinaryOp::Lt, rounds, most));
        let asked = self.value_of(scope, Class::Bool, self.config.expr_depth)?;
        let condition = if scope.care == Care::Free && self.chance(0.1) {
            asked
        } else {
            self.expr(Expr::And(vec![below, asked]))
        };
        let mut body = self.block(scope, depth);
        let one = self.expr(Expr::Int(1));
        let more = self.expr(Expr::Binary(BinaryOp::Add, rounds, one));
        body.push(self.stmt(StmtKind::Assign {
            place: Place::local(counter),
            value: more,
        }));
        scope.leave(outer);
        Some(vec![before, self.stmt(StmtKind::While { condition, body })])
    }

    /// Binds a new reference to something in scope.
    pub(super) fn bind(&mut self, scope: &mut Scope) -> Option<Stmt> {
        let constant = self.chance(0.5);
        let access = if constant { Access::Read } else { Access::Bind };
        let (place, ty) = self.place(scope, access, &|_, _, _| true)?;
        let kind = if constant {
            LocalKind::ConstRef(ty)
        } else {
            LocalKind::Ref(ty)
        };
        let local = scope.frame.add("a", kind);
        scope.refs.push(local);
        Some(self.stmt(StmtKind::Bind { local, place }))
    }

    fn multiset_stmt(&mut self, scope: &mut Scope) -> Option<Stmt> {
        let wanted = |maker: &Maker, ty: TypeId, _: &_| maker.multiset(ty).is_some();
        if self.chance(0.3) {
            let slots = scope.slots.clone();
            let (multiset, slot) = if let Some((local, place)) = self.pick(&slots)
                && !scope.pure
            {
                (place, self.read_fixed(local))
            } else {
                let (place, ty) = self.place(scope, Access::Write, &wanted)?;
                let (capacity, _) = self.multiset(ty)?;
                let slot = self.slot(scope, &place, capacity)?;
                (place, slot)
            };
            let remove = self.stmt(StmtKind::MultisetRemove {
                multiset: multiset.clone(),
                slot,
            });
            if scope.care == Care::Free {
                return Some(remove);
            }
            let present = self.expr(Expr::Present { multiset, slot });
            return Some(self.stmt(StmtKind::If {
                arms: vec![(present, vec![remove])],
                otherwise: Vec::new(),
            }));
        }
        let (multiset, ty) = self.place(scope, Access::Write, &wanted)?;
        let (capacity, element) = self.multiset(ty)?;
        let value = if self.program.types.simple(element).is_some() {
            Arg::Value(self.value_for(scope, element, 1))
        } else {
            let same = move |_: &Maker, other: TypeId, _: &_| other == element;
            let (from, _) = self.place(scope, Access::Read, &same)?;
            Arg::Copy(from)
        };
        let add = self.stmt(StmtKind::MultisetAdd {
            multiset: multiset.clone(),
            value,
        });
        if scope.care == Care::Free {
            return Some(add);
        }
        // Only where a slot is free; which one does not matter.
        let mut free = Vec::new();
        for slot in 0..capacity {
            let slot = self.expr(Expr::Int(i64::from(slot)));
            let multiset = multiset.clone();
            let present = self.expr(Expr::Present { multiset, slot });
            free.push(self.expr(Expr::Unary(UnaryOp::Not, present)));
        }
        let room = self.expr(Expr::Or(free));
        Some(self.stmt(StmtKind::If {
            arms: vec![(room, vec![add])],
            otherwise: Vec::new(),
        }))
    }

    fn put(&mut self, scope: &mut Scope) -> Option<Stmt> {
        let item = match self.upto(2) {
            0 => PutItem::Text(self.name("text")),
            1 => {
                let value = self.value_of(scope, Class::Bool, 1)?;
                PutItem::Value(value, self.pool.boolean?)
            }
            _ => {
                let (place, _) = self.place(scope, Access::Read, &|_, _, _| true)?;
                PutItem::Place(place, self.name("place"))
            }
        };
        Some(self.stmt(StmtKind::Put(item)))
    }

    /// Leaves with what the function returns, or with nothing.
    pub(super) fn return_stmt(&mut self, scope: &mut Scope) -> Stmt {
        let result = scope.function.and_then(|(_, result, _)| result);
        let value = match result {
            None => ReturnValue::Nothing,
            Some(ty) if self.program.types.simple(ty).is_some() => {
                ReturnValue::Value(self.value_for(scope, ty, 1))
            }
            Some(ty) => {
                let same = move |_: &Maker, other: TypeId, _: &_| other == ty;
                let place = match self.place(scope, Access::Read, &same) {
                    Some((place, _)) => place,
                    // A local that is undefined all over.
                    None => Place::local(scope.frame.add("blank", LocalKind::Value(ty))),
                };
                ReturnValue::Copy(place)
            }
        };
        self.stmt(StmtKind::Return(value))
    }
}
