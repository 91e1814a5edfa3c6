//! Goals that are known to be reachable, a bit for each state and goal, and the states whose sources
//! have not heard of it yet.
//!
//! Bits are only ever set while several threads work on them, so each is an atomic word and no lock is
//! needed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// A set of goals for each of some states, packed: there may be one goal and a billion states.
///
/// A row is looked at in parts of 64 goals, the last of which may be shorter.
#[derive(Debug, Default)]
pub(super) struct Reached {
    n_goals: usize,
    words: Vec<AtomicU64>,
}

/// `n` words of zeros.
fn zeros(n: usize) -> Vec<AtomicU64> {
    std::iter::repeat_with(AtomicU64::default).take(n).collect()
}

impl Reached {
    /// Nothing is known of any of `n_states` states.
    pub(super) fn new(n_states: usize, n_goals: usize) -> Self {
        Reached {
            n_goals,
            // A part may be read across the end of its last word.
            words: zeros((n_states * n_goals).div_ceil(64) + 1),
        }
    }

    /// Memory for `n_states` states, in bytes.
    pub(super) fn bytes_for(n_states: u64, n_goals: usize) -> u64 {
        n_states.saturating_mul(n_goals as u64) / 8 + 16
    }

    pub(super) fn n_parts(&self) -> usize {
        self.n_goals.div_ceil(64)
    }

    pub(super) fn get(&self, state: usize, goal: usize) -> bool {
        let at = state * self.n_goals + goal;
        (self.words[at / 64].load(Relaxed) >> (at % 64)) & 1 == 1
    }

    /// The first bit of a part, and a one for each of its goals.
    fn locate(&self, state: usize, part: usize) -> (usize, u64) {
        let n = (self.n_goals - 64 * part).min(64);
        (
            state * self.n_goals + 64 * part,
            u64::MAX >> (64 - n as u32),
        )
    }

    pub(super) fn part(&self, state: usize, part: usize) -> u64 {
        let (at, mask) = self.locate(state, part);
        let low = self.words[at / 64].load(SeqCst) >> (at % 64);
        // In two steps, for there is no shift by 64.
        let high = self.words[at / 64 + 1].load(SeqCst) << 1 << (63 - at % 64);
        (low | high) & mask
    }

    /// Replaces `row` by all goals of a state; returns whether there is one.
    pub(super) fn row(&self, state: usize, row: &mut Vec<u64>) -> bool {
        row.clear();
        row.extend((0..self.n_parts()).map(|part| self.part(state, part)));
        row.iter().any(|&part| part != 0)
    }

    /// Whether all goals of a state are there.
    pub(super) fn is_full(&self, state: usize) -> bool {
        (0..self.n_parts()).all(|part| self.part(state, part) == self.locate(state, part).1)
    }

    /// Adds goals to a part; returns whether one of them is new.
    pub(super) fn add(&self, state: usize, part: usize, goals: u64) -> bool {
        let new = goals & !self.part(state, part);
        if new == 0 {
            return false;
        }
        let (at, _) = self.locate(state, part);
        let (low, high) = (new << (at % 64), new >> 1 >> (63 - at % 64));
        let mut before = self.words[at / 64].fetch_or(low, SeqCst) & low;
        let mut added = before != low;
        if high != 0 {
            before = self.words[at / 64 + 1].fetch_or(high, SeqCst) & high;
            added |= before != high;
        }
        added
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// A set of numbers below a bound, in which the next one in either direction is found fast: above the
/// bits are bits that tell which words of the level below are not zero.
#[derive(Debug, Default)]
pub(super) struct NumberSet {
    levels: Vec<Vec<AtomicU64>>,
}

impl NumberSet {
    /// An empty set of numbers below `len`.
    pub(super) fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut n = len.max(1);
        loop {
            n = n.div_ceil(64);
            levels.push(zeros(n));
            if n == 1 {
                return NumberSet { levels };
            }
        }
    }

    /// Memory for numbers below `len`, in bytes.
    pub(super) fn bytes_for(len: u64) -> u64 {
        // The levels above the first one have a sixty-third of its words.
        len / 8 + len / 8 / 63 + 64
    }

    /// Adds a number.
    pub(super) fn insert(&self, number: usize) {
        let mut at = number;
        for level in &self.levels {
            let bit = 1 << (at % 64);
            let word = &level[at / 64];
            if word.load(Relaxed) & bit != 0 {
                // Whoever added the bit adds those above.
                return;
            }
            word.fetch_or(bit, Relaxed);
            at /= 64;
        }
    }

    /// Removes a number. Not while others add some.
    pub(super) fn remove(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let word = level[at / 64].get_mut();
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let top = self.levels.last();
        top.is_none_or(|top| top.iter().all(|word| word.load(Relaxed) == 0))
    }

    /// The least number that is not less than `from`.
    pub(super) fn at_or_after(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)?.load(Relaxed) & (u64::MAX << (at % 64));
            if word != 0 {
                at = at / 64 * 64 + word.trailing_zeros() as usize;
                for level in self.levels[..height].iter().rev() {
                    at = at * 64 + level[at].load(Relaxed).trailing_zeros() as usize;
                }
                return Some(at);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// The greatest number that is not greater than `from`.
    pub(super) fn at_or_before(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)?.load(Relaxed) & (u64::MAX >> (63 - at % 64));
            if word != 0 {
                at = at / 64 * 64 + word.ilog2() as usize;
                for level in self.levels[..height].iter().rev() {
                    at = at * 64 + level[at].load(Relaxed).ilog2() as usize;
                }
                return Some(at);
            }
            at = (at / 64).checked_sub(1)?;
        }
        None
    }

    /// The bits themselves.
    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.levels[0]
    }
}

#[cfg(test)]
#[path = "../../tests/parts/liveness_reached.rs"]
mod tests;
