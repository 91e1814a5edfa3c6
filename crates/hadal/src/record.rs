//! The run record: one JSON object with everything a program may want to know about a run.
//!
//! Names and order of the fields are a contract. Fields are read from the JSON; the types here are
//! public only where a program writes or reads a part of a record.
//! A rejected model has diagnostics and no counts: before the search nothing was counted
//! ([`RejectedRecord`]), and counts of a search that rejects it say nothing about the model.

use std::collections::BTreeMap;

use hadal_model::{Property, Rule, Shape, Step};
use hadal_search::{DirectedFigures, Outcome, Strategy, Value as Figure, Verdict};
use hadal_syntax::{Diagnostic, Severity, Sources};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::checked::{Checked, Counterexample};
use crate::claims::ProductCounts;
use crate::language::dialect_name;
use crate::names::Named;
use crate::order::OrderReport;
use crate::question::SearchOptions;
use crate::trace::{Change, NamedStep, NamedTrace};
use crate::{Error, ModelSource, Rejection, Symmetry};

/// The record of a run. Serialises to the published JSON. That of a Rust type has the language
/// `rust` and an empty dialect.
#[derive(Clone, Debug, Serialize)]
pub struct Record<'c> {
    hadal: &'static str,
    model: String,
    language: &'static str,
    dialect: String,
    verdict: &'static str,
    complete: bool,
    reason: Option<&'static str>,
    /// Only where the model is rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Vec<DiagnosticRecord>>,
    /// Not where the model is rejected.
    #[serde(flatten)]
    counts: Option<CountsRecord>,
    #[serde(serialize_with = "write_violations")]
    violations: Vec<Counterexample<'c>>,
    rules: Vec<RuleRecord>,
    properties: Vec<PropertyRecord>,
    /// Only where claims were checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    products: Vec<ProductRecord>,
    strategy: String,
    store: &'static str,
    engine: &'static str,
    /// Only where native code was asked for and some of the model is too large for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interpreted: Vec<String>,
    symmetry: &'static str,
    /// `null` where no states are reduced.
    order: Option<OrderRecord>,
    threads: usize,
    seed: u64,
    state_bits: usize,
    constants: Map<String, Value>,
    /// Options of the language that have no field of their own; a replay needs them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, Vec<String>>,
    duplicates: DuplicatesRecord,
    strategy_stats: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<SearchRecord>,
    memory: MemoryRecord,
    disk: DiskRecord,
    omission: Option<OmissionRecord>,
    seconds: SecondsRecord,
}

