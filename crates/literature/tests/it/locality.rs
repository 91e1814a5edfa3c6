//! Locality of transitions, against levels and shares computed by hand and by brute force.

use hadal_literature::{Locality, locality};
use hadal_model::Stop;
use hadal_search::{Options, Reason, Silent};
use hadal_testkit::graph::{Edge, Graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn measure(graph: &Graph, options: &Options) -> Locality {
    locality(graph, options, &Stop::new(), &mut Silent).expect("a walk")
}

fn graph(starts: &[u32], edges: &[&[u32]]) -> Graph {
    let node = |edges: &&[u32]| edges.iter().map(|&to| Edge::to(to, 0)).collect();
    Graph::new(5, starts, edges.iter().map(node).collect())
}

#[test]
fn shares_are_those_of_definition_4() {
    // Levels: 0 | 1, 2 | 3. State 0 has a self-loop, 1 leads to its own level and on, 3 back by two.
    let graph = graph(&[0], &[&[0, 1, 2, 1], &[2, 3], &[], &[0]]);
    let found = measure(&graph, &Options::default());
    assert_eq!((found.states, found.visited, found.transitions), (4, 4, 7));
    assert_eq!((found.self_loops, found.ends, found.faults), (1, 1, 0));
    assert_eq!(found.layers, [1, 2, 1]);
    let counts: Vec<(i64, u64)> = found
        .jumps
        .iter()
        .map(|j| (j.levels, j.transitions))
        .collect();
    assert_eq!(counts, [(1, 4), (0, 2), (-1, 0), (-2, 1)]);
    let forward = found.jump(1).expect("1-transitions");
    // Shares of the four states: 3/4, 1/2, 0, 0; without the self-loop 1, 1/2, 0, 0.
    let mean = (0.75 + 0.5) / 4.0;
    let squares = (0.75f64.powi(2) + 0.5f64.powi(2)) / 4.0;
    assert_eq!(forward.share.mean, mean);
    assert!((forward.share.deviation - (squares - mean * mean).sqrt()).abs() < 1e-12);
    assert_eq!(forward.share_without_loops.mean, 1.5 / 4.0);
    assert_eq!(found.jump(0).expect("0-transitions").share.mean, 0.75 / 4.0);
    assert_eq!(
        found
            .jump(0)
            .expect("0-transitions")
            .share_without_loops
            .mean,
        0.5 / 4.0
    );
    assert_eq!(found.one_local(), (3.0 / 4.0 + 0.5 + 0.25 + 0.5) / 4.0);
}

#[test]
fn random_graphs_agree_with_brute_force() {
    for seed in 0..40 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let n = random.random_range(1..60u32);
        let mut node = || -> Vec<u32> {
            let degree = random.random_range(0..5);
            (0..degree).map(|_| random.random_range(0..n)).collect()
        };
        let edges: Vec<Vec<u32>> = (0..n).map(|_| node()).collect();
        let slices: Vec<&[u32]> = edges.iter().map(Vec::as_slice).collect();
        let options = Options {
            // Blocks and buffers that end in the middle of everything.
            block_len: 3,
            buffer_len: Some(2),
            ..Options::default()
        };
        let found = measure(&graph(&[0], &slices), &options);

        let mut level = vec![None; n as usize];
        level[0] = Some(0i64);
        for depth in 0..i64::from(n) {
            for from in 0..n as usize {
                if level[from] == Some(depth) {
                    for &to in &edges[from] {
                        level[to as usize].get_or_insert(depth + 1);
                    }
                }
            }
        }
        let reached: Vec<usize> = (0..n as usize).filter(|&s| level[s].is_some()).collect();
        assert_eq!(found.states, reached.len() as u64, "seed {seed}");
        for k in -i64::from(n)..=1 {
            let share = |without: bool| {
                let shares = reached.iter().map(|&from| {
                    let counted = edges[from]
                        .iter()
                        .filter(|&&to| !without || to as usize != from);
                    let jump =
                        |&&to: &&u32| level[to as usize].unwrap() - level[from].unwrap() == k;
                    let n_jumps = counted.clone().filter(jump).count();
                    n_jumps as f64 / counted.count().max(1) as f64
                });
                shares.sum::<f64>() / reached.len() as f64
            };
            let jump = found.jump(k).copied().unwrap_or_default();
            assert!(
                (jump.share.mean - share(false)).abs() < 1e-12,
                "seed {seed}, k {k}"
            );
            let without = jump.share_without_loops.mean;
            assert!((without - share(true)).abs() < 1e-12, "seed {seed}, k {k}");
        }
    }
}

#[test]
fn a_measurement_that_is_stopped_reports_why() {
    let graph = graph(&[0], &[&[1], &[2], &[0]]);
    let bounded = Options {
        bound: Some(1),
        ..Options::default()
    };
    let found = measure(&graph, &bounded);
    assert_eq!((found.reason, found.visited), (Some(Reason::Bound), 1));
    let poor = Options {
        memory_bytes: 100,
        ..Options::default()
    };
    assert_eq!(measure(&graph, &poor).reason, Some(Reason::Memory));
}
