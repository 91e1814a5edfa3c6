//! Liveness on disk: edges with the keys of their targets are joined with the ordinals of all states,
//! sorted by target, and followed back.
//!
//! 1. Every state is expanded once more. The keys of its successors are partitioned; sources that reach
//!    all goals themselves, loops and repetitions are left out.
//! 2. Keys and ordinals of all states are joined with them, as for the [graph](crate::graph) of a sink;
//!    what comes out are pairs of ordinals, which are partitioned by target.
//! 3. [`sort`](super::sort) brings each partition into the order of targets.
//! 4. [`follow`](super::follow) carries goals from targets to sources until nothing changes.

use std::sync::Mutex;

use hadal_model::{Flow, Shape};
use hadal_store::damaged_log;
use hadal_store::in_edges::InEdge;
use hadal_store::join::{JoinLimits, Looked, ValueRun, join};
use hadal_store::partition::{ByRange, Pairs};
use hadal_store::run::Splitters;

use super::follow::{Carrier, FollowLimits, follow};
use super::labels::{LabelMaker, Labelled};
use super::maps::{IDENTITY, Maps};
use super::resident::MOST_IMAGES;
use super::sort::{SortLimits, n_ranges, pack, sort_edges, unpack};
use super::stretches::{Stretches, stretch_bytes, stretch_len};
use crate::Error;
use crate::engine::{Context, Engine, Expansion, Joining, Shares};
use crate::progress::Work;
use crate::strategy::Decided;
use crate::window::{Block, BlockSource, Task};
use crate::worker::Worker;

/// Divisor: the part of the memory for the goals of states in memory.
const GOALS_SHARE: u64 = 3;
/// What blocks of edges may take in any case, beyond the shares where there is little memory: with a few
/// blocks each step would read what the step before evicted. It is well below what a process may exceed
/// its budget by.
const LEAST_CACHE_BYTES: u64 = 6 << 20;
/// Divisor: the part of the memory for maps of goals.
const MAPS_SHARE: u64 = 16;

/// Memory of the steps, in bytes.
#[derive(Clone, Copy)]
struct Plan {
    stretch_len: u64,
    goals_bytes: u64,
    maps_bytes: u64,
    /// What is left for joining, sorting and following.
    left_bytes: u64,
}

impl Plan {
    fn new(n_states: u64, n_goals: usize, bytes: u64) -> Self {
        let stretch_len = stretch_len(n_states, n_goals, bytes / GOALS_SHARE);
        let goals_bytes = stretch_bytes(stretch_len.min(n_states), n_goals);
        let maps_bytes = bytes / MAPS_SHARE;
        Plan {
            stretch_len,
            goals_bytes,
            maps_bytes,
            left_bytes: bytes.saturating_sub(goals_bytes + maps_bytes),
        }
    }
}

/// Decides every liveness goal over all states found, on disk; `None` where there is none or the search
/// was stopped.
pub(super) fn decide(
    engine: &mut Engine<'_, '_>,
    transitions: u64,
) -> Result<Option<Decided>, Error> {
    let Context {
        shape,
        stop,
        gauge,
        folder,
        ..
    } = engine.context;
    let Some(search_folder) = folder else {
        return Ok(None);
    };
    let folder = &search_folder.folder;
    engine.give_up_storage()?;
    engine.evict_states()?;
    let n_states = engine.states.len();
    let bytes = engine.bytes_for_join();
    let n_goals = Maps::new(shape).goals().len();
    let plan = Plan::new(n_states, n_goals, bytes);
    let labels = LabelMaker::new(shape, plan.maps_bytes);
    let source_bits = source_bits(n_states);
    if (labels.end()).is_none_or(|end| end > u64::MAX >> source_bits) {
        return Ok(None);
    }
    let mut stretches = Stretches::new(0..n_states, n_goals, plan.stretch_len, folder);
    let held_bytes = plan.goals_bytes + plan.maps_bytes;
    let joining = engine.joining(Shares::of(plan.left_bytes));
    let edges = engine.edges_by_key(&joining, &labels, &mut stretches, held_bytes, transitions)?;
    let Some(edges) = edges else {
        return Ok(None);
    };
    let maps_bytes = labels.data_bytes();
    let labels = labels.finish();
    let carrier = Carrier {
        labels: &labels,
        folder,
        stop,
        gauge,
    };
    let edges = engine.edges_by_target(&joining, edges, &stretches, &carrier, held_bytes)?;
    let Some(edges) = edges else {
        return Ok(None);
    };

    let n_edges = edges.n_pairs();
    gauge.begin_work(Work::Sorting, 0, n_edges);
    engine.graph_bytes = plan.goals_bytes + maps_bytes + edges.memory_bytes();
    engine.report_progress();
    let limits = sort_limits(&joining);
    let files = sort_edges(&edges, source_bits, &stretches, &carrier, limits)?;
    drop(edges);
    if stop.is_raised() {
        return Ok(None);
    }

    gauge.begin_work(Work::Following, 0, n_edges);
    let fences: u64 = files.iter().map(|file| file.memory_bytes()).sum();
    let limits = FollowLimits {
        cache: (plan.left_bytes / 4 * 3)
            .saturating_sub(fences)
            .max(LEAST_CACHE_BYTES),
        messages: plan.left_bytes / 8,
    };
    engine.graph_bytes = plan.goals_bytes + maps_bytes + plan.left_bytes;
    engine.report_progress();
    let least = match follow(&files, &mut stretches, &carrier, limits)? {
        true => stretches.least_without(&|| stop.is_raised())?,
        false => None,
    };
    gauge.end_work();
    engine.graph_bytes = 0;
    let maps = Maps::new(shape);
    let goals = maps.goals().iter().map(|&goal| goal as usize);
    Ok(least.map(|least| goals.zip(least).collect()))
}

