//! The states in stretches of ordinals: what is reached from the states of one stretch is in memory, that
//! of the others, where memory does not suffice for all, in scratch files.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use hadal_store::disk::{BlockFile, BlockWriter, Folder, Kind};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource, damaged_log};

use super::reached::{NumberSet, Reached};
use crate::Error;

/// Goals that are reached from states, and the states whose sources have not heard of all of them, in
/// stretches.
pub(super) struct Stretches<'a> {
    states: Range<u64>,
    n_goals: usize,
    stretch_len: u64,
    folder: &'a Folder,
    /// The stretch that is in memory.
    current: usize,
    first: u64,
    reached: Reached,
    fresh: NumberSet,
    is_changed: bool,
    /// What is on disk of each stretch; nothing is reached from one that was never saved.
    saved: Vec<Option<BlockFile>>,
    /// Whether each stretch had fresh states when it was saved.
    has_fresh: Vec<bool>,
}

/// Words of a block.
const BLOCK_WORDS: usize = BLOCK_BYTES / 8;

/// Memory for the goals of a stretch of `n_states` states, in bytes.
pub(super) fn stretch_bytes(n_states: u64, n_goals: usize) -> u64 {
    Reached::bytes_for(n_states, n_goals) + NumberSet::bytes_for(n_states)
}

/// States of a stretch that takes up to `bytes`: all of them, if they fit.
pub(super) fn stretch_len(n_states: u64, n_goals: usize, bytes: u64) -> u64 {
    let n_stretches = stretch_bytes(n_states, n_goals).div_ceil(bytes.max(1));
    // With fewer states a stretch would be little more than its buffers.
    n_states.div_ceil(n_stretches).max(64)
}

impl<'a> Stretches<'a> {
    /// Nothing is reached from any of `states`, of which `stretch_len` are in memory.
    pub(super) fn new(
        states: Range<u64>,
        n_goals: usize,
        stretch_len: u64,
        folder: &'a Folder,
    ) -> Self {
        let n_states = states.end - states.start;
        let stretch_len = stretch_len.min(n_states).max(1);
        let n_stretches = n_states.div_ceil(stretch_len).max(1) as usize;
        Stretches {
            n_goals,
            stretch_len,
            folder,
            current: 0,
            first: states.start,
            states,
            reached: Reached::new(stretch_len as usize, n_goals),
            fresh: NumberSet::new(stretch_len as usize),
            is_changed: false,
            saved: std::iter::repeat_with(|| None).take(n_stretches).collect(),
            has_fresh: vec![false; n_stretches],
        }
    }

    /// Number of stretches.
    pub(super) fn len(&self) -> usize {
        self.saved.len()
    }

    pub(super) fn n_goals(&self) -> usize {
        self.n_goals
    }

    pub(super) fn states(&self) -> Range<u64> {
        self.states.clone()
    }

    pub(super) fn stretch_len(&self) -> u64 {
        self.stretch_len
    }

    /// The states of the stretch in memory.
    pub(super) fn range(&self) -> Range<u64> {
        self.first..self.states.end.min(self.first + self.stretch_len)
    }

    /// Whether a stretch has states whose sources have not heard of all their goals.
    pub(super) fn has_fresh(&self, stretch: usize) -> bool {
        match stretch == self.current {
            true => !self.fresh.is_empty(),
            false => self.has_fresh[stretch],
        }
    }

    pub(super) fn reached(&self) -> &Reached {
        &self.reached
    }

    /// The fresh states of the stretch in memory, counted from its first state.
    pub(super) fn fresh(&self) -> &NumberSet {
        &self.fresh
    }

    pub(super) fn fresh_mut(&mut self) -> &mut NumberSet {
        self.is_changed = true;
        &mut self.fresh
    }

    /// Adds a goal to a state that reaches it itself, whose stretch is loaded if it is not in memory.
    pub(super) fn add_own(&mut self, state: u64, goal: usize) -> Result<(), Error> {
        match self.len() {
            // Sorting the edges looks at every state.
            1 => {
                let at = (state - self.first) as usize;
                self.reached.add(at, goal / 64, 1 << (goal % 64));
                Ok(())
            }
            _ => self.add(state, goal),
        }
    }

