//! What is looked for, as an invariant that it is false.
//!
//! Like all properties it is about states at rest: what holds only inside an `atomic`, or between the
//! halves of a rendezvous, is not found.

use hadal_ir::program::{Frame, Guard, Property, PropertyKind};

use super::Lowering;
use super::exprs::Scope;
use super::layout::Slot;

/// Characters of a goal that make its name.
const NAME_CHARS: usize = 60;

impl Lowering<'_> {
    /// The goal, if there is one.
    pub(super) fn goal(&mut self) {
        let program = self.program;
        let Some(goal) = &program.goal else {
            return;
        };
        let site = self.builder.set_site(goal.span);
        // A goal mentions nothing that only a process has.
        let mut scope = Scope {
            proctype: 0,
            slot: Slot::Number(0),
            frame: Frame::default(),
            timeout: false,
            in_d_step: false,
        };
        let holds = self.truth(&mut scope, &goal.expr);
        self.builder.set_site(goal.span);
        let fails = self.builder.not(holds);
        let text = self.text.sources.slice(self.text.place(goal.span).span);
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut name = words.join(" ");
        if let Some((at, _)) = name.char_indices().nth(NAME_CHARS) {
            name.truncate(at);
            name += "...";
        }
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
}
