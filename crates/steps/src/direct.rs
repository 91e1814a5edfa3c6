//! The first micro steps of a batch of sources, and the sources that need no more than these.
//!
//! In most models nearly all micro steps lead from a state at rest to a state at rest. Where that
//! is so for all micro steps of a source, and they lead to different states, then they are its
//! steps: in the same order, each with one path and the cost of its rule. Such sources are
//! delivered from the buffer that the inner expander filled, many at once. The others are left to
//! the walk, which takes their first micro steps from here.
//! This is for inner expanders that cannot write such successors in place, and for sources that had
//! no room there.

use std::ops::Range;

use hadal_model::{
    Cursor, Expander, FirstSteps, Flow, PAD_BYTES, Shape, Source, States, Stopped, Successors,
};

use crate::digest::Digest;

/// A batch of sources after one micro step.
pub(crate) struct Direct<'a> {
    micro: &'a Shape,
    /// Length of a state at rest.
    rest_len: usize,
    /// The sources as the inner model has them, and padding.
    sources: Vec<u8>,
    n_sources: usize,
    /// Whether there is room for the micro successors of the sources.
    has_room: bool,
    /// These micro successors.
    successors: Successors,
    /// Where the successors of each source begin, and the end.
    firsts: Vec<u32>,
    /// By source, its number among those left to the walk, or [`DIRECT`].
    numbers: Vec<u32>,
    registers: Registers,
    digest: Digest,
    /// Scratch: the digests of the successors of a source.
    digests: [u64; MAX_SUCCESSORS],
}

/// Stands for no number: the source is not left to the walk.
const DIRECT: u32 = u32::MAX;

/// Sources with more successors are left to the walk, which looks for equal ones in a table.
const MAX_SUCCESSORS: usize = 64;

/// Where the results of a batch continue that had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Number of the source in the batch.
    pub(crate) source: usize,
    /// Number of the result.
    pub(crate) result: u64,
}

impl<'a> Direct<'a> {
    /// Takes batches with up to `capacity` micro successors.
    pub(crate) fn new(micro: &'a Shape, rest_len: usize, capacity: usize) -> Self {
        Direct {
            micro,
            rest_len,
            sources: Vec::new(),
            n_sources: 0,
            has_room: true,
            successors: Successors::new(micro, capacity),
            firsts: Vec::new(),
            numbers: Vec::new(),
            registers: Registers::new(micro.state_len - rest_len),
            digest: Digest::new(micro.state_len),
            digests: [0; MAX_SUCCESSORS],
        }
    }

    /// Takes the first micro steps of sources of `block`: of as many of `range` as have room. Those
    /// of sources that are left to the walk are added to `left`.
    /// Where the first one alone has none, it is the only one and left to the walk, which has to
    /// take its first micro steps too.
    pub(crate) fn take(
        &mut self,
        inner: &mut dyn Expander,
        block: States<'_>,
        range: Range<usize>,
        left: &mut FirstSteps,
    ) -> Result<(), Stopped> {
        self.copy_sources(block, range.clone());
        self.n_sources = range.len();
        self.has_room = true;
        // Firings and goals are not counted by source, so those of a source that is interrupted
        // are not known. Batches are sized so that expanding the others again is rare.
        while let Flow::Full(cursor) = self.expand(inner)? {
            // One less at least, whatever the cursor: so this ends.
            self.n_sources = (cursor.state as usize).min(self.n_sources - 1);
            if self.n_sources == 0 {
                self.n_sources = 1;
                self.has_room = false;
                self.successors.reset(1);
                break;
            }
        }
        self.find_firsts();
        self.select(left);
        Ok(())
    }

    /// The sources with registers, which are 0.
    fn copy_sources(&mut self, block: States<'_>, range: Range<usize>) {
        let len = self.micro.state_len;
        let needed = range.len() * len + PAD_BYTES;
        if self.sources.len() < needed {
            self.sources.resize(needed, 0);
        }
        for (number, position) in range.enumerate() {
            let state = &block.bytes()[position * self.rest_len..];
            let to = &mut self.sources[number * len..];
            copy_state(state, to, self.rest_len);
            to[self.rest_len..len].fill(0);
        }
    }

