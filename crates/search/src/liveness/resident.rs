//! Liveness in memory: an index of all states gives every successor its ordinal, and the reversed graph
//! is walked from the goals.

use hadal_model::{Flow, PAD_BYTES, Shape, States, Stop};
use hadal_store::damaged_log;
use hadal_store::key_space::KeySpace;

use super::graph::Graph;
use super::maps::{IDENTITY, Maps};
use crate::Error;
use crate::engine::{Context, Engine, Expansion, Interrupt};
use crate::storage::{OrdinalIndex, Storage};
use crate::strategy::Decided;
use crate::window::{Block, BlockSource, Task};
use crate::worker::Worker;

/// How the attempt ended.
pub(super) enum Attempt {
    Decided(Decided),
    /// The search was stopped.
    Stopped,
    /// Memory does not suffice.
    NoRoom,
}

/// Decides every liveness goal over all states found, if memory suffices.
pub(super) fn decide(engine: &mut Engine<'_, '_>, transitions: u64) -> Result<Attempt, Error> {
    let n_states = engine.states.len();
    let Context {
        shape,
        stop,
        gauge,
        keys,
        ..
    } = engine.context;
    let Some(index) = index_states(engine)? else {
        return Ok(Attempt::NoRoom);
    };
    engine.graph_bytes = index.data_bytes();
    let Some(mut graph) = Graph::new(shape, n_states, engine.spare_bytes()) else {
        engine.graph_bytes = 0;
        return Ok(Attempt::NoRoom);
    };
    // Of the edges some are loops or there several times; where half of them do not fit, it is not
    // worth an expansion of all states to find out.
    if engine.context.folder.is_some() && !graph.fits_with(transitions / 2) {
        engine.graph_bytes = 0;
        return Ok(Attempt::NoRoom);
    }
    let collect = |task: &mut Task, worker: &mut Worker<'_>| {
        let mut edges = Edges::default();
        edges.collect(task, worker, &index, shape, keys, stop);
        edges
    };
    let mut unrepeatable = None;
    let mut source = BlockSource::States(0..n_states);
    let end = engine.revisit(&mut source, collect, &mut |task, edges| {
        let n_states = task.kernel.successors.sources().len();
        gauge.note_expanded(n_states, transitions);
        unrepeatable = edges.unrepeatable;
        unrepeatable.is_none() && graph.add(edges)
    })?;
    if let Some(ordinal) = unrepeatable {
        return Err(Error::Unrepeatable { ordinal });
    }
    engine.graph_bytes = index.data_bytes() + graph.data_bytes();
    let reversing = graph.reversing_bytes();
    let fits = engine.fits(reversing);
    let attempt = match end {
        Expansion::Interrupted(Interrupt::Stop) => Attempt::Stopped,
        Expansion::Finished if fits => match graph.reverse().decide(&|| stop.is_raised()) {
            Some(decided) => Attempt::Decided(decided),
            None => Attempt::Stopped,
        },
        _ => Attempt::NoRoom,
    };
    engine.graph_bytes = 0;
    Ok(attempt)
}

/// States that are indexed at once.
const STATES_AT_ONCE: u64 = 1 << 12;

/// An index of all states, for which the set of keys makes room; `None` where they are not all in
/// memory or the index does not fit.
fn index_states(engine: &mut Engine<'_, '_>) -> Result<Option<OrdinalIndex>, Error> {
    let n_states = engine.states.len();
    let Context { shape, keys, .. } = engine.context;
    let Storage::Resident(resident) = &mut engine.storage else {
        return Ok(None);
    };
    resident.free_set(keys);
    let mut index = OrdinalIndex::new(shape.state_len);
    let (mut words, mut states) = (Vec::new(), Vec::new());
    let mut first = 0;
    while first < n_states {
        let n = STATES_AT_ONCE.min(n_states - first);
        engine.graph_bytes = index.data_bytes();
        if !engine.fits(index.growth_bytes(n as usize)) {
            engine.graph_bytes = 0;
            return Ok(None);
        }
        words.clear();
        states.clear();
        for slice in engine.states.records.read(first, n as usize)? {
            keys.decode(&slice, &mut words, &mut states)
                .ok_or_else(|| damaged_log("states"))?;
        }
        states.resize(states.len() + PAD_BYTES, 0);
        index.append(States::new(&states, shape.state_len, n as usize));
        first += n;
    }
    Ok(Some(index))
}

