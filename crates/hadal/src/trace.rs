//! Counterexamples as people read them: a numbered list of steps and what each one changed.
//!
//! Steps are named one at a time, when they are shown or written: the names and values of all
//! leaves of all states may take a thousand times as much memory as the states.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use hadal_model::{Model, Step};
use hadal_search::{Trace, TraceStep};

use crate::{LoadedModel, Style, TraceDetail, chart};

/// A run in the model's own names, as the record has it and as it is printed.
#[derive(Clone, Copy)]
pub struct NamedTrace<'t> {
    model: &'t dyn Model,
    trace: &'t Trace,
    /// Whether what fires is called `process(pid) line n: statement`.
    has_processes: bool,
    /// Whether what fires needs no word before its name: such a statement, or the label of an edge.
    is_plain: bool,
}

/// One step: what fired, and what it changed.
#[derive(Clone, Debug)]
pub struct NamedStep {
    /// The rule or startstate.
    pub rule: String,
    /// Its parameters, by name.
    pub parameters: Vec<(String, String)>,
    /// What it printed.
    pub output: Vec<String>,
    /// The firings it consists of, where there are several.
    pub inner: Vec<Step>,
    /// What it changed.
    pub changes: Vec<Change>,
    /// Every leaf after the step; empty for a startstate that met a fault.
    pub state: Vec<(String, String)>,
}

/// A leaf that has another value than before.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// `None` in the startstate, and for what was not there before (an element of a bag).
    pub before: Option<String>,
    /// `None` for what is there no more.
    pub after: Option<String>,
}

impl<'t> NamedTrace<'t> {
    /// A trace in the names of `model`.
    pub fn new(model: &'t dyn Model, trace: &'t Trace) -> Self {
        NamedTrace {
            model,
            trace,
            has_processes: false,
            is_plain: false,
        }
    }

    /// In the words of the language of a model.
    pub fn in_words_of(self, loaded: Option<&LoadedModel>) -> Self {
        let language = loaded.map(|loaded| loaded.source.language);
        let has_processes = language.is_some_and(|language| language.has_processes());
        NamedTrace {
            has_processes,
            is_plain: has_processes || language.is_some_and(|language| language.is_graph()),
            ..self
        }
    }

    /// The words for a startstate and for what fires, in headlines.
    pub fn kinds(&self) -> (&'static str, &'static str) {
        match self.is_plain {
            true => ("", ""),
            false => ("startstate", "rule"),
        }
    }

    /// Number of steps, the startstate included.
    pub fn n_steps(&self) -> usize {
        self.trace.steps.len()
    }

    /// The steps; the first one is the startstate. Each is named when it is asked for.
    pub fn steps(self) -> impl Iterator<Item = NamedStep> + use<'t> {
        let mut before: Option<Vec<(String, String)>> = None;
        self.trace.steps.iter().map(move |step| {
            let state = self.describe(step);
            let changes = changes(before.as_deref(), &state);
            before = Some(state.clone());
            NamedStep {
                rule: step.step.rule.clone(),
                parameters: step.step.parameters.clone(),
                output: step.step.output.clone(),
                inner: step.step.inner.clone(),
                changes,
                state,
            }
        })
    }

    /// Every leaf of the last state; empty for a startstate that met a fault.
    pub fn last_state(&self) -> Vec<(String, String)> {
        let last = self.trace.steps.last();
        last.map_or_else(Vec::new, |step| self.describe(step))
    }

    fn describe(&self, step: &TraceStep) -> Vec<(String, String)> {
        let state = step.state.as_ref();
        state.map_or_else(Vec::new, |state| self.model.describe_state(state))
    }

    /// Width of the steps' numbers, with room for one more step.
    pub fn number_len(&self) -> usize {
        self.n_steps().to_string().len()
    }

    /// The trace as text, indented.
    pub fn render(&self, how: TraceDetail, style: Style) -> String {
        let mut out = String::new();
        match how {
            TraceDetail::None => return out,
            TraceDetail::Chart => return chart::render(*self, style),
            TraceDetail::Diff | TraceDetail::Full => {}
        }
        let number_len = self.number_len();
        let (start, rule) = self.kinds();
        for (number, step) in self.steps().enumerate() {
            let kind = if number == 0 { start } else { rule };
            let head = headline(kind, &step.rule, &step.parameters, style);
            let _ = writeln!(out, "  {number:>number_len$}  {head}");
            let indent = " ".repeat(number_len + 6);
            for (position, inner) in step.inner.iter().enumerate() {
                let kind = if position == 0 { kind } else { rule };
                let head = headline(kind, &inner.rule, &inner.parameters, style);
                let _ = writeln!(out, "{indent}- {head}");
                self.render_output(&mut out, &format!("{indent}  "), &inner.output, style);
            }
            if step.inner.is_empty() {
                self.render_output(&mut out, &indent, &step.output, style);
            }
            match how {
                TraceDetail::Full => render_state(&mut out, &indent, &step.state, style),
                _ if number == 0 => render_state(&mut out, &indent, &step.state, style),
                _ => render_changes(&mut out, &indent, &step.changes, style),
            }
        }
        out
    }
}

