//! How far transitions lead: the measure of the locality paper, by its Definition 4.
//!
//! The level of a state is its distance from the startstates. A transition from level i to level j
//! is a k-transition for k = j - i, which is at most 1. Of each state the share of its transitions
//! that are k-transitions is taken, and of these shares mean and deviation over all states, so that
//! a state with many transitions counts no more than one with few.
//!
//! A breadth-first walk on one thread suffices: whatever a state leads to is known by then, or is
//! on the next level. Properties are not evaluated, so the walk does not end at a violation; it
//! fails where the model is not as symmetric as it declares.

use hadal_model::{Expander, Fault, FaultKind, Flow, Model, PAD_BYTES, Remark, States, Stop};
use hadal_search::strategy::{self, Halt, Kernel, Run};
use hadal_search::{Error, Observer, Options, Reason};
use hadal_store::hash_state;

use crate::explorer::{block_len, buffer_len};

/// How far the transitions of a model lead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locality {
    /// What stopped the walk before its end; then all figures are about what it had done by then.
    pub reason: Option<Reason>,
    /// Distinct states found.
    pub states: u64,
    /// Expansions, as many as states unless the walk was stopped.
    pub visited: u64,
    /// Transitions between stored states; firings that an assumption discards are not among them.
    pub transitions: u64,
    /// Transitions from a state to itself. Under a reduction also those to a state that it stands
    /// for.
    pub self_loops: u64,
    /// States without a transition; all shares of them are 0.
    pub ends: u64,
    /// States whose expansion met a fault, and so lacks transitions.
    pub faults: u64,
    /// States on each level.
    pub layers: Vec<u64>,
    /// Transitions by the number of levels they lead on, most first: 1, 0, -1, and so on down to
    /// the farthest one back. Those between that do not occur are there too.
    pub jumps: Vec<Jump>,
    /// Wall clock.
    pub seconds: f64,
}

/// The k-transitions for one k.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jump {
    /// The k.
    pub levels: i64,
    /// How many there are.
    pub transitions: u64,
    /// Their share among the transitions of a state.
    pub share: Share,
    /// The same where self-loops do not count as transitions.
    pub share_without_loops: Share,
}

/// A share, over all states.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

impl Locality {
    /// The k-transitions for this k, if there are any, or any farther ones.
    pub fn jump(&self, levels: i64) -> Option<&Jump> {
        self.jumps.iter().find(|jump| jump.levels == levels)
    }

    /// Mean share of transitions that lead at most one level on or back: the paper's SumAvg.
    pub fn one_local(&self) -> f64 {
        let near = self.jumps.iter().filter(|jump| jump.levels.abs() <= 1);
        near.map(|jump| jump.share.mean).sum()
    }

    /// The same without self-loops.
    pub fn one_local_without_loops(&self) -> f64 {
        let near = self.jumps.iter().filter(|jump| jump.levels.abs() <= 1);
        near.map(|jump| jump.share_without_loops.mean).sum()
    }
}

/// Measures how far the transitions of `model` lead.
///
/// Of `options`, the bound, the time limit and the memory matter; states at the bound are not
/// expanded and so not measured. `stop` interrupts it; the flag itself is only read.
pub fn locality(
    model: &dyn Model,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Locality, Error> {
    strategy::run(model, options, stop, observer, |run| Walk::new(run).run())
}

struct Walk<'a> {
    run: &'a Run<'a>,
    expander: Box<dyn Expander + 'a>,
    kernel: Kernel,
    known: Known,
    tally: Tally,
    /// Ordinal of the first state of each level, that of the one being found included.
    firsts: Vec<usize>,
    faults: u64,
}

