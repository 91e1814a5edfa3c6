//! What every strategy shares: making successors, judging new states, counting, and the way back.
//!
//! An [`Explorer`] makes successors, a [`Judge`] decides what is to be said about states that are
//! new, and both add to counts that they keep. They have an expander each, so that states can be
//! judged while successors of others are looked at. A [`Kin`] remembers how each state was found.

use std::sync::mpsc::Sender;
use std::time::Instant;

use hadal_model::{Expander, Flow, Model, PAD_BYTES, Remark, Shape, States, Successors};
use hadal_store::Parent;

use super::StrategyOptions;
use super::guard::Guard;
use super::records::{Records, Shelf};
use crate::bfs::Limits;
use crate::findings::Findings;
use crate::kernel::{Kernel, Verdicts};
use crate::progress::Gauge;
use crate::totals::{Totals, add_to};
use crate::{Duplicates, Error, Options, Progress, Reason};

/// What a run is given.
#[derive(Clone)]
pub(super) struct Run<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) shape: &'a Shape,
    pub(super) options: &'a Options,
    pub(super) own: &'a StrategyOptions,
    pub(super) limits: &'a Limits,
    pub(super) guard: &'a Guard,
    pub(super) gauge: &'a Gauge,
    pub(super) ended_layers: Sender<Progress>,
}

impl Run<'_> {
    /// Why the flag was raised.
    fn stop_reason(&self) -> Reason {
        match self.guard.is_beyond() {
            true => Reason::Memory,
            false => self.limits.reason(),
        }
    }

    /// Ends the search if somebody wants that. Asked in every loop that may take long.
    pub(super) fn go_on(&self) -> Result<(), Halt> {
        match self.limits.stop.is_raised() {
            true => Err(Halt::Stop(self.stop_reason())),
            false => Ok(()),
        }
    }

    /// Refuses a bound on the depth, for a strategy whose order is another.
    pub(super) fn refuse_bound(&self, strategy: &'static str) -> Result<(), Error> {
        match self.options.bound {
            None => Ok(()),
            Some(_) => Err(Error::Unsupported {
                strategy,
                option: "a bound on the depth",
                why: "it does not visit states in the order of their depth",
            }),
        }
    }
}

/// Why a strategy does not go on.
pub(super) enum Halt {
    /// As many violations as asked for.
    Enough,
    /// Something is at its end before the states are.
    Stop(Reason),
    /// Something is broken.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

impl From<hadal_store::Error> for Halt {
    fn from(error: hadal_store::Error) -> Self {
        match error {
            hadal_store::Error::Full { .. } => Halt::Stop(Reason::Disk),
            error => Halt::Failed(error.into()),
        }
    }
}

/// Successors taken at once.
const BUFFER_LEN: usize = 4096;

/// Makes successors.
pub(super) struct Explorer<'a> {
    run: Run<'a>,
    expander: Box<dyn Expander + 'a>,
    kernel: Kernel,
    most_candidates: Option<u64>,
    /// Expansions of states.
    pub(super) visited: u64,
    pub(super) transitions: u64,
    pub(super) fired_by_rule: Vec<u64>,
    pub(super) goal_hits: Vec<u64>,
    pub(super) seconds: f64,
}

impl<'a> Explorer<'a> {
    pub(super) fn new(run: &Run<'a>) -> Self {
        let capacity = run.options.buffer_len.unwrap_or(BUFFER_LEN);
        Explorer {
            expander: run.model.expander(&run.limits.stop),
            kernel: Kernel::new(run.shape, capacity),
            most_candidates: None,
            visited: 0,
            transitions: 0,
            fired_by_rule: vec![0; run.shape.rules.len()],
            goal_hits: vec![0; run.shape.goals.len()],
            seconds: 0.0,
            run: run.clone(),
        }
    }

    /// Begins with a block of `n_sources` states.
    pub(super) fn begin(&mut self, n_sources: usize) {
        self.kernel.begin(n_sources);
    }

