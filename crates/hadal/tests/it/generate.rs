//! `hadal generate`: graphs of models against a plain search, whatever the memory, the threads and the
//! interruptions; and what a user sees of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use hadal::lts::{self, Edge, Hlts, Resources};
use hadal::model::{
    Expander, Machine, MachineModel, Model, PAD_BYTES, States, Stop, Successors, for_each_batch,
};
use hadal::search::{GraphEdge, GraphFacts, GraphPart, Violation, ViolationKind};
use hadal::{Check, GraphOptions, GraphOutput, LabelDetail, ModelSource, Sink};
use hadal_testkit::corpus::{Size, expected_rows, model_files, models_folder};
use hadal_testkit::parallel::on_all;
use tempfile::TempDir;

use crate::common::{Run, hadal, root};

/// Graphs with more states are left to other tests.
const MAX_STATES: usize = 12_000;
/// The same for models by others, of which there are many.
const MAX_OF_OTHERS: usize = 2_500;
/// A plain search that takes longer is given up.
const MOST_TIME: Duration = Duration::from_secs(10);

/// A graph as a plain search finds it: a queue, and a map of all states.
struct Plain {
    n_starts: usize,
    states: Vec<Vec<u8>>,
    /// By state, rule, target and multiplicity of its edges, in order.
    edges: Vec<Vec<(u32, usize, u64)>>,
}

impl Plain {
    /// `None` where there are too many states, or it takes too long.
    fn of(model: &dyn Model) -> Option<Self> {
        let (stop, since) = (Stop::new(), Instant::now());
        let mut expander = model.expander(&stop);
        let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut plain = Plain {
            n_starts: 0,
            states: Vec::new(),
            edges: Vec::new(),
        };
        let mut number = |state: &[u8], states: &mut Vec<Vec<u8>>| {
            *numbers.entry(state.to_vec()).or_insert_with(|| {
                states.push(state.to_vec());
                states.len() - 1
            })
        };
        for (_, state, _) in successors(model, &mut *expander, None) {
            number(&state, &mut plain.states);
        }
        plain.n_starts = plain.states.len();
        let mut at = 0;
        while at < plain.states.len() {
            let state = plain.states[at].clone();
            let mut edges: Vec<(u32, usize, u64)> = Vec::new();
            for (rule, target, multiplicity) in successors(model, &mut *expander, Some(&state)) {
                let target = number(&target, &mut plain.states);
                edges.push((rule, target, multiplicity));
            }
            plain.edges.push(edges);
            at += 1;
            // Where loops over elements are checked in all orders, expansion takes long.
            if plain.states.len() > MAX_STATES || since.elapsed() > MOST_TIME {
                return None;
            }
        }
        Some(plain)
    }

    /// Edges with these labels, each label and target of a state once.
    fn named(&self, label: impl Fn(usize, usize, u32) -> String) -> Vec<Named> {
        let shift = usize::from(self.n_starts != 1);
        let mut named = Vec::new();
        for start in 0..self.n_starts * shift {
            named.push((0, "start".to_owned(), start + 1, 1));
        }
        for (source, edges) in self.edges.iter().enumerate() {
            let first = named.len();
            for (index, &(rule, target, multiplicity)) in edges.iter().enumerate() {
                let (label, target) = (label(source, index, rule), target + shift);
                let known = named[first..]
                    .iter_mut()
                    .find(|it: &&mut Named| it.1 == label && it.2 == target);
                match known {
                    Some(known) => known.3 += multiplicity,
                    None => named.push((source + shift, label, target, multiplicity)),
                }
            }
        }
        named
    }

    fn n_states(&self) -> usize {
        self.states.len() + usize::from(self.n_starts != 1)
    }
}

/// Source, label, target, multiplicity.
type Named = (usize, String, usize, u64);

fn successors(
    model: &dyn Model,
    expander: &mut dyn Expander,
    state: Option<&[u8]>,
) -> Vec<(u32, Vec<u8>, u64)> {
    let mut bytes = state.map_or_else(Vec::new, <[u8]>::to_vec);
    bytes.resize(bytes.len() + PAD_BYTES, 0);
    let block = state.map(|_| States::new(&bytes, model.shape().state_len, 1));
    let mut out = Successors::new(model.shape(), 64).with_multiplicities();
    let mut found = Vec::new();
    let take = |expander: &mut dyn Expander, out: &mut Successors| {
        match block {
            Some(block) => expander.canonicalise_successors(block, out),
            None => expander.canonicalise(out.states_mut()),
        }
        for at in 0..out.len() {
            found.push((out.rule(at), out.state(at).to_vec(), out.multiplicity(at)));
        }
        ControlFlow::<()>::Continue(())
    };
    let done = for_each_batch(expander, block, &mut out, take);
    assert!(done.is_ok_and(|flow| flow.is_continue()), "nobody stops it");
    found
}

/// The text of an `.aut` file.
fn aut(n_states: usize, edges: &[Named]) -> String {
    let mut text = format!("des (0, {}, {n_states})\n", edges.len());
    for (source, label, target, _) in edges {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let label = match label.bytes().all(is_word) {
            true => label.clone(),
            false => format!("\"{label}\""),
        };
        let _ = writeln!(text, "({source}, {label}, {target})");
    }
    text
}

/// The edges of a file, with the texts of their labels.
fn edges_of(path: &Path) -> (u64, Vec<Named>) {
    let stop = Stop::new();
    let resources = Resources::new(&stop);
    let graph = lts::open(path, &resources).expect("it is whole");
    let mut edges = Vec::new();
    let each = |edge: Edge| {
        let label = graph.labels().text(edge.label).into_owned();
        edges.push((
            edge.source as usize,
            label,
            edge.target as usize,
            edge.multiplicity,
        ));
        Ok(())
    };
    graph.for_each_edge(&resources, each).expect("it is whole");
    (graph.counts().n_states, edges)
}

