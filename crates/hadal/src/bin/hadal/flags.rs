//! Every flag, defined once: name, meaning, default. Help, man page and completions come from here.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use hadal::language::{self, languages};
use hadal::{
    Directed, Disk, Engine, LabelDetail, LoadLimits, ModelSource, Named, Resources, SearchOptions,
    Style, Symmetry, TextLimit, TraceDetail,
};
use hadal_literature::Configurable;
use hadal_report::units;
use hadal_search::{Deadlock, StoreKind};

use crate::language::LanguageArgs;
use crate::strategy::{GeneratorArgs, StrategyArgs};
use crate::{failure, signals};

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
  hadal replay run.json --shorten           look for a shorter one
  hadal check big.m --memory 300M --disk d  larger than memory, and safe from crashes
  hadal resume d                            resume it after a crash
  hadal generate bus.m -o bus.aut           write its state graph

Exit codes:
  0 verified   1 violation found   2 bad command line or model
  3 stopped before the end, nothing proved   4 damaged store or internal error";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify a model: the main job
    Check(Box<CheckArgs>),
    /// Write the state graph of a model, a labelled transition system, to a file
    Generate(Box<GenerateArgs>),
    /// Resume an interrupted check or generation, from the folder that was given with `--disk`
    Resume(Box<ResumeArgs>),
    /// Show the counterexample of a run record again, step by step, from its model
    Replay(Box<ReplayArgs>),
    /// Measure strategies, and compare them as the papers do
    Lab(Box<crate::lab::LabArgs>),
    /// Examine, convert, minimise and compare labelled transition systems
    Lts(Box<crate::lts::LtsArgs>),
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

/// Which model, and how it is read.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The model's file; `-` reads standard input
    pub(crate) model: PathBuf,

    /// The language of the model [default: by the file's extension; `.m` is Murphi]
    #[arg(long, value_parser = language(), help_heading = "Model")]
    pub(crate) language: Option<String>,

    /// Options of the model's language
    #[command(flatten)]
    pub(crate) language_options: LanguageArgs,

    /// Depth of recursion before it is a violation
    #[arg(long, value_name = "N", default_value_t = ModelSource::CALL_LIMIT, help_heading = "Model",
          value_parser = clap::value_parser!(u32).range(1..=ModelSource::CALL_LIMIT_MAX as i64))]
    pub(crate) call_limit: u32,

    /// Refuse a longer text, of a file or standard input; at most a quarter of `--memory`
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, default_value = "64M",
          help_heading = "Model")]
    pub(crate) text_limit: u64,
}

/// How states are remembered and made.
#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    /// How states are remembered: `exact` compares whole states, the others hashes of 40 to 128
    /// bits, so that states may be missed; the run reports the probability
    #[arg(long, value_parser = choice::<StoreKind>(), default_value = "exact",
          help_heading = "Search")]
    pub(crate) store: StoreKind,

    /// Chooses the hash function, and whatever else a strategy chooses at random: with another seed
    /// other states are missed, if any
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub(crate) seed: u64,

    /// What makes the successors
    #[arg(long, value_parser = choice::<Engine>(), default_value = "native",
          help_heading = "Search")]
    pub(crate) engine: Engine,
}

/// Where states go when memory is full.
#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    /// Where states go when memory is full; a run with `--strategy auto`, `a-star`,
    /// `best-first` or `dijkstra` can then be resumed, even after a crash [default: a fresh folder
    /// under TMPDIR, else /var/tmp, deleted at the end]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    pub(crate) disk: Option<PathBuf>,

    /// Use a DIR that lies in memory or is not empty
    #[arg(long, requires = "disk", help_heading = "Resources")]
    pub(crate) force: bool,
}

impl DiskArgs {
    /// The folder that was named.
    pub(crate) fn folder(&self) -> Option<Disk> {
        let path = self.disk.clone()?;
        let force = self.force;
        Some(Disk::Folder { path, force })
    }
}

