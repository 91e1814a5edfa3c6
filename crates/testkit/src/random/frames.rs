//! Functions, startstates, rules and properties.

use hadal_ir::walk::Mention;
use hadal_ir::{
    BinaryOp, Expr, ExprId, Frame, Function, FunctionId, Guard, LocalId, LocalKind, Param,
    ParamDomain, ParamMode, Place, Property, PropertyKind, Root, Rule, Start, Stmt, StmtKind,
    TypeId,
};

use super::{Class, Made, Maker};

/// How careful expressions are with what may fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Nothing may fault: the order of evaluation would show.
    Never,
    /// Reads are guarded, but calls may fault.
    Mostly,
    /// Anything goes.
    Free,
}

/// What can be used at a point of a frame.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) frame: Frame,
    /// Value locals that may be read and written.
    pub(super) values: Vec<LocalId>,
    /// Value locals that must not be written here: loop variables and parameters of rules.
    pub(super) fixed: Vec<LocalId>,
    /// References that are bound.
    pub(super) refs: Vec<LocalId>,
    /// Reference parameters, which even pure functions may write through.
    pub(super) own_refs: Vec<LocalId>,
    /// Locals that number a slot of a multiset that is there.
    pub(super) slots: Vec<(LocalId, Place)>,
    /// Whether the state must not be written, nor an assumption be met.
    pub(super) pure: bool,
    /// The function under construction, with its result and whether it calls itself.
    pub(super) function: Option<(FunctionId, Option<TypeId>, bool)>,
    pub(super) care: Care,
}

impl Scope {
    pub(super) fn new(pure: bool) -> Self {
        Scope {
            frame: Frame::default(),
            values: Vec::new(),
            fixed: Vec::new(),
            refs: Vec::new(),
            own_refs: Vec::new(),
            slots: Vec::new(),
            pure,
            function: None,
            care: Care::Mostly,
        }
    }

    /// Drops what was declared inside a block, but keeps the locals in the frame.
    pub(super) fn leave(&mut self, outer: Scope) {
        let frame = std::mem::take(&mut self.frame);
        *self = Scope { frame, ..outer };
    }
}

impl Maker {
    /// How careful the next statement or condition is.
    pub(super) fn choose_care(&mut self, scope: &mut Scope) {
        let faults = self.config.faults;
        scope.care = match scope.care {
            Care::Never => Care::Never,
            _ if self.chance(faults) => Care::Free,
            _ => Care::Mostly,
        };
    }

    pub(super) fn make_function(&mut self) {
        let id = FunctionId::new(self.program.functions.len());
        let pure = self.chance(0.5);
        let mut scope = Scope::new(pure);
        let mut params = Vec::new();
        let recursive = self.chance(0.4);
        if recursive {
            // Counts down to 0, where the calls end.
            let fuel = self
                .program
                .types
                .add(hadal_ir::Type::Simple(hadal_ir::Simple::range(0, 2)));
            params.push(ParamMode::Value);
            scope
                .fixed
                .push(scope.frame.add("fuel", LocalKind::Value(fuel)));
        }
        for number in 0..self.upto(3) {
            let ty = self.any_type();
            let name = format!("p{number}");
            let (mode, local) = match self.upto(2) {
                0 => (
                    ParamMode::Value,
                    scope.frame.add(name, LocalKind::Value(ty)),
                ),
                1 => (ParamMode::Ref, scope.frame.add(name, LocalKind::Ref(ty))),
                _ => {
                    let kind = LocalKind::ConstRef(ty);
                    (ParamMode::ConstRef, scope.frame.add(name, kind))
                }
            };
            params.push(mode);
            match mode {
                ParamMode::Value => scope.values.push(local),
                ParamMode::Ref | ParamMode::ConstRef => {
                    scope.refs.push(local);
                    scope.own_refs.push(local);
                }
            }
        }
        let result = match self.upto(3) {
            0 => None,
            1 => {
                let from = self.pool.aggregates.clone();
                self.pick(&from)
            }
            _ => {
                let from = self.pool.simple.clone();
                self.pick(&from)
            }
        };
        // Signature first, for the body may call it.
        let site = self.site();
        let name = self.name("fun");
        self.program.functions.push(Function {
            name,
            params,
            result,
            frame: scope.frame.clone(),
            body: Vec::new(),
            site,
        });
        scope.function = Some((id, result, recursive));
        self.add_locals(&mut scope);
        let mut body = self.block(&mut scope, self.config.stmt_depth);
        if recursive {
            self.functions.push(Made { id, pure });
            body.extend(self.recurse(&mut scope, id));
            self.functions.pop();
        }
        if result.is_some() && !self.chance(self.config.faults) {
            body.push(self.return_stmt(&mut scope));
        }
        let function = &mut self.program.functions[id.index()];
        function.frame = scope.frame;
        function.body = body;
        self.functions.push(Made { id, pure });
    }

