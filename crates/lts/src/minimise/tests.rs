//! Minimisation against the definitions: bisimilarity as the greatest relation that satisfies them.

use hadal_model::Stop;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{Edge, HltsWriter, Labels};

/// States, and edges by label; label 0 is invisible.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) n: usize,
    pub(super) initial: usize,
    pub(super) edges: Vec<(usize, u32, usize)>,
}

const TEXTS: [&str; 3] = ["tau", "a", "b"];

impl Plain {
    fn random(random: &mut Pcg64Mcg) -> Self {
        let n = random.random_range(1..9);
        let n_edges = random.random_range(0..2 * n + 2);
        // Few labels or many invisible steps, so that there is something to merge.
        let labels = [0, 0, 0, 1, 1, 2];
        let edge = |_| {
            let label = labels[random.random_range(0..labels.len())];
            (random.random_range(0..n), label, random.random_range(0..n))
        };
        let mut edges: Vec<_> = (0..n_edges).map(edge).collect();
        edges.sort_by_key(|edge| edge.0);
        let initial = random.random_range(0..n);
        Plain { n, initial, edges }
    }

    pub(super) fn hlts(&self) -> Hlts {
        let mut writer = HltsWriter::new(Vec::new(), self.initial as u64, 0).expect("memory");
        for &(source, label, target) in &self.edges {
            let edge = Edge::new(source as u64, label, target as u64);
            writer.push(edge).expect("edges are in order");
        }
        let mut labels = Labels::new();
        TEXTS
            .iter()
            .for_each(|text| assert!(labels.push(text.as_bytes()).is_some()));
        let bytes = writer.finish(self.n as u64, &labels).expect("all is named");
        Hlts::from_bytes(bytes).expect("what was written can be read")
    }

    fn of(graph: &Hlts, resources: &Resources<'_>) -> Self {
        let mut edges = Vec::new();
        let read = graph.for_each_edge(resources, |edge| {
            let text = graph.labels().text(edge.label);
            let label = TEXTS
                .iter()
                .position(|&it| it == text)
                .expect("a label of ours");
            edges.push((edge.source as usize, label as u32, edge.target as usize));
            Ok(())
        });
        read.expect("it can be read");
        Plain {
            n: graph.counts().n_states as usize,
            initial: graph.counts().initial as usize,
            edges,
        }
    }

    /// Both graphs side by side.
    fn beside(&self, other: &Plain) -> Plain {
        let moved = other
            .edges
            .iter()
            .map(|&(s, l, t)| (s + self.n, l, t + self.n));
        Plain {
            n: self.n + other.n,
            initial: self.initial,
            edges: self.edges.iter().copied().chain(moved).collect(),
        }
    }

    fn steps(&self, from: usize) -> impl Iterator<Item = (u32, usize)> {
        let own = self.edges.iter().filter(move |edge| edge.0 == from);
        own.map(|edge| (edge.1, edge.2))
    }

    /// What a state reaches by invisible steps.
    fn silently(&self, from: usize) -> Vec<usize> {
        let mut found = vec![from];
        let mut next = 0;
        while next < found.len() {
            for (label, target) in self.steps(found[next]) {
                if label == 0 && !found.contains(&target) {
                    found.push(target);
                }
            }
            next += 1;
        }
        found
    }

    /// The greatest bisimulation: pairs are removed until all that are left satisfy the definition.
    fn bisimilarity(&self, equivalence: Equivalence) -> Vec<Vec<bool>> {
        let n = self.n;
        let mut related = vec![vec![true; n]; n];
        loop {
            let simulates = |s: usize, t: usize| {
                self.steps(s).all(|(label, s1)| match equivalence {
                    Equivalence::Strong => {
                        let mut steps = self.steps(t);
                        steps.any(|(it, t1)| it == label && related[s1][t1])
                    }
                    Equivalence::Branching => {
                        let matched = || {
                            self.silently(t).into_iter().any(|t1| {
                                let mut steps = self.steps(t1);
                                related[s][t1]
                                    && steps.any(|(it, t2)| it == label && related[s1][t2])
                            })
                        };
                        label == 0 && related[s1][t] || matched()
                    }
                })
            };
            let is_left = |s: usize, t: usize| related[s][t] && simulates(s, t) && simulates(t, s);
            let next: Vec<Vec<bool>> = (0..n)
                .map(|s| (0..n).map(|t| is_left(s, t)).collect())
                .collect();
            if next == related {
                return related;
            }
            related = next;
        }
    }

