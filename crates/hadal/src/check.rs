//! `hadal check`: load, search, replay what was found, tell.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use hadal_search::{Error, TraceError, Verdict, Violation};

use crate::exit::Exit;
use crate::flags::CheckArgs;
use crate::load::{self, Internal, Loaded, Request};
use crate::plan::Plan;
use crate::progress::Display;
use crate::record::Record;
use crate::style::Style;
use crate::summary::Summary;
use crate::trace::NamedTrace;
use crate::{memory, signals, summary};

/// A violation with its replayed counterexample.
pub(crate) struct Shown {
    pub(crate) violation: Violation,
    pub(crate) trace: Option<NamedTrace>,
}

/// `started` is when the process was.
pub(crate) fn run(args: &CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let plan = Plan::new(args);
    let style = Style::new(args.color, &io::stdout());
    let error_style = Style::new(args.color, &io::stderr());
    signals::listen().context("cannot listen to signals")?;

    let request = Request {
        path: &args.model,
        language: args.language,
        dialect: plan.dialect,
        constants: args.constants.clone(),
        symmetry: plan.symmetry,
        limits: plan.limits,
        engine: args.engine,
    };
    let loaded = match load::load(&request, error_style) {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return Ok(Exit::Usage),
        Err(error) if error.is::<Internal>() => {
            eprintln_lossy(&error.to_string());
            return Ok(Exit::Internal);
        }
        Err(error) => return Err(error),
    };
    if args.no_search {
        if !args.quiet {
            let text = summary::without_search(&loaded, style);
            deliver(&mut io::stdout(), &text, "the summary")?;
        }
        return Ok(Exit::Done);
    }
    plan.check_budget()?;
    // Opened before the search, so that a bad path costs nothing.
    let record_file = match &args.json {
        Some(path) if path.as_os_str() != "-" => Some(create(path)?),
        _ => None,
    };

    let options = plan.search_options();
    let mut display = Display::new(args.progress);
    let before_search = started.elapsed().as_secs_f64();
    let result = hadal_search::check(&*loaded.model, &options, &signals::STOP, &mut display);
    display.finish();
    let first_layer = display.first_layer_seconds();
    let mut outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => return Ok(search_error(&error, &loaded)),
    };

    let trace_begun = Instant::now();
    let mut shown = Vec::new();
    for violation in std::mem::take(&mut outcome.violations) {
        let trace = match &violation.path {
            None => None,
            Some(path) => {
                // Someone who stopped the search still wants to see what it had found.
                let never = hadal_model::Stop::new();
                match hadal_search::trace(&*loaded.model, path, &options, &never) {
                    Ok(trace) => Some(NamedTrace::new(&*loaded.model, &trace)),
                    Err(error @ TraceError::DoesNotReplay { .. }) => {
                        eprintln_lossy(&format!("{error}; please report this with the model"));
                        return Ok(Exit::Internal);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        shown.push(Shown { violation, trace });
    }
    let trace_seconds = trace_begun.elapsed().as_secs_f64();

    let summary = Summary {
        args,
        plan: &plan,
        loaded: &loaded,
        outcome: &outcome,
        shown: &shown,
        first_state_seconds: first_layer.map(|seconds| before_search + seconds),
        total_seconds: begun.elapsed().as_secs_f64(),
        peak_bytes: memory::peak_bytes(),
    };
    let exit = match outcome.verdict {
        Verdict::Verified => Exit::Verified,
        Verdict::Violated => Exit::Violated,
        Verdict::Incomplete => Exit::Incomplete,
    };
    let to_stdout = args
        .json
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    let mut delivered = Ok(());
    if !to_stdout {
        delivered = deliver(&mut io::stdout(), &summary.render(style), "the summary");
    }
    if args.json.is_some() {
        let mut text = serde_json::to_string_pretty(&Record::new(&summary, trace_seconds))?;
        text.push('\n');
        delivered = delivered.and(match record_file {
            Some(mut file) => deliver(&mut file, &text, "the run record"),
            None => deliver(&mut io::stdout(), &text, "the run record"),
        });
    }
    Ok(match delivered {
        Ok(()) => exit,
        // The verdict stands, but whoever waits for it did not get it.
        Err(error) => {
            eprintln_lossy(&format!("{error:#}"));
            Exit::Internal
        }
    })
}

/// Writes a result. Whoever closes the pipe has seen enough.
fn deliver(to: &mut dyn Write, text: &str, what: &str) -> anyhow::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.with_context(|| format!("cannot write {what}")),
    }
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Says why there is no verdict.
fn search_error(error: &Error, loaded: &Loaded) -> Exit {
    let (exit, hint) = match error {
        Error::NoStartstate => (Exit::Usage, ""),
        Error::BrokenSymmetry { .. } => (
            Exit::Usage,
            "\nhelp: make the rule treat all elements alike, or run with --symmetry off",
        ),
        Error::Unrepeatable { .. } => (Exit::Internal, "; please report this with the model"),
        _ => (Exit::Usage, ""),
    };
    eprintln_lossy(&format!("{}: {error}{hint}", loaded.source.name()));
    exit
}

fn eprintln_lossy(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}