/// Bits of an ordinal; those above it in a word are a label.
fn source_bits(n_states: u64) -> u32 {
    (u64::BITS - n_states.saturating_sub(1).leading_zeros()).max(1)
}

fn sort_limits(joining: &Joining<'_>) -> SortLimits {
    let n_threads = joining.n_threads();
    SortLimits {
        n_threads,
        thread_bytes: joining.shares().tables / n_threads as u64,
    }
}

/// Edges by the keys of their targets, and the ordinals of all keys.
struct EdgesByKey {
    runs: Vec<ValueRun>,
    pairs: Pairs,
}

impl Engine<'_, '_> {
    /// The first step: all edges that may matter; `None` if the search was stopped. `held_bytes` are
    /// held besides.
    fn edges_by_key(
        &mut self,
        joining: &Joining<'_>,
        labels: &LabelMaker,
        stretches: &mut Stretches<'_>,
        held_bytes: u64,
        transitions: u64,
    ) -> Result<Option<EdgesByKey>, Error> {
        let n_states = self.states.len();
        let gauge = self.context.gauge;
        gauge.begin_work(Work::Joining, 0, 2 * n_states);
        let splitters = self.splitters(joining, n_states)?;
        self.graph_bytes = held_bytes;
        let Ok(runs) = self.state_runs(joining, splitters.clone(), n_states)? else {
            return Ok(None);
        };
        gauge.end_work();
        let run_bytes: u64 = runs.iter().map(ValueRun::memory_bytes).sum();
        self.graph_bytes = held_bytes + run_bytes + joining.shares().pairs;
        let pairs = self.successor_pairs(joining, splitters, labels, stretches, transitions)?;
        Ok(pairs.map(|pairs| EdgesByKey { runs, pairs }))
    }

    /// The second step: edges as pairs of ordinals by target; `None` if the search was stopped.
    /// `held_bytes` are held besides.
    fn edges_by_target(
        &mut self,
        joining: &Joining<'_>,
        EdgesByKey { runs, pairs }: EdgesByKey,
        stretches: &Stretches<'_>,
        carrier: &Carrier<'_>,
        held_bytes: u64,
    ) -> Result<Option<ByRange>, Error> {
        let n_states = self.states.len();
        let Context {
            gauge,
            stop,
            monitor,
            ..
        } = self.context;
        let shares = joining.shares();
        let n_edges = (0..pairs.n_buckets())
            .map(|bucket| pairs.n_in(bucket))
            .sum();
        gauge.begin_work(Work::Joining, 0, n_edges);
        let n_ranges = n_ranges(n_edges, n_states, sort_limits(joining));
        let n_threads = joining.n_threads();
        let folder = joining.folder().cloned();
        let mut edges = ByRange::new(n_states, n_ranges, n_threads, shares.ordinals, folder);
        let n_readers = joining.n_readers(pairs.n_files() + 1);
        let limits = JoinLimits {
            n_threads: n_readers,
            table_bytes: shares.tables / n_readers as u64,
        };
        let run_bytes: u64 = runs.iter().map(ValueRun::memory_bytes).sum();
        let joined_bytes = pairs.memory_bytes() + run_bytes + shares.tables + shares.ordinals;
        self.graph_bytes = held_bytes + joined_bytes;
        self.report_progress();
        let source_bits = source_bits(n_states);
        let missing = Mutex::new(None);
        let looked: Vec<Looked<'_>> = runs.iter().map(|run| run.run().into()).collect();
        let is_resident = stretches.len() == 1;
        join(&looked, &pairs, limits, monitor, &|worker, joined| {
            if let Some(&packed) = joined.missing.iter().min() {
                let (_, edge) = unpack([0, packed], source_bits);
                let mut missing = missing.lock().unwrap_or_else(|it| it.into_inner());
                missing.get_or_insert(edge.source);
            }
            let targets = joined.values.iter().zip(joined.numbers);
            let mut pairs: Vec<[u64; 2]> = Vec::with_capacity(joined.values.len());
            let mut row = Vec::new();
            for (&target, &packed) in targets {
                let pair = [target, packed];
                let (_, edge) = unpack(pair, source_bits);
                if target >= n_states || edge.source >= n_states {
                    return Err(damaged_log("edges"));
                }
                // Targets come in the order of their keys, not of their ordinals, so this follows
                // other edges than sorting does. What is not written is not sorted either.
                let is_open = !is_resident
                    || carrier.carry_early(stretches.reached(), target as usize, edge, &mut row)?;
                if is_open {
                    pairs.push(pair);
                }
            }
            edges.put(worker, &pairs)
        })?;
        if stop.is_raised() {
            return Ok(None);
        }
        // A state that has a successor now which was never found.
        if let Some(ordinal) = missing.into_inner().unwrap_or_else(|it| it.into_inner()) {
            return Err(Error::Unrepeatable { ordinal });
        }
        drop(looked);
        drop((runs, pairs));
        edges.settle()?;
        Ok(Some(edges))
    }

