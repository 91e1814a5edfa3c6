//! The product of a program and a never claim, by the naive explorer.
//!
//! The claim moves first and judges the current state, then the system moves; where the system
//! cannot, the claim moves alone. A point with a label that begins with `end` is an end, too. SPIN's
//! verifier differs in some details, which [`Product::AsPan`] copies so that counts can be compared:
//!
//! - `_nr_pr` counts the claim;
//! - after the claim terminates, the system takes one more step, and a claim that terminated at an
//!   `end` label continues from there;
//! - where the system cannot move, the claim has moved already and moves a second time before a
//!   state is stored. From such a state it continues with single moves. Both kinds of states are
//!   taken for equal, so that which successors are found depends on which is found first. Where
//!   no process is left, the claim then terminates at its closing brace, which is a state as well.

use std::collections::{HashSet, VecDeque};

use hadal_promela::automaton::PointId;
use hadal_promela::program::{Action, Claim};

use crate::explorer::{Context, Counts, Error, Explorer, State};

/// Which product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// That of Hadal.
    Plain,
    /// That of SPIN's verifier.
    AsPan,
}

/// A move of a claim.
#[derive(Clone, Copy)]
enum Move {
    To(PointId),
    /// It is blocked inside an `atomic`: the system does not move.
    Blocked(PointId),
}

/// A state of the product.
struct Node {
    state: State,
    at: PointId,
    /// The claim moves again, since the system could not.
    stutters: bool,
}

impl Explorer<'_> {
    /// Explores at most `max_states` states of the product.
    pub(crate) fn explore_product(
        mut self,
        claim: &Claim,
        product: Product,
        max_states: u64,
    ) -> Counts {
        self.n_more = i32::from(product == Product::AsPan);
        let (mut counts, initial) = match self.start() {
            Ok(start) => start,
            Err(counts) => return counts,
        };
        let first = Node {
            state: initial,
            at: claim.automaton.start,
            stutters: false,
        };
        let mut seen: HashSet<(Box<[u8]>, PointId)> = HashSet::new();
        seen.insert((self.key(&first.state), first.at));
        // Depth-first, in the order of SPIN: the successors of each node on the way that are left.
        let mut stack = vec![VecDeque::from([(first, 0)])];
        while let Some(left) = stack.last_mut() {
            let Some((node, n_paths)) = left.pop_front() else {
                stack.pop();
                continue;
            };
            counts.edges += n_paths;
            if n_paths > 0 && !seen.insert((self.key(&node.state), node.at)) {
                continue;
            }
            if seen.len() as u64 > max_states {
                counts.complete = false;
                break;
            }
            let next = match product {
                Product::Plain => self.plain(claim, &node),
                Product::AsPan => self.as_pan(claim, &node),
            };
            stack.push(next.into());
        }
        counts.states = seen.len() as u64;
        counts.errors = std::mem::take(&mut self.errors);
        // A product has no end states.
        counts.errors.remove(&Error::InvalidEndState);
        counts
    }

    fn plain(&mut self, claim: &Claim, node: &Node) -> Vec<(Node, u64)> {
        let mut out = Vec::new();
        for step in self.moves(claim, &node.state, node.at) {
            match step {
                Move::To(at) if is_end(claim, at) => {
                    self.errors.insert(Error::Claim);
                }
                Move::To(at) => {
                    let next = self.successors(&node.state);
                    if next.is_empty() {
                        out.push((stays(node, at, false), 1));
                    }
                    out.extend(next.into_iter().map(|(state, n)| (moved(state, at), n)));
                }
                Move::Blocked(at) => out.push((stays(node, at, false), 1)),
            }
        }
        out
    }

    fn as_pan(&mut self, claim: &Claim, node: &Node) -> Vec<(Node, u64)> {
        let mut out = Vec::new();
        let is_alone = node.state.procs.is_empty();
        if node.stutters && is_alone && node.at == claim.automaton.end {
            out.push((stays(node, GONE, true), 1));
        }
        for step in self.moves(claim, &node.state, node.at) {
            let at = match step {
                Move::To(at) => at,
                Move::Blocked(at) => {
                    out.push((stays(node, at, node.stutters), 1));
                    continue;
                }
            };
            if is_end(claim, at) {
                self.errors.insert(Error::Claim);
            }
            if node.stutters {
                out.push((stays(node, at, true), 1));
                continue;
            }
            let next = self.successors(&node.state);
            if !next.is_empty() {
                out.extend(next.into_iter().map(|(state, n)| (moved(state, at), n)));
                continue;
            }
            if is_alone && at == claim.automaton.end {
                out.push((stays(node, GONE, true), 1));
            }
            for step in self.moves(claim, &node.state, at) {
                let (Move::To(at) | Move::Blocked(at)) = step;
                if is_end(claim, at) {
                    self.errors.insert(Error::Claim);
                }
                out.push((stays(node, at, true), 1));
            }
        }
        out
    }

    /// The moves of a claim in a state.
    fn moves(&mut self, claim: &Claim, state: &State, at: PointId) -> Vec<Move> {
        let mut out = Vec::new();
        if at == GONE {
            return out;
        }
        let mut any = false;
        let mut escape = None;
        let context = Context {
            state,
            pid: 0,
            timeout: false,
        };
        for edge in &claim.automaton.point(at).edges {
            if escape.is_some() && edge.escape != escape {
                break;
            }
            let is_executable = match &edge.action {
                Action::Cond(condition) => self.eval(context, condition).map(|value| value != 0),
                Action::Assert(condition, _) => self.eval(context, condition).map(|value| {
                    if value == 0 {
                        self.errors.insert(Error::Assertion);
                    }
                    true
                }),
                Action::Else => Ok(!any),
                _ => Ok(true),
            };
            match is_executable {
                Ok(false) => continue,
                Ok(true) => any = true,
                Err(error) => {
                    self.errors.insert(error);
                    continue;
                }
            }
            if edge.escape.is_some() {
                escape = edge.escape;
            }
            if !edge.keeps_control {
                out.push(Move::To(edge.target));
                continue;
            }
            match self.moves(claim, state, edge.target) {
                rest if rest.is_empty() => out.push(Move::Blocked(edge.target)),
                rest => out.extend(rest),
            }
        }
        out
    }
}

/// Where a claim is that has terminated.
const GONE: PointId = PointId(u32::MAX);

/// Whether a claim that is at a point is violated.
fn is_end(claim: &Claim, at: PointId) -> bool {
    at == claim.automaton.end || claim.automaton.point(at).is_end
}

fn moved(state: State, at: PointId) -> Node {
    Node {
        state,
        at,
        stutters: false,
    }
}

fn stays(node: &Node, at: PointId, stutters: bool) -> Node {
    Node {
        state: node.state.clone(),
        at,
        stutters,
    }
}
