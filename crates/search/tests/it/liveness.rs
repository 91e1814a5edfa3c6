//! Liveness beyond memory: verdicts and counterexamples are those of a search in memory, whatever the
//! budget, the threads, crashes and full disks.

use std::sync::Arc;

use hadal_model::{GoalKind, Stop};
use hadal_search::{Auto, Deadlock, Error, Options, Outcome, Reason, SearchFolder, Silent, check};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Filling, Graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::scratch;
use crate::oracle::expect;
use crate::resume::{always, resume_or_start};
use crate::summary::summarise;

/// A graph with loops back, in which some states may be cut off from some goals.
fn live_graph(rng: &mut Pcg64Mcg, state_len: usize, n_nodes: u32) -> Graph {
    let n_blind = rng.random_range(0..3);
    let blind: Vec<u32> = (0..n_blind).map(|_| rng.random_range(1..n_nodes)).collect();
    let mut steps = |node: u32| {
        let mut edges = vec![Edge::to((node + 1) % n_nodes, 0)];
        if blind.contains(&node) {
            // No step leads away.
            return vec![Edge::to(node, 0)];
        }
        for rule in 0..rng.random_range(0..4) {
            let target = match rng.random_range(0..4) {
                0 => node / 2,
                1 => (node + rng.random_range(0..50)) % n_nodes,
                2 => node,
                _ => rng.random_range(0..n_nodes),
            };
            edges.push(Edge::to(target, rule % 3));
        }
        edges
    };
    let nodes = (0..n_nodes).map(&mut steps).collect();
    let mut graph = Graph::new(state_len, &[3 % n_nodes, 1], nodes);
    graph.filling = Filling::Random;
    // One that all reach but those cut off, one that only few reach, and one that all states reach
    // themselves.
    graph.reach(GoalKind::Liveness, &[0]);
    let few: Vec<u32> = (0..n_nodes)
        .filter(|node| node % 97 == 5)
        .chain(blind)
        .collect();
    graph.reach(GoalKind::Liveness, &few);
    graph.reach(GoalKind::Liveness, &[n_nodes / 2]);
    let all: Vec<u32> = (0..n_nodes).collect();
    graph.reach(GoalKind::Liveness, &all);
    graph
}

fn options(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        deadlock: Deadlock::Off,
        max_errors: 10,
        ..Options::default()
    }
}

fn run(graph: &Graph, options: &Options, folder: Option<SearchFolder>) -> Outcome {
    let outcome = check(graph, &Auto, options, folder, &Stop::new(), &mut Silent);
    outcome.expect("nothing fails")
}

#[test]
fn properties_are_decided_with_any_memory() {
    let (mut n_violated, mut n_holding) = (0, 0);
    for (seed, (state_len, n_nodes)) in (0..).zip([
        (8, 7_000),
        (8, 2),
        (16, 3_000),
        (40, 1_500),
        (700, 800),
        (3, 500),
        (8, 700),
        (9, 1_000),
        (12, 2_000),
    ]) {
        let graph = live_graph(&mut Pcg64Mcg::seed_from_u64(seed), state_len, n_nodes);
        let expected = expect(&graph, &options(1, u64::MAX));
        for holds in &expected.holds {
            n_violated += u32::from(*holds == Some(false));
            n_holding += u32::from(*holds == Some(true));
        }
        for (threads, memory_bytes, has_disk) in [
            (2, u64::MAX, false),
            (1, 0, true),
            (2, 100_000, true),
            (4, 1 << 20, true),
            (3, 3 << 20, true),
            (2, 6 << 20, true),
            (2, 200 << 20, true),
        ] {
            let options = options(threads, memory_bytes);
            let outcome = run(&graph, &options, has_disk.then(scratch));
            let context = format!("seed {seed}, {threads} threads, {memory_bytes} bytes");
            assert_eq!(summarise(&graph, &options, &outcome), expected, "{context}");
        }
    }
    assert!(n_violated > 5 && n_holding > 5, "{n_violated} {n_holding}");
}

