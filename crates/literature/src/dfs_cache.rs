//! `dfs-cache`: depth-first search with a row of caches of states (the caching paper, section 4.2).
//!
//! A state that is visited goes into the first cache; what a full cache gives up goes into the next
//! one, and what the last gives up is forgotten. A successor that is in some cache, or on the stack,
//! is not visited. No path goes through a state twice, so the search ends; but without enough room
//! it visits the same states again and again, which can take far longer than anybody has: a row of
//! n diamonds has 2^n paths. So it is stopped when hardly anything new turns up (see
//! [`look_for_repeats`](Search::look_for_repeats)). The paper asks for the least room with which no
//! more than twice the states are visited; `most_visited` stops a run that is beyond that.
//!
//! The caches' room is the budget; the stack is extra, and has the successors of each state on it.
//! States are not visited in the order of their depth, so a trace need not be the shortest.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Instant;

use hadal_model::{PAD_BYTES, Shape, States};
use hadal_report::units::count;
use hadal_search::strategy::{End, Ended, Halt, Run, Totals, Usage};
use hadal_search::{DiskUse, Duplicates, Error, Outcome, Reason, Seconds, Stats, Strategy, Value};
use hadal_store::Parent;

use crate::cache_spec::{Policy, StateCacheSpec};
use crate::configurable::{
    Budget, Configurable, Flag, Line, ParameterError, parse_bool, parse_number,
};
use crate::distinct;
use crate::evaluator::Evaluator;
use crate::explorer::{self, Explorer};
use crate::figures::{Figures, Visits, push_revisits};
use crate::parent_index::{ExploredStates, NO_PARENT, ParentIndex};
use crate::record_dir::RecordDir;
use crate::records::Records;
use crate::signature::Signatures;
use crate::tables::Random;

/// States visited before distinct ones are first counted.
const FIRST_COUNT: u64 = 1 << 11;
/// Visits to a state, on average, that are no reason to give up: also a search that comes to its
/// end may go through what it knows for long before it finds something new.
const OFTEN: u64 = 10;
/// After that, one visit in this many must be to a new state.
const NEW_IN: u64 = 100;
/// What a cached state takes beside its key: two entries in trees and tables.
const ENTRY_BYTES: u64 = 40;

/// Depth-first, with caches of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DfsCache {
    /// The caches, each of which takes what the one before gives up.
    pub caches: Vec<StateCacheSpec>,
    /// States that all caches hold together; `None` follows from the budget.
    pub states: Option<u64>,
    /// The search stops after this many expansions.
    pub most_visited: Option<u64>,
    /// Whether the distinct states are counted at the end.
    pub count_distinct: bool,
}

impl Default for DfsCache {
    fn default() -> Self {
        DfsCache {
            caches: StateCacheSpec::usual(),
            states: None,
            most_visited: None,
            count_distinct: true,
        }
    }
}

impl Strategy for DfsCache {
    fn name(&self) -> &'static str {
        "dfs-cache"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let caches = self.caches.iter().map(ToString::to_string);
        vec![("caches_used", caches.collect())]
    }

    fn remark(&self) -> Option<&'static str> {
        Some(
            "may visit states again, has to stop when it finds next to nothing else, and does not \
             find the shortest trace",
        )
    }

    fn is_by_depth(&self) -> bool {
        false
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        run.refuse_bound(self.name())?;
        let signatures = Signatures::new(run);
        let entry_bytes = signatures.key_len() as u64 + ENTRY_BYTES;
        let budget_bytes = run.options.memory_bytes;
        let n_states = self.states.unwrap_or(budget_bytes / entry_bytes);
        let uncounted = RecordDir::new(run)?;
        let ledger = uncounted.records(signatures.key_len())?;
        let mut search = Search {
            parameters: self,
            explorer: Explorer::new(run),
            evaluator: Evaluator::new(run),
            parents: ParentIndex::new(&uncounted)?,
            ledger,
            caches: Cascade::new(&self.caches, n_states, run.options.seed),
            entry_bytes,
            signatures,
            stack: Vec::new(),
            on_stack: HashSet::new(),
            n_visited: 0,
            n_known: 0,
            n_cycles: 0,
            max_stack: 0,
            peak_bytes: 0,
            next_count: FIRST_COUNT,
            last_count: 0,
            counting: 0.0,
            run,
        };
        let end = match search.search() {
            Ok(()) => End::Exhausted,
            Err(Halt::Enough) => End::Violated(search.found()),
            Err(Halt::Stop(reason)) => End::Stopped(reason),
            Err(Halt::Failed(error)) => return Err(error),
        };
        search.report(end, n_states)
    }
}

