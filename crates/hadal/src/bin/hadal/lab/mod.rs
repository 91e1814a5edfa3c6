//! `hadal lab`: the papers' strategies on the same models, counted the same way.
//!
//! The measuring is done by [`hadal_literature::lab`]; here are the flags ([`args`]), the loading
//! of models ([`models`]), progress and printing.

mod args;
mod directed;
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
use hadal_model::{Model, Shape};
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
use directed::Wanted;

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
        LabTable::Directed {
            common,
            strategies,
            heuristic,
            target,
            state_limit,
            svg,
        } => directed::run(&Wanted {
            common,
            strategies: &strategies.0,
            heuristics: heuristic,
            target: target.as_deref(),
            state_limit: *state_limit,
            svg: svg.as_deref(),
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
    let conditions = |folder: &ScratchFolder| Conditions {
        options: options(common),
        most_states: None,
        repeat: common.repeat,
        folder: folder.path().to_owned(),
    };
    in_lab(name, common, svg, conditions, || {
        let Some(models) = models::load(common)? else {
            return Ok(None);
        };
        refuse_end_states(common, models.subjects.iter().map(|it| &*it.model))?;
        Ok(Some(move |rig: &mut Rig<'_>| {
            let measured = measure(rig, &models.subjects);
            models.check()?;
            Ok(measured)
        }))
    })
}

/// Fails where states that may be ends are asked for of models that have none.
fn refuse_end_states<'m>(
    common: &Common,
    mut models: impl Iterator<Item = &'m dyn Model>,
) -> anyhow::Result<()> {
    if common.deadlock == Some(Deadlock::EndStates) && !models.all(|it| it.shape().has_ends) {
        bail!("`--deadlock end-states` is for models that name the states where they may end");
    }
    Ok(())
}

/// Prepares a measurement, which loads its models, measures and prints the report. Nothing is
/// measured where a model is rejected, which is printed.
fn in_lab<M>(
    name: &'static str,
    common: &Common,
    svg: Option<&Path>,
    conditions: impl FnOnce(&ScratchFolder) -> Conditions,
    prepare: impl FnOnce() -> anyhow::Result<Option<M>>,
) -> anyhow::Result<Exit>
where
    M: FnOnce(&mut Rig<'_>) -> anyhow::Result<(Report, String)>,
{
    signals::listen().context("cannot listen to signals")?;
    let folder = scratch_folder(common.disk.as_deref())?;
    let measure = match prepare() {
        Ok(Some(measure)) => measure,
        Ok(None) => return Ok(Exit::Usage),
        Err(error) if matches!(error.downcast_ref(), Some(Error::Internal(_))) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return Ok(Exit::Internal);
        }
        Err(error) => return Err(error),
    };
    // Before anything is measured, so that a bad path costs nothing.
    let cannot_write = |path: &Path| format!("cannot write `{}`", path.display());
    if let Some(path) = svg {
        refuse_others(path, b'<', "picture")?;
        fs::File::create(path).with_context(|| cannot_write(path))?;
    }
    let mut announcer = Announcer {
        progress: common.progress,
        display: Display::new(ProgressName::None, None),
    };
    let mut rig = Rig::new(conditions(&folder), &signals::STOP, &mut announcer);
    let (mut report, picture) = measure(&mut rig)?;
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
