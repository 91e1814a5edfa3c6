//! Whether two graphs are equivalent, and if not, what tells them apart.
//!
//! Both graphs are minimised, their disjoint union is refined, and the blocks of the two initial
//! states are compared. Where they differ, the union is refined again in memory, one depth after the
//! other ([`history`]), until the initial states part. From what parted them at each depth comes a
//! formula ([`formula`]), and a run that only one of the graphs has, where there is one ([`trace`]).

mod build;
mod formula;
mod history;
mod trace;

use crate::labels::Interner;
use crate::minimise::{Equivalence, are_equivalent, minimise};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::{Edge, Error, Hlts};

pub use formula::Formula;
use history::{Explicit, History};
pub use trace::Traces;

/// The result of a comparison.
#[derive(Debug)]
pub struct Comparison {
    /// Whether the graphs are equivalent.
    pub is_equivalent: bool,
    /// States of the two graphs after minimisation.
    pub n_states: [u64; 2],
    /// What tells them apart; `None` where they are equivalent.
    pub difference: Option<Difference>,
}

/// What tells two graphs apart.
#[derive(Debug)]
pub struct Difference {
    /// A formula that holds in the initial state of the first graph and not in that of the second;
    /// `None` where there is not the memory to find it, or it would be deeper than
    /// [`MOST_DEPTH`](Self::MOST_DEPTH).
    pub formula: Option<Formula>,
    /// What is known about their runs.
    pub traces: Traces,
}

impl Difference {
    /// The depth of formulas that are looked for, most.
    pub const MOST_DEPTH: usize = history::MOST_DEPTH;
}

/// Compares two graphs. Labels with one of the texts `tau` are invisible to branching bisimulation.
pub fn compare(
    first: &Hlts,
    second: &Hlts,
    equivalence: Equivalence,
    tau: &[String],
    resources: &Resources<'_>,
) -> Result<Comparison, Error> {
    let first = minimise(first, equivalence, tau, resources)?.graph;
    let second = minimise(second, equivalence, tau, resources)?.graph;
    let n_states = [first.counts().n_states, second.counts().n_states];
    let is_invisible = |label: &[u8]| {
        equivalence == Equivalence::Branching && tau.iter().any(|tau| tau.as_bytes() == label)
    };
    let union = union(&first, &second, is_invisible, resources)?;
    let initial = (0, n_states[0]);
    let is_equivalent = are_equivalent(&union, initial, equivalence, tau, resources)?;
    let difference = match is_equivalent {
        true => None,
        false => {
            let found = difference(&union, initial, equivalence, is_invisible, resources)?;
            Some(found)
        }
    };
    Ok(Comparison {
        is_equivalent,
        n_states,
        difference,
    })
}

/// The states of both graphs, those of the second behind those of the first. Invisible labels are
/// one.
fn union(
    first: &Hlts,
    second: &Hlts,
    is_invisible: impl Fn(&[u8]) -> bool,
    resources: &Resources<'_>,
) -> Result<Hlts, Error> {
    let mut labels = Interner::new(resources.memory_bytes / 4);
    let mut invisible: Option<Vec<u8>> = None;
    Hlts::build(0, resources, |writer| {
        let mut offset = 0;
        for graph in [first, second] {
            let mut numbers = Vec::with_capacity(graph.labels().len());
            for text in graph.labels().iter() {
                let text = match is_invisible(text) {
                    true => invisible.get_or_insert_with(|| text.to_vec()),
                    false => text,
                };
                numbers.push(labels.intern(text)?);
            }
            graph.for_each_edge(resources, |edge| {
                let label = numbers[edge.label as usize];
                writer.push(Edge::new(edge.source + offset, label, edge.target + offset))
            })?;
            offset += graph.counts().n_states;
        }
        Ok((offset, labels.into_labels()))
    })
}

fn difference(
    union: &Hlts,
    (a, b): (u64, u64),
    equivalence: Equivalence,
    is_invisible: impl Fn(&[u8]) -> bool,
    resources: &Resources<'_>,
) -> Result<Difference, Error> {
    resources.begin(Stage::Distinguishing, 0);
    let mut texts = union.labels().iter();
    let tau = texts.position(is_invisible).map(|label| label as u32);
    let nothing = Difference {
        formula: None,
        traces: Traces::Unknown,
    };
    let Some(graph) = Explicit::new(union, tau, resources)? else {
        return Ok(nothing);
    };
    // It has fewer than 2^32 states, or it would not be there.
    let pair = (a as u32, b as u32);
    let traces = trace::compare(&graph, pair, union.labels(), resources)?;
    let history = History::until_split(&graph, pair, resources)?;
    let formula =
        history.map(|history| build::formula(&graph, &history, pair, union.labels(), equivalence));
    Ok(Difference { formula, traces })
}
