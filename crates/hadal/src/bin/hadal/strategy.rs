//! Strategies on the command line: the registry. Names, flags and help texts come from the
//! strategies themselves ([`hadal_literature::all`]).

use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use hadal_literature::{Configurable, Flag, Hint};
use hadal_search::{Outcome, Reason};

/// The strategy that was typed, and the flags that are for some strategies only.
#[derive(Clone, Debug)]
pub(crate) struct StrategyArgs {
    pub(crate) name: String,
    /// Flags and their values; `yes` for those without one.
    flags: Vec<(&'static str, String)>,
    /// Those that could be typed.
    among: Strategies,
}

const STRATEGY: &str = "strategy";

impl StrategyArgs {
    /// The strategy with its parameters.
    pub(crate) fn strategy(&self) -> anyhow::Result<Box<dyn Configurable>> {
        let mut strategy = from_name(&self.name)?;
        for (flag, value) in &self.flags {
            if !strategy.flags().iter().any(|known| known.name == *flag) {
                let owners = owners(flag, self.among);
                let names: Vec<&str> = owners.into_iter().map(|(name, _)| name).collect();
                bail!(
                    "--{flag} is for --strategy {}; it means nothing to `{}`",
                    names.join(" or "),
                    self.name
                );
            }
            if let Err(error) = strategy.set(flag, value) {
                bail!("--{flag}: {error}");
            }
        }
        Ok(strategy)
    }
}

/// The strategy of this name.
pub(crate) fn from_name(name: &str) -> anyhow::Result<Box<dyn Configurable>> {
    match hadal_literature::from_name(name) {
        Some(strategy) => Ok(strategy),
        None => bail!("there is no strategy `{name}`"),
    }
}

/// A list of strategies.
type Strategies = fn() -> Vec<Box<dyn Configurable>>;

/// The strategies among those listed that have a flag, and what it means to each.
fn owners(flag: &str, strategies: Strategies) -> Vec<(&'static str, &'static Flag)> {
    let strategies = strategies();
    let owners = strategies.iter().filter_map(|strategy| {
        let mut flags = strategy.flags().iter();
        let flag = flags.find(|known| known.name == flag)?;
        Some((strategy.name(), flag))
    });
    owners.collect()
}

/// All flags of the strategies listed, each once.
fn flags(strategies: Strategies) -> Vec<&'static Flag> {
    let mut flags: Vec<&'static Flag> = Vec::new();
    for flag in strategies().iter().flat_map(|s| s.flags()) {
        if !flags.iter().any(|known| known.name == flag.name) {
            flags.push(flag);
        }
    }
    flags
}

/// What a flag means, by strategy; strategies to which it means the same are named together.
fn meaning(flag: &Flag, strategies: Strategies) -> String {
    let mut meanings: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, flag) in owners(flag.name, strategies) {
        let name = format!("`{name}`");
        match meanings.iter_mut().find(|(help, _)| *help == flag.help) {
            Some((_, names)) => names.push(name),
            None => meanings.push((flag.help, vec![name])),
        }
    }
    let meanings = meanings
        .iter()
        .map(|(help, names)| format!("For {}: {help}", names.join(" and ")));
    meanings.collect::<Vec<_>>().join(". ")
}

/// `command` with the flags of these strategies.
fn with_flags(command: Command, strategies: Strategies, help: &'static str) -> Command {
    let values = strategies()
        .into_iter()
        .map(|strategy| PossibleValue::new(strategy.name()).help(strategy.about()));
    let name = Arg::new(STRATEGY)
        .long(STRATEGY)
        .value_name("NAME")
        .value_parser(PossibleValuesParser::new(values))
        .default_value("auto")
        .help_heading("Strategy")
        .help(help);
    flags(strategies)
        .into_iter()
        .fold(command.arg(name), |command, flag| {
            let arg = Arg::new(flag.name)
                .long(flag.name)
                .help_heading("Strategy")
                .help(meaning(flag, strategies));
            command.arg(match flag.value_name {
                None => arg.action(ArgAction::SetTrue),
                Some(value) if flag.values.is_empty() => arg.value_name(value),
                Some(value) => arg
                    .value_name(value)
                    .value_parser(PossibleValuesParser::new(flag.values)),
            })
        })
}

/// What was typed of the flags of these strategies.
fn typed(matches: &ArgMatches, strategies: Strategies) -> StrategyArgs {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let typed = flags(strategies).into_iter().filter_map(|flag| {
        let value = match flag.value_name {
            None => matches.get_flag(flag.name).then(|| "yes".to_owned()),
            Some(_) => text(flag.name),
        };
        Some((flag.name, value?))
    });
    StrategyArgs {
        name: text(STRATEGY).unwrap_or_default(),
        flags: typed.collect(),
        among: strategies,
    }
}

impl clap::Args for StrategyArgs {
    fn augment_args(command: Command) -> Command {
        with_flags(
            command,
            hadal_literature::all,
            "How to search: `auto` is the one to use, `dijkstra` for a counterexample of least cost; \
             the others are published algorithms, each with its paper's parameters, on one thread \
             (docs/reference/strategies.md)",
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for StrategyArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(typed(matches, hadal_literature::all))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The same for strategies that make graphs.
#[derive(Clone, Debug)]
pub(crate) struct GeneratorArgs(pub(crate) StrategyArgs);

impl clap::Args for GeneratorArgs {
    fn augment_args(command: Command) -> Command {
        with_flags(
            command,
            hadal_literature::generators,
            "How to search: `auto` numbers each state once; `snapshots` forgets states, and those \
             that come again have a further number, in a larger graph that is bisimilar",
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for GeneratorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(GeneratorArgs(typed(matches, hadal_literature::generators)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What to do after a search that stopped early.
pub(crate) fn hint(strategy: &dyn Configurable, reason: Reason) -> Option<String> {
    let leave_out = format!("leave out --strategy {}", strategy.name());
    Some(match strategy.hint(reason)? {
        Hint::DiskOrMoreMemory => {
            format!("{leave_out} to continue on disk, or give it more with --memory")
        }
        Hint::MoreMemoryOrAuto => {
            format!("give it more with --memory, or {leave_out} to visit every state")
        }
        Hint::MoreDisk => "name a folder with more room with --disk".to_owned(),
        Hint::MoreLayers => format!(
            "look at more layers with --layers, or at as many as it takes with --layers auto, \
             or {leave_out}"
        ),
        Hint::Unbounded => "leave out --bounded, so that it ends".to_owned(),
        _ => leave_out,
    })
}

/// Whether a counterexample is the shortest.
pub(crate) fn is_trace_shortest(outcome: &Outcome) -> bool {
    outcome.strategy_stats.count("shortest_trace") != Some(0)
}
