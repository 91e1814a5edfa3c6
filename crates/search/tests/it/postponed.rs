//! Old runs that are left alone for some layers: nothing a search tells may differ, whether they
//! then have something or not.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::{GoalKind, Stop};
use hadal_search::{Deadlock, DiskUse, OnDisk, Options, Outcome, Reason, StoreKind, check_on_disk};
use hadal_testkit::disk::CrashDisk;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::{run, run_with};
use crate::graph::{Edge, Graph, N_RULES};
use crate::oracle::{Expected, expect};
use crate::random::tell;
use crate::resume::{LABEL, always, go_on, on_full_disks, open};

/// A deep graph with thin layers. Some of its edges lead a little back; a few, in some graphs and
/// mostly behind a depth, lead far back.
pub(crate) fn deep_graph(rng: &mut Pcg64Mcg) -> Graph {
    let (n_layers, width) = (rng.random_range(30..150), rng.random_range(1..8));
    let n = n_layers * width;
    let first_far = rng.random_range(0..n);
    let far_percent = [0, 0, 1, 3][rng.random_range(0..4)];
    let back_percent = [0, 10, 30][rng.random_range(0..3)];
    let faults = [0, 0, 0, 1][rng.random_range(0..4)];
    // The order of keys is not that of layers.
    let mut names: Vec<u32> = (0..n).collect();
    names.shuffle(rng);
    let mut nodes = vec![Vec::new(); n as usize];
    for node in 0..n {
        let layer = node / width;
        let mut edges = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            let to_layer = match rng.random_range(0..100) {
                x if x < far_percent && node >= first_far => rng.random_range(0..=layer),
                x if x < far_percent + back_percent => layer.saturating_sub(1),
                _ => layer + 1,
            };
            let to = names[((to_layer * width + rng.random_range(0..width)) % n) as usize];
            let rule = rng.random_range(0..N_RULES as u32);
            edges.push(match rng.random_range(0..100) {
                x if x < faults => Edge::Fault(rule),
                x if x < 10 => Edge::Hit(to, rule),
                _ => Edge::To(to, rule),
            });
        }
        nodes[names[node as usize] as usize] = edges;
    }
    let mut graph = Graph::new([3, 9, 17][rng.random_range(0..3)], &[names[0]], nodes);
    graph.coloured = rng.random_range(0..4) == 0;
    graph.shape.state_len += usize::from(graph.coloured);
    graph.shape.state_bits = graph.shape.state_len * 8;
    for _ in 0..rng.random_range(0..3) {
        let n_failing = rng.random_range(0..3);
        let failing = |_| (rng.random_range(0..n), rng.random_range(0..5) == 0);
        graph.fail(&(0..n_failing).map(failing).collect::<Vec<_>>());
    }
    graph.reach(GoalKind::CoverStep, &[]);
    graph.reach(
        GoalKind::CoverState,
        &[names[rng.random_range(0..n as usize)]],
    );
    graph
}

/// What is asked of a graph.
pub(crate) fn meaning(rng: &mut Pcg64Mcg) -> Options {
    Options {
        deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off][rng.random_range(0..3)],
        bound: [None, None, None, Some(40)][rng.random_range(0..4)],
        max_errors: [1, 2, 100][rng.random_range(0..3)],
        // Everything is risked, or only what went well for long.
        thin_layers: [2, 1000][rng.random_range(0..2)],
        ..Options::default()
    }
}

/// How runs were used by some searches.
#[derive(Default)]
struct Use {
    late_layers: u64,
    times_gone_back: u64,
}

impl Use {
    fn add(&mut self, outcome: &Outcome) {
        self.late_layers += outcome.disk.late_layers;
        self.times_gone_back += outcome.disk.times_gone_back;
    }

    fn assert_much(&self) {
        let Use {
            late_layers,
            times_gone_back,
        } = self;
        assert!(
            *late_layers > 1000 && *times_gone_back > 20,
            "{late_layers} layers were looked for later, {times_gone_back} times in vain"
        );
    }
}

