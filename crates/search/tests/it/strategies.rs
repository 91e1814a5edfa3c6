//! The strategies on random graphs, at full and at small budgets, against the oracle.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::{
    Cursor, Expander, Failure, Flow, GoalKind, Model, Shape, States, Step, Stop, Successors,
};
use hadal_search::{
    Deadlock, Layers, MonoTable, Options, Outcome, Silent, SnapshotSetup, StateCacheSpec,
    StoreKind, Strategy, StrategyOptions, Value, check_with,
};
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::graph::{Edge, Graph};
use crate::oracle::{Expected, expect};
use crate::random::{random_graph, tell};

/// Every strategy, with small parameters where those of its paper are made for large models.
pub(crate) fn strategies() -> Vec<Strategy> {
    let mut all = Strategy::all().to_vec();
    all.push(Strategy::Mono {
        table: MonoTable::Open,
    });
    for table in [MonoTable::Open, MonoTable::Chained] {
        all.push(Strategy::Local {
            table,
            blocks: 7,
            min_block: 3,
            calibrate_every: 4,
            initial_share: 0.3,
        });
    }
    all.push(Strategy::Part { partitions: 5 });
    for (layers, cache) in [
        (Layers::Fixed(0), true),
        (Layers::Fixed(1), false),
        (Layers::Fixed(3), true),
        (Layers::Auto, true),
        (Layers::Auto, false),
    ] {
        all.push(Strategy::Layered { layers, cache });
    }
    for (setup, backtracking, bounded) in [
        ("pebble", true, false),
        ("pebble", false, true),
        ("frontier-safety-net", false, true),
        ("(c1,lru,2)", true, true),
        ("(c3,mfu,1)(o3+2,rnd,2)(c1,mru,1)", true, false),
    ] {
        all.push(Strategy::Snapshots {
            setup: SnapshotSetup::parse(setup).expect("it is right"),
            backtracking,
            bounded,
        });
    }
    for caches in ["(lru,100)", "(rnd,40)(lfu,30)(mru,30)"] {
        all.push(Strategy::DfsCache {
            caches: StateCacheSpec::parse_all(caches).expect("it is right"),
            states: None,
            most_visited: None,
        });
    }
    all
}

/// Whether a strategy never visits a state twice, and always ends.
fn is_exact(strategy: &Strategy) -> bool {
    matches!(strategy, Strategy::Mono { .. } | Strategy::Part { .. })
}

/// Whether it expands states in the order of their depth.
pub(crate) fn is_by_layers(strategy: &Strategy) -> bool {
    !matches!(strategy, Strategy::Part { .. } | Strategy::DfsCache { .. })
}

/// What remains of an expectation where a goal that is not reached proves nothing.
fn by_signatures(graph: &Graph, options: &Options, store: StoreKind) -> Expected {
    let mut expected = expect(graph, options);
    let is_clean = expected.complete && expected.violations.iter().all(|v| v.kind == "cover");
    let mut is_open = false;
    for (holds, property) in expected.holds.iter_mut().zip(&graph.shape.properties) {
        if store != StoreKind::Exact && property.kind.name() == "cover" && *holds == Some(false) {
            (*holds, is_open) = (None, true);
        }
    }
    if is_open {
        expected.violations.retain(|found| found.kind != "cover");
    }
    let mut expected = without_liveness(graph, options, expected);
    if is_open && is_clean {
        expected.complete = false;
        expected.verdict = "incomplete";
    }
    expected
}

/// What remains of an expectation where liveness is not decided.
fn without_liveness(graph: &Graph, options: &Options, mut expected: Expected) -> Expected {
    let is_liveness = |goal: &&hadal_model::Goal| goal.kind == GoalKind::Liveness;
    let goals: Vec<_> = graph.shape.goals.iter().filter(is_liveness).collect();
    for goal in &goals {
        expected.holds[goal.property as usize] = None;
    }
    expected.violations.retain(|found| found.kind != "liveness");
    let violations = &expected.violations;
    let is_clean = expected.complete && violations.iter().all(|found| found.kind == "cover");
    if !goals.is_empty() && is_clean && violations.len() < options.max_errors {
        expected.complete = false;
        expected.reason = Some("liveness");
    }
    expected.verdict = match (violations.is_empty(), expected.complete) {
        (false, _) => "violated",
        (true, true) => "verified",
        (true, false) => "incomplete",
    };
    expected
}

