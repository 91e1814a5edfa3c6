//! The run record: one JSON object with everything a script may want to know about a run.
//!
//! Names and order of the fields are a contract.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) hadal: String,
    pub(crate) model: String,
    pub(crate) language: String,
    pub(crate) dialect: String,
    pub(crate) verdict: String,
    pub(crate) complete: bool,
    pub(crate) reason: Option<String>,
    pub(crate) states: u64,
    pub(crate) states_exact: bool,
    pub(crate) visited: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: Option<u32>,
    pub(crate) layers: Option<Vec<u64>>,
    pub(crate) violations: Vec<ViolationRecord>,
    pub(crate) rules: Vec<RuleRecord>,
    pub(crate) properties: Vec<PropertyRecord>,
    pub(crate) strategy: String,
    pub(crate) store: String,
    pub(crate) engine: String,
    pub(crate) symmetry: String,
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RuleRecord {
    pub(crate) name: String,
    pub(crate) fired: u64,
}

/// Whether a property holds; `None` where that is not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PropertyRecord {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) holds: Option<bool>,
}

/// Successors that were known already, by where that was noticed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DuplicatesRecord {
    pub(crate) memory: u64,
    pub(crate) layer: u64,
    pub(crate) disk: u64,
    pub(crate) missed: u64,
}

/// Memory: what was allowed, what the system saw, what the data took.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MemoryRecord {
    pub(crate) budget_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) data_bytes: u64,
}

/// Disk use; all zero for a search in memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DiskRecord {
    pub(crate) peak_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) bytes_per_state: f64,
}

/// How probable it is that a hash store missed something; exact stores have none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OmissionRecord {
    pub(crate) any: f64,
    pub(crate) given_error: f64,
}

/// Where the time went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SecondsRecord {
    pub(crate) total: f64,
    pub(crate) load: f64,
    pub(crate) compile: f64,
    pub(crate) search: f64,
    pub(crate) expand: f64,
    pub(crate) merge: f64,
    pub(crate) io_wait: f64,
    pub(crate) trace: f64,
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
