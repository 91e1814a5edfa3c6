//! The strategies on random graphs, at full and at small budgets, against the oracle.

use std::sync::Arc;
use std::time::Duration;

use hadal_literature::{
    Configurable, DfsCache, Layered, Layers, Local, Mono, Part, Ram, SnapshotSetup, Snapshots,
    StateCacheSpec, TableKind, from_name, papers,
};
use hadal_model::{Goal, GoalKind, Stop};
use hadal_search::{
    Deadlock, Error, Options, Outcome, SearchFolder, Silent, StoreKind, Strategy, Value, check,
};
use hadal_store::Error as StoreError;
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};
use hadal_testkit::graph::{Edge, Filling, Graph, Interrupt, random_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::oracle::expect;
use crate::summary::{Summary, summarise};

/// Every strategy, with small parameters where those of its paper are made for large models.
pub(crate) fn strategies() -> Vec<Box<dyn Configurable>> {
    let mut all = papers();
    all.push(Box::new(Mono {
        table: TableKind::Open,
    }));
    for table in [TableKind::Open, TableKind::Chained] {
        all.push(Box::new(Local {
            table,
            blocks: 7,
            min_block: 3,
            calibrate_every: 4,
            initial_share: 0.3,
            ..Local::default()
        }));
    }
    all.push(Box::new(Part { partitions: 5 }));
    for (layers, cache) in [
        (Layers::Fixed(0), true),
        (Layers::Fixed(1), false),
        (Layers::Fixed(3), true),
        (Layers::Auto, true),
        (Layers::Auto, false),
    ] {
        all.push(Box::new(layered(layers, cache)));
    }
    for (setup, backtracking, bounded) in [
        ("pebble", true, false),
        ("pebble", false, true),
        ("frontier-safety-net", false, true),
        ("(c1,lru,2)", true, true),
        ("(c3,mfu,1)(o3+2,rnd,2)(c1,mru,1)", true, false),
    ] {
        all.push(Box::new(Snapshots {
            setup: SnapshotSetup::parse(setup).expect("it is right"),
            backtracking,
            bounded,
            ..Snapshots::default()
        }));
    }
    for caches in ["(lru,100)", "(rnd,40)(lfu,30)(mru,30)"] {
        all.push(Box::new(DfsCache {
            caches: StateCacheSpec::parse_all(caches).expect("it is right"),
            ..DfsCache::default()
        }));
    }
    all
}

fn layered(layers: Layers, cache: bool) -> Layered {
    Layered {
        layers,
        cache,
        ..Layered::default()
    }
}

/// Sets a parameter that not every strategy has.
pub(crate) fn set_if_known(strategy: &mut dyn Configurable, parameter: &str, value: &str) {
    let set = strategy.set(parameter, value);
    let is_unknown = matches!(set, Err(hadal_literature::ParameterError::Unknown { .. }));
    assert!(set.is_ok() || is_unknown, "{set:?}");
}

/// Whether a strategy never visits a state twice, and always ends.
fn is_exact(strategy: &dyn Strategy) -> bool {
    ["mono", "part"].contains(&strategy.name())
}

/// What remains of an expectation where hashes are stored: a goal that is not reached proves nothing.
fn with_store(graph: &Graph, options: &Options, store: StoreKind) -> Summary {
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
fn without_liveness(graph: &Graph, options: &Options, mut expected: Summary) -> Summary {
    let is_liveness = |goal: &&Goal| goal.kind == GoalKind::Liveness;
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

/// One run, and what must hold.
struct Case<'a> {
    graph: &'a Graph,
    options: &'a Options,
    strategy: &'a dyn Configurable,
    count_distinct: bool,
    expected: &'a Summary,
    /// What there is to find without a limit on violations.
    all: &'a Summary,
}

impl Case<'_> {
    /// Runs it; returns how it ended.
    fn check(&self) -> (String, Outcome) {
        let run = || {
            let stop = Stop::new();
            check(
                self.graph,
                self.strategy,
                self.options,
                None,
                &stop,
                &mut Silent,
            )
        };
        let mut outcome = run().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!(outcome.violations, run().expect("it went once").violations);
        let is_shortest = outcome.strategy_stats.count("shortest_trace");
        let by_layers = self.strategy.is_by_depth();
        assert_eq!(is_shortest, Some(u64::from(by_layers)), "{self:?}");
        if !by_layers {
            assert!(outcome.layers.is_empty());
            outcome.layers = vec![0; outcome.depth as usize + 1];
        }
        let summary = summarise(self.graph, self.options, &outcome);
        let distinct = outcome.strategy_stats.count("distinct");
        if outcome.states_exact {
            assert!(distinct.is_none_or(|n| n == summary.states), "{self:?}");
        } else {
            assert!(!is_exact(self.strategy), "{self:?}");
            assert_eq!(distinct.is_some(), self.count_distinct, "{self:?}");
        }
        assert!(
            !(summary.reason.is_some() && summary.verdict == "verified"),
            "{self:?}"
        );
        assert!(summary.reason != Some("time"), "{self:?} does not end");
        let name = self.strategy.name();
        let ending = match summary.reason {
            Some(reason @ ("memory" | "collisions" | "revisits")) => {
                assert!(!is_exact(self.strategy), "{self:?} stopped: {reason}");
                self.is_part(&summary);
                format!("{name} {reason}")
            }
            // What the bound cuts off may have been there before.
            Some("bound") if self.expected.reason != summary.reason => {
                assert!(!is_exact(self.strategy), "{self:?}");
                self.is_part(&summary);
                format!("{name} bound")
            }
            _ => {
                self.is_whole(&summary, &outcome);
                let is_again = summary.visited > summary.states;
                format!("{name} ended{}", if is_again { " again" } else { "" })
            }
        };
        (ending, outcome)
    }

    /// A search that ended by itself.
    fn is_whole(&self, summary: &Summary, outcome: &Outcome) {
        let expected = self.expected;
        let by_layers = self.strategy.is_by_depth();
        if by_layers && (is_exact(self.strategy) || self.strategy.name() == "ram") {
            assert_eq!(summary, expected, "{self:?}");
            return;
        }
        let ending = |summary: &Summary| (summary.verdict, summary.complete, summary.reason);
        assert_eq!(ending(summary), ending(expected), "{self:?}");
        let kinds = |summary: &Summary, with_depth: bool| {
            let mut kinds: Vec<(&str, String, u32)> = (summary.violations.iter())
                .map(|found| {
                    let depth = if with_depth { found.depth } else { 0 };
                    (found.kind, found.name.clone(), depth)
                })
                .collect();
            kinds.sort();
            kinds
        };
        let is_cut = summary.violations.len() == self.options.max_errors;
        if is_cut && self.strategy.name() == "layered" {
            // Within a layer states come in the order of their hashes, so it may be others of the
            // same depth that are found first.
            let depths = |summary: &Summary| -> Vec<u32> {
                let found = summary
                    .violations
                    .iter()
                    .filter(|found| found.kind != "cover");
                found.map(|found| found.depth).collect()
            };
            assert_eq!(depths(summary), depths(expected), "{self:?}");
            self.are_known(summary);
        } else if by_layers || summary.violations.len() == self.all.violations.len() {
            // A goal that is not reached has the depth of the search.
            let with_depth = by_layers && summary.violations.iter().all(|v| v.kind != "cover");
            let (summary, expected) = (kinds(summary, with_depth), kinds(expected, with_depth));
            assert_eq!(summary, expected, "{self:?}");
            for (summary, expected) in outcome.holds.iter().zip(&self.expected.holds) {
                // What one order finds before a violation, another may not.
                let is_same =
                    summary == expected || !by_layers && summary.is_none() | expected.is_none();
                assert!(is_same, "{self:?}: {:?}", outcome.holds);
            }
        } else {
            assert_eq!(summary.violations.len(), self.options.max_errors);
            self.are_known(summary);
        }
        let is_counted = outcome.states_exact || self.count_distinct;
        if is_counted && (by_layers || summary.violations.is_empty()) {
            assert_eq!(summary.states, expected.states, "{self:?}");
        }
        // A search that forgets nothing visits nothing twice.
        if outcome.states_exact {
            assert!(summary.visited <= summary.states, "{self:?}");
        }
        if by_layers {
            assert!(summary.visited >= expected.visited, "{self:?}");
        }
        if is_exact(self.strategy) && summary.violations.is_empty() {
            assert_eq!(summary.visited, expected.visited, "{self:?}");
            assert_eq!(summary.transitions, expected.transitions, "{self:?}");
            assert_eq!(summary.goals, expected.goals, "{self:?}");
        }
        let revisits = outcome.strategy_stats.count("revisits");
        if let (Some(revisits), true) = (revisits, by_layers) {
            let admitted: u64 = outcome.layers.iter().sum();
            assert_eq!(revisits, admitted - summary.states);
        }
    }

    /// A search that was stopped has visited a part, and reports that.
    fn is_part(&self, summary: &Summary) {
        assert!(
            !summary.complete && summary.verdict != "verified",
            "{self:?}"
        );
        if self.count_distinct {
            assert!(summary.states <= self.all.states, "{self:?}");
        }
        assert!(
            summary.holds.iter().all(|holds| *holds != Some(true))
                || !self.graph.reaching.is_empty()
        );
        self.are_known(summary);
        if self.strategy.name() == "ram" && self.options.max_errors >= 100 {
            self.are_all_reported(summary);
        }
    }

    /// Everything in the part that was visited is reported, where states come in the oracle's order:
    /// failures of states that were found, and the rest of those that were expanded.
    fn are_all_reported(&self, summary: &Summary) {
        for known in &self.all.violations {
            let n = match known.name.starts_with("property") {
                true => summary.states,
                false => summary.visited,
            };
            if known.kind != "cover" && known.ordinal.is_some_and(|ordinal| ordinal < n) {
                let is_reported = summary.violations.iter().any(|found| found == known);
                assert!(is_reported, "{self:?}: {known:?} is missing");
            }
        }
    }

    /// All violations found exist.
    fn are_known(&self, summary: &Summary) {
        for found in &summary.violations {
            let known = (self.all.violations.iter())
                .find(|known| (known.kind, &known.name) == (found.kind, &found.name));
            let known = known.unwrap_or_else(|| panic!("{self:?}: {found:?}"));
            if found.kind == "cover" {
                continue;
            }
            match self.strategy.is_by_depth() {
                true => assert_eq!(found.depth, known.depth, "{self:?}"),
                false => assert!(found.depth >= known.depth, "{self:?}"),
            }
        }
    }
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.strategy, self.options)
    }
}