/// One run, and everything that must be so.
struct Case<'a> {
    graph: &'a Graph,
    options: &'a Options,
    strategy: &'a Strategy,
    own: StrategyOptions,
    expected: &'a Expected,
    /// All that can be found, however many violations are asked for.
    all: &'a Expected,
}

impl Case<'_> {
    /// Runs it; says how it went.
    fn check(&self) -> (String, Outcome) {
        let run = || {
            let stop = Stop::new();
            check_with(
                self.graph,
                self.strategy,
                &self.own,
                self.options,
                &stop,
                &mut Silent,
            )
        };
        let mut outcome = run().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!(outcome.violations, run().expect("it went once").violations);
        let is_shortest = outcome.strategy_stats.count("shortest_trace");
        let by_layers = is_by_layers(self.strategy);
        assert_eq!(is_shortest, Some(u64::from(by_layers)), "{self:?}");
        if !by_layers {
            assert!(outcome.layers.is_empty());
            outcome.layers = vec![0; outcome.depth as usize + 1];
        }
        let told = tell(self.graph, self.options, &outcome);
        let distinct = outcome.strategy_stats.count("distinct");
        if outcome.states_exact {
            assert!(distinct.is_none_or(|n| n == told.states), "{self:?}");
        } else {
            assert!(!is_exact(self.strategy), "{self:?}");
            assert_eq!(distinct.is_some(), self.own.count_distinct, "{self:?}");
        }
        assert!(
            !(told.reason.is_some() && told.verdict == "verified"),
            "{self:?}"
        );
        assert!(told.reason != Some("time"), "{self:?} does not end");
        let name = self.strategy.name();
        let way = match told.reason {
            Some(reason @ ("memory" | "collisions" | "revisits")) => {
                assert!(!is_exact(self.strategy), "{self:?} stopped: {reason}");
                self.is_part(&told);
                format!("{name} {reason}")
            }
            // What the bound cuts off may have been there before.
            Some("bound") if self.expected.reason != told.reason => {
                assert!(!is_exact(self.strategy), "{self:?}");
                self.is_part(&told);
                format!("{name} bound")
            }
            _ => {
                self.is_whole(&told, &outcome);
                let is_again = told.visited > told.states;
                format!("{name} ended{}", if is_again { " again" } else { "" })
            }
        };
        (way, outcome)
    }

    /// A search that came to its end.
    fn is_whole(&self, told: &Expected, outcome: &Outcome) {
        let expected = self.expected;
        let by_layers = is_by_layers(self.strategy);
        if by_layers && (is_exact(self.strategy) || *self.strategy == Strategy::Ram) {
            assert_eq!(told, expected, "{self:?}");
            return;
        }
        let summary = |told: &Expected| (told.verdict, told.complete, told.reason);
        assert_eq!(summary(told), summary(expected), "{self:?}");
        let kinds = |told: &Expected, with_depth: bool| {
            let mut kinds: Vec<(&str, String, u32)> = (told.violations.iter())
                .map(|found| {
                    let depth = if with_depth { found.depth } else { 0 };
                    (found.kind, found.name.clone(), depth)
                })
                .collect();
            kinds.sort();
            kinds
        };
        let is_cut = told.violations.len() == self.options.max_errors;
        if is_cut && matches!(self.strategy, Strategy::Layered { .. }) {
            // Within a layer states come in the order of their hashes, so it may be others of the
            // same depth that are found first.
            let depths = |told: &Expected| -> Vec<u32> {
                let found = told.violations.iter().filter(|found| found.kind != "cover");
                found.map(|found| found.depth).collect()
            };
            assert_eq!(depths(told), depths(expected), "{self:?}");
            self.are_known(told);
        } else if by_layers || told.violations.len() == self.all.violations.len() {
            // A goal that is not reached has the depth of the search.
            let with_depth = by_layers && told.violations.iter().all(|v| v.kind != "cover");
            let (told, expected) = (kinds(told, with_depth), kinds(expected, with_depth));
            assert_eq!(told, expected, "{self:?}");
            for (told, expected) in outcome.holds.iter().zip(&self.expected.holds) {
                // What one order finds before a violation, another may not.
                let is_same = told == expected || !by_layers && told.is_none() | expected.is_none();
                assert!(is_same, "{self:?}: {:?}", outcome.holds);
            }
        } else {
            assert_eq!(told.violations.len(), self.options.max_errors);
            self.are_known(told);
        }
        let is_counted = outcome.states_exact || self.own.count_distinct;
        if is_counted && (by_layers || told.violations.is_empty()) {
            assert_eq!(told.states, expected.states, "{self:?}");
        }
        // Who remembers everything visits nothing twice.
        if outcome.states_exact {
            assert!(told.visited <= told.states, "{self:?}");
        }
        if by_layers {
            assert!(told.visited >= expected.visited, "{self:?}");
        }
        if is_exact(self.strategy) && told.violations.is_empty() {
            assert_eq!(told.visited, expected.visited, "{self:?}");
            assert_eq!(told.transitions, expected.transitions, "{self:?}");
            assert_eq!(told.goals, expected.goals, "{self:?}");
        }
        let revisits = outcome.strategy_stats.count("revisits");
        if let (Some(revisits), true) = (revisits, by_layers) {
            let admitted: u64 = outcome.layers.iter().sum();
            assert_eq!(revisits, admitted - told.states);
        }
    }

    /// A search that was stopped has visited a part, and says so.
    fn is_part(&self, told: &Expected) {
        assert!(!told.complete && told.verdict != "verified", "{self:?}");
        if self.own.count_distinct {
            assert!(told.states <= self.all.states, "{self:?}");
        }
        assert!(
            told.holds.iter().all(|holds| *holds != Some(true)) || !self.graph.reaching.is_empty()
        );
        self.are_known(told);
        if *self.strategy == Strategy::Ram && self.options.max_errors >= 100 {
            self.are_all_told(told);
        }
    }

    /// What lies in the part that was visited is told, where states come in the oracle's order:
    /// failures of states that were found, and the rest of those that were expanded.
    fn are_all_told(&self, told: &Expected) {
        for known in &self.all.violations {
            let n = match known.name.starts_with("property") {
                true => told.states,
                false => told.visited,
            };
            if known.kind != "cover" && known.ordinal.is_some_and(|ordinal| ordinal < n) {
                let is_told = told.violations.iter().any(|found| found == known);
                assert!(is_told, "{self:?}: {known:?} is missing");
            }
        }
    }

    /// Violations that there are.
    fn are_known(&self, told: &Expected) {
        for found in &told.violations {
            let known = (self.all.violations.iter())
                .find(|known| (known.kind, &known.name) == (found.kind, &found.name));
            let known = known.unwrap_or_else(|| panic!("{self:?}: {found:?}"));
            if found.kind == "cover" {
                continue;
            }
            match is_by_layers(self.strategy) {
                true => assert_eq!(found.depth, known.depth, "{self:?}"),
                false => assert!(found.depth >= known.depth, "{self:?}"),
            }
        }
    }
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} {:?}", self.strategy, self.own, self.options)
    }
}