impl Configurable for DfsCache {
    fn about(&self) -> &'static str {
        "Depth-first, with caches of states"
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: "caches",
            value_name: Some("SPEC"),
            values: &[],
            help: "caches of states with their shares in percent, such as '(mfu,25)(lru,75)'",
        }]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "caches" => self.caches = StateCacheSpec::parse_all(value)?,
            "states" => self.states = Some(parse_number(value)?),
            "most-visited" => self.most_visited = Some(parse_number(value)?),
            "count-distinct" => self.count_distinct = parse_bool(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        self.set("caches", variant)
    }

    // An entry of its caches takes several times what the paper counts.
    fn budget(&self) -> Budget {
        Budget::TableAndQueue { one_in: 8 }
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let [cache, forgotten, stack] =
            ["cache_states", "forgotten", "stack_max"].map(|name| count(figures.count(name)));
        let text = format!("room for {cache} states, {forgotten} forgotten");
        figures.lines(vec![
            ("caches", text),
            ("stack", format!("at most {stack} states")),
        ])
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

struct Search<'a> {
    run: &'a Run<'a>,
    parameters: &'a DfsCache,
    explorer: Explorer<'a>,
    evaluator: Evaluator<'a>,
    parents: ParentIndex,
    /// Keys of all states visited, for counting the different ones.
    ledger: Records,
    caches: Cascade,
    entry_bytes: u64,
    signatures: Signatures,
    stack: Vec<Frame>,
    on_stack: HashSet<Vec<u8>>,
    n_visited: u64,
    n_known: u64,
    n_cycles: u64,
    max_stack: usize,
    peak_bytes: u64,
    /// When different states are to be counted next, by the number of those visited.
    next_count: u64,
    /// Different states at the last count.
    last_count: u64,
    /// Time spent on counting before the end; it is part of that of the search.
    counting: f64,
}

/// A state on the stack, and where it leads. The first frame stands for nothing and leads to the
/// startstates.
struct Frame {
    ordinal: u64,
    key: Vec<u8>,
    states: Vec<u8>,
    indices: Vec<u32>,
    /// Successors that have been looked up.
    n_done: usize,
}