#[test]
fn strategies_agree_with_the_oracle() {
    let mut endings = std::collections::BTreeMap::<String, u32>::new();
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
            if !strategy.is_by_depth() {
                options.bound = None;
            }
            let many = Options {
                max_errors: 1000,
                ..options.clone()
            };
            let all = with_store(&graph, &many, StoreKind::Exact);
            // No state to start from, and no fault to report.
            if all.states == 0 && all.violations.is_empty() {
                continue;
            }
            // Waiting for its end would take too long.
            let most_visited = (10 * all.states).to_string();
            set_if_known(&mut *strategy, "most-visited", &most_visited);
            set_if_known(&mut *strategy, "active-share", "1");
            let needed = all.states * (graph.shape.state_len as u64 + 9);
            for budget_bytes in [1 << 26, needed / 2, needed / 10] {
                let store = [
                    StoreKind::Exact,
                    StoreKind::Exact,
                    StoreKind::Hash64,
                    StoreKind::Hash96,
                    StoreKind::Hash128,
                ][rng.random_range(0..5)];
                let expected = with_store(&graph, &options, store);
                let all = with_store(&graph, &many, store);
                let count_distinct = rng.random_range(0..4) > 0;
                let word = if count_distinct { "yes" } else { "no" };
                set_if_known(&mut *strategy, "count-distinct", word);
                let options = Options {
                    memory_bytes: budget_bytes,
                    store,
                    seed,
                    ..options.clone()
                };
                let case = Case {
                    graph: &graph,
                    options: &options,
                    strategy: &*strategy,
                    count_distinct,
                    expected: &expected,
                    all: &all,
                };
                let (ending, outcome) = case.check();
                if budget_bytes == 1 << 26 && strategy.name() == "ram" {
                    assert!(ending == "ram ended", "{case:?}: {ending}");
                }
                assert!(outcome.strategy_stats.iter().count() > 3);
                *endings.entry(ending).or_default() += 1;
            }
        }
    }
    // Each strategy must have met its limits.
    for ending in ENDINGS {
        assert!(
            endings.contains_key(*ending),
            "no `{ending}` in {endings:?}"
        );
    }
}

