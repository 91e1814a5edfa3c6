//! Expressions: operators, conditions, quantifiers and what is asked about variables.
//!
//! Operands of logical operators, implications and `?:` that a constant rules out are checked like
//! all others, but a certain fault in them is no error, and they are not lowered.

use hadal_ir::{
    BinaryOp as IrOp, Domain as IrDomain, Expr as Ir, ExprId, LocalId, Quantifier as IrQuantifier,
    ScalarsetId, SimpleKind, UnaryOp as IrUnary, UnionPart,
};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::operand::{Conversion, Operand, Purpose};
use super::types::{Kind, Ty};
use crate::Dialect;
use crate::ast::{
    BinaryOp, Expr, ExprKind, Link, Name, QuantifiedKind, Quantifier, TypeExpr, UnaryOp,
};

impl Checker<'_> {
    /// What an expression is.
    pub(super) fn expr(&mut self, expr: &Expr) -> Operand {
        if self.stop.is_raised() {
            return Operand::Error;
        }
        match &expr.kind {
            ExprKind::Bool(value) => Operand::truth(*value),
            ExprKind::Int(value) => self.literal(*value, expr.span),
            ExprKind::Real(_) | ExprKind::Error => Operand::Error,
            ExprKind::Undefined => self.undefined_word(expr.span),
            ExprKind::Designator(designator) => self.designator(designator),
            ExprKind::Call { callee, args } => self.call_expr(callee, args, expr.span),
            ExprKind::Unary { op, operand } => self.unary(*op, operand, expr.span),
            ExprKind::Binary {
                op: BinaryOp::Implies,
                lhs,
                rhs,
                op_span,
            } => self.implication(lhs, rhs, *op_span),
            ExprKind::Binary {
                op,
                op_span,
                lhs,
                rhs,
            } => self.comparison(*op, *op_span, lhs, rhs),
            ExprKind::Chain { first, rest } => self.chain(first, rest),
            ExprKind::Conditional {
                condition,
                then,
                otherwise,
            } => self.conditional(condition, then, otherwise, expr.span),
            ExprKind::Quantified {
                kind,
                quantifiers,
                body,
            } => self.quantified(*kind, quantifiers, body),
            ExprKind::IsUndefined(value) => self.is_undefined(value, expr.span),
            ExprKind::IsMember { value, ty } => self.is_member(value, ty, expr.span),
            ExprKind::MultisetCount {
                name,
                multiset,
                condition,
            } => self.multiset_count(name, multiset, condition, expr.span),
        }
    }

    /// An expression that must be a truth value.
    pub(super) fn condition(&mut self, expr: &Expr, what: &str) -> Option<ExprId> {
        let operand = self.truth(expr, what);
        self.strict(operand, expr.span)
    }

    /// An expression that must be a truth value, perhaps known now.
    pub(super) fn truth(&mut self, expr: &Expr, what: &str) -> Operand {
        let operand = self.expr(expr);
        self.as_truth(operand, expr.span, what)
    }

    fn as_truth(&mut self, operand: Operand, span: Span, what: &str) -> Operand {
        match operand.ty() {
            Ty::BOOLEAN => operand,
            Ty::ERROR => {
                // An index or `undefined` is no value, and is reported elsewhere.
                self.strict(operand, span);
                Operand::Error
            }
            other => {
                let wants = format!("{what} must be a");
                self.report_mismatch(other, Ty::BOOLEAN, span, &Purpose::new(&wants));
                Operand::Error
            }
        }
    }

    /// Checks something that is known never to run.
    pub(super) fn in_dead_code<T>(&mut self, is_dead: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        self.dead += u32::from(is_dead);
        let result = f(self);
        self.dead -= u32::from(is_dead);
        result
    }

    fn literal(&mut self, value: i64, span: Span) -> Operand {
        if self.dialect == Dialect::Cmurphi && i32::try_from(value).is_err() {
            let message = format!("{value} does not fit in 32 bits");
            let note = "in the dialect cmurphi integers have 32 bits";
            self.report(Diagnostic::error(message, span).note(note));
            return Operand::Error;
        }
        self.number(value)
    }

    /// `undefined`, which is no reserved word: a declaration of that name wins.
    fn undefined_word(&mut self, span: Span) -> Operand {
        let designator = crate::ast::Designator {
            base: Name {
                text: "undefined".into(),
                span,
            },
            steps: Vec::new(),
            span,
        };
        self.designator(&designator)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Operand {
        let value = self.expr(operand);
        if op == UnaryOp::Not {
            let value = self.as_truth(value, operand.span, "the operand of `!`");
            if let Some(constant) = value.constant() {
                return Operand::truth(constant == 0);
            }
            let Some(value) = self.strict(value, operand.span) else {
                return Operand::Error;
            };
            let expr = self.emit(Ir::Unary(IrUnary::Not, value), span);
            return computed(expr, Ty::BOOLEAN);
        }
        let Some(value) = self.as_number(value, operand.span, op.symbol()) else {
            return Operand::Error;
        };
        if let Some(constant) = value.constant() {
            // A literal with its sign is a number of the text.
            if op == UnaryOp::Neg && matches!(operand.kind, ExprKind::Int(_)) {
                return self.number(-constant);
            }
            match self.fold_unary(op, constant) {
                Ok(folded) => return folded,
                Err(fault) => self.report_fold(fault, span),
            }
        }
        let Some(value) = self.strict(value, operand.span) else {
            return Operand::Error;
        };
        let expr = match op {
            UnaryOp::Plus => value,
            UnaryOp::BitNot if self.dialect == Dialect::Rumur => {
                // Its type may turn out to be an unsigned one.
                let mask = self.emit(Ir::Int(-1), span);
                self.bit_masks.push(mask);
                self.emit(Ir::Binary(IrOp::BitXor, value, mask), span)
            }
            UnaryOp::BitNot => self.emit(Ir::Unary(IrUnary::BitNot, value), span),
            UnaryOp::Neg | UnaryOp::Not => self.emit(Ir::Unary(IrUnary::Neg, value), span),
        };
        computed(expr, Ty::INTEGER)
    }

    /// An operand of an operator on numbers.
    pub(super) fn as_number(
        &mut self,
        operand: Operand,
        span: Span,
        symbol: &str,
    ) -> Option<Operand> {
        let ty = operand.ty();
        if ty == Ty::ERROR {
            self.strict(operand, span);
            return None;
        }
        if self.types.is_number(ty) {
            return Some(operand);
        }
        let found = self.types.described(ty);
        let mut diagnostic = Diagnostic::error(format!("`{symbol}` needs numbers"), span)
            .label(format!("this is {found}"));
        match self.types.kind(ty) {
            Kind::Scalarset { .. } => {
                diagnostic = diagnostic.note("the elements of a scalarset are not numbers");
            }
            Kind::Enum(_) => {
                diagnostic = diagnostic.note("the members of an enumeration are not numbers");
            }
            Kind::Boolean if matches!(symbol, "&" | "|" | "^") => {
                let note = format!("`{symbol}` binds looser than `=`: parentheses may be missing");
                diagnostic = diagnostic.note(note);
            }
            _ => {}
        }
        self.report(diagnostic);
        None
    }

    fn implication(&mut self, lhs: &Expr, rhs: &Expr, op_span: Span) -> Operand {
        let left = self.truth(lhs, "the left side of `->`");
        let is_vacuous = left.constant() == Some(0);
        let right = self.in_dead_code(is_vacuous, |this| this.truth(rhs, "the right side of `->`"));
        if matches!(left, Operand::Error) || matches!(right, Operand::Error) {
            return Operand::Error;
        }
        match left.constant() {
            Some(0) => return Operand::truth(true),
            Some(_) => return right,
            None => {}
        }
        let left = self.strict(left, lhs.span);
        let right = self.strict(right, rhs.span);
        let (Some(left), Some(right)) = (left, right) else {
            return Operand::Error;
        };
        let not_left = self.emit(Ir::Unary(IrUnary::Not, left), op_span);
        let expr = self.emit(Ir::Or(vec![not_left, right]), op_span);
        computed(expr, Ty::BOOLEAN)
    }

    fn chain(&mut self, first: &Expr, rest: &[Link]) -> Operand {
        let Some(link) = rest.first() else {
            return self.expr(first);
        };
        match link.op {
            BinaryOp::AndAnd | BinaryOp::OrOr => {
                let left = self.expr(first);
                self.logical(left, first, rest)
            }
            BinaryOp::And | BinaryOp::Or => {
                let left = self.expr(first);
                let ty = left.ty();
                if ty != Ty::ERROR && self.types.is_number(ty) {
                    return self.arithmetic_chain(left, first.span, rest);
                }
                self.logical(left, first, rest)
            }
            _ => {
                let left = self.expr(first);
                self.arithmetic_chain(left, first.span, rest)
            }
        }
    }

    /// A chain of one logical operator, evaluated from the left until it is decided.
    fn logical(&mut self, left: Operand, first: &Expr, rest: &[Link]) -> Operand {
        let op = rest[0].op;
        let is_and = matches!(op, BinaryOp::And | BinaryOp::AndAnd);
        // The value that decides.
        let decides = i64::from(!is_and);
        let what = format!("an operand of `{}`", op.symbol());
        let mut parts = Vec::new();
        let mut is_decided = false;
        let mut is_good = true;
        let mut left = Some(left);
        let operands = std::iter::once(first).chain(rest.iter().map(|link| &link.operand));
        for operand in operands {
            let value = match left.take() {
                Some(value) => self.as_truth(value, operand.span, &what),
                None => self.in_dead_code(is_decided, |this| this.truth(operand, &what)),
            };
            if matches!(value, Operand::Error) {
                is_good = false;
                continue;
            }
            match value.constant() {
                _ if is_decided => {}
                Some(constant) if constant == decides => {
                    is_decided = true;
                    if !parts.is_empty() {
                        parts.extend(self.strict(value, operand.span));
                    }
                }
                Some(_) => {}
                None => parts.extend(self.strict(value, operand.span)),
            }
        }
        if !is_good {
            return Operand::Error;
        }
        match parts[..] {
            [] => Operand::truth(is_decided != is_and),
            [only] => computed(only, Ty::BOOLEAN),
            _ => {
                let expr = match is_and {
                    true => Ir::And(parts),
                    false => Ir::Or(parts),
                };
                let expr = self.emit(expr, first.span);
                computed(expr, Ty::BOOLEAN)
            }
        }
    }

    fn arithmetic_chain(&mut self, left: Operand, span: Span, rest: &[Link]) -> Operand {
        let symbol = rest.first().map_or("", |link| link.op.symbol());
        let mut left = self.as_number(left, span, symbol);
        let mut left_span = span;
        for link in rest {
            let right = self.expr(&link.operand);
            let right = self.as_number(right, link.operand.span, link.op.symbol());
            // After an error the other operands are checked on their own.
            let (Some(l), Some(r)) = (left.take(), right) else {
                continue;
            };
            left = self.apply(link, l, left_span, r);
            left_span = left_span.to(link.operand.span);
        }
        left.unwrap_or(Operand::Error)
    }

    fn apply(
        &mut self,
        link: &Link,
        left: Operand,
        left_span: Span,
        right: Operand,
    ) -> Option<Operand> {
        if let (Some(a), Some(b)) = (left.constant(), right.constant()) {
            match self.fold_binary(link.op, a, b) {
                Ok(folded) => return Some(folded),
                Err(fault) => self.report_fold(fault, link.op_span),
            }
        } else if right.constant() == Some(0) && matches!(link.op, BinaryOp::Div | BinaryOp::Mod) {
            self.report_fold(super::constants::FoldFault::DivisionByZero, link.op_span);
        } else if link.op == BinaryOp::Mul && self.is_multiplied_away(&left, &right) {
            return Some(Operand::Const {
                value: 0,
                ty: Ty::INTEGER,
            });
        }
        let left = self.strict(left, left_span);
        let right = self.strict(right, link.operand.span);
        let op = match link.op {
            BinaryOp::Add => IrOp::Add,
            BinaryOp::Sub => IrOp::Sub,
            BinaryOp::Mul => IrOp::Mul,
            BinaryOp::Div => IrOp::Div,
            BinaryOp::Mod => IrOp::Rem,
            BinaryOp::Shl => IrOp::Shl,
            BinaryOp::Shr => IrOp::Shr,
            BinaryOp::And => IrOp::BitAnd,
            BinaryOp::Or => IrOp::BitOr,
            BinaryOp::Xor => IrOp::BitXor,
            // The parser makes no chains of others.
            _ => return None,
        };
        let expr = self.emit(Ir::Binary(op, left?, right?), link.op_span);
        Some(computed(expr, Ty::INTEGER))
    }

    fn conditional(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
        span: Span,
    ) -> Operand {
        let decides = self.truth(condition, "the condition of `?:`");
        let known = decides.constant();
        let yes = self.in_dead_code(known == Some(0), |this| this.expr(then));
        let no = self.in_dead_code(known.is_some_and(|v| v != 0), |this| this.expr(otherwise));
        for (operand, branch) in [(&yes, then), (&no, otherwise)] {
            let is_value = !matches!(operand, Operand::Undefined | Operand::Slot(_));
            if is_value && self.types.is_simple(operand.ty()) {
                continue;
            }
            let message = "both values of `?:` must be simple values";
            let mut diagnostic = Diagnostic::error(message, branch.span);
            if is_value {
                diagnostic = diagnostic.help("write `if` statements to choose between aggregates");
            }
            self.report(diagnostic);
            return Operand::Error;
        }
        let (a, b) = (yes.ty(), no.ty());
        if a == Ty::ERROR || b == Ty::ERROR || matches!(decides, Operand::Error) {
            return Operand::Error;
        }
        let ty = match (self.conversion(a, b), self.types.kind(a)) {
            _ if a == b => a,
            (Conversion::Same, _) if self.types.is_number(a) => Ty::INTEGER,
            (Conversion::Same, _) => a,
            (Conversion::Map, Kind::Union(_)) => a,
            (Conversion::Map, _) => b,
            (Conversion::None, _) => {
                let (yes_name, no_name) = (self.types.described(a), self.types.described(b));
                self.report(
                    Diagnostic::error("the two values of `?:` have different types", span)
                        .context(then.span, format!("this is {yes_name}"))
                        .context(otherwise.span, format!("this is {no_name}")),
                );
                return Operand::Error;
            }
        };
        let undefined = self.undefined_element(ty);
        if let Some(value) = known {
            let (chosen, branch) = match value {
                0 => (no, otherwise),
                _ => (yes, then),
            };
            if chosen.ty() == ty || self.types.is_number(ty) {
                // A place is a value here: it cannot be assigned.
                return match chosen {
                    Operand::Place(_) => match self.value(chosen, branch.span, undefined) {
                        Some(expr) => self.chosen(expr, ty),
                        None => Operand::Error,
                    },
                    other => other,
                };
            }
            let purpose = Purpose::new("needed is a");
            let expr = self.convert(chosen, branch.span, ty, undefined, &purpose);
            return expr.map_or(Operand::Error, |expr| self.chosen(expr, ty));
        }
        let purpose = Purpose::new("needed is a");
        let decides = self.strict(decides, condition.span);
        let yes = self.convert(yes, then.span, ty, undefined, &purpose);
        let no = self.convert(no, otherwise.span, ty, undefined, &purpose);
        let (Some(decides), Some(yes), Some(no)) = (decides, yes, no) else {
            return Operand::Error;
        };
        let expr = self.emit(Ir::Cond(decides, yes, no), span);
        self.chosen(expr, ty)
    }

    /// The result of a choice.
    fn chosen(&self, expr: ExprId, ty: Ty) -> Operand {
        Operand::Value {
            expr,
            ty,
            lax: self.program.may_yield_undefined(expr),
        }
    }

    fn quantified(
        &mut self,
        kind: QuantifiedKind,
        quantifiers: &[Quantifier],
        body: &Expr,
    ) -> Operand {
        let what = match kind {
            QuantifiedKind::Forall => "the body of `forall`",
            QuantifiedKind::Exists => "the body of `exists`",
        };
        let mut bound = Vec::new();
        for quantifier in quantifiers {
            // Each may use those before it.
            let domain = self.domain(quantifier);
            self.scopes.push();
            bound.push(self.declare_loop_variable(quantifier, domain));
        }
        let body = self.condition(body, what);
        for _ in quantifiers {
            self.scopes.pop();
        }
        let quantifier = match kind {
            QuantifiedKind::Forall => IrQuantifier::Forall,
            QuantifiedKind::Exists => IrQuantifier::Exists,
        };
        let Some(mut body) = body else {
            return Operand::Error;
        };
        for (bound, written) in bound.into_iter().zip(quantifiers).rev() {
            let Some((var, domain)) = bound else {
                return Operand::Error;
            };
            body = if self.is_unordered(&domain) {
                self.quantified_over_all(kind, var, domain, body, written.span)
            } else {
                let expr = Ir::Quantified {
                    quantifier,
                    var,
                    domain,
                    body,
                };
                self.emit(expr, written.span)
            };
        }
        computed(body, Ty::BOOLEAN)
    }

    /// A quantifier over interchangeable elements has no first element to stop at: were it to stop
    /// early, whether it meets an undefined value would depend on the names of the elements, and
    /// only the representative of a class of states would show it. So every element is evaluated.
    fn quantified_over_all(
        &mut self,
        kind: QuantifiedKind,
        var: LocalId,
        domain: IrDomain,
        body: ExprId,
        span: Span,
    ) -> ExprId {
        let (body, decided) = match kind {
            QuantifiedKind::Exists => (body, IrOp::Ne),
            QuantifiedKind::Forall => {
                let counterexample = Ir::Unary(IrUnary::Not, body);
                (self.emit(counterexample, span), IrOp::Eq)
            }
        };
        let count = Ir::Quantified {
            quantifier: IrQuantifier::Count,
            var,
            domain,
            body,
        };
        let count = self.emit(count, span);
        let none = self.emit(Ir::Int(0), span);
        self.emit(Ir::Binary(decided, count, none), span)
    }

    /// Whether a domain has elements that a renaming exchanges.
    fn is_unordered(&self, domain: &IrDomain) -> bool {
        let IrDomain::Type(ty) = domain else {
            return false;
        };
        let types = &self.program.types;
        let is_many = |set: &ScalarsetId| types.scalarsets[set.index()].size > 1;
        types.simple(*ty).is_some_and(|simple| match &simple.kind {
            SimpleKind::Scalarset(set) => is_many(set),
            SimpleKind::Union(parts) => parts
                .iter()
                .any(|part| matches!(part, UnionPart::Scalarset(set) if is_many(set))),
            _ => false,
        })
    }

    fn is_undefined(&mut self, value: &Expr, span: Span) -> Operand {
        let operand = self.expr(value);
        let label = match &operand {
            Operand::Error => return Operand::Error,
            Operand::Place(lvalue) if !self.types.is_simple(lvalue.ty) => {
                format!("this is {}", self.types.described(lvalue.ty))
            }
            Operand::Place(lvalue) if self.is_variable(lvalue) => {
                let expr = self.emit(Ir::IsUndefined(lvalue.place.clone()), span);
                return computed(expr, Ty::BOOLEAN);
            }
            _ => "this is a value".to_owned(),
        };
        let message = "`isundefined` asks about a variable of simple type";
        self.report(Diagnostic::error(message, value.span).label(label));
        Operand::Error
    }

    fn is_member(&mut self, value: &Expr, ty: &TypeExpr, span: Span) -> Operand {
        let operand = self.expr(value);
        let member = self.type_expr(ty);
        if matches!(operand, Operand::Error) || member == Ty::ERROR {
            return Operand::Error;
        }
        let union = operand.ty();
        let Kind::Union(members) = self.types.kind(union) else {
            let mut diagnostic = Diagnostic::error("`ismember` asks about a union", value.span);
            if union != Ty::ERROR {
                let found = self.types.described(union);
                diagnostic = diagnostic.label(format!("this is {found}"));
            }
            self.report(diagnostic);
            return Operand::Error;
        };
        let Some((lo, hi)) = self.types.member(members, member) else {
            let (name, member) = (self.types.name(union), self.types.name(member));
            let message = format!("`{member}` is not a member of `{name}`");
            self.report(Diagnostic::error(message, ty.span));
            return Operand::Error;
        };
        let Some(value) = self.strict(operand, value.span) else {
            return Operand::Error;
        };
        let expr = self.emit(Ir::InRange { value, lo, hi }, span);
        computed(expr, Ty::BOOLEAN)
    }
}

/// A computed value that is always defined.
pub(super) fn computed(expr: ExprId, ty: Ty) -> Operand {
    Operand::Value {
        expr,
        ty,
        lax: false,
    }
}