    /// Makes the next successors of `block` (the startstates, if there is none), as
    /// representatives; false where there are no more. Then what is known about the sources is
    /// final, and has been counted.
    pub(super) fn fill(&mut self, block: Option<States<'_>>) -> Result<bool, Halt> {
        if !self.kernel.is_full() {
            return Ok(false);
        }
        let since = Instant::now();
        self.kernel.expand(&mut *self.expander, block);
        if self.kernel.flow == Flow::Stopped {
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        self.run.go_on()?;
        self.kernel.canonicalise(&mut *self.expander, block);
        self.take_remarks()?;
        if !self.kernel.is_full() {
            self.count(block.is_some());
        }
        self.seconds += since.elapsed().as_secs_f64();
        Ok(true)
    }

    /// Whether all successors were made.
    pub(super) fn is_done(&self) -> bool {
        self.kernel.flow == Flow::Done
    }

    /// What the last call of [`fill`](Self::fill) made.
    pub(super) fn successors(&self) -> &Successors {
        &self.kernel.successors
    }

    /// What a person should know.
    pub(super) fn remarks(&self) -> Vec<Remark> {
        let expensive = |candidates| Remark::ExpensiveCanonicalForm { candidates };
        self.most_candidates.map(expensive).into_iter().collect()
    }

    fn count(&mut self, are_states: bool) {
        let successors = &self.kernel.successors;
        add_to(&mut self.goal_hits, successors.goal_hits());
        if are_states {
            let sources = successors.sources();
            self.visited += sources.len() as u64;
            self.transitions += sources.iter().map(|s| u64::from(s.fired)).sum::<u64>();
            add_to(&mut self.fired_by_rule, successors.fired_by_rule());
            let gauge = self.run.gauge;
            gauge.note_expanded(sources.len(), self.transitions);
        }
    }

    /// Keeps what a person should know; a broken symmetry ends the search.
    fn take_remarks(&mut self) -> Result<(), Error> {
        for remark in self.kernel.remarks.drain(..) {
            match remark {
                Remark::BrokenSymmetry { rule, message } => {
                    return Err(Error::BrokenSymmetry { rule, message });
                }
                Remark::AsymmetricStarts { message } => {
                    return Err(Error::AsymmetricStarts { message });
                }
                Remark::ExpensiveCanonicalForm { candidates } => {
                    self.most_candidates = self.most_candidates.max(Some(candidates));
                }
            }
        }
        Ok(())
    }
}

/// Decides what is to be said about new states.
pub(super) struct Judge<'a> {
    run: Run<'a>,
    expander: Box<dyn Expander + 'a>,
    verdicts: Verdicts,
    pub(super) findings: Findings<'a>,
    /// How many states reach each goal, those that come again counted again.
    pub(super) goals: Vec<u64>,
    /// States that were not judged yet, and the ordinal of the first.
    fresh: Vec<u8>,
    n_fresh: usize,
    n_judged: u64,
    pub(super) seconds: f64,
}

/// States judged at once.
const FRESH_LEN: usize = 1024;

impl<'a> Judge<'a> {
    pub(super) fn new(run: &Run<'a>) -> Self {
        let options = run.options;
        Judge {
            expander: run.model.expander(&run.limits.stop),
            verdicts: Verdicts::new(run.shape),
            findings: Findings::new(run.shape, options.deadlock, options.max_errors),
            goals: vec![0; run.shape.goals.len()],
            fresh: Vec::new(),
            n_fresh: 0,
            n_judged: 0,
            seconds: 0.0,
            run: run.clone(),
        }
    }

    /// Takes the state with the next ordinal, found at `depth`; it is judged before one of another
    /// depth comes, if [`settle`](Self::settle) is called in between.
    pub(super) fn add(&mut self, state: &[u8], depth: u32) -> Result<(), Halt> {
        self.fresh.extend_from_slice(state);
        self.n_fresh += 1;
        match self.n_fresh {
            FRESH_LEN => self.settle(depth),
            _ => Ok(()),
        }
    }

