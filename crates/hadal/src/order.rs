//! The order in which a loop takes the elements of a scalarset: how results were found to be
//! independent of it, and the messages where they are not.
//!
//! Symmetry reduction is sound only if no result depends on that order. Most loops and quantifiers
//! are proved independent before the search; the others are checked in every state that reaches
//! them, and a model in which one depends on the order is rejected. Messages call quantifiers loops
//! as well.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hadal_ir::{Program, SiteId};
use hadal_symmetry::order::{Note, Order, Rejection};
use hadal_syntax::{Diagnostic, FileId, Label, Sources, Span};

use hadal_report::units::{count, counted};

/// Why a model is rejected, where `at` is the place of the loop.
#[doc(hidden)]
pub fn headline(at: &str) -> String {
    match at {
        "" => "the result of a loop depends on the order of its iterations".to_owned(),
        at => format!("the result of the loop at {at} depends on the order of its iterations"),
    }
}

/// The same, at the step of a trace that meets it.
#[doc(hidden)]
pub const AT_STEP: &str = "the result depends on the order of the iterations";

/// What to do about it.
#[doc(hidden)]
pub const HELP: &str = "the elements of a scalarset have no order, so the model must not \
    depend on one: let a ruleset choose the element, with the loop's condition in its guard, so \
    that every choice is explored; or keep a set (an array of boolean) in place of one element. \
    Without symmetry reduction the loop runs in one fixed order, and nothing else is checked";

/// Checked loops are named in one line where there are at most this many.
const NAMED_MAX: usize = 2;

/// How the loops and quantifiers of a model were found to be independent of the order.
#[derive(Clone, Debug, Default)]
pub struct OrderReport {
    /// Number of those proved independent.
    pub proved: usize,
    /// Those that are checked in every state that reaches them.
    pub checked: Vec<CheckedLoopReport>,
}

/// A loop or quantifier that is checked wherever it is reached.
#[derive(Clone, Debug)]
pub struct CheckedLoopReport {
    /// Where it stands, as `file:line:column`.
    pub at: String,
    /// Why it is not proved.
    pub doubts: Vec<Label>,
    /// Number of states in which it was checked so far.
    pub states: Arc<AtomicU64>,
}

impl CheckedLoopReport {
    /// Number of states in which it was checked so far.
    pub fn n_states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }
}

/// How much of the state space a search covered.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every reachable state was visited.
    Everything,
    /// The search ended, but one state may have been taken for another.
    Signatures,
    /// States were not visited.
    Part,
    /// A result depends on the order, as shown before.
    Dependent,
}

impl OrderReport {
    /// What is known about a program before it is searched.
    pub(crate) fn of(order: &Order, program: &Program, sources: &Sources) -> Self {
        let doubted = order.checks.loops.iter().zip(&order.doubts);
        let checked = doubted.map(|(checked, doubts)| CheckedLoopReport {
            at: program.position(checked.site),
            doubts: labels(sources, program, doubts),
            states: Arc::default(),
        });
        OrderReport {
            proved: order.proved.len(),
            checked: checked.collect(),
        }
    }

    /// The same report with the counters of the checks of each loop.
    pub(crate) fn counting(mut self, states: &[Arc<AtomicU64>]) -> Self {
        for (checked, states) in self.checked.iter_mut().zip(states) {
            checked.states = Arc::clone(states);
        }
        self
    }

    /// Why the loop at a place is not proved.
    pub fn doubts(&self, at: &str) -> &[Label] {
        let checked = self.checked.iter().find(|checked| checked.at == at);
        checked.map_or(&[], |checked| &checked.doubts)
    }

    /// What a search established, in one line; `None` where there is no loop.
    #[doc(hidden)]
    pub fn describe(&self, extent: Extent) -> Option<String> {
        let n_states = self.checked.iter().map(CheckedLoopReport::n_states);
        let mut reached = format!("in {}", counted(n_states.sum(), "state"));
        if let Some(places) = self.places(NAMED_MAX) {
            let _ = write!(reached, ", at {places}");
        }
        let how = self.describe_with("proved", &format!("checked in all orders ({reached})"))?;
        let what = match extent {
            Extent::Dependent => "dependent, as shown above",
            _ if self.checked.is_empty() => "independent",
            Extent::Everything => "independent",
            Extent::Signatures => "no dependence found",
            Extent::Part => "no dependence found so far",
        };
        Some(format!("{what}: {how}"))
    }

    /// What is known before a search, in one line; with `all_places` every checked loop is named.
    pub fn describe_ahead(&self, all_places: bool) -> Option<String> {
        let mut to_check = "to be checked in all orders during the search".to_owned();
        let n_named = match all_places {
            true => usize::MAX,
            false => NAMED_MAX,
        };
        if let Some(places) = self.places(n_named) {
            let _ = write!(to_check, " (at {places})");
        }
        self.describe_with("proved independent", &to_check)
    }

    fn describe_with(&self, proved: &str, checked: &str) -> Option<String> {
        let loops = |n: usize| counted(n as u64, "loop");
        match (self.proved, self.checked.len()) {
            (0, 0) => None,
            (n, 0) => Some(format!("{} {proved}", loops(n))),
            (0, n) => Some(format!("{} {checked}", loops(n))),
            (n, m) => Some(format!(
                "{} {proved}, {} {checked}",
                loops(n),
                count(m as u64)
            )),
        }
    }

    /// Where the checked loops stand, unless there are more than `n_max`.
    fn places(&self, n_max: usize) -> Option<String> {
        let places: Vec<&str> = self.checked.iter().map(|it| it.at.as_str()).collect();
        match &places[..] {
            [] => None,
            places if places.len() > n_max => None,
            [before @ .., last] if !before.is_empty() => {
                Some(format!("{} and {last}", before.join(", ")))
            }
            places => Some(places.join(", ")),
        }
    }
}

/// Why a model is rejected before it is searched.
pub(crate) fn diagnostics(
    sources: &Sources,
    program: &Program,
    rejections: &[Rejection],
) -> Vec<Diagnostic> {
    let diagnostic = |rejection: &Rejection| {
        let span = span(sources, program, rejection.site);
        let mut diagnostic = Diagnostic::error(rejection.message.as_str(), span).help(HELP);
        let notes = labels(sources, program, &rejection.notes);
        diagnostic.labels.extend(notes);
        diagnostic
    };
    rejections.iter().map(diagnostic).collect()
}

/// Notes as context of a diagnostic.
fn labels(sources: &Sources, program: &Program, notes: &[Note]) -> Vec<Label> {
    let label = |note: &Note| Label {
        span: span(sources, program, note.site),
        text: note.text.clone(),
        primary: false,
    };
    notes.iter().map(label).collect()
}

/// The word at a site; at the start of the first file where there is none.
fn span(sources: &Sources, program: &Program, site: SiteId) -> Span {
    let site = program.sites[site.index()];
    let name = &program.files[site.file.index()];
    let file = sources.find(name).unwrap_or(FileId::ROOT);
    sources.file(file).word_at(site.line, site.column)
}