#[test]
fn deep_graphs_agree_with_the_oracle_whatever_the_memory() {
    let mut used = Use::default();
    for seed in 0..60 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let meaning = meaning(&mut rng);
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
                used.add(&outcome);
                let told = tell(&graph, &options, &outcome);
                assert_eq!(told, expect(&graph, &options), "seed {seed}, {options:?}");
            }
        }
    }
    used.assert_much();
}

#[test]
fn a_search_may_die_while_runs_are_left_alone() {
    let mut used = Use::default();
    let mut n_crashes = 0;
    for seed in 5000..5006 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let meaning = meaning(&mut rng);
        // After every round, now and then, and at the end alone.
        for every in [0, 2_000, 3_600_000_000] {
            let options = Options {
                commit_every: Some(Duration::from_micros(every)),
                deadlock: meaning.deadlock,
                bound: meaning.bound,
                max_errors: meaning.max_errors,
                thin_layers: meaning.thin_layers,
                ..always(1, 2_000)
            };
            let expected = expect(&graph, &options);
            let whole = Arc::new(CrashDisk::new());
            let outcome = go_on(&graph, &options, &whole).expect("nothing fails");
            used.add(&outcome);
            assert_eq!(tell(&graph, &options, &outcome), expected, "seed {seed}");
            let n_operations = whole.n_operations();
            let step = (n_operations / 20).max(1);
            for n in (seed % step..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                if go_on(&graph, &options, &disk).is_ok() {
                    continue;
                }
                n_crashes += 1;
                let left = Arc::new(disk.crash(seed ^ n));
                let outcome = go_on(&graph, &options, &left)
                    .unwrap_or_else(|error| panic!("seed {seed}, operation {n}: {error}"));
                used.add(&outcome);
                let told = tell(&graph, &options, &outcome);
                assert_eq!(told, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(n_crashes > 100, "{n_crashes}");
    used.assert_much();
}

/// All operations of a small search that goes back.
#[test]
fn a_search_may_die_at_any_operation_when_it_goes_back() {
    let (n_layers, width) = (11, 2);
    let edges = |node: u32| {
        let mut edges = vec![Edge::To((node + width) % (n_layers * width), 0)];
        // Far back, behind which all is done again.
        if node == 6 * width {
            edges.push(Edge::To(width + 1, 1));
        }
        edges
    };
    let nodes = (0..n_layers * width).map(edges).collect();
    let mut graph = Graph::new(3, &[0, 1], nodes);
    graph.fail(&[(10 * width, false)]);
    // Written down at the end alone, and now and then.
    for (store, every) in [
        (StoreKind::Exact, 3_600_000_000),
        (StoreKind::Exact, 500),
        (StoreKind::Hash128, 500),
    ] {
        let options = Options {
            commit_every: Some(Duration::from_micros(every)),
            store,
            thin_layers: 1,
            ..always(1, 0)
        };
        let expected = expect(&graph, &options);
        let whole = Arc::new(CrashDisk::new());
        let outcome = go_on(&graph, &options, &whole).expect("nothing fails");
        if every > 500 {
            assert!(outcome.disk.times_gone_back > 0, "{:?}", outcome.disk);
        }
        assert_eq!(tell(&graph, &options, &outcome), expected);
        for n in 0..whole.n_operations() {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if go_on(&graph, &options, &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let outcome = go_on(&graph, &options, &left)
                .unwrap_or_else(|error| panic!("operation {n}: {error}"));
            assert_eq!(tell(&graph, &options, &outcome), expected, "operation {n}");
        }
    }
}

/// The last layer of a search that was stopped may not be whole, all others are as they will be.
fn assert_certain(seed: u64, outcome: &Outcome, expected: &Expected) {
    let (last, whole) = outcome.layers.split_last().expect("there is a layer");
    assert_eq!(whole, &expected.layers[..whole.len()], "seed {seed}");
    assert!(*last <= expected.layers[whole.len()], "seed {seed}");
}

#[test]
fn what_a_stopped_search_tells_is_certain() {
    let mut n_stopped = 0;
    for seed in 6000..6060 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        for resumable in [false, true] {
            let options = Options {
                commit_every: Some(Duration::from_secs(3600)),
                deadlock: Deadlock::Off,
                max_errors: 100,
                thin_layers: 2,
                ..always(2, 2_000)
            };
            let expected = expect(&graph, &options);
            let disk = Arc::new(CrashDisk::new());
            let (folder, _) = open(&disk).expect("a folder can be used");
            let on_disk = OnDisk {
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
            let outcome = check_on_disk(&graph, &options, on_disk, &stop, &mut raise);
            let outcome = outcome.expect("nothing fails");
            if outcome.reason != Some(Reason::Interrupted) {
                continue;
            }
            n_stopped += 1;
            assert_certain(seed, &outcome, &expected);
            if resumable {
                let outcome = go_on(&graph, &options, &disk).expect("it goes on");
                assert_eq!(tell(&graph, &options, &outcome), expected, "seed {seed}");
            }
        }
    }
    assert!(n_stopped > 20, "{n_stopped} searches were stopped");
}

#[test]
fn a_disk_that_is_full_while_runs_are_left_alone_loses_nothing() {
    let mut n_full = 0;
    for seed in 7000..7008 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = deep_graph(&mut rng);
        let options = Options {
            commit_every: Some(Duration::from_secs(3600)),
            thin_layers: 2,
            ..always(1, 2_000)
        };
        let expected = expect(&graph, &options);
        let capacities = (1..30).map(|n| n * 40_000);
        n_full += on_full_disks(seed, &graph, &options, capacities, |outcome| {
            assert_certain(seed, outcome, &expected);
        });
    }
    assert!(n_full > 30, "{n_full}");
}

/// A fault ends the search in the middle of a layer, when some states before it were wrongly taken
/// for new: it goes back, and comes to the fault again.
#[test]
fn what_ends_a_search_is_found_again_where_it_goes_back() {
    let (n_layers, width) = (60, 4);
    let mut times_gone_back = 0;
    for far_back in 30..40 {
        for faulty in far_back + 1..far_back + 4 {
            let edges = |node: u32| {
                let next = Edge::To((node + width) % (n_layers * width), 0);
                // The second one does not fit the buffer, and holds up the blocks behind it.
                let mut edges = vec![next; 2];
                if node == far_back * width {
                    edges.push(Edge::To(5 * width + 1, 1));
                }
                if node == faulty * width + 2 {
                    edges.push(Edge::Fault(2));
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
                times_gone_back += outcome.disk.times_gone_back;
                let told = tell(&graph, &options, &outcome);
                assert_eq!(told, expect(&graph, &options), "{far_back} {faulty}");
            }
        }
    }
    assert!(times_gone_back > 10, "it went back {times_gone_back} times");
}

/// Many states, so that the set remembers some of late and must forget them when the search goes
/// back.
#[test]
fn what_the_set_remembers_is_forgotten_where_a_search_goes_back() {
    let (n_layers, width) = (500, 100);
    let n = n_layers * width;
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut nodes = Vec::new();
    for node in 0..n {
        let layer = node / width;
        let to = |layer: u32, rng: &mut Pcg64Mcg| {
            Edge::To(layer * width + rng.random_range(0..width), 0)
        };
        let mut edges: Vec<Edge> = Vec::new();
        if layer + 1 < n_layers {
            edges.push(Edge::To(node + width, 0));
            edges.push(to(layer + 1, &mut rng));
        }
        // Far back, from a few layers alone.
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
            late_layers,
            times_gone_back,
            ..
        } = outcome.disk;
        assert!(
            late_layers > 50 && times_gone_back > 0,
            "{:?}",
            outcome.disk
        );
        assert_eq!(tell(&graph, &options, &outcome), expect(&graph, &options));
    }
}
