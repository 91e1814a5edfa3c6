//! `hadal lab`: the papers' strategies on the same models, counted the same way.
//!
//! The measuring is done by [`hadal_literature::lab`]; here are the flags ([`args`]), the loading
//! of models ([`models`]), progress and printing.

mod args;
mod lists;
mod models;
mod origin;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use hadal::{Error, ScratchFolder, describe, order};
use hadal_literature::lab::{
    Conditions, Monitor, Report, Rig, Subject, caches, layers, locality, memory, profile,
};
use hadal_model::Shape;
use hadal_report::plot::{svg_of_bars, svg_of_lines};
use hadal_report::units;
use hadal_search::{Deadlock, Observer, Options, Violation};

pub(crate) use args::LabArgs;

use crate::deliver::refuse_others;
use crate::exit::Exit;
use crate::flags::ProgressName;
use crate::progress::Display;
use crate::signals;
use args::{Common, LabTable};

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<Exit> {
    match &args.table {
        LabTable::Locality { common, svg } => {
            in_rig("locality", common, svg.as_deref(), |rig, subjects| {
                let (report, bars) = locality::measure(rig, subjects);
                (report, svg_of_bars(&bars))
            })
        }
        LabTable::Memory {
            common,
            strategies,
            fractions,
            svg,
        } => in_rig("memory", common, svg.as_deref(), |rig, subjects| {
            let (report, lines) = memory::measure(rig, subjects, &strategies.0, &fractions.0);
            (report, svg_of_lines(&lines))
        }),
        LabTable::Profile {
            common,
            strategies,
            fraction,
        } => in_rig("profile", common, None, |rig, subjects| {
            let report = profile::measure(rig, subjects, &strategies.0, *fraction);
            (report, String::new())
        }),
        LabTable::Layers {
            common,
            layers,
            fraction,
            svg,
        } => in_rig("layers", common, svg.as_deref(), |rig, subjects| {
            let (report, bars) = layers::measure(rig, subjects, &layers.0, *fraction);
            (report, svg_of_bars(&bars))
        }),
        LabTable::Caches {
            common,
            caches,
            no_dfs,
            svg,
        } => in_rig("caches", common, svg.as_deref(), |rig, subjects| {
            let (report, bars) = caches::measure(rig, subjects, caches, !no_dfs);
            (report, svg_of_bars(&bars))
        }),
    }
}

/// Loads the models, measures them and prints the report.
fn in_rig(
    name: &'static str,
    common: &Common,
    svg: Option<&Path>,
    measure: impl FnOnce(&mut Rig<'_>, &[Subject]) -> (Report, String),
) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    let folder = scratch_folder(common.disk.as_deref())?;
    let models = match models::load(common) {
        Ok(Some(models)) => models,
        Ok(None) => return Ok(Exit::Usage),
        Err(error) if matches!(error.downcast_ref(), Some(Error::Internal(_))) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return Ok(Exit::Internal);
        }
        Err(error) => return Err(error),
    };
    let subjects = &models.subjects;
    let has_ends = |subject: &Subject| subject.model.shape().has_ends;
    if common.deadlock == Deadlock::EndStates && !subjects.iter().all(has_ends) {
        bail!("`--deadlock end-states` is for models that name the states where they may end");
    }
    // Before anything is measured, so that a bad path costs nothing.
    let cannot_write = |path: &Path| format!("cannot write `{}`", path.display());
    if let Some(path) = svg {
        refuse_others(path, b'<', "picture")?;
        fs::File::create(path).with_context(|| cannot_write(path))?;
    }
    let conditions = Conditions {
        options: options(common),
        repeat: common.repeat,
        folder: folder.path().to_owned(),
    };
    let mut announcer = Announcer {
        progress: common.progress,
        display: Display::new(ProgressName::None, None),
    };
    let mut rig = Rig::new(conditions, &signals::STOP, &mut announcer);
    let (mut report, picture) = measure(&mut rig, subjects);
    models.check()?;
    report.notes.append(&mut rig.notes);
    if let Some(path) = svg {
        fs::write(path, picture).with_context(|| cannot_write(path))?;
    }
    let text = hadal_report::render(
        &report,
        &origin::origin(name, common.seed),
        common.format.into(),
    );
    io::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()?;
    Ok(match rig.is_interrupted() {
        true => Exit::Incomplete,
        false => Exit::Verified,
    })
}

/// The folder of all runs, in `parent` if that is named.
fn scratch_folder(parent: Option<&Path>) -> anyhow::Result<ScratchFolder> {
    let parent = parent.map_or_else(ScratchFolder::default_parent, Path::to_owned);
    let made = fs::create_dir_all(&parent).and_then(|()| ScratchFolder::new(&parent));
    made.with_context(|| format!("cannot make a folder in `{}`", parent.display()))
}

/// The options of all runs: all tables compare searches by one thread.
fn options(common: &Common) -> Options {
    Options {
        deadlock: common.deadlock,
        max_errors: match common.stop_at_error {
            true => 1,
            false => usize::MAX,
        },
        store: common.store,
        seed: common.seed,
        threads: 1,
        stack_bytes: hadal::stack_bytes(hadal::ModelSource::CALL_LIMIT),
        memory_bytes: (common.memory).unwrap_or_else(hadal::memory::default_budget),
        time_limit: common.time_limit,
        ..Options::default()
    }
}

/// Announces runs and shows their progress.
struct Announcer {
    progress: ProgressName,
    display: Display,
}

impl Monitor for Announcer {
    fn begin(&mut self, number: u32, model: &str, what: &str, budget_bytes: Option<u64>) {
        self.display = Display::new(self.progress, None);
        if self.progress == ProgressName::None {
            return;
        }
        let within = match budget_bytes {
            Some(bytes) => format!(" within {}", units::bytes(bytes)),
            None => String::new(),
        };
        let _ = writeln!(io::stderr(), "run {number}: {model}: {what}{within}");
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.display
    }

    fn end(&mut self) {
        self.display.finish();
    }

    fn describe(&self, violation: &Violation, shape: &Shape) -> String {
        let why = describe::described(violation, shape);
        format!("{}: {why}", order::headline(&violation.at))
    }
}