    /// `if fuel > 0 then call itself with less end`.
    fn recurse(&mut self, scope: &mut Scope, id: FunctionId) -> Option<Stmt> {
        let fuel = Place::local(LocalId(0));
        let read = self.expr(Expr::Read(fuel.clone()));
        let read = self.expr(Expr::Defined(read));
        let (zero, one) = (self.expr(Expr::Int(0)), self.expr(Expr::Int(1)));
        let more = self.expr(Expr::Binary(hadal_ir::BinaryOp::Gt, read, zero));
        let less = self.expr(Expr::Binary(hadal_ir::BinaryOp::Sub, read, one));
        let mut args = self.args(scope, id)?;
        args[0] = hadal_ir::Arg::Value(less);
        let call = self.stmt(StmtKind::Call { function: id, args });
        Some(self.stmt(StmtKind::If {
            arms: vec![(more, vec![call])],
            otherwise: Vec::new(),
        }))
    }

    /// A type for a parameter or local.
    fn any_type(&mut self) -> TypeId {
        let from = if self.chance(0.6) {
            self.pool.simple.clone()
        } else {
            // State variables can be passed by reference only where the type is the same.
            let vars: Vec<TypeId> = self.program.vars.iter().map(|var| var.ty).collect();
            [vars, self.pool.aggregates.clone()].concat()
        };
        self.pick(&from)
            .or(self.pool.boolean)
            .expect("types are made first")
    }

    pub(super) fn add_locals(&mut self, scope: &mut Scope) {
        for number in 0..self.upto(2) {
            let ty = self.any_type();
            let local = scope.frame.add(format!("y{number}"), LocalKind::Value(ty));
            scope.values.push(local);
        }
        if self.chance(0.3)
            && let Some(ty) = self.pool.integer
        {
            scope
                .values
                .push(scope.frame.add("n", LocalKind::Value(ty)));
        }
    }

    fn params(&mut self, scope: &mut Scope, choose: bool) -> Vec<Param> {
        let mut params = Vec::new();
        let least = usize::from(self.chance(0.5));
        for number in 0..least + self.upto(1) {
            let name = format!("q{number}");
            let integer = self.pool.integer.expect("types are made first");
            let (kind, domain, slot) = match self.upto(5) {
                0 => {
                    let from = self.int(-1, 1);
                    let by = if self.chance(0.7) { 1 } else { -1 };
                    // Now and then there is no value at all.
                    let to = from + by * self.int(if choose { -1 } else { 0 }, 2);
                    (integer, ParamDomain::Span { from, to, by }, None)
                }
                1 | 2 if choose => {
                    let Some((multiset, capacity)) = self.state_multiset(scope) else {
                        continue;
                    };
                    let domain = ParamDomain::Slots {
                        multiset: multiset.clone(),
                        capacity,
                    };
                    (integer, domain, Some(multiset))
                }
                _ => {
                    let from = self.pool.simple.clone();
                    let Some(ty) = self.pick(&from) else { continue };
                    (ty, ParamDomain::Type(ty), None)
                }
            };
            let local = scope.frame.add(name, LocalKind::Value(kind));
            match slot {
                Some(multiset) => scope.slots.push((local, multiset)),
                None => scope.fixed.push(local),
            }
            params.push(Param { local, domain });
        }
        params
    }

