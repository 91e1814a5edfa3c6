//! What is said about the order in which a loop over interchangeable elements takes them: how it
//! was established that results do not depend on it, and what people read where they do.
//!
//! A reduction by symmetry is sound only where no result depends on that order. Most loops and
//! quantifiers are proved to be so before the search; the others are checked in every state that
//! reaches them, and a model in which one of them does depend on it is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hadal_ir::{Program, SiteId};
use hadal_symmetry::order::{Order, Refusal};
use hadal_syntax::{Diagnostic, Source, Span};

use crate::units::counted;

/// The headline about a model that is refused, but for when it comes to that.
pub(crate) const REFUSAL: &str = "the result of a loop depends on the order of its passes";

/// What to do about it.
pub(crate) const HELP: &str = "use a ruleset in place of the loop so that every choice is \
                               explored, or keep a set (array of boolean) in place of the last \
                               element; or run with --symmetry off";

/// How the loops and quantifiers of a model were found to be independent of the order.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderReport {
    /// How many were proved to be so.
    pub(crate) proved: usize,
    /// Those that are checked in every state that reaches them.
    pub(crate) checked: Vec<CheckedLoopReport>,
}

/// A loop or quantifier that is checked wherever it is reached.
#[derive(Clone, Debug)]
pub(crate) struct CheckedLoopReport {
    /// Where it stands, as `file:line:column`.
    pub(crate) at: String,
    /// How often it was checked by now.
    pub(crate) evaluations: Arc<AtomicU64>,
}

impl CheckedLoopReport {
    /// How often it was checked by now.
    pub(crate) fn n_evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }
}

impl OrderReport {
    /// What is established about a program before it is searched.
    pub(crate) fn of(order: &Order, program: &Program) -> Self {
        let checked = order.checks.loops.iter().map(|checked| CheckedLoopReport {
            at: program.position(checked.site),
            evaluations: Arc::default(),
        });
        OrderReport {
            proved: order.proved.len(),
            checked: checked.collect(),
        }
    }

    /// The same report with what counts the checks of each loop.
    pub(crate) fn counting(mut self, evaluations: &[Arc<AtomicU64>]) -> Self {
        for (checked, evaluations) in self.checked.iter_mut().zip(evaluations) {
            checked.evaluations = Arc::clone(evaluations);
        }
        self
    }

    /// What was proved and checked, in one line; `None` where there is no loop to speak of.
    pub(crate) fn describe(&self) -> Option<String> {
        let n_times = self.checked.iter().map(CheckedLoopReport::n_evaluations);
        let times = format!(" ({})", counted(n_times.sum(), "time"));
        self.describe_with("checked", &times)
    }

    /// The same before a search.
    pub(crate) fn describe_ahead(&self) -> Option<String> {
        self.describe_with("to be checked", "")
    }

    fn describe_with(&self, checked: &str, times: &str) -> Option<String> {
        let proved = format!("proved for {}", loops(self.proved));
        let n_checked = self.checked.len();
        let reached = match n_checked {
            1 => "it is reached",
            _ => "they are reached",
        };
        match (self.proved, n_checked) {
            (0, 0) => None,
            (_, 0) => Some(proved),
            (0, n) => Some(format!("{} {checked} wherever {reached}{times}", loops(n))),
            (_, n) => Some(format!(
                "{proved}, {} {checked} wherever {reached}{times}",
                crate::units::count(n as u64)
            )),
        }
    }
}

/// Why a model is refused before it is searched, for people.
pub(crate) fn diagnostics(
    source: &Source,
    program: &Program,
    refusals: &[Refusal],
) -> Vec<Diagnostic> {
    let span = |site: SiteId| -> Span {
        let site = program.sites[site.index()];
        source.word_at(site.line, site.column)
    };
    let diagnostic = |refusal: &Refusal| {
        let mut diagnostic = Diagnostic::error(refusal.message.as_str(), span(refusal.site));
        for note in &refusal.notes {
            diagnostic = diagnostic.context(span(note.site), note.text.as_str());
        }
        diagnostic.help(HELP)
    };
    refusals.iter().map(diagnostic).collect()
}

fn loops(n: usize) -> String {
    match n {
        1 => "1 loop or quantifier".to_owned(),
        n => format!("{} loops and quantifiers", crate::units::count(n as u64)),
    }
}

#[cfg(test)]
mod tests;
