//! A violation: its place in the text, and the run that shows it.

use std::fmt::Write;

use hadal::order;
use hadal::syntax::{Diagnostic, Span};
use hadal::trace::{headline, render_state};
use hadal::{Counterexample, Style, TraceDetail};
use hadal_model::FaultKind;
use hadal_report::units::counted;
use hadal_search::{Violation, ViolationKind};

use super::Summary;
use super::hints::shell_word;
use crate::strategy;

impl Summary<'_> {
    pub(super) fn violation(&self, out: &mut String, found: &Counterexample<'_>, style: Style) {
        let violation = found.violation;
        out.push('\n');
        let what = found.sentence();
        let is_rejection = violation.kind.is_order_dependence();
        let is_goal = violation.is_goal(self.shape());
        match self.excerpt(violation, &what, style) {
            // The headline has all of it, unless there is more than the goal.
            _ if is_goal && self.is_goal_reached() => {
                out.pop();
            }
            _ if is_goal => {
                let _ = writeln!(out, "{}: {what}", style.bad("reached"));
            }
            Some(text) => out.push_str(&text),
            None if is_rejection => {
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
        for waiting in found.blocked() {
            let _ = writeln!(out, "  blocked: {waiting}");
        }
        let Some(trace) = found.trace else {
            if violation.is_untraced() {
                self.no_trace(out);
            }
            return;
        };
        if self.args.trace == TraceDetail::None {
            return;
        }
        let n_steps = trace.n_steps().saturating_sub(1) as u64;
        let how = match self.args.trace {
            TraceDetail::Full => "the whole state after each step",
            TraceDetail::Chart => "a column for each process",
            _ => "what each step changes",
        };
        // Order dependence shows in two continuations of the same state.
        let does = match is_rejection || is_goal {
            true => "reaches",
            false => "shows",
        };
        let (the_start, a_start) = match found.has_one_start() {
            true => ("initial state", "the initial state"),
            false => ("startstate", "a startstate"),
        };
        let _ = match n_steps {
            0 => writeln!(out, "\nThe {the_start} that {does} it:\n"),
            _ if let Some(cost) = violation.cost => writeln!(
                out,
                "\n{} run that {does} it, {} of cost {cost} from {a_start}; {how}:\n",
                if self.is_cost_least() {
                    "A cheapest"
                } else {
                    "A"
                },
                counted(n_steps, "step")
            ),
            _ if strategy::is_trace_shortest(self.outcome()) => writeln!(
                out,
                "\nThe shortest run that {does} it, {} from {a_start}; {how}:\n",
                counted(n_steps, "step")
            ),
            _ => writeln!(
                out,
                "\nA run that {does} it, {} from {a_start}, which may not be the shortest; \
                 {how}:\n",
                counted(n_steps, "step")
            ),
        };
        out.push_str(&trace.render(self.args.trace, style));
        if let Some((firing, parameters)) = found.failing_step() {
            // The step that met the fault follows those that were taken.
            let number_len = trace.number_len();
            let head = headline(trace.kinds().1, &firing, parameters, style);
            let indent = " ".repeat(number_len + 6);
            let mark = style.bad(&format!("{:>number_len$}", "!"));
            let _ = writeln!(out, "  {mark}  {head}");
            // The whole sentence stands above.
            let message = match is_rejection {
                true => order::AT_STEP,
                false => &violation.message,
            };
            let _ = writeln!(out, "{indent}{}", style.bad(message));
        }
        if n_steps == 0 || !matches!(self.args.trace, TraceDetail::Diff | TraceDetail::Chart) {
            return;
        }
        let last = trace.last_state();
        if !last.is_empty() {
            let _ = writeln!(out, "\nThe state it ends in:\n");
            render_state(out, "  ", &last, style);
        }
    }

    /// Why there is no trace of a state that was found.
    fn no_trace(&self, out: &mut String) {
        let again = match self.checked.resumable() {
            Some(path) => format!("; hadal resume {} finds it again", shell_word(path)),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "\nThe run that leads to it is not shown: the check was to end, at its time limit or by \
             a signal, before the run was replayed{again}."
        );
    }

    /// The place of a violation in the model's text.
    fn excerpt(&self, violation: &Violation, what: &str, style: Style) -> Option<String> {
        let sources = &self.loaded.source.sources;
        let mut parts = violation.at.rsplitn(3, ':');
        let column: usize = parts.next()?.parse().ok()?;
        let line: u32 = parts.next()?.parse().ok()?;
        if line == 0 {
            return None;
        }
        let source = sources.file(sources.find(parts.next()?)?);
        let whole = source.line(line);
        let text = source.slice(whole);
        let offset = text
            .char_indices()
            .nth(column.saturating_sub(1))
            .map_or(text.len(), |(offset, _)| offset);
        let rest = text[offset..].split("--").next().unwrap_or("").trim_end();
        let marked_len = match violation.phase {
            Some(_) if violation.kind == ASSERTION => assertion_len(rest),
            Some(_) => token_len(rest),
            None => rest.len(),
        };
        let start = whole.start + offset as u32;
        let span = Span::new(start, start + marked_len as u32);
        let mut diagnostic = Diagnostic::error(what, span);
        let is_rejection = violation.kind.is_order_dependence();
        if is_rejection {
            diagnostic = diagnostic.help(order::HELP);
            let order = self.loaded.order.as_ref();
            let doubts = order.map_or(&[][..], |order| order.doubts(&violation.at));
            diagnostic.labels.extend_from_slice(doubts);
        }
        let text = style.renderer().render(sources, &diagnostic);
        let text = match violation.is_rejection(self.shape()) {
            true => text,
            // An error is in the text; this is in what the model does.
            false => text.replacen("error", "violation", 1),
        };
        Some(text.trim_end().to_owned() + "\n")
    }
}

const ASSERTION: ViolationKind = ViolationKind::Fault(FaultKind::Assertion);

/// Length of `assert(...)` at the beginning of a text; of its first token, if it is something else.
fn assertion_len(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("assert") else {
        return token_len(text);
    };
    if !rest.trim_start().starts_with('(') {
        return token_len(text);
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    // The rest is in the next line.
    text.len()
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
    // An index that continues in the next line is not shown.
    if depth > 0 {
        text.find('[').unwrap_or(end)
    } else {
        end
    }
}