/// Writes a graph by the library; the bytes that the search wrote to disk.
fn generate(
    model: &hadal::LoadedModel,
    path: &Path,
    options: &GraphOptions,
    threads: usize,
    data_memory: Option<u64>,
) -> u64 {
    let output = GraphOutput::new(path, options.clone()).expect("it can be written");
    let mut writer = output.writer(model).threads(threads);
    let mut check = Check::new(model).threads(threads).graph(&mut writer);
    if let Some(bytes) = data_memory {
        check = check.data_memory(bytes);
    }
    let checked = check.run().expect("nothing fails");
    let stop = Stop::new();
    let written = output
        .save(&Resources::new(&stop))
        .expect("it can be written");
    let written = written.expect("every state was visited");
    assert_eq!(
        checked.outcome.states + u64::from(written.has_added_start),
        written.n_states
    );
    checked.outcome.disk.written_bytes
}

/// All models that there are, ours and those by others.
fn all_models() -> Vec<PathBuf> {
    let mut models = model_files(&root().join("models")).expect("the models are there");
    if let Some(folder) = models_folder() {
        let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("a table");
        for row in expected_rows(&table).expect("a table") {
            let is_small = row.size == Size::Small && row.overrides.is_empty();
            if is_small && row.states.is_some_and(|n| n <= MAX_OF_OTHERS as u64) {
                models.push(folder.join(&row.model));
            }
        }
    }
    if let Some(folder) = std::env::var_os("HADAL_PROMELA_MODELS").map(PathBuf::from) {
        let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("a table");
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let states: usize = columns[2].parse().expect("a number");
            if !columns[1].contains('=') && states <= MAX_OF_OTHERS {
                models.push(folder.join(columns[0]));
            }
        }
    }
    models
}

#[test]
fn graphs_of_all_models_are_those_of_a_plain_search() {
    let scratch = folder();
    let models = all_models();
    let counts = std::sync::Mutex::new(BTreeMap::<&str, u32>::new());
    let count = |what| {
        *counts
            .lock()
            .expect("nobody panics")
            .entry(what)
            .or_default() += 1
    };
    let problems = on_all(&models, |path| {
        // One that includes others is read where they are, and one that is wrong not at all.
        let model = ModelSource::file(path)
            .and_then(|source| source.load())
            .ok()?;
        let Some(plain) = Plain::of(&*model.model) else {
            count("too large or slow");
            return None;
        };
        let shape = model.model.shape();
        if !describes_steps_as_one_by_one(&*model.model, &plain) {
            return Some(format!("{}: other steps", path.display()));
        }
        let edges = plain.named(|_, _, rule| shape.rules[rule as usize].name.clone());
        let expected = aut(plain.n_states(), &edges);
        let number = models.iter().position(|it| it == path).unwrap_or(0);
        let file = scratch.path().join(format!("{number}.aut"));
        let options = GraphOptions {
            tau: Vec::new(),
            ..GraphOptions::default()
        };
        for (threads, data_memory) in [(1, None), (3, Some(700 << 10)), (2, Some(200 << 10))] {
            let written = generate(&model, &file, &options, threads, data_memory);
            let found = std::fs::read_to_string(&file).expect("it is text");
            if found != expected {
                return Some(format!("{}: another graph", path.display()));
            }
            if written > 0 {
                count("on disk");
            }
        }
        let hlts = scratch.path().join(format!("{number}.hlts"));
        generate(&model, &hlts, &options, 2, None);
        if edges_of(&hlts) != (plain.n_states() as u64, edges.clone()) {
            return Some(format!("{}: other multiplicities", path.display()));
        }
        if let Some(problem) = formats_differ(&file, &hlts, &edges) {
            return Some(format!("{}: {problem}", path.display()));
        }
        match as_model_differs(&model, &file, &plain, edges.len()) {
            Ok(has_deadlock) if has_deadlock => count("deadlocks"),
            Ok(_) => {}
            Err(problem) => return Some(format!("{}: {problem}", path.display())),
        }
        count("compared");
        if plain.n_starts > 1 {
            count("several startstates");
        }
        None
    });
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let counts = counts.into_inner().expect("nobody panics");
    println!("{counts:?}");
    assert!(
        counts["compared"] >= 30 && counts["on disk"] >= 30 && counts["deadlocks"] >= 8,
        "{counts:?}"
    );
}

/// Whether the steps of a state that are described together are those that are described each by
/// itself; tried on the first states.
fn describes_steps_as_one_by_one(model: &dyn Model, plain: &Plain) -> bool {
    let mut states = plain.states.iter().zip(&plain.edges).take(60);
    states.all(|(state, edges)| {
        let mut found = Vec::new();
        let described = model.describe_steps(state, &Stop::new(), &mut |step| found.push(step));
        let each = (0..).map_while(|index| model.describe_step(Some(state), index));
        described.is_ok() && found.len() == edges.len() && found.into_iter().eq(each)
    })
}

/// Whether a graph differs in two formats.
fn formats_differ(aut: &Path, hlts: &Path, edges: &[Named]) -> Option<&'static str> {
    let stop = Stop::new();
    let resources = Resources::new(&stop);
    let bytes = |path: &Path| std::fs::read(path).expect("the file is there");
    let converted = |from: &Path, extension: &str| {
        let to = from.with_extension(format!("again.{extension}"));
        let graph = lts::open(from, &resources).expect("it is whole");
        lts::save(&graph, &to, &resources).expect("it can be written");
        to
    };
    if bytes(&converted(hlts, "aut")) != bytes(aut) {
        return Some("the two formats differ");
    }
    let again = converted(aut, "hlts");
    let has_multiplicities = edges.iter().any(|edge| edge.3 > 1);
    if !has_multiplicities && bytes(&again) != bytes(hlts) {
        return Some("the compact format differs when it comes from the text");
    }
    (bytes(&converted(&again, "aut")) != bytes(aut)).then_some("the text does not survive")
}

