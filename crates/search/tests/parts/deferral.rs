//! Deferral alone: external storage on a disk in memory, driven rank by rank. What is rolled back
//! leaves no trace, and what is committed is what a plain loop finds.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hadal_model::{Model, Stop};
use hadal_store::Parent;
use hadal_store::codec::Headroom;
use hadal_store::run::{Batch, KeyRange, Sorted, Union};
use hadal_store::tiers::Views;
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Graph, deep_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::budget::{Budget, Held, Shares};
use crate::external::{RunMonitor, SurvivorBatch};
use crate::fixture::{Reachable, folder_on, keys_for, pool_for};
use crate::pool::Pool;
use crate::progress::Gauge;
use crate::rank::Rank;
use crate::window::{BlockSource, Room, Window};
use crate::{Options, Seconds, StoreKind};

/// A search by depth with external storage from the first state on.
struct Search<'a, 'm> {
    external: External<'a>,
    states: StateLog,
    tally: Tally<'a>,
    window: Window<'a>,
    pool: &'a Pool<'m>,
    stop: &'a Stop,
}

/// All that a roll back restores.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    n_states: u64,
    /// The states to be expanded next, as they are read from the log.
    frontier: Vec<Vec<u8>>,
    parents: Vec<Parent>,
    /// The states whose keys are in runs, in their order.
    in_runs: Vec<Vec<u8>>,
    n_keys: u64,
    n_candidates: u64,
    /// What a checkpoint would save of the tally.
    tally: String,
}

impl Search<'_, '_> {
    /// Expands the frontier, or the startstates, up to `n_windows` windows of it.
    fn expand(&mut self, n_windows: usize) {
        let disk = self.external.disk;
        let mut source = match self.tally.layers.is_empty() {
            true => BlockSource::Starts,
            false => BlockSource::States(self.tally.frontier.clone()),
        };
        let room = Room {
            bytes: u64::MAX,
            is_one_free: true,
        };
        for _ in 0..n_windows {
            let (log, n_threads) = (&mut self.states.records, self.pool.n_threads());
            (self.window.fill(&mut source, log, n_threads, room)).expect("the disk works");
            if self.window.is_empty() {
                return;
            }
            self.window.expand(self.pool, None);
            assert!(self.window.is_intact(), "the log has the frontier");
            while self.window.has_outgrown() {
                let recoder = disk.keys.widen(Headroom::Ordered);
                self.external.widen(recoder).expect("the disk works");
                self.window.encode_again(self.pool);
            }
            let ready = self.window.ready();
            (self.external.admit(ready, self.pool)).expect("the disk works");
            for task in self.window.ready().iter().filter(|task| !task.is_full()) {
                self.tally.totals.add_sources(task);
            }
            self.window.retire_ready();
            if let Some(first) = self.window.first_needed(&source) {
                let retired = self.external.retire_before(first, &mut self.states);
                retired.expect("the disk works");
                self.external.merge_runs(first).expect("the disk works");
            }
        }
    }

    /// Expands the frontier and begins the next rank; false if there is none.
    fn next_rank(&mut self) -> bool {
        self.expand(usize::MAX);
        let first = self.states.len();
        let resolved = self.external.resolve(
            &mut self.states,
            None,
            self.pool,
            &mut Seconds::default(),
            &mut self.tally.totals.duplicates,
            &mut |_, _| Ok(()),
        );
        assert_eq!(resolved.expect("the disk works").0, None);
        let found = first..self.states.len();
        if found.is_empty() {
            self.tally.frontier = found;
            return false;
        }
        let rank = Rank(self.tally.layers.len() as u64);
        self.tally.findings.end_rank();
        self.tally.begin_rank(rank, found, &[]);
        true
    }

    fn next_ranks(&mut self, n: usize) -> usize {
        (0..n).take_while(|_| self.next_rank()).count()
    }

    /// Skips old runs, if there are any.
    fn defer(&mut self) -> bool {
        (self.external.defer(&self.tally, &self.states, 1)).expect("the disk works");
        self.external.deferral.is_pending()
    }

    fn commit(&mut self) -> bool {
        (self.external.commit_deferred(&mut self.states)).expect("the disk works")
    }

    fn roll_back(&mut self) {
        self.window.clear();
        (self.external.roll_back(&mut self.tally, &mut self.states)).expect("the disk works");
        assert!(!self.external.deferral.is_pending());
    }

    /// Ranks found since old runs are skipped.
    fn n_pending_ranks(&self) -> u64 {
        let pending = self.external.deferral.pending.as_ref();
        pending.map_or(0, |pending| u64::from(pending.n_ranks))
    }

    /// The states that the late look-up has found in skipped runs, if they are listed.
    fn hits(&self) -> Vec<Vec<u8>> {
        let pending = self.external.deferral.pending.as_ref();
        let pending = pending.expect("there are hits only before a roll back");
        assert!(pending.hits.n_keys > 0);
        self.states_of(&pending.hits.keys)
    }

