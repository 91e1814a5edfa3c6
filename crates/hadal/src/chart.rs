//! Counterexamples as message sequence charts in text: a column for each process, time from top to
//! bottom, arrows for messages.
//!
//! What fires is named `process(pid) line n: statement`, so process and statement are read from the
//! name. A rendezvous is an arrow from the sender's column to the receiver's, with the values of the
//! message; a message into a channel
//! or out of it is a short arrow beside the statement.

use crate::Style;
use crate::trace::{NamedStep, NamedTrace};

/// Statements longer than this are cut.
const MAX_TEXT: usize = 36;
/// Least space between two columns.
const GAP: usize = 3;
/// What an arrow takes beyond that.
const SHAFT: usize = 2;

/// The chart of a trace.
pub(crate) fn render(trace: NamedTrace<'_>, style: Style) -> String {
    let mut chart = Chart::default();
    for (number, step) in trace.steps().enumerate().skip(1) {
        chart.add_step(number, &step);
    }
    chart.sort_columns();
    chart.text(trace.number_len(), style)
}

#[derive(Default)]
struct Chart {
    /// Names of the columns.
    processes: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    /// The step, in the first row of it.
    number: Option<usize>,
    column: usize,
    text: String,
    /// Where a rendezvous arrives: the column, and what the receiver does.
    received: Option<(usize, String)>,
}

/// What fired.
struct Firing<'s> {
    process: &'s str,
    statement: &'s str,
    /// The fields of a message that is handed over.
    message: Option<&'s str>,
    output: &'s [String],
}

impl<'s> Firing<'s> {
    fn of(rule: &'s str, parameters: &'s [(String, String)], output: &'s [String]) -> Self {
        let (process, statement) = match rule.split_once(" line ") {
            Some((process, rest)) => (process, rest.split_once(": ").map_or("", |it| it.1)),
            None => ("", rule),
        };
        let message = parameters.iter().find(|(name, _)| name == "message");
        Firing {
            process,
            statement,
            message: message.map(|(_, fields)| fields.as_str()),
            output,
        }
    }
}

