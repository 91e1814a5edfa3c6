//! From a model and a check to an exit code: load, search, deliver.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use hadal::record::{DiagnosticRecord, RejectedRecord};
use hadal::{
    Check, Disk, Error, LoadLimits, LoadedModel, ModelSource, Resources, SavedRun, SearchOptions,
    TraceDetail, Warning, memory,
};
use hadal_literature::{Budget, Configurable};
use hadal_report::units::bytes;

use crate::deliver::{RecordFile, deliver, deliver_record};
use crate::exit::{self, Exit};
use crate::flags::{ProgressName, RunArgs};
use crate::progress::Display;
use crate::summary::{self, Summary};
use crate::{failure, signals};

/// What is checked and how.
pub(crate) struct Job<'a> {
    pub(crate) source: &'a ModelSource,
    pub(crate) search: SearchOptions,
    pub(crate) strategy: &'a dyn Configurable,
    pub(crate) args: &'a RunArgs,
    pub(crate) start: Start,
    /// When the process started.
    pub(crate) since: Instant,
}

/// Where a search starts.
pub(crate) enum Start {
    /// At the startstates, with this use of the disk.
    Anew(Disk),
    /// Where an earlier run ended.
    Saved(SavedRun),
}

/// Loads a model and reports that it is well-formed.
pub(crate) fn without_search(
    source: &ModelSource,
    args: &RunArgs,
    limits: &LoadLimits<'_>,
) -> anyhow::Result<Exit> {
    let loaded = match source.load_within(limits) {
        Ok(loaded) => loaded,
        Err(error) => return rejected(error, args).map(|_| Exit::Usage),
    };
    print_warnings(&loaded, args)?;
    if !args.quiet {
        let style = args.color.style(&io::stdout());
        let text = summary::without_search(&loaded, args.verbose, style);
        deliver(&mut io::stdout(), &text, "the summary")?;
    }
    Ok(Exit::Done)
}

/// Checks a model; starts over with wider states where these turn out to be too narrow.
pub(crate) fn run(job: Job<'_>) -> anyhow::Result<Exit> {
    refuse_chart(job.args.trace, job.source)?;
    let mut source = job.source.clone();
    let mut start = job.start;
    let mut is_first = true;
    loop {
        // What is started over has a folder of its own, or that of the user again.
        let again = match &start {
            Start::Saved(saved) => forced(saved.path()),
            Start::Anew(Disk::Folder { path, .. }) => forced(path),
            Start::Anew(Disk::Scratch) => Disk::Scratch,
            Start::Anew(Disk::None) => Disk::None,
        };
        let job = Job {
            source: &source,
            search: job.search.clone(),
            start,
            ..job
        };
        let attempt = attempt(job, is_first)?;
        is_first = false;
        match attempt {
            Attempt::Ended(exit) => return Ok(exit),
            Attempt::TooNarrow(wider) => source = *wider,
        }
        start = Start::Anew(again);
    }
}

/// Refuses to draw a model without processes.
pub(crate) fn refuse_chart(trace: TraceDetail, source: &ModelSource) -> Result<(), Error> {
    if trace == TraceDetail::Chart && !source.language.has_processes() {
        let title = source.language.title();
        let what =
            format!("`--trace chart` draws processes, and {title} has none; use `diff` or `full`");
        return Err(Error::Invalid(what));
    }
    Ok(())
}

pub(crate) fn forced(path: &Path) -> Disk {
    Disk::Folder {
        path: path.to_owned(),
        force: true,
    }
}

/// What a search by `strategy` may use.
pub(crate) fn resources(args: &RunArgs, strategy: &dyn Configurable) -> Resources {
    let accounting = match strategy.budget() {
        Budget::AllData => hadal::Accounting::AllData,
        Budget::TableAndQueue { one_in } => hadal::Accounting::Part { one_in },
    };
    Resources {
        accounting,
        ..args.resources()
    }
}

/// How an attempt at a check ended.
enum Attempt {
    Ended(Exit),
    /// States have no room for what the search met; this model's have.
    TooNarrow(Box<ModelSource>),
}

