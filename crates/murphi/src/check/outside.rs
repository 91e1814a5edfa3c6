//! Expressions from outside the text: a goal, which is looked for in place of the model's properties,
//! and numbers that direct or weigh a search.
//!
//! They are checked where the model ends, so they may use all global names. Besides, an element of a
//! scalarset has the name there that traces show: `Proc_1`. That tells it apart from the others, so
//! it is an error under symmetry reduction: the expression would have different values in states of
//! one orbit, and only one of them is visited.

use hadal_ir::{Expr as Ir, ExprId, Frame, Guard, Measure, Property, PropertyKind, UnaryOp};
use hadal_model::MeasureKind;
use hadal_syntax::{Diagnostic, Outside, OutsideRole, Source, Span};

use super::Checker;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::ast::{Expr, ExprKind, Name};

impl<'a> Checker<'a> {
    /// What comes from outside, each expression with its text.
    pub(super) fn outside(&mut self, texts: &'a Outside<Source>, exprs: &Outside<Expr>) {
        if let (Some(text), Some(goal)) = (&texts.goal, &exprs.goal) {
            self.goal(text, goal);
        }
        if let (Some(text), Some(cost)) = (&texts.cost, &exprs.cost) {
            let measure = self.measure(text, cost, OutsideRole::Cost, MeasureKind::Cost);
            self.program.measures.extend(measure);
        }
        // Nobody has proved anything about them.
        let kind = MeasureKind::Estimate {
            is_admissible: false,
        };
        for (index, (text, expr)) in texts.estimates.iter().zip(&exprs.estimates).enumerate() {
            let measure = self.measure(text, expr, OutsideRole::Estimate(index), kind);
            self.estimates.extend(measure);
        }
    }

    fn goal(&mut self, text: &'a Source, expr: &Expr) {
        let (condition, frame) = self.lowered_with_role(text, expr, OutsideRole::Goal, |this| {
            let holds = this.condition(expr, OutsideRole::Goal.any())?;
            Some(this.emit(Ir::Unary(UnaryOp::Not, holds), expr.span))
        });
        let property = Property {
            kind: PropertyKind::Invariant,
            name: self.quote(expr.span),
            params: Vec::new(),
            frame,
            condition: Guard {
                prologue: Vec::new(),
                condition,
            },
            site: self.site(expr.span),
        };
        self.program.properties.push(property);
    }

    fn measure(
        &mut self,
        text: &'a Source,
        expr: &Expr,
        role: OutsideRole,
        kind: MeasureKind,
    ) -> Option<Measure> {
        let (value, frame) =
            self.lowered_with_role(text, expr, role, |this| this.natural_number(expr, role));
        Some(Measure {
            kind,
            name: self.quote(expr.span),
            frame,
            body: Vec::new(),
            value: value?,
            is_zero_at_faults: false,
            site: self.site(expr.span),
        })
    }

    /// Checks `expr`, which is all of `text`.
    fn lowered_with_role(
        &mut self,
        text: &'a Source,
        expr: &Expr,
        role: OutsideRole,
        lower: impl FnOnce(&mut Self) -> Option<ExprId>,
    ) -> (Option<ExprId>, Frame) {
        let arithmetic = self.arithmetic();
        self.source = text;
        self.file = self.program.add_file(text.name());
        self.role = Some(role);
        let lowered = self.with_frame(|this| {
            this.unit.pure = Some(role.any());
            lower(this)
        });
        self.role = None;
        if self.arithmetic() != arithmetic {
            let message = format!("{} would change how the model computes", role.noun());
            self.report(
                Diagnostic::error(message, expr.span)
                    .note("in the dialect rumur the numbers in a text decide the type of integers")
                    .help("use numbers in the range of those in the model"),
            );
        }
        lowered
    }

