//! Statements. Choices that a constant decides are checked in all their branches, and lowered to
//! the one that is taken.

use hadal_ir::verify::MAX_STMT_DEPTH;
use hadal_ir::{
    Block, CoverPoint, Expr as Ir, LocalId, LocalKind, Place, Projection, PutItem, ReturnValue,
    Root, Stmt as IrStmt, StmtKind as IrKind,
};
use hadal_model::FaultKind;
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::functions::for_each_stmt;
use super::operand::{Access, Lvalue, Operand, Origin, Purpose, ReadOnly, Undefined};
use super::scope::{Def, Object};
use super::types::Ty;
use super::unit::Returns;
use crate::Dialect;
use crate::ast::{
    Alias, Branch, Case, Designator, Expr, ExprKind, Name, PropertyKind, Quantifier, Stmt,
    StmtKind, Text,
};

impl Checker<'_> {
    /// Statements one after the other.
    pub(super) fn block(&mut self, stmts: &[Stmt]) -> Block {
        self.stmt_depth += 1;
        // Some statements become two or three, one inside the other.
        if self.stmt_depth + 3 > MAX_STMT_DEPTH && !self.is_too_deep {
            self.is_too_deep = true;
            let span = stmts.first().map_or(Span::default(), |stmt| stmt.span);
            let message = "statements are nested too deep";
            self.report(Diagnostic::error(message, span));
        }
        let mut block = Block::new();
        self.stmts(stmts, &mut block);
        self.stmt_depth -= 1;
        block
    }

    fn stmts(&mut self, stmts: &[Stmt], out: &mut Block) {
        for stmt in stmts {
            if self.stop.is_raised() {
                return;
            }
            self.stmt(stmt, out);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Block) {
        let kind = match &stmt.kind {
            StmtKind::Missing => None,
            StmtKind::Assign { target, value } => self.assignment(target, value),
            StmtKind::If {
                branches,
                otherwise,
            } => return self.if_stmt(branches, otherwise.as_deref(), stmt.span, out),
            StmtKind::Switch {
                subject,
                cases,
                otherwise,
            } => return self.switch(subject, cases, otherwise.as_deref(), stmt.span, out),
            StmtKind::For { quantifiers, body } => {
                return self.for_stmt(quantifiers, body, out);
            }
            StmtKind::While { condition, body } => {
                let holds = self.truth(condition, "the condition of `while`");
                let is_dead = holds.constant() == Some(0);
                let body = self.in_dead_code(is_dead, |this| this.block(body));
                let holds = self.strict(holds, condition.span);
                holds.map(|condition| IrKind::While { condition, body })
            }
            StmtKind::Alias { aliases, body } => {
                self.scopes.push();
                for alias in aliases {
                    self.alias(alias, out);
                }
                self.stmts(body, out);
                self.scopes.pop();
                return;
            }
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), stmt.span),
            StmtKind::Error(text) => {
                self.unit.has_end = true;
                let message = text.value.to_string();
                Some(IrKind::Error {
                    kind: FaultKind::Error,
                    message,
                })
            }
            StmtKind::Property {
                kind,
                message,
                condition,
            } => self.property_stmt(*kind, message.as_ref(), condition, stmt.span),
            StmtKind::Put(value) => self.put(value),
            StmtKind::PutText(text) => {
                let text = text.value.to_string();
                Some(IrKind::Put(PutItem::Text(text)))
            }
            StmtKind::Clear(designator) => self.clear(designator),
            StmtKind::Undefine(designator) => {
                let target = self.target(designator, "cannot undefine");
                target.map(|target| IrKind::Undefine(target.place))
            }
            StmtKind::Call { callee, args } => self.call_stmt(callee, args, stmt.span),
            StmtKind::MultisetAdd { element, multiset } => self.multiset_add(element, multiset),
            StmtKind::MultisetRemove { index, multiset } => self.multiset_remove(index, multiset),
            StmtKind::MultisetRemovePred {
                name,
                multiset,
                condition,
            } => self.multiset_remove_pred(name, multiset, condition, stmt.span),
        };
        if let Some(kind) = kind {
            self.push(kind, stmt.span, out);
        }
    }

    fn push(&mut self, kind: IrKind, span: Span, out: &mut Block) {
        let site = self.site(span);
        out.push(IrStmt { kind, site });
    }

    fn assignment(&mut self, target: &Designator, value: &Expr) -> Option<IrKind> {
        let operand = self.expr(value);
        let lvalue = self.target(target, "cannot assign to")?;
        let wanted = self.types.described(lvalue.ty);
        let purpose = Purpose {
            wants: "the value must be a",
            context: Some((target.span, format!("this is {wanted}"))),
            note: None,
        };
        if !self.types.is_simple(lvalue.ty) {
            if let Operand::Undefined = operand {
                return Some(IrKind::Undefine(lvalue.place));
            }
            let from = self.aggregate(operand, value.span, lvalue.ty, &purpose)?;
            return Some(IrKind::Copy {
                to: lvalue.place,
                from: from.place,
            });
        }
        let undefined = match operand {
            Operand::Undefined => Undefined::PassedOn,
            Operand::Place(_) | Operand::Value { lax: true, .. }
                if self.dialect.assignment_copies_undefined() =>
            {
                Undefined::PassedOn
            }
            _ => Undefined::Fault,
        };
        let value = self.convert(operand, value.span, lvalue.ty, undefined, &purpose)?;
        Some(IrKind::Assign {
            place: lvalue.place,
            value,
        })
    }

    fn if_stmt(
        &mut self,
        branches: &[Branch],
        otherwise: Option<&[Stmt]>,
        span: Span,
        out: &mut Block,
    ) {
        let mut arms = Vec::new();
        // The block that is run for sure once the conditions before it are false.
        let mut certain: Option<Block> = None;
        for branch in branches {
            let is_late = certain.is_some();
            let condition = self.in_dead_code(is_late, |this| {
                this.truth(&branch.condition, "the condition of `if`")
            });
            let known = condition.constant();
            let is_dead = is_late || known == Some(0);
            let body = self.in_dead_code(is_dead, |this| this.block(&branch.body));
            match known {
                _ if is_dead => {}
                Some(_) => certain = Some(body),
                None => {
                    if let Some(condition) = self.strict(condition, branch.condition.span) {
                        arms.push((condition, body));
                    }
                }
            }
        }
        let is_dead = certain.is_some();
        let rest = self.in_dead_code(is_dead, |this| this.block(otherwise.unwrap_or(&[])));
        self.push_if(arms, certain.unwrap_or(rest), span, out);
    }

    /// A choice; without a condition there is none.
    fn push_if(
        &mut self,
        arms: Vec<(hadal_ir::ExprId, Block)>,
        otherwise: Block,
        span: Span,
        out: &mut Block,
    ) {
        match arms.is_empty() {
            true => out.extend(otherwise),
            false => self.push(IrKind::If { arms, otherwise }, span, out),
        }
    }

    fn switch(
        &mut self,
        subject: &Expr,
        cases: &[Case],
        otherwise: Option<&[Stmt]>,
        span: Span,
        out: &mut Block,
    ) {
        let subject_operand = self.expr(subject);
        let value = self.kept(subject_operand, subject.span, "subject", out);
        let mut arms = Vec::new();
        let mut certain: Option<Block> = None;
        for case in cases {
            let is_late = certain.is_some();
            let mut matches = Vec::new();
            let mut is_match = false;
            for label in &case.labels {
                // Labels are tried in order: one known to match ends the search for one.
                let is_beyond = is_late || is_match;
                let operand = self.in_dead_code(is_beyond, |this| this.expr(label));
                let sides = [(value.clone(), subject.span), (operand, label.span)];
                let equal = self.equality(true, label.span, sides);
                if is_beyond {
                    continue;
                }
                match equal.constant() {
                    Some(constant) => is_match = constant != 0,
                    None => matches.extend(self.strict(equal, label.span)),
                }
            }
            let is_dead = is_late || (matches.is_empty() && !is_match);
            let body = self.in_dead_code(is_dead, |this| this.block(&case.body));
            if is_dead {
                continue;
            }
            if is_match && matches.is_empty() {
                certain = Some(body);
                continue;
            }
            if is_match {
                // The labels before the certain one are still evaluated, and may fail.
                matches.extend(self.strict(Operand::truth(true), case.span));
            }
            let condition = match matches[..] {
                [only] => only,
                _ => self.emit(Ir::Or(matches), case.span),
            };
            arms.push((condition, body));
        }
        let is_dead = certain.is_some();
        let rest = self.in_dead_code(is_dead, |this| this.block(otherwise.unwrap_or(&[])));
        self.push_if(arms, certain.unwrap_or(rest), span, out);
    }

    /// A value that is computed once, here, and used several times.
    fn kept(&mut self, operand: Operand, span: Span, name: &str, out: &mut Block) -> Operand {
        if operand.constant().is_some() {
            return operand;
        }
        let ty = operand.ty();
        let undefined = self.undefined_element(ty);
        let Some(value) = self.value(operand, span, undefined) else {
            return Operand::Error;
        };
        let local = self.keep(value, ty, span, name, out);
        Operand::Place(Lvalue {
            place: Place::local(local),
            ty,
            access: Access::ReadOnly(ReadOnly::AliasOfValue, span),
            origin: Origin::Local,
        })
    }

    fn keep(
        &mut self,
        value: hadal_ir::ExprId,
        ty: Ty,
        span: Span,
        name: &str,
        out: &mut Block,
    ) -> LocalId {
        self.charge_local(ty, span);
        let kind = LocalKind::Value(self.types.ir(ty));
        let local = self.unit.add_local(name, kind);
        let place = Place::local(local);
        self.push(IrKind::Assign { place, value }, span, out);
        local
    }

    fn for_stmt(&mut self, quantifiers: &[Quantifier], body: &[Stmt], out: &mut Block) {
        let mut bound = Vec::new();
        let mut copies = Block::new();
        for quantifier in quantifiers {
            let domain = self.domain(quantifier);
            self.scopes.push();
            let declared = self.declare_loop_variable(quantifier, domain);
            if declared.is_some() && self.writes_loop_variable(&quantifier.name, body) {
                self.scopes.push();
                self.writable_copy(&quantifier.name, &mut copies);
            } else {
                // One scope or two, the same number is closed below.
                self.scopes.push();
            }
            bound.push(declared);
        }
        // Each quantifier is a loop of its own.
        let n_inner = quantifiers.len().saturating_sub(1) as u32;
        self.stmt_depth += n_inner;
        let mut lowered = copies;
        lowered.extend(self.block(body));
        self.stmt_depth -= n_inner;
        for _ in quantifiers {
            self.scopes.pop();
            self.scopes.pop();
        }
        for (bound, quantifier) in bound.into_iter().zip(quantifiers).rev() {
            let Some((var, domain)) = bound else {
                return;
            };
            let site = self.site(quantifier.span);
            let body = std::mem::take(&mut lowered);
            let kind = IrKind::For { var, domain, body };
            lowered.push(IrStmt { kind, site });
        }
        out.extend(lowered);
    }

    /// Whether statements write a loop variable or parameter of a ruleset. rumur lets them, and
    /// gives them a copy.
    pub(super) fn writes_loop_variable(&self, name: &Name, body: &[Stmt]) -> bool {
        if self.dialect != Dialect::Rumur {
            return false;
        }
        let mut writes = false;
        for_each_stmt(body, &mut |stmt| {
            writes |= match &stmt.kind {
                StmtKind::Assign { target, .. } => target.base.text == name.text,
                StmtKind::Clear(target) | StmtKind::Undefine(target) => {
                    target.base.text == name.text
                }
                StmtKind::Call { args, .. } => args.iter().any(
                    |arg| matches!(&arg.kind, ExprKind::Designator(d) if d.base.text == name.text),
                ),
                _ => false,
            };
        });
        writes
    }

    /// Hides a loop variable behind a copy that can be written.
    pub(super) fn writable_copy(&mut self, name: &Name, out: &mut Block) {
        let Some(symbol) = self.scopes.look_up(name) else {
            return;
        };
        let Def::Object(object) = symbol.def.clone() else {
            return;
        };
        let value = self.emit(Ir::Read(object.place), name.span);
        let value = self.emit(Ir::Defined(value), name.span);
        let local = self.keep(value, object.ty, name.span, name, out);
        let copy = Object {
            place: Place::local(local),
            ty: object.ty,
            access: Access::Writable,
            origin: Origin::Local,
            expansion: None,
        };
        self.declare(name, Def::Object(copy));
    }

    /// Declares an alias in the innermost scope; what must be bound first goes to `out`.
    pub(super) fn alias(&mut self, alias: &Alias, out: &mut Block) {
        let (name, span) = (&alias.name, alias.value.span);
        let operand = self.expr(&alias.value);
        let definition = match operand {
            Operand::Error => Def::Error,
            Operand::Undefined => {
                self.strict(operand, span);
                Def::Error
            }
            Operand::Const { value, ty } => Def::Const { value, ty },
            Operand::Slot(slot) => Def::Slot(slot),
            Operand::Value { ty, .. } => {
                match self.value(operand, span, self.undefined_element(ty)) {
                    Some(value) => {
                        let local = self.keep(value, ty, span, name, out);
                        Def::Object(Object {
                            place: Place::local(local),
                            ty,
                            access: Access::ReadOnly(ReadOnly::AliasOfValue, name.span),
                            origin: Origin::Local,
                            expansion: None,
                        })
                    }
                    None => Def::Error,
                }
            }
            Operand::Place(lvalue) => Def::Object(self.bind(name, lvalue, span, out)),
        };
        self.declare(name, definition);
    }

    /// A name for a place. What can move with an index is bound now.
    fn bind(&mut self, name: &Name, lvalue: Lvalue, span: Span, out: &mut Block) -> Object {
        let Lvalue {
            place,
            ty,
            access,
            origin,
        } = lvalue;
        let is_fixed = !matches!(place.root, Root::Result { .. })
            && place.path.iter().all(|step| match step {
                Projection::Field(_) => true,
                Projection::Index(index) => matches!(self.program.expr(*index), Ir::Int(_)),
            });
        let place = match is_fixed {
            true => place,
            false => {
                self.charge_local(ty, span);
                let ir = self.types.ir(ty);
                let kind = match access {
                    Access::Writable => LocalKind::Ref(ir),
                    Access::ReadOnly(..) => LocalKind::ConstRef(ir),
                };
                let local = self.unit.add_local(name, kind);
                self.push(IrKind::Bind { local, place }, span, out);
                Place::local(local)
            }
        };
        Object {
            place,
            ty,
            access,
            origin,
            expansion: None,
        }
    }

    fn return_stmt(&mut self, value: Option<&Expr>, span: Span) -> Option<IrKind> {
        self.unit.has_end = true;
        let (ty, declared) = match (self.unit.returns, value) {
            (Returns::Nothing, None) => return Some(IrKind::Return(ReturnValue::Nothing)),
            (Returns::Nothing, Some(value)) => {
                self.expr(value);
                let message = "only a function can return a value";
                self.report(Diagnostic::error(message, value.span));
                return None;
            }
            (Returns::Value(ty, declared), None) => {
                let name = self.types.name(ty);
                self.report(
                    Diagnostic::error("the value to return is missing", span)
                        .context(declared, format!("the function returns a `{name}`")),
                );
                return None;
            }
            (Returns::Value(ty, declared), Some(_)) => (ty, declared),
        };
        let value = value?;
        let operand = self.expr(value);
        let name = self.types.name(ty);
        let purpose = Purpose {
            wants: "the function returns a",
            context: Some((declared, format!("it returns a `{name}`"))),
            note: None,
        };
        if ty == Ty::ERROR {
            return None;
        }
        if !self.types.is_simple(ty) {
            let lvalue = self.aggregate(operand, value.span, ty, &purpose)?;
            return Some(IrKind::Return(ReturnValue::Copy(lvalue.place)));
        }
        let undefined = match operand {
            Operand::Place(_) | Operand::Undefined | Operand::Value { lax: true, .. }
                if self.dialect.return_copies_undefined() =>
            {
                Undefined::PassedOn
            }
            _ => Undefined::Fault,
        };
        let ty = self.returned(ty);
        let value = self.convert(operand, value.span, ty, undefined, &purpose)?;
        Some(IrKind::Return(ReturnValue::Value(value)))
    }

    fn property_stmt(
        &mut self,
        kind: PropertyKind,
        message: Option<&Text>,
        condition: &Expr,
        span: Span,
    ) -> Option<IrKind> {
        let (what, word) = match kind {
            PropertyKind::Invariant => ("what is asserted", "assert"),
            PropertyKind::Assume => ("what is assumed", "assume"),
            PropertyKind::Cover => ("what is covered", "cover"),
            PropertyKind::Liveness => ("the condition", "liveness"),
        };
        let holds = self.condition(condition, what);
        let text = match message {
            Some(text) => text.value.to_string(),
            None => self.quote(condition.span),
        };
        if kind != PropertyKind::Invariant {
            self.unit.effects.special.get_or_insert((word, span));
        }
        let condition = holds?;
        Some(match kind {
            PropertyKind::Invariant => IrKind::Assert {
                condition,
                message: text,
                goes_on: false,
            },
            PropertyKind::Assume => IrKind::Assume(condition),
            PropertyKind::Cover => {
                let site = self.site(span);
                let point = self.program.cover_points.len() as u32;
                self.program
                    .cover_points
                    .push(CoverPoint { name: text, site });
                IrKind::Cover { point, condition }
            }
            // The parser has reported it.
            PropertyKind::Liveness => return None,
        })
    }

    fn put(&mut self, value: &Expr) -> Option<IrKind> {
        let operand = self.expr(value);
        if let Operand::Place(lvalue) = operand {
            let name = self.quote(value.span);
            return Some(IrKind::Put(PutItem::Place(lvalue.place, name)));
        }
        let ty = operand.ty();
        let value = self.strict(operand, value.span)?;
        Some(IrKind::Put(PutItem::Value(value, self.types.ir(ty))))
    }

    fn clear(&mut self, designator: &Designator) -> Option<IrKind> {
        let target = self.target(designator, "cannot clear")?;
        if self.types.clears_to_element(target.ty) && !self.muted {
            let found = self.types.described(target.ty);
            let message =
                "`clear` gives elements of a scalarset a value, and so distinguishes them";
            self.symmetry_breaks.push(
                Diagnostic::error(message, designator.span)
                    .label(format!("this is {found}"))
                    .help("use `undefine` for the parts that hold elements of a scalarset"),
            );
        }
        Some(IrKind::Clear(target.place))
    }
}
