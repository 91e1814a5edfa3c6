//! Deferral: candidates are not looked up in old runs for some layers. Nothing a search reports may
//! differ, whether the layers are committed or rolled back.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::Stop;
use hadal_search::{
    Auto, Deadlock, DiskUse, Options, Outcome, Reason, SearchFolder, StoreKind, check,
};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Graph, deep_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::{run, run_with};
use crate::oracle::expect;
use crate::resume::{LABEL, always, on_full_disk, on_full_disks, open, resume_or_start};
use crate::summary::{Summary, summarise};

/// Random options.
pub(crate) fn random_options(rng: &mut Pcg64Mcg) -> Options {
    Options {
        deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off][rng.random_range(0..3)],
        bound: [None, None, None, Some(40)][rng.random_range(0..4)],
        max_errors: [1, 2, 100][rng.random_range(0..3)],
        // Deferral starts at once, or only where it has long been safe.
        thin_layers: [2, 1000][rng.random_range(0..2)],
        ..Options::default()
    }
}

/// Layers that were deferred, and how often searches were rolled back.
#[derive(Default)]
struct Deferred {
    n_layers: u64,
    n_roll_backs: u64,
}

impl Deferred {
    fn add(&mut self, outcome: &Outcome) {
        self.n_layers += outcome.disk.deferred_ranks;
        self.n_roll_backs += outcome.disk.roll_backs;
    }

    fn assert_much(&self) {
        let Deferred {
            n_layers,
            n_roll_backs,
        } = self;
        assert!(
            *n_layers > 1000 && *n_roll_backs > 20,
            "{n_layers} layers were deferred, {n_roll_backs} roll-backs"
        );
    }
}

#[test]
fn deep_graphs_agree_with_the_oracle_whatever_the_memory() {
    let mut deferred = Deferred::default();
    for seed in 0..60 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let meaning = random_options(&mut rng);
        for (threads, memory_bytes, buffer_len) in
            [(1, 0, Some(3)), (2, 2_000, Some(40)), (4, 20_000, None)]
        {
            for store in [StoreKind::Exact, StoreKind::Hash128] {
                let options = Options {
                    threads,
                    memory_bytes,
                    buffer_len,
                    store,
                    seed,
                    ..meaning.clone()
                };
                let outcome = run_with(&graph, &options, 1 << 14);
                deferred.add(&outcome);
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(
                    summary,
                    expect(&graph, &options),
                    "seed {seed}, {options:?}"
                );
            }
        }
    }
    deferred.assert_much();
}

