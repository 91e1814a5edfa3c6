//! Strategies on the command line. Names, flags and help texts come from the strategies themselves
//! ([`hadal_literature::all`]).

use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use hadal_literature::{Budget, Configurable, Flag};
use hadal_search::{Options, Outcome, ProcessLimit, Value};
use serde_json::Map;

use crate::memory;
use crate::plan::{MIN_DATA_BYTES, Plan};

/// The strategy that was typed, and the flags that are for some strategies only.
#[derive(Clone, Debug)]
pub(crate) struct StrategyArgs {
    pub(crate) name: String,
    /// Flags and their values; `yes` for those without one.
    flags: Vec<(&'static str, String)>,
}

const STRATEGY: &str = "strategy";

impl StrategyArgs {
    /// The strategy with its parameters.
    pub(crate) fn strategy(&self) -> anyhow::Result<Box<dyn Configurable>> {
        let mut strategy = from_name(&self.name)?;
        for (flag, value) in &self.flags {
            if !strategy.flags().iter().any(|known| known.name == *flag) {
                let names: Vec<&str> = owners(flag).into_iter().map(|(name, _)| name).collect();
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

/// The strategies that have a flag, and what it means to each.
fn owners(flag: &str) -> Vec<(&'static str, &'static Flag)> {
    let strategies = hadal_literature::all();
    let owners = strategies.iter().filter_map(|strategy| {
        let mut flags = strategy.flags().iter();
        let flag = flags.find(|known| known.name == flag)?;
        Some((strategy.name(), flag))
    });
    owners.collect()
}

/// All flags, each once.
fn flags() -> Vec<&'static Flag> {
    let mut flags: Vec<&'static Flag> = Vec::new();
    for flag in hadal_literature::all().iter().flat_map(|s| s.flags()) {
        if !flags.iter().any(|known| known.name == flag.name) {
            flags.push(flag);
        }
    }
    flags
}

/// What a flag means, by strategy; those to which it means the same are named together.
fn help(flag: &Flag) -> String {
    let mut meanings: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, flag) in owners(flag.name) {
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

impl clap::Args for StrategyArgs {
    fn augment_args(command: Command) -> Command {
        let values = hadal_literature::all()
            .into_iter()
            .map(|strategy| PossibleValue::new(strategy.name()).help(strategy.about()));
        let name = Arg::new(STRATEGY)
            .long(STRATEGY)
            .value_name("NAME")
            .value_parser(PossibleValuesParser::new(values))
            .default_value("auto")
            .help_heading("Strategy")
            .help(
                "How to search: `auto` is ours and the one to use; the others are published \
                 algorithms, each with its paper's parameters, on one thread (docs/strategies.md)",
            );
        flags()
            .into_iter()
            .fold(command.arg(name), |command, flag| {
                let arg = Arg::new(flag.name)
                    .long(flag.name)
                    .help_heading("Strategy")
                    .help(help(flag));
                command.arg(match flag.value_name {
                    None => arg.action(ArgAction::SetTrue),
                    Some(value) if flag.values.is_empty() => arg.value_name(value),
                    Some(value) => arg
                        .value_name(value)
                        .value_parser(PossibleValuesParser::new(flag.values)),
                })
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for StrategyArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let typed = flags().into_iter().filter_map(|flag| {
            let value = match flag.value_name {
                None => matches.get_flag(flag.name).then(|| "yes".to_owned()),
                Some(_) => text(flag.name),
            };
            Some((flag.name, value?))
        });
        Ok(StrategyArgs {
            name: text(STRATEGY).unwrap_or_default(),
            flags: typed.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The options for a strategy whose budget is not all of the process's memory: the process is
/// measured, since the share of its table and queue is an estimate.
pub(crate) fn fit_options(strategy: &dyn Configurable, plan: &Plan, options: Options) -> Options {
    let Budget::TableAndQueue { one_in } = strategy.budget() else {
        return options;
    };
    let held = memory::resident_bytes();
    let left = plan.budget_bytes.saturating_sub(held).max(MIN_DATA_BYTES);
    Options {
        memory_bytes: plan.data_bytes.unwrap_or(options.memory_bytes / one_in),
        process_limit: Some(ProcessLimit {
            // Counting and reporting take a little after the search has ended.
            most_bytes: held + left - (left / 16).min(RESERVE_BYTES),
            held_bytes: memory::resident_bytes,
        }),
        ..options
    }
}

const RESERVE_BYTES: u64 = 64 << 20;

/// Whether a counterexample is as short as any.
pub(crate) fn is_trace_shortest(outcome: &Outcome) -> bool {
    outcome.strategy_stats.count("shortest_trace") != Some(0)
}

/// Parameters and figures of a strategy, for the record.
pub(crate) fn record(
    strategy: &dyn Configurable,
    outcome: &Outcome,
) -> Map<String, serde_json::Value> {
    let mut map = Map::new();
    for (name, value) in strategy.parameters() {
        map.insert(name.to_owned(), value.into());
    }
    for (name, value) in outcome.strategy_stats.iter() {
        let value = match value {
            Value::Count(count) => (*count).into(),
            Value::Ratio(x) | Value::Seconds(x) => (*x).into(),
            Value::Text(text) => text.clone().into(),
            Value::Series(series) => series.clone().into(),
        };
        map.insert(name.to_owned(), value);
    }
    map
}
