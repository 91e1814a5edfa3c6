//! Every flag, defined once: name, meaning, default. Help, man page and completions come from here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::strategy::StrategyArgs;
use crate::units;

/// An explicit-state model checker for protocols.
///
/// Visits every reachable state of a protocol, proves its invariants, or shows the shortest run
/// that breaks one.
#[derive(Debug, Parser)]
#[command(name = "hadal", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  hadal check peterson.m                    verify a Murphi model
  hadal check peterson.m --const N=5        the same for five processes
  hadal check bus.m --json run.json         keep the run record, with the counterexample
  hadal replay run.json                     show that counterexample again
  hadal check big.m --memory 300M --disk d  larger than memory, and safe from crashes
  hadal resume d                            go on after one

Exit codes:
  0 verified   1 violation found   2 bad command line or model
  3 stopped before the end, nothing proved   4 damaged store or internal error";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify a model: the main job
    Check(Box<CheckArgs>),
    /// Go on with an interrupted check, from the folder it was given with `--disk`
    Resume(Box<ResumeArgs>),
    /// Show the counterexample of a run record again, step by step, from its model
    Replay(ReplayArgs),
    /// Measure strategies, and compare them as the papers do
    Lab(Box<crate::lab::LabArgs>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of the program or of one command
    Man {
        /// The command
        command: Option<String>,
    },
}

/// Recursion deeper than this would need more stack than a thread should have.
pub(crate) const MAX_CALL_DEPTH: u32 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The model's file; `-` reads standard input
    pub(crate) model: PathBuf,

    /// The language of the model; otherwise it follows from the file's extension (`.m` is Murphi)
    #[arg(long, value_enum, help_heading = "Model")]
    pub(crate) language: Option<Language>,

    /// Whose meaning a Murphi text is given where tools disagree
    #[arg(long, value_enum, default_value_t = DialectName::Hadal, help_heading = "Model")]
    pub(crate) dialect: DialectName,

    /// Override a constant of the model; may be repeated
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = parse_constant,
          help_heading = "Model")]
    pub(crate) constants: Vec<(String, String)>,

    /// Rounds of one `while` loop before it is a violation [default: by dialect: 1000000, cmurphi
    /// 1000, rumur none]
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub(crate) loop_limit: Option<u64>,

    /// Depth of recursion before it is a violation
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CALL_DEPTH)), help_heading = "Model")]
    pub(crate) call_limit: u32,

    /// Load and check the model only
    #[arg(long, conflicts_with = "json", help_heading = "Model")]
    pub(crate) no_search: bool,

    /// What counts as a deadlock: no way to another state, no enabled rule, or nothing
    #[arg(long, value_enum, default_value_t = DeadlockName::Stuttering, help_heading = "Search")]
    pub(crate) deadlock: DeadlockName,

    /// Scalarset reduction: visit one state of each class of interchangeable ones
    #[arg(long, value_enum, default_value_t = SymmetryName::Full, help_heading = "Search")]
    pub(crate) symmetry: SymmetryName,

    /// Do not expand states at depth N
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) bound: Option<u32>,

    /// Go on until N violations, one per property and kind, in order of depth
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub(crate) max_errors: u32,

    /// How states are remembered: `exact` compares whole states, the others so many bits of a hash,
    /// so that states may be missed; how probably, the run tells
    #[arg(long, value_enum, default_value_t = StoreName::Exact, help_heading = "Search")]
    pub(crate) store: StoreName,

    /// Chooses the hash function, and whatever else a strategy chooses at random: with another seed
    /// other states are missed, if any
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub(crate) seed: u64,

    /// What makes the successors
    #[arg(long, value_enum, default_value_t = EngineName::Native, help_heading = "Search")]
    pub(crate) engine: EngineName,

    /// Where states go when memory ends; a run with `--strategy auto` can then be resumed, even
    /// after a crash [default: a fresh folder under TMPDIR, else /var/tmp, deleted at the end]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub(crate) disk: Option<PathBuf>,

    /// Use a DIR that lies in memory or is used already
    #[arg(long, requires = "disk", help_heading = "Resources")]
    pub(crate) force: bool,

    /// How to search
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What changes no result: means and output. A run that is resumed may be given others.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Budget for everything the process holds, e.g. 300M or 2G; kept to within 16M [default: half
    /// of what is available]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) memory: Option<u64>,

    /// Budget for the data of the search alone, in place of what `--memory` leaves for it; for
    /// tests and measurements
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, hide = true)]
    pub(crate) data_memory: Option<u64>,

    /// How often a run with `--disk` is written down; for tests
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, hide = true)]
    pub(crate) commit_every: Option<Duration>,

    /// Never use more of the disk than this [default: what is free, less a reserve]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) disk_limit: Option<u64>,

    /// Worker threads, for `--strategy auto` [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024),
          help_heading = "Resources")]
    pub(crate) threads: Option<u32>,

    /// Stop cleanly after this long, e.g. 90s, 15m or 2h; a bare number is seconds
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration,
          help_heading = "Resources")]
    pub(crate) time_limit: Option<Duration>,

    /// How the counterexample is printed: changes of each step, full states, or not at all
    #[arg(long, value_enum, default_value_t = TraceName::Diff, help_heading = "Output")]
    pub(crate) trace: TraceName,

    /// Write the run record; `-` is standard output (then nothing else goes there)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Progress on standard error: live on a terminal, plain lines elsewhere
    #[arg(long, value_enum, default_value_t = ProgressName::Auto, help_heading = "Output")]
    pub(crate) progress: ProgressName,

    /// Colours; NO_COLOR is honoured
    #[arg(long, value_enum, default_value_t = ColorName::Auto, help_heading = "Output")]
    pub(crate) color: ColorName,

    /// Print the verdict only, and no progress unless --progress asks for it
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Print more: firings of every rule, states of every layer
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
}

