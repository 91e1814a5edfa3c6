//! `snapshots`: breadth-first search that remembers only some layers (BFSWS, the caching paper).
//!
//! Now and then all successors found in a layer are kept as a *snapshot*, whether they are new or
//! not; what is in no snapshot is taken for new. Snapshots go through a row of caches: the first
//! samples the layers, each next one samples what the one before gives up. The *frontier safety
//! net* is a cache of recent layers and one that samples less and less often; *pebble search* is a
//! row of equal caches to which another is added whenever the last is full.
//! The *backtracking set* keeps states that were probably visited twice: those with more than one
//! successor, all of which are in one snapshot that is not in the first cache, or all of which are
//! in the backtracking set.
//!
//! Within a layer no state comes twice. In the paper's listing `j + 1 mod n` means (j + 1) mod n,
//! and `Next` is layer i, not i + 1. Its `cn` stands for two different sampling functions, one of
//! which lost its bar in print; here it is `o`.
//!
//! Lemma 1 of the paper, that growing distances make a search with a bounded number of snapshots
//! end, is wrong: see the test with four states, where the snapshots alternate between two states,
//! each of which lets the search circle around the other. Nor does it follow that pebble search
//! ends: of the snapshots in its growing row every one but the first is given up in the end.
//! So, unless the bounded form is asked for, the snapshots of layers 0, 1, 2, 4, 8 and so on are
//! kept for ever. Each of these has a state that was in no snapshot before, as otherwise nothing
//! would be left to expand; and the states are finitely many. That always ends.
//!
//! The bounded form is stopped when it only repeats itself.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use hadal_model::Shape;
use hadal_report::units::{count, counted};
use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, Outcome, ProcessLimit, Reason, Sink, Stats, Strategy, Value};
use hadal_store::Parent;

use crate::breadth_first::{self, Forgets, Intake, Memory, Plan};
use crate::cache_spec::{CacheSpec, Policy, Sampling, SnapshotSetup};
use crate::configurable::{
    Budget, Configurable, Flag, Hint, Line, ParameterError, parse_bool, usual_hint, yes_or_no,
};
use crate::explorer;
use crate::figures::{Figures, MAY_REVISIT, Visits, push_revisits};
use crate::record_dir::RecordDir;
use crate::signature::Signatures;
use crate::tables::Random;

/// Only some layers are remembered, as a whole (BFSWS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// Which layers.
    pub setup: SnapshotSetup,
    /// Whether states are kept that were probably visited twice.
    pub backtracking: bool,
    /// The paper's form, which need not end; otherwise some snapshots are kept for ever.
    pub bounded: bool,
    /// Whether the distinct states are counted at the end.
    pub count_distinct: bool,
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots {
            setup: SnapshotSetup::FrontierSafetyNet,
            backtracking: true,
            bounded: false,
            count_distinct: true,
        }
    }
}

impl Strategy for Snapshots {
    fn name(&self) -> &'static str {
        "snapshots"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("setup", self.setup.to_string()),
            ("backtracking", yes_or_no(self.backtracking)),
            ("bounded", yes_or_no(self.bounded)),
        ]
    }

    fn remark(&self) -> Option<&'static str> {
        self.warning().or(Some(MAY_REVISIT))
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        self.search_for(run, None)
    }
}

