//! From a question to an exit code: load, search, report.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use hadal_literature::Configurable;
use hadal_model::Model;
use hadal_search::{Error, OnDisk, Options, Outcome, Violation};
use hadal_store::disk::{FolderOptions, Payload};
use hadal_syntax::Source;
use serde::Serialize;

use crate::disk::{self, Found, NoScratch, Place};
use crate::exit::{self, Exit};
use crate::flags::RunArgs;
use crate::load::{self, Loaded, Loading, Refused, Request};
use crate::plan::Plan;
use crate::progress::Display;
use crate::question::Question;
use crate::record::{DiagnosticRecord, Record, Rejection};
use crate::style::Style;
use crate::summary::Summary;
use crate::trace::NamedTrace;
use crate::{memory, signals, strategy, summary};

/// A violation with its counterexample.
pub(crate) struct Shown {
    pub(crate) violation: Violation,
    pub(crate) trace: Option<NamedTrace>,
}

/// Where a search begins, and where it may put what memory cannot hold.
pub(crate) enum Start<'a> {
    /// Nowhere.
    InMemory,
    /// In a folder of its own, if there can be one.
    Scratch,
    /// In the folder at `path`.
    Given { path: &'a Path, force: bool },
    /// Where an earlier run ended.
    Found(Found),
}

/// Loads the model of a question, and says so.
pub(crate) fn without_search(
    question: &Question,
    strategy: &dyn Configurable,
    args: &RunArgs,
) -> anyhow::Result<Exit> {
    let plan = Plan::new(question, strategy, args);
    let Ok(loaded) = load(question, &plan, args)? else {
        return Ok(Exit::Usage);
    };
    if !args.quiet {
        let style = Style::new(args.color, &io::stdout());
        let text = summary::without_search(&loaded, args.verbose, style);
        deliver(&mut io::stdout(), &text, "the summary")?;
    }
    Ok(Exit::Done)
}

pub(crate) fn load(question: &Question, plan: &Plan, args: &RunArgs) -> anyhow::Result<Loading> {
    let request = Request {
        source: Source::new(question.name.as_str(), question.text.as_str())?,
        language: question.language,
        dialect: plan.dialect,
        constants: question.constants.clone(),
        symmetry: plan.symmetry,
        limits: plan.limits,
        engine: question.engine,
    };
    load::load(request, Style::new(args.color, &io::stderr()))
}

/// Answers a question by a strategy. `started` is when the process was.
pub(crate) fn run(
    question: &Question,
    strategy: &dyn Configurable,
    args: &RunArgs,
    start: Start<'_>,
    started: Instant,
) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let plan = Plan::new(question, strategy, args);
    let style = Style::new(args.color, &io::stdout());
    let loaded = match load(question, &plan, args)? {
        Ok(loaded) => loaded,
        Err(Refused { diagnostics }) => {
            let record_file = RecordFile::of(args)?;
            let rejection = Rejection::new(question, &plan, diagnostics);
            let delivered = deliver_record(args, record_file, &rejection);
            return Ok(if_delivered(delivered, Exit::Usage));
        }
    };
    plan.check_budget()?;
    if let Some(remark) = plan.budget_remark().filter(|_| !args.quiet) {
        let _ = writeln!(io::stderr(), "warning: {remark}");
    }
    let options = plan.search_options();
    let mut taken = take(
        start,
        loaded.model.shape().state_len,
        disk::folder_options(options.memory_bytes, args.disk_limit),
    )?;
    if let Some(why) = taken.no_scratch.as_ref().filter(|_| !args.quiet) {
        let _ = writeln!(
            io::stderr(),
            "warning: states have nowhere to go when memory ends: {why}; {}",
            why.remedy()
        );
    }
    if let (false, Some(place)) = (strategy.is_resumable(), &mut taken.place) {
        place.kept = None;
    }
    let record_file = RecordFile::of(args)?;

    let folder = taken.place.as_ref().map(|place| place.folder.clone());
    let mut display = Display::new(args.shown_progress(), folder);
    let before_search = started.elapsed().as_secs_f64();
    let options = strategy::fit_options(strategy, &plan, options);
    let result = search(question, strategy, &loaded, &options, &taken, &mut display)?;
    display.finish();
    let first_layer = display.first_layer_seconds();
    let mut outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            let exit = search_error(&error, &loaded, &taken);
            if !is_about_the_model(&error) {
                return Ok(exit);
            }
            let diagnostics = vec![DiagnosticRecord::error(&error.to_string())];
            let rejection = Rejection::new(question, &plan, diagnostics);
            let delivered = deliver_record(args, record_file, &rejection);
            return Ok(if_delivered(delivered, exit));
        }
    };

    let naming_begun = Instant::now();
    let violations = std::mem::take(&mut outcome.violations);
    let shown = show(&*loaded.model, violations);
    let trace_seconds = outcome.seconds.trace + naming_begun.elapsed().as_secs_f64();

    let summary = Summary {
        question,
        strategy,
        args,
        plan: &plan,
        loaded: &loaded,
        outcome: &outcome,
        shown: &shown,
        is_resumed: taken.manifest.is_some(),
        resumable: taken.resumable(),
        no_scratch: taken.no_scratch.as_ref(),
        shortage: display.shortage(&outcome),
        first_state_seconds: first_layer.map(|seconds| before_search + seconds),
        total_seconds: begun.elapsed().as_secs_f64(),
        peak_bytes: memory::peak_bytes(),
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
        let record = Record::new(&summary, trace_seconds);
        delivered = delivered.and(deliver_record(args, record_file, &record));
    }
    if delivered.is_ok() && outcome.reason.is_none() {
        delivered = finish(question, &taken);
    }
    Ok(if_delivered(delivered, exit::of_verdict(outcome.verdict)))
}