const N_GRAPHS: u64 = 150;
const ENDINGS: &[&str] = &[
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

fn run(graph: &Graph, strategy: &dyn Strategy, options: &Options) -> Outcome {
    check(graph, strategy, options, None, &Stop::new(), &mut Silent).expect("it runs")
}

/// A budget that suffices for all of these graphs, where nothing else matters.
fn with_budget(memory_bytes: u64) -> Options {
    Options {
        memory_bytes,
        ..Options::default()
    }
}

const PLENTY: u64 = 1 << 30;

fn edges(nodes: &[&[u32]]) -> Vec<Vec<Edge>> {
    let edges = |targets: &&[u32]| targets.iter().map(|&to| Edge::to(to, 0)).collect();
    nodes.iter().map(edges).collect()
}

/// The graph that refutes Lemma 1 of the caching paper: with distances 3, 5, 7 and so on a single
/// snapshot is now {a}, now {c}, and the search circles around the other one.
#[test]
fn growing_distances_alone_do_not_ensure_termination() {
    let graph = Graph::new(2, &[0], edges(&[&[1, 2], &[0], &[3, 0], &[2]]));
    for (bounded, reason) in [(true, Some("revisits")), (false, None)] {
        let strategy = Snapshots {
            setup: SnapshotSetup::parse("(o3+2,llnr,1)").expect("it is right"),
            backtracking: false,
            bounded,
            ..Snapshots::default()
        };
        let outcome = run(&graph, &strategy, &with_budget(PLENTY));
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

/// A ring: its last state leads back to the first, which has left any window of layers.
fn ring(n: u32) -> Graph {
    let nodes: Vec<Vec<Edge>> = (0..n).map(|at| vec![Edge::to((at + 1) % n, 0)]).collect();
    Graph::new(3, &[0], nodes)
}

#[test]
fn repeating_layers_are_detected() {
    let graph = ring(100);
    for (layers, reason) in [
        (Layers::Fixed(10), Some("revisits")),
        (Layers::Fixed(100), None),
        (Layers::Auto, None),
    ] {
        let outcome = run(&graph, &layered(layers, true), &with_budget(200));
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

/// A row of diamonds has 2^60 paths, which a search that forgets would all follow.
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
        let strategy = DfsCache {
            caches: StateCacheSpec::parse_all("(lru,100)").expect("it is right"),
            states: Some(states),
            most_visited: None,
            count_distinct,
        };
        let options = Options {
            deadlock: Deadlock::Off,
            time_limit: Some(Duration::from_secs(60)),
            ..Options::default()
        };
        let stop = Stop::new();
        let outcome = check(&graph, &strategy, &options, None, &stop, &mut Silent);
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

/// Duplicate detection may take hours, and an interrupt does not wait for it: the candidates found
/// last are dropped.
#[test]
fn duplicate_detection_can_be_interrupted() {
    let n_leaves = 5000;
    let mut star: Vec<Vec<u32>> = vec![(1..=n_leaves).collect()];
    star.extend((1..=n_leaves).map(|leaf| vec![leaf]));
    let star: Vec<&[u32]> = star.iter().map(Vec::as_slice).collect();
    let star = Graph::new(3, &[0], edges(&star));
    for name in ["mono", "local", "layered", "part"] {
        let strategy = from_name(name).expect("a name of a strategy");
        let found = |mut graph: Graph, interrupt| {
            graph.interrupt = Some(interrupt);
            let (options, stop) = (with_budget(PLENTY), Stop::new());
            let outcome = check(&graph, &*strategy, &options, None, &stop, &mut Silent);
            let outcome = outcome.expect("it runs");
            let reason = outcome.reason.map(|reason| reason.name());
            assert_eq!(reason, Some("interrupted"), "{name}");
            outcome.states
        };
        assert_eq!(found(ring(100), Interrupt::Found(60)), 60, "{name}");
        let n_found = found(star.clone(), Interrupt::Checked(100));
        assert!(n_found < u64::from(n_leaves) / 2, "{name}: {n_found}");
    }
}

/// The path to a violation is found although most of its layers have left the window.
#[test]
fn a_trace_does_not_need_layers() {
    let mut graph = ring(300);
    graph.fail(&[(299, false)]);
    let strategy = layered(Layers::Fixed(2), true);
    let outcome = run(&graph, &strategy, &with_budget(100));
    assert_eq!(outcome.violations[0].depth, 299);
    let summary = summarise(&graph, &Options::default(), &outcome);
    let path: Vec<u32> = (0..300).collect();
    assert_eq!(summary.violations[0].path.as_ref(), Some(&path));
}

/// The figures of the papers are reported by their names.
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
        let strategy = from_name(name).expect("a name of a strategy");
        assert_eq!(strategy.name(), name);
        let options = Options {
            store: StoreKind::Hash40,
            ..with_budget(PLENTY)
        };
        let outcome = run(&graph, &*strategy, &options);
        assert_eq!((outcome.states, outcome.verdict.name()), (50, "verified"));
        for figure in figures {
            let is_there = outcome.strategy_stats.get(figure).is_some();
            assert!(is_there, "{name}: {figure} in {:?}", outcome.strategy_stats);
        }
        let omission = outcome.strategy_stats.get("omission_any");
        assert!(matches!(omission, Some(Value::Ratio(any)) if *any > 0.0 && *any < 1e-8));
    }
}

/// The ram search needs the memory that it reports as needed.
#[test]
fn the_memory_reported_as_needed_is_needed() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let nodes = (0..3000)
        .map(|_| {
            (0..3)
                .map(|_| Edge::to(rng.random_range(0..3000), 0))
                .collect()
        })
        .collect();
    let graph = Graph::new(9, &[0], nodes);
    let full = run(&graph, &Ram::default(), &with_budget(PLENTY));
    let needed = full
        .strategy_stats
        .count("memory_needed")
        .expect("it is reported");
    let Some(Value::Ratio(g)) = full.strategy_stats.get("g") else {
        panic!("no g");
    };
    for (budget_bytes, reason) in [
        (needed * 101 / 100 + 99, None),
        (needed * 9 / 10, Some("memory")),
    ] {
        let strategy = Ram { active_share: *g };
        let outcome = run(&graph, &strategy, &with_budget(budget_bytes));
        assert_eq!(outcome.reason.map(|reason| reason.name()), reason);
    }
}

/// A folder changes no result, and no file is left in it.
#[test]
fn a_folder_changes_nothing() {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let n = 5000;
    let node = |at: u32| -> Vec<Edge> {
        let near = (0..4).map(|_| (at + rng.random_range(1..300)) % n);
        near.map(|to| Edge::to(to, 0)).collect()
    };
    let mut graph = Graph::new(90, &[0], (0..n).map(node).collect());
    graph.fail(&[(n - 1, false)]);
    let path = std::env::temp_dir().join(format!("hadal-folder-{}", std::process::id()));
    let disk = NativeDisk::open(&path).expect("a folder can be made");
    let (folder, _) =
        Folder::open(Arc::new(disk), FolderOptions::default()).expect("it can be used");
    for mut strategy in papers() {
        set_if_known(&mut *strategy, "states", &(2 * n).to_string());
        let options = with_budget(100_000);
        let expected = run(&graph, &*strategy, &options);
        let search_folder = SearchFolder {
            folder: folder.clone(),
            resumable: false,
            label: Vec::new(),
        };
        let stop = Stop::new();
        let outcome = check(
            &graph,
            &*strategy,
            &options,
            Some(search_folder),
            &stop,
            &mut Silent,
        );
        let outcome = outcome.expect("it runs");
        assert_eq!(outcome.violations, expected.violations, "{strategy:?}");
        assert_eq!(outcome.layers, expected.layers, "{strategy:?}");
        assert_eq!(
            (outcome.states, outcome.visited, outcome.reason),
            (expected.states, expected.visited, expected.reason),
            "{strategy:?}"
        );
        folder.wait_for_deletions().expect("files go");
        let files = std::fs::read_dir(&path).map_or(0, |entries| {
            let is_file = |name: &str| name.ends_with(".blk") || name.contains("recs");
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            names.filter(|name| is_file(name)).count()
        });
        assert_eq!(files, 0, "{strategy:?}");
        if is_exact(&*strategy) {
            assert_eq!(outcome.verdict.name(), "violated");
            let disk = outcome.disk;
            assert!(disk.written_bytes > 100_000, "{strategy:?}: {disk:?}");
        }
    }
    drop(folder);
    std::fs::remove_dir_all(&path).expect("it was made");
}

/// States wider than a block stay in memory; a folder is refused before the search.
#[test]
fn states_wider_than_a_block_are_searched_in_memory_only() {
    let n = 200;
    let node = |at: u32| [2 * at + 1, 3 * at + 2, at / 2].map(|to| Edge::to(to % n, 0));
    let mut graph = Graph::new(80_000, &[0], (0..n).map(|at| node(at).to_vec()).collect());
    graph.filling = Filling::Random;
    let path = tempfile::tempdir().expect("a folder");
    let disk = NativeDisk::open(path.path()).expect("a folder can be used");
    let opened = Folder::open(Arc::new(disk), FolderOptions::default());
    let (folder, _) = opened.expect("it can be used");
    let options = with_budget(100 << 20);
    let expected = expect(&graph, &options);
    for strategy in papers() {
        let outcome = run(&graph, &*strategy, &options);
        assert_eq!(outcome.states, expected.states, "{strategy:?}");
        let search_folder = SearchFolder {
            folder: folder.clone(),
            resumable: false,
            label: Vec::new(),
        };
        let stop = Stop::new();
        let folder = Some(search_folder);
        let refused = check(&graph, &*strategy, &options, folder, &stop, &mut Silent);
        if strategy.uses_disk() {
            let is_too_wide = matches!(
                refused,
                Err(Error::Store(StoreError::TooWide {
                    state_len: 80_000,
                    ..
                }))
            );
            assert!(is_too_wide, "{}: {refused:?}", strategy.name());
        }
    }
}