/// Checks a graph as a model: its states, its edges and its nearest deadlock are those of the model that
/// it was generated from. Whether there is a deadlock, or what differs.
fn as_model_differs(
    model: &hadal::LoadedModel,
    aut: &Path,
    plain: &Plain,
    n_edges: usize,
) -> Result<bool, String> {
    let graph = ModelSource::file(aut).and_then(|source| source.load());
    let graph = graph.expect("it is a graph");
    let check = |model: &hadal::LoadedModel| {
        let check = Check::new(model).deadlock(hadal::Deadlock::Stuck);
        let checked = check.max_errors(u32::MAX).threads(1).run();
        checked.expect("nothing fails").outcome
    };
    let deadlock = |outcome: &hadal::Outcome| {
        let is_deadlock = |it: &&Violation| it.kind == ViolationKind::Deadlock;
        let deadlocks = outcome.violations.iter().filter(is_deadlock);
        deadlocks.map(|it| it.depth).min()
    };
    let outcome = check(&graph);
    if outcome.states != plain.n_states() as u64 || outcome.transitions != n_edges as u64 {
        return Err(format!(
            "as a model {} states and {} transitions",
            outcome.states, outcome.transitions
        ));
    }
    let found = deadlock(&outcome);
    if found.is_some() != plain.edges.iter().any(Vec::is_empty) {
        return Err(format!("a deadlock after {found:?} steps"));
    }
    // A step that fails is no edge, but to the model itself it is no deadlock; and with a claim or
    // liveness there is more that ends a search.
    let own = check(model);
    let is_fault = |it: &Violation| matches!(it.kind, ViolationKind::Fault(_));
    if own.complete && !own.violations.iter().any(is_fault) {
        let shift = u32::from(plain.n_starts != 1);
        let expected = deadlock(&own).map(|depth| depth + shift);
        if found != expected {
            return Err(format!("a deadlock at {found:?}, not at {expected:?}"));
        }
    }
    Ok(found.is_some())
}

#[test]
fn labels_have_the_parameters_that_the_reference_generator_names() {
    let scratch = folder();
    let options = GraphOptions {
        labels: LabelDetail::Full,
        tau: Vec::new(),
        values: true,
    };
    for name in [
        "dekker.m",
        "alternating_bit.m",
        "alternating_bit.pml",
        "crossing.pml",
    ] {
        let source = ModelSource::file(root().join("models").join(name)).expect("a model");
        let model = source.load().expect("a model");
        let plain = Plain::of(&*model.model).expect("it is small");
        let edges = plain.named(|source, index, _| {
            let step = model
                .model
                .describe_step(Some(&plain.states[source]), index as u32);
            let step = step.expect("it is there");
            let parameters = step.parameters.iter();
            let values: Vec<String> = parameters
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            match values.is_empty() {
                true => step.rule,
                false => format!("{}({})", step.rule, values.join(", ")),
            }
        });
        let mut first = None;
        for (threads, data_memory) in [(1, None), (3, Some(300 << 10))] {
            let path = scratch.path().join("full.hlts");
            generate(&model, &path, &options, threads, data_memory);
            assert_eq!(
                edges_of(&path),
                (plain.n_states() as u64, edges.clone()),
                "{name}"
            );
            let bytes = std::fs::read(&path).expect("the file is there");
            assert!(
                *first.get_or_insert_with(|| bytes.clone()) == bytes,
                "{name}"
            );
            let file = std::fs::File::open(&path).expect("the file is there");
            let graph = Hlts::from_file(file).expect("it is whole");
            let mut values = Vec::new();
            let each = |value: &[u8]| {
                values.push(value.to_vec());
                Ok(())
            };
            graph.for_each_value(each).expect("it is whole");
            assert!(
                values[values.len() - plain.states.len()..] == plain.states,
                "{name}"
            );
        }
    }
}

/// Every visit of a state is a state of the graph that `snapshots` makes, with all edges of that state
/// in their order, each to a visit of its target.
#[test]
fn visits_have_the_edges_of_their_states() {
    let scratch = folder();
    let models = model_files(&root().join("models")).expect("the models are there");
    let counts = std::sync::Mutex::new((0, 0));
    let problems = on_all(&models, |path| {
        let model = ModelSource::file(path)
            .and_then(|source| source.load())
            .ok()?;
        let plain = Plain::of(&*model.model)?;
        let shape = model.model.shape();
        let named = plain.named(|_, _, rule| shape.rules[rule as usize].name.clone());
        let shift = usize::from(plain.n_starts != 1);
        let numbers: HashMap<&[u8], usize> = (plain.states.iter())
            .zip(shift..)
            .map(|(state, number)| (&state[..], number))
            .collect();
        let mut by_source = vec![Vec::new(); plain.n_states()];
        for (source, label, target, multiplicity) in &named {
            by_source[*source].push((label, *target, *multiplicity));
        }
        let number = models.iter().position(|it| it == path).unwrap_or(0);
        let file = scratch.path().join(format!("{number}.hlts"));
        let options = GraphOptions {
            tau: Vec::new(),
            values: true,
            ..GraphOptions::default()
        };
        let output = GraphOutput::new(&file, options).expect("it can be written");
        let mut writer = output.writer(&model);
        let caches = "(c9,lru,1)";
        let snapshots = hadal_literature::Snapshots {
            setup: hadal_literature::SnapshotSetup::parse(caches).expect("it is right"),
            ..hadal_literature::Snapshots::default()
        };
        let strategy = hadal_literature::Configurable::with_sink(&snapshots, &mut writer);
        let strategy = strategy.expect("it makes graphs");
        let checked = Check::new(&model).graph_by(&*strategy, &output).run();
        let outcome = checked.expect("nothing fails").outcome;
        let stop = Stop::new();
        let written = output
            .save(&Resources::new(&stop))
            .expect("it can be written");
        let written = written.expect("every state was visited");
        assert_eq!(written.n_states, outcome.visited + shift as u64);
        assert_eq!(outcome.states, plain.states.len() as u64);
        // By visit, the state that is visited.
        let graph = Hlts::from_file(std::fs::File::open(&file).expect("it is there"));
        let mut visited = vec![0; shift];
        let each = |value: &[u8]| {
            visited.push(numbers.get(value).copied().unwrap_or(usize::MAX));
            Ok(())
        };
        graph
            .expect("it is whole")
            .for_each_value(each)
            .expect("it is whole");
        // The value of the state that was added.
        if shift == 1 {
            visited.remove(1);
        }
        let mut found = vec![Vec::new(); visited.len()];
        for (source, label, target, multiplicity) in edges_of(&file).1 {
            found[source].push((label, visited[target], multiplicity));
        }
        for (visit, found) in found.iter().enumerate() {
            let found: Vec<_> = found.iter().map(|it| (&it.0, it.1, it.2)).collect();
            if found != by_source[visited[visit]] {
                return Some(format!("{}: visit {visit} is another", path.display()));
            }
        }
        let mut counts = counts.lock().expect("nobody panics");
        counts.0 += 1;
        counts.1 += usize::from(outcome.visited > outcome.states);
        None
    });
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let (n_compared, n_redundant) = counts.into_inner().expect("nobody panics");
    assert!(
        n_compared >= 30 && n_redundant >= 15,
        "{n_compared} {n_redundant}"
    );
}

