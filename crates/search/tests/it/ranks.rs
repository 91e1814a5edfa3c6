//! Ranks that are not depths: searches by cost, in memory and on disk, on any number of threads and
//! after crashes, against the least costs by brute force.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{
    Auto, Deadlock, Error, NewStates, Options, Outcome, Rank, RankOrder, Ranked, Reason,
    SearchFolder, Silent, Sink, Steps, TooCostly, TraceStep, Verdict, check, replay,
};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Effect, Filling, Graph, random_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::{folder, scratch};
use crate::resume::{always, resume_or_start_by};

/// The nodes of all states and their ranks, in the order of ordinals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranks {
    pub(crate) state_len: usize,
    pub(crate) found: Vec<(Vec<u8>, u64)>,
}

impl Sink for Ranks {
    fn states(&mut self, new: &NewStates<'_>) -> std::io::Result<()> {
        assert_eq!(new.first, self.found.len() as u64, "states come in order");
        let states = new.states.iter().map(<[u8]>::to_vec);
        self.found.extend(states.map(|state| (state, new.rank.0)));
        Ok(())
    }

    fn checkpoint(&mut self) -> std::io::Result<Vec<u8>> {
        let mut mark = Vec::new();
        for (state, rank) in &self.found {
            mark.extend_from_slice(state);
            mark.extend(rank.to_le_bytes());
        }
        Ok(mark)
    }

    fn resume(&mut self, mark: &[u8]) -> std::io::Result<()> {
        let entries = mark.chunks_exact(self.state_len + 8);
        let entry = |entry: &[u8]| {
            let (state, rank) = entry.split_at(self.state_len);
            let rank = rank.try_into().expect("eight bytes");
            (state.to_vec(), u64::from_le_bytes(rank))
        };
        self.found = entries.map(entry).collect();
        Ok(())
    }
}

/// Graphs of random costs, zero among them, whose steps neither fault nor end the search early.
pub(crate) fn stepping_graphs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Graph)> {
    let graphs = seeds.map(|seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = random_graph(&mut rng);
        graph.set_random_costs(6, &mut rng);
        for edges in &mut graph.nodes {
            edges.retain(|edge| matches!(edge.effect, Effect::To { .. }));
        }
        graph.starts.retain(|edge| edge.target().is_some());
        let plain = Graph::new(graph.shape.state_len, &[], Vec::new());
        let graph = Graph {
            starts: graph.starts,
            nodes: graph.nodes,
            ..plain
        };
        (seed, graph)
    });
    graphs.filter(|(_, graph)| !graph.starts.is_empty())
}

impl Ranks {
    fn of(graph: &Graph) -> Self {
        Ranks {
            state_len: graph.shape().state_len,
            ..Ranks::default()
        }
    }
}

fn by_cost(graph: &Graph, options: &Options, folder: Option<SearchFolder>) -> (Outcome, Ranks) {
    let mut ranks = Ranks::of(graph);
    let strategy = Ranked::by_cost().with_sink(&mut ranks);
    let outcome = check(graph, &strategy, options, folder, &Stop::new(), &mut Silent);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    (outcome, ranks)
}

fn expected(graph: &Graph) -> BTreeMap<Vec<u8>, u64> {
    let costs = graph.least_costs().into_iter().enumerate();
    let reached = costs.filter_map(|(node, cost)| Some((graph.encode(node as u32, 0), cost?)));
    reached.collect()
}

