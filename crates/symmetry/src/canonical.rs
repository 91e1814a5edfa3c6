//! The canonical form of a state: the one representative of its orbit.

use std::fmt;

use hadal_ir::{Program, Types};
use hadal_model::{PAD_BYTES, States, Stop};

use crate::Permutation;
use crate::action::Action;
use crate::plan::Plan;
use crate::search::Searcher;
use crate::sorting::{SortMemory, Sorted, Sorting};

/// A flag that is never raised.
static NEVER: Stop = Stop::new();

/// Finds the representative of a state's orbit, for the states of one program.
#[derive(Clone, Debug)]
pub struct Canonicaliser {
    action: Action,
    plan: Plan,
    /// The fast path, where the layout allows it.
    sorting: Option<Sorting>,
}

/// Memory that one thread reuses from state to state.
#[derive(Clone, Debug)]
pub struct Scratch {
    searcher: Searcher,
    sorter: SortMemory,
    /// The state with padding, so that whole words can be read anywhere.
    source: Vec<u8>,
    /// The most candidates any state needed since the last [`take_worst`](Self::take_worst).
    worst: u64,
}

impl Scratch {
    /// Candidate arrangements that were compared for the last state; 1 where there was no choice.
    pub fn candidates(&self) -> u64 {
        self.searcher.candidates
    }

    fn note_candidates(&mut self, n: u64) {
        self.searcher.candidates = n;
        self.worst = self.worst.max(n);
    }

    /// Takes the most candidates that a state needed.
    pub fn take_worst(&mut self) -> u64 {
        std::mem::take(&mut self.worst)
    }
}

/// The group of a program, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The scalarsets, in declaration order.
    pub scalarsets: Vec<ScalarsetSummary>,
    /// Number of renamings, at most `u128::MAX`: no orbit has more states.
    pub order: u128,
    /// Logarithm of the number of renamings to base 10, which does not saturate.
    pub order_log10: f64,
}

/// A scalarset, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarsetSummary {
    /// Its name.
    pub name: String,
    /// Number of elements.
    pub size: u32,
}

impl Canonicaliser {
    /// Prepares for the states of `program`.
    pub fn new(program: &Program) -> Self {
        let action = Action::new(program);
        let plan = Plan::new(&action);
        Canonicaliser {
            sorting: Sorting::new(&plan),
            action,
            plan,
        }
    }

    /// Scratch memory for one thread.
    pub fn scratch(&self) -> Scratch {
        Scratch {
            searcher: Searcher::new(&self.plan),
            sorter: SortMemory::default(),
            source: vec![0; self.action.state_len + PAD_BYTES],
            worst: 0,
        }
    }

    /// Replaces a state by the representative of its orbit.
    ///
    /// Two states get the same representative if and only if a renaming turns one into the other.
    /// Bags must be in their normal form, as they are between steps.
    pub fn canonicalise(&self, state: &mut [u8], scratch: &mut Scratch) {
        self.canonicalise_until(&NEVER, state, scratch);
    }

    /// The same, but leaves the state as it is, or some image of it, once `stop` is raised.
    pub(crate) fn canonicalise_until(&self, stop: &Stop, state: &mut [u8], scratch: &mut Scratch) {
        if self.plan.domains.is_empty() {
            return;
        }
        scratch.source[..state.len()].copy_from_slice(state);
        self.find(stop, state, scratch);
    }

    /// Replaces states by the representatives of their orbits. They are padded like a block, and
    /// each is a successor of the state of `block` at its position in `sources_of`. Once `stop` is
    /// raised, the rest may stay unchanged.
    ///
    /// The states of `block` must be representatives, and successors of one state should be
    /// adjacent: parts that a step does not change are not examined again.
    pub fn canonicalise_successors(
        &self,
        stop: &Stop,
        block: States<'_>,
        sources_of: &[u32],
        states: &mut [u8],
        scratch: &mut Scratch,
    ) {
        let state_len = self.state_len();
        if self.is_trivial() || state_len == 0 {
            return;
        }
        let mut known = None;
        for (position, &number) in sources_of.iter().enumerate() {
            let state = &mut states[position * state_len..];
            let source = &block.bytes()[number as usize * state_len..];
            if let Some(sorting) = &self.sorting {
                let sorter = &mut scratch.sorter;
                if known != Some(number) {
                    known = Some(number);
                    sorting.set_source(source, sorter);
                }
                if sorting.run_successor(state, sorter) != Sorted::Tied {
                    scratch.note_candidates(1);
                    continue;
                }
            } else if self.plan.agrees(source, state) {
                scratch.note_candidates(1);
                continue;
            }
            if stop.is_raised() {
                return;
            }
            let state = &mut state[..state_len];
            scratch.source[..state_len].copy_from_slice(state);
            let Scratch {
                searcher, source, ..
            } = scratch;
            searcher.run(&self.plan, stop, source, state);
            let candidates = searcher.candidates;
            scratch.note_candidates(candidates);
        }
    }

