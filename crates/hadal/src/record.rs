//! The run record: one JSON object with everything a script may want to know about a run.
//!
//! Names and order of the fields are a contract.
//! Where a model is rejected there are diagnostics and no counts: before the search, nothing was
//! counted ([`Rejection`]); during the search, what was counted says nothing about the model.

use hadal_model::{Model, Shape};
use hadal_search::{Outcome, Verdict};
use hadal_syntax::{Diagnostic, Severity, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::flags::name_of;
use crate::order::OrderReport;
use crate::plan::Plan;
use crate::question::Question;
use crate::run::Shown;
use crate::strategy;
use crate::summary::{self, Summary};
use crate::trace::NamedTrace;

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) hadal: String,
    pub(crate) model: String,
    pub(crate) language: String,
    pub(crate) dialect: String,
    pub(crate) verdict: String,
    pub(crate) complete: bool,
    pub(crate) reason: Option<String>,
    /// Only where the model is rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diagnostics: Option<Vec<DiagnosticRecord>>,
    /// Not where the model is rejected.
    #[serde(flatten)]
    pub(crate) counts: Option<CountsRecord>,
    pub(crate) violations: Vec<ViolationRecord>,
    pub(crate) rules: Vec<RuleRecord>,
    pub(crate) properties: Vec<PropertyRecord>,
    pub(crate) strategy: String,
    pub(crate) store: String,
    pub(crate) engine: String,
    pub(crate) symmetry: String,
    /// `null` where no states are reduced.
    pub(crate) order: Option<OrderRecord>,
    pub(crate) threads: usize,
    pub(crate) seed: u64,
    pub(crate) state_bits: usize,
    pub(crate) constants: Map<String, Value>,
    pub(crate) duplicates: DuplicatesRecord,
    pub(crate) strategy_stats: Map<String, Value>,
    pub(crate) memory: MemoryRecord,
    pub(crate) disk: DiskRecord,
    pub(crate) omission: Option<OmissionRecord>,
    pub(crate) seconds: SecondsRecord,
}

impl Record {
    /// The record of a finished run.
    pub(crate) fn new(summary: &Summary<'_>, trace_seconds: f64) -> Self {
        let Summary {
            question,
            strategy,
            plan,
            loaded,
            outcome,
            ..
        } = summary;
        let shape = loaded.model.shape();
        let by_depth = strategy.is_by_depth();
        let diagnostic = |shown| DiagnosticRecord::of(shown, shape);
        let violation = |shown| violation_record(shown, shape);
        let is_rejected = outcome.verdict == Verdict::Rejected;
        Record {
            hadal: env!("CARGO_PKG_VERSION").to_owned(),
            model: loaded.source.name().to_owned(),
            language: name_of(loaded.language),
            dialect: plan.dialect.name().to_owned(),
            verdict: outcome.verdict.name().to_owned(),
            complete: outcome.complete,
            reason: outcome.reason.map(|reason| reason.name().to_owned()),
            diagnostics: is_rejected.then(|| summary.shown.iter().map(diagnostic).collect()),
            counts: (!is_rejected).then(|| CountsRecord {
                states: outcome.states,
                states_exact: outcome.states_exact,
                visited: outcome.visited,
                transitions: outcome.transitions,
                depth: by_depth.then_some(outcome.depth),
                layers: by_depth.then(|| outcome.layers.clone()),
            }),
            violations: summary.shown.iter().map(violation).collect(),
            rules: rule_records(&*loaded.model, outcome),
            properties: property_records(&*loaded.model, outcome),
            strategy: question.strategy.clone(),
            store: name_of(question.store),
            engine: name_of(question.engine),
            symmetry: name_of(question.symmetry),
            order: loaded.order.as_ref().map(OrderRecord::new),
            threads: plan.threads,
            seed: question.seed,
            state_bits: shape.state_bits,
            constants: named_values(&loaded.constants),
            duplicates: DuplicatesRecord {
                memory: outcome.duplicates.memory,
                layer: outcome.duplicates.layer,
                disk: outcome.duplicates.disk,
                missed: outcome.strategy_stats.count("revisits").unwrap_or(0),
            },
            strategy_stats: strategy::record(*strategy, outcome),
            memory: MemoryRecord {
                budget_bytes: plan.budget_bytes,
                peak_bytes: summary.peak_bytes,
                data_bytes: outcome.data_bytes,
            },
            disk: DiskRecord {
                peak_bytes: outcome.disk.peak_bytes,
                read_bytes: outcome.disk.read_bytes,
                written_bytes: outcome.disk.written_bytes,
                bytes_per_state: summary.disk_bytes_per_state(),
            },
            omission: outcome.omission.map(|omission| OmissionRecord {
                any: omission.any,
                given_error: omission.given_error,
            }),
            seconds: SecondsRecord {
                total: summary.total_seconds,
                load: loaded.load_seconds,
                compile: loaded.compile_seconds,
                search: outcome.seconds.search,
                expand: outcome.seconds.expand,
                merge: outcome.seconds.merge,
                io_wait: outcome.seconds.io_wait,
                trace: trace_seconds,
                first_state: summary.first_state_seconds,
                insert: outcome.seconds.insert,
            },
        }
    }
}

