//! `hadal resume`: resumes the run of a folder, a check or a generation, or checks what the folder holds.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal::{Error, SavedRun};
use hadal_report::units::{bytes, counted};

use crate::allocator::adapt_allocator;
use crate::exit::Exit;
use crate::flags::ResumeArgs;
use crate::run::{self, Job, Start};
use crate::{generate, signals, strategy};

/// `since` is when the process started.
pub(crate) fn run(args: &ResumeArgs, since: Instant) -> anyhow::Result<Exit> {
    adapt_allocator(args.run.resources().budget());
    signals::listen().context("cannot listen to signals")?;
    let saved = SavedRun::open(&args.folder)?;
    if args.verify {
        return verify(args, &saved);
    }
    if saved.is_finished() {
        return Err(Error::Finished(args.folder.clone()).into());
    }
    if saved.graph()?.is_some() {
        return generate::resume(saved, args, since);
    }
    let search = saved.search_options()?;
    let mut strategy = strategy::from_name(&saved.strategy()?)?;
    for (name, value) in saved.strategy_parameters()? {
        strategy.set(&name, &value)?;
    }
    let source = match (saved.source_at(args.model.as_deref(), &[]), &args.model) {
        (Err(Error::Read { path, error }), None) => {
            let path = path.display();
            bail!("cannot read `{path}`: {error}; say where the graph is with --model FILE")
        }
        (source, _) => source?,
    };
    run::run(Job {
        source: &source,
        search,
        strategy: &*strategy,
        args: &args.run,
        start: Start::Saved(saved),
        since,
    })
}

fn verify(args: &ResumeArgs, saved: &SavedRun) -> anyhow::Result<Exit> {
    let verified = saved.verify()?;
    if !args.run.quiet {
        let style = args.run.color.style(&io::stdout());
        writeln!(
            io::stdout(),
            "{}: {}: the manifest, and {} of {} in {}, were read and are as they were written",
            style.bold(&args.folder.display().to_string()),
            style.good("intact"),
            counted(verified.blocks, "block"),
            bytes(verified.bytes),
            counted(verified.files, "file"),
        )?;
    }
    Ok(Exit::Done)
}
