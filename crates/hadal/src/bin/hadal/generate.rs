//! `hadal generate`: the state graph of a model as a file.
//!
//! The search is that of a check which asks for nothing; its graph goes to a [`GraphOutput`], which
//! appears under its name when all of it is written.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal::{
    Check, Disk, Error, GraphOptions, GraphOutput, GraphWriter, ModelSource, Resources, SavedRun,
    SearchOptions, Verdict, Warning, WrittenGraph, memory,
};
use hadal_literature::Configurable;
use hadal_lts::Gauge;
use hadal_report::units::{bytes, counted};
use hadal_search::{Auto, Error as SearchError, Outcome, Reason};

use crate::allocator::adapt_allocator;
use crate::deliver::{RecordFile, deliver, deliver_record};
use crate::exit::{self, Exit};
use crate::flags::{GenerateArgs, ResumeArgs, RunArgs};
use crate::progress::Display;
use crate::run::{
    self, Start, deletion, eprintln_lossy, forced, if_delivered, print_warnings, rejected,
};
use crate::strategy::hint;
use crate::{check, failure, lts, signals};

/// `since` is when the process started.
pub(crate) fn run(args: &GenerateArgs, since: Instant) -> anyhow::Result<Exit> {
    adapt_allocator(args.run.resources().budget());
    signals::listen().context("cannot listen to signals")?;
    let strategy = &*args.strategy.0.strategy()?;
    check::refuse_unsupported(strategy, &args.disk, &args.run)?;
    if let (Some(warning), false) = (strategy.warning(), args.run.quiet) {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let limits = args.run.load_limits(since);
    let budget = args.run.resources().budget();
    let source = limits.watch(|| args.model.read(budget, args.disk.disk.is_some()))??;
    let source = args.model.configure(source, &args.symmetry, &args.states);
    refuse_unsupported(&source, strategy)?;
    let tau = args.tau.iter().filter(|label| !label.is_empty());
    let options = GraphOptions {
        labels: args.labels,
        tau: tau.cloned().collect(),
        values: args.values,
    };
    let output = GraphOutput::new(&args.output, options)?;
    let search = SearchOptions {
        store: args.states.store,
        seed: args.states.seed,
        ..SearchOptions::default()
    };
    let disk = args.disk.folder().unwrap_or(Disk::Scratch);
    let job = Job {
        output: &output,
        search,
        strategy,
        args: &args.run,
        since,
    };
    job.run(source, Start::Anew(disk))
}

/// Refuses, before anything is loaded, what has no graph to generate.
fn refuse_unsupported(source: &ModelSource, strategy: &dyn Configurable) -> anyhow::Result<()> {
    // Other strategies make other graphs of them.
    if source.language.is_graph() && strategy.is_resumable() {
        bail!(
            "`{}` is a graph already; write it in another format with hadal lts convert",
            source.name()
        );
    }
    if source.goal_text().is_some() {
        bail!("--goal asks for one state, and a graph has all of them; use it with hadal check");
    }
    if source.cost_text().is_some() {
        bail!("--cost orders a search, and a graph has no costs; use it with hadal check");
    }
    Ok(())
}

/// Resumes a generation that was interrupted.
pub(crate) fn resume(saved: SavedRun, args: &ResumeArgs, since: Instant) -> anyhow::Result<Exit> {
    let Some((path, options)) = saved.graph()? else {
        return Err(Error::Internal("the run was started for no graph".to_owned()).into());
    };
    let output = GraphOutput::new(path, options)?;
    let source = saved.source()?;
    let job = Job {
        output: &output,
        // No other is resumable.
        strategy: &Auto,
        search: saved.search_options()?,
        args: &args.run,
        since,
    };
    job.run(source, Start::Saved(saved))
}

/// What is generated and how.
struct Job<'a> {
    output: &'a GraphOutput,
    search: SearchOptions,
    strategy: &'a dyn Configurable,
    args: &'a RunArgs,
    since: Instant,
}

/// How an attempt ended.
enum Attempt {
    Ended(Exit),
    /// States have no room for what the search met; this model's have.
    TooNarrow(Box<ModelSource>),
}