#[test]
fn strategies_agree_with_the_oracle() {
    let mut ways = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..N_GRAPHS {
        let mut rng = Pcg64Mcg::seed_from_u64(seed ^ 0x5eed);
        let graph = random_graph(&mut rng);
        let options = Options {
            // None of them takes long.
            time_limit: Some(Duration::from_secs(20)),
            deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off]
                [rng.random_range(0..3)],
            bound: [None, None, Some(0), Some(3)][rng.random_range(0..4)],
            max_errors: [1, 1, 2, 100][rng.random_range(0..4)],
            block_len: [1, 7, 1024][rng.random_range(0..3)],
            buffer_len: [None, Some(1), Some(5)][rng.random_range(0..3)],
            ..Options::default()
        };
        for mut strategy in strategies() {
            let mut options = options.clone();
            if !is_by_layers(&strategy) {
                options.bound = None;
            }
            let many = Options {
                max_errors: 1000,
                ..options.clone()
            };
            let all = by_signatures(&graph, &many, StoreKind::Exact);
            // No state to start from, and no fault to report.
            if all.states == 0 && all.violations.is_empty() {
                continue;
            }
            // It would take too long to wait for its end.
            if let Strategy::DfsCache { most_visited, .. } = &mut strategy {
                *most_visited = Some(10 * all.states);
            }
            let needed = all.states * (graph.shape.state_len as u64 + 9);
            for budget_bytes in [1 << 26, needed / 2, needed / 10] {
                let store = [
                    StoreKind::Exact,
                    StoreKind::Exact,
                    StoreKind::Hash64,
                    StoreKind::Hash96,
                    StoreKind::Hash128,
                ][rng.random_range(0..5)];
                let expected = by_signatures(&graph, &options, store);
                let all = by_signatures(&graph, &many, store);
                let case = Case {
                    graph: &graph,
                    options: &options,
                    strategy: &strategy,
                    own: StrategyOptions {
                        budget_bytes,
                        store,
                        seed,
                        active_share: 1.0,
                        count_distinct: rng.random_range(0..4) > 0,
                        ..StrategyOptions::default()
                    },
                    expected: &expected,
                    all: &all,
                };
                let (way, outcome) = case.check();
                if budget_bytes == 1 << 26 && strategy == Strategy::Ram {
                    assert!(way == "ram ended", "{case:?}: {way}");
                }
                assert!(outcome.strategy_stats.iter().count() > 3);
                *ways.entry(way).or_default() += 1;
            }
        }
    }
    // Each strategy must have come to its limits.
    for way in WAYS {
        assert!(ways.contains_key(*way), "no `{way}` in {ways:?}");
    }
}

