//! A run as its record has it: read again, followed on its model, and held against it.
//!
//! A run is one of the model itself, whatever was reduced to find it; every step of the record ended,
//! whatever the limits of that run were; and the interpreter defines the meaning. So that is what a
//! recorded run is [followed](follow) by.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use hadal_model::{
    Expander, Failure, FaultKind, Flow, Model, PAD_BYTES, States, Step, Stop, Successors,
    for_each_batch,
};
use hadal_search::{Trace, TraceStep};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::language::{GOAL, language};
use crate::record::{StepRecord, ViolationRecord, object};
use crate::{Engine, Error, ModelSource, Shortened, Symmetry, TextLimit};

/// A run record, as far as its counterexamples need it, and the whole of it as data.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    fields: Fields,
    /// All of it.
    json: Value,
}

/// What a counterexample needs of a record. That of a model that was rejected has little more.
#[derive(Clone, Debug, Deserialize)]
struct Fields {
    model: String,
    language: String,
    dialect: String,
    verdict: String,
    violations: Vec<ViolationRecord>,
    constants: Map<String, Value>,
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
    /// Records of a model that was rejected before the search have all of this as well.
    #[serde(default)]
    symmetry: Option<String>,
}

impl RecordedRun {
    /// The record in a text.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let json: Value = serde_json::from_slice(text)?;
        let fields = Fields::deserialize(&json)?;
        Ok(RecordedRun { fields, json })
    }

    /// The file of its model, as it was given.
    pub fn model(&self) -> &str {
        &self.fields.model
    }

    /// Its verdict.
    pub fn verdict(&self) -> &str {
        &self.fields.verdict
    }

    /// What it found.
    pub fn violations(&self) -> &[ViolationRecord] {
        &self.fields.violations
    }

    /// Whether `violation` is the goal that was looked for.
    pub fn is_goal(&self, violation: &ViolationRecord) -> bool {
        self.fields.options.contains_key(GOAL.name) && violation.kind == "invariant"
    }

    /// The model in the file at `path`, with the options of the run, as it was searched.
    pub fn source(&self, path: &Path, limit: TextLimit) -> Result<ModelSource, Error> {
        // The record may name a file without an extension, or one that is elsewhere by now.
        let mut source = match language(&self.fields.language) {
            Ok(language) => ModelSource::file_of(path, Some(language.name()), limit)?,
            Err(_) => ModelSource::file_of(path, None, limit)?,
        };
        if !self.fields.dialect.is_empty() {
            source = source.dialect(&self.fields.dialect);
        }
        for (name, value) in &self.fields.constants {
            source = source.constant(name, text(value));
        }
        for (name, values) in &self.fields.options {
            for value in values {
                source.options.push(name, value);
            }
        }
        if self.fields.symmetry.as_deref() == Some("off") {
            source.symmetry = Symmetry::Off;
        }
        Ok(source)
    }
}

impl RecordedRun {
    /// Replaces the run to a violation, counted from 0, by the one that was found, and notes what was
    /// found out about it.
    pub fn shorten(&mut self, number: usize, shortened: &Shortened) -> Result<(), Error> {
        let no_violation = || Error::Internal(format!("there is no violation {number}"));
        let violations = self.json.get_mut("violations");
        let violation = violations.and_then(|it| it.get_mut(number));
        let violation = violation.ok_or_else(no_violation)?;
        if let Some(shorter) = &shortened.shorter {
            *violation = shorter.record.clone();
            let record = ViolationRecord::deserialize(&shorter.record);
            let record = record.map_err(|error| Error::Internal(error.to_string()))?;
            *self
                .fields
                .violations
                .get_mut(number)
                .ok_or_else(no_violation)? = record;
        }
        let best = shortened.best();
        let shorter = shortened.shorter.as_ref();
        violation["cost"] = best.cost.into();
        violation["shortened"] = json!({
            "from_depth": shortened.known.steps,
            "from_cost": shortened.known.cost,
            "least": shortened.is_least,
            "same_state": shorter.is_none_or(|shorter| shorter.is_same_state),
        });
        // The figures of a search by cost have that of the first run.
        let cost = self.json.pointer_mut("/search/cost");
        if let (0, Some(cost)) = (number, cost) {
            *cost = best.cost.into();
        }
        Ok(())
    }
}

impl Serialize for RecordedRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl ModelSource {
    /// The same model, as runs of it are replayed: without reduction and limits, by the interpreter.
    pub fn for_replay(mut self) -> Self {
        self.symmetry = Symmetry::Off;
        let mut options = self.language.options().iter();
        if options.any(|it| it.name == "loop-limit") {
            self = self.loop_limit(u64::MAX);
        }
        self.call_limit = ModelSource::CALL_LIMIT_MAX;
        self.engine = Engine::Interpreter;
        self
    }
}

/// A recorded step that the model does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "step {number} ({rule}) of the record cannot be taken: the model is not the one that was checked"
)]
pub struct ImpossibleStep {
    /// Its number; 0 is the startstate.
    pub number: usize,
    /// Its rule or startstate.
    pub rule: String,
}