/// The record of a model that was rejected before its first state.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rejection {
    hadal: &'static str,
    model: String,
    language: String,
    dialect: String,
    verdict: &'static str,
    complete: bool,
    reason: Option<String>,
    diagnostics: Vec<DiagnosticRecord>,
    violations: Vec<ViolationRecord>,
    strategy: String,
    store: String,
    engine: String,
    symmetry: String,
    threads: usize,
    seed: u64,
    /// Those that were overridden.
    constants: Map<String, Value>,
}

impl Rejection {
    pub(crate) fn new(
        question: &Question,
        plan: &Plan,
        diagnostics: Vec<DiagnosticRecord>,
    ) -> Self {
        Rejection {
            hadal: env!("CARGO_PKG_VERSION"),
            model: question.name.clone(),
            language: name_of(question.language),
            dialect: plan.dialect.name().to_owned(),
            verdict: Verdict::Rejected.name(),
            complete: false,
            reason: None,
            diagnostics,
            violations: Vec::new(),
            strategy: question.strategy.clone(),
            store: name_of(question.store),
            engine: name_of(question.engine),
            symmetry: name_of(question.symmetry),
            threads: plan.threads,
            seed: question.seed,
            constants: named_values(&question.constants),
        }
    }
}

/// Why a model was rejected, or what is suspect about one that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DiagnosticRecord {
    severity: &'static str,
    message: String,
    /// As `file:line:column`; empty where there is no place to point at.
    at: String,
}

impl DiagnosticRecord {
    /// What a front-end says about a source.
    pub(crate) fn new(source: &Source, diagnostic: &Diagnostic) -> Self {
        let position = source.position(diagnostic.span().start);
        DiagnosticRecord {
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: diagnostic.message.clone(),
            at: format!("{}:{position}", source.name()),
        }
    }

    /// An error without a place in the source.
    pub(crate) fn error(message: &str) -> Self {
        DiagnosticRecord {
            severity: "error",
            message: message.to_owned(),
            at: String::new(),
        }
    }

    /// What a search found.
    fn of(shown: &Shown, shape: &Shape) -> Self {
        DiagnosticRecord {
            at: shown.violation.at.clone(),
            ..DiagnosticRecord::error(&summary::describe(&shown.violation, shape))
        }
    }
}

/// What a search counted.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CountsRecord {
    states: u64,
    states_exact: bool,
    visited: u64,
    transitions: u64,
    depth: Option<u32>,
    layers: Option<Vec<u64>>,
}

/// How it was established that results do not depend on the order of iterations.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OrderRecord {
    proved: usize,
    checked: Vec<CheckedLoopRecord>,
}

/// A loop or quantifier that was checked wherever it was reached.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckedLoopRecord {
    at: String,
    states: u64,
}