impl Chart {
    fn add_step(&mut self, number: usize, step: &NamedStep) {
        let firings: Vec<Firing<'_>> = match step.inner.is_empty() {
            true => vec![Firing::of(&step.rule, &step.parameters, &step.output)],
            false => (step.inner.iter())
                .map(|inner| Firing::of(&inner.rule, &inner.parameters, &inner.output))
                .collect(),
        };
        let mut number = Some(number);
        let mut firings = firings.into_iter().peekable();
        while let Some(firing) = firings.next() {
            let column = self.column(firing.process);
            let message = Message::of(firing.statement);
            // Within a step another process fires only to receive what this one sends.
            let receiver = match message {
                Some(Message::Sent) => firings.next_if(|next| next.process != firing.process),
                _ => None,
            };
            let received = receiver.as_ref().map(|receiver| {
                let column = self.column(receiver.process);
                (column, cut(receiver.statement))
            });
            let statement = cut(firing.statement);
            let text = match message {
                Some(Message::Sent) if received.is_none() => format!("{statement} ─>"),
                Some(Message::Sent) => match firing.message {
                    Some(fields) => format!("{statement} {}", cut(fields)),
                    None => statement,
                },
                Some(Message::Received) => format!("─> {statement}"),
                _ => statement,
            };
            self.rows.push(Row {
                number: number.take(),
                column,
                text,
                received,
            });
            for firing in std::iter::once(&firing).chain(&receiver) {
                let column = self.column(firing.process);
                let rows = firing.output.iter().map(|line| Row {
                    number: None,
                    column,
                    text: cut(&format!("\"{line}\"")),
                    received: None,
                });
                self.rows.extend(rows);
            }
        }
    }

    fn column(&mut self, process: &str) -> usize {
        let known = self.processes.iter().position(|name| name == process);
        known.unwrap_or_else(|| {
            self.processes.push(process.to_owned());
            self.processes.len() - 1
        })
    }

    /// Puts the columns in the order of pids. Processes that had a pid one after the other are in
    /// the order in which they appear.
    fn sort_columns(&mut self) {
        let pid = |name: &str| {
            let (_, pid) = name.strip_suffix(')')?.rsplit_once('(')?;
            pid.parse::<u32>().ok()
        };
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        order.sort_by_key(|&column| pid(&self.processes[column]).unwrap_or(u32::MAX));
        let mut places = vec![0; order.len()];
        for (place, &column) in order.iter().enumerate() {
            places[column] = place;
        }
        self.processes = order
            .iter()
            .map(|&column| std::mem::take(&mut self.processes[column]))
            .collect();
        for row in &mut self.rows {
            row.column = places[row.column];
            if let Some((column, _)) = &mut row.received {
                *column = places[*column];
            }
        }
    }

    /// Where each column begins; one more for the end of the last.
    fn begins(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.processes.iter().map(|name| len(name)).collect();
        for row in &self.rows {
            widths[row.column] = widths[row.column].max(len(&row.text));
            if let Some((column, text)) = &row.received {
                widths[*column] = widths[*column].max(len(text));
                // An arrow has more than its head.
                let (left, text) = match row.column < *column {
                    true => (row.column, &row.text),
                    false => (*column, text),
                };
                widths[left] = widths[left].max(len(text) + SHAFT);
            }
        }
        let mut begins = vec![0];
        for width in widths {
            begins.push(begins[begins.len() - 1] + width + GAP);
        }
        begins
    }

    fn text(&self, number_len: usize, style: Style) -> String {
        let begins = self.begins();
        let mut out = String::new();
        let mut line = Line::default();
        for (name, &begin) in self.processes.iter().zip(&begins) {
            line.put(begin, name);
        }
        let blank = " ".repeat(number_len);
        push_line(&mut out, &blank, &style.bold(&line.text()));
        for row in &self.rows {
            let mut line = Line::default();
            for &begin in &begins[..self.processes.len()] {
                line.put(begin, "│");
            }
            row.draw(&begins, &mut line);
            let number = match row.number {
                Some(number) => format!("{number:>number_len$}"),
                None => blank.clone(),
            };
            push_line(&mut out, &number, &line.text());
        }
        out
    }
}

fn push_line(out: &mut String, number: &str, line: &str) {
    out.push_str("  ");
    out.push_str(number);
    out.push_str("  ");
    out.push_str(line);
    out.push('\n');
}

impl Row {
    fn draw(&self, begins: &[usize], line: &mut Line) {
        line.put(begins[self.column], &self.text);
        let Some((to, text)) = &self.received else {
            return;
        };
        line.put(begins[*to], text);
        if self.column < *to {
            let from = begins[self.column] + len(&self.text) + 1;
            let n = begins[*to] - 1 - from;
            line.put(from, &format!("{}>", "─".repeat(n - 1)));
        } else {
            let from = begins[*to] + len(text) + 1;
            let n = begins[self.column] - 1 - from;
            line.put(from, &format!("<{}", "─".repeat(n - 1)));
        }
    }
}

/// A line of characters that later ones are put over.
#[derive(Default)]
struct Line(Vec<char>);

impl Line {
    fn put(&mut self, at: usize, text: &str) {
        let end = at + len(text);
        if self.0.len() < end {
            self.0.resize(end, ' ');
        }
        for (place, character) in self.0[at..end].iter_mut().zip(text.chars()) {
            *place = character;
        }
    }

    fn text(&self) -> String {
        let text: String = self.0.iter().collect();
        text.trim_end().to_owned()
    }
}

/// What a statement does with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Sent,
    Received,
}

