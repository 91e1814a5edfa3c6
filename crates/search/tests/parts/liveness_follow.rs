//! Edges sorted by target and followed back against a fixpoint in memory, whatever the memory, the
//! threads and the stretches, with ordinals from 0 and from beyond 32 bits.

use std::sync::Arc;

use hadal_model::Stop;
use hadal_store::in_edges::{InEdge, InEdges};
use hadal_store::partition::ByRange;
use hadal_testkit::disk::CrashDisk;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{BlockCache, Carrier, FollowLimits, Way, follow};
use crate::fixture::folder_on;
use crate::liveness::labels::Labels;
use crate::liveness::sort::{SortLimits, n_ranges, pack, sort_edges};
use crate::liveness::stretches::Stretches;
use crate::progress::Gauge;

/// A graph whose states are counted from 0, and the goals that each state reaches itself.
struct Graph {
    n_states: u64,
    n_goals: usize,
    edges: Vec<(u64, u64)>,
    own: Vec<(u64, usize)>,
}

/// How a graph is decided.
#[derive(Clone, Copy, Debug)]
struct Means {
    /// Ordinal of the first state.
    base: u64,
    stretch_len: u64,
    n_threads: usize,
    sort_bytes: u64,
    cache: u64,
}

impl Graph {
    /// For each goal, the least state that does not reach it, by a fixpoint.
    fn expected(&self) -> Vec<Option<u64>> {
        let mut sources = vec![Vec::new(); self.n_states as usize];
        for &(source, target) in &self.edges {
            sources[target as usize].push(source);
        }
        let least = |goal| {
            let mut reached = vec![false; self.n_states as usize];
            let own = self.own.iter().filter(|own| own.1 == goal);
            let mut open: Vec<u64> = own.map(|own| own.0).collect();
            while let Some(state) = open.pop() {
                if !std::mem::replace(&mut reached[state as usize], true) {
                    open.extend(&sources[state as usize]);
                }
            }
            let first = reached.iter().position(|&reached| !reached);
            first.map(|state| state as u64)
        };
        (0..self.n_goals).map(least).collect()
    }

    /// The same as the parts under test find it; also the edges that were written.
    fn decided(&self, means: Means) -> (Vec<Option<u64>>, usize) {
        let Means {
            base,
            stretch_len,
            n_threads,
            sort_bytes,
            cache,
        } = means;
        let folder = folder_on(&Arc::new(CrashDisk::new()));
        let labels = Labels::identity(self.n_goals);
        let (stop, gauge) = (Stop::new(), Gauge::new());
        let carrier = Carrier {
            labels: &labels,
            folder: &folder,
            stop: &stop,
            gauge: &gauge,
        };
        let states = base..base + self.n_states;
        let mut stretches = Stretches::new(states, self.n_goals, stretch_len, &folder);
        for &(state, goal) in &self.own {
            stretches
                .add_own(base + state, goal)
                .expect("there is room");
        }
        let limits = SortLimits {
            n_threads,
            thread_bytes: sort_bytes / n_threads as u64,
        };
        let source_bits = 40;
        let n_ranges = n_ranges(self.edges.len() as u64, self.n_states, limits);
        let bytes = sort_bytes / 2;
        let mut by_range = ByRange::new(self.n_states, n_ranges, 3, bytes, Some(folder.clone()));
        for (number, edges) in self.edges.chunks(50).enumerate() {
            let pair = |&(source, target): &(u64, u64)| {
                [target, pack(InEdge { source, label: 0 }, source_bits)]
            };
            let pairs: Vec<[u64; 2]> = edges.iter().map(pair).collect();
            by_range.put(number % 3, &pairs).expect("there is room");
        }
        by_range.settle().expect("there is room");
        let files = sort_edges(&by_range, source_bits, &stretches, &carrier, limits)
            .expect("there is room");
        let n_kept = n_edges(&files, base..base + self.n_states);
        let limits = FollowLimits {
            cache,
            messages: 20_000,
        };
        let is_done = follow(&files, &mut stretches, &carrier, limits).expect("there is room");
        assert!(is_done);
        let least = stretches.least_without(&|| false).expect("all is well");
        let least = least.expect("nobody stops it");
        let counted = |state: u64| state - base;
        (
            least.into_iter().map(|it| it.map(counted)).collect(),
            n_kept,
        )
    }
}

/// Number of edges in files.
fn n_edges(files: &[InEdges], states: std::ops::Range<u64>) -> usize {
    let mut cache = BlockCache::new(files, u64::MAX);
    let fresh = super::NumberSet::new(1);
    let way = Way {
        fresh: &fresh,
        first: 0,
        is_ascending: true,
    };
    let mut n = 0;
    for target in states {
        let counted = cache.each_edge_into(target, &way, |_| {
            n += 1;
            Ok(())
        });
        counted.expect("files are whole");
    }
    n
}

