//! `hadal resume`: goes on with the question of a folder, or checks what the folder holds.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::disk::Found;
use crate::exit::Exit;
use crate::flags::ResumeArgs;
use crate::question::Question;
use crate::run::{self, Start};
use crate::style::Style;
use crate::units::{bytes, counted};
use crate::{disk, signals, strategy};

/// `started` is when the process was.
pub(crate) fn run(args: &ResumeArgs, started: Instant) -> anyhow::Result<Exit> {
    signals::listen().context("cannot listen to signals")?;
    let found = disk::find(&args.folder)?;
    if args.verify {
        return verify(args, &found);
    }
    if found.about.is_finished {
        bail!(
            "the run in `{}` came to its end; there is nothing to resume",
            args.folder.display()
        );
    }
    let question = Question::from_label(&found.about.label)?;
    let strategy = strategy::from_name(&question.strategy)?;
    let start = Start::Found(found);
    run::run(&question, &*strategy, &args.run, start, started)
}

fn verify(args: &ResumeArgs, found: &Found) -> anyhow::Result<Exit> {
    let verified = hadal_search::verify(&found.folder, &found.manifest);
    let verified = verified
        .map_err(disk::from_search)
        .with_context(|| disk::about(&args.folder))?;
    if !args.run.quiet {
        let style = Style::new(args.run.color, &io::stdout());
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