impl<'c> Record<'c> {
    pub(crate) fn new(checked: &'c Checked<'_>) -> Self {
        let Checked { outcome, .. } = checked;
        let (model, loaded) = (checked.model(), checked.loaded());
        let shape = model.shape();
        let search = checked.search_options();
        let by_depth = checked.strategy().is_by_depth();
        let violations = checked.violations();
        let is_rejected = outcome.verdict == Verdict::Rejected;
        let origin = Origin::new(loaded.map(|loaded| &loaded.source), checked.name());
        Record {
            hadal: VERSION,
            model: origin.model,
            language: origin.language,
            dialect: origin.dialect,
            verdict: outcome.verdict.name(),
            complete: outcome.complete,
            reason: outcome.reason.map(|reason| reason.name()),
            diagnostics: is_rejected.then(|| {
                violations
                    .iter()
                    .map(DiagnosticRecord::of_violation)
                    .collect()
            }),
            counts: (!is_rejected).then(|| CountsRecord {
                states: outcome.states,
                states_exact: outcome.states_exact,
                visited: outcome.visited,
                transitions: outcome.transitions,
                depth: by_depth.then_some(outcome.depth),
                layers: by_depth.then(|| outcome.layers.clone()),
            }),
            violations,
            rules: rule_records(shape, outcome),
            properties: property_records(shape, outcome),
            products: checked.products.iter().map(ProductRecord::new).collect(),
            strategy: checked.strategy().name().to_owned(),
            store: search.store.name(),
            engine: origin.engine,
            interpreted: loaded.map_or_else(Vec::new, |loaded| loaded.interpreted.clone()),
            symmetry: origin.symmetry,
            order: loaded
                .and_then(|loaded| loaded.order.as_ref())
                .map(OrderRecord::new),
            threads: checked.threads(),
            seed: search.seed,
            state_bits: shape.state_bits,
            constants: loaded.map_or_else(Map::new, |loaded| named_values(&loaded.constants)),
            options: loaded.map_or_else(BTreeMap::new, |loaded| {
                let of_text = &loaded.source.options;
                of_text.by_name(&["const", "dialect", "loop-limit"])
            }),
            duplicates: DuplicatesRecord {
                memory: outcome.duplicates.memory,
                layer: outcome.duplicates.layer,
                disk: outcome.duplicates.disk,
                missed: outcome.strategy_stats.count("revisits").unwrap_or(0),
            },
            strategy_stats: strategy_figures(checked.strategy(), outcome),
            search: outcome.directed.as_ref().map(SearchRecord::new),
            memory: MemoryRecord {
                budget_bytes: checked.budget_bytes(),
                peak_bytes: checked.peak_bytes,
                data_bytes: outcome.data_bytes,
            },
            disk: DiskRecord {
                peak_bytes: outcome.disk.peak_bytes,
                read_bytes: outcome.disk.read_bytes,
                written_bytes: outcome.disk.written_bytes,
                bytes_per_state: checked.disk_bytes_per_state(),
            },
            omission: outcome.omission.map(|omission| OmissionRecord {
                any: omission.any,
                given_error: omission.given_error,
            }),
            seconds: SecondsRecord {
                total: checked.total_seconds,
                load: loaded.map_or(0.0, |loaded| loaded.load_seconds),
                compile: loaded.map_or(0.0, |loaded| loaded.compile_seconds),
                search: outcome.seconds.search,
                expand: outcome.seconds.expand,
                merge: outcome.seconds.merge,
                io_wait: outcome.seconds.io_wait,
                trace: outcome.seconds.trace,
                first_state: checked.first_state_seconds,
                insert: outcome.seconds.insert,
            },
        }
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a record says about the origin of a model.
struct Origin {
    model: String,
    language: &'static str,
    dialect: String,
    engine: &'static str,
    symmetry: &'static str,
}

impl Origin {
    /// A model without texts is a Rust type, compiled with the program that checks it.
    fn new(source: Option<&ModelSource>, name: &str) -> Self {
        Origin {
            model: name.to_owned(),
            language: source.map_or("rust", |source| source.language.name()),
            dialect: source.map_or(String::new(), |source| {
                dialect_name(source.language, &source.options)
            }),
            engine: source
                .map(|source| source.engine)
                .unwrap_or_default()
                .name(),
            symmetry: source
                .map_or(Symmetry::Off, |source| source.symmetry)
                .name(),
        }
    }
}

/// The record of a model that was rejected before its first state.
#[derive(Clone, Debug, Serialize)]
pub struct RejectedRecord {
    hadal: &'static str,
    model: String,
    language: &'static str,
    dialect: String,
    verdict: &'static str,
    complete: bool,
    reason: Option<String>,
    diagnostics: Vec<DiagnosticRecord>,
    /// None.
    violations: [ViolationRecord; 0],
    strategy: String,
    store: &'static str,
    engine: &'static str,
    symmetry: &'static str,
    threads: usize,
    seed: u64,
    /// Those that were overridden.
    constants: Map<String, Value>,
}

impl RejectedRecord {
    /// The record of `source`, whose check by `strategy` would have had these options.
    pub fn new(
        source: &ModelSource,
        search: &SearchOptions,
        strategy: &dyn Strategy,
        threads: usize,
        diagnostics: Vec<DiagnosticRecord>,
    ) -> Self {
        let origin = Origin::new(Some(source), source.name());
        RejectedRecord {
            hadal: VERSION,
            model: origin.model,
            language: origin.language,
            dialect: origin.dialect,
            verdict: Verdict::Rejected.name(),
            complete: false,
            reason: None,
            diagnostics,
            violations: [],
            strategy: strategy.name().to_owned(),
            store: search.store.name(),
            engine: origin.engine,
            symmetry: origin.symmetry,
            threads,
            seed: search.seed,
            constants: named_values(&source.options.pairs("const")),
        }
    }
}

/// Why a model is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosticRecord {
    severity: &'static str,
    message: String,
    /// As `file:line:column`; empty where there is no place.
    at: String,
}

impl DiagnosticRecord {
    /// A diagnostic of a language.
    pub fn new(sources: &Sources, diagnostic: &Diagnostic) -> Self {
        DiagnosticRecord {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: diagnostic.message.clone(),
            at: sources.describe(diagnostic.span().start),
        }
    }