#[test]
fn every_state_has_the_rank_of_its_least_cost_whatever_threads_and_memory() {
    let (mut n_external, mut n_long) = (0, 0);
    for (seed, graph) in stepping_graphs(7000..7150) {
        let expected = expected(&graph);
        let reached = graph.least_costs().into_iter().enumerate();
        let reached = reached.filter(|(_, cost)| cost.is_some());
        let n_edges: u64 = reached
            .map(|(node, _)| graph.nodes[node].len() as u64)
            .sum();
        let mut first: Option<Ranks> = None;
        for (threads, memory_bytes, on_disk) in [
            (1, u64::MAX, false),
            (3, u64::MAX, false),
            (1, 0, true),
            (2, 3_000, true),
            (4, 30_000, true),
            (2, 200_000, true),
        ] {
            let options = Options {
                threads,
                memory_bytes,
                deadlock: Deadlock::Off,
                buffer_len: Some(5 * threads),
                block_len: 4,
                ..Options::default()
            };
            let (outcome, ranks) = by_cost(&graph, &options, on_disk.then(scratch));
            assert_eq!(outcome.verdict, Verdict::Verified, "seed {seed}");
            assert_eq!(outcome.states, expected.len() as u64, "seed {seed}");
            let figures = outcome.directed.expect("it is by cost");
            assert_eq!(figures.expanded, outcome.states, "seed {seed}");
            assert_eq!(figures.generated, n_edges, "seed {seed}");
            assert_eq!(figures.cost, None, "seed {seed}");
            let found: BTreeMap<_, _> = ranks.found.iter().cloned().collect();
            assert_eq!(found, expected, "seed {seed}");
            let mut in_order = ranks.found.windows(2);
            assert!(in_order.all(|pair| pair[0].1 <= pair[1].1), "seed {seed}");
            let first = first.get_or_insert_with(|| ranks.clone());
            assert_eq!(*first, ranks, "seed {seed}: ordinals differ");
            n_external += u32::from(outcome.disk.written_bytes > 0);
        }
        n_long += u32::from(expected.values().any(|&cost| cost > 10));
    }
    assert!(n_external > 200, "{n_external} went to disk");
    assert!(n_long > 20, "{n_long} have long paths");
}

#[test]
fn a_violation_is_reached_by_a_path_of_least_cost() {
    let mut n_costly = 0;
    for (seed, mut graph) in stepping_graphs(7200..7320) {
        let costs = graph.least_costs();
        let reached = costs.iter().enumerate().filter(|(_, cost)| cost.is_some());
        let Some((node, &Some(least))) = reached.max_by_key(|(_, cost)| **cost) else {
            continue;
        };
        graph.fail(&[(node as u32, false)]);
        for (threads, memory_bytes, on_disk) in [(1, u64::MAX, false), (2, 2_000, true)] {
            let options = Options {
                threads,
                memory_bytes,
                deadlock: Deadlock::Off,
                ..Options::default()
            };
            let (outcome, _) = by_cost(&graph, &options, on_disk.then(scratch));
            assert_eq!(outcome.verdict, Verdict::Violated, "seed {seed}");
            let trace = outcome.violations[0].trace.as_ref().expect("a trace");
            let nodes: Vec<u32> = (trace.steps.iter())
                .filter_map(|step| Some(graph.decode(step.state.as_ref()?)))
                .collect();
            // The step that is shown, not a cheaper one beside it.
            let step_cost = |(step, &from): (&TraceStep, &u32)| {
                let edge = graph.nodes[from as usize][step.index as usize];
                match edge.effect {
                    Effect::To { cost, .. } => u64::from(cost),
                    _ => panic!("a step that leads nowhere"),
                }
            };
            let cost: u64 = trace.steps[1..].iter().zip(&nodes).map(step_cost).sum();
            for (step, &from) in trace.steps[1..].iter().zip(&nodes) {
                let state = graph.encode(from, 0);
                let named = graph.describe_step(Some(&state), step.index);
                assert_eq!(named.as_ref(), Some(&step.step), "seed {seed}");
            }
            assert_eq!(nodes.last(), Some(&(node as u32)), "seed {seed}");
            assert_eq!(cost, least, "seed {seed}");
            assert_eq!(outcome.violations[0].cost, Some(least), "seed {seed}");
            let figures = outcome.directed.expect("it is by cost");
            assert_eq!((figures.cost, figures.is_least), (Some(least), true));
        }
        n_costly += u32::from(least > 5);
    }
    assert!(n_costly > 20, "{n_costly}");
}