    /// States and edges of the smallest graph, by the relation.
    fn minimal_size(&self, equivalence: Equivalence) -> (usize, usize) {
        let related = self.bisimilarity(equivalence);
        let class = |s: usize| (0..self.n).position(|t| related[s][t]).expect("itself");
        let mut edges: Vec<(usize, u32, usize)> = (self.edges.iter())
            .map(|&(s, label, t)| (class(s), label, class(t)))
            .filter(|&(s, label, t)| equivalence == Equivalence::Strong || label != 0 || s != t)
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let mut found = vec![class(self.initial)];
        let mut next = 0;
        while next < found.len() {
            for edge in edges
                .iter()
                .filter(|edge| edge.0 == found[next])
                .copied()
                .collect::<Vec<_>>()
            {
                if !found.contains(&edge.2) {
                    found.push(edge.2);
                }
            }
            next += 1;
        }
        let is_reached = |edge: &&(usize, u32, usize)| found.contains(&edge.0);
        (found.len(), edges.iter().filter(is_reached).count())
    }
}

pub(super) fn tau() -> Vec<String> {
    vec!["tau".to_owned()]
}

pub(super) const BOTH: [Equivalence; 2] = [Equivalence::Strong, Equivalence::Branching];

/// Minimises in several ways, which must agree in every byte, and returns the result.
fn minimised(graph: &Hlts, equivalence: Equivalence, stop: &Stop) -> Hlts {
    let mut texts = Vec::new();
    let mut result = None;
    for (threads, chunk_states, hash_bits, is_wide, is_external) in [
        (1, 0, 128, false, false),
        (2, 1, 128, true, false),
        (4, 2, 128, false, false),
        (4, 1, 3, false, false),
        (1, 3, 0, true, false),
        (2, 5, 128, false, false),
        (1, 0, 128, false, true),
        (2, 0, 128, false, true),
        (4, 0, 3, true, true),
    ] {
        let mut resources = Resources::new(stop);
        resources.threads = threads;
        let tuning = Tuning {
            chunk_states,
            hash_bits,
            is_wide,
            is_external,
        };
        // Without any hash, strong refinement cannot end: exactness is only at its end.
        if hash_bits == 0 && equivalence == Equivalence::Strong {
            continue;
        }
        let found = minimise_tuned(graph, equivalence, &tau(), &resources, tuning);
        let found = found.expect("there is memory").graph;
        let mut text = Vec::new();
        crate::write_aut(&found, &mut text, &resources).expect("memory can be written");
        texts.push(text);
        result = Some(found);
    }
    assert!(
        texts.windows(2).all(|pair| pair[0] == pair[1]),
        "{equivalence:?}"
    );
    result.expect("it was minimised")
}

#[test]
fn random_graphs_become_as_small_as_the_definition_allows() {
    let stop = Stop::new();
    let mut random = Pcg64Mcg::seed_from_u64(20);
    let (mut n_smaller, mut n_cycles) = (0, 0);
    for _ in 0..1500 {
        let plain = Plain::random(&mut random);
        let graph = plain.hlts();
        for equivalence in BOTH {
            let found = minimised(&graph, equivalence, &stop);
            let small = Plain::of(&found, &Resources::new(&stop));
            let expected = plain.minimal_size(equivalence);
            assert_eq!(
                (small.n, small.edges.len()),
                expected,
                "{equivalence:?} {plain:?}"
            );
            let both = plain.beside(&small);
            let related = both.bisimilarity(equivalence);
            assert!(related[plain.initial][plain.n + small.initial], "{plain:?}");
            n_smaller += usize::from(small.n < plain.n);
        }
        let on_cycle = |s: usize| {
            let mut steps = plain.steps(s);
            steps.any(|(label, t)| label == 0 && plain.silently(t).contains(&s))
        };
        n_cycles += usize::from((0..plain.n).any(on_cycle));
    }
    assert!(n_smaller > 1000 && n_cycles > 300, "{n_smaller} {n_cycles}");
}

