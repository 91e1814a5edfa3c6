//! Searches directed by estimates of any kind: admissible, inconsistent, constant, adversarial.
//!
//! The oracle is the algorithm written down plainly over nodes: whole ranks in ascending order, of
//! equal candidates the first, a state again where it is reached by a cheaper path. State by state,
//! rank by rank, the search must do the same, whatever threads, memory, disk and interruptions. Least
//! costs by brute force say what it must come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use hadal_model::{GoalKind, MeasureKind, Stop};
use hadal_search::{
    ByEstimate, ByTotal, Deadlock, DirectedFigures, Error, Options, Outcome, RankOrder, Ranked,
    SearchFolder, Silent, Verdict, Weight, check,
};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Effect, Graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::external::scratch;
use crate::ranks::Ranks;
use crate::resume::{always, resume_or_start_by};

/// Weighted graphs in which most nodes are reached by several paths of different costs.
fn weighted_graphs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Graph)> {
    seeds.map(|seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let n = match rng.random_range(0..12) {
            0 => rng.random_range(1..6),
            1..11 => rng.random_range(6..70),
            _ => rng.random_range(200..600),
        };
        let most_cost = [0, 1, 6, 30, 30, 90][rng.random_range(0..6)];
        // How far a step may lead, so that there are long paths and short ones.
        let reach = rng.random_range(2..=n.max(2));
        let most_edges = rng.random_range(2..5);
        let node = |from: u32| {
            let n_edges = rng.random_range(0..=most_edges) + u32::from(from % 8 != 7);
            let edge = |_| {
                let rule = rng.random_range(0..3);
                let step = rng.random_range(0..reach);
                let cost = rng.random_range(0..=most_cost);
                Edge::costly((from + step) % n, rule, cost)
            };
            (0..n_edges).map(edge).collect()
        };
        let nodes = (0..n).map(node).collect();
        let starts: Vec<u32> = (0..1 + seed as u32 % 3).map(|at| at * 7 % n).collect();
        let state_len = [2, 3, 9, 17][seed as usize % 4];
        (seed, Graph::new(state_len, &starts, nodes))
    })
}

/// Which order is searched in.
#[derive(Clone, Copy, Debug)]
enum Order {
    Total(Weight),
    Estimate,
}

impl Order {
    fn strategy<'s>(self) -> Ranked<'s> {
        match self {
            Order::Total(weight) => Ranked::new(ByTotal { weight }),
            Order::Estimate => Ranked::new(ByEstimate),
        }
    }

    fn rank(self, cost: u64, estimate: u32) -> u64 {
        match self {
            Order::Total(weight) => {
                let weighted = u64::from(estimate) * u64::from(weight.thousandths()) / 1000;
                (cost + weighted) << 32 | cost
            }
            Order::Estimate => u64::from(estimate),
        }
    }
}

/// What a search should do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    /// Nodes and ranks in the order of ordinals, those that are opened again behind the new ones.
    found: Vec<(u32, u64)>,
    generated: u64,
    reopened: u64,
    inconsistent: u64,
    /// By node, the least cost by which it was reached.
    costs: BTreeMap<u32, u64>,
}

/// The search of `graph`, to its end or up to the rank of the first of `goals`.
fn expected(graph: &Graph, order: Order, goals: &[u32]) -> Expected {
    let estimate = |node: u32| graph.measures[node as usize][0].expect("every node has one");
    let (mut open, mut expected) = (BTreeMap::new(), Expected::default());
    let push = |open: &mut BTreeMap<u64, Vec<(u32, u64)>>, node, cost| {
        let rank = order.rank(cost, estimate(node));
        open.entry(rank).or_default().push((node, cost));
    };
    for node in graph.starts.iter().filter_map(|edge| edge.target()) {
        push(&mut open, node, 0);
    }
    while let Some((rank, candidates)) = open.pop_first() {
        let (mut new, mut again) = (Vec::new(), Vec::new());
        for (node, cost) in candidates {
            match expected.costs.get(&node) {
                None => new.push((node, cost)),
                Some(&known) if matches!(order, Order::Total(_)) && cost < known => {
                    again.push((node, cost));
                }
                Some(_) => continue,
            }
            expected.costs.insert(node, cost);
        }
        expected.reopened += again.len() as u64;
        new.append(&mut again);
        expected
            .found
            .extend(new.iter().map(|&(node, _)| (node, rank)));
        if new.iter().any(|(node, _)| goals.contains(node)) {
            break;
        }
        for (source, cost) in new {
            for edge in &graph.nodes[source as usize] {
                let Effect::To {
                    node, cost: step, ..
                } = edge.effect
                else {
                    continue;
                };
                let step = match graph.measures[node as usize].get(1) {
                    Some(measured) => measured.expect("every node has one"),
                    None => step,
                };
                expected.generated += 1;
                let after = u64::from(step) + u64::from(estimate(node));
                expected.inconsistent += u64::from(u64::from(estimate(source)) > after);
                push(&mut open, node, cost + u64::from(step));
            }
        }
    }
    expected
}

