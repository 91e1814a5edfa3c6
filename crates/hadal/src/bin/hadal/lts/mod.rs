//! `hadal lts`: graphs in files, examined, converted, minimised and compared.
//!
//! The work is done by [`hadal_lts`]; here are the flags ([`args`]), the messages, what is
//! printed ([`print`]) and how far the work is ([`progress`]).

mod args;
mod print;
pub(crate) mod progress;

use std::io;
use std::path::Path;

use anyhow::Context;
use hadal::ScratchFolder;
use hadal_lts::{
    Error, FileKind, Gauge, Hlts, Info, Resources, UnfinishedFile, compare, minimise, open, save,
};
use hadal_report::units;
use rustix::fs::statvfs;

pub(crate) use args::LtsArgs;

use crate::deliver::deliver;
use crate::exit::Exit;
use crate::signals;
use args::{LtsCommand, LtsResources};

pub(crate) fn run(args: &LtsArgs) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    let limits = args.command.resources();
    let gauge = Gauge::new();
    let resources = within(limits, &gauge)?;
    let work = || work(&args.command, &resources);
    let (text, exit) = progress::shown(limits.progress, &gauge, work)?;
    deliver(&mut io::stdout(), &text, "the result")?;
    Ok(exit)
}

/// What is printed, and the exit.
fn work(command: &LtsCommand, resources: &Resources<'_>) -> anyhow::Result<(String, Exit)> {
    Ok(match command {
        LtsCommand::Info {
            file, tau, verbose, ..
        } => {
            let graph = read(file, resources)?;
            let info = Info::of(&graph, &tau.labels(), resources);
            let info = info.map_err(|error| named(error, file))?;
            (print::info(file, &graph, &info, *verbose), Exit::Done)
        }
        LtsCommand::Convert { file, output, .. } => {
            let output = &output.output;
            check_output(output)?;
            let graph = read(file, resources)?;
            save(&graph, output, resources).map_err(|error| unwritten(error, output))?;
            (print::written(output, &graph), Exit::Done)
        }
        LtsCommand::Minimise {
            file,
            output,
            equivalence,
            tau,
            ..
        } => {
            let output = &output.output;
            check_output(output)?;
            let graph = read(file, resources)?;
            let name = equivalence.equivalence;
            let smaller = minimise(&graph, name.into(), &tau.labels(), resources);
            let smaller = smaller.map_err(|error| named(error, file))?;
            save(&smaller.graph, output, resources).map_err(|error| unwritten(error, output))?;
            let text = print::minimised(output, &smaller, (file, &graph), name);
            (text, Exit::Done)
        }
        LtsCommand::Compare {
            first,
            second,
            equivalence,
            tau,
            ..
        } => {
            let graphs = [read(first, resources)?, read(second, resources)?];
            let name = equivalence.equivalence;
            let [a, b] = &graphs;
            let result = compare(a, b, name.into(), &tau.labels(), resources);
            let result = result.map_err(|error| named(error, first))?;
            let exit = match result.is_equivalent {
                true => Exit::Done,
                false => Exit::Different,
            };
            (print::comparison([first, second], &result, name), exit)
        }
    })
}

/// What the work may use: what the process has already is not for the data, and neither is a third
/// of the rest, which buffers and caches take beside the data that is counted.
fn within<'a>(args: &LtsResources, gauge: &'a Gauge) -> anyhow::Result<Resources<'a>> {
    let budget = args.memory.unwrap_or_else(hadal::memory::default_budget);
    let used = hadal::memory::resident_bytes();
    hadal::Resources::check_budget(budget, used)?;
    Ok(within_budget(budget, args.threads, Some(gauge)))
}

/// As [`within`], of a budget that suffices for the process.
pub(crate) fn within_budget(
    budget: u64,
    threads: Option<u32>,
    gauge: Option<&Gauge>,
) -> Resources<'_> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let used = hadal::memory::resident_bytes();
    let mut resources = Resources::new(&signals::STOP);
    resources.memory_bytes = budget.saturating_sub(used) / 3 * 2;
    resources.threads = threads.map_or_else(cores, |threads| threads as usize);
    resources.scratch = ScratchFolder::default_parent();
    resources.scratch_bytes = free_bytes(&resources.scratch);
    resources.gauge = gauge;
    resources
}

/// What is free in a folder, less a tenth for others.
fn free_bytes(folder: &Path) -> u64 {
    let free = statvfs(folder).map_or(0, |about| about.f_bavail.saturating_mul(about.f_frsize));
    free - free / 10
}

fn read(path: &Path, resources: &Resources<'_>) -> anyhow::Result<Hlts> {
    open(path, resources).map_err(|error| match error {
        Error::Io(error) => {
            anyhow::Error::from(error).context(format!("cannot read `{}`", path.display()))
        }
        error => named(error, path),
    })
}

/// Refuses a name that says no format, and a place where nothing can be written, before there is work.
fn check_output(path: &Path) -> anyhow::Result<()> {
    FileKind::of(path).map_err(|error| named(error, path))?;
    let is_new = path.metadata().map_or(true, |about| about.is_file());
    let is_writable = match is_new {
        true => UnfinishedFile::beside(path).map(drop),
        false if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(()),
    };
    is_writable.map_err(|error| unwritten(error.into(), path))
}

/// An error about a graph, with its file and what to do about it.
fn named(error: Error, path: &Path) -> anyhow::Error {
    let hint = match error {
        Error::Memory { .. } | Error::LabelMemory { .. } => "; give it more with --memory",
        _ => "",
    };
    match error {
        Error::Io(error) => anyhow::Error::from(error).context(path.display().to_string()),
        error => {
            let what = match &error {
                Error::Memory {
                    what,
                    needed,
                    limit,
                } => format!(
                    "{what} needs {} of memory, and {} is left for it",
                    units::bytes(*needed),
                    units::bytes(*limit)
                ),
                error => error.to_string(),
            };
            let message = format!("{}: {what}{hint}", path.display());
            anyhow::Error::from(GraphError { message, error })
        }
    }
}

pub(crate) fn unwritten(error: Error, path: &Path) -> anyhow::Error {
    match error {
        Error::Io(error) => {
            anyhow::Error::from(error).context(format!("cannot write `{}`", path.display()))
        }
        error => named(error, path),
    }
}

/// An error about a graph, with its message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct GraphError {
    message: String,
    error: Error,
}

impl GraphError {
    /// The exit of a command that fails with it.
    pub(crate) fn exit(&self) -> Exit {
        match self.error {
            Error::Stopped | Error::Memory { .. } | Error::LabelMemory { .. } => Exit::Incomplete,
            _ => Exit::Usage,
        }
    }
}
