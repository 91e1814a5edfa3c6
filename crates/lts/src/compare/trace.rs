//! A shortest run that only one of two states has.
//!
//! A breadth-first search over pairs of sets of states: those that a run may lead to, from the one
//! and from the other. Sets may be exponentially many, so the search is bounded; a formula is there
//! in any case.

use rustc_hash::FxHashSet;

use super::history::Explicit;
use crate::resources::Resources;
use crate::{Error, Labels};

/// What is known about the runs of two graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traces {
    /// One of the graphs has a run with these labels, invisible ones left out, and the other has
    /// not. There is no shorter one.
    Differ {
        /// The labels.
        labels: Vec<String>,
        /// Whether the first graph has it.
        in_first: bool,
    },
    /// Both graphs have the same runs; they differ in when choices are made.
    Equal,
    /// It would take too long to find out.
    Unknown,
}

/// Numbers of states that the sets may have together.
const MOST_MEMBERS: usize = 1 << 22;

/// Sorted sets of states.
type Pair = [Vec<u32>; 2];

pub(super) fn compare(
    graph: &Explicit,
    (a, b): (u32, u32),
    labels: &Labels,
    resources: &Resources<'_>,
) -> Result<Traces, Error> {
    let first = [closed(graph, vec![a]), closed(graph, vec![b])];
    let mut seen: FxHashSet<Pair> = FxHashSet::from_iter([first.clone()]);
    // Each with the position of the pair that it was reached from, and the label.
    let mut queue: Vec<(Pair, usize, u32)> = vec![(first, 0, 0)];
    let most = (resources.memory_bytes / 32).min(MOST_MEMBERS as u64) as usize;
    let (mut next, mut n_members) = (0, 0);
    while next < queue.len() {
        if next % 256 == 0 {
            resources.poll()?;
        }
        let pair = queue[next].0.clone();
        let states = pair.iter().flatten();
        let visible = states.flat_map(|&state| graph.edges(state));
        let visible = visible
            .map(|edge| edge.0)
            .filter(|&it| graph.tau != Some(it));
        let mut offered: Vec<u32> = visible.collect();
        offered.sort_unstable();
        offered.dedup();
        for label in offered {
            let after = pair.each_ref().map(|set| after(graph, set, label));
            if after[0].is_empty() != after[1].is_empty() {
                let mut run = vec![label];
                let mut at = next;
                while at > 0 {
                    run.push(queue[at].2);
                    at = queue[at].1;
                }
                run.reverse();
                let names = run.iter().map(|&label| labels.text(label).into_owned());
                return Ok(Traces::Differ {
                    labels: names.collect(),
                    in_first: !after[0].is_empty(),
                });
            }
            if seen.contains(&after) {
                continue;
            }
            n_members += 8 + 2 * (after[0].len() + after[1].len());
            if n_members > most {
                return Ok(Traces::Unknown);
            }
            seen.insert(after.clone());
            queue.push((after, next, label));
        }
        next += 1;
    }
    Ok(Traces::Equal)
}

/// Where a label leads from any state of a set.
fn after(graph: &Explicit, set: &[u32], label: u32) -> Vec<u32> {
    let edges = set.iter().flat_map(|&state| graph.edges(state));
    let targets = edges.filter(|edge| edge.0 == label).map(|edge| edge.1);
    closed(graph, targets.collect())
}

/// A set with all that it reaches invisibly, sorted.
fn closed(graph: &Explicit, mut states: Vec<u32>) -> Vec<u32> {
    if let Some(tau) = graph.tau {
        let mut seen: FxHashSet<u32> = states.iter().copied().collect();
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            let steps = graph.edges(state).iter().filter(|edge| edge.0 == tau);
            states.extend(
                steps
                    .map(|edge| edge.1)
                    .filter(|&it| seen.insert(it))
                    .collect::<Vec<_>>(),
            );
        }
    }
    states.sort_unstable();
    states.dedup();
    states
}