    /// An expression that must be a number, and not a negative one as far as that is known now.
    fn natural_number(&mut self, expr: &Expr, role: OutsideRole) -> Option<ExprId> {
        let operand = self.expr(expr);
        let ty = operand.ty();
        if ty != Ty::ERROR && !self.types.is_number(ty) {
            self.report_no_number(ty, expr, role);
            return None;
        }
        if let Some(value) = operand.constant()
            && u32::try_from(value).is_err()
        {
            let message = format!("{} must be from 0 to {}", role.any(), u32::MAX);
            self.report(Diagnostic::error(message, expr.span).label(format!("this is {value}")));
            return None;
        }
        // What has an error for its type may be no value at all, which is reported there.
        self.strict(operand, expr.span)
    }

    fn report_no_number(&mut self, ty: Ty, expr: &Expr, role: OutsideRole) {
        let message = format!("mismatched types: {} must be a number", role.any());
        let diagnostic = Diagnostic::error(message, expr.span)
            .label(format!("this is {}", self.types.described(ty)));
        let text = self.grouped(expr);
        let diagnostic = match self.types.kind(ty) {
            Kind::Boolean => diagnostic.help(format!("write `{text} ? 1 : 0`")),
            Kind::Enum(_) => diagnostic
                .note("the members of an enumeration are not numbers")
                .help(format!(
                    "compare it with one of them: `{text} = ... ? 1 : 0`"
                )),
            Kind::Scalarset { .. } => {
                diagnostic.note("the elements of a scalarset are not numbers")
            }
            Kind::Union(_) => diagnostic.note("the members of a union are not numbers"),
            _ => diagnostic.help("name a part of it that is a number"),
        };
        self.report(diagnostic);
    }

    /// The text of an expression, as the condition of `? :`.
    fn grouped(&self, expr: &Expr) -> String {
        let text = self.quote(expr.span);
        match expr.kind {
            ExprKind::Conditional { .. } => format!("({text})"),
            _ => text,
        }
    }

    /// The element of a scalarset of this name, in an expression from outside.
    pub(super) fn element(&mut self, name: &Name) -> Option<Def> {
        let role = self.role?;
        let (set, number) = name.text.rsplit_once('_')?;
        let is_canonical = !number.starts_with('0') && number.bytes().all(|it| it.is_ascii_digit());
        let number: i64 = number.parse().ok().filter(|_| is_canonical)?;
        let (ty, size) = self.scalarset_named(set)?;
        if number > size {
            return None;
        }
        if size > 1 && !self.muted {
            self.break_symmetry(role, set, size, name.span);
        }
        let value = number - 1;
        Some(Def::Const { value, ty })
    }

    fn break_symmetry(&mut self, role: OutsideRole, set: &str, size: i64, span: Span) {
        let noun = role.noun();
        let differs = match role {
            OutsideRole::Goal => "does not hold in all of them",
            OutsideRole::Cost | OutsideRole::Estimate(_) => "is not the same in all of them",
        };
        let help = match role {
            OutsideRole::Goal => format!("say `exists p: {set} do ... end`"),
            OutsideRole::Cost | OutsideRole::Estimate(_) => {
                format!("say `exists p: {set} do ... end ? 1 : 0`")
            }
        };
        self.symmetry_breaks.push(
            Diagnostic::error(format!("{noun} names an element of a scalarset"), span)
                .label(format!("one of the {size} elements of `{set}`"))
                .note(format!(
                    "symmetry reduction visits one state of those that differ by a renaming of \
                     elements only, and {noun} {differs}"
                ))
                .help(format!("{help}, or run with --symmetry off")),
        );
    }

    fn scalarset_named(&self, wanted: &str) -> Option<(Ty, i64)> {
        let sets = &self.program.types.scalarsets;
        self.types.all().find_map(|ty| match *self.types.kind(ty) {
            Kind::Scalarset { id, size } if sets[id.index()].name == wanted => Some((ty, size)),
            _ => None,
        })
    }
}