impl Search<'_> {
    fn search(&mut self) -> Result<(), Halt> {
        let starts = self.expand(NO_PARENT, Vec::new(), None)?;
        self.evaluator.add_starts(&self.explorer, 0)?;
        self.stack.push(starts);
        self.evaluator.accept()?;
        while let Some(frame) = self.stack.last_mut() {
            let at = frame.n_done;
            let Some(&index) = frame.indices.get(at) else {
                if let Some(frame) = self.stack.pop() {
                    self.on_stack.remove(&frame.key);
                }
                continue;
            };
            frame.n_done += 1;
            let parent = Parent {
                ordinal: frame.ordinal,
                index,
            };
            let state_len = self.run.shape.state_len;
            let state = frame.states[at * state_len..][..state_len].to_vec();
            self.look_at(state, parent)?;
        }
        Ok(())
    }

    /// Visits a successor that is neither on the stack nor in a cache.
    fn look_at(&mut self, mut state: Vec<u8>, parent: Parent) -> Result<(), Halt> {
        let key = self.signatures.key(&state).to_vec();
        if self.on_stack.contains(&key) {
            self.n_cycles += 1;
            return Ok(());
        }
        if self.caches.touch(&key) {
            self.n_known += 1;
            return Ok(());
        }
        let most_visited = self.parameters.most_visited;
        if most_visited.is_some_and(|most| self.n_visited >= most) {
            return Err(Halt::Stop(Reason::Revisits));
        }
        self.look_for_repeats()?;
        let ordinal = self.n_visited;
        self.n_visited += 1;
        self.parents.push(parent)?;
        self.ledger.push(&key)?;
        self.evaluator.add(&state, 0)?;
        self.evaluator.evaluate_pending(0)?;
        self.evaluator.findings.begin_rank();
        self.caches.insert(key.clone());
        state.resize(state.len() + PAD_BYTES, 0);
        let frame = self.expand(ordinal, key.clone(), Some(&state))?;
        let source = &self.explorer.successors().sources()[0];
        self.evaluator.findings.add_source(ordinal, 0, source);
        self.evaluator.accept()?;
        self.on_stack.insert(key);
        self.stack.push(frame);
        self.max_stack = self.max_stack.max(self.stack.len());
        let bytes = self.caches.n_states as u64 * self.entry_bytes;
        self.peak_bytes = self.peak_bytes.max(bytes);
        if self.n_visited.is_multiple_of(1024) {
            let depth = self.stack.len() as u32;
            self.run.begin_rank(depth, 1);
            self.run.note_states(self.n_visited, bytes, 0);
        }
        Ok(())
    }

    /// Ends a search that hardly does anything but repeat itself: that is so when each state was
    /// visited [`OFTEN`] times on average, and since the number of visits was half of what it is,
    /// fewer than one in [`NEW_IN`] was the first to its state. Until then each doubling has brought
    /// that many new states, so there are no more than 4 * `NEW_IN` visits for each state when it
    /// ends. That everything was visited does not follow.
    fn look_for_repeats(&mut self) -> Result<(), Halt> {
        let n = self.n_visited;
        if n < self.next_count {
            return Ok(());
        }
        self.next_count = 2 * n;
        if self.caches.n_forgotten == 0 {
            self.last_count = n;
            return Ok(());
        }
        let since = Instant::now();
        let run = self.run;
        let distinct = distinct::count_within(run, &mut self.ledger, n, &|| run.check_stop())?;
        self.counting += since.elapsed().as_secs_f64();
        // Without room for counting the search continues until something else ends it.
        let Some(distinct) = distinct else {
            return Ok(());
        };
        let n_new = distinct - self.last_count;
        self.last_count = distinct;
        match n >= OFTEN * distinct && n_new < n / 2 / NEW_IN {
            true => Err(Halt::Stop(Reason::Revisits)),
            false => Ok(()),
        }
    }

    /// All successors of a state, which is followed by padding; of the startstate, if there is none.
    fn expand(&mut self, ordinal: u64, key: Vec<u8>, state: Option<&[u8]>) -> Result<Frame, Halt> {
        let mut frame = Frame {
            ordinal,
            key,
            states: Vec::new(),
            indices: Vec::new(),
            n_done: 0,
        };
        let block = state.map(|state| States::new(state, self.run.shape.state_len, 1));
        self.explorer.begin(1);
        while self.explorer.fill(block)? {
            let successors = self.explorer.successors();
            for at in 0..successors.len() {
                frame.states.extend_from_slice(successors.state(at));
                frame.indices.push(successors.index(at));
            }
        }
        Ok(frame)
    }

    fn found(&self) -> Totals {
        let duplicates = Duplicates {
            memory: self.n_known + self.n_cycles,
            ..Duplicates::default()
        };
        explorer::totals(&self.explorer, &self.evaluator, duplicates)
    }

    fn report(mut self, end: End, n_states: u64) -> Result<Outcome, Error> {
        let seconds = self.run.seconds();
        let totals = self.found();
        let forgot = self.caches.n_forgotten > 0;
        let distinct = match forgot {
            false => Some(self.n_visited),
            true if !self.parameters.count_distinct => None,
            true => distinct::count_at_end(self.run, &end, &mut self.ledger, self.n_visited)?,
        };
        let mut stats = Stats::default();
        let visits = Visits {
            admitted: self.n_visited,
            distinct,
            all_visited: matches!(end, End::Exhausted),
            max_queue: 0,
            state_len: self.run.shape.state_len,
        };
        push_revisits(&visits, &mut stats);
        stats.push("cache_states", Value::Count(n_states));
        stats.push("cache_hits", Value::Count(self.n_known));
        stats.push("forgotten", Value::Count(self.caches.n_forgotten));
        stats.push("cycles", Value::Count(self.n_cycles));
        stats.push("stack_max", Value::Count(self.max_stack as u64));
        stats.push("all_visited", Value::Count(u64::from(visits.all_visited)));
        let depth = self.max_stack.saturating_sub(2) as u32;
        let omission = self
            .signatures
            .push_omission(self.n_visited, depth, &mut stats);
        stats.push("shortest_trace", Value::Count(0));
        stats.push("seconds_generation", Value::Seconds(self.explorer.seconds));
        stats.push("seconds_judging", Value::Seconds(self.evaluator.seconds));
        let others = seconds - self.explorer.seconds - self.evaluator.seconds - self.counting;
        stats.push("seconds_insertion", Value::Seconds(others.max(0.0)));
        stats.push("seconds_counting", Value::Seconds(self.counting));
        let ended = Ended {
            end,
            totals,
            findings: self.evaluator.findings,
            states: distinct.unwrap_or(self.n_visited),
            states_exact: !forgot,
            depth,
            layers: Vec::new(),
            omission,
            remarks: self.explorer.remarks(),
            stats,
        };
        let usage = Usage {
            data_bytes: self.peak_bytes,
            disk: DiskUse::default(),
            seconds: Seconds {
                search: seconds,
                expand: self.explorer.seconds,
                insert: others.max(0.0),
                check: self.evaluator.seconds,
                ..Seconds::default()
            },
        };
        let parents = self.parents;
        (self.run).conclude(ended, &mut ExploredStates { parents, usage })
    }
}

