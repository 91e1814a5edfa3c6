//! What a strategy counted, as lines of the summary.

use hadal_report::units::counted;
use hadal_search::{Outcome, Stats, Strategy, Value};

use crate::configurable::Line;

/// A remark that several strategies share.
pub(crate) const MAY_STOP: &str =
    "may visit states again, and may have to stop before it has visited all";
/// Another one.
pub(crate) const MAY_REVISIT: &str = "may visit states again";

/// The figures of a run.
pub(crate) struct Figures<'a> {
    strategy: &'a dyn Strategy,
    outcome: &'a Outcome,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(strategy: &'a dyn Strategy, outcome: &'a Outcome) -> Self {
        Figures { strategy, outcome }
    }

    /// All lines: the strategy with its parameters, expansions, and `own`.
    pub(crate) fn lines(&self, own: Vec<Line>) -> Vec<Line> {
        let mut lines = vec![("strategy", self.headline())];
        lines.extend(self.visited().map(|text| ("visited", text)));
        lines.extend(own);
        lines
    }

    fn headline(&self) -> String {
        let mut text = self.strategy.name().to_owned();
        for (name, value) in self.strategy.parameters() {
            text += &format!(", {} {value}", name.replace('_', " "));
        }
        match self.strategy.remark() {
            Some(remark) => format!("{text}  ({remark})"),
            None => text,
        }
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.outcome.strategy_stats.count(name).unwrap_or(0)
    }

    pub(crate) fn real(&self, name: &str) -> f64 {
        match self.outcome.strategy_stats.get(name) {
            Some(Value::Ratio(x) | Value::Seconds(x)) => *x,
            _ => 0.0,
        }
    }

    pub(crate) fn seconds(&self, name: &str) -> Option<f64> {
        match self.outcome.strategy_stats.get(name) {
            Some(Value::Seconds(x)) => Some(*x),
            _ => None,
        }
    }

    pub(crate) fn series(&self, name: &str) -> Option<&'a [f64]> {
        match self.outcome.strategy_stats.get(name) {
            Some(Value::Series(series)) => Some(series),
            _ => None,
        }
    }

    /// Expansions, where they may be more than the states.
    fn visited(&self) -> Option<String> {
        let visited = counted(self.outcome.visited, "expansion");
        match self.outcome.strategy_stats.count("revisits") {
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

    /// Whether all states were visited, where that is not always known.
    pub(crate) fn all_visited(&self) -> Line {
        let text = match self.count("all_visited") {
            0 => "not for certain",
            _ => "for certain",
        };
        ("everything", format!("visited {text}"))
    }

    /// Where the time went, in percent of these parts.
    pub(crate) fn time_split(&self, parts: &[(&str, &str)]) -> Line {
        let all: f64 = parts.iter().map(|(_, name)| self.real(name)).sum();
        let share = |name: &str| percent(self.real(name) / all.max(1e-9));
        let texts = parts
            .iter()
            .map(|(what, name)| format!("{} {what}", share(name)));
        ("split", texts.collect::<Vec<_>>().join(", "))
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// States that a search has admitted, for its figures.
pub(crate) struct Visits {
    /// States admitted, repeats included.
    pub(crate) admitted: u64,
    /// Distinct states among them, where that is known.
    pub(crate) distinct: Option<u64>,
    /// Whether all states were certainly visited.
    pub(crate) all_visited: bool,
    /// Most states in the queue.
    pub(crate) max_queue: u64,
    pub(crate) state_len: usize,
}

/// How many of the admitted states were repeats, where that was counted.
pub(crate) fn push_revisits(visits: &Visits, stats: &mut Stats) {
    stats.push("admitted", Value::Count(visits.admitted));
    if let Some(distinct) = visits.distinct {
        stats.push("distinct", Value::Count(distinct));
        stats.push("revisits", Value::Count(visits.admitted - distinct));
    }
}