impl RunArgs {
    /// How progress is shown: not at all where only the verdict is wanted, unless someone says how.
    pub(crate) fn shown_progress(&self) -> ProgressName {
        match self.progress {
            ProgressName::Auto if self.quiet => ProgressName::None,
            progress => progress,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The folder that was given with `--disk`
    pub(crate) folder: PathBuf,

    /// Read and check every block that the run has on disk, and do nothing else
    #[arg(long, conflicts_with_all = ["json", "time_limit"])]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A run record written by `hadal check --json`; `-` reads standard input
    pub(crate) record: PathBuf,

    /// The model's file, where it is not where the record says
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// How the counterexample is printed
    #[arg(long, value_enum, default_value_t = TraceName::Diff)]
    pub(crate) trace: TraceName,

    /// Colours; NO_COLOR is honoured
    #[arg(long, value_enum, default_value_t = ColorName::Auto)]
    pub(crate) color: ColorName,
}

/// `NAME=VALUE`.
pub(crate) fn parse_constant(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE, for example N=4".to_owned()),
    }
}

/// The name of a value on the command line and in the record.
pub(crate) fn name_of(value: impl ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or(String::new(), |possible| possible.get_name().to_owned())
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
        pub(crate) enum $name {
            $($(#[$variant_doc])* #[value(name = $text)] #[serde(rename = $text)] $variant),*
        }
    };
}

names!(
    /// The languages of models.
    Language { Murphi = "murphi" });
names!(
/// The dialects of Murphi.
DialectName {
    /// The recommended meaning
    Hadal = "hadal",
    /// As CMurphi 5.4.9
    Cmurphi = "cmurphi",
    /// As rumur
    Rumur = "rumur",
});
names!(
/// What counts as a deadlock.
DeadlockName {
    /// No firing leads to another state
    Stuttering = "stuttering",
    /// No rule is enabled
    Stuck = "stuck",
    /// Nothing
    Off = "off",
});
names!(
/// Scalarset reduction.
SymmetryName {
    /// Exact canonical forms
    Full = "full",
    /// None
    Off = "off",
});
names!(
/// How states are remembered.
StoreName {
    /// Whole states
    Exact = "exact",
    /// Hashes of 40 bits
    Hash40 = "hash40",
    /// Hashes of 64 bits
    Hash64 = "hash64",
    /// Hashes of 96 bits
    Hash96 = "hash96",
    /// Hashes of 128 bits
    Hash128 = "hash128",
});
names!(
/// What makes the successors.
EngineName {
    /// Native code, compiled when the model is loaded
    Native = "native",
    /// The reference interpreter
    Interpreter = "interpreter",
});
names!(
/// How a counterexample is printed.
TraceName {
    /// What each step changed
    Diff = "diff",
    /// The whole state after each step
    Full = "full",
    /// Not at all
    None = "none",
});
names!(
/// How progress is shown.
ProgressName {
    /// Live on a terminal, plain lines elsewhere
    Auto = "auto",
    /// A line now and then
    Plain = "plain",
    /// Not at all
    None = "none",
});
names!(
/// When to use colours.
ColorName {
    /// On a terminal
    Auto = "auto",
    /// In any case
    Always = "always",
    /// Not at all
    Never = "never",
});

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn constants_need_a_name_and_a_value() {
        assert_eq!(
            parse_constant("N = 4"),
            Ok(("N".to_owned(), "4".to_owned()))
        );
        for bad in ["N", "=4", "N=", ""] {
            assert!(parse_constant(bad).is_err(), "{bad}");
        }
    }
}