/// Runs the model along the recorded steps: each must be possible and change what the record says.
pub fn follow(model: &dyn Model, violation: &ViolationRecord) -> Result<Trace, ImpossibleStep> {
    let mut steps: Vec<TraceStep> = Vec::new();
    let mut leaves: Map<String, Value> = Map::new();
    for (number, recorded) in violation.trace.iter().enumerate() {
        let parent = steps.last().and_then(|step| step.state.as_deref());
        for (name, value) in &recorded.changes {
            leaves.insert(name.clone(), value.clone());
        }
        let found = find_successor(model, parent, recorded, &leaves);
        let Some((step, index, state)) = found else {
            // A startstate that meets a fault has no state to come to.
            if number == 0 && recorded.changes.is_empty() {
                let step = Step {
                    rule: recorded.rule.clone(),
                    ..Step::default()
                };
                return Ok(Trace::of_faulty_start(step));
            }
            return Err(ImpossibleStep {
                number,
                rule: recorded.rule.clone(),
            });
        };
        steps.push(TraceStep {
            step,
            index,
            stored: Some(state.clone()),
            state: Some(state),
        });
    }
    Ok(Trace { steps, lasso: None })
}

fn find_successor(
    model: &dyn Model,
    parent: Option<&[u8]>,
    recorded: &StepRecord,
    leaves: &Map<String, Value>,
) -> Option<(Step, u32, Vec<u8>)> {
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 1024);
    let mut padded = parent.map(<[u8]>::to_vec).unwrap_or_default();
    padded.resize(padded.len() + PAD_BYTES, 0);
    let block = parent.map(|parent| States::new(&padded, parent.len(), 1));
    let found = for_each_batch(&mut *expander, block, &mut out, |_, out| {
        for position in 0..out.len() {
            let state = out.state(position);
            if !agrees(&model.describe_state(state), leaves) {
                continue;
            }
            let Some(step) = model.describe_step(parent, out.index(position)) else {
                continue;
            };
            // As an object, for a parameter may hide another one of the same name.
            let parameters = object(
                step.parameters
                    .iter()
                    .map(|(name, value)| (name, value.as_str())),
            );
            if step.rule == recorded.rule && parameters == recorded.parameters {
                return ControlFlow::Break((step, out.index(position), state.to_vec()));
            }
        }
        ControlFlow::Continue(())
    });
    found.ok()?.break_value()
}

/// Whether a state has the values the record says; what is not there counts as undefined.
fn agrees(state: &[(String, String)], leaves: &Map<String, Value>) -> bool {
    let n_there = state
        .iter()
        .filter(|(name, value)| leaves.get(name).map(text).as_ref() == Some(value))
        .count();
    let n_undefined = leaves
        .iter()
        .filter(|(name, value)| {
            text(value) == "undefined" && !state.iter().any(|(there, _)| there == *name)
        })
        .count();
    n_there == state.len() && n_there + n_undefined == leaves.len()
}

/// A value of the model, which a record has as a string.
#[doc(hidden)]
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether a violation is found again at the end of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// That takes more than the last state, or other limits than a replay has.
    NotEvaluated,
}

/// An evaluation that takes longer than this is given up: a replay has no limit on loops.
const PATIENCE: Duration = Duration::from_secs(10);

/// Evaluates the violated property, or the rules, at the last state of a trace; at the startstates,
/// if one of them met a fault.
pub fn confirm(model: &dyn Model, violation: &ViolationRecord, last: Option<&[u8]>) -> Confirmed {
    let kinds = [
        FaultKind::LoopLimit,
        FaultKind::CallLimit,
        FaultKind::OrderDependence,
    ];
    let kind = violation.kind.as_str();
    if ["cover", "liveness"].contains(&kind) || kinds.iter().any(|it| it.name() == kind) {
        return Confirmed::NotEvaluated;
    }
    let stop = Stop::new();
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stop = &stop;
        // Where no thread can be started, the evaluation takes as long as it takes.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
            if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.raise();
            }
        });
        let found = is_violated(model, violation, last, stop);
        drop(done);
        match found {
            None => Confirmed::NotEvaluated,
            Some(true) => Confirmed::Yes,
            Some(false) => Confirmed::No,
        }
    })
}

/// `None` where the flag was raised first.
fn is_violated(
    model: &dyn Model,
    violation: &ViolationRecord,
    last: Option<&[u8]>,
    stop: &Stop,
) -> Option<bool> {
    let shape = model.shape();
    let mut padded = last.unwrap_or_default().to_vec();
    padded.resize(padded.len() + PAD_BYTES, 0);
    let block = last.map(|state| States::new(&padded, state.len(), 1));
    let mut expander = model.expander(stop);
    let mut failures = Vec::new();
    if let Some(block) = block {
        let mut flow = expander.check(block, &mut failures);
        if flow == Flow::Done && !shape.goals.is_empty() {
            let mut reached = vec![0; shape.goal_words()];
            flow = expander.reach_goals(block, &mut reached, &mut failures);
        }
        if flow == Flow::Stopped {
            return None;
        }
    }
    let kind_of = |failure: &Failure| match &failure.fault {
        Some(fault) => fault.kind.name(),
        None => "invariant",
    };
    let is_failing = failures.iter().any(|failure| {
        let property = &shape.properties[failure.property as usize];
        property.name == violation.name && kind_of(failure) == violation.kind
    });
    if is_failing || violation.kind == "invariant" {
        return Some(is_failing);
    }
    let mut out = Successors::new(shape, 1024);
    let go_on = |_: &mut dyn Expander, _: &mut Successors| ControlFlow::<()>::Continue(());
    let _ = for_each_batch(&mut *expander, block, &mut out, go_on).ok()?;
    let source = &out.sources()[0];
    let is_faulty = source
        .faults
        .iter()
        .any(|fault| fault.kind.name() == violation.kind && fault.name == violation.name);
    let is_stuck = violation.kind == "deadlock" && source.faults.is_empty() && !source.progress;
    Some(is_faulty || is_stuck)
}
