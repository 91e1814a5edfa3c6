//! The summary of a run: the verdict first, then what was checked, what it took, and what a
//! designer should look at.

use std::fmt::Write;
use std::path::Path;

use hadal_literature::Configurable;
use hadal_model::{FaultKind, GoalKind, Phase, PropertyKind, Remark, Shape};
use hadal_search::{Auto, Deadlock, Outcome, Reason, Strategy, Verdict, Violation, ViolationKind};
use hadal_syntax::{Diagnostic, Renderer, Span};

use crate::disk::NoScratch;
use crate::estimate::Shortage;
use crate::flags::{RunArgs, TraceName, name_of};
use crate::load::Loaded;
use crate::order::{self, Extent, OrderReport};
use crate::plan::Plan;
use crate::question::Question;
use crate::run::Shown;
use crate::strategy;
use crate::style::Style;
use crate::trace::{headline, quote, render_state};
use crate::units::{bytes, count, counted, rate, seconds};

/// Everything the summary is made of.
pub(crate) struct Summary<'a> {
    pub(crate) question: &'a Question,
    pub(crate) strategy: &'a dyn Configurable,
    pub(crate) args: &'a RunArgs,
    pub(crate) plan: &'a Plan,
    pub(crate) loaded: &'a Loaded,
    pub(crate) outcome: &'a Outcome,
    pub(crate) shown: &'a [Shown],
    /// Whether an earlier run began it.
    pub(crate) is_resumed: bool,
    /// The folder that a later run can go on with.
    pub(crate) resumable: Option<&'a Path>,
    /// What was short, if it was room on the disk.
    pub(crate) shortage: Option<Shortage>,
    /// Why there was no folder.
    pub(crate) no_scratch: Option<&'a NoScratch>,
    /// From the start of the process to the first state expanded.
    pub(crate) first_state_seconds: Option<f64>,
    pub(crate) total_seconds: f64,
    pub(crate) peak_bytes: u64,
}

