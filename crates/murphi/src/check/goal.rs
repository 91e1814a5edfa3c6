//! What is looked for in place of the model's properties: an expression from outside the text.
//!
//! It is checked where the model ends, so it may use all global names. Besides, an element of a
//! scalarset has the name there that traces show: `Proc_1`. That tells it apart from the others, so
//! it is an error under symmetry reduction: the goal would hold in some states of an orbit and not in
//! others, and only one of them is visited.

use hadal_ir::{Expr as Ir, Guard, Property, PropertyKind, UnaryOp};
use hadal_syntax::{Diagnostic, Source};

use super::Checker;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::ast::{Expr, Name};

impl<'a> Checker<'a> {
    /// The goal `expr`, which is all of `text`.
    pub(super) fn goal(&mut self, text: &'a Source, expr: &Expr) {
        let arithmetic = self.arithmetic();
        self.source = text;
        self.file = self.program.add_file(text.name());
        self.in_goal = true;
        let (condition, frame) = self.with_frame(|this| {
            this.unit.pure = Some("a goal");
            let holds = this.condition(expr, "a goal")?;
            Some(this.emit(Ir::Unary(UnaryOp::Not, holds), expr.span))
        });
        self.in_goal = false;
        if self.arithmetic() != arithmetic {
            self.report(
                Diagnostic::error("the goal would change how the model computes", expr.span)
                    .note("in the dialect rumur the numbers in a text decide the type of integers")
                    .help("use numbers in the range of those in the model"),
            );
        }
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

    /// The element of a scalarset of this name, in a goal.
    pub(super) fn element(&mut self, name: &Name) -> Option<Def> {
        if !self.in_goal {
            return None;
        }
        let (set, number) = name.text.rsplit_once('_')?;
        let is_canonical = !number.starts_with('0') && number.bytes().all(|it| it.is_ascii_digit());
        let number: i64 = number.parse().ok().filter(|_| is_canonical)?;
        let (ty, size) = self.scalarset_named(set)?;
        if number > size {
            return None;
        }
        if size > 1 && !self.muted {
            self.symmetry_breaks.push(
                Diagnostic::error("the goal names an element of a scalarset", name.span)
                    .label(format!("one of the {size} elements of `{set}`"))
                    .note(
                        "symmetry reduction visits one state of those that differ by a renaming of \
                         elements only, and the goal does not hold in all of them",
                    )
                    .help(format!(
                        "say `exists p: {set} do ... end`, or run with --symmetry off"
                    )),
            );
        }
        let value = number - 1;
        Some(Def::Const { value, ty })
    }

    fn scalarset_named(&self, wanted: &str) -> Option<(Ty, i64)> {
        let sets = &self.program.types.scalarsets;
        self.types.all().find_map(|ty| match *self.types.kind(ty) {
            Kind::Scalarset { id, size } if sets[id.index()].name == wanted => Some((ty, size)),
            _ => None,
        })
    }
}