    /// Does what [`canonicalise`](Self::canonicalise) does for a state that has been copied.
    /// Returns the path that was taken.
    fn find(&self, stop: &Stop, state: &mut [u8], scratch: &mut Scratch) -> Option<Sorted> {
        let Scratch {
            searcher,
            sorter,
            source,
            ..
        } = scratch;
        if let Some(sorting) = &self.sorting {
            let sorted = sorting.run(source, sorter);
            if sorted == Sorted::Changed {
                state.copy_from_slice(&source[..state.len()]);
            }
            if sorted != Sorted::Tied {
                scratch.note_candidates(1);
                return Some(sorted);
            }
        }
        searcher.run(&self.plan, stop, source, state);
        let candidates = searcher.candidates;
        scratch.note_candidates(candidates);
        None
    }

    /// Does what [`canonicalise`](Self::canonicalise) does and returns the renaming that turns the
    /// state into its representative.
    ///
    /// Several renamings may do that; any of them can be used to follow elements, since they
    /// differ by an automorphism of the representative.
    /// Elements that do not occur in the state are renamed to some that do not occur in the
    /// representative.
    pub fn canonicalise_with_renaming(
        &self,
        state: &mut [u8],
        scratch: &mut Scratch,
    ) -> Permutation {
        let all = vec![true; self.action.types.scalarsets.len()];
        self.canonicalise_with_renaming_of(&all, &NEVER, state, scratch)
    }

    /// The same with a renaming of the requested scalarsets only: a permutation is written out up
    /// to the largest element that occurs, and scalarsets of values may be huge.
    pub(crate) fn canonicalise_with_renaming_of(
        &self,
        is_wanted: &[bool],
        stop: &Stop,
        state: &mut [u8],
        scratch: &mut Scratch,
    ) -> Permutation {
        if self.plan.domains.is_empty() {
            return Permutation::identity(is_wanted.len());
        }
        scratch.source[..state.len()].copy_from_slice(state);
        let sorted = self.find(stop, state, scratch);
        let n = self.plan.n_vertices;
        let image = &mut scratch.searcher.image;
        match sorted {
            Some(Sorted::Changed) => {
                image.clear();
                image.extend(scratch.sorter.image(n));
            }
            Some(_) => {
                image.clear();
                image.extend(0..n as u32);
            }
            None => {}
        }
        scratch.searcher.renaming(&self.plan, is_wanted)
    }

    /// What a renaming does to values and states, straight from the types.
    pub(crate) fn action(&self) -> &Action {
        &self.action
    }

    /// Whether each state is its own representative, for no scalarset occurs in it.
    pub fn is_trivial(&self) -> bool {
        self.plan.domains.is_empty()
    }

    /// The image of a state under a renaming.
    pub fn apply(&self, state: &[u8], permutation: &Permutation) -> Vec<u8> {
        self.action.apply(state, permutation)
    }

    /// The types whose scalarsets are renamed, for the names of their elements.
    pub fn types(&self) -> &Types {
        &self.action.types
    }

    /// Length of a state in bytes.
    pub fn state_len(&self) -> usize {
        self.action.state_len
    }

    /// The group, for people.
    pub fn describe(&self) -> Description {
        let scalarsets = &self.action.types.scalarsets;
        let (mut order, mut order_log10) = (1u128, 0.0);
        for scalarset in scalarsets {
            // Beyond 34 elements the product saturates whatever its size.
            for factor in 2..=scalarset.size.min(64) {
                order = order.saturating_mul(u128::from(factor));
            }
            order_log10 += log10_factorial(scalarset.size);
        }
        Description {
            scalarsets: scalarsets
                .iter()
                .map(|scalarset| ScalarsetSummary {
                    name: scalarset.name.clone(),
                    size: scalarset.size,
                })
                .collect(),
            order,
            order_log10,
        }
    }
}

/// The logarithm of n! to base 10, by Stirling's series where the product would be long.
fn log10_factorial(n: u32) -> f64 {
    if n < 256 {
        return (2..=n).map(|factor| f64::from(factor).log10()).sum();
    }
    let n = f64::from(n);
    let natural = n * n.ln() - n + (std::f64::consts::TAU * n).ln() / 2.0 + 1.0 / (12.0 * n);
    natural / std::f64::consts::LN_10
}

impl fmt::Display for Description {
    /// `Proc(3), Addr(2): 12 permutations`. A scalarset of one element has nothing to permute.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scalarsets = self.scalarsets.iter().filter(|set| set.size > 1);
        for (position, scalarset) in scalarsets.enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{}({})", scalarset.name, scalarset.size)?;
        }
        match u64::try_from(self.order) {
            Ok(1) => f.write_str("no symmetry"),
            Ok(order) => write!(f, ": {} permutations", grouped(order)),
            Err(_) => write!(f, ": 10^{:.0} permutations", self.order_log10),
        }
    }
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
