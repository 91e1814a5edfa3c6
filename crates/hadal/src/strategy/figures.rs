//! What a strategy did, in words and for the record: what its paper would report of it.

use hadal_search::{Layers, Outcome, Policy, Sampling, SnapshotSetup, Stats, Strategy, Value};
use serde_json::Map;

use crate::units::{bytes, count, counted, seconds};

/// Whether a counterexample is as short as any.
pub(crate) fn is_trace_shortest(outcome: &Outcome) -> bool {
    outcome.strategy_stats.count("shortest_trace") != Some(0)
}

/// Whether states were visited in the order of their depth, so that there is a depth to tell.
pub(crate) fn is_by_depth(strategy: Option<&Strategy>) -> bool {
    !matches!(
        strategy,
        Some(Strategy::Part { .. } | Strategy::DfsCache { .. })
    )
}

/// States that were taken in again after they had been forgotten.
pub(crate) fn revisits(outcome: &Outcome) -> Option<u64> {
    outcome.strategy_stats.count("revisits")
}

/// What is not the same in every run of a strategy: its parameters, by name.
pub(crate) fn parameters(strategy: &Strategy) -> Vec<(&'static str, String)> {
    let yes_or_no = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
    match strategy {
        Strategy::Ram | Strategy::Part { .. } => Vec::new(),
        Strategy::Cache { collision_stop } => {
            vec![("collision_stop", collision_stop.to_string())]
        }
        Strategy::Mono { table } | Strategy::Local { table, .. } => {
            vec![("table", table.name().to_owned())]
        }
        Strategy::Layered { layers, cache } => vec![
            (
                "layers",
                match layers {
                    Layers::Fixed(n) => n.to_string(),
                    Layers::Auto => "auto".to_owned(),
                },
            ),
            ("cache", yes_or_no(*cache)),
        ],
        Strategy::Snapshots {
            setup,
            backtracking,
            bounded,
        } => vec![
            ("setup", setup_text(setup)),
            ("backtracking", yes_or_no(*backtracking)),
            ("bounded", yes_or_no(*bounded)),
        ],
        Strategy::DfsCache { caches, .. } => {
            let cache = |policy: Policy, percent: u32| format!("({},{percent})", policy.name());
            let caches = caches.iter().map(|spec| cache(spec.policy, spec.percent));
            vec![("caches_used", caches.collect())]
        }
    }
}

/// A set-up as it is typed.
fn setup_text(setup: &SnapshotSetup) -> String {
    match setup {
        SnapshotSetup::FrontierSafetyNet => "frontier-safety-net".to_owned(),
        SnapshotSetup::Pebble => "pebble".to_owned(),
        SnapshotSetup::Caches(caches) => {
            let sampling = |sampling: Sampling| match sampling {
                Sampling::Constant(n) => format!("c{n}"),
                Sampling::Growing { first, step } if first == step => format!("o{first}"),
                Sampling::Growing { first, step } => format!("o{first}+{step}"),
            };
            let cache = caches.iter().map(|cache| {
                let policy = cache.policy.name();
                format!("({},{policy},{})", sampling(cache.sampling), cache.size)
            });
            cache.collect()
        }
    }
}

