//! Conditions that hold in one pass of a loop at most.

use hadal_ir::walk::{Mention, Reach};
use hadal_ir::{BinaryOp, Expr, ExprId};

use super::mentions::same_expr;
use super::spot::{LoopNo, Selector, Symbol};
use super::walk::Walk;

impl Walk<'_> {
    /// Notes the loops whose element a condition compares with a value that is the same in all
    /// passes: it can be true in one pass at most.
    pub(super) fn single_out(&mut self, condition: ExprId) {
        let program = self.program;
        match program.expr(condition) {
            Expr::And(parts) => parts.iter().for_each(|part| self.single_out(*part)),
            Expr::Binary(BinaryOp::Eq | BinaryOp::Same, a, b) => {
                for (own, other) in [(*a, *b), (*b, *a)] {
                    if self.mentions.has_call(own) {
                        continue;
                    }
                    let Symbol::Element(number) = self.dry(|walk| walk.value(own)).symbol else {
                        continue;
                    };
                    if let Some(selector) = self.selector(number, other) {
                        self.singled_out.push((number, selector));
                    }
                }
            }
            _ => {}
        }
    }

    /// A value that is the same in all passes of a loop: by its symbol; or, for an expression over
    /// state variables alone, by its text, as long as no pass writes these variables, which is
    /// decided with all other reads.
    fn selector(&mut self, number: LoopNo, id: ExprId) -> Option<Selector> {
        if self.mentions.has_call(id) {
            return None;
        }
        let symbol = self.dry(|walk| walk.value(id)).symbol;
        let passes = self.open.iter().find(|passes| passes.number == number)?;
        if passes.is_same_in_all_passes(symbol) {
            return Some(Selector::Symbol(symbol));
        }
        let program = self.program;
        let mut has_local = false;
        Reach::new(program).visit(Mention::Expr(id), &mut |mention| {
            has_local |= matches!(mention, Mention::Local(_));
        });
        if has_local {
            return None;
        }
        let known = self.selectors.iter();
        let known = known.copied().find(|it| same_expr(program, *it, id));
        Some(Selector::Text(known.unwrap_or_else(|| {
            self.selectors.push(id);
            id
        })))
    }
}
