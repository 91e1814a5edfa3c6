//! What `--verbose` adds: times, rules, properties, layers.

use std::fmt::Write;

use hadal::Style;
use hadal::describe::parameter_list;
use hadal::trace::quote;
use hadal_model::{GoalKind, PropertyKind};
use hadal_report::units::count;

use super::Summary;

impl Summary<'_> {
    pub(super) fn details(&self, out: &mut String, style: Style) {
        let shape = self.shape();
        let outcome = self.outcome();
        let milliseconds = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
        let _ = writeln!(out, "\n{}", style.bold("Time before the search:"));
        let load = milliseconds(self.loaded.load_seconds);
        let _ = writeln!(out, "  {load:>15}  reading and checking the model");
        let compile = milliseconds(self.loaded.compile_seconds);
        let _ = writeln!(out, "  {compile:>15}  making it executable");
        if let Some(first) = self.checked.first_state_seconds.map(milliseconds) {
            let _ = writeln!(
                out,
                "  {first:>15}  from the start to the first state expanded"
            );
        }
        let checked = self.loaded.order.iter().flat_map(|order| &order.checked);
        for (number, checked) in checked.enumerate() {
            if number == 0 {
                let title = "States in which the order of iterations was checked:";
                let _ = writeln!(out, "\n{}", style.bold(title));
            }
            let n_states = count(checked.n_states());
            let _ = writeln!(out, "  {n_states:>15}  {}", checked.at);
        }
        let _ = writeln!(out, "\n{}", style.bold("Rules, by firings:"));
        for (rule, fired) in shape.rules.iter().zip(&outcome.fired_by_rule) {
            let _ = writeln!(out, "  {:>15}  {}", count(*fired), rule.name);
        }
        if !shape.properties.is_empty() {
            let _ = writeln!(out, "\n{}", style.bold("Properties:"));
        }
        for (property, holds) in shape.properties.iter().zip(&outcome.holds) {
            let holds = match holds {
                Some(true) if property.kind == PropertyKind::Goal => "not reachable",
                Some(false) if property.kind == PropertyKind::Goal => "reached",
                Some(true) => "holds",
                Some(false) => "violated",
                None => "not decided",
            };
            let kind = property.kind.name();
            let _ = writeln!(out, "  {holds:>15}  {kind} {}", quote(&property.name));
        }
        for (goal, reached) in shape.goals.iter().zip(&outcome.goals) {
            if goal.kind != GoalKind::Liveness {
                let name = &shape.properties[goal.property as usize].name;
                let parameters = parameter_list(&goal.parameters);
                let _ = writeln!(
                    out,
                    "  {:>15}  hits of {}{parameters}",
                    count(*reached),
                    quote(name)
                );
            }
        }
        if !outcome.layers.is_empty() {
            let _ = writeln!(out, "\n{}", style.bold("States, by depth:"));
        }
        for (depth, states) in outcome.layers.iter().enumerate() {
            let _ = writeln!(out, "  {depth:>7}  {}", count(*states));
        }
    }
}