/// By node, the least cost of a path to one of `goals`.
fn distances(graph: &Graph, goals: &[u32]) -> Vec<Option<u64>> {
    let mut distances = vec![None; graph.nodes.len()];
    for &goal in goals {
        distances[goal as usize] = Some(0);
    }
    loop {
        let before = distances.clone();
        for (source, edges) in graph.nodes.iter().enumerate() {
            for edge in edges {
                if let Effect::To { node, cost, .. } = edge.effect
                    && let Some(left) = distances[node as usize]
                {
                    let through: u64 = left + u64::from(cost);
                    let least = distances[source].unwrap_or(through);
                    distances[source] = Some(least.min(through));
                }
            }
        }
        if distances == before {
            return distances;
        }
    }
}

/// Gives every node an estimate of some kind; returns whether none is too high for `goals`.
fn set_estimates(graph: &mut Graph, goals: &[u32], rng: &mut Pcg64Mcg) -> bool {
    let left = distances(graph, goals);
    let n = graph.nodes.len();
    let kind = rng.random_range(0..10);
    let most = [10, 40, 200, 2000][rng.random_range(0..4)];
    let mut of = |node: usize| -> u32 {
        let least = left[node].map_or(60, |it| it as u32);
        match kind {
            // Exact, and where the goals cannot be reached anything.
            0 => least,
            // Admissible, and hardly ever consistent.
            1 => rng.random_range(0..=least),
            2 => 7,
            // High along the best paths.
            3 => 200u32.saturating_sub(least),
            4 => least * rng.random_range(1..4),
            _ => rng.random_range(0..most),
        }
    };
    let estimates: Vec<u32> = (0..n).map(&mut of).collect();
    let is_admissible =
        (0..n).all(|node| left[node].is_none_or(|it| u64::from(estimates[node]) <= it));
    let kind = MeasureKind::Estimate { is_admissible };
    graph.measure(kind, estimates.into_iter().map(Some));
    is_admissible
}

fn random_order(rng: &mut Pcg64Mcg) -> Order {
    match rng.random_range(0..6) {
        0 => Order::Estimate,
        1 => Order::Total(Weight::from_thousandths(1500).expect("it is a weight")),
        2 => Order::Total(Weight::from_thousandths(4000).expect("it is a weight")),
        _ => Order::Total(Weight::default()),
    }
}

fn search(
    graph: &Graph,
    order: Order,
    options: &Options,
    folder: Option<SearchFolder>,
) -> (Outcome, Ranks) {
    let mut ranks = Ranks {
        state_len: graph.shape.state_len,
        ..Ranks::default()
    };
    let strategy = order.strategy().with_sink(&mut ranks);
    let outcome = check(graph, &strategy, options, folder, &Stop::new(), &mut Silent);
    drop(strategy);
    (outcome.unwrap_or_else(|error| panic!("{error}")), ranks)
}

fn assert_as_expected(graph: &Graph, expected: &Expected, outcome: &Outcome, ranks: &Ranks) {
    let found = ranks.found.iter();
    let found: Vec<(u32, u64)> = found
        .map(|(state, rank)| (graph.decode(state), *rank))
        .collect();
    assert_eq!(found, expected.found);
    assert_eq!(outcome.states, expected.costs.len() as u64);
    assert_eq!(figures(outcome).reopened, expected.reopened);
}

fn figures(outcome: &Outcome) -> &DirectedFigures {
    outcome.directed.as_ref().expect("it is directed")
}

