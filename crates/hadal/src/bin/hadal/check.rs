//! `hadal check`: checks a model.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal::{Disk, TargetText};
use hadal_literature::Configurable;

use crate::allocator::adapt_allocator;
use crate::exit::Exit;
use crate::flags::{CheckArgs, DiskArgs, RunArgs};
use crate::run::{self, Job, Start};
use crate::signals;

/// `since` is when the process started.
pub(crate) fn run(args: &CheckArgs, since: Instant) -> anyhow::Result<Exit> {
    adapt_allocator(args.run.resources().budget());
    signals::listen().context("cannot listen to signals")?;
    let strategy = &*args.strategy.strategy()?;
    refuse_unsupported(strategy, &args.disk, &args.run)?;
    if let (Some(warning), false) = (strategy.warning(), args.run.quiet) {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let limits = args.run.load_limits(since);
    let budget = args.run.resources().budget();
    let source = limits.watch(|| args.model.read(budget, args.disk.disk.is_some()))??;
    let mut source = args.model.configure(source, &args.symmetry, &args.states);
    if source.cost_text().is_some() && !strategy.needs_costs() {
        bail!(
            "--cost is for --strategy dijkstra, a-star or best-first; it means nothing to `{}`",
            strategy.name()
        );
    }
    let search = args.search_options(&source);
    source.directed = args.directed.directed(strategy, search.deadlock)?;
    if let Some(file) = &args.directed.target {
        source = source.target(&TargetText::read(file)?)?;
    }
    if args.no_search {
        return run::without_search(&source, &args.run, &limits);
    }
    let disk = match args.disk.folder() {
        Some(folder) => folder,
        None if strategy.uses_disk() => Disk::Scratch,
        None => Disk::None,
    };
    run::run(Job {
        source: &source,
        search,
        strategy,
        args: &args.run,
        start: Start::Anew(disk),
        since,
    })
}

/// Refuses, before anything is loaded, what a strategy cannot do. A bound on the depth is refused
/// by those that search in another order.
pub(crate) fn refuse_unsupported(
    strategy: &dyn Configurable,
    disk: &DiskArgs,
    args: &RunArgs,
) -> anyhow::Result<()> {
    let name = strategy.name();
    if !strategy.uses_disk() && disk.disk.is_some() {
        bail!("--strategy {name} keeps everything in memory; leave it out, or --disk");
    }
    if !strategy.is_parallel() && args.threads.is_some_and(|threads| threads > 1) {
        bail!("--strategy {name} works on one thread; leave it out, or --threads");
    }
    if !strategy.is_resumable() && args.commit_every.is_some() {
        bail!("a run with --strategy {name} cannot be resumed, so it is never checkpointed");
    }
    Ok(())
}
