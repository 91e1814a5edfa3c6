//! Interchangeable processes, each with goals of its own, against a fixpoint over all states.
//!
//! The reduction sorts the locations of the processes, so goals change their process along steps.

use std::collections::BTreeSet;

use hadal_model::{GoalKind, Stop};
use hadal_search::{Auto, Deadlock, Options, Silent, Verdict, check};
use hadal_testkit::graph::{Class, Edge, Graph, Reduction};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::scratch;

/// Processes, each at a location.
#[derive(Clone, Debug)]
struct Processes {
    n_processes: usize,
    moves: Vec<Move>,
    /// By liveness property, the locations that every process must be able to reach.
    wanted: Vec<Vec<u8>>,
    /// No process may be at this location.
    forbidden: Option<u8>,
}

/// A process moves from one location to another.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: u8,
    to: u8,
    /// Only if another process is, or none is, at this location.
    condition: Option<(u8, bool)>,
    /// All others at the first location move to the second as well.
    others: Option<(u8, u8)>,
}

/// A power of two, so that a node is the bits of its locations.
const N_LOCATIONS: u8 = 4;
const LOCATION_BITS: usize = 2;

impl Processes {
    fn random(rng: &mut Pcg64Mcg) -> Self {
        let mut location = {
            let mut rng = Pcg64Mcg::seed_from_u64(rng.random());
            move || rng.random_range(0..N_LOCATIONS)
        };
        let n_processes = rng.random_range(2..=4);
        let moves = (0..rng.random_range(2..6)).map(|_| Move {
            from: location(),
            to: location(),
            condition: rng.random_bool(0.5).then(|| (location(), rng.random())),
            others: rng.random_bool(0.3).then(|| (location(), location())),
        });
        let moves = moves.collect();
        let wanted = (0..rng.random_range(1..=2))
            .map(|_| (0..rng.random_range(1..=2)).map(|_| location()).collect())
            .collect();
        Processes {
            n_processes,
            moves,
            wanted,
            forbidden: rng.random_bool(0.2).then(location),
        }
    }

    /// All states as a graph. Its goals are those of the properties, process by process; its last
    /// property is the invariant.
    fn graph(&self) -> Graph {
        let n_nodes = 1u32 << (LOCATION_BITS * self.n_processes);
        let edges = |node| {
            let next = self.next(&self.locations(node));
            next.iter().map(|it| Edge::to(node_of(it), 0)).collect()
        };
        let mut graph = Graph::new(2, &[0], (0..n_nodes).map(edges).collect());
        for wanted in &self.wanted {
            let reaching = |process: usize| {
                let is_wanted = |node: &u32| wanted.contains(&self.locations(*node)[process]);
                (0..n_nodes).filter(is_wanted).collect()
            };
            let reaching: Vec<Vec<u32>> = (0..self.n_processes).map(reaching).collect();
            let instances: Vec<&[u32]> = reaching.iter().map(Vec::as_slice).collect();
            graph.reach_each(GoalKind::Liveness, &instances);
        }
        let is_forbidden = |node: &u32| match self.forbidden {
            Some(forbidden) => self.locations(*node).contains(&forbidden),
            None => false,
        };
        let failing: Vec<(u32, bool)> = (0..n_nodes)
            .filter(is_forbidden)
            .map(|node| (node, false))
            .collect();
        graph.fail(&failing);
        graph
    }

    /// The same graph, reduced: the representative has its locations sorted.
    fn reduced_graph(&self) -> Graph {
        let n = self.n_processes;
        let class = |node| {
            let locations = self.locations(node);
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&process| locations[process]);
            let mut image_of = vec![0; n];
            for (image, &process) in order.iter().enumerate() {
                image_of[process] = image;
            }
            let sorted: Vec<u8> = order.iter().map(|&process| locations[process]).collect();
            let goals = 0..self.wanted.len() * n;
            Class {
                node: node_of(&sorted),
                goals: goals
                    .map(|goal| (goal / n * n + image_of[goal % n]) as u32)
                    .collect(),
            }
        };
        let mut graph = self.graph();
        let classes = (0..graph.nodes.len() as u32).map(class).collect();
        graph.reduction = Reduction::Classes(classes);
        graph
    }

    fn locations(&self, node: u32) -> Vec<u8> {
        let location = |process| (node >> (LOCATION_BITS * process)) as u8 % N_LOCATIONS;
        (0..self.n_processes).map(location).collect()
    }

    fn next(&self, locations: &[u8]) -> Vec<Vec<u8>> {
        let mut next = Vec::new();
        for step in &self.moves {
            for process in (0..self.n_processes).filter(|&it| locations[it] == step.from) {
                let others = (0..self.n_processes).filter(|&other| other != process);
                if let Some((location, is_there)) = step.condition
                    && others.clone().any(|it| locations[it] == location) != is_there
                {
                    continue;
                }
                let mut after = locations.to_vec();
                after[process] = step.to;
                if let Some((from, to)) = step.others {
                    for other in others.filter(|&other| locations[other] == from) {
                        after[other] = to;
                    }
                }
                next.push(after);
            }
        }
        next
    }
}

fn node_of(locations: &[u8]) -> u32 {
    let bits = |(process, &location)| u32::from(location) << (LOCATION_BITS * process);
    locations.iter().enumerate().map(bits).sum()
}