impl Message {
    /// Of a statement such as `c!ack,1`, `q[2]??x` or `out!!3`; not of the conditions `c?[ack]`,
    /// `a != b` and `!busy`.
    fn of(statement: &str) -> Option<Self> {
        let is_place = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
        let rest = statement.trim_start_matches(is_place).trim_start();
        if rest.len() == statement.len() || !statement.starts_with(|c: char| !c.is_numeric()) {
            return None;
        }
        if let Some(rest) = rest.strip_prefix('!') {
            return (!rest.starts_with('=')).then_some(Message::Sent);
        }
        let rest = rest.strip_prefix('?')?;
        let rest = rest.strip_prefix('?').unwrap_or(rest);
        (!rest.trim_start().starts_with('[')).then_some(Message::Received)
    }
}

fn len(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str) -> String {
    match len(text) <= MAX_TEXT {
        true => text.to_owned(),
        false => text.chars().take(MAX_TEXT - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_model::Step;

    fn firing(rule: &str, output: &[&str]) -> Step {
        Step {
            rule: rule.to_owned(),
            parameters: Vec::new(),
            output: output.iter().map(|line| (*line).to_owned()).collect(),
            inner: Vec::new(),
        }
    }

    fn step(inner: Vec<Step>) -> NamedStep {
        NamedStep {
            rule: inner[0].rule.clone(),
            parameters: Vec::new(),
            output: inner[0].output.clone(),
            inner: if inner.len() > 1 { inner } else { Vec::new() },
            changes: Vec::new(),
            state: Vec::new(),
        }
    }

    #[test]
    fn messages_are_arrows_between_columns() {
        let mut chart = Chart::default();
        let steps = [
            vec![
                firing("Client(0) line 3: c!req,1", &[]),
                firing("Server(1) line 9: c?kind,n", &["got 1"]),
            ],
            vec![firing("Server(1) line 10: log!n", &[])],
            vec![
                firing("Server(1) line 11: r!ack", &[]),
                firing("Client(0) line 4: r?ack", &[]),
            ],
            vec![firing("Log(2) line 15: log?x", &[])],
            vec![firing("Log(2) line 16: x != 1", &[])],
        ];
        for (number, inner) in steps.into_iter().enumerate() {
            chart.add_step(number + 1, &step(inner));
        }
        let text = chart.text(1, Style::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7, "{text}");
        assert!(
            lines[1].contains("c!req,1 ─") && lines[1].contains("> c?kind,n"),
            "{text}"
        );
        assert!(
            lines[2].contains("│") && lines[2].contains("\"got 1\""),
            "{text}"
        );
        assert!(lines[3].contains("log!n ─>"), "{text}");
        assert!(
            lines[4].contains("r?ack <─") && lines[4].contains("─ r!ack"),
            "{text}"
        );
        assert!(lines[5].contains("─> log?x"), "{text}");
        assert!(lines[6].ends_with("x != 1"), "{text}");
    }

    #[test]
    fn columns_are_in_the_order_of_pids() {
        let mut chart = Chart::default();
        let steps = ["B(10) line 1: x = 1", "A(2) line 2: x = 2"];
        for (number, rule) in steps.into_iter().enumerate() {
            chart.add_step(number + 1, &step(vec![firing(rule, &[])]));
        }
        chart.sort_columns();
        let text = chart.text(1, Style::plain());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].trim(), "A(2)    B(10)", "{text}");
        assert!(lines[1].ends_with("│       x = 1"), "{text}");
        assert!(lines[2].contains("x = 2   │"), "{text}");
    }

    #[test]
    fn conditions_are_no_messages() {
        let messages = [
            ("c!ack,1", Some(true)),
            ("q[2]??x", Some(false)),
            ("p.out!!3", Some(true)),
            ("c ? eval(x)", Some(false)),
            ("c?[ack]", None),
            ("a != b", None),
            ("!busy", None),
            ("n++", None),
            ("3", None),
        ];
        for (statement, expected) in messages {
            let found = Message::of(statement).map(|it| it == Message::Sent);
            assert_eq!(found, expected, "{statement}");
        }
    }
}