    /// Adds a goal to a state, whose stretch is loaded if it is not in memory.
    pub(super) fn add(&mut self, state: u64, goal: usize) -> Result<(), Error> {
        if !self.range().contains(&state) {
            self.load(((state - self.states.start) / self.stretch_len) as usize)?;
        }
        let at = (state - self.first) as usize;
        if self.reached.add(at, goal / 64, 1 << (goal % 64)) {
            self.is_changed = true;
            self.fresh.insert(at);
        }
        Ok(())
    }

    /// Brings a stretch to memory.
    pub(super) fn load(&mut self, stretch: usize) -> Result<(), Error> {
        if stretch == self.current {
            return Ok(());
        }
        self.save()?;
        self.current = stretch;
        self.first = self.states.start + stretch as u64 * self.stretch_len;
        let n_states = self.stretch_len as usize;
        self.reached = Reached::new(n_states, self.n_goals);
        self.fresh = NumberSet::new(n_states);
        let Some(file) = &self.saved[stretch] else {
            return Ok(());
        };
        let mut reader = file.read(std::iter::once(0..file.n_blocks()).collect());
        let mut block: Vec<u64> = Vec::new();
        let mut at = 0;
        let mut next = || -> Result<u64, Error> {
            if at == block.len() {
                let found = reader.next()?;
                let (_, payload) = found.ok_or_else(|| damaged_log("goals"))?;
                let (words, _) = payload.as_chunks();
                block.clear();
                block.extend(words.iter().map(|&word| u64::from_le_bytes(word)));
                at = 0;
            }
            let word = block.get(at).copied();
            at += 1;
            Ok(word.ok_or_else(|| damaged_log("goals"))?)
        };
        for word in self.reached.words() {
            word.store(next()?, Relaxed);
        }
        let n_words = self.fresh.words().len();
        for number in 0..n_words {
            let mut word = next()?;
            while word != 0 {
                let at = 64 * number + word.trailing_zeros() as usize;
                word &= word - 1;
                if at >= n_states {
                    return Err(damaged_log("goals").into());
                }
                self.fresh.insert(at);
            }
        }
        Ok(())
    }

    /// Writes the stretch in memory to disk, if it has changed.
    fn save(&mut self) -> Result<(), Error> {
        if !self.is_changed {
            return Ok(());
        }
        self.has_fresh[self.current] = !self.fresh.is_empty();
        let mut writer = BlockWriter::create_scratch(self.folder, Kind::Records)?;
        let mut payload = Vec::with_capacity(BLOCK_BYTES);
        for word in self.reached.words().iter().chain(self.fresh.words()) {
            payload.extend(word.load(Relaxed).to_le_bytes());
            if payload.len() == 8 * BLOCK_WORDS {
                writer.put(&payload)?;
                payload.clear();
            }
        }
        if !payload.is_empty() {
            writer.put(&payload)?;
        }
        let file = writer.finish()?;
        if let Some(old) = self.saved[self.current].replace(file) {
            old.abandon();
        }
        self.is_changed = false;
        Ok(())
    }

    /// For each goal, the least state that does not reach it; `None` if `is_stopped`.
    pub(super) fn least_without(
        &mut self,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Option<u64>>>, Error> {
        let mut least = vec![None; self.n_goals];
        let mut n_open = least.len();
        for stretch in 0..self.len() {
            if n_open == 0 {
                break;
            }
            self.load(stretch)?;
            let Range { start, end } = self.range();
            for at in 0..(end - start) as usize {
                if at.is_multiple_of(1 << 20) && is_stopped() {
                    return Ok(None);
                }
                if n_open == 0 {
                    break;
                }
                if self.reached.is_full(at) {
                    continue;
                }
                for (goal, least) in least.iter_mut().enumerate() {
                    if least.is_none() && !self.reached.get(at, goal) {
                        *least = Some(start + at as u64);
                        n_open -= 1;
                    }
                }
            }
        }
        Ok(Some(least))
    }
}

impl Drop for Stretches<'_> {
    fn drop(&mut self) {
        self.saved.iter().flatten().for_each(BlockFile::abandon);
    }
}
