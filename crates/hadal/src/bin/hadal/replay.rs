//! `hadal replay`: shows the counterexamples of a record again, by running the model along them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};
use hadal_model::{
    Expander, Failure, FaultKind, Flow, Model, PAD_BYTES, States, Step, Stop, Successors,
    for_each_batch,
};
use hadal_search::{Trace, TraceStep};
use serde::Deserialize;
use serde_json::{Map, Value};

use hadal::language::{GOAL, language};
use hadal::order;
use hadal::record::{StepRecord, ViolationRecord, object};
use hadal::trace::{NamedTrace, headline, render_state};
use hadal::{Engine, Error, ModelSource, Style, Symmetry, TextLimit, TraceDetail};
use hadal_report::units::counted;

use crate::exit::Exit;
use crate::flags::ReplayArgs;
use crate::run::refuse_chart;

/// What a replay needs of a run record. That of a model that was rejected has little more.
#[derive(Clone, Debug, Deserialize)]
struct Record {
    model: String,
    language: String,
    dialect: String,
    verdict: String,
    violations: Vec<ViolationRecord>,
    constants: Map<String, Value>,
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
}

pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<Exit> {
    let style = args.color.style(&io::stdout());
    let limit = TextLimit::new(args.text_limit, u64::MAX);
    let record = read_record(&args.record, limit)?;
    let with_trace: Vec<_> = record
        .violations
        .iter()
        .filter(|v| !v.trace.is_empty())
        .collect();
    if with_trace.is_empty() {
        writeln!(
            io::stdout(),
            "{}: the run was {}; the record holds no counterexample",
            record.model,
            record.verdict
        )?;
        return Ok(Exit::Done);
    }
    let path = model_path(args, &record)?;
    // The record may name a file without an extension, or one that is elsewhere by now.
    let mut source = match language(&record.language) {
        Ok(language) => ModelSource::file_of(&path, Some(language.name()), limit)?,
        Err(_) => ModelSource::file_of(&path, None, limit)?,
    };
    refuse_chart(args.trace, &source)?;
    if !record.dialect.is_empty() {
        source = source.dialect(&record.dialect);
    }
    for (name, value) in &record.constants {
        source = source.constant(name, text(value));
    }
    for (name, values) in &record.options {
        for value in values {
            source.options.push(name, value);
        }
    }
    // A run is a run of the model itself, whatever was reduced to find it; every step of the record
    // ended, whatever the limits of that run were; and the interpreter defines the meaning.
    source.symmetry = Symmetry::Off;
    if source
        .language
        .options()
        .iter()
        .any(|it| it.name == "loop-limit")
    {
        source = source.loop_limit(u64::MAX);
    }
    source.call_limit = ModelSource::CALL_LIMIT_MAX;
    source.engine = Engine::Interpreter;
    let loaded = match source.load() {
        Ok(loaded) => loaded,
        Err(Error::Rejected(rejection)) => {
            let style = args.color.style(&io::stderr());
            writeln!(io::stderr(), "{}", rejection.render(style))?;
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    for violation in with_trace {
        let model = loaded.model_of(&violation.name);
        let trace = follow(model, violation)?;
        let last = trace.steps.last().and_then(|step| step.state.as_deref());
        let confirmed = confirm(model, violation, last);
        if confirmed == Confirmed::No {
            bail!(
                "the last state of the record does not show `{}`: the model is not the one that \
                 was checked",
                violation.name
            );
        }
        let named = NamedTrace::new(model, &trace).in_words_of(Some(&loaded));
        let mut out = String::new();
        show(&mut out, &record, violation, Some(named), args.trace, style);
        let and = match confirmed {
            Confirmed::Yes => ", and the violation was found again at its end",
            Confirmed::No | Confirmed::NotEvaluated => "",
        };
        let _ = writeln!(out, "\nEvery step was run again on the model{and}.\n");
        io::stdout().write_all(out.as_bytes())?;
    }
    Ok(Exit::Done)
}

fn show(
    out: &mut String,
    record: &Record,
    violation: &ViolationRecord,
    trace: Option<NamedTrace<'_>>,
    how: TraceDetail,
    style: Style,
) {
    let is_rejection = violation.kind == FaultKind::OrderDependence.name();
    let is_goal = record.options.contains_key(GOAL.name) && violation.kind == "invariant";
    let (verdict, what) = match is_rejection {
        true => ("rejected", order::headline(&violation.at)),
        false if is_goal => ("reached", violation.message.clone()),
        false if record.verdict == "rejected" => ("rejected", violation.message.clone()),
        false => ("violated", violation.message.clone()),
    };
    let _ = writeln!(
        out,
        "{}: {}: {what}, after {}",
        style.bold(&record.model),
        style.bad(verdict),
        counted(violation.depth.into(), "step"),
    );
    if is_rejection {
        let _ = writeln!(out, "  {}", violation.message);
    }
    // The headline has it of a loop.
    if !violation.at.is_empty() && !is_rejection && !is_goal {
        let _ = writeln!(out, "  at {}", violation.at);
    }
    for waiting in &violation.blocked {
        let _ = writeln!(out, "  blocked: {waiting}");
    }
    if how != TraceDetail::None {
        out.push('\n');
    }
    if let Some(trace) = trace {
        out.push_str(&trace.render(how, style));
        if let (Some(failing), false) = (&violation.failing_step, how == TraceDetail::None) {
            let parameters = failing.parameters.iter();
            let parameters: Vec<_> = parameters
                .map(|(name, value)| (name.clone(), text(value)))
                .collect();
            let number_len = trace.number_len();
            let head = headline(trace.kinds().1, &failing.rule, &parameters, style);
            let mark = style.bad(&format!("{:>number_len$}", "!"));
            let _ = writeln!(out, "  {mark}  {head}");
            // The headline has the whole sentence of an order dependence.
            if !is_rejection {
                let indent = " ".repeat(number_len + 6);
                let _ = writeln!(out, "{indent}{}", style.bad(&violation.message));
            }
        }
        if matches!(how, TraceDetail::Diff | TraceDetail::Chart) && trace.n_steps() > 1 {
            let _ = writeln!(out, "\nThe state it ends in:\n");
            render_state(out, "  ", &trace.last_state(), style);
        }
    }
    if is_rejection {
        let _ = writeln!(out, "\n  help: {}", order::HELP);
    }
}

/// Whether a violation is found again at the end of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmed {
    Yes,
    No,
    /// That takes more than the last state, or other limits than a replay has.
    NotEvaluated,
}

/// An evaluation that takes longer than this is given up: a replay has no limit on loops.
const PATIENCE: Duration = Duration::from_secs(10);

/// Evaluates the violated property, or the rules, at the last state of a trace; at the startstates,
/// if one of them met a fault.
fn confirm(model: &dyn Model, violation: &ViolationRecord, last: Option<&[u8]>) -> Confirmed {
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

fn read_record(path: &Path, limit: TextLimit) -> anyhow::Result<Record> {
    let text = if path.as_os_str() == "-" {
        limit.read("<stdin>", io::stdin().lock())?
    } else {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot read `{name}`"))?;
        limit.read(&name, file)?
    };
    serde_json::from_slice(&text)
        .with_context(|| format!("`{}` is not a run record of hadal", path.display()))
}

/// The model's file: as given, as recorded, or beside the record.
fn model_path(args: &ReplayArgs, record: &Record) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.model {
        return Ok(path.clone());
    }
    let recorded = Path::new(&record.model);
    let beside = args.record.parent().map(|folder| folder.join(recorded));
    let name = recorded.file_name().map(PathBuf::from);
    let beside_name = args
        .record
        .parent()
        .zip(name)
        .map(|(folder, name)| folder.join(name));
    let candidates = [Some(recorded.to_owned()), beside, beside_name];
    match candidates.into_iter().flatten().find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!(
            "the model `{}` is not there; say where it is with --model FILE",
            record.model
        ),
    }
}

/// Runs the model along the recorded steps: each must be possible and change what the record says.
fn follow(model: &dyn Model, violation: &ViolationRecord) -> anyhow::Result<Trace> {
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
            bail!(
                "step {number} ({}) of the record cannot be taken: the model is not the one that \
                 was checked",
                recorded.rule
            );
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

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_model_is_not_called_violated() {
        let text = r#"{
            "model": "lock.m", "language": "murphi", "dialect": "hadal", "verdict": "rejected",
            "violations": [{
                "kind": "order-dependence", "name": "grant", "message": "the last one is kept",
                "at": "lock.m:9:5", "depth": 2, "trace": [], "state": {}
            }],
            "constants": {}
        }"#;
        let record: Record = serde_json::from_str(text).expect("a record");
        let style = Style::plain();
        let mut out = String::new();
        let violation = &record.violations[0];
        show(&mut out, &record, violation, None, TraceDetail::Diff, style);
        let expected = format!(
            "lock.m: rejected: the result of the loop at lock.m:9:5 depends on the order of its \
             iterations, after 2 steps\n  the last one is kept\n\n\n  help: {}\n",
            order::HELP
        );
        assert_eq!(out, expected);
    }
}
