//! The command line on top of the library: flags, progress, summary, exit code.
//!
//! A command goes through the same stages: [`flags`] (what was typed) → a [`hadal::ModelSource`]
//! and a [`hadal::Check`] → [`run`] (load, search, deliver) → [`summary`] for people and the run
//! record for programs. This is the only place that prints, and the only one that knows the
//! strategies of the literature ([`strategy`]) and their laboratory ([`lab`]). Graphs in files have
//! commands of their own ([`lts`]).

#[expect(unsafe_code, reason = "settings without a safe name")]
mod allocator;
mod check;
mod deliver;
mod estimate;
mod exit;
mod failure;
mod flags;
mod generate;
mod lab;
mod language;
mod lts;
mod progress;
mod replay;
mod resume;
mod run;
mod shorten;
mod signals;
mod strategy;
mod summary;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::{CommandFactory, Parser};

use exit::Exit;
use flags::{Cli, Command};

/// Stack of the thread that runs the command, the parsing of flags included: that of the main
/// thread may be small. Trees and calls are bounded well below it.
const STACK_BYTES: usize = 64 << 20;
/// Address space that this thread needs besides: where there is less, the next allocation would fail and
/// end the process without a message.
const BESIDE_STACK_BYTES: u64 = 16 << 20;

fn main() -> ExitCode {
    let started = Instant::now();
    allocator::tune_allocator();
    hadal::system_limits::raise_open_files();
    // Before there are other files. What needs it reports that it failed.
    let _ = hadal::memory::start_measuring();
    let left = hadal::system_limits::address_space_left();
    let worker = match left.is_some_and(|left| left < STACK_BYTES as u64 + BESIDE_STACK_BYTES) {
        true => Err(std::io::ErrorKind::OutOfMemory.into()),
        false => std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || run(started)),
    };
    let result = match worker.map(|worker| worker.join()) {
        Ok(Ok(result)) => result,
        // The panic has printed its message already.
        Ok(Err(_)) => Ok(Exit::Internal),
        Err(error) => Err(hadal::Error::Thread(error).into()),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            // A closed pipe is the reader's choice, not a failure of ours.
            if is_broken_pipe(&error) {
                return Exit::Incomplete.into();
            }
            signals::await_exit();
            let _ = writeln!(
                std::io::stderr(),
                "error: {error:#}{}",
                failure::hint(&error)
            );
            exit::of_error(&error).into()
        }
    }
}

fn run(started: Instant) -> anyhow::Result<Exit> {
    // clap prints its own message and exits with 2 if the command line is wrong.
    let cli = Cli::parse();
    signals::survive_large_files()?;
    match cli.command {
        Command::Check(args) => check::run(&args, started),
        Command::Generate(args) => generate::run(&args, started),
        Command::Resume(args) => resume::run(&args, started),
        Command::Replay(args) => replay::run(&args, started),
        Command::Lab(args) => lab::run(&args),
        Command::Lts(args) => lts::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hadal", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(Exit::Done)
        }
        Command::Man { command } => {
            let root = Cli::command();
            let man = match &command {
                None => clap_mangen::Man::new(root),
                Some(name) => match root.find_subcommand(name) {
                    Some(found) => {
                        clap_mangen::Man::new(found.clone()).title(format!("hadal-{name}"))
                    }
                    None => anyhow::bail!("there is no command `{name}`"),
                },
            };
            man.render(&mut std::io::stdout())?;
            Ok(Exit::Done)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