impl OrderRecord {
    pub(crate) fn new(report: &OrderReport) -> Self {
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

/// A violation with its counterexample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ViolationRecord {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) message: String,
    pub(crate) at: String,
    pub(crate) depth: u32,
    pub(crate) trace: Vec<StepRecord>,
    pub(crate) state: Map<String, Value>,
}

/// A step of a counterexample. The first one is the startstate and changes everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) rule: String,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) changes: Map<String, Value>,
}

/// How often a rule fired.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RuleRecord {
    pub(crate) name: String,
    pub(crate) fired: u64,
}

/// Whether a property holds; `None` where that is not known.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PropertyRecord {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) holds: Option<bool>,
}

/// Successors that were known already, by where that was noticed.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct DuplicatesRecord {
    pub(crate) memory: u64,
    pub(crate) layer: u64,
    pub(crate) disk: u64,
    pub(crate) missed: u64,
}

/// Memory: what was allowed, what the system saw, what the data took.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct MemoryRecord {
    pub(crate) budget_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) data_bytes: u64,
}

/// Disk use by this process; all zero for a search in memory.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct DiskRecord {
    pub(crate) peak_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) bytes_per_state: f64,
}

/// How probable it is that a hash store missed something; exact stores have none.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OmissionRecord {
    pub(crate) any: f64,
    pub(crate) given_error: f64,
}

/// Where the time went.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct SecondsRecord {
    pub(crate) total: f64,
    pub(crate) load: f64,
    pub(crate) compile: f64,
    pub(crate) search: f64,
    pub(crate) expand: f64,
    /// Putting candidates in order and merging them with what is on disk.
    pub(crate) merge: f64,
    /// Waiting for the disk, summed over threads.
    pub(crate) io_wait: f64,
    pub(crate) trace: f64,
    /// From the start of the process to the first state expanded; `null` where none was.
    pub(crate) first_state: Option<f64>,
    /// Looking states up in memory, and storing the new ones.
    pub(crate) insert: f64,
}

/// Pairs as a JSON object of strings.
pub(crate) fn object<'a>(
    pairs: impl IntoIterator<Item = (&'a String, &'a str)>,
) -> Map<String, Value> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.clone(), Value::from(value)))
        .collect()
}

fn named_values(pairs: &[(String, String)]) -> Map<String, Value> {
    object(pairs.iter().map(|(name, value)| (name, value.as_str())))
}

fn violation_record(shown: &Shown, shape: &Shape) -> ViolationRecord {
    let violation = &shown.violation;
    let steps = shown.trace.as_ref().map_or(&[][..], |trace| &trace.steps);
    let trace = steps.iter().map(|step| StepRecord {
        rule: step.rule.clone(),
        parameters: named_values(&step.parameters),
        // What is gone has no value; `undefined` says so in the record's terms.
        changes: object(step.changes.iter().map(|change| {
            let after = change.after.as_deref().unwrap_or("undefined");
            (&change.name, after)
        })),
    });
    let state = shown.trace.as_ref().map_or(&[][..], NamedTrace::last_state);
    ViolationRecord {
        kind: violation.kind.name().to_owned(),
        name: violation.name.clone(),
        message: summary::describe(violation, shape),
        at: violation.at.clone(),
        depth: violation.depth,
        trace: trace.collect(),
        state: named_values(state),
    }
}

fn rule_records(model: &dyn Model, outcome: &Outcome) -> Vec<RuleRecord> {
    let rules = model.shape().rules.iter().zip(&outcome.fired_by_rule);
    rules
        .map(|(rule, &fired)| RuleRecord {
            name: rule.name.clone(),
            fired,
        })
        .collect()
}

fn property_records(model: &dyn Model, outcome: &Outcome) -> Vec<PropertyRecord> {
    let properties = model.shape().properties.iter().zip(&outcome.holds);
    properties
        .map(|(property, &holds)| PropertyRecord {
            name: property.name.clone(),
            kind: property.kind.name().to_owned(),
            holds,
        })
        .collect()
}