const N_GRAPHS: u64 = 150;
const WAYS: &[&str] = &[
    "ram ended",
    "ram memory",
    "cache ended",
    "cache ended again",
    "cache collisions",
    "mono ended",
    "local ended",
    "local ended again",
    "part ended",
    "layered ended",
    "layered ended again",
    "layered revisits",
    "snapshots ended",
    "snapshots ended again",
    "snapshots memory",
    "dfs-cache ended",
    "dfs-cache ended again",
    "dfs-cache revisits",
];

fn run(graph: &Graph, strategy: &Strategy, own: &StrategyOptions) -> Outcome {
    let (options, stop) = (Options::default(), Stop::new());
    check_with(graph, strategy, own, &options, &stop, &mut Silent).expect("it runs")
}

fn edges(nodes: &[&[u32]]) -> Vec<Vec<Edge>> {
    let edges = |targets: &&[u32]| targets.iter().map(|&to| Edge::To(to, 0)).collect();
    nodes.iter().map(edges).collect()
}

/// The graph that refutes Lemma 1 of the caching paper: with distances 3, 5, 7 and so on a single
/// snapshot is now {a}, now {c}, and the search circles around the other one.
#[test]
fn growing_distances_alone_do_not_make_an_end() {
    let graph = Graph::new(2, &[0], edges(&[&[1, 2], &[0], &[3, 0], &[2]]));
    for (bounded, reason) in [(true, Some("revisits")), (false, None)] {
        let strategy = Strategy::Snapshots {
            setup: SnapshotSetup::parse("(o3+2,llnr,1)").expect("it is right"),
            backtracking: false,
            bounded,
        };
        let outcome = run(&graph, &strategy, &StrategyOptions::default());
        assert_eq!(outcome.reason.map(|reason| reason.name()), reason);
        assert_eq!(outcome.states, 4);
        assert_eq!(outcome.strategy_stats.count("all_visited"), Some(1));
        assert_eq!(
            strategy
                .remark()
                .is_some_and(|text| text.contains("need not end")),
            bounded
        );
        match bounded {
            true => assert!(outcome.depth > 60 && outcome.verdict.name() == "incomplete"),
            false => assert!(outcome.depth < 20 && outcome.verdict.name() == "verified"),
        }
    }
}