impl<'a> Walk<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        let shape = run.shape;
        Walk {
            expander: run.expander(),
            kernel: Kernel::new(shape, buffer_len(run)),
            known: Known::new(shape.state_len),
            tally: Tally::default(),
            firsts: vec![0],
            faults: 0,
            run,
        }
    }

    fn run(mut self) -> Result<Locality, Error> {
        let reason = match self.walk() {
            Ok(()) => None,
            Err(Halt::Stop(reason)) => Some(reason),
            Err(Halt::Enough) => None,
            Err(Halt::Failed(error)) => return Err(error),
        };
        let ends = self.firsts[1..].iter().copied().chain([self.known.len]);
        let layers = self.firsts.iter().zip(ends);
        let layers = layers.map(|(&first, end)| (end - first) as u64);
        Ok(Locality {
            reason,
            states: self.known.len as u64,
            visited: self.tally.n_sources,
            transitions: self.tally.transitions,
            self_loops: self.tally.self_loops,
            ends: self.tally.ends,
            faults: self.faults,
            layers: layers.filter(|&size| size > 0).collect(),
            jumps: self.tally.jumps(),
            seconds: self.run.seconds(),
        })
    }

    fn walk(&mut self) -> Result<(), Halt> {
        self.expand(None, 0)?;
        if self.known.len == 0 {
            return Err(Halt::Failed(Error::NoStartstate));
        }
        let mut block = Vec::new();
        for level in 0.. {
            let (first, end) = (self.firsts[level], self.known.len);
            if first == end {
                break;
            }
            if self.run.options.bound == u32::try_from(level).ok() {
                return Err(Halt::Stop(Reason::Bound));
            }
            self.firsts.push(end);
            self.run.begin_rank(level as u32, (end - first) as u64);
            let mut at = first;
            while at < end {
                let n = (end - at).min(block_len(self.run));
                block.clear();
                block.extend_from_slice(self.known.states(at, n));
                block.resize(block.len() + PAD_BYTES, 0);
                self.expand(Some((&block, n)), level)?;
                at += n;
            }
            self.run.end_rank();
        }
        Ok(())
    }

    /// Expands states of `level` (finds the startstates, if there are none).
    fn expand(&mut self, block: Option<(&[u8], usize)>, level: usize) -> Result<(), Halt> {
        let state_len = self.run.shape.state_len;
        let states = block.map(|(block, n)| States::new(block, state_len, n));
        self.kernel.begin(states.map_or(1, |states| states.len()));
        let mut source = 0;
        while self.kernel.is_full() {
            self.kernel.expand(&mut *self.expander, states);
            if self.kernel.flow == Flow::Stopped || self.run.stop().is_raised() {
                return Err(Halt::Stop(self.run.stop_reason()));
            }
            self.kernel.canonicalise(&mut *self.expander, states);
            for remark in self.kernel.remarks.drain(..) {
                // Goals are not evaluated, so asymmetric startstates do no harm.
                if let Remark::BrokenSymmetry { rule, message } = remark {
                    return Err(Halt::Failed(Error::BrokenSymmetry { rule, message }));
                }
            }
            let successors = &self.kernel.successors;
            for at in 0..successors.len() {
                let target = successors.state(at);
                let Some((ordinal, is_new)) = self.known.insert(target) else {
                    return Err(Halt::Stop(Reason::Memory));
                };
                let Some(states) = states else { continue };
                while source < successors.source_of(at) as usize {
                    self.tally.end_source();
                    source += 1;
                }
                let found_on = match is_new {
                    true => level + 1,
                    false => self.firsts.partition_point(|&first| first <= ordinal) - 1,
                };
                let back = level + 1 - found_on;
                self.tally.add(back, target == states.get(source));
            }
            if self.known.data_bytes() > self.run.options.memory_bytes {
                return Err(Halt::Stop(Reason::Memory));
            }
        }
        let sources = self.kernel.successors.sources().iter();
        for source in sources {
            let is_dependence = |fault: &&Fault| fault.kind == FaultKind::OrderDependence;
            // From here on, states would not be those of the model.
            if let Some(fault) = source.faults.iter().find(is_dependence) {
                return Err(Halt::Failed(Error::OrderDependence(Box::new(
                    fault.clone(),
                ))));
            }
            self.faults += u64::from(!source.faults.is_empty());
        }
        if let Some(states) = states {
            (source..states.len()).for_each(|_| self.tally.end_source());
            self.run.note_expanded(states.len(), self.tally.transitions);
        }
        let n_states = self.known.len as u64;
        self.run.note_states(n_states, self.known.data_bytes(), 0);
        Ok(())
    }
}

/// All states, in the order of discovery, and a table that finds them.
struct Known {
    state_len: usize,
    states: Vec<u8>,
    len: usize,
    /// Ordinals plus one, at the state's hash or behind it; 0 where there is none.
    slots: Vec<u32>,
}