    fn expand(&mut self, inner: &mut dyn Expander) -> Result<Flow, Stopped> {
        self.successors.reset(self.n_sources);
        let block = States::new(&self.sources, self.micro.state_len, self.n_sources);
        match inner.expand(block, Cursor::default(), &mut self.successors) {
            Flow::Stopped => Err(Stopped),
            flow => Ok(flow),
        }
    }

    fn find_firsts(&mut self) {
        self.firsts.clear();
        self.firsts.push(0);
        let mut end = 0;
        for source in self.successors.sources() {
            end += source.written;
            self.firsts.push(end);
        }
    }

    /// Finds the sources that are left to the walk.
    fn select(&mut self, left: &mut FirstSteps) {
        left.clear();
        self.numbers.clear();
        self.numbers.resize(self.n_sources, DIRECT);
        for source in 0..self.n_sources {
            if !self.has_room || !self.is_direct(source) {
                self.numbers[source] = left.sources().len() as u32;
                left.begin(source as u32);
                for at in self.successors_of(source) {
                    let state = self.successors.state(at);
                    left.push(self.successors.rule(at))[..state.len()].copy_from_slice(state);
                }
            }
        }
    }

    /// Whether the micro successors of a source are at rest and differ.
    #[inline]
    fn is_direct(&mut self, source: usize) -> bool {
        let range = self.successors_of(source);
        let (len, n) = (self.micro.state_len, range.len());
        if n > MAX_SUCCESSORS {
            return false;
        }
        let states = &self.successors.states().bytes()[range.start * len..];
        let mut is_transient = false;
        for number in 0..n {
            let registers = &states[number * len + self.rest_len..];
            is_transient |= self.registers.are_set(registers);
        }
        if is_transient || n < 2 {
            return !is_transient;
        }
        // Different states with one digest are taken for equal ones; that costs time only.
        let mut are_equal = false;
        for number in 0..n {
            let digest = self.digest.of(&states[number * len..][..len]);
            for other in &self.digests[..number] {
                are_equal |= *other == digest;
            }
            self.digests[number] = digest;
        }
        !are_equal
    }

    /// Number of sources.
    pub(crate) fn n_sources(&self) -> usize {
        self.n_sources
    }