    /// An error without a place in a text.
    pub fn error(message: &str) -> Self {
        DiagnosticRecord {
            severity: "error",
            message: message.to_owned(),
            at: String::new(),
        }
    }

    /// All errors of a rejection.
    pub fn all(rejection: &Rejection) -> Vec<Self> {
        let placed = rejection.diagnostics.iter();
        let placed = placed.map(|diagnostic| Self::new(&rejection.sources, diagnostic));
        let messages = rejection
            .messages
            .iter()
            .map(|message| Self::error(message));
        placed.chain(messages).collect()
    }

    /// An order dependence that a search found.
    fn of_violation(found: &Counterexample<'_>) -> Self {
        DiagnosticRecord {
            at: found.violation.at.clone(),
            ..DiagnosticRecord::error(&found.message())
        }
    }
}

/// What a search counted.
#[derive(Clone, Debug, Serialize)]
struct CountsRecord {
    states: u64,
    states_exact: bool,
    visited: u64,
    transitions: u64,
    depth: Option<u32>,
    layers: Option<Vec<u64>>,
}

/// How results were found to be independent of the order of iterations.
#[derive(Clone, Debug, Serialize)]
struct OrderRecord {
    proved: usize,
    checked: Vec<CheckedLoopRecord>,
}

/// A loop or quantifier that was checked wherever it was reached.
#[derive(Clone, Debug, Serialize)]
struct CheckedLoopRecord {
    at: String,
    states: u64,
}

impl OrderRecord {
    fn new(report: &OrderReport) -> Self {
        let checked = report.checked.iter().map(|checked| CheckedLoopRecord {
            at: checked.at.clone(),
            states: checked.n_states(),
        });
        OrderRecord {
            proved: report.proved,
            checked: checked.collect(),
        }
    }
}

/// A violation with its counterexample, as a program reads it.
#[derive(Clone, Debug, Deserialize)]
pub struct ViolationRecord {
    /// Its class.
    pub kind: String,
    /// The property, rule or startstate.
    pub name: String,
    /// What is wrong, in one line.
    pub message: String,
    /// As `file:line:column`; empty for a deadlock.
    pub at: String,
    /// Steps from a startstate.
    pub depth: u32,
    /// The steps; empty where there is no trace.
    pub trace: Vec<StepRecord>,
    /// The last state, by leaf.
    pub state: Map<String, Value>,
    /// What met a fault in the last state, where a rule did.
    #[serde(default)]
    pub failing_step: Option<FailingStepRecord>,
    /// What waits and should not, where nothing can happen any more.
    #[serde(default)]
    pub blocked: Vec<String>,
}

/// A step that failed, so that it is not one of the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailingStepRecord {
    /// The rule.
    pub rule: String,
    /// Its parameters, by name.
    pub parameters: Map<String, Value>,
}

/// A step of a counterexample. The first one is the startstate and changes everything.
#[derive(Clone, Debug, Deserialize)]
pub struct StepRecord {
    /// The rule or startstate.
    pub rule: String,
    /// Its parameters, by name.
    pub parameters: Map<String, Value>,
    /// The leaves that have another value than before.
    pub changes: Map<String, Value>,
    /// The firings that it consists of; left out where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<InnerStepRecord>,
}

/// A firing that is part of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InnerStepRecord {
    /// The rule.
    pub rule: String,
    /// Its parameters, by name.
    pub parameters: Map<String, Value>,
    /// What it printed, by line.
    pub output: Vec<String>,
}