    /// Takes note of how the startstates were made, after all of them were. `n_states` of them were
    /// found to be new.
    pub(super) fn add_starts(
        &mut self,
        explorer: &Explorer<'_>,
        n_states: u64,
    ) -> Result<(), Halt> {
        let source = &explorer.successors().sources()[0];
        match source.faults.first() {
            Some(fault) => self.findings.add_start_fault(n_states, fault),
            None if source.written == 0 => return Err(Halt::Failed(Error::NoStartstate)),
            None => {}
        }
        Ok(())
    }

    /// Accepts what was found, where there is no order to wait for.
    pub(super) fn accept(&mut self) -> Result<(), Halt> {
        self.findings.end_layer();
        self.findings.begin_layer();
        self.findings.end_layer();
        match self.findings.is_full() {
            true => Err(Halt::Enough),
            false => Ok(()),
        }
    }

    /// Judges all states that were added.
    pub(super) fn settle(&mut self, depth: u32) -> Result<(), Halt> {
        if self.n_fresh == 0 {
            return Ok(());
        }
        let since = Instant::now();
        self.fresh.resize(self.fresh.len() + PAD_BYTES, 0);
        let shape = self.run.shape;
        let block = States::new(&self.fresh, shape.state_len, self.n_fresh);
        let flow = self.verdicts.find(&mut *self.expander, shape, block);
        if flow == Flow::Stopped {
            return Err(Halt::Stop(self.run.stop_reason()));
        }
        add_to(&mut self.goals, &self.verdicts.goals);
        for failure in &self.verdicts.failures {
            let ordinal = self.n_judged + u64::from(failure.state);
            self.findings.add_failure(ordinal, depth, failure);
        }
        self.n_judged += self.n_fresh as u64;
        self.fresh.clear();
        self.n_fresh = 0;
        self.seconds += since.elapsed().as_secs_f64();
        Ok(())
    }
}

/// What was counted by then, but for the duplicates.
pub(super) fn totals(explorer: &Explorer<'_>, judge: &Judge<'_>, duplicates: Duplicates) -> Totals {
    let mut goals = judge.goals.clone();
    add_to(&mut goals, &explorer.goal_hits);
    Totals {
        visited: explorer.visited,
        transitions: explorer.transitions,
        fired_by_rule: explorer.fired_by_rule.clone(),
        goals,
        duplicates,
    }
}

/// How each state was found, in the order of their ordinals.
pub(super) struct Kin {
    records: Records,
}

/// Stands for the parent of startstates.
pub(super) const NO_PARENT: u64 = u64::MAX;
/// Bytes of a parent.
pub(super) const PARENT_BYTES: usize = 12;

impl Kin {
    pub(super) fn new(shelf: &Shelf) -> Result<Self, Error> {
        Ok(Kin {
            records: shelf.records(PARENT_BYTES)?,
        })
    }

    pub(super) fn push(&mut self, parent: Parent) -> Result<(), hadal_store::Error> {
        self.records.push(&encode_parent(parent))
    }

    /// The indices by which the state `ordinal` is reached, from a startstate on.
    pub(super) fn indices_to(&mut self, mut ordinal: u64) -> Result<Vec<u32>, Error> {
        let mut indices = Vec::new();
        while ordinal != NO_PARENT {
            let parent = decode_parent(&self.records.get(ordinal)?);
            indices.push(parent.index);
            ordinal = parent.ordinal;
        }
        indices.reverse();
        Ok(indices)
    }
}

pub(super) fn encode_parent(parent: Parent) -> [u8; PARENT_BYTES] {
    let mut record = [0; PARENT_BYTES];
    record[..8].copy_from_slice(&parent.ordinal.to_le_bytes());
    record[8..].copy_from_slice(&parent.index.to_le_bytes());
    record
}

/// The parent at the beginning of `record`.
pub(super) fn decode_parent(record: &[u8]) -> Parent {
    let (mut ordinal, mut index) = ([0; 8], [0; 4]);
    ordinal.copy_from_slice(&record[..8]);
    index.copy_from_slice(&record[8..PARENT_BYTES]);
    Parent {
        ordinal: u64::from_le_bytes(ordinal),
        index: u32::from_le_bytes(index),
    }
}
