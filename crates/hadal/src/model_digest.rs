//! A digest of the state graph of a model without texts, to recognise the model when a run is
//! resumed.
//!
//! Two Rust models of one shape may differ in a parameter that nothing but their states shows. The
//! digest is over a sample: the startstates, the first states in breadth-first order, and walks
//! that lead away from them, each with its successors, its measures and the properties that fail in
//! it. Models
//! that agree on the sample and differ elsewhere need an [identity](crate::Check::identity).

use std::collections::HashSet;
use std::ops::ControlFlow;

use hadal_model::{Expander, Flow, Model, PAD_BYTES, States, Stopped, Successors, for_each_batch};
use hadal_search::strategy::{Run, Verdicts, run};
use hadal_search::{Options, Silent};
use hadal_store::hash_state;

/// States in breadth-first order.
const N_STATES: usize = 1000;
/// The same, for wide states.
const STATES_BYTES: usize = 4 << 20;
/// Walks from the first startstate. Their steps are chosen by a fixed sequence of numbers.
const N_WALKS: usize = 16;
const WALK_LEN: usize = 64;
/// Successors of one state that are looked at; there may be millions.
const MOST_SUCCESSORS: usize = 1 << 12;
/// The same, of the startstates.
const MOST_STARTS: usize = 1 << 16;
/// Successors of one state that are remembered, to be visited.
const BUFFER_BYTES: usize = 1 << 20;

/// The digest of `model`; `None` if `stop` was raised before it was complete.
pub(crate) fn digest(
    model: &dyn Model,
    stack_bytes: usize,
    stop: &hadal_model::Stop,
) -> Result<Option<u64>, hadal_search::Error> {
    let options = Options {
        stack_bytes,
        ..Options::default()
    };
    // On a thread of its own, whose stack suffices for the model.
    run(model, &options, stop, &mut Silent, |run| {
        Ok(Sample::new(run).digest().ok())
    })
}

/// The sample of a model, as it is taken.
struct Sample<'r> {
    expander: Box<dyn Expander + 'r>,
    run: &'r Run<'r>,
    out: Successors,
    verdicts: Verdicts,
    digest: u64,
    /// The digest so far and what is added next, to be hashed together.
    bytes: Vec<u8>,
}

impl<'r> Sample<'r> {
    fn new(run: &'r Run<'r>) -> Self {
        let capacity = (BUFFER_BYTES / run.shape.state_len.max(1)).clamp(1, 256);
        Sample {
            expander: run.model.expander(run.stop()),
            run,
            out: Successors::new(run.shape, capacity),
            verdicts: Verdicts::new(run.shape),
            digest: 0,
            bytes: Vec::new(),
        }
    }

    fn digest(mut self) -> Result<u64, Stopped> {
        for measure in &self.run.shape.measures {
            self.bytes
                .extend_from_slice(format!("{measure:?}").as_bytes());
            self.digest = hash_state(&self.bytes);
        }
        let most = (STATES_BYTES / self.run.shape.state_len.max(1)).clamp(1, N_STATES);
        let mut seen = HashSet::new();
        let mut queue: Vec<Vec<u8>> = Vec::new();
        let mut enqueue = |queue: &mut Vec<Vec<u8>>, states: Vec<Vec<u8>>| {
            for state in states {
                if queue.len() < most && seen.insert(hash_state(&state)) {
                    queue.push(state);
                }
            }
        };
        let starts = self.expand(None)?;
        enqueue(&mut queue, starts);
        let mut next = 0;
        while next < queue.len() {
            let successors = self.expand(Some(&queue[next]))?;
            enqueue(&mut queue, successors);
            next += 1;
        }
        if let Some(start) = queue.first() {
            self.walk(start)?;
        }
        Ok(self.digest)
    }

    /// Follows walks from `start`.
    fn walk(&mut self, start: &[u8]) -> Result<(), Stopped> {
        for walk in 0..N_WALKS as u64 {
            let mut state = start.to_vec();
            for step in 0..WALK_LEN as u64 {
                let mut successors = self.expand(Some(&state))?;
                if successors.is_empty() {
                    break;
                }
                let number = hash_state(&[walk.to_le_bytes(), step.to_le_bytes()].concat());
                state = successors.swap_remove(number as usize % successors.len());
            }
        }
        Ok(())
    }

    /// Adds the successors of `state` (the startstates if there is none), and what fails in it.
    /// Returns some of the successors.
    fn expand(&mut self, state: Option<&[u8]>) -> Result<Vec<Vec<u8>>, Stopped> {
        let padded = state.map(|state| [state, &[0; PAD_BYTES]].concat());
        let shape = self.run.shape;
        let block = (padded.as_deref()).map(|bytes| States::new(bytes, shape.state_len, 1));
        let most = state.map_or(MOST_STARTS, |_| MOST_SUCCESSORS);
        let (mut kept, mut n_seen) = (Vec::new(), 0);
        let (digest, bytes) = (&mut self.digest, &mut self.bytes);
        let mut add = |what: &[u8]| {
            bytes.clear();
            bytes.extend_from_slice(&digest.to_le_bytes());
            bytes.extend_from_slice(what);
            *digest = hash_state(bytes);
        };
        let capacity = self.out.capacity();
        let take = |expander: &mut dyn Expander, out: &mut Successors| {
            match block {
                Some(block) => expander.canonicalise_successors(block, out),
                None => expander.canonicalise(out.states_mut()),
            }
            expander.take_remarks();
            for successor in out.states().iter() {
                add(successor);
                if kept.len() < capacity {
                    kept.push(successor.to_vec());
                }
            }
            n_seen += out.len();
            match n_seen < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let _ = for_each_batch(&mut *self.expander, block, &mut self.out, take)?;
        for source in self.out.sources() {
            add(&source.enabled.to_le_bytes());
            add(&source.fired.to_le_bytes());
            add(&[u8::from(source.progress), source.faults.len() as u8]);
        }
        if let Some(block) = block {
            if self.verdicts.find(&mut *self.expander, shape, block) == Flow::Stopped {
                return Err(Stopped);
            }
            for failure in &self.verdicts.failures {
                add(&failure.property.to_le_bytes());
            }
            for goal in &self.verdicts.goals {
                add(&goal.to_le_bytes());
            }
            if !shape.measures.is_empty() {
                let mut values = Vec::new();
                match self.expander.measure(block, &mut values) {
                    Ok(Flow::Stopped) => return Err(Stopped),
                    Ok(_) => values.iter().for_each(|value| add(&value.to_le_bytes())),
                    Err(unmeasured) => add(unmeasured.message.as_bytes()),
                }
            }
        }
        Ok(kept)
    }
}
