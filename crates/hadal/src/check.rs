//! `hadal check`: asks a question, and has it answered.

use std::time::Instant;

use anyhow::{Context, bail};

use crate::exit::Exit;
use crate::flags::{CheckArgs, StrategyName};
use crate::question::Question;
use crate::run::{self, Start};
use crate::signals;

/// `started` is when the process was.
pub(crate) fn run(args: &CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    if args.strategy == StrategyName::Ram && args.disk.is_some() {
        bail!("--strategy ram keeps everything in memory; leave it out, or --disk");
    }
    let question = Question::new(args)?;
    if args.no_search {
        return run::without_search(&question, &args.run);
    }
    let start = match (&args.disk, args.strategy) {
        (Some(path), _) => Start::Given {
            path,
            force: args.force,
        },
        (None, StrategyName::Ram) => Start::InMemory,
        (None, StrategyName::Auto) => Start::Scratch,
    };
    run::run(&question, &args.run, start, started)
}
