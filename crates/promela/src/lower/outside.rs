//! Expressions from outside: a goal, as an invariant that it is false, and numbers of states.
//!
//! Like all properties they are about states at rest: what holds only inside an `atomic`, or between
//! the halves of a rendezvous, is not found.

use hadal_ir::program::{Frame, Guard, Measure, Property, PropertyKind};
use hadal_model::MeasureKind;

use super::Lowering;
use super::exprs::Scope;
use super::layout::Slot;
use crate::program::OutsideExpr;
use crate::text::TokenSpan;

/// Characters of an expression that make its name.
const NAME_CHARS: usize = 60;

impl Lowering<'_> {
    /// What the program keeps: the goal as its last property, and the cost.
    pub(super) fn outside(&mut self) {
        let outside = &self.program.outside;
        if let Some(goal) = &outside.goal {
            self.goal(goal);
        }
        if let Some(cost) = &outside.cost {
            let measure = self.measure(cost, MeasureKind::Cost);
            self.builder.ir.measures.push(measure);
        }
    }

    /// The estimates, which are no part of the program.
    pub(super) fn estimates(&mut self) -> Vec<Measure> {
        // Nobody has proved anything about them.
        let kind = MeasureKind::Estimate {
            is_admissible: false,
        };
        let estimates = self.program.outside.estimates.iter();
        estimates.map(|it| self.measure(it, kind)).collect()
    }

    fn goal(&mut self, goal: &OutsideExpr) {
        let site = self.builder.set_site(goal.span);
        let mut scope = no_process();
        let holds = self.truth(&mut scope, &goal.expr);
        self.builder.set_site(goal.span);
        let fails = self.builder.not(holds);
        let name = self.name_of(goal.span);
        self.builder.ir.properties.push(Property {
            kind: PropertyKind::Invariant,
            name,
            params: Vec::new(),
            frame: scope.frame,
            condition: Guard {
                prologue: Vec::new(),
                condition: Some(fails),
            },
            site,
        });
    }

    fn measure(&mut self, of: &OutsideExpr, kind: MeasureKind) -> Measure {
        let site = self.builder.set_site(of.span);
        let mut scope = no_process();
        let value = self.int(&mut scope, &of.expr);
        Measure {
            kind,
            name: self.name_of(of.span),
            frame: scope.frame,
            body: Vec::new(),
            value,
            is_zero_at_faults: false,
            site,
        }
    }

    /// The text of an expression in one line, cut if it is long.
    fn name_of(&self, span: TokenSpan) -> String {
        let text = self.text.sources.slice(self.text.place(span).span);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut name = words.join(" ");
        if let Some((at, _)) = name.char_indices().nth(NAME_CHARS) {
            name.truncate(at);
            name += "...";
        }
        name
    }
}

/// The scope of an expression that mentions nothing that only a process has.
fn no_process() -> Scope {
    Scope {
        proctype: 0,
        slot: Slot::Number(0),
        frame: Frame::default(),
        timeout: false,
        in_d_step: false,
    }
}