#[test]
fn a_search_may_crash_at_any_operation_and_decides_the_same() {
    let mut n_crashes = 0;
    for (seed, state_len) in [(20, 24), (21, 8), (22, 12)] {
        let graph = live_graph(&mut Pcg64Mcg::seed_from_u64(seed), state_len, 700);
        for memory_bytes in [0, 1 << 20] {
            let options = Options {
                deadlock: Deadlock::Off,
                buffer_len: None,
                block_len: 40,
                max_errors: 10,
                ..always(2, memory_bytes)
            };
            let expected = expect(&graph, &options);
            let whole = Arc::new(CrashDisk::new());
            let outcome = resume_or_start(&graph, &options, &whole).expect("nothing fails");
            assert_eq!(summarise(&graph, &options, &outcome), expected);
            let n_operations = whole.n_operations();
            // The last ones are those of the graph.
            let spread = (0..n_operations).step_by((n_operations / 12).max(1) as usize);
            let last = n_operations.saturating_sub(80)..n_operations;
            for n in spread.chain(last) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let outcome = match resume_or_start(&graph, &options, &disk) {
                    Ok(outcome) => outcome,
                    Err(_) => {
                        n_crashes += 1;
                        let left = Arc::new(disk.crash(n));
                        resume_or_start(&graph, &options, &left)
                            .unwrap_or_else(|error| panic!("{n}: {error}"))
                    }
                };
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(n_crashes > 200, "{n_crashes}");
}

#[test]
fn a_full_disk_leaves_it_undecided_until_there_is_room() {
    let graph = live_graph(&mut Pcg64Mcg::seed_from_u64(30), 12, 4_000);
    let options = Options {
        deadlock: Deadlock::Off,
        buffer_len: None,
        block_len: 200,
        max_errors: 10,
        ..always(2, 100_000)
    };
    let expected = expect(&graph, &options);
    let (mut capacity, mut n_full, mut n_undecided) = (0, 0, 0);
    loop {
        let disk = Arc::new(CrashDisk::new());
        disk.set_capacity(capacity, true);
        match resume_or_start(&graph, &options, &disk) {
            Ok(outcome) if outcome.reason.is_none() => {
                assert_eq!(summarise(&graph, &options, &outcome), expected);
                break;
            }
            Ok(outcome) => match outcome.reason {
                Some(Reason::Disk) => n_full += 1,
                Some(Reason::Liveness) => {
                    n_undecided += 1;
                    assert_eq!(outcome.states, expected.states);
                    assert!(outcome.disk.refused_bytes > 0 && outcome.violations.is_empty());
                    assert!(outcome.holds.iter().all(Option::is_none));
                }
                other => panic!("{capacity}: {other:?}"),
            },
            // Without room for a first manifest there is no search.
            Err(Error::Store(hadal_store::Error::Full { .. })) => n_full += 1,
            Err(error) => panic!("{capacity}: {error}"),
        }
        disk.set_capacity(u64::MAX, true);
        let outcome = resume_or_start(&graph, &options, &disk).expect("there is room now");
        assert_eq!(
            summarise(&graph, &options, &outcome),
            expected,
            "{capacity}"
        );
        capacity += 64 << 10;
    }
    assert!(n_full > 5 && n_undecided > 5, "{n_full} {n_undecided}");
}

/// A chain of edges back to the goal, from state to state in the order of their ordinals, of which no
/// pass over the edges in descending order of sources follows more than one.
#[test]
fn a_long_chain_of_edges_back_is_followed_at_once() {
    let n_nodes = 12_000;
    for is_whole in [true, false] {
        // The first state leads to all others, and each of these to the one before.
        let mut nodes: Vec<Vec<Edge>> = (0..n_nodes)
            .map(|node: u32| vec![Edge::to(node.saturating_sub(1), 0)])
            .collect();
        nodes[0] = (0..n_nodes).map(|node| Edge::to(node, 1)).collect();
        // Nothing leads to the goal but the chain.
        nodes[2] = vec![Edge::to(if is_whole { 1 } else { 2 }, 0)];
        nodes[1] = vec![Edge::to(1, 0)];
        let mut graph = Graph::new(8, &[0], nodes);
        graph.reach(GoalKind::Liveness, &[1]);
        let in_memory = run(&graph, &options(1, u64::MAX), None);
        assert_eq!(in_memory.holds, [Some(is_whole)]);
        for memory_bytes in [0, 1 << 20] {
            let options = options(2, memory_bytes);
            let outcome = run(&graph, &options, Some(scratch()));
            assert_eq!(outcome.holds, [Some(is_whole)]);
            assert_eq!(
                summarise(&graph, &options, &outcome),
                summarise(&graph, &options, &in_memory)
            );
        }
    }
}