#[test]
fn a_graph_of_visits_is_minimised_to_that_of_states() {
    let scratch = folder();
    let minimised = |model: &str, more: &[&str]| {
        let (out, small) = (name(&scratch, "out.hlts"), name(&scratch, "small.hlts"));
        let run = generate_cli(&[&[model, "-o", &out][..], more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(hadal(&["lts", "minimise", &out, "-o", &small]).code, 0);
        let bytes = std::fs::read(&small).expect("the file is there");
        (bytes, run.stderr)
    };
    let mut n_redundant = 0;
    for model in [
        "models/peterson.m",
        "models/dekker.m",
        "models/alternating_bit.pml",
        "models/ring_election.pml",
    ] {
        let (exact, notes) = minimised(model, &[]);
        assert!(!notes.contains("visits"), "{notes}");
        for more in [
            &["--strategy", "snapshots"][..],
            &["--strategy", "snapshots", "--caches", "pebble"],
            &[
                "--strategy",
                "snapshots",
                "--caches",
                "(c9,lru,1)",
                "--no-backtracking",
            ],
        ] {
            let (bytes, notes) = minimised(model, more);
            assert!(bytes == exact, "{model} {more:?}");
            n_redundant += usize::from(notes.contains("visits of states"));
        }
    }
    assert!(n_redundant >= 6, "{n_redundant}");
}

/// As in the paper, which generates graphs from graphs.
#[test]
fn a_graph_is_a_model_of_visits() {
    let scratch = folder();
    let (out, exact) = (name(&scratch, "out.hlts"), name(&scratch, "exact.aut"));
    let model = "models/peterson.m";
    assert_eq!(generate_cli(&[model, "-o", &exact, "-q"]).code, 0);
    let run = generate_cli(&[&exact, "-o", &out, "--strategy", "snapshots"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("visits of states"), "{}", run.stderr);
    let compared = hadal(&["lts", "compare", &out, &exact]);
    assert_eq!(compared.code, 0, "{}", compared.stdout);
    let refused = generate_cli(&[&exact, "-o", &out]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("hadal lts convert"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_graph_of_visits_that_never_ends_is_not_written() {
    let scratch = folder();
    // Two rings: the counterexample to the paper's Lemma 1.
    let text = "var s: 0..3; startstate s := 0; end;
rule \"b\" s = 0 ==> s := 1; end; rule \"c\" s = 0 ==> s := 2; end;
rule \"a\" s = 1 | s = 2 ==> s := 0; end;
rule \"d\" s = 2 ==> s := 3; end; rule \"e\" s = 3 ==> s := 2; end;
";
    let model = with(&scratch, "rings.m", text);
    let out = name(&scratch, "rings.aut");
    let args = [&model, "-o", &out, "--strategy", "snapshots", "--bounded"];
    check(
        &scratch,
        &[&args[..], &["--caches", "(o3+2,lru,1)"]].concat(),
        None,
        expect![[r#"
            warning: with a bounded number of snapshots the search need not end, whatever their distances; it is stopped when it only repeats itself
            error: `DIR/rings.aut` is not written, after 4 states: the search only visits states again; leave out --bounded, so that it ends
            exit 3
        "#]],
    );
    assert_only(&scratch, &["rings.m"]);
}

/// Numbers modulo 12.
struct Ring;

impl Machine for Ring {
    type State = u32;
    const RULES: &'static [&'static str] = &["add 5", "halve"];

    fn starts(&self) -> impl IntoIterator<Item = u32> {
        [3, 8]
    }

    fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
        [[(x + 5) % 12, x / 2][rule]]
    }
}

#[test]
fn a_rust_type_has_a_graph_too() {
    let model = MachineModel::new(Ring);
    let plain = Plain::of(&model).expect("it is small");
    let scratch = folder();
    let output = GraphOutput::new(scratch.path().join("ring.aut"), GraphOptions::default());
    let output = output.expect("it can be written");
    let mut writer = output.writer_of(&model);
    let checked = Check::of(&model)
        .graph(&mut writer)
        .run()
        .expect("nothing fails");
    assert_eq!(checked.outcome.states, 12);
    let stop = Stop::new();
    let written = output
        .save(&Resources::new(&stop))
        .expect("it can be written");
    assert!(written.expect("it is whole").has_added_start);
    let text = std::fs::read_to_string(output.path()).expect("it is text");
    let edges = plain.named(|_, _, rule| Ring::RULES[rule as usize].to_owned());
    assert_eq!(text, aut(13, &edges));
    assert!(
        text.starts_with("des (0, 26, 13)\n(0, start, 1)\n(0, start, 2)\n"),
        "{text}"
    );
}

/// Numbers modulo 40,009.
struct LargeRing;

impl Machine for LargeRing {
    type State = u32;
    const RULES: &'static [&'static str] = &["add 1", "times 7"];

    fn starts(&self) -> impl IntoIterator<Item = u32> {
        [1]
    }

    fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
        [[x + 1, 7 * x][rule] % 40_009]
    }
}

/// The disk is full in the search, or in the join; another process of the caller continues.
#[test]
fn the_graph_of_a_rust_type_is_resumed() {
    let (model, scratch) = (MachineModel::new(LargeRing), folder());
    let path = scratch.path().join("ring.hlts");
    let options = GraphOptions {
        values: true,
        ..GraphOptions::default()
    };
    let run = scratch.path().join("run");
    // The bytes of the file, if every state was visited.
    let attempt = |disk_limit: Option<u64>, is_resumed: bool| {
        let output = GraphOutput::new(&path, options.clone()).expect("it can be written");
        let mut writer = output.writer_of(&model);
        let check = Check::of(&model).resources(hadal::Resources {
            data_memory: Some(600 << 10),
            commit_every: Some(Duration::from_millis(100)),
            threads: Some(2),
            disk_limit,
            ..hadal::Resources::default()
        });
        let check = match is_resumed {
            false => check.disk(&run),
            true => {
                let saved = hadal::SavedRun::open(&run).expect("there is a run");
                let asked = saved.graph().expect("it is whole");
                assert_eq!(asked, Some((path.clone(), options.clone())));
                check.resume(saved).expect("it is unfinished")
            }
        };
        let checked = check.graph(&mut writer).run().expect("nothing fails");
        let is_done = checked.outcome.reason.is_none();
        let stop = Stop::new();
        let saved = output.save(&Resources::new(&stop));
        assert_eq!(saved.expect("it can be written").is_some(), is_done);
        is_done.then(|| {
            checked.finish().expect("there is room");
            std::fs::read(&path).expect("the file is there")
        })
    };
    let clear = || {
        std::fs::remove_file(&path).expect("the file is there");
        std::fs::remove_dir_all(&run).expect("the folder is there");
    };
    let whole = attempt(None, false);
    assert!(whole.is_some());
    clear();
    let mut n_stopped = 0;
    for limit in [200 << 10, 600 << 10, 1 << 20, 1400 << 10] {
        let first = attempt(Some(limit), false);
        if first.is_none() {
            n_stopped += 1;
            assert!(attempt(None, true) == whole, "limit {limit}");
        } else {
            assert!(first == whole, "limit {limit}");
        }
        clear();
    }
    assert!(n_stopped >= 2, "{n_stopped}");
}

/// What a search with more than 2^32 states and edges would pass on.
#[test]
fn a_writer_takes_numbers_beyond_32_bits() {
    let (model, scratch) = (MachineModel::new(Ring), folder());
    for n_starts in [1, 2] {
        let path = scratch.path().join("far.hlts");
        let output = GraphOutput::new(&path, GraphOptions::default()).expect("it can be written");
        let mut writer = output.writer_of(&model);
        let far = 5 << 32;
        let facts = GraphFacts {
            n_states: far + 3,
            n_starts,
            n_edges: 4,
        };
        let edge = |source, target, rule| GraphEdge {
            source,
            target,
            multiplicity: 1,
            rule,
        };
        writer.begin_graph(&facts).expect("there is room");
        for (sources, edges) in [
            (0..far, vec![edge(7, far + 1, 0)]),
            (far..far + 2, vec![edge(far, 3, 1), edge(far, far + 2, 0)]),
            (far + 2..far + 3, vec![edge(far + 2, far + 2, 1)]),
        ] {
            let part = GraphPart {
                sources,
                states: None,
                edges: &edges,
            };
            writer.graph(&part).expect("there is room");
        }
        writer.end_graph().expect("there is room");
        let stop = Stop::new();
        let written = output.save(&Resources::new(&stop));
        written.expect("it can be written").expect("it is whole");
        let shift = (n_starts - 1) as usize;
        let far = far as usize + shift;
        let named = |source, rule: &str, target| (source, rule.to_owned(), target, 1);
        let mut expected = vec![
            named(7 + shift, "add 5", far + 1),
            named(far, "halve", 3 + shift),
            named(far, "add 5", far + 2),
            named(far + 2, "halve", far + 2),
        ];
        if n_starts == 2 {
            expected.splice(..0, [named(0, "start", 1), named(0, "start", 2)]);
        }
        assert_eq!(edges_of(&path), (far as u64 + 3, expected));
    }
}

fn folder() -> TempDir {
    tempfile::tempdir_in(root().join("target")).expect("there is a folder for scratch files")
}

fn with(scratch: &TempDir, name: &str, text: &str) -> String {
    let path = scratch.path().join(name);
    std::fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

fn name(scratch: &TempDir, name: &str) -> String {
    scratch.path().join(name).display().to_string()
}

fn generate_cli(args: &[&str]) -> Run {
    hadal(&[&["generate"], args].concat())
}

/// Both streams, the exit code, and the file if there is one; the scratch folder is `DIR`.
#[track_caller]
fn check(scratch: &TempDir, args: &[&str], file: Option<&str>, expected: Expect) {
    let run = generate_cli(args);
    let mut text = format!("{}{}exit {}\n", run.stdout, run.stderr, run.code);
    if let Some(file) = file {
        text += &std::fs::read_to_string(scratch.path().join(file)).expect("it is text");
    }
    let path = scratch.path().display().to_string();
    expected.assert_eq(&text.replace(&path, "DIR"));
}

/// No temporary file is left.
#[track_caller]
fn assert_only(scratch: &TempDir, names: &[&str]) {
    let entries = std::fs::read_dir(scratch.path()).expect("it can be listed");
    let entries = entries.map(|entry| entry.expect("it can be listed").file_name());
    let mut found: Vec<String> = entries
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, names);
}

const TURNS: &str = "
type Who: scalarset(2); Lamp: 0..1;
var turn: Who; on: Lamp;
ruleset w: Who do startstate \"begin\" turn := w; on := 0; end; end;
ruleset w: Who; l: Lamp do rule \"switch\" turn = w & on != l ==> on := l; end; end;
ruleset w: Who do rule \"pass\" turn != w ==> turn := w; end; end;
invariant \"dark\" on = 0;
";

#[test]
fn labels_are_rules_or_have_parameters_or_are_nothing() {
    let scratch = folder();
    let model = with(&scratch, "turns.m", TURNS);
    let out = name(&scratch, "turns.aut");
    let args = |more: &[&'static str]| -> Vec<String> {
        let all = [&model, "-o", &out].into_iter().chain(more.iter().copied());
        all.map(str::to_owned).collect()
    };
    let check = |more: &[&'static str], expected: Expect| {
        let args = args(more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check(&scratch, &args, Some("turns.aut"), expected);
    };
    check(
        &[],
        expect![[r#"
        DIR/turns.aut: 2 states, 4 edges, 2 labels, 70 B (17.5 bytes an edge)
        note: the model has 1 violation, which hadal check shows; steps that fail are no edges
        exit 0
        des (0, 4, 2)
        (0, switch, 1)
        (0, pass, 0)
        (1, switch, 0)
        (1, pass, 1)
    "#]],
    );
    check(
        &["--labels", "full"],
        expect![[r#"
        DIR/turns.aut: 2 states, 4 edges, 3 labels, 84 B (21.0 bytes an edge)
        note: labels lack parameters that symmetry makes ambiguous; --symmetry off keeps them
        note: the model has 1 violation, which hadal check shows; steps that fail are no edges
        exit 0
        des (0, 4, 2)
        (0, "switch(l=1)", 1)
        (0, pass, 0)
        (1, "switch(l=0)", 0)
        (1, pass, 1)
    "#]],
    );
    check(
        &["--labels", "full", "--symmetry", "off", "--tau", "pass"],
        expect![[r#"
            DIR/turns.aut: 5 states, 10 edges, 6 labels, 219 B (21.9 bytes an edge)
            note: the model has several startstates: state 0 is added, with an edge to each
            note: the model has 1 violation, which hadal check shows; steps that fail are no edges
            exit 0
            des (0, 10, 5)
            (0, start, 1)
            (0, start, 2)
            (1, "switch(w=Who_1, l=1)", 3)
            (1, pass, 2)
            (2, "switch(w=Who_2, l=1)", 4)
            (2, pass, 1)
            (3, "switch(w=Who_1, l=0)", 1)
            (3, pass, 4)
            (4, "switch(w=Who_2, l=0)", 2)
            (4, pass, 3)
        "#]],
    );
    check(
        &["--labels", "none"],
        expect![[r#"
        DIR/turns.aut: 2 states, 4 edges, 1 label, 54 B (13.5 bytes an edge)
        note: the model has 1 violation, which hadal check shows; steps that fail are no edges
        exit 0
        des (0, 4, 2)
        (0, i, 1)
        (0, i, 0)
        (1, i, 0)
        (1, i, 1)
    "#]],
    );
}

/// A state with many steps: each of them is evaluated once, not once for each one behind it.
#[test]
fn a_state_may_have_a_hundred_thousand_labels() {
    let scratch = folder();
    let text = "
type Many: 0..99999;
var x: Many;
startstate x := 0; end;
ruleset place: Many do
rule \"go to a place whose number is in the label, which is therefore long\" x = 0 ==> x := place; end;
end;
";
    let model = with(&scratch, "many.m", text);
    let out = name(&scratch, "many.hlts");
    let args = [&*model, "-o", &out, "--labels", "full"];
    check(
        &scratch,
        &[&args[..], &["--memory", "64M"]].concat(),
        None,
        expect![[r#"
            error: DIR/many.hlts: the labels need more than 8388608 bytes of memory; give it more with --memory
            exit 3
        "#]],
    );
    assert_only(&scratch, &["many.m"]);
    let since = Instant::now();
    let run = generate_cli(&[&args[..], &["--memory", "400M"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("100,000 labels"), "{}", run.stdout);
    let seconds = since.elapsed().as_secs();
    assert!(seconds < 60, "{seconds} s");
}

#[test]
fn steps_with_several_paths_have_a_multiplicity() {
    let scratch = folder();
    let text =
        "byte x;\nactive proctype p() { atomic { if :: x = 1 :: x = 1 :: x = 2 fi; x = x } }\n";
    let model = with(&scratch, "paths.pml", text);
    let out = name(&scratch, "paths.hlts");
    let run = generate_cli(&[&model, "-o", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (_, edges) = edges_of(Path::new(&out));
    let multiplicities: Vec<u64> = edges.iter().map(|edge| edge.3).collect();
    assert!(multiplicities.contains(&2), "{edges:?}");
}

#[test]
fn what_cannot_be_written_is_refused_before_the_search() {
    let scratch = folder();
    let model = with(&scratch, "turns.m", TURNS);
    let refused = |output: &str, more: &[&str], expected: Expect| {
        let output = name(&scratch, output);
        check(
            &scratch,
            &[&[&*model, "-o", &output], more].concat(),
            None,
            expected,
        );
    };
    refused(
        "turns.png",
        &[],
        expect![[r#"
        error: cannot write `DIR/turns.png`: the name must end in .aut, .hlts or .dot, and .zst may follow
        exit 2
    "#]],
    );
    refused(
        "none/turns.aut",
        &[],
        expect![[r#"
            error: cannot write `DIR/none/turns.aut`: No such file or directory (os error 2)
            exit 2
        "#]],
    );
    refused(
        "turns.aut",
        &["--values"],
        expect![[r#"
        error: values of states are written to `.hlts` only
        exit 2
    "#]],
    );
    refused(
        "turns.aut",
        &["--time-limit", "0s"],
        expect![[r#"
        error: `DIR/turns.aut` is not written, after 2 states: the time limit was reached
        exit 3
    "#]],
    );
    assert_only(&scratch, &["turns.m"]);
    let output = name(&scratch, "big.dot");
    check(
        &scratch,
        &["models/peterson.m", "-o", &output, "--quiet"],
        None,
        expect![[r#"
            error: DIR/big.dot: a picture of 49302 states and 189182 edges is of no use; .dot takes up to 10000 of each
            exit 2
        "#]],
    );
    assert_only(&scratch, &["turns.m"]);
}

/// What we write we can read: a rule may be called as a rate is in the text.
#[test]
fn a_label_that_the_text_cannot_express_is_refused() {
    let scratch = folder();
    let text = "var x: 0..2; startstate x := 0; end;
rule \"rate 2\" x < 2 ==> x := x + 1; end; rule \"say \\\"hi\\\", (you)\" x = 2 ==> x := 0; end;";
    let model = with(&scratch, "rate.m", text);
    let out = name(&scratch, "rate.aut");
    check(
        &scratch,
        &[&model, "-o", &out],
        None,
        expect![[r#"
        error: cannot write `DIR/rate.aut`: label "rate 2" means a probability or a rate in .aut; .hlts takes it as it is
        exit 2
    "#]],
    );
    assert_only(&scratch, &["rate.m"]);
    let hidden = [&*model, "-o", &out, "-q", "--tau", "i,rate 2"];
    assert_eq!(generate_cli(&hidden).code, 0);
    let found = edges_of(Path::new(&out)).1;
    assert_eq!(found[0].1, "i");
    let compact = name(&scratch, "rate.hlts");
    assert_eq!(generate_cli(&[&model, "-o", &compact, "-q"]).code, 0);
    let named = edges_of(Path::new(&compact)).1;
    assert_eq!(named[0].1, "rate 2");
    assert_eq!(named[2].1, "say \"hi\", (you)");
}

/// The same bytes in every way that leads to them.
#[test]
fn the_file_is_the_same_whatever_threads_memory_and_compression() {
    let scratch = folder();
    for model in ["models/peterson.m", "models/alternating_bit.pml"] {
        for format in ["aut", "hlts"] {
            let mut first: Option<Vec<u8>> = None;
            for more in [
                &["--threads", "1"][..],
                &["--threads", "2", "--data-memory", "2M"],
                &["--threads", "4", "--data-memory", "900K"],
                &["--threads", "4", "--memory", "40M"],
                &["--engine", "interpreter"],
                &["--store", "hash96", "--data-memory", "1M"],
            ] {
                let out = name(&scratch, &format!("out.{format}"));
                let run = generate_cli(&[&[model, "-o", &out, "--quiet"], more].concat());
                assert_eq!(run.code, 0, "{more:?}: {}", run.stderr);
                let bytes = std::fs::read(&out).expect("the file is there");
                assert!(
                    *first.get_or_insert_with(|| bytes.clone()) == bytes,
                    "{more:?}"
                );
            }
            let packed = name(&scratch, &format!("packed.{format}.zst"));
            let back = name(&scratch, &format!("back.{format}"));
            assert_eq!(generate_cli(&[model, "-o", &packed, "-q"]).code, 0);
            assert_eq!(hadal(&["lts", "convert", &packed, "-o", &back]).code, 0);
            let back = std::fs::read(&back).expect("the file is there");
            assert!(Some(back) == first, "{model} {format}");
        }
    }
}

/// A disk that is full at any length: in the search, in the join, while ordinals are read. Then the run
/// is resumed with room for more, and once more.
#[test]
fn an_interrupted_run_is_resumed_and_writes_the_same_file() {
    let scratch = folder();
    let out = name(&scratch, "out.hlts");
    let model = "models/peterson.m";
    assert_eq!(generate_cli(&[model, "-o", &out, "-q"]).code, 0);
    let whole = std::fs::read(&out).expect("the file is there");
    let small = [
        "--quiet",
        "--data-memory",
        "1500K",
        "--commit-every",
        "50ms",
    ];
    let (mut n_stopped, mut n_resumed) = (0, 0);
    for limit in ["300K", "1M", "2M", "3M", "4M", "5M", "6M", "7M"] {
        std::fs::write(&out, "what was there before").expect("it can be written");
        let run = name(&scratch, &format!("run-{limit}"));
        let begin = [model, "-o", &out, "--disk", &run, "--disk-limit", limit];
        let first = generate_cli(&[&begin[..], &small].concat());
        if first.code == 0 {
            assert!(std::fs::read(&out).expect("the file is there") == whole);
            continue;
        }
        assert_eq!(first.code, 3, "{}", first.stderr);
        assert!(first.stderr.contains("hadal resume"), "{}", first.stderr);
        n_stopped += 1;
        let before = std::fs::read(&out).expect("the file is there");
        assert_eq!(before, b"what was there before");
        let again = hadal(&[&["resume", &run, "--disk-limit", limit], &small[..]].concat());
        assert!([0, 3].contains(&again.code), "{}", again.stderr);
        if again.code == 3 {
            let last = hadal(&[&["resume", &run, "--threads", "3"], &small[..]].concat());
            assert_eq!(last.code, 0, "{}", last.stderr);
            n_resumed += 1;
        }
        assert!(
            std::fs::read(&out).expect("the file is there") == whole,
            "{limit}"
        );
        // It is finished.
        assert_eq!(hadal(&["resume", &run]).code, 2);
    }
    assert!(n_stopped >= 4 && n_resumed >= 4, "{n_stopped} {n_resumed}");
}

/// A signal ends it cleanly, and nothing is left where the file was to be.
#[test]
fn a_signal_leaves_no_file_and_a_run_to_resume() {
    let model = "models/peterson.m";
    let scratch = folder();
    let again = name(&scratch, "again.aut");
    assert_eq!(generate_cli(&[model, "-o", &again, "-q"]).code, 0);
    let whole = std::fs::read(&again).expect("the file is there");
    let mut n_stopped = 0;
    // On a fast machine some are over by then, and on a slow one some have not begun.
    for millis in [1500, 700, 300, 150, 80] {
        let scratch = folder();
        let (out, run) = (name(&scratch, "out.aut"), name(&scratch, "run"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(["generate", model, "-o", &out, "--disk", &run, "--quiet"])
            .args(["--commit-every", "20ms", "--data-memory", "1500K"])
            .current_dir(root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(millis));
        let pid = child.id().to_string();
        let mut kill = Command::new("kill");
        kill.args(["-INT", &pid]).stderr(Stdio::null());
        kill.status().expect("there is kill");
        let status = child.wait().expect("it ends");
        if status.code() == Some(3) && Path::new(&run).join("MANIFEST").exists() {
            assert_only(&scratch, &["run"]);
            let resumed = hadal(&["resume", &run, "--quiet", "--threads", "2"]);
            assert_eq!(resumed.code, 0, "{}", resumed.stderr);
            assert!(std::fs::read(&out).expect("the file is there") == whole);
            n_stopped += 1;
        }
    }
    assert!(n_stopped > 0, "no signal came in time");
}

/// Kills a generation at any moment, in the search, in the join and while it writes, and resumes it until
/// it is done; returns how often it was killed.
fn kill_and_resume(chance: &mut u64, window: Duration, whole: &[u8]) -> u32 {
    let scratch = folder();
    let (out, run) = (name(&scratch, "out.hlts"), name(&scratch, "run"));
    let (mut n_kills, mut is_begun) = (0, false);
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
        match is_begun {
            false => command.args(["generate", "models/peterson.m", "-o", &out, "--disk", &run]),
            true => command.args(["resume", &run]),
        };
        let small = ["--data-memory", "1500K", "--commit-every", "20ms", "-q"];
        let child = command.args(small).current_dir(root()).spawn();
        let mut child = child.expect("the binary runs");
        *chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let micros = (*chance >> 33) % window.as_micros() as u64;
        std::thread::sleep(Duration::from_micros(micros));
        match child.try_wait().expect("a child can be asked") {
            Some(status) => assert_eq!(status.code(), Some(0)),
            None => {
                child.kill().expect("a child can be killed");
                let status = child.wait().expect("a child ends");
                n_kills += u32::from(status.code().is_none());
            }
        }
        match std::fs::read(&out) {
            // Whatever has its name is complete, also where the run could not note that it is done.
            Ok(bytes) => {
                assert!(bytes == whole, "after {n_kills} kills");
                return n_kills;
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
        }
        // Killed before it had a manifest, it has not begun.
        is_begun = Path::new(&run).join("MANIFEST").exists();
        if !is_begun && Path::new(&run).exists() {
            std::fs::remove_dir_all(&run).expect("a folder can be removed");
        }
    }
}

fn kills(n: u32) {
    let scratch = folder();
    let out = name(&scratch, "out.hlts");
    let since = Instant::now();
    let small = ["--data-memory", "1500K", "-q"];
    let run = generate_cli(&[&["models/peterson.m", "-o", &out], &small[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let window = since.elapsed();
    let whole = std::fs::read(&out).expect("the file is there");
    let (mut chance, mut n_kills, mut n_ended) = (54_321, 0, 0);
    while n_kills < n {
        n_kills += kill_and_resume(&mut chance, window, &whole);
        n_ended += 1;
    }
    println!("{n_kills} kills, {n_ended} ends");
}

#[test]
fn a_killed_generation_is_resumed_and_writes_the_same_file() {
    kills(8);
}

/// The longer way: `cargo test --release -p hadal --test it -- --ignored kills`.
#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_change_no_byte() {
    kills(200);
}

/// Whoever is impatient leaves nothing behind either.
#[test]
fn two_signals_leave_no_unfinished_file() {
    let mut n_stopped = 0;
    for millis in [20, 60, 100, 140, 180, 220, 260, 300, 350, 400, 500] {
        let scratch = folder();
        let out = name(&scratch, "out.aut");
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(["generate", "models/peterson.m", "-o", &out, "-q"])
            .args(["--labels", "full"])
            .current_dir(root())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(millis));
        let pid = child.id().to_string();
        for _ in 0..2 {
            let mut kill = Command::new("kill");
            kill.args(["-INT", &pid]).stderr(Stdio::null());
            kill.status().expect("there is kill");
        }
        let status = child.wait().expect("it ends");
        match Path::new(&out).exists() {
            true => assert_only(&scratch, &["out.aut"]),
            false => {
                assert_only(&scratch, &[]);
                n_stopped += u32::from(status.code() == Some(3));
            }
        }
    }
    assert!(n_stopped > 0, "no signal came in time");
}

/// The graph is there, and its text finds no room: the run can be resumed all the same.
#[test]
fn a_text_without_room_is_written_by_a_resumed_run() {
    let scratch = folder();
    let (out, run) = (name(&scratch, "out.aut"), name(&scratch, "run"));
    let limited = |limit: &str, args: &str| {
        let command = format!("ulimit -f {limit}; exec \"$0\" {args}");
        let output = Command::new("bash")
            .args(["-c", &command, env!("CARGO_BIN_EXE_hadal")])
            .current_dir(root())
            .output();
        let output = output.expect("there is bash");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    let begin = format!("generate models/peterson.m -o {out} --disk {run} -q");
    let (code, stderr) = limited("4000", &begin);
    assert_eq!(code, Some(3), "{stderr}");
    let hint = format!("continue it with: hadal resume {run}");
    assert!(stderr.contains(&hint), "{stderr}");
    assert_only(&scratch, &["run"]);
    let (code, stderr) = limited("unlimited", &format!("resume {run} -q"));
    assert_eq!(code, Some(0), "{stderr}");
    let again = name(&scratch, "again.aut");
    assert_eq!(
        generate_cli(&["models/peterson.m", "-o", &again, "-q"]).code,
        0
    );
    let bytes = |path: &str| std::fs::read(path).expect("the file is there");
    assert!(bytes(&out) == bytes(&again));
}