/// Caches, each of which takes what the one before gives up.
struct Cascade {
    caches: Vec<StateCache>,
    n_states: usize,
    /// States that the last cache gave up.
    n_forgotten: u64,
    tick: u64,
    random: Random,
}

struct StateCache {
    policy: Policy,
    size: usize,
    entries: HashMap<Vec<u8>, Entry>,
    /// Cost and time of insertion of each state; the least goes first.
    order: BTreeSet<(i64, u64, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    cost: i64,
    hits: u64,
    since: u64,
}

impl Cascade {
    fn new(specs: &[StateCacheSpec], n_states: u64, seed: u64) -> Self {
        let size = |percent: u32| (u128::from(n_states) * u128::from(percent) / 100) as usize;
        let cache = |spec: &StateCacheSpec| StateCache {
            policy: spec.policy,
            size: size(spec.percent),
            entries: HashMap::new(),
            order: BTreeSet::new(),
        };
        Cascade {
            caches: specs.iter().map(cache).collect(),
            n_states: 0,
            n_forgotten: 0,
            tick: 0,
            random: Random::new(seed),
        }
    }

    /// Whether some cache has the state, which is used by that.
    fn touch(&mut self, key: &[u8]) -> bool {
        self.tick += 1;
        for cache in &mut self.caches {
            if let Some(entry) = cache.entries.get_mut(key) {
                let place = (entry.cost, entry.since, key.to_vec());
                cache.order.remove(&place);
                entry.hits += 1;
                entry.cost = cost(cache.policy, entry.hits, self.tick, entry.cost);
                cache.order.insert((entry.cost, place.1, place.2));
                return true;
            }
        }
        false
    }

    /// Puts a state that is in no cache into the first one.
    fn insert(&mut self, key: Vec<u8>) {
        self.tick += 1;
        self.n_states += 1;
        let mut going = Some((key, 0));
        for cache in &mut self.caches {
            let Some((key, hits)) = going.take() else {
                return;
            };
            let random = (self.random.next() >> 1) as i64;
            let entry = Entry {
                cost: cost(cache.policy, hits, self.tick, random),
                hits,
                since: self.tick,
            };
            cache.order.insert((entry.cost, entry.since, key.clone()));
            cache.entries.insert(key, entry);
            if cache.entries.len() > cache.size
                && let Some((_, _, key)) = cache.order.pop_first()
            {
                let entry = cache.entries.remove(&key);
                going = Some((key, entry.map_or(0, |entry| entry.hits)));
            }
        }
        if going.is_some() {
            self.n_states -= 1;
            self.n_forgotten += 1;
        }
    }
}

/// What it costs to give a state up; a random cost stays what it is.
fn cost(policy: Policy, hits: u64, tick: u64, random: i64) -> i64 {
    match policy {
        Policy::Lru | Policy::Llnr => tick as i64,
        Policy::Mru => -(tick as i64),
        Policy::Lfu => hits as i64,
        Policy::Mfu => -(hits as i64),
        Policy::Rnd => random,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cascade, Policy, StateCacheSpec};

    fn left(policy: Policy) -> Vec<u8> {
        let spec = StateCacheSpec {
            policy,
            percent: 100,
        };
        let mut caches = Cascade::new(&[spec], 3, 1);
        for state in [1, 2, 3] {
            caches.insert(vec![state]);
        }
        // 1 is used most often, 2 was used last, 3 never.
        for state in [1, 1, 2] {
            assert!(caches.touch(&[state]));
        }
        caches.insert(vec![4]);
        assert_eq!((caches.n_states, caches.n_forgotten), (3, 1));
        (1..=4).filter(|&state| caches.touch(&[state])).collect()
    }

    #[test]
    fn each_policy_gives_up_its_own() {
        assert_eq!(left(Policy::Lru), [1, 2, 4]);
        // The newest is the one used last, and goes at once; so does one that was never used.
        assert_eq!(left(Policy::Mru), [1, 2, 3]);
        assert_eq!(left(Policy::Lfu), [1, 2, 4]);
        assert_eq!(left(Policy::Mfu), [2, 3, 4]);
        assert_eq!(left(Policy::Rnd).len(), 3);
    }

    #[test]
    fn what_one_cache_gives_up_goes_into_the_next() {
        let caches = StateCacheSpec::parse_all("(lru,50)(lru,50)").expect("it is right");
        let mut caches = Cascade::new(&caches, 4, 1);
        for state in 1..=6u8 {
            caches.insert(vec![state]);
        }
        assert_eq!((caches.n_states, caches.n_forgotten), (4, 2));
        assert!(!caches.touch(&[2]) && caches.touch(&[3]) && caches.touch(&[6]));
    }
}