impl Summary<'_> {
    pub(crate) fn render(&self, style: Style) -> String {
        let mut out = String::new();
        self.headline(&mut out, style);
        if self.args.quiet {
            return out;
        }
        for shown in self.shown {
            self.violation(&mut out, shown, style);
        }
        self.checked(&mut out);
        self.figures(&mut out, style);
        self.remarks(&mut out, style);
        if self.args.verbose {
            self.details(&mut out, style);
        }
        out
    }

    /// One line that says it all.
    fn headline(&self, out: &mut String, style: Style) {
        let name = self.loaded.source.name();
        let verdict = match self.outcome.verdict {
            Verdict::Verified => match self.outcome.omission {
                Some(_) => style.good("no violation found"),
                None => style.good("verified"),
            },
            Verdict::Violated => style.bad("violated"),
            Verdict::Rejected => style.bad("rejected"),
            Verdict::Incomplete => style.doubtful("incomplete"),
        };
        let rest = match self.outcome.verdict {
            Verdict::Verified => match self.outcome.omission {
                Some(omission) => format!(
                    "a given one was missed with a probability of at most {:.1e}",
                    omission.given_error
                ),
                None => "every reachable state was visited, and all is well".to_owned(),
            },
            Verdict::Violated => match self.violations() {
                [one] => described(&one.violation, self.loaded.model.shape()),
                many => format!("{} violations", many.len()),
            },
            Verdict::Rejected => {
                let last = self.shown.last().map(|last| &last.violation);
                let at = last.map_or("", |last| last.at.as_str());
                let when = last.map(after).unwrap_or_default();
                format!("{}{when}", order::headline(at))
            }
            Verdict::Incomplete => self.why_incomplete(),
        };
        let _ = writeln!(out, "{}: {verdict}: {rest}", style.bold(name));
    }

    /// Whether the strategy is the program's own.
    fn is_auto(&self) -> bool {
        self.strategy.name() == Auto.name()
    }

    /// What was found about the model's properties.
    fn violations(&self) -> &[Shown] {
        match self.shown {
            [before @ .., last] if last.violation.kind.is_order_dependence() => before,
            all => all,
        }
    }

    fn why_incomplete(&self) -> String {
        match self.outcome.reason {
            None if self.outcome.omission.is_some() => format!(
                "no violation found, but {} not reached, which a hash store cannot prove",
                self.uncovered()
            ),
            Some(Reason::Bound) => format!(
                "no violation up to depth {}, states beyond were not visited (--bound)",
                self.outcome.depth
            ),
            Some(Reason::Memory) => format!(
                "stopped at the memory budget of {}; nothing is proved",
                bytes(self.plan.data_bytes.unwrap_or(self.plan.budget_bytes))
            ),
            Some(Reason::Disk) => match self.args.disk_limit {
                Some(limit) => format!(
                    "stopped at the disk limit of {}; nothing is proved",
                    bytes(limit)
                ),
                None => "stopped because the disk is full; nothing is proved".to_owned(),
            },
            Some(Reason::Time) => "stopped at the time limit; nothing is proved".to_owned(),
            Some(Reason::Interrupted) => "interrupted; nothing is proved".to_owned(),
            Some(Reason::Liveness) if self.is_auto() => {
                "all states were visited and are safe, but liveness could not be decided".to_owned()
            }
            Some(Reason::Liveness) => format!(
                "all states were visited and are safe, but liveness was not decided: the \
                 strategy {} keeps no transitions",
                self.strategy.name()
            ),
            Some(Reason::Collisions) => {
                "stopped because nearly every state that the cache took in made it forget another; \
                 nothing is proved"
                    .to_owned()
            }
            Some(Reason::Revisits) => {
                "stopped because the search only visited states again that it had forgotten, with \
                 no end in sight; nothing is proved"
                    .to_owned()
            }
            _ => "stopped before the end; nothing is proved".to_owned(),
        }
    }

    /// The cover properties that no state or step reached, as the subject of a sentence.
    fn uncovered(&self) -> String {
        let shape = self.loaded.model.shape();
        let properties = shape.properties.iter().zip(&self.outcome.holds);
        let open = properties
            .filter(|(property, holds)| property.kind == PropertyKind::Cover && holds.is_none());
        let names: Vec<String> = open.map(|(property, _)| quote(&property.name)).collect();
        match &names[..] {
            [name] => format!("cover {name} was"),
            names => format!("covers {} were", names.join(", ")),
        }
    }

    fn violation(&self, out: &mut String, shown: &Shown, style: Style) {
        let violation = &shown.violation;
        out.push('\n');
        let what = described(violation, self.loaded.model.shape());
        let is_refusal = violation.kind.is_order_dependence();
        match self.excerpt(violation, &what, style) {
            Some(text) => out.push_str(&text),
            None if is_refusal => {
                let _ = writeln!(
                    out,
                    "{}: {what}\n  help: {}",
                    style.bad("error"),
                    order::HELP
                );
            }
            None => {
                let _ = writeln!(out, "{}: {what}", style.bad("violation"));
            }
        }
        let Some(trace) = &shown.trace else {
            return;
        };
        if self.args.trace == TraceName::None {
            return;
        }
        let n_steps = trace.steps.len().saturating_sub(1) as u64;
        let how = match self.args.trace {
            TraceName::Full => "the whole state after each step",
            _ => "what each step changes",
        };
        // What depends on an order is shown by several runs, that lead on from the same state.
        let does = match is_refusal {
            true => "reaches",
            false => "shows",
        };
        let _ = match n_steps {
            0 => writeln!(out, "\nThe startstate that {does} it:\n"),
            _ if strategy::is_trace_shortest(self.outcome) => writeln!(
                out,
                "\nThe shortest run that {does} it, {} from a startstate; {how}:\n",
                counted(n_steps, "step")
            ),
            _ => writeln!(
                out,
                "\nA run that {does} it, {} from a startstate, which may not be the shortest; \
                 {how}:\n",
                counted(n_steps, "step")
            ),
        };
        out.push_str(&trace.render(self.args.trace, style));
        if let (ViolationKind::Fault(_), Some(Phase::Guard | Phase::Body)) =
            (violation.kind, violation.phase)
        {
            // The step that cannot be finished follows those that could.
            let number_len = trace.number_len();
            let head = headline("rule", &violation.name, &violation.parameters, style);
            let indent = " ".repeat(number_len + 6);
            let mark = style.bad(&format!("{:>number_len$}", "!"));
            let _ = writeln!(out, "  {mark}  {head}");
            // The whole sentence stands above.
            let message = match is_refusal {
                true => order::AT_STEP,
                false => &violation.message,
            };
            let _ = writeln!(out, "{indent}{}", style.bad(message));
        }
        if n_steps > 0 && self.args.trace == TraceName::Diff && !trace.last_state().is_empty() {
            let _ = writeln!(out, "\nThe state it ends in:\n");
            render_state(out, "  ", trace.last_state(), style);
        }
    }

    /// The place of a violation in the model's text.
    fn excerpt(&self, violation: &Violation, what: &str, style: Style) -> Option<String> {
        let source = &self.loaded.source;
        let mut parts = violation.at.rsplitn(3, ':');
        let column: usize = parts.next()?.parse().ok()?;
        let line: u32 = parts.next()?.parse().ok()?;
        if line == 0 {
            return None;
        }
        let whole = source.line(line);
        let text = source.slice(whole);
        let offset = text
            .char_indices()
            .nth(column.saturating_sub(1))
            .map_or(text.len(), |(offset, _)| offset);
        let rest = text[offset..].split("--").next().unwrap_or("").trim_end();
        let marked_len = match violation.phase {
            Some(_) => token_len(rest),
            None => rest.len(),
        };
        let start = whole.start + offset as u32;
        let span = Span::new(start, start + marked_len as u32);
        let renderer = if style.is_enabled() {
            Renderer::coloured()
        } else {
            Renderer::plain()
        };
        let mut diagnostic = Diagnostic::error(what, span);
        let is_refusal = violation.kind.is_order_dependence();
        if is_refusal {
            diagnostic = diagnostic.help(order::HELP);
            let order = self.loaded.order.as_ref();
            let doubts = order.map_or(&[][..], |order| order.doubts(&violation.at));
            diagnostic.labels.extend_from_slice(doubts);
        }
        let text = renderer.render(source, &diagnostic);
        let text = match is_refusal {
            true => text,
            // An error is in the model's text; this is in what the model does.
            false => text.replacen("error", "violation", 1),
        };
        Some(text.trim_end().to_owned() + "\n")
    }

    /// What was looked at.
    fn checked(&self, out: &mut String) {
        if self.outcome.verdict == Verdict::Rejected {
            out.push('\n');
            return;
        }
        let shape = self.loaded.model.shape();
        let of_kind = |kind: PropertyKind| {
            let found = shape.properties.iter().filter(|p| p.kind == kind);
            found.count() as u64
        };
        let mut what = Vec::new();
        for (kind, noun) in [
            (PropertyKind::Invariant, "invariant"),
            (PropertyKind::Cover, "cover property"),
            (PropertyKind::Liveness, "liveness property"),
        ] {
            let n = of_kind(kind);
            if n > 0 {
                what.push(counted(n, noun).replace("propertys", "properties"));
            }
        }
        match self.plan.deadlock {
            Deadlock::Stuttering => what.push("deadlock".to_owned()),
            Deadlock::Stuck => what.push("deadlock (no rule enabled)".to_owned()),
            Deadlock::Off => {}
        }
        what.push("run-time errors".to_owned());
        let _ = writeln!(out, "\n  checked      {}", what.join(", "));
    }

    fn figures(&self, out: &mut String, style: Style) {
        let outcome = self.outcome;
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
                "  store        {}, seed {}  (some state was missed with probability {:.1e}, a \
                 given error with {:.1e} at most)",
                name_of(self.question.store),
                self.question.seed,
                omission.any,
                omission.given_error,
            );
        }
        let _ = writeln!(out, "  transitions  {}", count(outcome.transitions));
        if self.strategy.is_by_depth() {
            let _ = writeln!(out, "  depth        {}", outcome.depth);
        }
        for (label, text) in self.strategy.summary(outcome) {
            let _ = writeln!(out, "  {label:<11}  {text}");
        }
        // Of a run that went on it is not known here how many of them are from before.
        let speed = match self.is_resumed {
            true => "since it was resumed".to_owned(),
            false => {
                let speed = outcome.transitions as f64 / outcome.seconds.search.max(1e-9);
                format!("{} transitions/s", rate(speed).trim_end())
            }
        };
        let _ = writeln!(
            out,
            "  time         {}  ({speed}, {}, {})",
            seconds(self.total_seconds),
            counted(self.plan.threads as u64, "thread"),
            name_of(self.question.engine),
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
            bytes(self.peak_bytes),
            bytes(self.plan.budget_bytes),
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
                "the search was stopped ({}): there may be more violations, and counts are of what was \
                 visited by then",
                reason.name()
            );
            let _ = writeln!(out, "  {}", style.faint(&text));
        } else if self.violations().len() < self.shown.len() {
            let text = format!(
                "the search ended at the order dependence; nothing else is decided, and counts are \
                 of {counts}"
            );
            let _ = writeln!(out, "  {}", style.faint(&text));
        } else if outcome.verdict == Verdict::Violated && !outcome.complete {
            let which = if self.shown.len() == 1 {
                "the"
            } else {
                "the last"
            };
            let text = format!("the search ended at {which} violation; counts are of {counts}");
            let _ = writeln!(out, "  {}", style.faint(&text));
        }
    }

    /// In how much of the state space the order of iterations was checked.
    fn extent(&self) -> Extent {
        let outcome = self.outcome;
        // Where signatures leave a goal open there is no reason: the search came to its end.
        let is_whole = outcome.complete
            || match outcome.reason {
                Some(reason) => reason == Reason::Liveness,
                None => outcome.verdict == Verdict::Incomplete,
            };
        match (is_whole, outcome.omission) {
            _ if self.violations().len() < self.shown.len() => Extent::Dependent,
            (true, None) => Extent::Everything,
            (true, Some(_)) => Extent::Signatures,
            (false, _) => Extent::Part,
        }
    }

    /// What was on disk, and where duplicates were found, if anything was there.
    fn disk_figures(&self, out: &mut String) {
        if self.outcome.disk.written_bytes == 0 {
            return;
        }
        let per_state = match self.outcome.states {
            0..100_000 => String::new(),
            _ => format!("{:.1} bytes a state, ", self.disk_bytes_per_state()),
        };
        let _ = writeln!(
            out,
            "  disk         {}  ({per_state}{} written, {} read)",
            bytes(self.outcome.disk.peak_bytes),
            bytes(self.outcome.disk.written_bytes),
            bytes(self.outcome.disk.read_bytes),
        );
        if !self.is_auto() {
            return;
        }
        let found = &self.outcome.duplicates;
        let _ = writeln!(
            out,
            "  duplicates   {} found in memory, {} within a layer, {} on disk",
            count(found.memory),
            count(found.layer),
            count(found.disk),
        );
        let disk = &self.outcome.disk;
        if disk.late_layers > 0 || disk.times_gone_back > 0 {
            let _ = writeln!(
                out,
                "  old runs     left alone in {}, {} in vain",
                counted(disk.late_layers, "layer"),
                counted(disk.times_gone_back, "time"),
            );
        }
    }

    /// The most that was on disk at a time, for each state.
    pub(crate) fn disk_bytes_per_state(&self) -> f64 {
        match self.outcome.states {
            0 => 0.0,
            n => self.outcome.disk.peak_bytes as f64 / n as f64,
        }
    }

    fn remarks(&self, out: &mut String, style: Style) {
        let outcome = self.outcome;
        let shape = self.loaded.model.shape();
        if outcome.verdict == Verdict::Verified {
            let rules = shape.rules.iter().zip(&outcome.fired_by_rule);
            let never: Vec<_> = rules.filter(|(_, fired)| **fired == 0).collect();
            if !never.is_empty() {
                let head = style.doubtful("never fired");
                let _ = writeln!(out, "\n  {head}  rules that no reachable state enables:");
                for (rule, _) in never {
                    let _ = writeln!(out, "    {}  {}", quote(&rule.name), style.faint(&rule.at));
                }
            }
            if shape.properties.is_empty() && self.plan.deadlock == Deadlock::Off {
                let text = "the model states no property: only run-time errors were looked for";
                let _ = writeln!(out, "\n  {}", style.doubtful(text));
            }
        }
        for remark in &outcome.remarks {
            if let Remark::ExpensiveCanonicalForm { candidates } = remark {
                let _ = writeln!(
                    out,
                    "\n  {} some states are so symmetric that up to {} arrangements were tried for \
                     each; --symmetry off may be faster",
                    style.doubtful("note"),
                    count(*candidates)
                );
            }
        }
        self.hints(out);
    }

    /// What to do about a search that was stopped.
    fn hints(&self, out: &mut String) {
        let reason = self.outcome.reason;
        if let (false, Some(reason)) = (self.is_auto(), reason) {
            let hint = match (reason, self.no_scratch) {
                (Reason::Memory, Some(why)) if self.strategy.uses_disk() => {
                    Some(format!("{why}; {}", why.remedy()))
                }
                _ => self.strategy.hint(reason),
            };
            if let Some(hint) = hint {
                let _ = writeln!(out, "\n  hint: {hint}");
            }
            return;
        }
        if reason == Some(Reason::Memory) {
            let hint = match self.no_scratch {
                Some(why) => format!("{why}; {}", why.remedy()),
                None => "give it more with --memory, or shrink the model with --const".to_owned(),
            };
            let _ = writeln!(out, "\n  hint: {hint}");
        }
        self.shortage(out);
        if reason == Some(Reason::Disk) && self.resumable.is_none() {
            let hint = "name a folder with more room with --disk; a run there can be resumed";
            let _ = writeln!(out, "\n  hint: {hint}");
        }
        // A bound is part of the question, so another run would stop where this one did.
        if let (Some(path), Some(reason)) = (self.resumable, reason)
            && reason != Reason::Bound
        {
            let room = match reason {
                Reason::Disk if self.args.disk_limit.is_some() => ", with a larger --disk-limit",
                Reason::Disk => ", once there is more room",
                Reason::Memory => ", with more --memory",
                _ => "",
            };
            let folder = shell_word(&path.display().to_string());
            let _ = writeln!(
                out,
                "\n  go on{room}: hadal resume {folder}{}",
                self.saved()
            );
        }
    }

    /// From where a later run goes on, if not from where this one ended.
    fn saved(&self) -> String {
        match self.outcome.disk.saved_states {
            saved if saved >= self.outcome.states => String::new(),
            0 => "  (from the beginning)".to_owned(),
            saved => format!("  (from {})", counted(saved, "state")),
        }
    }

    /// What a search would have needed that found no more room.
    fn shortage(&self, out: &mut String) {
        let Some(shortage) = self.shortage else {
            return;
        };
        let whole = match shortage.run_bytes {
            Some((least, most)) => format!(
                "perhaps {} to {} in all for the whole run",
                bytes(least as u64),
                bytes(most as u64)
            ),
            None => "how much for the whole run is unknown yet, for layers still grow".to_owned(),
        };
        // A folder of its own is gone by now.
        let used = match self.outcome.disk.used_bytes {
            0 => self.outcome.disk.peak_bytes,
            used => used,
        };
        let what = match self.args.disk_limit {
            Some(limit) => format!("the limit of {} is reached", bytes(limit)),
            None => "disk is full".to_owned(),
        };
        let _ = writeln!(
            out,
            "\n  {what}: {} are used ({:.1} bytes a state); this layer needs at least {} more, {whole}",
            bytes(used),
            self.disk_bytes_per_state(),
            bytes(shortage.layer_bytes),
        );
    }

    fn details(&self, out: &mut String, style: Style) {
        let shape = self.loaded.model.shape();
        let outcome = self.outcome;
        let milliseconds = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
        let _ = writeln!(out, "\n{}", style.bold("Time before the search:"));
        let load = milliseconds(self.loaded.load_seconds);
        let _ = writeln!(out, "  {load:>15}  reading and checking the model");
        let compile = milliseconds(self.loaded.compile_seconds);
        let _ = writeln!(out, "  {compile:>15}  making it executable");
        if let Some(first) = self.first_state_seconds.map(milliseconds) {
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

/// A word as a shell reads it back.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// What `--no-search` says.
pub(crate) fn without_search(loaded: &Loaded, verbose: bool, style: Style) -> String {
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
    let describe = |order: &OrderReport| order.describe_ahead(verbose);
    if let Some(order) = loaded.order.as_ref().and_then(describe) {
        let _ = writeln!(out, "  order of elements: {order}");
    }
    out
}

/// What is wrong and when, in one line.
pub(crate) fn described(violation: &Violation, shape: &Shape) -> String {
    format!("{}{}", describe(violation, shape), after(violation))
}

/// What is wrong, in one line.
pub(crate) fn describe(violation: &Violation, shape: &Shape) -> String {
    let name = quote(&violation.name);
    let parameters = parameter_list(&violation.parameters);
    match violation.kind {
        ViolationKind::Invariant => format!("invariant {name}{parameters} is false"),
        ViolationKind::Deadlock => format!("deadlock: {}", violation.message),
        ViolationKind::Cover => format!("cover {name}{parameters} is never reached"),
        ViolationKind::Liveness => {
            format!(
                "liveness {name}{parameters}: a state is reached from which it cannot hold again"
            )
        }
        ViolationKind::Fault(kind) => {
            let message = match kind {
                FaultKind::Assertion => format!("assertion {} fails", quote(&violation.message)),
                FaultKind::Error => format!("error {}", quote(&violation.message)),
                // A sentence that ends in what happens in which order.
                FaultKind::OrderDependence => format!("{},", violation.message),
                _ => violation.message.clone(),
            };
            let place = match violation.phase {
                Some(Phase::Start) => format!("in startstate {name}{parameters}"),
                Some(Phase::Guard) => format!("in the guard of rule {name}{parameters}"),
                Some(Phase::Property) => {
                    let property = violation.property;
                    let property = property.and_then(|it| shape.properties.get(it as usize));
                    let kind = property.map_or("property", |property| property.kind.name());
                    format!("in {kind} {name}{parameters}")
                }
                Some(Phase::Body) | None => format!("in rule {name}{parameters}"),
            };
            format!("{message} {place}")
        }
    }
}

fn after(violation: &Violation) -> String {
    match violation.kind {
        ViolationKind::Cover => String::new(),
        _ if violation.phase == Some(Phase::Start) => String::new(),
        _ if violation.depth == 0 && violation.phase == Some(Phase::Property) => {
            ", in a startstate".to_owned()
        }
        ViolationKind::Fault(FaultKind::OrderDependence) if violation.depth == 0 => {
            ", in the first step".to_owned()
        }
        ViolationKind::Fault(_) if violation.depth == 0 => ", the first step".to_owned(),
        _ if violation.depth == 0 => ", in a startstate".to_owned(),
        _ => format!(", after {}", counted(violation.depth.into(), "step")),
    }
}

fn parameter_list(parameters: &[(String, String)]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let list: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!(" ({})", list.join(", "))
}

/// Length of the variable with its fields and indices, the keyword or the operator at the
/// beginning of a text.
fn token_len(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut depth = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' if at > 0 => depth += 1,
            ']' if depth > 0 => depth -= 1,
            '.' if at > 0 && !text[at..].starts_with("..") => {}
            _ if is_word(c) || depth > 0 => {}
            _ if at == 0 => return c.len_utf8(),
            _ => break,
        }
        end = at + c.len_utf8();
    }
    // An index that goes on in the next line is not shown.
    if depth > 0 {
        text.find('[').unwrap_or(end)
    } else {
        end
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_folder_s_name_can_be_pasted() {
        assert_eq!(shell_word("/var/tmp/run-1"), "/var/tmp/run-1");
        assert_eq!(shell_word("my run"), "'my run'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
