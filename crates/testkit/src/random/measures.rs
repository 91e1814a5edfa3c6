//! Measures: bodies that compute locals, sums and extremes over elements above all.

use hadal_ir::{
    BinaryOp, Block, Domain, Expr, ExprId, LocalId, LocalKind, Measure, Place, Stmt, StmtKind,
    Type, TypeId, VarId,
};
use hadal_model::MeasureKind;

use super::frames::Scope;
use super::{Class, Maker};

impl Maker {
    /// An estimate, a cost, or both. They are made last, so that a seed keeps the rest of its
    /// program.
    pub(super) fn make_measures(&mut self) {
        let is_admissible = self.chance(0.5);
        let mut kinds = vec![MeasureKind::Estimate { is_admissible }, MeasureKind::Cost];
        if self.chance(0.5) {
            kinds.reverse();
        }
        kinds.truncate(1 + self.upto(1));
        for kind in kinds {
            self.make_measure(kind);
        }
    }

    fn make_measure(&mut self, kind: MeasureKind) {
        let Some(integer) = self.pool.integer else {
            return;
        };
        let mut scope = Scope::new(true);
        self.add_locals(&mut scope);
        let mut body = Vec::new();
        let mut sums = Vec::new();
        for number in 0..1 + self.upto(1) {
            let sum = (scope.frame).add(format!("sum{number}"), LocalKind::Value(integer));
            scope.values.push(sum);
            sums.push(sum);
            // Undefined otherwise.
            if self.chance(0.95) {
                let value = self.int(0, 3);
                let value = self.expr(Expr::Int(value));
                body.push(self.set(sum, value));
            }
        }
        for _ in 0..1 + self.upto(self.config.block_len) {
            self.choose_care(&mut scope);
            let stmts = self.computing(&mut scope, &sums, self.config.stmt_depth);
            body.extend(stmts.unwrap_or_default());
        }
        self.choose_care(&mut scope);
        let value = self.measured(&mut scope, &sums);
        let (name, is_zero_at_faults) = (self.upto(20), self.chance(0.4));
        let site = self.site();
        self.program.measures.push(Measure {
            kind,
            name: format!("measure \"{name}\" \\"),
            frame: scope.frame,
            body,
            value,
            is_zero_at_faults,
            site,
        });
    }

    /// The value of a measure: mostly a sum, and mostly in range.
    fn measured(&mut self, scope: &mut Scope, sums: &[LocalId]) -> ExprId {
        let value = match self.pick(sums) {
            Some(sum) if self.chance(0.8) => self.read_fixed(sum),
            _ => self.number(scope),
        };
        let zero = self.expr(Expr::Int(0));
        if self.chance(0.7) {
            let is_negative = self.expr(Expr::Binary(BinaryOp::Lt, value, zero));
            return self.expr(Expr::Cond(is_negative, zero, value));
        }
        if self.chance(0.2) && self.program.arithmetic.max > i64::from(u32::MAX) {
            let large = self.expr(Expr::Int(i64::from(u32::MAX)));
            return self.expr(Expr::Binary(BinaryOp::Add, value, large));
        }
        value
    }

    /// Statements that compute locals.
    fn computing(&mut self, scope: &mut Scope, sums: &[LocalId], depth: u32) -> Option<Vec<Stmt>> {
        let one = |stmt: Stmt| vec![stmt];
        match self.upto(11) {
            0 => self.local_assign(scope).map(one),
            1 => self.write_stmt(scope, None).map(one),
            2 => self.bind(scope).map(one),
            3 | 4 if depth > 0 => {
                let mut arms = Vec::new();
                for _ in 0..1 + self.upto(1) {
                    let condition = self.value_of(scope, Class::Bool, self.config.expr_depth)?;
                    arms.push((condition, self.computing_block(scope, sums, depth - 1)));
                }
                let otherwise = self.computing_block(scope, sums, depth - 1);
                Some(one(self.stmt(StmtKind::If { arms, otherwise })))
            }
            5..=8 if depth > 0 => {
                let elements: Vec<TypeId> = (self.pool.simple.iter().copied())
                    .filter(|ty| matches!(self.class(*ty), Class::Element(_)))
                    .collect();
                let (ty, domain) = match self.pick(&elements) {
                    Some(ty) if self.chance(0.5) => (ty, Domain::Type(ty)),
                    _ => self.domain(scope),
                };
                let outer = scope.clone();
                let var = scope.frame.add("i", LocalKind::Value(ty));
                scope.fixed.push(var);
                let mut body = Vec::new();
                if self.chance(0.6) {
                    body.extend(self.accumulation(scope, sums));
                }
                if body.is_empty() || self.chance(0.5) {
                    body.extend(self.computing_block(scope, sums, depth - 1));
                }
                scope.leave(outer);
                Some(one(self.stmt(StmtKind::For { var, domain, body })))
            }
            9 if depth > 0 => self.counted(scope, sums, depth - 1),
            _ => self.accumulation(scope, sums).map(one),
        }
    }

    fn computing_block(&mut self, scope: &mut Scope, sums: &[LocalId], depth: u32) -> Block {
        let outer = scope.clone();
        let mut block = Vec::new();
        for _ in 0..1 + self.upto(1) {
            self.choose_care(scope);
            let stmts = self.computing(scope, sums, depth);
            block.extend(stmts.unwrap_or_default());
        }
        scope.leave(outer);
        block
    }