    /// Whether it has the first micro steps of its sources.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room
    }

    /// A source, as the inner model has it.
    pub(crate) fn source(&self, source: usize) -> &[u8] {
        &self.sources[source * self.micro.state_len..][..self.micro.state_len]
    }

    /// Whether the sources from number `source` on are those of `block` from `position` on.
    pub(crate) fn is_of(&self, block: States<'_>, position: usize, source: usize) -> bool {
        let n = self.n_sources - source;
        position + n <= block.len()
            && (0..n)
                .all(|at| self.source(source + at)[..self.rest_len] == *block.get(position + at))
    }

    /// Positions of the micro successors of a source.
    #[inline]
    pub(crate) fn successors_of(&self, source: usize) -> Range<usize> {
        self.firsts[source] as usize..self.firsts[source + 1] as usize
    }

    /// All micro successors, and what happened at the sources.
    pub(crate) fn successors(&self) -> &Successors {
        &self.successors
    }

    /// The number of a source in the walk, if it is left to it.
    #[inline]
    pub(crate) fn number_in_walk(&self, source: usize) -> Option<usize> {
        let number = self.numbers[source];
        (number != DIRECT).then_some(number as usize)
    }

    /// Adds what happened to `out`, where the first source has the position `first`: all first
    /// micro steps, and of sources that are not left to the walk everything else.
    pub(crate) fn count(&self, out: &mut Successors, first: usize) {
        let columns = out.columns();
        let own = &self.successors;
        add_to(columns.fired_by_rule, own.fired_by_rule());
        add_to(columns.goal_hits, own.goal_hits());
        let mut have_faults = false;
        for (source, facts) in own.sources().iter().enumerate() {
            if self.numbers[source] == DIRECT {
                let to = &mut columns.sources[first + source];
                to.enabled = facts.enabled;
                to.may_end = facts.may_end;
                to.fired = u64::from(facts.written);
                to.progress = self.leads_away(source, facts);
                have_faults |= !facts.faults.is_empty();
            }
        }
        if have_faults {
            for (source, facts) in own.sources().iter().enumerate() {
                if self.numbers[source] == DIRECT {
                    for fault in &facts.faults {
                        out.add_fault((first + source) as u32, fault.clone());
                    }
                }
            }
        }
    }

    /// Whether some successor differs from its source.
    fn leads_away(&self, source: usize, facts: &Source) -> bool {
        // A firing that was discarded may be the one that led away.
        facts.progress
            && (facts.fired == u64::from(facts.written)
                || (self.successors_of(source))
                    .any(|at| self.successors.state(at) != self.source(source)))
    }

    /// Delivers the results of sources from `from` on: up to the first one that is left to the
    /// walk, or to `end`, which is returned; or to where there is no room. The source at `from` is
    /// not left to the walk, and the first source has the position `first`.
    pub(crate) fn deliver(
        &mut self,
        out: &mut Successors,
        first: usize,
        from: Rest,
        end: usize,
    ) -> Result<usize, Rest> {
        let others = &self.numbers[from.source..end];
        let n_sources = others.iter().take_while(|it| **it == DIRECT).count();
        let end = from.source + n_sources;
        let begin = self.firsts[from.source] as usize + from.result as usize;
        let n_left = self.firsts[end] as usize - begin;
        let (at, n) = (out.len(), n_left.min(out.capacity() - out.len()));

        let (own, to) = (self.successors.columns(), out.columns());
        // What is copied behind a state is overwritten by the next one.
        let (len, rest_len) = (self.micro.state_len, self.rest_len);
        for number in 0..n {
            let state = &own.states[(begin + number) * len..];
            copy_state(state, &mut to.states[(at + number) * rest_len..], rest_len);
        }
        to.rules[at..at + n].copy_from_slice(&own.rules[begin..begin + n]);
        to.indices[at..at + n].copy_from_slice(&own.indices[begin..begin + n]);
        let sources_of = own.sources_of[begin..begin + n].iter();
        for (to, source) in to.sources_of[at..at + n].iter_mut().zip(sources_of) {
            *to = first as u32 + source;
        }
        let firsts = self.firsts[from.source..=end].windows(2);
        let sources = &mut to.sources[first + from.source..first + end];
        for (source, bounds) in sources.iter_mut().zip(firsts) {
            let written = bounds[1].min((begin + n) as u32).saturating_sub(bounds[0]);
            source.written = written;
        }
        out.set_len(at + n);
        out.set_costs_by_rule(at, &self.micro.rules);
        match n == n_left {
            true => Ok(end),
            false => Err(Rest {
                source: self.successors.source_of(begin + n) as usize,
                result: u64::from(self.successors.index(begin + n)),
            }),
        }
    }
}

/// Copies a state of `len` bytes from the beginning of `from` to that of `to`; padding follows both,
/// and some of it is overwritten.
#[inline]
fn copy_state(from: &[u8], to: &mut [u8], len: usize) {
    // Chunks of a fixed length are cheaper than a copy of any length.
    const CHUNK: usize = PAD_BYTES;
    let n_chunks = len.div_ceil(CHUNK);
    let (from, to) = (from.as_chunks::<CHUNK>().0, to.as_chunks_mut::<CHUNK>().0);
    for (to, from) in to[..n_chunks].iter_mut().zip(&from[..n_chunks]) {
        *to = *from;
    }
}

/// Adds counts to sums.
pub(crate) fn add_to(sums: &mut [u64], counts: &[u64]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Tells whether registers are set.
struct Registers {
    /// Those of their bytes that are in the first word.
    mask: u64,
    /// Bytes.
    len: usize,
}

impl Registers {
    fn new(len: usize) -> Self {
        let mask = match len {
            0 => 0,
            _ => u64::MAX >> (64 - 8 * len.min(8)),
        };
        Registers { mask, len }
    }

    /// Whether some register at the beginning of `bytes` is set; padding follows.
    #[inline]
    fn are_set(&self, bytes: &[u8]) -> bool {
        let word = bytes.first_chunk().expect("padding follows");
        let mut rest = bytes.get(8..self.len).unwrap_or_default().iter();
        u64::from_le_bytes(*word) & self.mask != 0 || rest.any(|byte| *byte != 0)
    }
}