/// Which states count as one.
#[derive(Debug, Args)]
pub(crate) struct SymmetryArgs {
    /// Scalarset reduction: visit one state of each class of interchangeable ones
    #[arg(long, value_parser = choice::<Symmetry>(), default_value = "full",
          help_heading = "Search")]
    pub(crate) symmetry: Symmetry,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Load and check the model only
    #[arg(long, conflicts_with = "json", help_heading = "Model")]
    pub(crate) no_search: bool,

    // Its help names the defaults of the languages.
    #[arg(long, value_parser = choice::<Deadlock>(), help = deadlock_help(),
          help_heading = "Search")]
    pub(crate) deadlock: Option<Deadlock>,

    #[command(flatten)]
    pub(crate) symmetry: SymmetryArgs,

    /// Do not expand states at depth N
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) bound: Option<u32>,

    /// Stop at the N-th violation, one per property and kind, in order of depth
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub(crate) max_errors: u32,

    #[command(flatten)]
    pub(crate) states: StateArgs,

    #[command(flatten)]
    pub(crate) disk: DiskArgs,

    /// How to search
    #[command(flatten)]
    pub(crate) strategy: StrategyArgs,

    #[command(flatten)]
    pub(crate) directed: DirectedArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What changes no result: resources and output. A resumed run may be given others.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Budget for everything the process holds, e.g. 300M or 2G; accurate to 16M [default: half
    /// of what is available]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) memory: Option<u64>,

    /// Budget for the data of the search alone, in place of what `--memory` leaves for it; for
    /// tests and measurements
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, hide = true)]
    pub(crate) data_memory: Option<u64>,

    /// How often a run with `--disk` is checkpointed; for tests
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration, hide = true)]
    pub(crate) commit_every: Option<Duration>,

    /// Never use more of the disk than this [default: what is free, less a reserve]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, help_heading = "Resources")]
    pub(crate) disk_limit: Option<u64>,

    /// Worker threads, for `--strategy auto`, `a-star`, `best-first` and `dijkstra` [default: all
    /// cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024),
          help_heading = "Resources")]
    pub(crate) threads: Option<u32>,

    /// Stop cleanly after this long, e.g. 90s, 15m or 2h; a bare number is seconds
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration,
          help_heading = "Resources")]
    pub(crate) time_limit: Option<Duration>,

    /// How the counterexample is printed: changes of each step, full states, or not at all
    #[arg(long, value_parser = choice::<TraceDetail>(), default_value = "diff",
          help_heading = "Output")]
    pub(crate) trace: TraceDetail,

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

/// What directs the search.
#[derive(Debug, Args)]
pub(crate) struct DirectedArgs {
    /// What leads the search of `a-star` and `best-first` to a violation: the largest of some
    /// estimates, `active`, `formula`, `control`, `blocked`, `hamming`, `expr:EXPR` or `sum(...)` of
    /// several (docs/guide/directed.md) [default: auto]
    #[arg(long, value_name = "auto|NAME[,NAME...]", help_heading = "Strategy")]
    pub(crate) heuristic: Option<String>,

    /// The state that the heuristic `hamming` leads to: lines NAME = VALUE as a trace prints them, or
    /// a run record, whose first violation's last state it is, or that of violation N with `FILE#N`
    #[arg(long, value_name = "FILE", help_heading = "Strategy")]
    pub(crate) target: Option<String>,
}

impl DirectedArgs {
    /// What directs a search by `strategy` for such deadlocks.
    pub(crate) fn directed(
        &self,
        strategy: &dyn Configurable,
        deadlock: Deadlock,
    ) -> anyhow::Result<Option<Directed>> {
        if !strategy.needs_estimates() {
            let given = [("heuristic", &self.heuristic), ("target", &self.target)];
            if let Some((flag, _)) = given.iter().find(|(_, value)| value.is_some()) {
                bail!(
                    "--{flag} is for --strategy a-star or best-first; it means nothing to `{}`",
                    strategy.name()
                );
            }
            return Ok(None);
        }
        let heuristic = self.heuristic.as_deref().unwrap_or("auto");
        let directed = Directed::new(heuristic, deadlock)?;
        if self.target.is_some() && !directed.needs_target() {
            bail!("--target is for the heuristic `hamming`; name it with --heuristic");
        }
        Ok(Some(directed))
    }
}

impl CheckArgs {
    /// What changes the result of the search of a model from `source`.
    pub(crate) fn search_options(&self, source: &ModelSource) -> SearchOptions {
        let default = || source.default_deadlock();
        SearchOptions {
            deadlock: self.deadlock.unwrap_or_else(default),
            bound: self.bound,
            max_errors: self.max_errors,
            store: self.states.store,
            seed: self.states.seed,
        }
    }
}

impl ModelArgs {
    /// How the model is loaded from its `source`.
    pub(crate) fn configure(
        &self,
        mut source: ModelSource,
        symmetry: &SymmetryArgs,
        states: &StateArgs,
    ) -> ModelSource {
        source.options = self.language_options.options.clone();
        source.symmetry = symmetry.symmetry;
        source.engine = states.engine;
        source.call_limit = self.call_limit;
        source
    }