/// Checks a model once; what is suspect in its text is printed if it is the first time.
fn attempt(job: Job<'_>, is_first: bool) -> anyhow::Result<Attempt> {
    let Job {
        source,
        search,
        strategy,
        args,
        start,
        since,
    } = job;
    let resources = resources(args, strategy);
    let threads = resources.threads_for(strategy);
    let rejection = |diagnostics: Vec<DiagnosticRecord>| {
        RejectedRecord::new(source, &search, strategy, threads, diagnostics)
    };
    let loaded = match source.load_within(&args.load_limits(since)) {
        Ok(loaded) => loaded,
        Err(error) => {
            let diagnostics = rejected(error, args)?;
            let record_file = RecordFile::of(args)?;
            let delivered = deliver_record(args, record_file, &rejection(diagnostics));
            return Ok(Attempt::Ended(if_delivered(delivered, Exit::Usage)));
        }
    };
    if is_first {
        print_warnings(&loaded, args)?;
    }
    // The peak so far is that of loading the model, unless another search was given up.
    let used = match is_first {
        true => memory::peak_bytes(),
        false => memory::resident_bytes(),
    };
    Resources::check_budget(resources.budget(), used)?;
    let check = Check::new(&loaded)
        .search(search.clone())
        .resources(resources)
        .strategy(strategy)
        .stop(&signals::STOP)
        .since(since);
    let check = match start {
        Start::Anew(disk) => check.disk_use(disk),
        Start::Saved(saved) => check.resume(saved)?,
    };
    let prepared = check.prepare()?;
    for warning in prepared.warnings().iter().filter(|_| !args.quiet) {
        let remedy = match warning {
            Warning::NoScratch(why) => format!("; {}", failure::remedy(why)),
            _ => String::new(),
        };
        let _ = writeln!(io::stderr(), "warning: {warning}{remedy}");
    }
    let record_file = RecordFile::of(args)?;

    let mut display = Display::new(args.shown_progress(), prepared.folder().cloned());
    let result = prepared.run_with(&mut display);
    display.finish();
    let checked = match result {
        Ok(checked) => checked,
        Err(error) => {
            signals::await_exit();
            eprintln_lossy(&failure::message(&error, &loaded));
            let exit = exit::of_library_error(&error);
            let Error::Search { error: inner, .. } = &error else {
                return Ok(Attempt::Ended(exit));
            };
            if !failure::is_about_the_model(&error) {
                return Ok(Attempt::Ended(exit));
            }
            let diagnostics = vec![DiagnosticRecord::error(&inner.to_string())];
            let delivered = deliver_record(args, record_file, &rejection(diagnostics));
            return Ok(Attempt::Ended(if_delivered(delivered, exit)));
        }
    };
    if let Some(wider) = loaded.wider(&checked.outcome) {
        let violations = checked.outcome.violations.iter();
        let why = violations.map(|violation| &violation.message).next_back();
        if !args.quiet {
            let why = why.map_or("", |why| why);
            let _ = writeln!(
                io::stderr(),
                "note: {why}: starting over with room for more"
            );
        }
        let wider = Box::new(wider.clone());
        checked
            .finish()
            .context("cannot note that the run is finished")?;
        return Ok(Attempt::TooNarrow(wider));
    }

    let to_stdout = (args.json.as_ref()).is_some_and(|path| path.as_os_str() == "-");
    let mut delivered = Ok(());
    if !to_stdout {
        let summary = Summary {
            checked: &checked,
            loaded: &loaded,
            strategy,
            args,
            shortage: display.shortage(&checked.outcome),
        };
        let text = summary.render(args.color.style(&io::stdout()));
        delivered = deliver(&mut io::stdout(), &text, "the summary");
    }
    if args.json.is_some() {
        delivered = delivered.and(deliver_record(args, record_file, &checked.record()));
    }
    let is_shown = args.shown_progress() != ProgressName::None;
    if let (Some(notice), true) = (deletion(checked.deletable_bytes()), is_shown) {
        let _ = writeln!(io::stderr(), "{notice}");
    }
    if delivered.is_ok() {
        let finished = checked.finish();
        delivered = finished.context("cannot note that the run is finished");
    }
    let verdict = checked.outcome.verdict;
    let exit = if_delivered(delivered, exit::of_verdict(verdict));
    Ok(Attempt::Ended(exit))
}

/// The notice printed before a long deletion of files: it takes some tenths of a second per GiB.
pub(crate) fn deletion(bytes_on_disk: u64) -> Option<String> {
    let is_long = bytes_on_disk >= 2 << 30;
    is_long.then(|| format!("deleting {} of states on disk", bytes(bytes_on_disk)))
}

/// Prints why a model is rejected; other errors are passed on.
pub(crate) fn rejected(error: Error, args: &RunArgs) -> anyhow::Result<Vec<DiagnosticRecord>> {
    match error {
        Error::Rejected(rejection) => {
            let style = args.color.style(&io::stderr());
            writeln!(io::stderr(), "{}", rejection.render(style))?;
            Ok(DiagnosticRecord::all(&rejection))
        }
        error => Err(error.into()),
    }
}

/// Prints what is suspect in a model.
pub(crate) fn print_warnings(loaded: &LoadedModel, args: &RunArgs) -> anyhow::Result<()> {
    if !loaded.warnings.is_empty() {
        let renderer = args.color.style(&io::stderr()).renderer();
        let text = renderer.render_all(&loaded.source.sources, &loaded.warnings);
        writeln!(io::stderr(), "{}", text.trim_end())?;
    }
    if let (Some(which), false) = (summary::interpreted(loaded), args.quiet) {
        let _ = writeln!(
            io::stderr(),
            "warning: too large for native code, so interpreted, which is slower: {which}"
        );
    }
    Ok(())
}

/// The exit of a run whose result was delivered or not.
pub(crate) fn if_delivered(delivered: anyhow::Result<()>, exit: Exit) -> Exit {
    match delivered {
        Ok(()) => exit,
        Err(error) => {
            eprintln_lossy(&format!("{error:#}"));
            exit::of_undelivered(&error, exit)
        }
    }
}

pub(crate) fn eprintln_lossy(text: &str) {
    let _ = writeln!(io::stderr(), "error: {text}");
}

#[cfg(test)]
mod tests {
    use super::deletion;

    #[test]
    fn long_deletions_are_announced() {
        assert_eq!(deletion(1 << 30), None);
        let notice = deletion(24 << 30);
        assert_eq!(
            notice.as_deref(),
            Some("deleting 24.0 GiB of states on disk")
        );
    }
}