#[test]
fn a_search_may_crash_while_layers_are_deferred() {
    let mut deferred = Deferred::default();
    let mut n_crashes = 0;
    for seed in 5000..5006 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let meaning = random_options(&mut rng);
        // After every window, now and then, and only at the end.
        for every in [0, 2_000, 3_600_000_000] {
            let options = Options {
                checkpoint_every: Some(Duration::from_micros(every)),
                deadlock: meaning.deadlock,
                bound: meaning.bound,
                max_errors: meaning.max_errors,
                thin_layers: meaning.thin_layers,
                ..always(1, 2_000)
            };
            let expected = expect(&graph, &options);
            let whole = Arc::new(CrashDisk::new());
            let outcome = resume_or_start(&graph, &options, &whole).expect("nothing fails");
            deferred.add(&outcome);
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "seed {seed}"
            );
            let n_operations = whole.n_operations();
            let step = (n_operations / 20).max(1);
            for n in (seed % step..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                if resume_or_start(&graph, &options, &disk).is_ok() {
                    continue;
                }
                n_crashes += 1;
                let left = Arc::new(disk.crash(seed ^ n));
                let outcome = resume_or_start(&graph, &options, &left)
                    .unwrap_or_else(|error| panic!("seed {seed}, operation {n}: {error}"));
                deferred.add(&outcome);
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(n_crashes > 100, "{n_crashes}");
    deferred.assert_much();
}

/// All operations of a small search that is rolled back.
#[test]
fn a_search_may_crash_at_any_operation_of_a_roll_back() {
    let (n_layers, width) = (11, 2);
    let edges = |node: u32| {
        let mut edges = vec![Edge::to((node + width) % (n_layers * width), 0)];
        // Far back: the search is rolled back and repeats the layers since.
        if node == 6 * width {
            edges.push(Edge::to(width + 1, 1));
        }
        edges
    };
    let nodes = (0..n_layers * width).map(edges).collect();
    let mut graph = Graph::new(3, &[0, 1], nodes);
    graph.fail(&[(10 * width, false)]);
    // Checkpoints only at the end, and now and then.
    for (store, every) in [
        (StoreKind::Exact, 3_600_000_000),
        (StoreKind::Exact, 500),
        (StoreKind::Hash128, 500),
    ] {
        let options = Options {
            checkpoint_every: Some(Duration::from_micros(every)),
            store,
            thin_layers: 1,
            ..always(1, 0)
        };
        let expected = expect(&graph, &options);
        let whole = Arc::new(CrashDisk::new());
        let outcome = resume_or_start(&graph, &options, &whole).expect("nothing fails");
        if every > 500 {
            assert!(outcome.disk.roll_backs > 0, "{:?}", outcome.disk);
        }
        assert_eq!(summarise(&graph, &options, &outcome), expected);
        for n in 0..whole.n_operations() {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if resume_or_start(&graph, &options, &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let outcome = resume_or_start(&graph, &options, &left)
                .unwrap_or_else(|error| panic!("operation {n}: {error}"));
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "operation {n}"
            );
        }
    }
}

/// The last layer of a search that was stopped may be partial; all others are final.
fn assert_final(seed: u64, outcome: &Outcome, expected: &Summary) {
    let (last, whole) = outcome.layers.split_last().expect("there is a layer");
    assert_eq!(whole, &expected.layers[..whole.len()], "seed {seed}");
    assert!(*last <= expected.layers[whole.len()], "seed {seed}");
}

#[test]
fn a_stopped_search_reports_nothing_provisional() {
    let mut n_stopped = 0;
    for seed in 6000..6060 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        for resumable in [false, true] {
            let options = Options {
                checkpoint_every: Some(Duration::from_secs(3600)),
                deadlock: Deadlock::Off,
                max_errors: 100,
                thin_layers: 2,
                ..always(2, 2_000)
            };
            let expected = expect(&graph, &options);
            let disk = Arc::new(CrashDisk::new());
            let (folder, _) = open(&disk).expect("a folder can be used");
            let search_folder = SearchFolder {
                folder,
                resumable,
                label: LABEL.to_vec(),
            };
            let stop = Stop::new();
            let at = rng.random_range(10..60);
            let mut raise = |progress: &hadal_search::Progress| {
                if progress.layer >= at {
                    stop.raise();
                }
            };
            let outcome = check(
                &graph,
                &Auto,
                &options,
                Some(search_folder),
                &stop,
                &mut raise,
            );
            let outcome = outcome.expect("nothing fails");
            if outcome.reason != Some(Reason::Interrupted) {
                continue;
            }
            n_stopped += 1;
            assert_final(seed, &outcome, &expected);
            if resumable {
                let outcome = resume_or_start(&graph, &options, &disk).expect("it resumes");
                assert_eq!(
                    summarise(&graph, &options, &outcome),
                    expected,
                    "seed {seed}"
                );
            }
        }
    }
    assert!(n_stopped > 20, "{n_stopped} searches were stopped");
}

#[test]
fn a_full_disk_while_layers_are_deferred_loses_nothing() {
    let mut n_full = 0;
    for seed in 7000..7008 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let options = Options {
            checkpoint_every: Some(Duration::from_secs(3600)),
            thin_layers: 2,
            ..always(1, 2_000)
        };
        let expected = expect(&graph, &options);
        let capacities = (1..30).map(|n| n * 40_000);
        n_full += on_full_disks(seed, &graph, &options, capacities, |outcome| {
            assert_final(seed, outcome, &expected);
        });
    }
    assert!(n_full > 30, "{n_full}");
}