    /// The model's text; `-` is standard input, in the default language unless another is named. It may
    /// have a part of the memory `budget`. A graph is read where it is, which a run that
    /// `is_resumable` cannot do with standard input.
    pub(crate) fn read(&self, budget: u64, is_resumable: bool) -> anyhow::Result<ModelSource> {
        let limit = TextLimit::new(self.text_limit, budget);
        if self.model.as_os_str() != "-" {
            let language = self.language.as_deref();
            return Ok(ModelSource::file_of(&self.model, language, limit)?);
        }
        let language = match &self.language {
            Some(name) => language::language(name)?,
            None => language::default_language(),
        };
        if language.is_graph() {
            if is_resumable {
                bail!(
                    "a graph on standard input cannot be read again, so a run on it cannot be \
                     resumed; name a file, or leave out --disk"
                );
            }
            return Ok(ModelSource::graph_on_stdin("<stdin>")?);
        }
        let stdin = io::stdin().lock();
        Ok(ModelSource::stream("<stdin>", stdin, language, limit)?)
    }
}

impl RunArgs {
    /// What the check may use.
    pub(crate) fn resources(&self) -> Resources {
        Resources {
            memory: self.memory,
            data_memory: self.data_memory,
            disk_limit: self.disk_limit,
            threads: self.threads.map(|threads| threads as usize),
            time_limit: self.time_limit,
            commit_every: self.commit_every,
            ..Resources::default()
        }
    }

    /// The limits on loading the model of a command that started at `since`.
    pub(crate) fn load_limits(&self, since: Instant) -> LoadLimits<'static> {
        LoadLimits {
            // A budget below the least one is refused with that figure, once the model is loaded.
            memory: Some(self.resources().budget().max(Resources::LEAST_BUDGET)),
            deadline: self.time_limit.and_then(|limit| since.checked_add(limit)),
            stop: Some(&signals::STOP),
            on_overrun: Some(&failure::exit_at_overrun),
        }
    }

    /// How progress is shown: with `--quiet` only if it is asked for.
    pub(crate) fn shown_progress(&self) -> ProgressName {
        match self.progress {
            ProgressName::Auto if self.quiet => ProgressName::None,
            progress => progress,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Where to write it: `.aut`, `.hlts` or `.dot`; compressed where `.zst` follows
    #[arg(short, long, value_name = "FILE", help_heading = "Graph")]
    pub(crate) output: PathBuf,

    /// What edges are called
    #[arg(long, value_parser = choice::<LabelDetail>(), default_value = "rule",
          help_heading = "Graph")]
    pub(crate) labels: LabelDetail,

    /// What is invisible, labels or rules with any parameters, separated by commas; such edges are
    /// called like the first of these
    #[arg(long, value_name = "LABEL[,LABEL...]", value_delimiter = ',',
          default_values = hadal_lts::Invisible::DEFAULT, help_heading = "Graph")]
    pub(crate) tau: Vec<String>,

    /// Write the packed states as well, to `.hlts`
    #[arg(long, help_heading = "Graph")]
    pub(crate) values: bool,

    #[command(flatten)]
    pub(crate) symmetry: SymmetryArgs,

    #[command(flatten)]
    pub(crate) states: StateArgs,

    #[command(flatten)]
    pub(crate) disk: DiskArgs,

    /// How to search
    #[command(flatten)]
    pub(crate) strategy: GeneratorArgs,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The folder that was given with `--disk`
    pub(crate) folder: PathBuf,

    /// The graph, where it is not where it was: a folder holds texts, but no graphs
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

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

    /// Refuse a longer record or model
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, default_value = "64M")]
    pub(crate) text_limit: u64,

    /// The model's file, where it is not where the record says
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// How the counterexample is printed
    #[arg(long, value_parser = choice::<TraceDetail>(), default_value = "diff")]
    pub(crate) trace: TraceDetail,

    /// Colours; NO_COLOR is honoured
    #[arg(long, value_enum, default_value_t = ColorName::Auto)]
    pub(crate) color: ColorName,

    #[command(flatten)]
    pub(crate) shortening: ShortenArgs,
}

/// How a cheaper run to the same violation is looked for.
#[derive(Debug, Args)]
pub(crate) struct ShortenArgs {
    /// Look for a cheaper run to the same violation, and show that
    #[arg(long)]
    pub(crate) shorten: bool,

