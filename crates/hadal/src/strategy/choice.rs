//! Strategies as they are written in one word: a name, and after a colon what is not as in its
//! paper: `mono:open`, `layered:20`, `layered:no-cache`, `snapshots:pebble`.

use hadal_search::{Layers, MonoTable, SnapshotSetup, SpecError, StateCacheSpec, Strategy};

/// A strategy, and how it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) label: String,
    /// `None` is `auto`.
    pub(crate) strategy: Option<Strategy>,
}

impl Choice {
    pub(crate) fn new(label: impl Into<String>, strategy: Strategy) -> Self {
        Choice {
            label: label.into(),
            strategy: Some(strategy),
        }
    }

    /// The search that all others are compared with.
    pub(crate) fn ram() -> Self {
        Choice::new("ram", Strategy::Ram)
    }

    /// Reads one choice.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, variant) = match text.split_once(':') {
            Some((name, variant)) => (name, Some(variant)),
            None => (text, None),
        };
        if name == "auto" && variant.is_none() {
            return Ok(Choice {
                label: text.to_owned(),
                strategy: None,
            });
        }
        let Some(mut strategy) = Strategy::from_name(name) else {
            let names = Strategy::all().map(|strategy| strategy.name()).join(", ");
            return Err(format!(
                "there is no strategy `{name}`; there are auto, {names}"
            ));
        };
        if let Some(variant) = variant {
            vary(&mut strategy, variant)?;
        }
        Ok(Choice::new(text, strategy))
    }
}

fn vary(strategy: &mut Strategy, variant: &str) -> Result<(), String> {
    let name = strategy.name();
    match strategy {
        Strategy::Mono { table } | Strategy::Local { table, .. } => {
            let of_name = MonoTable::from_name(variant);
            *table = of_name.ok_or(format!("after `{name}:` comes `open` or `chained`"))?;
        }
        Strategy::Layered { cache, .. } if variant == "no-cache" => *cache = false,
        Strategy::Layered { layers, .. } => *layers = parse_layers(variant)?,
        Strategy::Snapshots { .. } | Strategy::DfsCache { .. } => set_caches(strategy, variant)?,
        Strategy::Ram | Strategy::Cache { .. } | Strategy::Part { .. } => {
            return Err(format!("the strategy `{name}` has no variants"));
        }
    }
    Ok(())
}

/// Gives a strategy that has caches these.
pub(crate) fn set_caches(strategy: &mut Strategy, text: &str) -> Result<(), String> {
    let said = |error: SpecError| error.to_string();
    match strategy {
        Strategy::Snapshots { setup, .. } => *setup = SnapshotSetup::parse(text).map_err(said)?,
        Strategy::DfsCache { caches, .. } => {
            *caches = StateCacheSpec::parse_all(text).map_err(said)?;
        }
        other => {
            return Err(format!(
                "the strategy `{}` has no caches to choose",
                other.name()
            ));
        }
    }
    Ok(())
}

/// A number of layers, or `auto`.
pub(crate) fn parse_layers(text: &str) -> Result<Layers, String> {
    match text.trim() {
        "auto" => Ok(Layers::Auto),
        number => match number.parse() {
            Ok(layers) => Ok(Layers::Fixed(layers)),
            Err(_) => Err(format!(
                "`{number}` is neither a number of layers nor `auto`"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_read() {
        let strategy = |text: &str| Choice::parse(text).expect(text).strategy;
        assert_eq!(strategy("auto"), None);
        let open = Strategy::Mono {
            table: MonoTable::Open,
        };
        assert_eq!(strategy("mono:open"), Some(open));
        let layered = |layers, cache| Some(Strategy::Layered { layers, cache });
        assert_eq!(strategy("layered:7"), layered(Layers::Fixed(7), true));
        assert_eq!(strategy("layered:auto"), layered(Layers::Auto, true));
        assert_eq!(
            strategy("layered:no-cache"),
            layered(Layers::Fixed(50), false)
        );
        assert!(strategy("snapshots:(c2,lru,3)").is_some());
        assert!(strategy("dfs-cache:(lru,100)").is_some());
        for bad in [
            "",
            "ramm",
            "ram:x",
            "mono:x",
            "layered:x",
            "snapshots:x",
            "auto:x",
        ] {
            assert!(Choice::parse(bad).is_err(), "{bad}");
        }
    }
}