impl Job<'_> {
    /// Generates a graph; starts over with wider states where these turn out to be too narrow.
    fn run(&self, mut source: ModelSource, mut start: Start) -> anyhow::Result<Exit> {
        let mut is_first = true;
        loop {
            let again = match &start {
                Start::Saved(saved) => forced(saved.path()),
                Start::Anew(Disk::Folder { path, .. }) => forced(path),
                Start::Anew(disk) => disk.clone(),
            };
            match self.attempt(&source, start, is_first)? {
                Attempt::Ended(exit) => return Ok(exit),
                Attempt::TooNarrow(wider) => source = *wider,
            }
            is_first = false;
            start = Start::Anew(again);
        }
    }

    fn attempt(
        &self,
        source: &ModelSource,
        start: Start,
        is_first: bool,
    ) -> anyhow::Result<Attempt> {
        let (args, output) = (self.args, self.output);
        let resources = run::resources(args, self.strategy);
        let loaded = match source.load_within(&args.load_limits(self.since)) {
            Ok(loaded) => loaded,
            Err(error) => return rejected(error, args).map(|_| Attempt::Ended(Exit::Usage)),
        };
        if is_first {
            print_warnings(&loaded, args)?;
        }
        let used = match is_first {
            true => memory::peak_bytes(),
            false => memory::resident_bytes(),
        };
        let budget = resources.budget();
        Resources::check_budget(budget, used)?;
        // When they are made the search has given up its memory.
        let label_bytes = (budget / 8).max(GraphWriter::LEAST_LABEL_BYTES);
        let mut writer = output.writer(&loaded).label_bytes(label_bytes);
        if let Some(n) = args.threads {
            writer = writer.threads(n as usize);
        }
        let strategy = self.strategy.with_sink(&mut writer);
        let Some(strategy) = strategy.as_deref() else {
            let name = self.strategy.name();
            bail!("--strategy {name} makes no graphs; leave it out");
        };
        let check = Check::new(&loaded)
            .search(self.search.clone())
            .resources(resources)
            .stop(&signals::STOP)
            .since(self.since);
        let check = match start {
            Start::Anew(disk) => check.disk_use(disk),
            Start::Saved(saved) => check.resume(saved)?,
        };
        let prepared = check.graph_by(strategy, output).prepare()?;
        for warning in prepared.warnings().iter().filter(|_| !args.quiet) {
            let remedy = match warning {
                // It is about a property, and none is asked for.
                Warning::ExactStore(_) => continue,
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
                return Err(unwritten(error, output, &loaded));
            }
        };
        if let Some(wider) = loaded.wider(&checked.outcome) {
            let wider = Box::new(wider.clone());
            if !args.quiet {
                let _ = writeln!(
                    io::stderr(),
                    "note: there are more processes than states have room for: starting over with \
                     room for more"
                );
            }
            checked
                .finish()
                .context("cannot note that the run is finished")?;
            return Ok(Attempt::TooNarrow(wider));
        }
        let outcome = &checked.outcome;
        if outcome.verdict == Verdict::Rejected {
            let why = outcome.violations.iter().map(|it| &it.message).next();
            let why = why.map_or("", |why| why);
            eprintln_lossy(&format!(
                "the model is not as symmetric as it declares: {why}; --symmetry off does not depend \
                 on it"
            ));
            return Ok(Attempt::Ended(Exit::Usage));
        }
        let gauge = Gauge::new();
        let resources = lts::within_budget(budget, args.threads, Some(&gauge));
        let save = || output.save(&resources);
        let saved = lts::progress::shown(args.shown_progress(), &gauge, save);
        let resumable = checked.resumable().map(|path| path.display().to_string());
        let saved = match (saved, &resumable) {
            (Ok(saved), _) => saved,
            (Err(Error::Output { path, error }), Some(folder)) => {
                let error = lts::unwritten(*error, &path);
                let exit = exit::of_error(&error);
                let what = format!("{error:#}; continue it with: hadal resume {folder}");
                eprintln_lossy(&what);
                return Ok(Attempt::Ended(exit));
            }
            (Err(error), _) => return Err(error.into()),
        };
        let Some(written) = saved else {
            eprintln_lossy(&stopped(outcome, output, self.strategy, resumable));
            let delivered = deliver_record(args, record_file, &checked.record());
            return Ok(Attempt::Ended(if_delivered(delivered, Exit::Incomplete)));
        };
        if !args.quiet {
            print_notes(&written, outcome);
        }
        let to_stdout = (args.json.as_ref()).is_some_and(|path| path.as_os_str() == "-");
        let mut delivered = Ok(());
        if !to_stdout && !args.quiet {
            let text = summary(output, &written, outcome, args.verbose);
            delivered = deliver(&mut io::stdout(), &text, "the summary");
        }
        delivered = delivered.and(deliver_record(args, record_file, &checked.record()));
        if let (Some(notice), false) = (deletion(checked.deletable_bytes()), args.quiet) {
            let _ = writeln!(io::stderr(), "{notice}");
        }
        if delivered.is_ok() {
            let finished = checked.finish();
            delivered = finished.context("cannot note that the run is finished");
        }
        Ok(Attempt::Ended(if_delivered(delivered, Exit::Done)))
    }
}

