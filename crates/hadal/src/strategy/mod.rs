//! The papers' strategies on the command line: how they are named and chosen ([`choice`]), which
//! flags belong to which ([`chosen`]), what they are given ([`means`]), and what is told of them
//! ([`figures`]).

mod choice;
pub(crate) mod figures;
mod means;

use anyhow::bail;
use hadal_search::{MonoTable, Strategy};

pub(crate) use choice::{Choice, parse_layers};
pub(crate) use means::means;

use crate::flags::{StrategyArgs, name_of};

/// The strategy that was typed, with its parameters; `None` is `auto`, which is no paper's.
pub(crate) fn chosen(args: &StrategyArgs) -> anyhow::Result<Option<Strategy>> {
    let name = name_of(args.name);
    let mut strategy = Strategy::from_name(&name);
    // What was typed, and whom it is for.
    let mut stray: Vec<(&str, &str)> = Vec::new();
    if let Some(wanted) = args.layers {
        match &mut strategy {
            Some(Strategy::Layered { layers, .. }) => *layers = wanted,
            _ => stray.push(("--layers", "layered")),
        }
    }
    if args.no_cache {
        match &mut strategy {
            Some(Strategy::Layered { cache, .. }) => *cache = false,
            _ => stray.push(("--no-cache", "layered")),
        }
    }
    if let Some(text) = &args.caches {
        match &mut strategy {
            Some(strategy @ (Strategy::Snapshots { .. } | Strategy::DfsCache { .. })) => {
                if let Err(what) = choice::set_caches(strategy, text) {
                    bail!("--caches: {what}");
                }
            }
            _ => stray.push(("--caches", "snapshots or dfs-cache")),
        }
    }
    if args.bounded {
        match &mut strategy {
            Some(Strategy::Snapshots { bounded, .. }) => *bounded = true,
            _ => stray.push(("--bounded", "snapshots")),
        }
    }
    if args.no_backtracking {
        match &mut strategy {
            Some(Strategy::Snapshots { backtracking, .. }) => *backtracking = false,
            _ => stray.push(("--no-backtracking", "snapshots")),
        }
    }
    if let Some(wanted) = args.table {
        match &mut strategy {
            Some(Strategy::Mono { table } | Strategy::Local { table, .. }) => {
                *table = MonoTable::from_name(&name_of(wanted)).unwrap_or_default();
            }
            _ => stray.push(("--table", "mono or local")),
        }
    }
    if let [(flag, whom), ..] = stray[..] {
        bail!("{flag} is for --strategy {whom}; it means nothing to `{name}`");
    }
    Ok(strategy)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::flags::{StrategyName, TableName};

    /// The command line has its own list, for it tells more about each.
    #[test]
    fn every_name_is_known_to_the_search() {
        let typed: Vec<String> = StrategyName::value_variants()
            .iter()
            .map(|&name| name_of(name))
            .collect();
        let papers = Strategy::all().map(|strategy| strategy.name());
        let known: Vec<&str> = ["auto"].into_iter().chain(papers).collect();
        assert_eq!(typed, known);
        for &table in TableName::value_variants() {
            assert!(MonoTable::from_name(&name_of(table)).is_some());
        }
    }
}