impl Known {
    fn new(state_len: usize) -> Self {
        Known {
            state_len,
            states: Vec::new(),
            len: 0,
            slots: vec![0; 1 << 10],
        }
    }

    fn states(&self, first: usize, n: usize) -> &[u8] {
        &self.states[first * self.state_len..][..n * self.state_len]
    }

    fn data_bytes(&self) -> u64 {
        (self.states.capacity() + self.slots.capacity() * 4) as u64
    }

    /// The ordinal of `state` and whether it was not there; `None` where there are too many.
    fn insert(&mut self, state: &[u8]) -> Option<(usize, bool)> {
        // At least half of the slots are free, so one is found soon.
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash_state(state) as usize & mask;
        while let Some(ordinal) = self.slots[slot].checked_sub(1) {
            if self.states(ordinal as usize, 1) == state {
                return Some((ordinal as usize, false));
            }
            slot = (slot + 1) & mask;
        }
        let ordinal = self.len;
        self.slots[slot] = u32::try_from(ordinal + 1).ok()?;
        self.states.extend_from_slice(state);
        self.len += 1;
        Some((ordinal, true))
    }

    fn grow(&mut self) {
        let mut slots = vec![0u32; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &entry in self.slots.iter().filter(|&&entry| entry > 0) {
            let mut slot = hash_state(self.states(entry as usize - 1, 1)) as usize & mask;
            while slots[slot] > 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = entry;
        }
        self.slots = slots;
    }
}

/// Adds up shares. A k-transition is at place 1 - k.
#[derive(Default)]
struct Tally {
    transitions: u64,
    self_loops: u64,
    ends: u64,
    n_sources: u64,
    sums: Vec<Sums>,
    /// Of the current source.
    counts: Vec<u64>,
    /// Places in `counts` that are not zero.
    touched: Vec<usize>,
    n: u64,
    n_loops: u64,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    transitions: u64,
    shares: Moments,
    shares_without_loops: Moments,
}

#[derive(Clone, Copy, Default)]
struct Moments {
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    /// Mean and deviation over `n` values, those that were not added being 0.
    fn share(self, n: u64) -> Share {
        let n = n.max(1) as f64;
        let mean = self.sum / n;
        // Rounding must not make it negative.
        let variance = (self.squares / n - mean * mean).max(0.0);
        Share {
            mean,
            deviation: variance.sqrt(),
        }
    }
}

/// Place of the 0-transitions, which self-loops are.
const SAME_LEVEL: usize = 1;

impl Tally {
    /// A transition of the current source.
    fn add(&mut self, back: usize, is_loop: bool) {
        if self.counts.len() <= back {
            self.counts.resize(back + 1, 0);
            self.sums.resize(back + 1, Sums::default());
        }
        if self.counts[back] == 0 {
            self.touched.push(back);
        }
        self.counts[back] += 1;
        self.n += 1;
        self.n_loops += u64::from(is_loop);
    }

    /// The current source has no more transitions.
    fn end_source(&mut self) {
        self.n_sources += 1;
        self.ends += u64::from(self.n == 0);
        self.transitions += self.n;
        self.self_loops += self.n_loops;
        let n_others = self.n - self.n_loops;
        for back in self.touched.drain(..) {
            let count = std::mem::take(&mut self.counts[back]);
            let sums = &mut self.sums[back];
            sums.transitions += count;
            sums.shares.add(count as f64 / self.n as f64);
            let others = match back {
                SAME_LEVEL => count - self.n_loops,
                _ => count,
            };
            if n_others > 0 {
                sums.shares_without_loops
                    .add(others as f64 / n_others as f64);
            }
        }
        (self.n, self.n_loops) = (0, 0);
    }

    fn jumps(&self) -> Vec<Jump> {
        let jump = |(back, sums): (usize, &Sums)| Jump {
            levels: 1 - back as i64,
            transitions: sums.transitions,
            share: sums.shares.share(self.n_sources),
            share_without_loops: sums.shares_without_loops.share(self.n_sources),
        };
        self.sums.iter().enumerate().map(jump).collect()
    }
}