/// A ring, whose last state leads back to the first: a window of layers never sees it again.
fn ring(n: u32) -> Graph {
    let nodes: Vec<Vec<Edge>> = (0..n).map(|at| vec![Edge::To((at + 1) % n, 0)]).collect();
    Graph::new(3, &[0], nodes)
}

#[test]
fn layers_that_only_repeat_are_noticed() {
    let graph = ring(100);
    let own = StrategyOptions {
        budget_bytes: 200,
        ..StrategyOptions::default()
    };
    for (layers, reason) in [
        (Layers::Fixed(10), Some("revisits")),
        (Layers::Fixed(100), None),
        (Layers::Auto, None),
    ] {
        let strategy = Strategy::Layered {
            layers,
            cache: true,
        };
        let outcome = run(&graph, &strategy, &own);
        assert_eq!(
            outcome.reason.map(|reason| reason.name()),
            reason,
            "{layers:?}"
        );
        assert_eq!(outcome.states, 100);
        let remembers = layers == Layers::Fixed(100);
        assert_eq!(outcome.states_exact, remembers, "{layers:?}");
        let stats = &outcome.strategy_stats;
        assert_eq!(stats.count("distinct"), Some(100));
        assert_eq!(stats.count("all_visited"), Some(1));
        let missed = stats.count("duplicates_missed");
        assert_eq!(missed, Some(outcome.layers.iter().sum::<u64>() - 100));
        assert_eq!(missed > Some(0), !remembers);
    }
}

/// A row of diamonds has so many paths that a search which forgets would never come to an end.
#[test]
fn a_depth_first_search_that_only_repeats_itself_is_stopped() {
    let n_diamonds = 60;
    let mut nodes = Vec::new();
    for at in 0..n_diamonds {
        let (left, right, next) = (3 * at + 1, 3 * at + 2, 3 * at + 3);
        nodes.extend([vec![left, right], vec![next], vec![next]]);
    }
    nodes.push(Vec::new());
    let nodes: Vec<&[u32]> = nodes.iter().map(Vec::as_slice).collect();
    let graph = Graph::new(3, &[0], edges(&nodes));
    let n_states = 3 * u64::from(n_diamonds) + 1;
    for (states, count_distinct, reason) in [
        (n_states, true, None),
        (3, true, Some("revisits")),
        (3, false, Some("revisits")),
    ] {
        let strategy = Strategy::DfsCache {
            caches: StateCacheSpec::parse_all("(lru,100)").expect("it is right"),
            states: Some(states),
            most_visited: None,
        };
        let own = StrategyOptions {
            count_distinct,
            ..StrategyOptions::default()
        };
        let options = Options {
            deadlock: Deadlock::Off,
            time_limit: Some(Duration::from_secs(60)),
            ..Options::default()
        };
        let stop = Stop::new();
        let outcome = check_with(&graph, &strategy, &own, &options, &stop, &mut Silent);
        let outcome = outcome.expect("it runs");
        assert_eq!(outcome.reason.map(|reason| reason.name()), reason);
        assert_eq!(outcome.states_exact, reason.is_none());
        let all_visited = outcome.strategy_stats.count("all_visited");
        assert_eq!(all_visited, Some(u64::from(reason.is_none())));
        // More than enough visits to find anything new, but no more than that.
        let limits = match reason {
            None => n_states..=n_states,
            Some(_) => 2048..=400 * n_states,
        };
        assert!(limits.contains(&outcome.visited), "{}", outcome.visited);
        match count_distinct {
            true => assert!(outcome.states <= n_states),
            false => assert_eq!(outcome.states, outcome.visited),
        }
    }
}

/// A graph, and when somebody wants the search to end.
struct Interrupted<'a> {
    graph: &'a Graph,
    when: When,
}

#[derive(Clone, Copy, Debug)]
enum When {
    /// This node was found.
    Found(u32),
    /// Many new states are judged at once.
    Judged,
}

struct InterruptedExpander<'a> {
    expander: Box<dyn Expander + 'a>,
    of: &'a Interrupted<'a>,
    stop: &'a Stop,
}