impl Snapshots {
    fn search_for(&self, run: &Run<'_>, sink: Option<&mut dyn Sink>) -> Result<Outcome, Error> {
        let cache = |sampling, policy, size| CacheSpec {
            sampling,
            policy,
            size,
        };
        let recent = cache(Sampling::Constant(2), Policy::Llnr, 5);
        let growing = Sampling::Growing { first: 2, step: 2 };
        let (specs, more) = match &self.setup {
            SnapshotSetup::FrontierSafetyNet => {
                (vec![recent, cache(growing, Policy::Lfu, 10)], None)
            }
            SnapshotSetup::Pebble => (vec![recent], Some(recent)),
            SnapshotSetup::Caches(specs) => (specs.clone(), None),
        };
        let memory = HeldLayers {
            caches: specs.into_iter().map(Cache::new).collect(),
            more,
            backtracking: self.backtracking,
            bounded: self.bounded,
            key_len: Signatures::new(run).key_len(),
            budget_bytes: run.options.memory_bytes,
            process_limit: run.options.process_limit,
            held: HashMap::new(),
            next: HashMap::new(),
            snapshots: HashMap::new(),
            n_taken: 0,
            n_open: 0,
            backtrack: HashMap::new(),
            source: SourceFacts::default(),
            suspects: Vec::new(),
            visit: 0,
            depth: 0,
            random: Random::new(run.options.seed),
            has_forgotten: false,
            n_hits: 0,
            n_references: 0,
            max_held: 0,
        };
        let plan = Plan {
            queue_dir: RecordDir::in_memory(),
            dir: RecordDir::in_memory(),
            uncounted: RecordDir::new(run)?,
            segment_bytes: 1 << 16,
            forgets: match self.bounded {
                true => Forgets::ForEver,
                false => Forgets::AndEnds,
            },
            count_distinct: self.count_distinct,
        };
        breadth_first::search_for(run, plan, memory, sink)
    }
}

/// [`Snapshots`], whose graph a sink receives when every state was visited: every visit of a state is a
/// state of that graph, which is strongly bisimilar to that of the model, and larger.
struct SnapshotsGraph<'s> {
    snapshots: Snapshots,
    sink: Mutex<&'s mut dyn Sink>,
}

impl Strategy for SnapshotsGraph<'_> {
    fn name(&self) -> &'static str {
        self.snapshots.name()
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.snapshots.parameters()
    }

    fn remark(&self) -> Option<&'static str> {
        self.snapshots.remark()
    }

    fn least_bytes(&self, shape: &Shape, threads: usize) -> u64 {
        self.snapshots.least_bytes(shape, threads)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        self.snapshots.search_for(run, Some(&mut **sink))
    }
}