#[test]
fn a_search_by_cost_may_crash_at_any_operation_of_its_disk() {
    let mut n_crashes = 0;
    for (seed, graph) in stepping_graphs(7400..7425) {
        if expected(&graph).len() < 8 {
            continue;
        }
        for memory_bytes in [0, 3_000, 1 << 20] {
            let options = Options {
                deadlock: Deadlock::Off,
                ..always(2, memory_bytes)
            };
            let (_, expected) = by_cost(&graph, &options, Some(scratch()));
            let mut ranks = Ranks::of(&graph);
            let whole = Arc::new(CrashDisk::new());
            let strategy = Ranked::by_cost().with_sink(&mut ranks);
            resume_or_start_by(&strategy, &graph, &options, &whole).expect("nothing fails");
            drop(strategy);
            assert_eq!(ranks, expected, "seed {seed}");
            let n_operations = whole.n_operations();
            for n in (0..n_operations).step_by((n_operations / 25).max(1) as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let mut ranks = Ranks::of(&graph);
                let strategy = Ranked::by_cost().with_sink(&mut ranks);
                let crashed = resume_or_start_by(&strategy, &graph, &options, &disk).is_err();
                drop(strategy);
                if crashed {
                    n_crashes += 1;
                    // What the sink received since the last checkpoint comes again.
                    let left = Arc::new(disk.crash(n));
                    let mut lost = Ranks::of(&graph);
                    let strategy = Ranked::by_cost().with_sink(&mut lost);
                    let outcome = resume_or_start_by(&strategy, &graph, &options, &left);
                    drop(strategy);
                    let outcome = outcome.unwrap_or_else(|error| panic!("{n}: {error}"));
                    assert_eq!(outcome.verdict, Verdict::Verified, "seed {seed}");
                    ranks = lost;
                }
                assert_eq!(ranks, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(n_crashes > 200, "{n_crashes}");
}

#[test]
fn a_search_is_resumed_in_its_own_order_only() {
    let (_, graph) = stepping_graphs(7404..7405).next().expect("a graph");
    let options = Options {
        deadlock: Deadlock::Off,
        ..always(1, 0)
    };
    let whole = Arc::new(CrashDisk::new());
    resume_or_start_by(&Ranked::by_cost(), &graph, &options, &whole).expect("nothing fails");
    let mut n_refused = 0;
    for n in (0..whole.n_operations()).step_by(3) {
        let disk = Arc::new(CrashDisk::new());
        disk.stop_at(n);
        if resume_or_start_by(&Ranked::by_cost(), &graph, &options, &disk).is_ok() {
            continue;
        }
        let left = Arc::new(disk.crash(n));
        match resume_or_start_by(&Ranked::by_depth(), &graph, &options, &left) {
            Err(Error::OtherOrder { begun, asked }) => {
                assert_eq!((begun.as_str(), asked.as_str()), ("cost", "depth"));
                n_refused += 1;
            }
            Err(error) => panic!("{error}"),
            // It crashed before the first checkpoint.
            Ok(_) => {}
        }
    }
    assert!(
        n_refused > 0,
        "every crash came before the first checkpoint"
    );
}

/// A graph with a large rank, of states that do not compress.
fn large_graph(state_len: usize, n_nodes: u32) -> Graph {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut edge = || {
        let cost = [0, 1, 1, 1, 2][rng.random_range(0..5)];
        Edge::costly(rng.random_range(0..n_nodes), 0, cost)
    };
    let nodes = (0..n_nodes).map(|_| (0..3).map(|_| edge()).collect());
    let mut nodes: Vec<Vec<Edge>> = nodes.collect();
    // Most nodes have the same rank, whose log has many pieces.
    let others = (n_nodes / 4..n_nodes).chain(n_nodes / 4..n_nodes);
    nodes[0].extend(others.map(|node| Edge::costly(node, 1, 2)));
    let mut graph = Graph::new(state_len, &[0], nodes);
    graph.filling = Filling::Random;
    graph
}

/// Memory ends while a rank is expanded, or while it is admitted from its log.
#[test]
fn memory_may_end_at_any_point_of_a_search_by_cost() {
    // States that are their own keys, and states whose keys are widened on the way.
    for state_len in [4, 17] {
        let graph = large_graph(state_len, 20_000);
        let options = |memory_bytes| Options {
            memory_bytes,
            deadlock: Deadlock::Off,
            block_len: 64,
            window_blocks: 4,
            buffer_len: Some(256),
            checkpoint_every: Some(Duration::from_millis(20)),
            ..Options::default()
        };
        let (outcome, ranks) = by_cost(&graph, &options(u64::MAX), None);
        let found: BTreeMap<_, _> = ranks.found.iter().cloned().collect();
        assert_eq!(found, expected(&graph));
        assert_eq!(found.len(), ranks.found.len());
        let needed = outcome.data_bytes;
        for (resumable, step) in [(false, 4), (true, 12)] {
            for percent in (30..=120).step_by(step) {
                let options = options(needed * percent / 100);
                let folder = folder(&Arc::new(CrashDisk::new()), 1 << 14, resumable);
                let (outcome, found) = by_cost(&graph, &options, Some(folder));
                let context = format!("{state_len} bytes, {percent} %, {resumable}");
                assert_eq!(outcome.states, ranks.found.len() as u64, "{context}");
                assert!(found == ranks, "{context}: ordinals or ranks differ");
            }
        }
    }
}

#[test]
fn a_search_by_cost_may_crash_while_memory_ends() {
    let graph = large_graph(9, 3_000);
    let options = |memory_bytes| Options {
        memory_bytes,
        deadlock: Deadlock::Off,
        block_len: 32,
        window_blocks: 2,
        buffer_len: Some(100),
        checkpoint_every: Some(Duration::ZERO),
        ..Options::default()
    };
    let (outcome, expected) = by_cost(&graph, &options(u64::MAX), None);
    let needed = outcome.data_bytes + (1 << 18);
    let mut n_crashes = 0;
    for percent in [70, 85, 95, 105] {
        let options = options(needed * percent / 100);
        let search = |disk: &Arc<CrashDisk>| {
            let mut ranks = Ranks::of(&graph);
            let strategy = Ranked::by_cost().with_sink(&mut ranks);
            let outcome = resume_or_start_by(&strategy, &graph, &options, disk);
            drop(strategy);
            outcome.map(|_| ranks)
        };
        let whole = Arc::new(CrashDisk::new());
        assert!(search(&whole).expect("nothing fails") == expected);
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 15).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if search(&disk).is_ok() {
                continue;
            }
            n_crashes += 1;
            let found = search(&Arc::new(disk.crash(n)));
            let found = found.unwrap_or_else(|error| panic!("operation {n}: {error}"));
            assert!(found == expected, "{percent} %, operation {n}");
        }
    }
    assert!(n_crashes > 40, "{n_crashes}");
}

#[test]
fn a_search_by_cost_that_a_full_disk_stops_can_be_resumed() {
    let mut n_full = 0;
    for (seed, graph) in stepping_graphs(7700..7712) {
        let options = Options {
            deadlock: Deadlock::Off,
            ..always(1, 3_000)
        };
        let (_, expected) = by_cost(&graph, &options, Some(scratch()));
        for capacity in (0..12).map(|n| n * 40_000) {
            let disk = Arc::new(CrashDisk::new());
            disk.set_capacity(capacity, seed.is_multiple_of(2));
            let search = |disk: &Arc<CrashDisk>| {
                let mut ranks = Ranks::of(&graph);
                let strategy = Ranked::by_cost().with_sink(&mut ranks);
                let outcome = resume_or_start_by(&strategy, &graph, &options, disk);
                drop(strategy);
                outcome.map(|outcome| (outcome.reason, ranks))
            };
            match search(&disk) {
                Ok((Some(Reason::Disk), _)) => n_full += 1,
                Ok((_, ranks)) => {
                    assert_eq!(ranks, expected, "seed {seed}");
                    break;
                }
                // Not even the first manifest had room.
                Err(Error::Store(hadal_store::Error::Full { .. })) => {}
                Err(error) => panic!("seed {seed}, {capacity} bytes: {error}"),
            }
            disk.set_capacity(u64::MAX, true);
            let (_, ranks) = search(&disk).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(ranks, expected, "seed {seed}, {capacity} bytes");
        }
    }
    assert!(n_full > 8, "{n_full}");
}

/// An exhaustive search finds the same violations in any order, though not the same ones first.
#[test]
fn properties_have_the_same_verdicts_by_cost_and_by_depth() {
    let (mut n_live, mut n_violated) = (0, 0);
    for seed in 7800..8000 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = random_graph(&mut rng);
        graph.set_random_costs(6, &mut rng);
        let options = Options {
            max_errors: 1000,
            ..Options::default()
        };
        let stop = Stop::new();
        let by_depth = check(&graph, &Auto, &options, None, &stop, &mut Silent);
        let Ok(by_depth) = by_depth else {
            assert!(matches!(by_depth, Err(Error::NoStartstate)), "seed {seed}");
            continue;
        };
        let subjects = |outcome: &Outcome| -> BTreeSet<(&'static str, String)> {
            let found = outcome.violations.iter();
            found.map(|it| (it.kind.name(), it.name.clone())).collect()
        };
        let has_liveness = graph
            .shape
            .goals
            .iter()
            .any(|it| it.kind == GoalKind::Liveness);
        for on_disk in [false, true] {
            let options = Options {
                memory_bytes: if on_disk { 3_000 } else { u64::MAX },
                threads: 2,
                ..options.clone()
            };
            let (by_cost, _) = by_cost(&graph, &options, on_disk.then(scratch));
            assert_eq!(subjects(&by_cost), subjects(&by_depth), "seed {seed}");
            assert_eq!(by_cost.holds, by_depth.holds, "seed {seed}");
            assert_eq!(by_cost.goals, by_depth.goals, "seed {seed}");
            assert_eq!(by_cost.states, by_depth.states, "seed {seed}");
            assert_eq!(by_cost.transitions, by_depth.transitions, "seed {seed}");
            assert_eq!(by_cost.verdict, by_depth.verdict, "seed {seed}");
            for violation in &by_cost.violations {
                if let Some(trace) = &violation.trace {
                    replay(&graph, trace, &options, &stop).expect("the trace replays");
                }
            }
        }
        n_live += u32::from(has_liveness);
        n_violated += u32::from(by_depth.verdict == Verdict::Violated);
    }
    assert!(n_live > 20 && n_violated > 20, "{n_live} {n_violated}");
}

/// States of random steps, each of a cost from 1 to `most_cost`: about as many ranks are open.
fn graph_with_open_ranks(n_nodes: u32, most_cost: u32) -> Graph {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let mut edge = |_| {
        let node = rng.random_range(0..n_nodes);
        Edge::costly(node, 0, rng.random_range(1..=most_cost))
    };
    let nodes = (0..n_nodes).map(|_| (0..4).map(&mut edge).collect());
    let mut graph = Graph::new(17, &[0], nodes.collect());
    graph.filling = Filling::Random;
    graph
}

#[test]
fn open_ranks_keep_within_the_budget() {
    let graph = graph_with_open_ranks(60_000, 2_000);
    let options = Options {
        memory_bytes: 2 << 20,
        deadlock: Deadlock::Off,
        ..Options::default()
    };
    let expected = expected(&graph);
    for resumable in [false, true] {
        let folder = folder(&Arc::new(CrashDisk::new()), 1 << 14, resumable);
        let (outcome, ranks) = by_cost(&graph, &options, Some(folder));
        assert!(outcome.data_bytes <= 5 << 19, "{}", outcome.data_bytes);
        let found: BTreeMap<_, _> = ranks.found.into_iter().collect();
        assert!(found == expected, "ranks differ");
    }
}

/// Counts the files of a folder that this process has open, whenever states are found.
#[cfg(target_os = "linux")]
struct OpenFiles {
    folder: std::path::PathBuf,
    most: usize,
}

#[cfg(target_os = "linux")]
impl Sink for OpenFiles {
    fn states(&mut self, _: &NewStates<'_>) -> std::io::Result<()> {
        let links = std::fs::read_dir("/proc/self/fd")?;
        let files = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
        let n_files = files.filter(|file| file.starts_with(&self.folder)).count();
        self.most = self.most.max(n_files);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[test]
fn thousands_of_open_ranks_need_few_files() {
    use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

    let graph = graph_with_open_ranks(40_000, 5_000);
    let expected = expected(&graph).len() as u64;
    for resumable in [false, true] {
        let path = tempfile::tempdir().expect("a temporary folder");
        let disk = NativeDisk::open(path.path()).expect("a folder can be used");
        let limits = FolderOptions {
            buffer_bytes: 1 << 18,
            reserve_bytes: 0,
            ..FolderOptions::default()
        };
        let opened = Folder::open(Arc::new(disk), limits);
        let folder = SearchFolder {
            folder: opened.expect("a folder can be used").0,
            resumable,
            label: Vec::new(),
        };
        let options = Options {
            memory_bytes: 3 << 20,
            deadlock: Deadlock::Off,
            checkpoint_every: Some(Duration::from_millis(50)),
            ..Options::default()
        };
        let mut files = OpenFiles {
            folder: path.path().canonicalize().expect("its real path"),
            most: 0,
        };
        let strategy = Ranked::by_cost().with_sink(&mut files);
        let stop = Stop::new();
        let outcome = check(
            &graph,
            &strategy,
            &options,
            Some(folder),
            &stop,
            &mut Silent,
        );
        drop(strategy);
        assert_eq!(outcome.expect("nothing fails").states, expected);
        assert!((4..100).contains(&files.most), "{} files", files.most);
    }
}

/// An order that forgets the last successor.
struct Forgetful;

impl RankOrder for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        ranks.extend((1..steps.len()).map(|_| Rank(0)));
        Ok(())
    }
}

#[test]
#[should_panic(expected = "the order \"forgetful\" must rank every successor")]
fn an_order_that_does_not_rank_all_successors_is_refused() {
    let graph = large_graph(4, 10);
    let strategy = Ranked::new(Forgetful);
    let (options, stop) = (Options::default(), Stop::new());
    let _ = check(&graph, &strategy, &options, None, &stop, &mut Silent);
}