/// Everything that a strategy counted, for the record.
pub(crate) fn record(strategy: Option<&Strategy>, stats: &Stats) -> Map<String, serde_json::Value> {
    let mut map = Map::new();
    for (name, value) in strategy.map(parameters).unwrap_or_default() {
        map.insert(name.to_owned(), value.into());
    }
    for (name, value) in stats.iter() {
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

/// Lines of the summary: a label and what is to be said.
pub(crate) fn lines(strategy: &Strategy, outcome: &Outcome) -> Vec<(&'static str, String)> {
    let figures = Figures { outcome };
    let mut lines = vec![("strategy", headline(strategy))];
    if let Some(visited) = figures.visited() {
        lines.push(("visited", visited));
    }
    match strategy {
        Strategy::Ram => {
            let queue = counted(figures.count("queue_max"), "state");
            let g = figures.real("g");
            lines.push(("queue", format!("at most {queue}  (g = {g:.3} of all)")));
            let needed = bytes(figures.count("memory_needed"));
            lines.push(("needed", format!("{needed} for table and queue alone")));
        }
        Strategy::Cache { .. } => {
            let rate = percent(figures.real("collision_rate"));
            let slots = counted(figures.count("cache_slots"), "state");
            let text = format!("{rate} of the insertions, in a cache for {slots}");
            lines.push(("collisions", text));
            lines.push(figures.all_visited());
        }
        Strategy::Mono { .. } => lines.push(figures.time_split(&[
            ("successors", "seconds_generation"),
            ("insertion", "seconds_insertion"),
            ("duplicate detection", "seconds_detection"),
            ("I/O", "seconds_io"),
        ])),
        Strategy::Local { .. } => {
            lines.extend(figures.cloud());
            lines.push(figures.all_visited());
        }
        Strategy::Part { .. } => {
            lines.push(figures.time_split(&[
                ("successors", "seconds_generation"),
                ("insertion", "seconds_insertion"),
                ("queues", "seconds_queue"),
                ("partitioning", "seconds_partitioning"),
                ("I/O", "seconds_io"),
            ]));
            let parts = counted(figures.count("partitions"), "part");
            let loads = counted(figures.count("loads"), "time");
            let queues = bytes(figures.count("queue_bytes"));
            let text = format!("{parts}, brought into memory {loads}; queues of {queues} at most");
            lines.push(("parts", text));
        }
        Strategy::Layered { .. } => {
            let [ram, ddd] = ["duplicates_ram", "duplicates_ddd"].map(|name| figures.count(name));
            let missed = match figures.outcome.strategy_stats.count("duplicates_missed") {
                Some(missed) => format!("{} missed", count(missed)),
                None => "those missed not counted".to_owned(),
            };
            let (ram, ddd) = (count(ram), count(ddd));
            let text = format!("{ram} in memory, {ddd} on disk, {missed}");
            lines.push(("duplicates", text));
            let checked = counted(figures.count("layers_checked"), "layer");
            lines.push((
                "looked at",
                format!("{checked} on disk at the end of the last layer"),
            ));
            if let Some(time) = figures.seconds("seconds_trace") {
                lines.push(("trace", format!("found in {}", seconds(time))));
            }
        }
        Strategy::Snapshots { .. } => {
            let held = counted(figures.count("states_held"), "state");
            let hits = count(figures.count("snapshots_hit"));
            lines.push(("held", format!("at most {held}")));
            let snapshots = counted(figures.count("snapshots_held"), "snapshot");
            lines.push((
                "hits",
                format!("{hits} in snapshots, of which {snapshots} are left"),
            ));
        }
        Strategy::DfsCache { .. } => {
            let [cache, forgotten, stack] =
                ["cache_states", "forgotten", "stack_max"].map(|name| count(figures.count(name)));
            let text = format!("room for {cache} states, {forgotten} forgotten");
            lines.push(("caches", text));
            lines.push(("stack", format!("at most {stack} states")));
        }
    }
    lines
}

fn headline(strategy: &Strategy) -> String {
    let mut text = strategy.name().to_owned();
    for (name, value) in parameters(strategy) {
        text += &format!(", {} {value}", name.replace('_', " "));
    }
    match strategy.remark() {
        Some(remark) => format!("{text}  ({remark})"),
        None => text,
    }
}

/// The figures of a run.
struct Figures<'a> {
    outcome: &'a Outcome,
}

impl Figures<'_> {
    fn count(&self, name: &str) -> u64 {
        self.outcome.strategy_stats.count(name).unwrap_or(0)
    }

    fn real(&self, name: &str) -> f64 {
        match self.outcome.strategy_stats.get(name) {
            Some(Value::Ratio(x) | Value::Seconds(x)) => *x,
            _ => 0.0,
        }
    }

    fn seconds(&self, name: &str) -> Option<f64> {
        match self.outcome.strategy_stats.get(name) {
            Some(Value::Seconds(x)) => Some(*x),
            _ => None,
        }
    }

    /// Expansions, where they may be more than the states.
    fn visited(&self) -> Option<String> {
        let visited = counted(self.outcome.visited, "expansion");
        match revisits(self.outcome) {
            Some(0) => Some(format!("{visited}, no state twice")),
            Some(again) => {
                let admitted = self.count("admitted").max(1);
                let times = admitted as f64 / (admitted - again.min(admitted - 1)) as f64;
                let again = counted(again, "state");
                Some(format!(
                    "{visited}; {again} again, {times:.2} times all in all"
                ))
            }
            None if !self.outcome.states_exact => Some(format!(
                "{visited}; how many states came again was not counted"
            )),
            None => None,
        }
    }

    fn all_visited(&self) -> (&'static str, String) {
        let text = match self.count("all_visited") {
            0 => "not for certain",
            _ => "for certain",
        };
        ("everything", format!("visited {text}"))
    }

    /// How the part of the disk that is read developed.
    fn cloud(&self) -> Option<(&'static str, String)> {
        let Some(Value::Series(shares)) = self.outcome.strategy_stats.get("cloud_share") else {
            return None;
        };
        let text = match (shares.first(), shares.last()) {
            (Some(&first), Some(&last)) => {
                let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
                let most = shares.iter().copied().fold(0.0, f64::max);
                format!(
                    "{} of the signatures read after the first of {}, {} after the last \
                     ({} to {})",
                    percent(first),
                    counted(shares.len() as u64, "calibration"),
                    percent(last),
                    percent(least),
                    percent(most),
                )
            }
            _ => "never calibrated, for want of checks".to_owned(),
        };
        Some(("cloud", text))
    }

    /// Where the time went, in percent of what is told here.
    fn time_split(&self, parts: &[(&str, &str)]) -> (&'static str, String) {
        let all: f64 = parts.iter().map(|(_, name)| self.real(name)).sum();
        let share = |name: &str| percent(self.real(name) / all.max(1e-9));
        let texts = parts
            .iter()
            .map(|(what, name)| format!("{} {what}", share(name)));
        ("split", texts.collect::<Vec<_>>().join(", "))
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