impl Configurable for Snapshots {
    fn about(&self) -> &'static str {
        "BFSWS: only some layers are kept"
    }

    fn flags(&self) -> &'static [Flag] {
        &[
            Flag {
                name: "caches",
                value_name: Some("SPEC"),
                values: &[],
                help: "which layers are kept, `frontier-safety-net`, `pebble` or a row of caches \
                       such as '(c2,llnr,5)(o2,lfu,10)'",
            },
            Flag {
                name: "bounded",
                value_name: None,
                values: &[],
                help: "the paper's form, which keeps no snapshot for ever and need not end",
            },
            Flag {
                name: "no-backtracking",
                value_name: None,
                values: &[],
                help: "do not keep states that were probably visited twice",
            },
        ]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "caches" => self.setup = SnapshotSetup::parse(value)?,
            "bounded" => self.bounded = parse_bool(value)?,
            "no-backtracking" => self.backtracking = !parse_bool(value)?,
            "count-distinct" => self.count_distinct = parse_bool(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        self.set("caches", variant)
    }

    fn with_sink<'s>(&self, sink: &'s mut dyn Sink) -> Option<Box<dyn Strategy + 's>> {
        Some(Box::new(SnapshotsGraph {
            snapshots: self.clone(),
            sink: Mutex::new(sink),
        }))
    }

    // It has no table to fill, and stops when all memory is used.
    fn budget(&self) -> Budget {
        Budget::TableAndQueue { one_in: 1 }
    }

    fn warning(&self) -> Option<&'static str> {
        self.bounded.then_some(
            "with a bounded number of snapshots the search need not end, whatever their \
             distances; it is stopped when it only repeats itself",
        )
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let held = counted(figures.count("states_held"), "state");
        let hits = count(figures.count("snapshots_hit"));
        let snapshots = counted(figures.count("snapshots_held"), "snapshot");
        figures.lines(vec![
            ("held", format!("at most {held}")),
            (
                "hits",
                format!("{hits} in snapshots, of which {snapshots} are left"),
            ),
        ])
    }

    fn hint(&self, reason: Reason) -> Option<Hint> {
        match reason {
            Reason::Revisits if self.bounded => Some(Hint::Unbounded),
            _ => usual_hint(reason),
        }
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

/// Memory that a state takes when it is in its first snapshot, beside its place in the table: its
/// list of snapshots, and its place in the snapshot.
const STATE_BYTES: u64 = 48;

type Key = Rc<[u8]>;
type SnapshotId = u32;

struct HeldLayers {
    caches: Vec<Cache>,
    /// What is added behind the last cache when that is full.
    more: Option<CacheSpec>,
    backtracking: bool,
    bounded: bool,
    key_len: usize,
    budget_bytes: u64,
    process_limit: Option<ProcessLimit>,
    /// The snapshots that each state is in.
    held: HashMap<Key, Held>,
    /// All successors in the layer that is being found.
    next: HashMap<Key, Found>,
    snapshots: HashMap<SnapshotId, Snapshot>,
    n_taken: SnapshotId,
    /// States of the layer that is being expanded.
    n_open: u64,
    /// With the number of a visit of each.
    backtrack: HashMap<Key, u64>,
    source: SourceFacts,
    /// States for the backtracking set with their visits, put there when the layer is at its end.
    suspects: Vec<(Vec<u8>, u64)>,
    /// That of the successor that was offered last.
    visit: u64,
    /// Depth of the layer that is being found.
    depth: u32,
    random: Random,
    /// Whether some layer is in no snapshot, or no longer.
    has_forgotten: bool,
    n_hits: u64,
    n_references: u64,
    max_held: u64,
}

/// A state in some snapshot. Numbers of visits are for graphs, and are not charged to the strategy.
struct Held {
    visit: u64,
    snapshots: Vec<SnapshotId>,
}

/// A successor in the layer that is being found.
struct Found {
    visit: u64,
    /// Whether it was admitted.
    is_new: bool,
}

struct Cache {
    spec: CacheSpec,
    ids: Vec<SnapshotId>,
    /// Snapshots still to be passed over, and the distance after that.
    n_to_skip: u32,
    distance: u32,
}

struct Snapshot {
    level: u32,
    states: Vec<Key>,
    hits: u64,
    last_hit: u32,
    /// Never released.
    is_permanent: bool,
    /// In the first cache.
    is_recent: bool,
}

/// What is known about the successors of the state that is being expanded.
#[derive(Debug, Default)]
struct SourceFacts {
    successors: HashSet<Key>,
    /// Old snapshots that have all of them.
    common: Vec<SnapshotId>,
    are_all_backtracked: bool,
}

impl Cache {
    fn new(spec: CacheSpec) -> Self {
        Cache {
            spec,
            ids: Vec::new(),
            n_to_skip: 0,
            distance: match spec.sampling {
                Sampling::Constant(distance) => distance,
                Sampling::Growing { first, .. } => first,
            },
        }
    }

    /// Whether it takes the snapshot that it is offered.
    fn accepts(&mut self) -> bool {
        if self.n_to_skip > 0 {
            self.n_to_skip -= 1;
            return false;
        }
        self.n_to_skip = self.distance.saturating_sub(1);
        if let Sampling::Growing { step, .. } = self.spec.sampling {
            self.distance = self.distance.saturating_add(step);
        }
        true
    }
}

impl HeldLayers {
    /// Takes a snapshot of the layer that was found, if a cache accepts it or it is permanent.
    fn take_snapshot(&mut self, layer: HashMap<Key, Found>) {
        let is_permanent = !self.bounded && (self.depth == 0 || self.depth.is_power_of_two());
        let is_cached = self.caches.first_mut().is_some_and(Cache::accepts);
        if !is_permanent && !is_cached {
            self.has_forgotten = true;
            return;
        }
        let id = self.n_taken;
        self.n_taken += 1;
        let mut states = Vec::with_capacity(layer.len());
        for (state, found) in layer {
            let held = self.held.entry(Rc::clone(&state)).or_insert(Held {
                visit: found.visit,
                snapshots: Vec::new(),
            });
            held.snapshots.push(id);
            states.push(state);
        }
        states.sort_unstable();
        self.n_references += states.len() as u64;
        let snapshot = Snapshot {
            level: self.depth,
            states,
            hits: 0,
            last_hit: self.depth,
            is_permanent,
            is_recent: is_cached,
        };
        self.snapshots.insert(id, snapshot);
        if is_cached {
            self.caches[0].ids.push(id);
            self.pass_on();
        }
    }

    /// Has full caches give up snapshots to the next ones.
    fn pass_on(&mut self) {
        let mut at = 0;
        while at < self.caches.len()
            && self.caches[at].ids.len() > self.caches[at].spec.size as usize
        {
            let victim = self.victim(at);
            let id = self.caches[at].ids.remove(victim);
            if let (Some(spec), true) = (self.more, at + 1 == self.caches.len()) {
                self.caches.push(Cache::new(spec));
            }
            let is_taken = self.caches.get_mut(at + 1).is_some_and(Cache::accepts);
            let snapshot = self.snapshots.get_mut(&id).expect("a cached snapshot");
            snapshot.is_recent = false;
            if is_taken {
                self.caches[at + 1].ids.push(id);
                at += 1;
            } else {
                self.release(id);
                return;
            }
        }
    }

    /// Which of its snapshots a cache gives up.
    fn victim(&mut self, cache: usize) -> usize {
        let Cache { spec, ids, .. } = &self.caches[cache];
        let of = |id: &SnapshotId| &self.snapshots[id];
        let least = |cost: &dyn Fn(&Snapshot) -> i64| {
            let costs = ids.iter().map(|id| (cost(of(id)), of(id).level));
            let least = costs.enumerate().min_by_key(|&(_, cost)| cost);
            least.map_or(0, |(at, _)| at)
        };
        match spec.policy {
            Policy::Llnr => least(&|snapshot| i64::from(snapshot.level)),
            Policy::Lru => least(&|snapshot| i64::from(snapshot.last_hit)),
            Policy::Mru => least(&|snapshot| -i64::from(snapshot.last_hit)),
            Policy::Lfu => least(&|snapshot| snapshot.hits as i64),
            Policy::Mfu => least(&|snapshot| -(snapshot.hits as i64)),
            Policy::Rnd => self.random.below(ids.len()),
        }
    }

    /// Forgets a snapshot that no cache has, unless it is to be kept.
    fn release(&mut self, id: SnapshotId) {
        if self.snapshots[&id].is_permanent {
            return;
        }
        self.has_forgotten = true;
        let snapshot = self.snapshots.remove(&id).expect("it was there");
        self.n_references -= snapshot.states.len() as u64;
        for state in snapshot.states {
            let held = self.held.get_mut(&state).expect("it is in this snapshot");
            let ids = &mut held.snapshots;
            ids.retain(|&other| other != id);
            if ids.is_empty() {
                self.held.remove(&state);
            }
        }
    }

    /// Notes, for the backtracking set, where a successor is.
    fn note_successor(&mut self, key: &Key) {
        let is_first = self.source.successors.is_empty();
        if !self.source.successors.insert(Rc::clone(key)) {
            return;
        }
        let is_backtracked = self.backtrack.contains_key(key);
        let ids = self.held.get(key).map_or(&[][..], |held| &held.snapshots);
        if is_first {
            let is_old = |id: &&SnapshotId| !self.snapshots[*id].is_recent;
            self.source.common.extend(ids.iter().filter(is_old));
            self.source.are_all_backtracked = is_backtracked;
        } else {
            self.source.common.retain(|id| ids.contains(id));
            self.source.are_all_backtracked &= is_backtracked;
        }
    }

    /// Whether the process may hold this much more. Tables are copied when they grow, which cannot
    /// be interrupted, so it is asked before.
    fn has_room_for(&self, bytes: u64) -> bool {
        let fits = |limit: ProcessLimit| (limit.held_bytes)() + bytes <= limit.most_bytes;
        bytes == 0 || self.process_limit.is_none_or(fits)
    }

    /// States held: in snapshots, in the two layers, and in the backtracking set.
    fn n_held(&self) -> u64 {
        let n = self.held.len() + self.next.len() + self.backtrack.len();
        n as u64 + self.n_open
    }
}

/// Memory of the table that takes the place of one with room for `capacity` entries when it is to
/// hold `n_entries`, 0 where these fit: both tables exist while entries move. A table has a power of
/// two of places, with a byte beside each, and uses 7 in 8 of them.
fn growth_bytes<T>(capacity: usize, n_entries: usize) -> u64 {
    if n_entries <= capacity {
        return 0;
    }
    let n_places = (n_entries * 8 / 7 + 1).next_power_of_two();
    n_places as u64 * (size_of::<T>() as u64 + 1)
}

impl Memory for HeldLayers {
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt> {
        let key = intake.signatures.key(state);
        let known = self.next.get_key_value(key);
        if let Some((key, visit)) = known.map(|(key, found)| (Rc::clone(key), found.visit)) {
            self.visit = visit;
            if self.backtracking {
                self.note_successor(&key);
            }
            return Ok(());
        }
        let held = self.held.get_key_value(key);
        let shared = held.map(|(key, _)| Rc::clone(key));
        let key = shared.unwrap_or_else(|| Key::from(key));
        let mut known = self.backtrack.get(&key).copied();
        if let Some(held) = self.held.get(&key) {
            known = Some(held.visit);
            self.n_hits += 1;
            for id in &held.snapshots {
                let snapshot = self.snapshots.get_mut(id).expect("it holds this state");
                snapshot.hits += 1;
                snapshot.last_hit = self.depth;
            }
        }
        if self.backtracking {
            self.note_successor(&key);
        }
        let n_next = self.next.len() + 1;
        if !self.has_room_for(growth_bytes::<(Key, Found)>(self.next.capacity(), n_next)) {
            return Err(Halt::Stop(Reason::Memory));
        }
        let is_new = known.is_none();
        self.visit = known.unwrap_or(intake.n_admitted);
        let visit = self.visit;
        self.next.insert(key, Found { visit, is_new });
        if is_new {
            intake.admit(state, parent)?;
        }
        match self.data_bytes() + intake.queue.total_bytes() <= self.budget_bytes {
            true => Ok(()),
            false => Err(Halt::Stop(Reason::Memory)),
        }
    }

    fn visit(&self) -> Option<u64> {
        Some(self.visit)
    }

    fn expanded(&mut self, visit: u64, state: &[u8]) {
        if !self.backtracking {
            return;
        }
        let source = &mut self.source;
        let is_suspect = source.successors.len() > 1
            && (!source.common.is_empty() || source.are_all_backtracked);
        source.successors.clear();
        source.common.clear();
        if is_suspect {
            self.suspects.push((state.to_vec(), visit));
        }
    }

    fn end_layer(&mut self, depth: u32, intake: &mut Intake<'_>) -> Result<(), Halt> {
        self.max_held = self.max_held.max(self.n_held());
        // A layer may be larger than all before it, and a snapshot of it is taken at once.
        let n_held = self.held.len() + self.next.len();
        let n_backtrack = self.backtrack.len() + self.suspects.len();
        let needed = self.next.len() as u64 * STATE_BYTES
            + growth_bytes::<(Key, Held)>(self.held.capacity(), n_held)
            + growth_bytes::<(Key, u64)>(self.backtrack.capacity(), n_backtrack);
        if !self.has_room_for(needed) {
            return Err(Halt::Stop(Reason::Memory));
        }
        for (state, visit) in std::mem::take(&mut self.suspects) {
            let key = Key::from(intake.signatures.key(&state));
            self.backtrack.insert(key, visit);
        }
        let next = std::mem::take(&mut self.next);
        self.n_open = next.values().filter(|found| found.is_new).count() as u64;
        self.take_snapshot(next);
        self.depth = depth + 1;
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        // A reference from each snapshot to each of its states.
        self.n_held() * self.key_len as u64 + self.n_references * 8
    }

    fn forgot(&self) -> bool {
        self.has_forgotten
    }

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        stats.push("states_held", Value::Count(self.max_held));
        if let Some(distinct) = visits.distinct {
            stats.push("redundant", Value::Count(visits.admitted - distinct));
        }
        push_revisits(visits, stats);
        stats.push("snapshots_hit", Value::Count(self.n_hits));
        stats.push("snapshots_taken", Value::Count(u64::from(self.n_taken)));
        stats.push("snapshots_held", Value::Count(self.snapshots.len() as u64));
        stats.push("caches", Value::Count(self.caches.len() as u64));
        stats.push("backtrack", Value::Count(self.backtrack.len() as u64));
        stats.push("all_visited", Value::Count(u64::from(visits.all_visited)));
    }
}
