//! The flags of `hadal lts`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hadal_lts::{Equivalence, Invisible};
use hadal_report::units;

use crate::flags::ProgressName;

#[derive(Debug, Args)]
pub(crate) struct LtsArgs {
    #[command(subcommand)]
    pub(crate) command: LtsCommand,
}

/// What is done with graphs.
#[derive(Debug, Subcommand)]
pub(crate) enum LtsCommand {
    /// Print what a graph consists of: states, edges, labels, deadlocks, depth, cycles
    Info {
        /// The graph: a file in `.aut` or `.hlts`, perhaps with `.zst` behind it
        file: PathBuf,
        #[command(flatten)]
        tau: TauArgs,
        /// List all labels, not only the most frequent ones
        #[arg(short, long, help_heading = "Output")]
        verbose: bool,
        #[command(flatten)]
        resources: LtsResources,
    },
    /// Write a graph in another format
    Convert {
        /// The graph: a file in `.aut` or `.hlts`, perhaps with `.zst` behind it
        file: PathBuf,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        resources: LtsResources,
    },
    /// Write the smallest graph that is equivalent
    Minimise {
        /// The graph: a file in `.aut` or `.hlts`, perhaps with `.zst` behind it
        file: PathBuf,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        equivalence: EquivalenceArgs,
        #[command(flatten)]
        tau: TauArgs,
        #[command(flatten)]
        resources: LtsResources,
    },
    /// Decide whether two graphs are equivalent (exit 0) or not (exit 1), and show what distinguishes
    /// them
    Compare {
        /// A graph
        first: PathBuf,
        /// Another graph
        second: PathBuf,
        #[command(flatten)]
        equivalence: EquivalenceArgs,
        #[command(flatten)]
        tau: TauArgs,
        #[command(flatten)]
        resources: LtsResources,
    },
}

impl LtsCommand {
    /// What the work may use.
    pub(crate) fn resources(&self) -> &LtsResources {
        match self {
            LtsCommand::Info { resources, .. }
            | LtsCommand::Convert { resources, .. }
            | LtsCommand::Minimise { resources, .. }
            | LtsCommand::Compare { resources, .. } => resources,
        }
    }
}

/// Where a graph is written.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Where to write it: `.aut`, `.hlts` or `.dot`; compressed where `.zst` follows
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: PathBuf,
}

/// When graphs count as the same.
#[derive(Debug, Args)]
pub(crate) struct EquivalenceArgs {
    /// When states count as the same
    #[arg(long, value_enum, value_name = "NAME", default_value_t = EquivalenceName::Strong)]
    pub(crate) equivalence: EquivalenceName,
}

/// When states count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EquivalenceName {
    /// Strong bisimulation: all steps count
    Strong,
    /// Branching bisimulation: invisible steps that decide nothing are not seen
    Branching,
}

impl EquivalenceName {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            EquivalenceName::Strong => "strong",
            EquivalenceName::Branching => "branching",
        }
    }
}

impl From<EquivalenceName> for Equivalence {
    fn from(name: EquivalenceName) -> Self {
        match name {
            EquivalenceName::Strong => Equivalence::Strong,
            EquivalenceName::Branching => Equivalence::Branching,
        }
    }
}

/// Which labels are invisible.
#[derive(Debug, Args)]
pub(crate) struct TauArgs {
    /// Labels of invisible steps, separated by commas; empty for none
    #[arg(long, value_name = "LABEL[,LABEL...]", value_delimiter = ',',
          default_values = Invisible::DEFAULT)]
    pub(crate) tau: Vec<String>,
}

impl TauArgs {
    /// The labels.
    pub(crate) fn labels(&self) -> Vec<String> {
        let named = self.tau.iter().filter(|label| !label.is_empty());
        named.cloned().collect()
    }
}

/// What the work may use.
#[derive(Debug, Args)]
pub(crate) struct LtsResources {
    /// Budget for everything the process holds, e.g. 300M or 2G [default: half of what is
    /// available]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) memory: Option<u64>,

    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024),
          help_heading = "Resources")]
    pub(crate) threads: Option<u32>,

    /// Progress on standard error: live on a terminal, plain lines elsewhere
    #[arg(long, value_enum, default_value_t = ProgressName::Auto, help_heading = "Output")]
    pub(crate) progress: ProgressName,
}
