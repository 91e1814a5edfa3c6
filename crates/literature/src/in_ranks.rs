//! The strategies of the engine itself, for a command line.

use hadal_report::units::counted;
use hadal_search::{
    AStar, Auto, BestFirst, Dijkstra, DirectedFigures, Outcome, Ranked, Reason, Sink, Strategy,
    Weight,
};

use crate::configurable::{Budget, Configurable, Flag, Hint, Line, ParameterError};

impl Configurable for Auto {
    fn about(&self) -> &'static str {
        "In memory while it suffices, then on disk"
    }

    fn budget(&self) -> Budget {
        Budget::AllData
    }

    fn with_sink<'s>(&self, sink: &'s mut dyn Sink) -> Option<Box<dyn Strategy + 's>> {
        Some(Box::new(Ranked::by_depth().with_sink(sink)))
    }

    fn hint(&self, _: Reason) -> Option<Hint> {
        None
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(*self)
    }
}

impl Configurable for Dijkstra {
    fn about(&self) -> &'static str {
        "In the order of costs, so that a counterexample costs least; in memory while it suffices, \
         then on disk"
    }

    fn budget(&self) -> Budget {
        Budget::AllData
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        directed_lines(outcome)
    }

    fn hint(&self, _: Reason) -> Option<Hint> {
        None
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(*self)
    }
}

const WEIGHT: Flag = Flag {
    name: "weight",
    value_name: Some("W"),
    values: &[],
    help: "By how much an estimate counts more than a cost, from 1 to 1000: the larger, the faster \
           and the costlier what is found [default: 1]",
};

impl Configurable for AStar {
    fn about(&self) -> &'static str {
        "Toward a violation, in the order of costs and estimates (`--heuristic`); in memory while it \
         suffices, then on disk"
    }

    fn flags(&self) -> &'static [Flag] {
        &[WEIGHT]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        if parameter != WEIGHT.name {
            return Err(ParameterError::unknown(self.name(), parameter));
        }
        let weight = Weight::parse(value.trim()).ok_or_else(|| {
            ParameterError::Invalid(format!(
                "`{value}` is no weight: it is a number from 1 to {} with at most three decimals",
                Weight::MOST
            ))
        })?;
        *self = AStar::weighted(weight);
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        self.set(WEIGHT.name, variant)
    }

    fn budget(&self) -> Budget {
        Budget::AllData
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        directed_lines(outcome)
    }

    fn hint(&self, _: Reason) -> Option<Hint> {
        None
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(*self)
    }
}

impl Configurable for BestFirst {
    fn about(&self) -> &'static str {
        "Toward a violation, in the order of estimates alone (`--heuristic`), whatever it costs; in \
         memory while it suffices, then on disk"
    }

    fn budget(&self) -> Budget {
        Budget::AllData
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        directed_lines(outcome)
    }

    fn hint(&self, _: Reason) -> Option<Hint> {
        None
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(*self)
    }
}

/// What a search in the order of costs or estimates counted.
fn directed_lines(outcome: &Outcome) -> Vec<Line> {
    let Some(figures) = &outcome.directed else {
        return Vec::new();
    };
    let DirectedFigures {
        expanded,
        generated,
        reopened,
        inconsistent,
        heuristic,
        ..
    } = figures;
    let expanded = counted(*expanded, "state");
    let generated = counted(*generated, "successor");
    let mut lines = vec![("expanded", format!("{expanded}, with {generated}"))];
    if let Some(heuristic) = heuristic {
        let steps = counted(*inconsistent, "inconsistent step");
        let reopened = counted(*reopened, "state");
        lines.push((
            "heuristic",
            format!("{heuristic}; {steps}, {reopened} opened again"),
        ));
    }
    lines
}