/// Ways to search that must make no difference: threads, memory, and whether there is a disk.
const WAYS: [(usize, u64, bool); 6] = [
    (1, u64::MAX, false),
    (4, u64::MAX, false),
    (1, 0, true),
    (2, 3_000, true),
    (4, 30_000, true),
    (2, 200_000, true),
];

fn options(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        deadlock: Deadlock::Off,
        buffer_len: Some(5 * threads),
        block_len: 4,
        ..Options::default()
    }
}

#[test]
fn everything_is_visited_in_the_one_order_whatever_the_estimates() {
    let (mut n_graphs, mut n_reopened, mut n_external) = (0, 0, 0);
    // `HADAL_DIRECTED_GRAPHS` asks for more, each in two ways.
    let asked = std::env::var("HADAL_DIRECTED_GRAPHS").ok();
    let asked: Option<u64> = asked.map(|n| n.parse().expect("a number of graphs"));
    for (seed, mut graph) in weighted_graphs(8000..8000 + asked.unwrap_or(150)) {
        let ways = match asked {
            None => WAYS.to_vec(),
            Some(_) => vec![WAYS[0], WAYS[1 + seed as usize % 5]],
        };
        let mut rng = Pcg64Mcg::seed_from_u64(seed ^ 0x5eed);
        let target = rng.random_range(0..graph.nodes.len() as u32);
        set_estimates(&mut graph, &[target], &mut rng);
        let has_costs = rng.random_bool(0.2);
        if has_costs {
            let costs: Vec<_> = graph
                .nodes
                .iter()
                .map(|_| Some(rng.random_range(0..5)))
                .collect();
            graph.measure(MeasureKind::Cost, costs);
        }
        let order = random_order(&mut rng);
        let expected = expected(&graph, order, &[]);
        if matches!(order, Order::Total(_)) && !has_costs {
            let least = graph.least_costs().into_iter().enumerate();
            let least: BTreeMap<u32, u64> = least
                .filter_map(|(node, cost)| Some((node as u32, cost?)))
                .collect();
            assert_eq!(expected.costs, least, "seed {seed}: the oracle is wrong");
        }
        for (threads, memory_bytes, on_disk) in ways {
            let options = options(threads, memory_bytes);
            let (outcome, ranks) = search(&graph, order, &options, on_disk.then(scratch));
            assert_eq!(outcome.verdict, Verdict::Verified, "seed {seed}");
            assert_as_expected(&graph, &expected, &outcome, &ranks);
            let figures = figures(&outcome);
            let expanded = expected.found.len() as u64;
            assert_eq!(
                (figures.expanded, figures.generated, figures.inconsistent),
                (expanded, expected.generated, expected.inconsistent),
                "seed {seed}"
            );
            assert_eq!(figures.cost, None);
            n_external += u32::from(outcome.disk.written_bytes > 0);
        }
        n_graphs += 1;
        n_reopened += u32::from(expected.reopened > 0);
    }
    assert!(
        3 * n_reopened > n_graphs,
        "{n_reopened} of {n_graphs} open states again"
    );
    assert!(n_external > n_graphs / 2, "{n_external} went to disk");
}