    /// A `while` loop with a counter.
    fn counted(&mut self, scope: &mut Scope, sums: &[LocalId], depth: u32) -> Option<Vec<Stmt>> {
        let outer = scope.clone();
        let integer = self.pool.integer?;
        let counter = scope.frame.add("rounds", LocalKind::Value(integer));
        scope.fixed.push(counter);
        let (zero, most) = (self.expr(Expr::Int(0)), self.expr(Expr::Int(3)));
        let before = self.set(counter, zero);
        let rounds = self.read_fixed(counter);
        let condition = self.expr(Expr::Binary(BinaryOp::Lt, rounds, most));
        let mut body = self.computing_block(scope, sums, depth);
        let one = self.expr(Expr::Int(1));
        let more = self.expr(Expr::Binary(BinaryOp::Add, rounds, one));
        body.push(self.set(counter, more));
        scope.leave(outer);
        Some(vec![before, self.stmt(StmtKind::While { condition, body })])
    }

    /// Adds to a sum, or makes it the largest or smallest of itself and something else.
    fn accumulation(&mut self, scope: &mut Scope, sums: &[LocalId]) -> Option<Stmt> {
        let sum = self.pick(sums)?;
        let own = self.read_fixed(sum);
        let value = self.number(scope);
        let op = self.pick(&[BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Lt, BinaryOp::Le])?;
        let value = match self.upto(9) {
            // These two depend on the order of passes.
            8 => {
                let two = self.expr(Expr::Int(2));
                let double = self.expr(Expr::Binary(BinaryOp::Mul, own, two));
                self.expr(Expr::Binary(BinaryOp::Add, double, value))
            }
            9 => value,
            0..=2 => self.expr(Expr::Binary(BinaryOp::Add, own, value)),
            3 => self.expr(Expr::Binary(BinaryOp::Add, value, own)),
            4 => self.expr(Expr::Binary(BinaryOp::Sub, own, value)),
            5 => {
                let condition = self.expr(Expr::Binary(op, value, own));
                self.expr(Expr::Cond(condition, value, own))
            }
            _ => {
                let mut condition = self.expr(Expr::Binary(op, value, own));
                if self.chance(0.3)
                    && let Some(filter) = self.value_of(scope, Class::Bool, 1)
                {
                    condition = self.expr(Expr::And(vec![filter, condition]));
                }
                let block = vec![self.set(sum, value)];
                let arms = vec![(condition, block)];
                let otherwise = Vec::new();
                return Some(self.stmt(StmtKind::If { arms, otherwise }));
            }
        };
        Some(self.set(sum, value))
    }

    /// A number as heuristics have it: a constant, one of two by a condition, or any.
    fn number(&mut self, scope: &mut Scope) -> ExprId {
        let (a, b) = (self.int(0, 3), self.int(-1, 2));
        let (a, b) = (self.expr(Expr::Int(a)), self.expr(Expr::Int(b)));
        match self.upto(9) {
            0 => a,
            1..=4 => match self.about_pass(scope) {
                Some((Class::Int, value)) => value,
                Some((_, condition)) => self.expr(Expr::Cond(condition, a, b)),
                None => a,
            },
            5..=7 => match self.value_of(scope, Class::Bool, 1) {
                Some(condition) => self.expr(Expr::Cond(condition, a, b)),
                None => b,
            },
            _ => {
                let depth = self.config.expr_depth;
                self.value_of(scope, Class::Int, depth).unwrap_or(a)
            }
        }
    }

    /// Something about the element of the innermost loop, an integer or a condition: what an array
    /// holds for it, or whether a variable holds it.
    fn about_pass(&mut self, scope: &mut Scope) -> Option<(Class, ExprId)> {
        let var = *scope.fixed.last()?;
        let ty = scope.frame.local(var).kind.ty();
        let mut found = Vec::new();
        for (number, declared) in self.program.vars.iter().enumerate() {
            let place = Place::var(VarId::new(number));
            match self.program.types.get(declared.ty) {
                Type::Array { index, element } if *index == ty => {
                    let is_simple = self.program.types.simple(*element).is_some();
                    let class = self.class(*element);
                    if is_simple && matches!(class, Class::Int | Class::Bool) {
                        found.push((place, Some(class)));
                    }
                }
                Type::Simple(_) if declared.ty == ty => found.push((place, None)),
                _ => {}
            }
        }
        let (place, class) = self.pick(&found)?;
        let own = self.read_fixed(var);
        Some(match class {
            Some(class) => {
                let otherwise = match class {
                    Class::Bool => Expr::Bool(false),
                    _ => Expr::Int(0),
                };
                let otherwise = self.expr(otherwise);
                (class, self.guarded(scope, place.at(own), otherwise))
            }
            None => {
                let held = self.expr(Expr::Read(place));
                let is_held = Expr::Binary(BinaryOp::Same, held, own);
                (Class::Bool, self.expr(is_held))
            }
        })
    }

    fn set(&mut self, local: LocalId, value: ExprId) -> Stmt {
        let place = Place::local(local);
        self.stmt(StmtKind::Assign { place, value })
    }
}