impl Model for Interrupted<'_> {
    fn shape(&self) -> &Shape {
        self.graph.shape()
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(InterruptedExpander {
            expander: self.graph.expander(stop),
            of: self,
            stop,
        })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.graph.describe_state(state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        self.graph.describe_step(parent, index)
    }
}

impl Expander for InterruptedExpander<'_> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        self.expander.starts(from, out)
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        self.expander.expand(block, from, out)
    }

    /// The last thing that is asked of a model before its successors are looked up.
    fn canonicalise(&mut self, states: &mut [u8]) {
        self.expander.canonicalise(states);
        let graph = self.of.graph;
        let mut found = states.chunks(graph.shape.state_len);
        if let When::Found(node) = self.of.when
            && found.any(|state| graph.decode(state) == node)
        {
            self.stop.raise();
        }
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        if matches!(self.of.when, When::Judged) && block.len() > 100 {
            self.stop.raise();
        }
        self.expander.check(block, failures)
    }
}

/// Looking for duplicates may take hours. Whoever wants an end does not have to wait for that:
/// what was found last is not taken in.
#[test]
fn looking_for_duplicates_can_be_interrupted() {
    let n_leaves = 5000;
    let mut star: Vec<Vec<u32>> = vec![(1..=n_leaves).collect()];
    star.extend((1..=n_leaves).map(|leaf| vec![leaf]));
    let star: Vec<&[u32]> = star.iter().map(Vec::as_slice).collect();
    let star = Graph::new(3, &[0], edges(&star));
    for name in ["mono", "local", "layered", "part"] {
        let strategy = Strategy::from_name(name).expect("a name of a strategy");
        let found = |graph: &Graph, when| {
            let model = Interrupted { graph, when };
            let (own, options, stop) =
                (StrategyOptions::default(), Options::default(), Stop::new());
            let outcome = check_with(&model, &strategy, &own, &options, &stop, &mut Silent);
            let outcome = outcome.expect("it runs");
            let reason = outcome.reason.map(|reason| reason.name());
            assert_eq!(reason, Some("interrupted"), "{name}");
            outcome.states
        };
        assert_eq!(found(&ring(100), When::Found(60)), 60, "{name}");
        let n_found = found(&star, When::Judged);
        assert!(n_found < u64::from(n_leaves) / 2, "{name}: {n_found}");
    }
}

/// Layers beyond the window are gone, and the way to a violation is found all the same.
#[test]
fn a_trace_needs_no_layers() {
    let mut graph = ring(300);
    graph.fail(&[(299, false)]);
    let own = StrategyOptions {
        budget_bytes: 100,
        ..StrategyOptions::default()
    };
    let strategy = Strategy::Layered {
        layers: Layers::Fixed(2),
        cache: true,
    };
    let outcome = run(&graph, &strategy, &own);
    assert_eq!(outcome.violations[0].depth, 299);
    let told = tell(&graph, &Options::default(), &outcome);
    let path: Vec<u32> = (0..300).collect();
    assert_eq!(told.violations[0].path.as_ref(), Some(&path));
}

/// The papers' figures are there, by their names.
#[test]
fn strategies_report_what_their_papers_do() {
    let graph = ring(50);
    for (name, figures) in [
        ("ram", &["memory_needed", "g", "queue_max"][..]),
        (
            "cache",
            &["collision_rate", "all_visited", "admitted", "revisits"],
        ),
        (
            "mono",
            &[
                "seconds_generation",
                "seconds_insertion",
                "seconds_detection",
                "seconds_io",
            ],
        ),
        (
            "local",
            &[
                "revisits",
                "cloud_share",
                "cloud_signatures",
                "calibrations",
            ],
        ),
        (
            "part",
            &["seconds_queue", "seconds_partitioning", "queue_bytes"],
        ),
        (
            "layered",
            &[
                "duplicates_ram",
                "duplicates_ddd",
                "duplicates_missed",
                "back_jumps",
                "disk_peak_bytes",
            ],
        ),
        ("snapshots", &["states_held", "redundant", "snapshots_hit"]),
        ("dfs-cache", &["cache_states", "revisits", "stack_max"]),
    ] {
        let strategy = Strategy::from_name(name).expect("a name of a strategy");
        assert_eq!(strategy.name(), name);
        let own = StrategyOptions {
            store: StoreKind::Hash40,
            ..StrategyOptions::default()
        };
        let outcome = run(&graph, &strategy, &own);
        assert_eq!((outcome.states, outcome.verdict.name()), (50, "verified"));
        for figure in figures {
            let is_there = outcome.strategy_stats.get(figure).is_some();
            assert!(is_there, "{name}: {figure} in {:?}", outcome.strategy_stats);
        }
        let omission = outcome.strategy_stats.get("omission_any");
        assert!(matches!(omission, Some(Value::Ratio(any)) if *any > 0.0 && *any < 1e-8));
    }
}