#[test]
fn the_first_violation_costs_least_where_that_is_claimed() {
    let (mut n_claimed, mut n_dearer, mut n_found) = (0, 0, 0);
    for (seed, mut graph) in weighted_graphs(8700..8850) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed ^ 0x60a1);
        let n = graph.nodes.len() as u32;
        let goals: Vec<u32> = (0..rng.random_range(1..4))
            .map(|_| rng.random_range(0..n))
            .collect();
        let is_admissible = set_estimates(&mut graph, &goals, &mut rng);
        let costs = graph.least_costs();
        let least = goals.iter().filter_map(|&goal| costs[goal as usize]).min();
        let failing: Vec<(u32, bool)> = goals.iter().map(|&goal| (goal, false)).collect();
        graph.fail(&failing);
        let order = random_order(&mut rng);
        let expected = expected(&graph, order, &goals);
        let may_claim = matches!(order, Order::Total(weight) if weight == Weight::default());
        let mut first: Option<Outcome> = None;
        for (threads, memory_bytes, on_disk) in WAYS {
            let options = options(threads, memory_bytes);
            let (outcome, ranks) = search(&graph, order, &options, on_disk.then(scratch));
            assert_as_expected(&graph, &expected, &outcome, &ranks);
            let figures = figures(&outcome);
            let Some(least) = least else {
                assert_eq!(outcome.verdict, Verdict::Verified, "seed {seed}");
                continue;
            };
            assert_eq!(outcome.verdict, Verdict::Violated, "seed {seed}");
            assert_eq!(figures.is_least, may_claim && is_admissible, "seed {seed}");
            let cost = figures.cost.expect("there is a run");
            assert!(cost >= least, "seed {seed}");
            assert!(
                !figures.is_least || cost == least,
                "seed {seed}: {cost}, not {least}"
            );
            let trace = outcome.violations[0].trace.as_ref().expect("a trace");
            let nodes: Vec<u32> = (trace.steps.iter())
                .filter_map(|step| Some(graph.decode(step.state.as_ref()?)))
                .collect();
            let of_steps = trace.steps[1..].iter().zip(&nodes).map(|(step, &from)| {
                match graph.nodes[from as usize][step.index as usize].effect {
                    Effect::To { cost, .. } => u64::from(cost),
                    _ => panic!("a step that leads nowhere"),
                }
            });
            assert_eq!(of_steps.sum::<u64>(), cost, "seed {seed}");
            n_claimed += u32::from(figures.is_least);
            n_dearer += u32::from(cost > least);
            n_found += 1;
            match &first {
                None => first = Some(outcome),
                Some(first) => {
                    assert_eq!(first.violations, outcome.violations, "seed {seed}");
                    assert_eq!(first.directed, outcome.directed, "seed {seed}");
                }
            }
        }
    }
    assert!(
        n_claimed > 25 && n_dearer > 25 && n_found > 250,
        "{n_claimed}, {n_dearer}, {n_found}"
    );
}

#[test]
fn a_directed_search_may_crash_at_any_operation_of_its_disk() {
    let (mut n_crashes, mut n_reopened) = (0, 0);
    for (seed, mut graph) in weighted_graphs(9400..9418) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let target = rng.random_range(0..graph.nodes.len() as u32);
        set_estimates(&mut graph, &[target], &mut rng);
        let order = random_order(&mut rng);
        let expected = expected(&graph, order, &[]);
        if expected.found.len() < 8 {
            continue;
        }
        n_reopened += u32::from(expected.reopened > 0);
        for memory_bytes in [0, 3_000, 1 << 20] {
            let options = |threads| Options {
                deadlock: Deadlock::Off,
                ..always(threads, memory_bytes)
            };
            let whole = Arc::new(CrashDisk::new());
            resume_or_start_by(&order.strategy(), &graph, &options(2), &whole)
                .expect("nothing fails");
            let n_operations = whole.n_operations();
            for n in (0..n_operations).step_by((n_operations / 20).max(1) as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                if resume_or_start_by(&order.strategy(), &graph, &options(2), &disk).is_ok() {
                    continue;
                }
                n_crashes += 1;
                // With other threads and memory.
                let left = Arc::new(disk.crash(n));
                let other = Options {
                    memory_bytes: [0, 5_000, 1 << 21][n as usize % 3],
                    ..options(1 + n as usize % 3)
                };
                let outcome = resume_or_start_by(&order.strategy(), &graph, &other, &left);
                let outcome = outcome.unwrap_or_else(|error| panic!("{n}: {error}"));
                assert_eq!(
                    outcome.states,
                    expected.costs.len() as u64,
                    "seed {seed}, {n}"
                );
                let figures = figures(&outcome);
                assert_eq!(
                    (figures.expanded, figures.reopened, figures.inconsistent),
                    (
                        expected.found.len() as u64,
                        expected.reopened,
                        expected.inconsistent
                    ),
                    "seed {seed}, operation {n}"
                );
            }
        }
    }
    assert!(
        n_crashes > 200 && n_reopened > 4,
        "{n_crashes}, {n_reopened}"
    );
}