    /// The states of keys in the newest layout.
    fn states_of(&self, keys: &[u64]) -> Vec<Vec<u8>> {
        let DiskContext {
            shape, keys: space, ..
        } = self.external.disk;
        let (newest, mut bytes) = (space.codec.newest(), Vec::new());
        space.codec.decode(newest.version, keys, &mut bytes);
        split(&bytes, shape.state_len)
    }

    fn snapshot(&mut self) -> Snapshot {
        let External {
            disk,
            tiers,
            candidates,
            ..
        } = &self.external;
        let frontier = &self.tally.frontier;
        let n = (frontier.end - frontier.start) as usize;
        let slices = self.states.records.read(frontier.start, n);
        let mut bytes = Vec::new();
        for slice in slices.expect("the log has the frontier") {
            let decoded = disk.keys.decode(&slice, &mut Vec::new(), &mut bytes);
            decoded.expect("records are what was written");
        }
        let mut finder = self.states.parents.finder();
        let parent = |ordinal| (finder.get(ordinal).ok().flatten()).expect("every state has one");
        let parents = (0..self.states.parents.len()).map(parent).collect();

        let n_words = disk.keys.codec.newest().n_words;
        let views = Views::new(tiers.segments(), disk.keys.layouts());
        let runs: Vec<_> = tiers.segments().map(|run| views.of(run)).collect();
        let mut union = Union::new(n_words, &runs, KeyRange::ALL);
        let (mut batch, mut keys) = (Batch::default(), Vec::new());
        while union.next_batch(&mut batch).expect("the disk works") {
            keys.extend_from_slice(&batch.keys);
        }
        let mut in_runs = self.states_of(&keys);
        // The layout of keys may change, and their order with it.
        in_runs.sort();

        let Tally {
            rank,
            frontier,
            layers,
            ranks: _,
            reopened: _,
            totals,
            before,
            findings,
        } = &self.tally;
        let tally = (rank, frontier, layers, totals, before, findings.save());
        Snapshot {
            n_states: self.states.len(),
            frontier: split(&bytes, disk.shape.state_len),
            parents,
            in_runs,
            n_keys: tiers.n_keys(),
            n_candidates: candidates.len(),
            tally: serde_json::to_string(&tally).expect("numbers and names become text"),
        }
    }

    /// Runs to the end, and compares everything with what a plain loop finds.
    fn finish(&mut self, graph: &Graph) {
        self.next_ranks(usize::MAX);
        let reachable = Reachable::of(graph);
        let Snapshot {
            parents,
            in_runs,
            n_keys,
            ..
        } = self.snapshot();
        assert_eq!(parents, reachable.parents);
        assert_eq!(self.tally.layers, reachable.layers);
        let mut states = reachable.states;
        assert_eq!(n_keys, states.len() as u64, "every key is in one run");
        states.sort();
        assert_eq!(in_runs, states);
        assert_eq!(self.external.tiers.n_skipped_keys(), 0);
    }
}

/// The states that lie in `bytes`.
fn split(bytes: &[u8], state_len: usize) -> Vec<Vec<u8>> {
    bytes.chunks_exact(state_len).map(<[u8]>::to_vec).collect()
}

/// Calls `test` with searches of random deep graphs, after some ranks; returns the results.
fn for_each_search<T: Send>(
    seeds: std::ops::Range<u64>,
    test: impl Fn(&mut Search<'_, '_>, &Graph, &mut Pcg64Mcg) -> T + Sync,
) -> Vec<T> {
    let run = |seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let n_threads = rng.random_range(1..4);
        let options = Options {
            threads: n_threads,
            buffer_len: Some([3, 20][rng.random_range(0..2)]),
            block_len: 4,
            window_blocks: 3,
            ..Options::default()
        };
        let (shape, stop, gauge) = (graph.shape(), Stop::new(), Gauge::new());
        let folder = folder_on(&Arc::new(CrashDisk::new()));
        let keys = keys_for(&graph, StoreKind::Exact);
        let monitor = RunMonitor {
            stop: &stop,
            gauge: &gauge,
        };
        let disk = DiskContext {
            shape,
            folder: &folder,
            keys: &keys,
            n_threads,
            durable: rng.random_range(0..2) == 0,
            keeps_log: false,
            shares: Shares::of([0, 2_000, 20_000, 200_000][rng.random_range(0..4)]),
            monitor: &monitor,
        };
        let pool = pool_for(&graph, &stop, &keys, n_threads);
        pool.run(|| {
            let batches = (0..4).map(|_| SurvivorBatch::new(shape)).collect();
            let mut states = StateLog::default();
            let set = fresh_set(&keys);
            let external = External::new(set, Tiers::default(), &mut states, batches, disk);
            let sizes = Budget::new(&options, shape, &keys).window;
            let mut search = Search {
                external: external.expect("the disk works"),
                states,
                tally: Tally::new(shape, &options),
                window: Window::new(shape, &keys, sizes, false),
                pool: &pool,
                stop: &stop,
            };
            search.next_ranks(rng.random_range(2..25));
            test(&mut search, &graph, &mut rng)
        })
    };
    seeds.map(run).collect()
}