/// Memory that the ram search says it needs is what it needs.
#[test]
fn memory_needed_is_needed() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let nodes = (0..3000)
        .map(|_| {
            (0..3)
                .map(|_| Edge::To(rng.random_range(0..3000), 0))
                .collect()
        })
        .collect();
    let graph = Graph::new(9, &[0], nodes);
    let full = run(&graph, &Strategy::Ram, &StrategyOptions::default());
    let needed = full
        .strategy_stats
        .count("memory_needed")
        .expect("it is told");
    let Some(Value::Ratio(g)) = full.strategy_stats.get("g") else {
        panic!("no g");
    };
    for (budget_bytes, reason) in [
        (needed * 101 / 100 + 99, None),
        (needed * 9 / 10, Some("memory")),
    ] {
        let own = StrategyOptions {
            budget_bytes,
            active_share: *g,
            ..StrategyOptions::default()
        };
        let outcome = run(&graph, &Strategy::Ram, &own);
        assert_eq!(outcome.reason.map(|reason| reason.name()), reason);
    }
}

/// What goes through a folder comes back, and nothing stays there.
#[test]
fn a_folder_changes_nothing() {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let n = 5000;
    let node = |at: u32| -> Vec<Edge> {
        let near = (0..4).map(|_| (at + rng.random_range(1..300)) % n);
        near.map(|to| Edge::To(to, 0)).collect()
    };
    let mut graph = Graph::new(90, &[0], (0..n).map(node).collect());
    graph.fail(&[(n - 1, false)]);
    let path = std::env::temp_dir().join(format!("hadal-folder-{}", std::process::id()));
    let disk = NativeDisk::open(&path).expect("a folder can be made");
    let (folder, _) =
        Folder::open(Arc::new(disk), FolderOptions::default()).expect("it can be used");
    for mut strategy in Strategy::all() {
        if let Strategy::DfsCache { states, .. } = &mut strategy {
            *states = Some(2 * u64::from(n));
        }
        let in_memory = StrategyOptions {
            budget_bytes: 100_000,
            ..StrategyOptions::default()
        };
        let on_disk = StrategyOptions {
            folder: Some(folder.clone()),
            ..in_memory.clone()
        };
        let expected = run(&graph, &strategy, &in_memory);
        let outcome = run(&graph, &strategy, &on_disk);
        assert_eq!(outcome.violations, expected.violations, "{strategy:?}");
        assert_eq!(outcome.layers, expected.layers, "{strategy:?}");
        assert_eq!(
            (outcome.states, outcome.visited, outcome.reason),
            (expected.states, expected.visited, expected.reason),
            "{strategy:?}"
        );
        folder.settle().expect("files go");
        let files = std::fs::read_dir(&path).map_or(0, |entries| {
            let is_file = |name: &str| name.ends_with(".blk") || name.contains("recs");
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            names.filter(|name| is_file(name)).count()
        });
        assert_eq!(files, 0, "{strategy:?}");
        if is_exact(&strategy) {
            assert_eq!(outcome.verdict.name(), "violated");
            let disk = outcome.disk;
            assert!(disk.written_bytes > 100_000, "{strategy:?}: {disk:?}");
        }
    }
    drop(folder);
    std::fs::remove_dir_all(&path).expect("it was made");
}