/// All nodes that can be reached from the start.
fn reachable(graph: &Graph) -> BTreeSet<u32> {
    let costs = graph.least_costs().into_iter();
    (0..)
        .zip(costs)
        .filter_map(|(node, cost)| cost.map(|_| node))
        .collect()
}

/// By node, whether the goal can be reached from there.
fn can_reach(graph: &Graph, goal: usize) -> Vec<bool> {
    let mut good = vec![false; graph.nodes.len()];
    for &node in &graph.reaching[goal] {
        good[node as usize] = true;
    }
    loop {
        let before = good.clone();
        for (node, edges) in graph.nodes.iter().enumerate() {
            let mut targets = edges.iter().filter_map(|edge| edge.target());
            good[node] |= targets.any(|target| before[target as usize]);
        }
        if good == before {
            return good;
        }
    }
}

#[test]
fn liveness_of_each_process_is_that_without_reduction() {
    let (mut n_live, mut n_dead, mut n_unsafe, mut n_renamed) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let processes = Processes::random(&mut Pcg64Mcg::seed_from_u64(seed));
        let (graph, reduced) = (processes.graph(), processes.reduced_graph());
        let (n, n_live_properties) = (processes.n_processes, processes.wanted.len());
        let all = reachable(&graph);
        let fails = |node: u32| graph.failing[n_live_properties].contains(&(node, false));
        let is_unsafe = all.iter().any(|&node| fails(node));
        let can_reach: Vec<Vec<bool>> = (0..n_live_properties * n)
            .map(|goal| can_reach(&graph, goal))
            .collect();
        let is_live = |goals: &[Vec<bool>]| {
            let all_reach = |goal: &Vec<bool>| all.iter().all(|&node| goal[node as usize]);
            (!is_unsafe).then(|| goals.iter().all(all_reach))
        };
        let live: Vec<Option<bool>> = can_reach.chunks(n).map(is_live).collect();
        for (graph, threads, on_disk) in [
            (&graph, 1, false),
            (&reduced, 1, false),
            (&reduced, 2, false),
            (&reduced, 2, true),
        ] {
            // Of the longer runs on disk a few suffice.
            if on_disk && seed % 4 > 0 {
                continue;
            }
            let context = format!("seed {seed}, {:?}", graph.reduction);
            let options = Options {
                deadlock: Deadlock::Off,
                max_errors: 10,
                threads,
                memory_bytes: if on_disk { 0 } else { u64::MAX },
                block_len: 3,
                buffer_len: [None, Some(2)][threads - 1],
                ..Options::default()
            };
            let folder = on_disk.then(scratch);
            let outcome = check(graph, &Auto, &options, folder, &Stop::new(), &mut Silent);
            let outcome = outcome.expect("the search has an outcome");
            assert_eq!(outcome.holds[..n_live_properties], live, "{context}");
            let n_expected = match is_unsafe {
                true => 1,
                false => live.iter().filter(|live| **live == Some(false)).count(),
            };
            assert_eq!(outcome.violations.len(), n_expected, "{context}");
            for violation in &outcome.violations {
                let trace = violation.trace.as_ref().expect("a trace");
                let end = trace.steps.last().expect("a step");
                let last = end.state.as_ref().expect("a state");
                let node = graph.decode(last);
                let instance: usize = violation.parameters[0].1.parse().expect("a number");
                match is_unsafe {
                    true => assert!(fails(node) && instance == node as usize, "{context}"),
                    false => {
                        // Goals are numbered from 1.
                        let goal = instance - 1;
                        assert_eq!(violation.property, Some((goal / n) as u32), "{context}");
                        assert!(!can_reach[goal][node as usize], "{context}: {goal}, {node}");
                    }
                }
                n_renamed += usize::from(end.stored.as_ref() != Some(last));
            }
            n_unsafe += usize::from(is_unsafe);
            n_live += usize::from(outcome.verdict == Verdict::Verified);
            n_dead += usize::from(outcome.verdict == Verdict::Violated && !is_unsafe);
        }
    }
    let least = n_live.min(n_dead).min(n_unsafe).min(n_renamed);
    assert!(least > 100, "{n_live} {n_dead} {n_unsafe} {n_renamed}");
}

/// Two processes take turns; sorted, they stay in one state for ever.
#[test]
fn a_step_to_the_same_representative_may_exchange_goals() {
    // First one process wakes; then the one asleep wakes and puts the other to sleep.
    let wake = |condition, others| Move {
        from: 0,
        to: 1,
        condition: Some((1, condition)),
        others,
    };
    let mut processes = Processes {
        n_processes: 2,
        moves: vec![wake(false, None), wake(true, Some((1, 0)))],
        wanted: vec![vec![1]],
        forbidden: None,
    };
    let run = |processes: &Processes, deadlock| {
        let options = Options {
            deadlock,
            ..Options::default()
        };
        let graph = processes.reduced_graph();
        check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent).expect("an outcome")
    };
    let outcome = run(&processes, Deadlock::default());
    assert_eq!((outcome.verdict, outcome.states), (Verdict::Verified, 2));
    // Without the exchange, the one that woke first stays awake.
    processes.moves.pop();
    let outcome = run(&processes, Deadlock::Off);
    assert_eq!((outcome.verdict, outcome.states), (Verdict::Violated, 2));
    let violation = &outcome.violations[0];
    assert_eq!(violation.depth, 1);
    // The first process wakes in the run shown, though it is sorted to the end; the goal that
    // cannot be reached is that of the second.
    assert_eq!(violation.parameters[0].1, "2");
}
