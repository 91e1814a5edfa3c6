//! The flags of `hadal lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hadal::{Directed, Engine, Symmetry};
use hadal_literature::lab::Choice;
use hadal_literature::{Layers, ParameterError, SnapshotSetup};
use hadal_report::{Format, units};
use hadal_search::{Deadlock, StoreKind};

use super::lists::{parse_fraction, split_list};
use crate::flags::{ProgressName, choice};
use crate::language::LanguageArgs;

#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) table: LabTable,
}

/// What is measured.
#[derive(Debug, Subcommand)]
pub(crate) enum LabTable {
    /// How far transitions lead, in levels of a breadth-first search; sizes of the layers
    Locality {
        #[command(flatten)]
        common: Common,
        /// Also draw layers and back-jumps into this file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// What searches cost with a fraction of the memory that they need
    Memory {
        #[command(flatten)]
        common: Common,
        /// Strategies, separated by commas, e.g. `cache,mono:open,layered:20`
        #[arg(long, value_name = "LIST", value_parser = parse_choices,
              default_value = "cache,mono,local,part,layered,auto")]
        strategies: List<Choice>,
        /// Fractions of the memory of a search that has everything in memory
        #[arg(long, value_name = "LIST", value_parser = parse_fractions,
              default_value = "1,0.5,0.1")]
        fractions: List<f64>,
        /// Also draw time against memory into this file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Where the time goes
    Profile {
        #[command(flatten)]
        common: Common,
        /// Strategies, separated by commas
        #[arg(long, value_name = "LIST", value_parser = parse_choices,
              default_value = "ram,mono:open,mono:chained,local:open,local:chained,part,auto")]
        strategies: List<Choice>,
        /// Fraction of the memory of a search that has everything in memory
        #[arg(long, value_name = "FRACTION", value_parser = parse_fraction, default_value = "0.05")]
        fraction: f64,
    },
    /// How many layers on disk `layered` should search
    Layers {
        #[command(flatten)]
        common: Common,
        /// Numbers of layers, or `auto`
        #[arg(long, value_name = "LIST", value_parser = parse_layer_list,
              default_value = "50,20,10,5,2,auto")]
        layers: List<Layers>,
        /// Fraction of the memory of a search that has everything in memory
        #[arg(long, value_name = "FRACTION", value_parser = parse_fraction, default_value = "0.1")]
        fraction: f64,
        /// Also draw the layers into this file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// What `snapshots` and `dfs-cache` hold, and what they repeat
    Caches {
        #[command(flatten)]
        common: Common,
        /// Another row of caches for `snapshots`, e.g. '(c2,llnr,5)(o2,lfu,10)'; may be repeated
        #[arg(long, value_name = "SPEC", value_parser = parse_setup)]
        caches: Vec<(String, SnapshotSetup)>,
        /// Leave out the smallest caches of depth-first search, which take many runs
        #[arg(long)]
        no_dfs: bool,
        /// Also draw the states held and visited again by each set-up into this file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// What searches that are directed by an estimate expand up to a violation, beside a
    /// breadth-first one
    Directed {
        #[command(flatten)]
        common: Common,
        /// Strategies that are directed by an estimate, separated by commas, e.g. `a-star:2`
        #[arg(long, value_name = "LIST", value_parser = parse_directed_choices,
              default_value = "a-star,best-first")]
        strategies: List<Choice>,
        /// What directs them, as for `hadal check`; may be repeated [default: each that is derived
        /// from the model, `hamming` with a target]
        #[arg(long, value_name = "NAME[,NAME...]", value_parser = parse_heuristic)]
        heuristic: Vec<String>,
        /// The state that `hamming` leads to, as for `hadal check`
        #[arg(long, value_name = "FILE")]
        target: Option<String>,
        /// Cut each run off when it has found more states
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
              default_value_t = 100_000_000, help_heading = "Resources")]
        state_limit: u64,
        /// Also draw what each search expands into this file
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
}

