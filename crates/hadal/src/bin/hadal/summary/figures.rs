//! What was checked, and the figures of the run.

use std::fmt::Write;

use hadal::order::Extent;
use hadal::{Named, Style};
use hadal_model::PropertyKind;
use hadal_report::units::{bytes, count, counted, rate, seconds};
use hadal_search::{Deadlock, Reason, Verdict};

use super::Summary;

impl Summary<'_> {
    /// What was checked.
    pub(super) fn checked(&self, out: &mut String) {
        if self.outcome().verdict == Verdict::Rejected {
            out.push('\n');
            return;
        }
        let shape = self.shape();
        let of_kind = |kind: PropertyKind| {
            let found = shape.properties.iter().filter(|p| p.kind == kind);
            found.count() as u64
        };
        let mut what = Vec::new();
        for (kind, noun) in [
            (PropertyKind::Goal, "goal"),
            (PropertyKind::Invariant, "invariant"),
            (PropertyKind::Cover, "cover property"),
            (PropertyKind::Liveness, "liveness property"),
        ] {
            let n = of_kind(kind);
            if n > 0 {
                what.push(counted(n, noun).replace("propertys", "properties"));
            }
        }
        match self.checked.search_options().deadlock {
            Deadlock::Stuttering => what.push("deadlock".to_owned()),
            Deadlock::Stuck if self.loaded.graph().is_some() => {
                what.push("deadlock (no edge)".to_owned());
            }
            Deadlock::Stuck => what.push("deadlock (no rule enabled)".to_owned()),
            Deadlock::EndStates => what.push("invalid end states".to_owned()),
            Deadlock::Off => {}
        }
        match self.loaded.graph() {
            None => what.push("run-time errors".to_owned()),
            Some(_) if what.is_empty() => what.push("nothing".to_owned()),
            Some(_) => {}
        }
        let products = self.checked.products.iter();
        what.extend(products.map(|product| product.name.clone()));
        let _ = writeln!(out, "\n  checked      {}", what.join(", "));
    }

    pub(super) fn figures(&self, out: &mut String, style: Style) {
        let outcome = self.outcome();
        let symmetry = match &self.loaded.symmetry {
            Some(symmetry) => format!("  (up to symmetry: {symmetry})"),
            None => String::new(),
        };
        let _ = writeln!(out, "  states       {}{symmetry}", count(outcome.states));
        let order = self.loaded.order.as_ref();
        if let Some(order) = order.and_then(|order| order.describe(self.extent())) {
            let _ = writeln!(out, "  order        {order}");
        }
        if let Some(omission) = outcome.omission {
            let _ = writeln!(
                out,
                "  store        {}, seed {}  (probability of missing a state {:.1e}, a given error \
                 at most {:.1e})",
                self.checked.search_options().store.name(),
                self.checked.search_options().seed,
                omission.any,
                omission.given_error,
            );
        }
        let _ = writeln!(out, "  transitions  {}", transitions(outcome.transitions));
        if self.strategy.is_by_depth() {
            let _ = writeln!(out, "  depth        {}", outcome.depth);
        }
        for product in &self.checked.products {
            let _ = writeln!(
                out,
                "  product      {} states, {} transitions  (with {})",
                count(product.states),
                transitions(product.transitions),
                product.name,
            );
        }
        for (label, text) in self.strategy.summary(outcome) {
            let _ = writeln!(out, "  {label:<11}  {text}");
        }
        let chosen = self.loaded.estimate.as_ref();
        if let Some(why) = chosen.and_then(|chosen| chosen.why.as_ref()) {
            let _ = writeln!(out, "  {:<11}  {why}", "chosen");
        }
        // A resumed run does not know how many of them are from before.
        let speed = match self.checked.is_resumed() {
            true => "since it was resumed, ".to_owned(),
            false if outcome.transitions == u64::MAX => String::new(),
            false => {
                let speed = outcome.transitions as f64 / outcome.seconds.search.max(1e-9);
                format!("{} transitions/s, ", rate(speed).trim_end())
            }
        };
        let _ = writeln!(
            out,
            "  time         {}  ({speed}{}, {})",
            seconds(self.checked.total_seconds),
            counted(self.checked.threads() as u64, "thread"),
            match self.loaded.graph() {
                Some(_) => "from the file",
                None => self.loaded.source.engine.name(),
            },
        );
        // A small run's buffers would be all there is to see.
        let per_state = match outcome.states {
            0..100_000 => String::new(),
            n => format!(
                "  ({:.1} bytes a state)",
                outcome.data_bytes as f64 / n as f64
            ),
        };
        let _ = writeln!(
            out,
            "  memory       {} of {}{per_state}",
            bytes(self.checked.peak_bytes),
            bytes(self.checked.budget_bytes()),
        );
        self.disk_figures(out);
        let counts = match self.strategy.is_by_depth() {
            true => "whole layers up to it",
            false => "what was visited by then",
        };
        if let (Verdict::Violated | Verdict::Rejected, Some(reason)) =
            (outcome.verdict, outcome.reason)
        {
            let text = format!(
                "the search was stopped ({}): there may be more violations, and counts are of what \
                 was visited by then",
                reason.name()
            );
            let _ = writeln!(out, "  {}", style.faint(&text));
        } else if self.is_order_dependent() {
            let text = format!(
                "the search ended at the order dependence; nothing else is decided, and counts are \
                 of {counts}"
            );
            let _ = writeln!(out, "  {}", style.faint(&text));
        } else if outcome.verdict == Verdict::Violated && !outcome.complete {
            let which = if self.outcome().violations.len() == 1 {
                "the"
            } else {
                "the last"
            };
            let n_wanted = self.checked.search_options().max_errors.max(1) as usize;
            let came_to_its_end = outcome.violations.len() < n_wanted;
            let is_whole = self.checked.products.iter().all(|it| it.is_exhausted);
            let text = match self.checked.products.is_empty() {
                _ if came_to_its_end && is_whole && self.leaves_claims_open() => {
                    "the search came to its end, but not every claim is decided".to_owned()
                }
                true if came_to_its_end => "the search came to its end, but what lies behind a \
                                            run-time error was not visited"
                    .to_owned(),
                true if self.is_goal_reached() => {
                    format!("the search ended at the goal; counts are of {counts}")
                }
                true => format!("the search ended at {which} violation; counts are of {counts}"),
                false => format!(
                    "the search of the product ended at {which} violation, and its counts are of \
                     {counts}; other counts are of the model without the claim"
                ),
            };
            let _ = writeln!(out, "  {}", style.faint(&text));
        }
    }

    fn leaves_claims_open(&self) -> bool {
        let mut properties = self.shape().properties.iter().zip(&self.outcome().holds);
        properties.any(|(property, holds)| property.kind == PropertyKind::Claim && holds.is_none())
    }

    /// In how much of the state space the order of iterations was checked.
    fn extent(&self) -> Extent {
        let outcome = self.outcome();
        // Where signatures leave a goal open there is no reason: the search ended.
        let is_whole = outcome.complete
            || match outcome.reason {
                Some(reason) => reason == Reason::Liveness,
                None => outcome.verdict == Verdict::Incomplete,
            };
        match (is_whole, outcome.omission) {
            _ if self.is_order_dependent() => Extent::Dependent,
            (true, None) => Extent::Everything,
            (true, Some(_)) => Extent::Signatures,
            (false, _) => Extent::Part,
        }
    }

    /// What was written to disk, and where duplicates were found, if anything was.
    fn disk_figures(&self, out: &mut String) {
        if self.outcome().disk.written_bytes == 0 {
            return;
        }
        let per_state = match self.outcome().states {
            0..100_000 => String::new(),
            _ => format!("{:.1} bytes a state, ", self.checked.disk_bytes_per_state()),
        };
        let _ = writeln!(
            out,
            "  disk         {}  ({per_state}{} written, {} read)",
            bytes(self.outcome().disk.peak_bytes),
            bytes(self.outcome().disk.written_bytes),
            bytes(self.outcome().disk.read_bytes),
        );
        if !self.is_auto() {
            return;
        }
        let found = &self.outcome().duplicates;
        let _ = writeln!(
            out,
            "  duplicates   {} found in memory, {} within a layer, {} on disk",
            count(found.memory),
            count(found.layer),
            count(found.disk),
        );
        let disk = &self.outcome().disk;
        if disk.deferred_ranks > 0 || disk.roll_backs > 0 {
            let _ = writeln!(
                out,
                "  old runs     deferred in {}, rolled back {}",
                counted(disk.deferred_ranks, "layer"),
                counted(disk.roll_backs, "time"),
            );
        }
    }
}

/// A number of transitions. Paths through one step are counted, too, up to the largest number there
/// is.
fn transitions(n: u64) -> String {
    match n {
        u64::MAX => format!("at least {}", count(n)),
        n => count(n),
    }
}
