//! The summary of a run: the verdict first, then what was checked, what it took, and what a
//! designer should look at.

mod details;
mod figures;
mod hints;
mod violation;

use std::fmt::Write;

use hadal::describe::after;
use hadal::order::{self, OrderReport};
use hadal::trace::quote;
use hadal::{Checked, Counterexample, LoadedModel, Style, system_limits};
use hadal_literature::Configurable;
use hadal_model::{PropertyKind, Remark, Shape};
use hadal_report::units::{bytes, count, counted};
use hadal_search::{Auto, Outcome, Reason, Strategy, Verdict};

use crate::estimate::Shortage;
use crate::flags::RunArgs;

/// Everything the summary is made of.
pub(crate) struct Summary<'a> {
    pub(crate) checked: &'a Checked<'a>,
    pub(crate) loaded: &'a LoadedModel,
    pub(crate) strategy: &'a dyn Configurable,
    pub(crate) args: &'a RunArgs,
    /// What the search would have needed, if the disk was full.
    pub(crate) shortage: Option<Shortage>,
}

impl Summary<'_> {
    pub(crate) fn render(&self, style: Style) -> String {
        let mut out = String::new();
        self.headline(&mut out, style);
        if self.args.quiet {
            return out;
        }
        for found in self.checked.violations() {
            self.violation(&mut out, &found, style);
        }
        self.checked(&mut out);
        self.figures(&mut out, style);
        self.remarks(&mut out, style);
        if self.args.verbose {
            self.details(&mut out, style);
        }
        out
    }

    /// The verdict in one line.
    fn headline(&self, out: &mut String, style: Style) {
        let name = self.checked.name();
        let verdict = match self.outcome().verdict {
            Verdict::Verified => match self.outcome().omission {
                Some(_) => style.good("no violation found"),
                None if self.goal().is_some() => style.good("not reachable"),
                None => style.good("verified"),
            },
            Verdict::Violated if self.is_goal_reached() => style.bad("reached"),
            Verdict::Violated => style.bad("violated"),
            Verdict::Rejected => style.bad("rejected"),
            Verdict::Incomplete => style.doubtful("incomplete"),
        };
        let rest = match self.outcome().verdict {
            Verdict::Verified => match self.outcome().omission {
                Some(omission) => format!(
                    "probability of missing a given error at most {:.1e}",
                    omission.given_error
                ),
                None => match self.goal() {
                    Some(goal) => format!(
                        "every reachable state was visited, and the goal {} holds in none",
                        quote(goal)
                    ),
                    None => "every reachable state was visited, and all is well".to_owned(),
                },
            },
            Verdict::Violated => match &self.violations()[..] {
                [one] => one.sentence(),
                many => format!("{} violations", many.len()),
            },
            Verdict::Rejected if !self.is_order_dependent() => {
                let first = self.violations();
                let why = first.first().map_or_else(String::new, |it| it.sentence());
                format!("the goal cannot be evaluated: {why}")
            }
            Verdict::Rejected => {
                let last = self.outcome().violations.last();
                let at = last.map_or("", |last| last.at.as_str());
                let when = last.map(after).unwrap_or_default();
                format!("{}{when}", order::headline(at))
            }
            Verdict::Incomplete => self.why_incomplete(),
        };
        let mark = match (self.outcome().verdict, self.outcome().omission) {
            (Verdict::Verified, Some(_)) => ';',
            _ => ':',
        };
        let _ = writeln!(out, "{}: {verdict}{mark} {rest}", style.bold(name));
    }

    /// Whether runs to violations are known to cost least.
    fn is_cost_least(&self) -> bool {
        let directed = self.outcome().directed.as_ref();
        directed.is_some_and(|figures| figures.is_least)
    }

    /// Whether the strategy is the program's own.
    fn is_auto(&self) -> bool {
        self.strategy.name() == Auto.name()
    }

    /// What was found about the model's properties: all but an order dependence, which comes last.
    fn violations(&self) -> Vec<Counterexample<'_>> {
        let mut found = self.checked.violations();
        if found
            .last()
            .is_some_and(|last| last.violation.kind.is_order_dependence())
        {
            found.pop();
        }
        found
    }

    /// The name of the goal, if one is looked for.
    fn goal(&self) -> Option<&str> {
        let mut properties = self.shape().properties.iter();
        let goal = properties.find(|property| property.kind == PropertyKind::Goal);
        goal.map(|goal| goal.name.as_str())
    }

    /// Whether the goal is all that was found.
    fn is_goal_reached(&self) -> bool {
        let mut found = self.outcome().violations.iter();
        found.all(|violation| violation.is_goal(self.shape()))
    }

    /// Whether the search ended at an order dependence.
    fn is_order_dependent(&self) -> bool {
        let last = self.outcome().violations.last();
        last.is_some_and(|last| last.kind.is_order_dependence())
    }

    fn outcome(&self) -> &Outcome {
        &self.checked.outcome
    }

    fn shape(&self) -> &Shape {
        self.loaded.model.shape()
    }

    /// Why a search that visited all states has not decided liveness.
    fn why_liveness_is_open(&self) -> &'static str {
        if self.outcome().disk.refused_bytes > 0 {
            return match self.args.disk_limit {
                Some(_) => "the disk limit is reached",
                None => "the disk is full",
            };
        }
        match self.checked.no_scratch() {
            Some(_) => "memory does not suffice, and there is no disk",
            None => "the run was stopped before",
        }
    }

    fn why_incomplete(&self) -> String {
        match self.outcome().reason {
            None if self.outcome().omission.is_some() => format!(
                "no violation found, but {} not reached, which a hash store cannot prove",
                self.uncovered()
            ),
            Some(Reason::Bound) => format!(
                "no violation up to depth {}, states beyond were not visited (--bound)",
                self.outcome().depth
            ),
            Some(Reason::Memory) => self.out_of_memory(),
            Some(Reason::Disk) => match self.args.disk_limit {
                Some(limit) => format!(
                    "stopped at the disk limit of {}; nothing is proved",
                    bytes(limit)
                ),
                None => match self.file_limit() {
                    Some(limit) => format!(
                        "stopped because a file has reached the system's limit of {} (ulimit -f); \
                         nothing is proved",
                        bytes(limit)
                    ),
                    None => "stopped because the disk is full; nothing is proved".to_owned(),
                },
            },
            Some(Reason::Time) => "stopped at the time limit; nothing is proved".to_owned(),
            Some(Reason::Interrupted) => "interrupted; nothing is proved".to_owned(),
            Some(Reason::Liveness) if self.is_auto() => format!(
                "all states were visited and are safe, but liveness was not decided: {}",
                self.why_liveness_is_open()
            ),
            Some(Reason::Liveness) => format!(
                "all states were visited and are safe, but liveness was not decided: the \
                 strategy {} keeps no transitions",
                self.strategy.name()
            ),
            Some(Reason::Collisions) => {
                "stopped because nearly every insertion into the cache evicted another state; \
                 nothing is proved"
                    .to_owned()
            }
            Some(Reason::Revisits) => {
                "stopped because the search only revisited states that it had forgotten, with no \
                 end in sight; nothing is proved"
                    .to_owned()
            }
            Some(Reason::Unchecked) => format!(
                "all states were visited and are safe, but {}; --claim none leaves that out",
                self.open_claims()
            ),
            _ => "stopped before the end; nothing is proved".to_owned(),
        }
    }

    /// What the memory did not suffice for.
    fn out_of_memory(&self) -> String {
        for remark in &self.outcome().remarks {
            if let Remark::LargeStep {
                at,
                n_states,
                bytes: needed,
            } = remark
            {
                let at = if at.is_empty() { "at the start" } else { at };
                let why = match needed {
                    0 => "no step is followed further".to_owned(),
                    _ => format!("there is no memory for them, {} or more", bytes(*needed)),
                };
                return format!(
                    "stopped at a step ({at}) that passes through more than {} states: {why}; \
                     nothing is proved",
                    count(*n_states),
                );
            }
        }
        let data_memory = self.checked.resources().data_memory;
        let budget = data_memory.unwrap_or(self.checked.budget_bytes());
        format!(
            "stopped at the memory budget of {}; nothing is proved",
            bytes(budget)
        )
    }

    /// The system's limit on the size of a file, if that is why there was no more room on disk.
    fn file_limit(&self) -> Option<u64> {
        match self.checked.disk_refusal() {
            Some(_) => None,
            None => system_limits::file_bytes(),
        }
    }

    /// The claims that are not decided, as a sentence.
    fn open_claims(&self) -> String {
        let holds = &self.outcome().holds;
        let claims = self.loaded.claims.iter();
        let open = claims.filter(|claim| holds[claim.property].is_none());
        let sentences: Vec<String> = open
            .map(|claim| {
                let name = &claim.name;
                match (&claim.open, claim.is_searchable()) {
                    (Some(why), true) => format!("{name} was checked in part ({why})"),
                    (Some(why), false) => format!("{name} was not checked ({why})"),
                    (None, _) => format!("{name} was not checked"),
                }
            })
            .collect();
        sentences.join(", ")
    }

    /// The cover properties that no state or step reached, as the subject of a sentence.
    fn uncovered(&self) -> String {
        let shape = self.shape();
        let properties = shape.properties.iter().zip(&self.outcome().holds);
        let open = properties
            .filter(|(property, holds)| property.kind == PropertyKind::Cover && holds.is_none());
        let names: Vec<String> = open.map(|(property, _)| quote(&property.name)).collect();
        match &names[..] {
            [name] => format!("cover {name} was"),
            names => format!("covers {} were", names.join(", ")),
        }
    }
}

