//! `hadal check`: asks a question, and has it answered.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_literature::Configurable;

use crate::exit::Exit;
use crate::flags::CheckArgs;
use crate::question::Question;
use crate::run::{self, Start};
use crate::signals;

/// `started` is when the process was.
pub(crate) fn run(args: &CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    let strategy = &*args.strategy.strategy()?;
    refuse_unsupported(args, strategy)?;
    if let (Some(warning), false) = (strategy.warning(), args.run.quiet) {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let question = Question::new(args)?;
    if args.no_search {
        return run::without_search(&question, strategy, &args.run);
    }
    let start = match &args.disk {
        Some(path) => Start::Given {
            path,
            force: args.force,
        },
        None if strategy.uses_disk() => Start::Scratch,
        None => Start::InMemory,
    };
    run::run(&question, strategy, &args.run, start, started)
}

/// Refuses, before anything is loaded, what a strategy cannot do; a bound on the depth is refused by
/// those that search in another order.
fn refuse_unsupported(args: &CheckArgs, strategy: &dyn Configurable) -> anyhow::Result<()> {
    let name = strategy.name();
    if !strategy.uses_disk() && args.disk.is_some() {
        bail!("--strategy {name} keeps everything in memory; leave it out, or --disk");
    }
    if !strategy.is_parallel() && args.run.threads.is_some_and(|threads| threads > 1) {
        bail!("--strategy {name} works on one thread; leave it out, or --threads");
    }
    if !strategy.is_resumable() && args.run.commit_every.is_some() {
        bail!("a run with --strategy {name} cannot be resumed, so it is never checkpointed");
    }
    Ok(())
}
