//! Figures of graphs against plain computations.

use hadal_lts::{Info, Resources};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{STOP, graph, random_edges, resources};

/// By state, the states it reaches, itself included.
fn reach(n: usize, edges: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut reach = vec![vec![false; n]; n];
    for (state, row) in reach.iter_mut().enumerate() {
        row[state] = true;
    }
    for _ in 0..n {
        for &(source, target) in edges {
            let beyond = reach[target].clone();
            let row = reach[source].iter_mut().zip(beyond);
            row.for_each(|(reaches, too)| *reaches |= too);
        }
    }
    reach
}

/// Components, largest, those with a cycle, states in these.
fn cycles(n: usize, edges: &[(usize, usize)]) -> [u64; 4] {
    let reach = reach(n, edges);
    let is_same = |a: usize, b: usize| reach[a][b] && reach[b][a];
    let mut result = [0, 0, 0, 0];
    for state in 0..n {
        if (0..state).any(|before| is_same(before, state)) {
            continue;
        }
        let size = (0..n).filter(|&other| is_same(state, other)).count() as u64;
        let is_cyclic = size > 1 || edges.contains(&(state, state));
        result[0] += 1;
        result[1] = result[1].max(size);
        result[2] += u64::from(is_cyclic);
        result[3] += if is_cyclic { size } else { 0 };
    }
    result
}

#[test]
fn components_depth_and_degrees_agree_with_plain_computations() {
    let mut random = Pcg64Mcg::seed_from_u64(9);
    for _ in 0..400 {
        let n = random.random_range(1..12u64);
        let n_edges = random.random_range(0..20);
        let all = random_edges(&mut random, n, n_edges, 2);
        let graph = graph(n, &all, &["tau", "a"]);
        let info = Info::of(&graph, &["tau".to_owned()], &resources()).expect("there is memory");
        let pairs = |keep: &dyn Fn(u32) -> bool| -> Vec<(usize, usize)> {
            let kept = all.iter().filter(|edge| keep(edge.label));
            kept.map(|edge| (edge.source as usize, edge.target as usize))
                .collect()
        };
        let every = pairs(&|_| true);
        let found =
            |it: hadal_lts::Cycles| [it.n_components, it.largest, it.n_cyclic, it.n_in_cyclic];
        assert_eq!(found(info.components), cycles(n as usize, &every));
        assert_eq!(
            found(info.livelocks),
            cycles(n as usize, &pairs(&|label| label == 0))
        );
        // Distances by repeated relaxation.
        let mut distance = vec![u64::MAX; n as usize];
        distance[0] = 0;
        for _ in 0..n {
            for &(source, target) in &every {
                distance[target] = distance[target].min(distance[source].saturating_add(1));
            }
        }
        let reached: Vec<u64> = distance.into_iter().filter(|&it| it != u64::MAX).collect();
        assert_eq!(info.n_reachable, reached.len() as u64);
        assert_eq!(Some(&info.depth), reached.iter().max());
        let degree = |of: &dyn Fn(&(usize, usize)) -> usize, state| {
            every.iter().filter(|edge| of(edge) == state).count() as u64
        };
        let out: Vec<u64> = (0..n as usize)
            .map(|it| degree(&|edge| edge.0, it))
            .collect();
        let into = (0..n as usize).map(|it| degree(&|edge| edge.1, it));
        assert_eq!(Some(&info.most_out), out.iter().max());
        assert_eq!(Some(info.most_in), into.max());
        assert_eq!(
            info.n_deadlocks,
            out.iter().filter(|&&it| it == 0).count() as u64
        );
        assert_eq!(
            info.n_loops,
            every.iter().filter(|edge| edge.0 == edge.1).count() as u64
        );
        let labels = [0, 1].map(|label| pairs(&|it| it == label).len() as u64);
        assert_eq!(info.edges_by_label, labels);
    }
}

#[test]
fn a_long_cycle_needs_no_deep_stack() {
    let n = 300_000;
    let ring: Vec<_> = (0..n)
        .map(|state| hadal_lts::Edge::new(state, 0, (state + 1) % n))
        .collect();
    let graph = graph(n, &ring, &["i"]);
    let info = Info::of(&graph, &["i".to_owned()], &resources()).expect("there is memory");
    assert_eq!((info.livelocks.n_cyclic, info.livelocks.largest), (1, n));
    assert_eq!(info.depth, n - 1);
}

#[test]
fn too_little_memory_is_an_error() {
    let graph = crate::from_aut("des (0, 0, 1000000)").expect("right");
    let mut little = Resources::new(&STOP);
    little.memory_bytes = 2 << 20;
    let on_disk = Info::of(&graph, &[], &little).expect("there is room on disk");
    assert_eq!(on_disk, Info::of(&graph, &[], &resources()).expect("room"));
    little.scratch_bytes = 1 << 20;
    let error = Info::of(&graph, &[], &little).expect_err("there is no room");
    assert!(matches!(error, hadal_lts::Error::Memory { .. }), "{error}");
}