#[test]
fn states_are_numbered_in_the_order_of_discovery() {
    let plain = Plain {
        n: 5,
        initial: 4,
        edges: vec![(0, 1, 3), (2, 2, 2), (3, 2, 1), (4, 2, 3), (4, 1, 0)],
    };
    let stop = Stop::new();
    let found = minimised(&plain.hlts(), Equivalence::Strong, &stop);
    let mut text = Vec::new();
    crate::write_aut(&found, &mut text, &Resources::new(&stop)).expect("memory");
    // Labels in the order of the table, `a` before `b`; state 2 cannot be reached.
    let text = String::from_utf8_lossy(&text);
    assert_eq!(
        text,
        "des (0, 4, 4)\n(0, a, 1)\n(0, b, 2)\n(1, a, 2)\n(2, b, 3)\n"
    );
}

#[test]
fn the_label_of_invisible_steps_is_a_choice() {
    let plain = Plain {
        n: 3,
        initial: 0,
        edges: vec![(0, 1, 1), (1, 2, 2)],
    };
    let stop = Stop::new();
    let resources = Resources::new(&stop);
    let states = |tau: &[&str]| {
        let tau: Vec<String> = tau.iter().map(|&it| it.to_owned()).collect();
        let found = minimise(&plain.hlts(), Equivalence::Branching, &tau, &resources);
        found.expect("there is memory").graph.counts().n_states
    };
    assert_eq!(
        [states(&["tau"]), states(&["a"]), states(&["a", "b"])],
        [3, 2, 1]
    );
}

#[test]
fn a_budget_that_does_not_suffice_is_an_error() {
    let stop = Stop::new();
    let mut resources = Resources::new(&stop);
    // Two equal chains: many blocks, and none of a single state.
    let n = 40_000;
    let chain = Plain {
        n,
        initial: 0,
        edges: (0..64).chain(100..164).map(|at| (at, 1, at + 1)).collect(),
    };
    for (bytes, fits) in [
        (n as u64 * 4, false),
        (n as u64 * 8 + 1000, false),
        (1 << 20, true),
    ] {
        resources.memory_bytes = bytes;
        let found = minimise(&chain.hlts(), Equivalence::Strong, &tau(), &resources);
        match found {
            Ok(found) => assert!(fits && found.graph.counts().n_states == 65),
            Err(Error::Memory { .. }) => assert!(!fits),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_raised_flag_stops_it() {
    let stop = Stop::new();
    stop.raise();
    let graph = Plain {
        n: 2,
        initial: 0,
        edges: vec![(0, 1, 1)],
    };
    for equivalence in BOTH {
        let found = minimise(&graph.hlts(), equivalence, &tau(), &Resources::new(&stop));
        assert!(matches!(found, Err(Error::Stopped)));
    }
}

#[test]
fn long_paths_of_invisible_steps_take_no_longer_than_others() {
    // Every state offers `a` only behind the whole path: two classes, and as many levels as states.
    let n = 200_000;
    let mut edges: Vec<(usize, u32, usize)> = (0..n - 1).map(|at| (at, 0, at + 1)).collect();
    edges.push((n - 1, 1, n));
    let path = Plain {
        n: n + 1,
        initial: 0,
        edges,
    };
    let stop = Stop::new();
    let mut resources = Resources::new(&stop);
    resources.threads = 2;
    // At last with block numbers on disk.
    for memory_bytes in [256 << 20, 2 << 20] {
        resources.memory_bytes = memory_bytes;
        let found = minimise(&path.hlts(), Equivalence::Branching, &tau(), &resources);
        let counts = found.expect("there is memory").graph.counts();
        assert_eq!((counts.n_states, counts.n_edges), (2, 1));
    }
}