/// Violations with their traces in the model's own names.
pub(crate) fn show(model: &dyn Model, violations: Vec<Violation>) -> Vec<Shown> {
    let show = |violation: Violation| Shown {
        trace: (violation.trace.as_ref()).map(|trace| NamedTrace::new(model, trace)),
        violation,
    };
    violations.into_iter().map(show).collect()
}

/// How a run ends whose result could be delivered or not.
fn if_delivered(delivered: anyhow::Result<()>, exit: Exit) -> Exit {
    match delivered {
        Ok(()) => exit,
        // The verdict stands, but whoever waits for it did not get it, or its folder is in the way.
        Err(error) => {
            eprintln_lossy(&format!("{error:#}"));
            Exit::Internal
        }
    }
}

/// What a search is given of the disk.
#[derive(Default)]
struct Taken {
    place: Option<Place>,
    /// The manifest of the run to resume.
    manifest: Option<Payload>,
    no_scratch: Option<NoScratch>,
}

impl Taken {
    /// The folder that a later run can resume from.
    fn resumable(&self) -> Option<&Path> {
        let kept = self.place.as_ref()?.kept.as_deref();
        kept.filter(|path| disk::has_run(path))
    }
}

fn take(start: Start<'_>, state_len: usize, options: FolderOptions) -> anyhow::Result<Taken> {
    let mut taken = Taken::default();
    match start {
        Start::InMemory => {}
        Start::Scratch => match disk::scratch(state_len, options) {
            Ok(place) => taken.place = Some(place),
            Err(why) => taken.no_scratch = Some(why),
        },
        Start::Given { path, force } => taken.place = Some(disk::given(path, force, options)?),
        Start::Found(found) => {
            let (place, manifest) = found.take(options)?;
            (taken.place, taken.manifest) = (Some(place), Some(manifest));
        }
    }
    Ok(taken)
}

/// Searches. The outer error is about the question, not about the search.
fn search(
    question: &Question,
    strategy: &dyn Configurable,
    loaded: &Loaded,
    options: &Options,
    taken: &Taken,
    display: &mut Display,
) -> anyhow::Result<Result<Outcome, Error>> {
    let (model, stop) = (&*loaded.model, &signals::STOP);
    let folder = match (&taken.place, &taken.manifest) {
        (Some(place), Some(manifest)) => {
            let folder = place.folder.clone();
            return Ok(hadal_search::resume(
                model, strategy, options, folder, manifest, stop, display,
            ));
        }
        (Some(place), None) => Some(on_disk(question, place)?),
        (None, _) => None,
    };
    Ok(hadal_search::check(
        model, strategy, options, folder, stop, display,
    ))
}

fn on_disk(question: &Question, place: &Place) -> anyhow::Result<OnDisk> {
    Ok(OnDisk {
        folder: place.folder.clone(),
        resumable: place.kept.is_some(),
        label: question.to_label()?,
    })
}

/// Once the result is delivered, a folder that was given has nothing to resume.
fn finish(question: &Question, taken: &Taken) -> anyhow::Result<()> {
    let Some(place) = taken.place.as_ref().filter(|place| place.kept.is_some()) else {
        return Ok(());
    };
    let on_disk = on_disk(question, place)?;
    hadal_search::finish(&on_disk).context("cannot note that the run came to its end")
}