fn random_graph(rng: &mut Pcg64Mcg) -> Graph {
    let n_states = rng.random_range(1..2000);
    let n_goals = [1, 1, 1, 2, 2, 3, 3, 66][rng.random_range(0..8)];
    let n_edges = n_states * rng.random_range(1..8);
    let most_step = [5, 50, n_states][rng.random_range(0..3)].min(n_states);
    let edge = |_| {
        let source = rng.random_range(0..n_states);
        let target = match rng.random_range(0..8) {
            // Many edges into one state.
            0 => n_states / 2,
            _ => (source + n_states + rng.random_range(0..2 * most_step) - most_step) % n_states,
        };
        (source, target)
    };
    let edges: Vec<(u64, u64)> = (0..n_edges).map(edge).collect();
    let mut own = Vec::new();
    for goal in 0..n_goals {
        for _ in 0..[1, 3, n_states / 5, 3 * n_states][rng.random_range(0..4)] {
            own.push((rng.random_range(0..n_states), goal));
        }
    }
    // In the order of states, as they are expanded.
    own.sort_unstable();
    Graph {
        n_states,
        n_goals,
        edges,
        own,
    }
}

const ALL: Means = Means {
    base: 0,
    stretch_len: u64::MAX,
    n_threads: 1,
    sort_bytes: 1 << 20,
    cache: 1 << 20,
};

#[test]
fn random_graphs_are_decided_as_a_fixpoint_decides_them() {
    let (mut n_violated, mut n_holding) = (0, 0);
    for seed in 0..120 {
        let graph = random_graph(&mut Pcg64Mcg::seed_from_u64(seed));
        let expected = graph.expected();
        n_violated += expected.iter().flatten().count();
        n_holding += expected.iter().filter(|least| least.is_none()).count();
        for means in [
            ALL,
            Means {
                n_threads: 4,
                cache: 0,
                base: u64::from(u32::MAX) - 700,
                ..ALL
            },
            Means {
                sort_bytes: 8000,
                n_threads: 2,
                cache: 300_000,
                ..ALL
            },
            Means {
                stretch_len: 700,
                base: 1 << 45,
                ..ALL
            },
            Means {
                stretch_len: 500,
                n_threads: 3,
                sort_bytes: 20_000,
                cache: 0,
                ..ALL
            },
        ] {
            let (decided, n_kept) = graph.decided(means);
            assert_eq!(decided, expected, "seed {seed}, {means:?}");
            assert!(n_kept <= graph.edges.len());
        }
    }
    assert!(
        n_violated > 50 && n_holding > 50,
        "{n_violated} {n_holding}"
    );
}

/// Chains that no single pass over the edges in either order goes along.
#[test]
fn chains_in_any_order_are_followed_to_their_ends() {
    let n_states = 20_000;
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let mut shuffled: Vec<u64> = (0..n_states).collect();
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, rng.random_range(0..=at));
    }
    let zigzag = (0..n_states).map(|n| match n % 2 {
        0 => n / 2,
        _ => n_states - 1 - n / 2,
    });
    let orders: [Vec<u64>; 4] = [
        (0..n_states).collect(),
        (0..n_states).rev().collect(),
        zigzag.collect(),
        shuffled,
    ];
    for order in orders {
        let mut graph = Graph {
            n_states,
            n_goals: 1,
            edges: order.windows(2).map(|pair| (pair[1], pair[0])).collect(),
            own: vec![(order[0], 0)],
        };
        for means in [
            ALL,
            Means {
                cache: 100_000,
                sort_bytes: 50_000,
                ..ALL
            },
        ] {
            assert_eq!(graph.decided(means).0, [None]);
        }
        // One edge in the middle is missing, so the states behind it do not reach the goal.
        let (missing, behind) = (graph.edges.len() / 2, order.len() / 2);
        graph.edges.remove(missing);
        let least = order[behind..].iter().min().copied();
        assert_eq!(graph.expected(), [least]);
        assert_eq!(graph.decided(ALL).0, [least]);
    }
}

/// Where every edge leads to a state with a greater ordinal, sorting on one thread decides everything.
#[test]
fn forward_edges_need_no_file() {
    let n_states = 5000;
    let forward = (0..n_states - 1).flat_map(|n| [(n, n + 1), (n, (n + 7).min(n_states - 1))]);
    let graph = Graph {
        n_states,
        n_goals: 1,
        edges: forward.collect(),
        own: vec![(n_states - 1, 0)],
    };
    let means = Means {
        sort_bytes: 100_000,
        ..ALL
    };
    assert_eq!(graph.decided(means), (vec![None], 0));
}
