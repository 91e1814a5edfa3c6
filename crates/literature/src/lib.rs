//! The strategies of the literature, side by side over one kernel and one way of counting, and the
//! laboratory that measures them.
//!
//! Each strategy is a value that implements [`Strategy`](hadal_search::Strategy) and
//! [`Configurable`], in a file of its own. It owns what it remembers and the order in which it
//! expands states; successors, verdicts, counts, queues, files and traces are shared. All of them use one
//! thread, and `Options::memory_bytes` is what their table and queue may take: the papers' M(p).
//! Buffers of the disk layer, and what exists only for traces and counts, come on top.
//!
//! A strategy visits every reachable state or reports that it did not. Those that forget states may
//! visit them again: then `Outcome::visited` counts every expansion, `Outcome::states_exact` is
//! false, and `Outcome::states` is what a count afterwards found, where there was one (`distinct`
//! among the figures of the strategy). None of them keeps edges, so none decides liveness.
//! `Outcome::strategy_stats` has what only one strategy counts; `shortest_trace` is there for all
//! of them, and 0 where a trace need not be the shortest.
//!
//! A new strategy is one file, and one line in [`papers`].

mod breadth_first;
mod cache;
mod cache_spec;
mod configurable;
mod delayed;
mod dfs_cache;
mod distinct;
mod evaluator;
mod explorer;
mod figures;
mod graph_log;
mod in_ranks;
mod io_figures;
pub mod lab;
mod layered;
mod local;
mod locality;
mod mono;
mod parent_index;
mod part;
mod queue;
mod ram;
mod record_dir;
mod records;
mod signature;
mod snapshots;
mod tables;

pub use cache::Cache;
pub use cache_spec::{CacheSpec, Policy, Sampling, SnapshotSetup, SpecError, StateCacheSpec};
pub use configurable::{Budget, Configurable, Flag, Hint, Line, ParameterError};
pub use delayed::TableKind;
pub use dfs_cache::DfsCache;
pub use layered::{Layered, Layers};
pub use local::Local;
pub use locality::{Jump, Locality, Share, locality};
pub use mono::Mono;
pub use part::Part;
pub use ram::Ram;
pub use snapshots::Snapshots;

use hadal_search::{AStar, Auto, BestFirst, Dijkstra, Sink};

/// The strategies of the papers, with their papers' parameters.
pub fn papers() -> Vec<Box<dyn Configurable>> {
    vec![
        Box::new(Ram::default()),
        Box::new(Cache::default()),
        Box::new(Mono::default()),
        Box::new(Local::default()),
        Box::new(Part::default()),
        Box::new(Layered::default()),
        Box::new(Snapshots::default()),
        Box::new(DfsCache::default()),
    ]
}

/// Every strategy: ours, then the papers'.
pub fn all() -> Vec<Box<dyn Configurable>> {
    let mut all: Vec<Box<dyn Configurable>> = vec![
        Box::new(Auto),
        Box::new(Dijkstra),
        Box::<AStar>::default(),
        Box::new(BestFirst),
    ];
    all.extend(papers());
    all
}

/// The strategies that make graphs: those [with a sink](Configurable::with_sink).
pub fn generators() -> Vec<Box<dyn Configurable>> {
    struct Nobody;
    impl Sink for Nobody {}
    let mut all = all();
    all.retain(|strategy| strategy.with_sink(&mut Nobody).is_some());
    all
}

/// A strategy as it is written in one word: a name and, after a colon, what is not as in its paper,
/// as in `mono:open`, `layered:20` or `snapshots:pebble`.
pub fn parse(text: &str) -> Result<Box<dyn Configurable>, ParameterError> {
    let (name, variant) = match text.trim().split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (text.trim(), None),
    };
    let mut strategy = from_name(name).ok_or_else(|| {
        let names: Vec<&str> = all().iter().map(|strategy| strategy.name()).collect();
        let names = names.join(", ");
        ParameterError::Invalid(format!("there is no strategy `{name}`; there are {names}"))
    })?;
    if let Some(variant) = variant {
        strategy.set_variant(variant)?;
    }
    Ok(strategy)
}

/// The strategy of this name.
pub fn from_name(name: &str) -> Option<Box<dyn Configurable>> {
    all().into_iter().find(|strategy| strategy.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_parsed() {
        let shown = |text: &str| format!("{:?}", parse(text).expect(text));
        let of = |strategy: &dyn Configurable| format!("{strategy:?}");
        assert_eq!(shown("auto"), of(&Auto));
        let table = TableKind::Open;
        assert_eq!(shown("mono:open"), of(&Mono { table }));
        let layered = |layers, cache| {
            of(&Layered {
                layers,
                cache,
                ..Layered::default()
            })
        };
        assert_eq!(shown("layered:7"), layered(Layers::Fixed(7), true));
        assert_eq!(shown("layered:auto"), layered(Layers::Auto, true));
        assert_eq!(shown("layered:no-cache"), layered(Layers::Fixed(50), false));
        assert!(parse("snapshots:(c2,lru,3)").is_ok());
        assert!(parse("dfs-cache:(lru,100)").is_ok());
        for bad in [
            "",
            "ramm",
            "ram:x",
            "mono:x",
            "layered:x",
            "snapshots:x",
            "auto:x",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn some_strategies_make_graphs() {
        let names: Vec<&str> = generators().iter().map(|it| it.name()).collect();
        assert_eq!(names, ["auto", "snapshots"]);
    }

    /// A flag sets a parameter that its strategy has, and shows among the parameters.
    #[test]
    fn every_flag_sets_a_parameter() {
        for strategy in all() {
            for flag in strategy.flags() {
                let value = match (flag.value_name, flag.values.first()) {
                    (None, _) => "yes",
                    (Some(_), Some(value)) => value,
                    (Some(_), None) if flag.name == "layers" => "7",
                    (Some(_), None) => continue,
                };
                let mut changed = strategy.clone();
                let set = changed.set(flag.name, value);
                assert_eq!(set, Ok(()), "{}: {}", strategy.name(), flag.name);
            }
            let unknown = strategy.clone().set("nothing", "yes");
            assert!(matches!(unknown, Err(ParameterError::Unknown { .. })));
        }
    }
}