impl NamedTrace<'_> {
    fn render_output(&self, out: &mut String, indent: &str, output: &[String], style: Style) {
        let word = match self.has_processes {
            true => "printf",
            false => "put",
        };
        for line in output {
            let _ = writeln!(out, "{indent}{}", style.faint(&format!("{word}: {line}")));
        }
    }
}

impl fmt::Debug for NamedTrace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedTrace").field(self.trace).finish()
    }
}

/// What fires, with its parameters: `rule "enter"  p = Proc_1`. Without a word for it the name says
/// what it is.
#[doc(hidden)]
pub fn headline(kind: &str, name: &str, parameters: &[(String, String)], style: Style) -> String {
    let mut head = match name
        .strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix(' '))
    {
        // One without a name of its own is called `rule 3` already.
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => style.bold(name),
        _ if kind.is_empty() => style.bold(name),
        _ => format!("{kind} {}", style.bold(&quote(name))),
    };
    for (position, (name, value)) in parameters.iter().enumerate() {
        let comma = if position == 0 { "  " } else { ", " };
        let _ = write!(head, "{comma}{name} = {value}");
    }
    head
}

/// Parts of an array that are all alike are shown as one line from this many on.
const ALIKE: usize = 6;

/// The leaves of a state that hold a value, and how many do not. Where all parts of an array have
/// the same value, one line stands for them: `sealed[*][*] = false`.
#[doc(hidden)]
pub fn render_state(out: &mut String, indent: &str, state: &[(String, String)], style: Style) {
    let mut shapes: BTreeMap<String, (usize, Option<&str>)> = BTreeMap::new();
    for (name, value) in pairs(state) {
        let (n, common) = shapes.entry(shape(name)).or_insert((0, Some(value)));
        *n += 1;
        if *common != Some(value) {
            *common = None;
        }
    }
    let mut n_defined = 0;
    for (name, value) in pairs(state).filter(|(_, value)| *value != "undefined") {
        n_defined += 1;
        match shapes.get_mut(&shape(name)) {
            Some((n, Some(_))) if *n >= ALIKE => {
                let _ = writeln!(out, "{indent}{} = {value}", shape(name));
                *n = 0;
            }
            Some((0, Some(_))) => {}
            _ => {
                let _ = writeln!(out, "{indent}{name} = {value}");
            }
        }
    }
    let n_undefined = state.len() - n_defined;
    if n_undefined > 0 {
        let text = match n_undefined {
            _ if n_defined == 0 => "everything is undefined".to_owned(),
            1 => {
                let name = state.iter().find(|(_, value)| value == "undefined");
                name.map_or(String::new(), |(name, _)| format!("{name} is undefined"))
            }
            n => format!("the other {n} values are undefined"),
        };
        let _ = writeln!(out, "{indent}{}", style.faint(&text));
    }
}

/// A leaf's name with its indices left open: `x[*].y`.
pub(crate) fn shape(name: &str) -> String {
    let mut shape = String::with_capacity(name.len());
    let mut depth = 0;
    for c in name.chars() {
        depth -= usize::from(c == ']' && depth > 0);
        if depth == 0 {
            shape.push(c);
        }
        if c == '[' {
            if depth == 0 {
                shape.push('*');
            }
            depth += 1;
        }
    }
    shape
}

fn render_changes(out: &mut String, indent: &str, changes: &[Change], style: Style) {
    for change in changes {
        let name = &change.name;
        let line = match (&change.before, &change.after) {
            (Some(before), Some(after)) => format!("{name}: {before} → {after}"),
            (None, Some(after)) => format!("{name}: {after} (new)"),
            (Some(before), None) => format!("{name}: {before} (gone)"),
            (None, None) => continue,
        };
        let _ = writeln!(out, "{indent}{line}");
    }
    if changes.is_empty() {
        let _ = writeln!(out, "{indent}{}", style.faint("nothing changed"));
    }
}

fn changes(before: Option<&[(String, String)]>, after: &[(String, String)]) -> Vec<Change> {
    let Some(before) = before else {
        let all = after.iter().map(|(name, value)| Change {
            name: name.clone(),
            before: None,
            after: Some(value.clone()),
        });
        return all.collect();
    };
    // Both lists follow the declarations, but elements of bags come and go.
    let old: BTreeMap<&str, &str> = pairs(before).collect();
    let new: BTreeMap<&str, &str> = pairs(after).collect();
    let mut changes = Vec::new();
    for (name, value) in pairs(after) {
        let was = old.get(name).copied();
        if was != Some(value) {
            changes.push(Change {
                name: name.to_owned(),
                before: was.map(str::to_owned),
                after: Some(value.to_owned()),
            });
        }
    }
    for (name, value) in pairs(before).filter(|(name, _)| !new.contains_key(name)) {
        changes.push(Change {
            name: name.to_owned(),
            before: Some(value.to_owned()),
            after: None,
        });
    }
    changes
}

fn pairs(state: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    state
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
}

/// A name in quotation marks.
#[doc(hidden)]
pub fn quote(name: &str) -> String {
    format!("\"{name}\"")
}
