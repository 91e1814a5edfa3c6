//! `hadal check`: asks a question, and has it answered.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_search::Strategy;

use crate::exit::Exit;
use crate::flags::CheckArgs;
use crate::question::Question;
use crate::run::{self, Start};
use crate::{signals, strategy};

/// `started` is when the process was.
pub(crate) fn run(args: &CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    let strategy = strategy::chosen(&args.strategy)?;
    if let Some(strategy) = &strategy {
        refuse_unsupported(args, strategy)?;
    }
    if let (Some(strategy @ Strategy::Snapshots { bounded: true, .. }), false) =
        (&strategy, args.run.quiet)
    {
        let warning = strategy.remark().unwrap_or_default();
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let question = Question::new(args)?;
    if args.no_search {
        return run::without_search(&question, &args.run);
    }
    let start = match &args.disk {
        Some(path) => Start::Given {
            path,
            force: args.force,
        },
        None if strategy == Some(Strategy::Ram) => Start::InMemory,
        None => Start::Scratch,
    };
    run::run(&question, strategy.as_ref(), &args.run, start, started)
}

/// What the strategies of the papers do not do is refused before anything is loaded; a bound on the
/// depth is refused by those that have another order.
fn refuse_unsupported(args: &CheckArgs, strategy: &Strategy) -> anyhow::Result<()> {
    let name = strategy.name();
    if *strategy == Strategy::Ram && args.disk.is_some() {
        bail!("--strategy ram keeps everything in memory; leave it out, or --disk");
    }
    if args.run.threads.is_some_and(|threads| threads > 1) {
        bail!("--strategy {name} works on one thread; leave it out, or --threads");
    }
    if args.run.commit_every.is_some() {
        bail!("a run with --strategy {name} cannot be resumed, so it is never written down");
    }
    Ok(())
}