    /// A multiset of the state to choose from, with its capacity.
    fn state_multiset(&mut self, scope: &mut Scope) -> Option<(Place, u32)> {
        let care = std::mem::replace(&mut scope.care, Care::Never);
        let found = self.place(scope, super::places::Access::Read, &|maker, ty, root| {
            maker.multiset(ty).is_some() && matches!(root, Root::Var(_))
        });
        scope.care = care;
        let (place, ty) = found?;
        let (capacity, _) = self.multiset(ty)?;
        Some((place, capacity))
    }

    /// Bindings and assignments, then a condition.
    fn guard(&mut self, scope: &mut Scope, always: f64) -> Guard {
        let mut prologue = Vec::new();
        for _ in 0..self.upto(1) {
            let stmt = if self.chance(0.6) {
                self.bind(scope)
            } else {
                self.local_assign(scope)
            };
            prologue.extend(stmt);
        }
        self.choose_care(scope);
        let condition = if self.chance(always) {
            None
        } else {
            self.value_of(scope, Class::Bool, self.config.expr_depth)
        };
        Guard {
            prologue,
            condition,
        }
    }

    pub(super) fn make_start(&mut self) {
        let mut scope = Scope::new(false);
        let params = self.params(&mut scope, false);
        self.add_locals(&mut scope);
        let mut body = Vec::new();
        // Most variables get values; the others stay undefined, which is legal.
        for number in 0..self.program.vars.len() {
            body.extend(self.initialise(&mut scope, number));
        }
        if self.chance(0.3) {
            body.extend(self.block(&mut scope, 1));
        }
        let (name, site) = (self.name("start"), self.site());
        self.program.starts.push(Start {
            name,
            params,
            frame: scope.frame,
            body,
            site,
        });
    }

    fn initialise(&mut self, scope: &mut Scope, number: usize) -> Option<Stmt> {
        let var = hadal_ir::VarId::new(number);
        let ty = self.program.var(var).ty;
        if self.has_elements(ty) {
            return self.chance(0.6).then(|| {
                self.choose_care(scope);
                self.write_stmt(scope, Some(Place::var(var)))
            })?;
        }
        self.chance(0.9)
            .then(|| self.stmt(StmtKind::Clear(Place::var(var))))
    }

    pub(super) fn make_rule(&mut self) {
        let mut scope = Scope::new(true);
        let params = self.params(&mut scope, true);
        let outer = scope.clone();
        let mut guard = self.guard(&mut scope, 0.4);
        // Two conditions, one of which is enough, or hardly any rule would ever fire.
        if let Some(one) = guard.condition
            && let Some(other) = self.value_of(&mut scope, Class::Bool, self.config.expr_depth)
        {
            guard.condition = Some(self.expr(Expr::Or(vec![one, other])));
        }
        scope.leave(outer);
        scope.pure = false;
        self.add_locals(&mut scope);
        let mut body = Vec::new();
        for _ in 0..1 + self.upto(1) {
            body.extend(self.step_stmt(&mut scope));
        }
        if self.chance(0.7) {
            body.extend(self.block(&mut scope, self.config.stmt_depth));
        }
        let priority = if self.chance(0.96) {
            0
        } else {
            self.int(-1, 1)
        };
        let mut cost = 1;
        if self.config.steps {
            body.extend(self.register_stmt());
            cost = self.pick(&[1, 1, 1, 0, 2, 5]).unwrap_or(1);
        }
        let (name, site) = (self.name("rule"), self.site());
        self.program.rules.push(Rule {
            name,
            params,
            frame: scope.frame,
            priority,
            cost,
            guard,
            body,
            site,
        });
    }

    /// Counts a register down, so that most steps end, or sets it.
    fn register_stmt(&mut self) -> Option<Stmt> {
        let first = self.program.vars.len() - self.program.n_registers;
        let number = first + self.upto(self.program.n_registers - 1);
        let var = hadal_ir::VarId::new(number);
        let hi = self.program.types.simple(self.program.var(var).ty)?.hi;
        let place = Place::var(var);
        let value = match self.upto(9) {
            0..=4 => {
                let read = self.expr(Expr::Read(place.clone()));
                let (zero, one) = (self.expr(Expr::Int(0)), self.expr(Expr::Int(1)));
                let more = self.expr(Expr::Binary(BinaryOp::Gt, read, zero));
                let less = self.expr(Expr::Binary(BinaryOp::Sub, read, one));
                self.expr(Expr::Cond(more, less, zero))
            }
            5..=7 => self.expr(Expr::Int(0)),
            8 => {
                let value = self.int(0, hi);
                self.expr(Expr::Int(value))
            }
            _ => return None,
        };
        Some(self.stmt(StmtKind::Assign { place, value }))
    }