/// An error of a search whose graph was to be written.
fn unwritten(error: Error, output: &GraphOutput, loaded: &hadal::LoadedModel) -> anyhow::Error {
    let Error::Search {
        error: inner,
        model,
        folder,
    } = error
    else {
        return error.into();
    };
    let path = output.path();
    let sink = match *inner {
        SearchError::Sink(sink) => sink,
        inner => {
            let error = Error::Search {
                model,
                folder,
                error: Box::new(inner),
            };
            let message = failure::message(&error, loaded);
            return match failure::is_about_the_model(&error) {
                true => error.into(),
                false => anyhow::Error::from(error).context(message),
            };
        }
    };
    // What the writer reports about the graph comes as an error of the system.
    match sink.downcast::<hadal_lts::Error>() {
        Ok(error) => lts::unwritten(error, path),
        Err(error) => {
            anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()))
        }
    }
}

/// Why there is no graph.
fn stopped(
    outcome: &Outcome,
    output: &GraphOutput,
    strategy: &dyn Configurable,
    resumable: Option<String>,
) -> String {
    let hint = outcome.reason.and_then(|reason| hint(strategy, reason));
    let why = match (outcome.reason, &hint) {
        (Some(Reason::Memory), None) => {
            "memory is full; give it more with --memory, or a disk with --disk"
        }
        (Some(Reason::Memory), Some(_)) => "memory is full",
        (Some(Reason::Disk), _) => "the disk is full",
        (Some(Reason::Time), _) => "the time limit was reached",
        (Some(Reason::Interrupted), _) => "interrupted",
        (Some(Reason::Revisits), _) => "the search only visits states again",
        _ => "the search did not visit every state",
    };
    let hint = hint.map_or(String::new(), |hint| format!("; {hint}"));
    let resume = resumable.map_or(String::new(), |path| {
        format!("; continue it with: hadal resume {path}")
    });
    format!(
        "`{}` is not written, after {}: {why}{hint}{resume}",
        output.path().display(),
        counted(outcome.states, "state"),
    )
}

/// What a reader of the graph should know.
fn print_notes(written: &WrittenGraph, outcome: &Outcome) {
    let mut notes = Vec::new();
    if written.has_added_start {
        notes.push(
            "the model has several startstates: state 0 is added, with an edge to each".to_owned(),
        );
    }
    if written.has_dropped_parameters {
        notes.push(
            "labels lack parameters that symmetry makes ambiguous; --symmetry off keeps them"
                .to_owned(),
        );
    }
    let n_again = outcome.visited.saturating_sub(outcome.states);
    if n_again > 0 {
        notes.push(format!(
            "{} of states that were forgotten in between, each with a number of its own; hadal lts \
             minimise merges what is equivalent",
            counted(n_again, "visit")
        ));
    }
    let n_found = outcome.violations.len() as u64;
    if n_found > 0 {
        notes.push(format!(
            "the model has {}, which hadal check shows; steps that fail are no edges",
            counted(n_found, "violation")
        ));
    }
    if let Some(omission) = &outcome.omission {
        notes.push(format!(
            "states were remembered by hashes: with a probability of {:.1e} some are missing",
            omission.any
        ));
    }
    for note in notes {
        let _ = writeln!(io::stderr(), "note: {note}");
    }
}

fn summary(
    output: &GraphOutput,
    written: &WrittenGraph,
    outcome: &Outcome,
    is_verbose: bool,
) -> String {
    let mut text = format!(
        "{}: {}, {}, {}",
        output.path().display(),
        counted(written.n_states, "state"),
        counted(written.n_edges, "edge"),
        counted(written.n_labels as u64, "label"),
    );
    if let Some(n_bytes) = written.n_bytes {
        text += &format!(", {}", bytes(n_bytes));
        if written.n_edges > 0 {
            let per_edge = n_bytes as f64 / written.n_edges as f64;
            text += &format!(" ({per_edge:.1} bytes an edge)");
        }
    }
    text.push('\n');
    if is_verbose {
        let disk = outcome.disk;
        let per_edge = disk.peak_bytes as f64 / written.n_edges.max(1) as f64;
        text += &format!(
            "{:.1} s · {} of data in memory · {} on disk at most ({per_edge:.1} bytes an edge), {} \
             written, {} read\n",
            outcome.seconds.search,
            bytes(outcome.data_bytes),
            bytes(disk.peak_bytes),
            bytes(disk.written_bytes),
            bytes(disk.read_bytes),
        );
    }
    text
}