/// How often a rule fired.
#[derive(Clone, Debug, Serialize)]
struct RuleRecord {
    name: String,
    fired: u64,
}

/// Whether a property holds; `None` where that is not known.
#[derive(Clone, Debug, Serialize)]
struct PropertyRecord {
    name: String,
    kind: &'static str,
    holds: Option<bool>,
}

/// What the search of the product with a claim counted.
#[derive(Clone, Debug, Serialize)]
struct ProductRecord {
    name: String,
    complete: bool,
    states: u64,
    transitions: u64,
    depth: u32,
}

impl ProductRecord {
    fn new(counts: &ProductCounts) -> Self {
        ProductRecord {
            name: counts.name.clone(),
            complete: counts.is_exhausted,
            states: counts.states,
            transitions: counts.transitions,
            depth: counts.depth,
        }
    }
}

/// Successors that were known already, by where they were found.
#[derive(Clone, Debug, Default, Serialize)]
struct DuplicatesRecord {
    memory: u64,
    layer: u64,
    disk: u64,
    missed: u64,
}

/// A search whose order depends on the costs of steps.
#[derive(Clone, Debug, Serialize)]
struct SearchRecord {
    expanded: u64,
    generated: u64,
    reopened: u64,
    inconsistent: u64,
    cost: Option<u64>,
    optimal: bool,
    heuristic: String,
}

impl SearchRecord {
    fn new(figures: &DirectedFigures) -> Self {
        SearchRecord {
            expanded: figures.expanded,
            generated: figures.generated,
            reopened: figures.reopened,
            inconsistent: figures.inconsistent,
            cost: figures.cost,
            optimal: figures.cost.is_some() && figures.is_least,
            heuristic: figures.heuristic.clone().unwrap_or("none".to_owned()),
        }
    }
}

/// Memory: what was allowed, what the system saw, what the data took.
#[derive(Clone, Debug, Default, Serialize)]
struct MemoryRecord {
    budget_bytes: u64,
    peak_bytes: u64,
    data_bytes: u64,
}

/// Disk use by this process; all zero for a search in memory.
#[derive(Clone, Debug, Default, Serialize)]
struct DiskRecord {
    peak_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    bytes_per_state: f64,
}

/// Probabilities that a hash store missed something; exact stores have none.
#[derive(Clone, Debug, Serialize)]
struct OmissionRecord {
    any: f64,
    given_error: f64,
}

/// Where the time went.
#[derive(Clone, Debug, Default, Serialize)]
struct SecondsRecord {
    total: f64,
    load: f64,
    compile: f64,
    search: f64,
    expand: f64,
    /// Sorting candidates and merging them with runs on disk.
    merge: f64,
    /// Waiting for the disk, summed over threads.
    io_wait: f64,
    trace: f64,
    /// From the start of the process to the first state expanded; `null` where none was.
    first_state: Option<f64>,
    /// Looking up states in memory and inserting the new ones.
    insert: f64,
}

/// Pairs as a JSON object of strings.
#[doc(hidden)]
pub fn object<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a str)>) -> Map<String, Value> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.clone(), Value::from(value)))
        .collect()
}

fn named_values(pairs: &[(String, String)]) -> Map<String, Value> {
    object(pairs.iter().map(|(name, value)| (name, value.as_str())))
}