    /// Stop looking after this long, loading included
    #[arg(long, value_name = "DURATION", value_parser = units::parse_duration,
          default_value = "60s", requires = "shorten", help_heading = "Shortening")]
    pub(crate) time_limit: Duration,

    /// Budget for everything the process holds [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, requires = "shorten",
          help_heading = "Shortening")]
    pub(crate) memory: Option<u64>,

    /// Never use more of the disk than this, for what memory cannot hold [default: what is free,
    /// less a reserve]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size, requires = "shorten",
          help_heading = "Shortening")]
    pub(crate) disk_limit: Option<u64>,

    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024),
          requires = "shorten", help_heading = "Shortening")]
    pub(crate) threads: Option<u32>,

    /// Write the record with the cheaper run in place of the one it had; `-` is standard output
    /// (then nothing else goes there)
    #[arg(
        long,
        value_name = "FILE",
        requires = "shorten",
        help_heading = "Shortening"
    )]
    pub(crate) json: Option<PathBuf>,

    /// Progress on standard error: live on a terminal, plain lines elsewhere
    #[arg(long, value_enum, default_value_t = ProgressName::Auto, requires = "shorten",
          help_heading = "Shortening")]
    pub(crate) progress: ProgressName,
}

impl ReplayArgs {
    /// The resources and output of the searches for a cheaper run.
    pub(crate) fn run_args(&self) -> RunArgs {
        let shortening = &self.shortening;
        RunArgs {
            memory: shortening.memory,
            data_memory: None,
            commit_every: None,
            disk_limit: shortening.disk_limit,
            threads: shortening.threads,
            time_limit: Some(shortening.time_limit),
            trace: self.trace,
            json: shortening.json.clone(),
            progress: shortening.progress,
            color: self.color,
            quiet: false,
            verbose: false,
        }
    }
}

/// A value that a flag names: its help, beside the name that the library gives it.
pub(crate) trait Choice: Named + Send + Sync {
    /// What it means, for help texts.
    fn help(self) -> &'static str;
}

/// Parses a value by its name, and lists all of them in help texts and completions.
pub(crate) fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let possible = |value: &T| PossibleValue::new(value.name()).help(value.help());
    let parser = PossibleValuesParser::new(T::ALL.iter().map(possible));
    parser.try_map(|name| T::from_name(&name).ok_or("no such value"))
}

/// Parses the name of a language of the table.
fn language() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(languages().iter().map(|language| language.name()))
}

/// What `--deadlock` means, and its default by language.
fn deadlock_help() -> String {
    let defaults = languages().iter().map(|language| {
        let default = language.default_deadlock().name();
        format!("{default} for {}", language.title())
    });
    let defaults = defaults.chain(["off with --goal".to_owned()]);
    let defaults = defaults.collect::<Vec<_>>().join(", ");
    format!(
        "What counts as a deadlock: no way to another state, no enabled rule, none where the \
         model may not end, or nothing \
         [default: {defaults}]"
    )
}

macro_rules! choices {
    ($name:ty { $($value:path => $help:literal),* $(,)? }) => {
        impl Choice for $name {
            fn help(self) -> &'static str {
                match self {
                    $($value => $help),*
                }
            }
        }
    };
}

choices!(Deadlock {
    Deadlock::Stuttering => "No firing leads to another state",
    Deadlock::Stuck => "No rule is enabled",
    Deadlock::EndStates => "No rule is enabled, and the model may not end there",
    Deadlock::Off => "Nothing",
});
choices!(Symmetry {
    Symmetry::Full => "Exact canonical forms",
    Symmetry::Off => "None",
});
choices!(StoreKind {
    StoreKind::Exact => "Whole states",
    StoreKind::Hash40 => "Hashes of 40 bits",
    StoreKind::Hash64 => "Hashes of 64 bits",
    StoreKind::Hash96 => "Hashes of 96 bits",
    StoreKind::Hash128 => "Hashes of 128 bits",
});
choices!(Engine {
    Engine::Native => "Native code, compiled when the model is loaded",
    Engine::Interpreter => "The reference interpreter",
});
choices!(LabelDetail {
    LabelDetail::Rule => "The rule",
    LabelDetail::Full => "The rule with its parameters, which takes longer",
    LabelDetail::None => "Nothing: all edges are invisible",
});
choices!(TraceDetail {
    TraceDetail::Diff => "What each step changed",
    TraceDetail::Full => "The whole state after each step",
    TraceDetail::Chart => "A column for each process, arrows for messages (Promela)",
    TraceDetail::None => "Nothing",
});

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressName {
    /// Live on a terminal, plain lines elsewhere
    Auto,
    /// A line now and then
    Plain,
    /// Nothing
    None,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorName {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorName {
    /// The style of a stream: the flag decides, else the stream and the environment.
    pub(crate) fn style(self, stream: &impl RawStream) -> Style {
        let is_coloured = match self {
            ColorName::Always => true,
            ColorName::Never => false,
            ColorName::Auto => AutoStream::choice(stream) != ColorChoice::Never,
        };
        match is_coloured {
            true => Style::coloured(),
            false => Style::plain(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