/// A disk that is full is itself a reason to commit, and rolling back writes too.
#[test]
fn a_disk_may_become_full_at_any_operation_of_a_roll_back() {
    let mut n_full = 0;
    for seed in 7100..7102 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let options = Options {
            checkpoint_every: Some(Duration::from_micros(300)),
            max_errors: 100,
            thin_layers: 2,
            ..always(1, 2_000)
        };
        let expected = expect(&graph, &options);
        let whole = Arc::new(CrashDisk::new());
        resume_or_start(&graph, &options, &whole).expect("nothing fails");
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 50).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.fill_at(n);
            let is_final = |outcome: &Outcome| assert_final(seed, outcome, &expected);
            n_full += u32::from(on_full_disk(seed, &graph, &options, &disk, &is_final));
        }
    }
    assert!(n_full > 60, "{n_full}");
}

/// A fault ends the search in the middle of a layer, when some states before it were wrongly taken
/// for new: the search is rolled back, and finds the fault again.
#[test]
fn a_fault_is_found_again_after_a_roll_back() {
    let (n_layers, width) = (60, 4);
    let mut n_roll_backs = 0;
    for far_back in 30..40 {
        for faulty in far_back + 1..far_back + 4 {
            let edges = |node: u32| {
                let next = Edge::to((node + width) % (n_layers * width), 0);
                // The second one does not fit the buffer, and holds up the blocks behind it.
                let mut edges = vec![next; 2];
                if node == far_back * width {
                    edges.push(Edge::to(5 * width + 1, 1));
                }
                if node == faulty * width + 2 {
                    edges.push(Edge::fault(2));
                }
                edges
            };
            let nodes = (0..n_layers * width).map(edges).collect();
            let starts: Vec<u32> = (0..width).collect();
            let graph = Graph::new(4, &starts, nodes);
            for window_blocks in [1, 4] {
                let options = Options {
                    threads: 1,
                    memory_bytes: 0,
                    block_len: 1,
                    window_blocks,
                    buffer_len: Some(1),
                    ..Options::default()
                };
                let outcome = run(&graph, &options);
                n_roll_backs += outcome.disk.roll_backs;
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expect(&graph, &options), "{far_back} {faulty}");
            }
        }
    }
    assert!(n_roll_backs > 10, "{n_roll_backs} roll-backs");
}

/// Many states, so that the cache holds some of deferred layers and must drop them in a roll-back.
#[test]
fn a_roll_back_drops_provisional_states_from_the_cache() {
    let (n_layers, width) = (500, 100);
    let n = n_layers * width;
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut nodes = Vec::new();
    for node in 0..n {
        let layer = node / width;
        let to = |layer: u32, rng: &mut Pcg64Mcg| {
            Edge::to(layer * width + rng.random_range(0..width), 0)
        };
        let mut edges: Vec<Edge> = Vec::new();
        if layer + 1 < n_layers {
            edges.push(Edge::to(node + width, 0));
            edges.push(to(layer + 1, &mut rng));
        }
        // Far back, from a few layers only.
        if layer % 64 == 63 {
            edges.push(to(rng.random_range(0..layer / 2), &mut rng));
        }
        nodes.push(edges);
    }
    let starts: Vec<u32> = (0..width).collect();
    let graph = Graph::new(4, &starts, nodes);
    for (threads, memory_bytes, thin_layers) in [
        (1, 200_000, 1000),
        (2, 300_000, 1000),
        (2, 500_000, 1000),
        (1, 200_000, 4),
        (2, 300_000, 4),
    ] {
        let options = Options {
            threads,
            memory_bytes,
            thin_layers,
            deadlock: Deadlock::Off,
            block_len: 16,
            window_blocks: 2,
            buffer_len: Some(32),
            ..Options::default()
        };
        let outcome = run_with(&graph, &options, 1 << 16);
        let DiskUse {
            deferred_ranks,
            roll_backs,
            ..
        } = outcome.disk;
        assert!(deferred_ranks > 50 && roll_backs > 0, "{:?}", outcome.disk);
        assert_eq!(
            summarise(&graph, &options, &outcome),
            expect(&graph, &options)
        );
    }
}