    /// The keys of all successors that may matter with their sources and labels, and the goals that
    /// states reach themselves; `None` if the search was stopped.
    fn successor_pairs(
        &mut self,
        joining: &Joining<'_>,
        splitters: Splitters,
        labels: &LabelMaker,
        stretches: &mut Stretches<'_>,
        transitions: u64,
    ) -> Result<Option<Pairs>, Error> {
        let n_states = self.states.len();
        let Context { shape, gauge, .. } = self.context;
        let mut pairs = joining.pairs(splitters);
        let goals = Maps::new(shape).goals().to_vec();
        let collecting = Collecting {
            context: self.context,
            labels,
            pairs: &pairs,
            goals: &goals,
            source_bits: source_bits(n_states),
        };
        let collect = |task: &mut Task, worker: &mut Worker<'_>| collecting.collect(task, worker);
        let mut failed = Ok(());
        let mut source = BlockSource::States(0..n_states);
        let end = self.revisit(&mut source, collect, &mut |task, reached| {
            let n_sources = task.kernel.successors.sources().len();
            gauge.note_expanded(n_sources, transitions);
            let Block::States { first, .. } = task.block else {
                return true;
            };
            failed = reached.and_then(|reached| {
                let n_words = shape.goal_words();
                for (state, words) in (first..).zip(reached.chunks(n_words.max(1))) {
                    for (position, &goal) in goals.iter().enumerate() {
                        if (words[goal as usize / 64] >> (goal % 64)) & 1 == 1 {
                            stretches.add_own(state, position)?;
                        }
                    }
                }
                Ok(())
            });
            failed.is_ok()
        })?;
        failed?;
        self.release_window();
        match end {
            Expansion::Finished => {
                pairs.settle()?;
                Ok(Some(pairs))
            }
            _ => Ok(None),
        }
    }
}

/// What edges are made of.
struct Collecting<'a> {
    context: Context<'a>,
    labels: &'a LabelMaker,
    pairs: &'a Pairs,
    /// The numbers of the liveness goals in the shape.
    goals: &'a [u32],
    source_bits: u32,
}

/// Up to this many edges of a state, repetitions are found by comparing each with each.
const FEW_EDGES: usize = 16;