#[test]
fn verdicts_are_those_of_a_search_by_depth() {
    for (seed, mut graph) in weighted_graphs(9500..9560) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let n = graph.nodes.len() as u32;
        let target = rng.random_range(0..n);
        set_estimates(&mut graph, &[target], &mut rng);
        let reaching: Vec<u32> = (0..n).filter(|_| rng.random_bool(0.2)).collect();
        graph.reach(GoalKind::CoverState, &reaching);
        graph.reach(GoalKind::Liveness, &reaching);
        let failing: Vec<(u32, bool)> = (0..rng.random_range(0..3))
            .map(|_| (rng.random_range(0..n), rng.random_bool(0.3)))
            .collect();
        graph.fail(&failing);
        let all = |threads, memory| Options {
            max_errors: 1000,
            deadlock: Deadlock::default(),
            ..options(threads, memory)
        };
        let strategy = Ranked::by_depth();
        let by_depth = check(
            &graph,
            &strategy,
            &all(1, u64::MAX),
            None,
            &Stop::new(),
            &mut Silent,
        );
        let by_depth = by_depth.expect("nothing fails");
        let subjects = |outcome: &Outcome| {
            let mut subjects: Vec<String> = (outcome.violations.iter())
                // Of deadlocks and of the violations of a property the first one is reported.
                .map(|it| format!("{:?} {}", it.kind, it.name))
                .collect();
            subjects.sort();
            subjects
        };
        let order = random_order(&mut rng);
        for (threads, memory_bytes, on_disk) in WAYS {
            let (outcome, _) = search(
                &graph,
                order,
                &all(threads, memory_bytes),
                on_disk.then(scratch),
            );
            assert_eq!(outcome.verdict, by_depth.verdict, "seed {seed}");
            assert_eq!(outcome.holds, by_depth.holds, "seed {seed}");
            assert_eq!(outcome.goals, by_depth.goals, "seed {seed}");
            assert_eq!(outcome.states, by_depth.states, "seed {seed}");
            // Which state of many is the least violation of liveness depends on the order.
            if outcome.holds.get(1) != Some(&Some(false)) {
                assert_eq!(subjects(&outcome), subjects(&by_depth), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_state_without_an_estimate_ends_the_search() {
    for (_, mut graph) in weighted_graphs(9700..9704) {
        let n = graph.nodes.len();
        graph.measure(
            MeasureKind::Estimate {
                is_admissible: true,
            },
            vec![None; n],
        );
        for order in [Order::Estimate, Order::Total(Weight::default())] {
            let options = options(2, u64::MAX);
            let outcome = check(
                &graph,
                &order.strategy(),
                &options,
                None,
                &Stop::new(),
                &mut Silent,
            );
            let Err(Error::Unmeasured { measure, message }) = outcome else {
                panic!("there are no estimates: {outcome:?}");
            };
            assert_eq!(measure, "estimate");
            assert!(message.ends_with("has none"), "{message}");
        }
        let plain = Graph {
            measures: Vec::new(),
            shape: hadal_model::Shape {
                measures: Vec::new(),
                ..graph.shape.clone()
            },
            ..graph
        };
        let outcome = check(
            &plain,
            &Ranked::new(ByEstimate),
            &options(1, 0),
            None,
            &Stop::new(),
            &mut Silent,
        );
        assert!(matches!(
            outcome,
            Err(Error::NoEstimate {
                strategy: "best-first"
            })
        ));
    }
}

#[test]
fn costs_that_do_not_fit_a_rank_end_the_search() {
    for (_, mut graph) in weighted_graphs(9710..9716) {
        let n = graph.nodes.len();
        graph.measure(
            MeasureKind::Estimate {
                is_admissible: false,
            },
            vec![Some(u32::MAX); n],
        );
        graph.measure(MeasureKind::Cost, vec![Some(1); n]);
        let expected = graph.starts.iter().filter_map(|edge| edge.target());
        let has_steps = expected
            .map(|node| graph.nodes[node as usize].len())
            .any(|n| n > 0);
        let order = Order::Total(Weight::default());
        let outcome = check(
            &graph,
            &order.strategy(),
            &options(2, u64::MAX),
            None,
            &Stop::new(),
            &mut Silent,
        );
        assert_eq!(
            matches!(outcome, Err(Error::TooCostly)),
            has_steps,
            "{outcome:?}"
        );
    }
    assert_eq!(ByTotal::default().name(), "a-star");
}