/// Writes a result. Whoever closes the pipe has seen enough.
fn deliver(to: &mut dyn Write, text: &str, what: &str) -> anyhow::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.with_context(|| format!("cannot write {what}")),
    }
}

/// Writes a run record, if one is wanted, to its file or else to standard output.
fn deliver_record(
    args: &RunArgs,
    file: Option<RecordFile>,
    record: &impl Serialize,
) -> anyhow::Result<()> {
    if args.json.is_none() {
        return Ok(());
    }
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    match file {
        Some(file) => file.deliver(&text),
        None => deliver(&mut io::stdout(), &text, "the run record"),
    }
}

/// Where the run record goes. It is opened before the search, so that a bad path costs nothing, and
/// left as it was until there is a record.
struct RecordFile {
    path: PathBuf,
    file: File,
    /// Whether there was no such file, and there is no record yet.
    is_useless: bool,
}

impl RecordFile {
    /// The file that was asked for, if standard output was not.
    fn of(args: &RunArgs) -> anyhow::Result<Option<Self>> {
        match &args.json {
            Some(path) if path.as_os_str() != "-" => RecordFile::open(path).map(Some),
            _ => Ok(None),
        }
    }

    fn open(path: &Path) -> anyhow::Result<Self> {
        let is_useless = !path.exists();
        let mut options = File::options();
        let opened = options.write(true).create(true).truncate(false).open(path);
        Ok(RecordFile {
            path: path.to_owned(),
            file: opened.with_context(|| format!("cannot write `{}`", path.display()))?,
            is_useless,
        })
    }

    fn deliver(mut self, text: &str) -> anyhow::Result<()> {
        self.is_useless = false;
        // Pipes and devices have nothing to be cut off.
        if self.file.metadata().is_ok_and(|about| about.is_file()) {
            (self.file.set_len(0)).context("cannot write the run record")?;
        }
        deliver(&mut self.file, text, "the run record")
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        if self.is_useless {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Says why there is no verdict.
fn search_error(error: &Error, loaded: &Loaded, taken: &Taken) -> Exit {
    signals::await_exit();
    let name = loaded.source.name();
    if let Error::Store(error) = error {
        let folder = taken.place.as_ref().and_then(|place| place.kept.as_ref());
        let folder = folder.map_or(String::new(), |path| format!(" in `{}`", path.display()));
        eprintln_lossy(&format!("{name}: the search cannot go on{folder}: {error}"));
        return exit::of_store_error(error);
    }
    if let Error::LostPath { violation, source } = error {
        let found = summary::described(violation, loaded.model.shape());
        eprintln_lossy(&format!(
            "{name}: {found}, but how it comes to that cannot be read: {source}"
        ));
        return exit::of_store_error(source);
    }
    let (exit, hint) = exit_and_hint(error);
    eprintln_lossy(&format!("{name}: {error}{hint}"));
    exit
}

/// How a run ends whose search failed with `error`, and what to do about it.
fn exit_and_hint(error: &Error) -> (Exit, &'static str) {
    match error {
        Error::AsymmetricStarts { .. } => (
            Exit::Usage,
            "\nhelp: let the startstates treat all elements alike, or run with --symmetry off",
        ),
        // What a model says is decided before and during the search, so this is not about it.
        Error::BrokenSymmetry { .. } => (
            Exit::Internal,
            "; please report this with the model; --symmetry off does not depend on it",
        ),
        Error::Unrepeatable { .. } => (Exit::Internal, "; please report this with the model"),
        _ => (Exit::Usage, ""),
    }
}

/// Whether a search failed because the model is not one that can be searched.
fn is_about_the_model(error: &Error) -> bool {
    matches!(error, Error::NoStartstate | Error::AsymmetricStarts { .. })
}

fn eprintln_lossy(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sampled_check_finds_is_our_mistake_and_startstates_are_the_model_s() {
        let (rule, message) = ("grant".to_owned(), "it differs".to_owned());
        let broken = Error::BrokenSymmetry {
            rule,
            message: message.clone(),
        };
        let (exit, hint) = exit_and_hint(&broken);
        assert_eq!(exit.code(), 4);
        assert!(!is_about_the_model(&broken));
        let told = format!("{broken}{hint}");
        assert!(told.starts_with("internal error: "), "{told}");
        assert!(told.ends_with(
            "`grant` tells apart what the model declares interchangeable: it differs; please \
             report this with the model; --symmetry off does not depend on it"
        ));
        let starts = Error::AsymmetricStarts { message };
        assert_eq!(exit_and_hint(&starts).0.code(), 2);
        assert!(is_about_the_model(&starts));
    }
}