/// Writes violations with their counterexamples as [`ViolationRecord`] reads them, a step at a time.
fn write_violations<S: Serializer>(
    violations: &[Counterexample<'_>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(violations.iter().map(WrittenViolation))
}

/// A violation with its counterexample, as data.
pub(crate) fn violation_value(found: &Counterexample<'_>) -> Result<Value, Error> {
    serde_json::to_value(WrittenViolation(found))
        .map_err(|error| Error::Internal(error.to_string()))
}

struct WrittenViolation<'c>(&'c Counterexample<'c>);

impl Serialize for WrittenViolation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Counterexample {
            violation, trace, ..
        } = self.0;
        let state = trace.map_or_else(Vec::new, |trace| trace.last_state());
        let failing_step = self.0.failing_step();
        let blocked = self.0.blocked();
        let n_fields = 7
            + usize::from(violation.cost.is_some())
            + usize::from(failing_step.is_some())
            + usize::from(!blocked.is_empty());
        let mut out = serializer.serialize_struct("ViolationRecord", n_fields)?;
        out.serialize_field("kind", violation.kind.name())?;
        out.serialize_field("name", &violation.name)?;
        out.serialize_field("message", &self.0.message())?;
        out.serialize_field("at", &violation.at)?;
        out.serialize_field("depth", &violation.depth)?;
        if let Some(cost) = violation.cost {
            out.serialize_field("cost", &cost)?;
        }
        out.serialize_field("trace", &WrittenTrace(*trace))?;
        out.serialize_field("state", &Leaves(&state))?;
        if let Some((rule, parameters)) = failing_step {
            let parameters = named_values(parameters);
            let step = FailingStepRecord { rule, parameters };
            out.serialize_field("failing_step", &step)?;
        }
        if !blocked.is_empty() {
            out.serialize_field("blocked", &blocked)?;
        }
        out.end()
    }
}

struct WrittenTrace<'c>(Option<NamedTrace<'c>>);

impl Serialize for WrittenTrace<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let steps = self.0.into_iter().flat_map(NamedTrace::steps);
        serializer.collect_seq(steps.map(WrittenStep))
    }
}

struct WrittenStep(NamedStep);

impl Serialize for WrittenStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let step = &self.0;
        let n_fields = 3 + usize::from(!step.inner.is_empty());
        let mut out = serializer.serialize_struct("StepRecord", n_fields)?;
        out.serialize_field("rule", &step.rule)?;
        out.serialize_field("parameters", &named_values(&step.parameters))?;
        out.serialize_field("changes", &Changes(&step.changes))?;
        if !step.inner.is_empty() {
            let inner: Vec<_> = step.inner.iter().map(InnerStepRecord::new).collect();
            out.serialize_field("steps", &inner)?;
        }
        out.end()
    }
}

struct Changes<'c>(&'c [Change]);

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // What is gone has no value: `undefined` in the record.
        let after = |change: &'_ Change| change.after.clone().unwrap_or("undefined".to_owned());
        serializer.collect_map(self.0.iter().map(|change| (&change.name, after(change))))
    }
}

/// The leaves of a state, whose names are distinct.
struct Leaves<'c>(&'c [(String, String)]);

impl Serialize for Leaves<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl InnerStepRecord {
    fn new(step: &Step) -> Self {
        InnerStepRecord {
            rule: step.rule.clone(),
            parameters: named_values(&step.parameters),
            output: step.output.clone(),
        }
    }
}

fn rule_records(shape: &Shape, outcome: &Outcome) -> Vec<RuleRecord> {
    let rules = shape.rules.iter().zip(&outcome.fired_by_rule);
    let record = |(rule, &fired): (&Rule, &u64)| RuleRecord {
        name: rule.name.clone(),
        fired,
    };
    rules.map(record).collect()
}

fn property_records(shape: &Shape, outcome: &Outcome) -> Vec<PropertyRecord> {
    let properties = shape.properties.iter().zip(&outcome.holds);
    let record = |(property, &holds): (&Property, &Option<bool>)| PropertyRecord {
        name: property.name.clone(),
        kind: property.kind.name(),
        holds,
    };
    properties.map(record).collect()
}

/// Parameters and figures of a strategy.
fn strategy_figures(strategy: &dyn Strategy, outcome: &Outcome) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, value) in strategy.parameters() {
        map.insert(name.to_owned(), value.into());
    }
    for (name, value) in outcome.strategy_stats.iter() {
        let value = match value {
            Figure::Count(count) => (*count).into(),
            Figure::Ratio(x) | Figure::Seconds(x) => (*x).into(),
            Figure::Text(text) => text.clone().into(),
            Figure::Series(series) => series.clone().into(),
        };
        map.insert(name.to_owned(), value);
    }
    map
}