/// The parts of a model that are interpreted because they are too large for native code.
pub(crate) fn interpreted(loaded: &LoadedModel) -> Option<String> {
    const SHOWN: usize = 5;
    let all = &loaded.interpreted;
    let shown = all[..all.len().min(SHOWN)].join(", ");
    match all.len() {
        0 => None,
        n if n > SHOWN => Some(format!("{shown} and {} more", n - SHOWN)),
        _ => Some(shown),
    }
}

/// The summary of `--no-search`.
pub(crate) fn without_search(loaded: &LoadedModel, verbose: bool, style: Style) -> String {
    let shape = loaded.model.shape();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: the model is well-formed; it was not searched",
        style.bold(loaded.source.name())
    );
    let _ = writeln!(
        out,
        "\n  {} of state, {}, {}",
        counted(shape.state_bits as u64, "bit"),
        counted(shape.rules.len() as u64, "rule"),
        counted(shape.properties.len() as u64, "property").replace("propertys", "properties"),
    );
    if let Some(symmetry) = &loaded.symmetry {
        let _ = writeln!(out, "  symmetric in {symmetry}");
    }
    if let Some(which) = interpreted(loaded) {
        let _ = writeln!(out, "  interpreted, too large for native code: {which}");
    }
    let describe = |order: &OrderReport| order.describe_ahead(verbose);
    if let Some(order) = loaded.order.as_ref().and_then(describe) {
        let _ = writeln!(out, "  order of elements: {order}");
    }
    out
}

#[cfg(test)]
mod order_tests;