/// Images of goals that are asked for at once: there may be many goals.
pub(super) const MOST_IMAGES: usize = 1 << 14;

/// Where the states of one block lead, and which goals they reach.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// Number of targets of each state.
    pub(super) degrees: Vec<u32>,
    /// Targets of the states in order, sorted by target and map, without repetitions and without
    /// those that lead from a state and its goals to themselves.
    pub(super) targets: Vec<u32>,
    /// By target, the number of its map in `maps`; empty where all of them are the identity.
    pub(super) map_of: Vec<u32>,
    /// The maps that occur in this block.
    pub(super) maps: Maps,
    /// Goal bits, `goal_words` a state.
    pub(super) reached: Vec<u64>,
    /// A state that now has a successor which was never found.
    unrepeatable: Option<u64>,
}

impl Edges {
    /// Expands the block of `task` to its end and looks up every successor.
    pub(super) fn collect(
        &mut self,
        task: &mut Task,
        worker: &mut Worker<'_>,
        index: &OrdinalIndex,
        shape: &Shape,
        keys: &KeySpace,
        stop: &Stop,
    ) {
        let Block::States { first, len } = task.block else {
            return;
        };
        *self = Edges {
            maps: Maps::new(shape),
            ..Edges::default()
        };
        // Targets and maps of the state that is being expanded.
        let mut found = Vec::new();
        let mut images = Vec::new();
        // A model without variables has one state and no bytes to go over.
        let chunk_len = (MOST_IMAGES / shape.goals.len().max(1)).max(1);
        while task.is_full() && !stop.is_raised() {
            task.expand(worker, keys);
            let expander = &mut *worker.expander;
            if task.kernel.flow == Flow::Stopped {
                return;
            }
            let n = task.kernel.successors.len();
            for begin in (0..n).step_by(chunk_len) {
                let end = n.min(begin + chunk_len);
                let bytes = begin * shape.state_len..end * shape.state_len;
                let states = &mut task.kernel.successors.states_mut()[bytes];
                expander.canonicalise_with_goals(states, &mut images);
                for position in begin..end {
                    let source = task.kernel.successors.source_of(position) as usize;
                    while self.degrees.len() < source {
                        self.end_source(&mut found, first);
                    }
                    let state = task.kernel.successors.state(position);
                    let Some(target) = index.find(state) else {
                        self.unrepeatable.get_or_insert(first + source as u64);
                        continue;
                    };
                    let map = match images.is_empty() {
                        true => IDENTITY,
                        false => self.maps.number_of(
                            &images[(position - begin) * shape.goals.len()..][..shape.goals.len()],
                        ),
                    };
                    found.push((target as u32, map));
                }
            }
            task.kernel.remarks.append(&mut expander.take_remarks());
        }
        while self.degrees.len() < len {
            self.end_source(&mut found, first);
        }
        if self.map_of.iter().all(|&map| map == IDENTITY) {
            self.map_of = Vec::new();
        }
        self.targets.shrink_to_fit();
        self.map_of.shrink_to_fit();

        self.reached = vec![0; len * shape.goal_words()];
        let mut failures = Vec::new();
        let expander = &mut *worker.expander;
        let flow = expander.reach_goals(task.sources(), &mut self.reached, &mut failures);
        if flow == Flow::Stopped {
            task.kernel.flow = Flow::Stopped;
        }
    }

    /// Takes over what was found about the next state.
    fn end_source(&mut self, found: &mut Vec<(u32, u32)>, first: u64) {
        let this = (first + self.degrees.len() as u64) as u32;
        found.sort_unstable();
        found.dedup();
        let before = self.targets.len();
        for (target, map) in found.drain(..) {
            if (target, map) != (this, IDENTITY) {
                self.targets.push(target);
                self.map_of.push(map);
            }
        }
        self.degrees.push((self.targets.len() - before) as u32);
    }
}