/// What all tables have in common.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Models; constants of one of them may be set as in `mcslock1.m:N=6`
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,

    /// Options of the language of all models
    #[command(flatten)]
    pub(crate) language_options: LanguageArgs,

    /// Scalarset reduction
    #[arg(long, value_parser = choice::<Symmetry>(), default_value = "full",
          help_heading = "Model")]
    pub(crate) symmetry: Symmetry,

    /// What counts as a deadlock [default: nothing, as in the papers; for `directed` as in `hadal
    /// check`]
    #[arg(long, value_parser = choice::<Deadlock>(), help_heading = "Model")]
    pub(crate) deadlock: Option<Deadlock>,

    /// What makes the successors
    #[arg(long, value_parser = choice::<Engine>(), default_value = "native",
          help_heading = "Model")]
    pub(crate) engine: Engine,

    /// End a run at its first violation, as the papers' runs did and those of `directed` always do;
    /// otherwise all states are visited
    #[arg(long, help_heading = "Search")]
    pub(crate) stop_at_error: bool,

    /// How states are remembered
    #[arg(long, value_name = "NAME", value_parser = choice::<StoreKind>(), default_value = "exact",
          help_heading = "Search")]
    pub(crate) store: StoreKind,

    /// For all that is random
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub(crate) seed: u64,

    /// Do every run N times, in turn, and report the fastest
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Search")]
    pub(crate) repeat: u32,

    /// Memory for the search that has everything in memory [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) memory: Option<u64>,

    /// Where queues and layers go [default: a fresh folder under TMPDIR, else /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub(crate) disk: Option<PathBuf>,

    /// Cut each run off after this long, e.g. 90s [default: never; for `directed` after 10 minutes]
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration,
          help_heading = "Resources")]
    pub(crate) time_limit: Option<Duration>,

    /// How tables are written
    #[arg(long, value_enum, default_value_t = FormatName::Table, help_heading = "Output")]
    pub(crate) format: FormatName,

    /// Progress on standard error: live on a terminal, plain lines elsewhere
    #[arg(long, value_enum, default_value_t = ProgressName::Auto, help_heading = "Output")]
    pub(crate) progress: ProgressName,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// Aligned columns
    Table,
    /// Markdown
    Markdown,
    /// Comma-separated values; lines that begin with `#` are remarks
    Csv,
    /// JSON, one object
    Json,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Table => Format::Table,
            FormatName::Markdown => Format::Markdown,
            FormatName::Csv => Format::Csv,
            FormatName::Json => Format::Json,
        }
    }
}

/// A list in one argument. A type of its own, since several values of one flag mean something else.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

fn parse_list<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<List<T>, String> {
    let parts: Result<Vec<T>, String> = split_list(text).into_iter().map(parse).collect();
    parts.map(List)
}

fn message(error: ParameterError) -> String {
    error.to_string()
}

fn parse_choices(text: &str) -> Result<List<Choice>, String> {
    parse_list(text, |text| Choice::parse(text).map_err(message))
}

fn parse_directed_choices(text: &str) -> Result<List<Choice>, String> {
    let choices = parse_choices(text)?;
    match choices.0.iter().find(|it| !it.strategy.needs_estimates()) {
        Some(choice) => Err(format!(
            "`{}` is not directed by an estimate; `a-star` and `best-first` are",
            choice.label
        )),
        None => Ok(choices),
    }
}

fn parse_heuristic(text: &str) -> Result<String, String> {
    match Directed::new(text, Deadlock::Off) {
        Ok(_) => Ok(text.trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn parse_fractions(text: &str) -> Result<List<f64>, String> {
    parse_list(text, parse_fraction)
}

fn parse_layer_list(text: &str) -> Result<List<Layers>, String> {
    parse_list(text, |text| Layers::parse(text).map_err(message))
}

fn parse_setup(text: &str) -> Result<(String, SnapshotSetup), String> {
    let setup = SnapshotSetup::parse(text).map_err(|error| error.to_string())?;
    Ok((text.trim().to_owned(), setup))
}