    pub(super) fn make_property(&mut self) {
        // Nothing is drawn where there are none, so that seeds keep their programs.
        let element_goals = self.config.element_goals;
        if element_goals > 0.0 && self.chance(element_goals) {
            return self.make_element_goal();
        }
        let mut scope = Scope::new(true);
        let params = self.params(&mut scope, true);
        let kind = match self.upto(6) {
            0 => PropertyKind::Assume,
            1 | 2 => PropertyKind::Cover,
            3 => PropertyKind::Liveness,
            4 if self.config.steps => PropertyKind::End,
            _ => PropertyKind::Invariant,
        };
        // A slot has no identity from state to state, least of all under renamings, so a goal of a
        // single slot means nothing that a reduction could keep.
        let has_slots = !scope.slots.is_empty();
        let kind = match kind {
            PropertyKind::Cover | PropertyKind::Liveness if self.config.symmetric && has_slots => {
                PropertyKind::Invariant
            }
            kind => kind,
        };
        let mut condition = self.guard(&mut scope, 0.02);
        let violations = self.config.violations;
        let weaken = match kind {
            PropertyKind::Invariant => !self.chance(violations),
            PropertyKind::Assume => true,
            PropertyKind::Cover | PropertyKind::Liveness | PropertyKind::End => false,
        };
        if weaken && let Some(asked) = condition.condition {
            // True in general, but it still has to be evaluated first.
            let other = match kind {
                PropertyKind::Assume if self.chance(0.5) => {
                    self.value_of(&mut scope, Class::Bool, 2)
                }
                _ => None,
            };
            let other = other.unwrap_or_else(|| self.expr(Expr::Bool(true)));
            condition.condition = Some(self.expr(Expr::Or(vec![asked, other])));
        }
        let (name, site) = (self.name("property"), self.site());
        self.program.properties.push(Property {
            kind,
            name,
            params,
            frame: scope.frame,
            condition,
            site,
        });
    }

    fn make_element_goal(&mut self) {
        let mut scope = Scope::new(true);
        let is_element =
            |ty: &TypeId| matches!(self.class(*ty), Class::Element(_) | Class::Union(_));
        let from: Vec<TypeId> = (self.pool.simple.iter().copied())
            .filter(is_element)
            .collect();
        let mut params = Vec::new();
        let n_params = if self.chance(0.6) { 1 } else { 2 };
        for number in 0..n_params {
            let Some(ty) = self.pick(&from) else { continue };
            let local = scope.frame.add(format!("q{number}"), LocalKind::Value(ty));
            scope.fixed.push(local);
            let domain = ParamDomain::Type(ty);
            params.push(Param { local, domain });
        }
        // Most random conditions do not mention a given parameter.
        let mut condition = Guard::always();
        for _ in 0..30 {
            let depth = self.config.expr_depth;
            condition.condition = self.value_of(&mut scope, Class::Bool, depth);
            let mentions = condition.condition.is_some_and(|condition| {
                let mut locals = params.iter().map(|param| param.local);
                locals.any(|local| self.mentions(condition, local))
            });
            if mentions {
                break;
            }
        }
        let kind = match self.chance(0.7) {
            true => PropertyKind::Liveness,
            false => PropertyKind::Cover,
        };
        let (name, site) = (self.name("goal"), self.site());
        self.program.properties.push(Property {
            kind,
            name,
            params,
            frame: scope.frame,
            condition,
            site,
        });
    }

    /// Whether an expression mentions a local, at any depth.
    fn mentions(&self, expr: ExprId, local: LocalId) -> bool {
        let (mut found, mut operands) = (false, Vec::new());
        let expr = self.program.expr(expr);
        expr.for_each_mention(&mut |mention| match mention {
            Mention::Local(id) => found |= id == local,
            Mention::Expr(id) => operands.push(id),
            _ => {}
        });
        found || operands.into_iter().any(|id| self.mentions(id, local))
    }
}