/// Wider keys leave smaller shares: cache and logs keep to them at once.
#[test]
fn smaller_shares_hold_at_once_and_change_no_result() {
    let n_shrunk = for_each_search(200..224, |search, graph, _| {
        let before = search.snapshot();
        let held = |search: &Search<'_, '_>| {
            let mut held = Held::default();
            search.external.add_held(&mut held);
            held
        };
        let set_bytes = held(search).set;
        let mut disk = search.external.disk;
        let Shares {
            cache, frontier, ..
        } = &mut disk.shares;
        (*cache, *frontier) = (*cache / 4, *frontier / 4);
        search.external.set_shares(disk, &mut search.states);
        let cache = disk.shares.cache;
        let set_after = held(search).set;
        assert!(set_after <= cache || set_after == set_bytes, "{set_after}");
        assert_eq!(search.snapshot(), before);
        search.finish(graph);
        set_after < set_bytes
    });
    let n_shrunk = n_shrunk.into_iter().filter(|is_shrunk| *is_shrunk).count();
    // The caches of the smallest shares have no room at all.
    assert!(n_shrunk > 3, "{n_shrunk}");
}

#[test]
fn what_is_rolled_back_leaves_no_trace() {
    let tested = for_each_search(0..24, |search, graph, rng| {
        let before = search.snapshot();
        if !search.defer() {
            return false;
        }
        assert_eq!(search.snapshot(), before, "to defer changes nothing else");
        let n_ranks = search.next_ranks(rng.random_range(0..9));
        // Within a rank, there are candidates as well.
        search.expand(rng.random_range(0..3));
        if n_ranks > 0 {
            assert!(search.states.parents.len() > before.n_states);
        }
        search.roll_back();
        assert_eq!(search.snapshot(), before);
        // Nothing was looked up, so nothing is known about old runs.
        assert_eq!(search.external.deferral.counts(), (0, 0));
        search.finish(graph);
        n_ranks > 0
    });
    let n_tested = tested.iter().filter(|is_tested| **is_tested).count();
    assert!(n_tested > 10, "{n_tested}");
}

/// What became of ranks that were found while old runs were skipped.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// No run was skipped.
    NotDeferred,
    Committed,
    /// Rolled back, and too many hits to list: not deferred again.
    RolledBack,
    /// Rolled back, and committed the second time.
    Repeated,
    /// Rolled back twice.
    RolledBackTwice,
}

#[test]
fn what_is_committed_is_kept_and_what_has_hits_is_repeated_with_them() {
    let fates = for_each_search(100..150, |search, graph, rng| {
        let before = search.snapshot();
        if !search.defer() {
            return Fate::NotDeferred;
        }
        let n_skipped = search.external.tiers.n_skipped_keys();
        assert_eq!(n_skipped, before.n_keys, "all runs are skipped");
        let n_wanted = rng.random_range(1..9);
        search.next_ranks(n_wanted);
        let provisional = search.snapshot();
        let n_ranks = search.n_pending_ranks();
        let fate = if search.commit() {
            assert_eq!(search.snapshot(), provisional);
            assert_eq!(search.external.deferral.counts(), (n_ranks, 0));
            Fate::Committed
        } else {
            let hits = search.hits();
            let is_old = |state: &Vec<u8>| before.in_runs.contains(state);
            assert!(hits.iter().all(is_old), "a hit is in a skipped run");
            search.roll_back();
            assert_eq!(search.snapshot(), before);
            assert_eq!(search.external.deferral.counts(), (0, 1));
            match search.defer() {
                false => Fate::RolledBack,
                true => {
                    search.next_ranks(n_wanted);
                    let n_ranks = search.n_pending_ranks();
                    if search.commit() {
                        assert_eq!(search.external.deferral.counts(), (n_ranks, 1));
                        Fate::Repeated
                    } else {
                        // The cache has forgotten states that it knew the first time.
                        let again = search.hits();
                        let is_known = |state: &&Vec<u8>| hits.contains(state);
                        assert_eq!(again.iter().find(is_known), None, "no hit is one twice");
                        search.roll_back();
                        assert_eq!(search.snapshot(), before);
                        Fate::RolledBackTwice
                    }
                }
            }
        };
        assert!(!search.external.deferral.is_pending());
        search.finish(graph);
        fate
    });
    let count = |fate| fates.iter().filter(|it| **it == fate).count();
    assert!(count(Fate::Committed) > 10, "{fates:?}");
    assert!(count(Fate::Repeated) > 3, "{fates:?}");
}

#[test]
fn a_stopped_look_up_commits_nothing() {
    let tested = for_each_search(200..212, |search, graph, _| {
        let before = search.snapshot();
        if !search.defer() || search.next_ranks(3) == 0 {
            return false;
        }
        search.stop.raise();
        assert!(!search.commit());
        search.roll_back();
        assert_eq!(search.external.deferral.counts(), (0, 0));
        search.stop.flag().store(false, Ordering::Relaxed);
        assert_eq!(search.snapshot(), before);
        search.finish(graph);
        true
    });
    let n_tested = tested.iter().filter(|is_tested| **is_tested).count();
    assert!(n_tested > 3, "{n_tested}");
}