impl Collecting<'_> {
    /// Expands the block of `task` to its end and adds the keys of its successors to the pairs. Returns
    /// the goals that its states reach themselves.
    fn collect(&self, task: &mut Task, worker: &mut Worker<'_>) -> Result<Vec<u64>, Error> {
        let Context {
            shape, keys, stop, ..
        } = self.context;
        let Block::States { first, len } = task.block else {
            return Ok(Vec::new());
        };
        let mut reached = Vec::new();
        let (mut maps, mut map_of) = (Maps::new(shape), Vec::new());
        let mut chosen = Chosen::default();
        while task.is_full() && !stop.is_raised() {
            task.expand(worker, keys);
            if task.kernel.flow == Flow::Stopped {
                break;
            }
            if reached.is_empty() {
                reached.resize(len * shape.goal_words(), 0);
                let expander = &mut *worker.expander;
                let mut failures = Vec::new();
                if expander.reach_goals(task.sources(), &mut reached, &mut failures)
                    == Flow::Stopped
                {
                    task.kernel.flow = Flow::Stopped;
                    break;
                }
            }
            canonicalise(task, worker, shape, &mut maps, &mut map_of);
            task.encode_candidates(worker, keys);
            if task.keys.is_outgrown {
                // A word that no state has.
                return Err(Error::Unrepeatable { ordinal: first });
            }
            let labels = self.labels.labels_of(&maps);
            chosen.clear();
            let n_words = keys.shape().n_words;
            let sources = task.kernel.successors.sources_of();
            let mut at = 0;
            while at < sources.len() {
                let source = sources[at];
                let end = at + sources[at..].partition_point(|&it| it == source);
                if !self.reaches_all(&reached, source as usize, shape) {
                    self.choose(task, at..end, first, &map_of, &labels, n_words, &mut chosen);
                }
                at = end;
            }
            (self.pairs).push(worker.number, &chosen.keys, &chosen.values)?;
        }
        reached.resize(len * shape.goal_words(), 0);
        Ok(reached)
    }

    /// Whether a state of a block reaches all goals itself, so that its edges say nothing.
    fn reaches_all(&self, reached: &[u64], state: usize, shape: &Shape) -> bool {
        let words = &reached[state * shape.goal_words()..][..shape.goal_words()];
        let has = |goal: u32| (words[goal as usize / 64] >> (goal % 64)) & 1 == 1;
        self.goals.iter().all(|&goal| has(goal))
    }

    /// Adds the candidates in `range`, which have one source, but for loops and repetitions.
    #[expect(clippy::too_many_arguments, reason = "all of it is of one buffer")]
    fn choose(
        &self,
        task: &Task,
        range: std::ops::Range<usize>,
        first: u64,
        map_of: &[u32],
        labels: &[Labelled],
        n_words: usize,
        chosen: &mut Chosen,
    ) {
        let keys = task.candidate_keys(self.context.keys);
        let key = |at: usize| &keys[at * n_words..][..n_words];
        let map = |at: usize| map_of.get(at).copied().unwrap_or(IDENTITY);
        let source = task.kernel.successors.source_of(range.start);
        let this = task.sources().get(source as usize);
        let is_loop = |at: usize| map(at) == IDENTITY && task.kernel.successors.state(at) == this;
        let Chosen {
            positions,
            keys: chosen_keys,
            values,
        } = chosen;
        positions.clear();
        positions.extend(range.filter(|&at| !is_loop(at)));
        if positions.len() > FEW_EDGES {
            positions.sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(map(a).cmp(&map(b))));
            positions.dedup_by(|a, b| key(*a) == key(*b) && map(*a) == map(*b));
        }
        for (number, &at) in positions.iter().enumerate() {
            let is_same = |&other: &usize| key(other) == key(at) && map(other) == map(at);
            if positions.len() <= FEW_EDGES && positions[..number].iter().any(is_same) {
                continue;
            }
            let mut push = |label: u64| {
                let edge = InEdge {
                    source: first + u64::from(source),
                    label,
                };
                chosen_keys.extend_from_slice(key(at));
                values.push(pack(edge, self.source_bits));
            };
            match &labels[map(at) as usize] {
                Labelled::Whole(label) => push(*label),
                Labelled::ByGoal(labels) => labels.iter().for_each(|&label| push(label)),
            }
        }
    }
}

/// Edges of a buffer that may matter.
#[derive(Default)]
struct Chosen {
    /// Of one source, in the buffer.
    positions: Vec<usize>,
    /// Keys of the targets, and sources with labels.
    keys: Vec<u64>,
    values: Vec<u64>,
}

impl Chosen {
    fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }
}

/// Replaces the successors of `task` by their representatives, and `map_of` by the number in `maps` of
/// each one's map; it stays empty if all maps are the identity.
fn canonicalise(
    task: &mut Task,
    worker: &mut Worker<'_>,
    shape: &Shape,
    maps: &mut Maps,
    map_of: &mut Vec<u32>,
) {
    let n_goals = shape.goals.len();
    // A model without variables has one state and no bytes to go over.
    let chunk_len = (MOST_IMAGES / n_goals.max(1)).max(1);
    let expander = &mut *worker.expander;
    let n = task.kernel.successors.len();
    let mut images = Vec::new();
    map_of.clear();
    for begin in (0..n).step_by(chunk_len) {
        let end = n.min(begin + chunk_len);
        let bytes = begin * shape.state_len..end * shape.state_len;
        let states = &mut task.kernel.successors.states_mut()[bytes];
        expander.canonicalise_with_goals(states, &mut images);
        if !images.is_empty() {
            map_of.resize(begin, IDENTITY);
            map_of.extend(images.chunks(n_goals).map(|images| maps.number_of(images)));
        }
    }
    if !map_of.is_empty() {
        map_of.resize(n, IDENTITY);
    }
    task.kernel.remarks.append(&mut expander.take_remarks());
}
