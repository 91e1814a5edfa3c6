//! `hadal replay`: shows the counterexamples of a record again, by running the model along them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_model::FaultKind;

use hadal::order;
use hadal::record::ViolationRecord;
use hadal::recorded_run::{Confirmed, confirm, follow, text};
use hadal::trace::{NamedTrace, headline, render_state};
use hadal::{Error, LoadedModel, RecordedRun, Style, TextLimit, TraceDetail};
use hadal_report::units::counted;

use crate::exit::Exit;
use crate::flags::ReplayArgs;
use crate::run::refuse_chart;
use crate::shorten;

pub(crate) fn run(args: &ReplayArgs, since: Instant) -> anyhow::Result<Exit> {
    let style = args.color.style(&io::stdout());
    let limit = TextLimit::new(args.text_limit, u64::MAX);
    let record = read_record(&args.record, limit)?;
    let numbers = 0..record.violations().len();
    let with_trace: Vec<usize> = numbers
        .filter(|&number| !record.violations()[number].trace.is_empty())
        .collect();
    if with_trace.is_empty() {
        if args.shortening.shorten {
            bail!(
                "the run was {}; the record holds no counterexample, so there is nothing to shorten",
                record.verdict()
            );
        }
        writeln!(
            io::stdout(),
            "{}: the run was {}; the record holds no counterexample",
            record.model(),
            record.verdict()
        )?;
        return Ok(Exit::Done);
    }
    let path = model_path(args, &record)?;
    let source = record.source(&path, limit)?;
    refuse_chart(args.trace, &source)?;
    if args.shortening.shorten {
        return shorten::run(args, record, &with_trace, source, since);
    }
    let loaded = match source.for_replay().load() {
        Ok(loaded) => loaded,
        Err(Error::Rejected(rejection)) => {
            let style = args.color.style(&io::stderr());
            writeln!(io::stderr(), "{}", rejection.render(style))?;
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    for number in with_trace {
        let mut out = String::new();
        replay(&mut out, &record, number, &loaded, args.trace, style)?;
        out.push('\n');
        io::stdout().write_all(out.as_bytes())?;
    }
    Ok(Exit::Done)
}

/// Replays a violation of a record and shows it.
pub(crate) fn replay(
    out: &mut String,
    record: &RecordedRun,
    number: usize,
    loaded: &LoadedModel,
    how: TraceDetail,
    style: Style,
) -> anyhow::Result<()> {
    let violation = &record.violations()[number];
    let model = loaded.model_of(&violation.name);
    let trace = follow(model, violation)?;
    let last = trace.steps.last().and_then(|step| step.state.as_deref());
    let confirmed = confirm(model, violation, last);
    if confirmed == Confirmed::No {
        bail!(
            "the last state of the record does not show `{}`: the model is not the one that was \
             checked",
            violation.name
        );
    }
    let named = NamedTrace::new(model, &trace).in_words_of(Some(loaded));
    show(out, record, violation, Some(named), how, style);
    let and = match confirmed {
        Confirmed::Yes => ", and the violation was found again at its end",
        Confirmed::No | Confirmed::NotEvaluated => "",
    };
    let _ = writeln!(out, "\nEvery step was run again on the model{and}.");
    Ok(())
}

fn show(
    out: &mut String,
    record: &RecordedRun,
    violation: &ViolationRecord,
    trace: Option<NamedTrace<'_>>,
    how: TraceDetail,
    style: Style,
) {
    let is_rejection = violation.kind == FaultKind::OrderDependence.name();
    let is_goal = record.is_goal(violation);
    let (verdict, what) = match is_rejection {
        true => ("rejected", order::headline(&violation.at)),
        false if is_goal => ("reached", violation.message.clone()),
        false if record.verdict() == "rejected" => ("rejected", violation.message.clone()),
        false => ("violated", violation.message.clone()),
    };
    let _ = writeln!(
        out,
        "{}: {}: {what}, after {}",
        style.bold(record.model()),
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

fn read_record(path: &Path, limit: TextLimit) -> anyhow::Result<RecordedRun> {
    let text = if path.as_os_str() == "-" {
        limit.read("<stdin>", io::stdin().lock())?
    } else {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot read `{name}`"))?;
        limit.read(&name, file)?
    };
    RecordedRun::parse(&text)
        .with_context(|| format!("`{}` is not a run record of hadal", path.display()))
}

/// The model's file: as given, as recorded, or beside the record.
fn model_path(args: &ReplayArgs, record: &RecordedRun) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.model {
        return Ok(path.clone());
    }
    let recorded = Path::new(record.model());
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
            record.model()
        ),
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
        let record = RecordedRun::parse(text.as_bytes()).expect("a record");
        let style = Style::plain();
        let mut out = String::new();
        let violation = &record.violations()[0];
        show(&mut out, &record, violation, None, TraceDetail::Diff, style);
        let expected = format!(
            "lock.m: rejected: the result of the loop at lock.m:9:5 depends on the order of its \
             iterations, after 2 steps\n  the last one is kept\n\n\n  help: {}\n",
            order::HELP
        );
        assert_eq!(out, expected);
    }
}
