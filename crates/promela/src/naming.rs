//! States and steps of a lowered program in the words of Promela.
//!
//! The program's own names are those of its layout: instances of process types in arrays, channels
//! of one kind in arrays, numbers of channels. Here `Client[0].v` becomes `Client(1):v` with the pid
//! of the process, what belongs to processes that do not exist is left out, and a channel is one
//! line with its messages.

mod reverse;

use std::collections::HashMap;
use std::sync::Arc;

use crate::program::{Initial, Program, Scalar};

pub use reverse::{FixedNames, NoLeaves};

/// How a lowered program names what a Promela user knows.
#[derive(Debug, Clone, Default)]
pub struct Naming {
    pub(crate) processes: Vec<ProcessNames>,
    /// Arrays of global channels.
    pub(crate) classes: Vec<ClassNames>,
    /// The array of channels of processes, and the number of its first one.
    pub(crate) stack: Option<(String, i64)>,
    /// Global variables that hold channels.
    pub(crate) chan_globals: Vec<Arc<str>>,
}

/// A process type.
#[derive(Debug, Clone)]
pub(crate) struct ProcessNames {
    pub(crate) name: Arc<str>,
    /// The pid of each instance, where it is constant.
    pub(crate) pids: Option<Vec<i64>>,
    /// Names of the channels that an instance creates, in order.
    pub(crate) channels: Vec<String>,
    /// Local variables that hold channels.
    pub(crate) chan_locals: Vec<Arc<str>>,
    /// Points that are no valid end, by name.
    pub(crate) waits: Vec<Wait>,
}

/// A point that is no valid end.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) point: String,
    /// Where it is: `line 7`, or `line 7 of file`.
    pub(crate) line: String,
    /// What a process waits for there.
    pub(crate) statements: Vec<Arc<str>>,
}

/// Global channels of one kind.
#[derive(Debug, Clone)]
pub(crate) struct ClassNames {
    /// The variable of the lowered program.
    pub(crate) var: String,
    /// Name and number of each channel.
    pub(crate) elements: Vec<(String, i64)>,
}

type Leaves = Vec<(String, String)>;

/// A name of the lowered program, taken apart: `root[index].rest`.
struct Leaf<'a> {
    root: &'a str,
    index: Option<usize>,
    rest: &'a str,
}

impl<'a> Leaf<'a> {
    fn new(name: &'a str) -> Self {
        let end = name.find(['[', '.']).unwrap_or(name.len());
        let (root, rest) = name.split_at(end);
        let split = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        match split {
            Some((index, rest)) => Leaf {
                root,
                index: index.parse().ok(),
                rest: rest.strip_prefix('.').unwrap_or(rest),
            },
            None => Leaf {
                root,
                index: None,
                rest,
            },
        }
    }
}

impl Naming {
    /// The values of a state, by names of Promela.
    pub fn state(&self, leaves: Leaves) -> Leaves {
        let values: HashMap<&str, &str> = leaves
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let channels = self.channel_names(&values);
        let channel = |value: &str| {
            let number = value.parse::<i64>().ok();
            let name = number.and_then(|number| channels.get(&number));
            name.cloned().unwrap_or_else(|| value.to_owned())
        };
        let mut out = Leaves::new();
        for (name, value) in &leaves {
            let leaf = Leaf::new(name);
            if let Some((process, slot)) = self.process(&leaf) {
                let Some(label) = self.label(process, slot, &values) else {
                    continue;
                };
                match leaf.rest {
                    "at" => out.push((label, value.clone())),
                    "_pid" | "_channels" => {}
                    rest => {
                        let holds = process.chan_locals.iter().any(|it| is_part(rest, it));
                        let value = if holds { channel(value) } else { value.clone() };
                        out.push((format!("{label}:{rest}"), value));
                    }
                }
                continue;
            }
            if let Some(number) = self.channel_number(&leaf) {
                let prefix = &name[..name.len() - leaf.rest.len()];
                let queue = match leaf.rest {
                    "len" => prefix.to_owned(),
                    "queue.len" => format!("{prefix}queue."),
                    _ => continue,
                };
                if let Some(name) = channels.get(&number) {
                    out.push((name.clone(), messages(&queue, &values)));
                }
                continue;
            }
            let holds = self.chan_globals.iter().any(|it| is_part(name, it));
            let value = if holds { channel(value) } else { value.clone() };
            out.push((name.clone(), value));
        }
        out
    }

    /// The name of a step: `rule` fired, for the instance `slot`, in a state.
    pub fn step(&self, rule: &str, slot: usize, leaves: &[(String, String)]) -> String {
        let values: HashMap<&str, &str> = leaves
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        // The rule is called `Type line 7: text`.
        let Some((name, text)) = rule.split_once(' ') else {
            return rule.to_owned();
        };
        let process = self.processes.iter().find(|it| &*it.name == name);
        let label = process.and_then(|process| self.label(process, slot, &values));
        match label {
            Some(label) => format!("{label} {text}"),
            None => rule.to_owned(),
        }
    }

    /// The name of what fires: `rule`, for the instance `slot`, in a state whose values have
    /// [these names](Self::state); none where the state is not known.
    pub fn firing(&self, rule: &str, slot: usize, state: &[(String, String)]) -> String {
        let Some((name, text)) = rule.split_once(' ') else {
            return rule.to_owned();
        };
        let is_pid = |pid: &str| pid.bytes().all(|byte| byte.is_ascii_digit());
        let is_instance = |leaf: &&(String, String)| {
            let pid = leaf
                .0
                .strip_prefix(name)
                .and_then(|it| it.strip_prefix('('));
            pid.and_then(|it| it.strip_suffix(')')).is_some_and(is_pid)
        };
        // Instances come in order.
        if let Some((label, _)) = state.iter().filter(is_instance).nth(slot) {
            return format!("{label} {text}");
        }
        let process = self.processes.iter().find(|it| &*it.name == name);
        let pids = process.and_then(|process| process.pids.as_ref());
        match pids.and_then(|pids| pids.get(slot)) {
            Some(pid) => format!("{name}({pid}) {text}"),
            None => rule.to_owned(),
        }
    }

    /// The processes that are not at a valid end, with line and statements they wait at, in a state
    /// whose values have [these names](Self::state).
    pub fn blocked(&self, state: &[(String, String)]) -> Vec<String> {
        let mut blocked = Vec::new();
        for (name, value) in state {
            let Some((proctype, rest)) = name.split_once('(') else {
                continue;
            };
            let is_pid = |pid: &str| pid.bytes().all(|byte| byte.is_ascii_digit());
            if !rest.strip_suffix(')').is_some_and(is_pid) {
                continue;
            }
            let process = self.processes.iter().find(|it| &*it.name == proctype);
            let mut waits = process.into_iter().flat_map(|it| &it.waits);
            if let Some(wait) = waits.find(|it| it.point == *value) {
                let statements = wait.statements.join(" or ");
                blocked.push(format!("{name} {}: {statements}", wait.line));
            }
        }
        blocked
    }

    fn process(&self, leaf: &Leaf<'_>) -> Option<(&ProcessNames, usize)> {
        let process = self.processes.iter().find(|it| &*it.name == leaf.root)?;
        Some((process, leaf.index?))
    }

    /// A process as `Type(pid)`, if it exists.
    fn label(
        &self,
        process: &ProcessNames,
        slot: usize,
        values: &HashMap<&str, &str>,
    ) -> Option<String> {
        let of = |field: &str| {
            let name = format!("{}[{slot}].{field}", process.name);
            values.get(name.as_str()).copied()
        };
        if of("at")? == "-" {
            return None;
        }
        let pid = match &process.pids {
            Some(pids) => pids.get(slot)?.to_string(),
            None => of("_pid")?.to_owned(),
        };
        Some(format!("{}({pid})", process.name))
    }

    /// The number of the channel that a leaf is part of.
    fn channel_number(&self, leaf: &Leaf<'_>) -> Option<i64> {
        let index = leaf.index?;
        let class = self.classes.iter().find(|it| it.var == leaf.root);
        if let Some(class) = class {
            return class.elements.get(index).map(|(_, number)| *number);
        }
        let (_, first) = self.stack.as_ref().filter(|(var, _)| var == leaf.root)?;
        Some(first + index as i64)
    }

    /// By number, the names of the channels that exist.
    fn channel_names(&self, values: &HashMap<&str, &str>) -> HashMap<i64, String> {
        let mut names = HashMap::new();
        for (name, number) in self.classes.iter().flat_map(|it| &it.elements) {
            names.insert(*number, name.clone());
        }
        for process in self.processes.iter().filter(|it| !it.channels.is_empty()) {
            for slot in 0.. {
                let first = format!("{}[{slot}]._channels", process.name);
                let Some(first) = values.get(first.as_str()) else {
                    break;
                };
                let label = self.label(process, slot, values);
                let (Some(label), Ok(first)) = (label, first.parse::<i64>()) else {
                    continue;
                };
                for (number, name) in (first..).zip(&process.channels) {
                    names.insert(number, format!("{label}:{name}"));
                }
            }
        }
        names
    }
}

/// What a rule leaves in its output for those who read a run, between [`NOTE`] and [`NOTE_END`]: a
/// statement of a `d_step` that it executes, or the message that it hands over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// What was printed before the first statement.
    pub output: Vec<String>,
    /// The statements, as `line 7: text`, each with what it printed.
    pub statements: Vec<(String, Vec<String>)>,
    /// The fields of the message.
    pub message: Option<String>,
}

/// Begins a note; no text of a model is likely to have it.
const NOTE: char = '\u{1}';
const NOTE_END: char = '\u{2}';
const STATEMENT: char = 's';
const MESSAGE: char = 'm';
/// Encloses the number of a channel.
pub(crate) const CHANNEL: char = '\u{3}';

/// The note that a statement is executed.
pub(crate) fn statement_note(place: impl std::fmt::Display, text: &str) -> String {
    format!("{NOTE}{STATEMENT}{place}: {text}{NOTE_END}")
}

/// What stands before and after the fields of a message.
pub(crate) fn message_note() -> (String, String) {
    (format!("{NOTE}{MESSAGE}"), NOTE_END.to_string())
}

impl Naming {
    /// The output of a rule that fired in a state, without its notes, and these.
    pub fn notes(&self, output: &[String], leaves: &[(String, String)]) -> Notes {
        let mut notes = Notes::default();
        let text = output.join("\n");
        let mut parts = text.split(NOTE);
        notes.output = lines(parts.next().unwrap_or_default());
        for part in parts {
            // What has no end, or no known kind, was printed by the model itself.
            let noted = part.split_once(NOTE_END);
            let (note, printed) = noted.unwrap_or(("", part));
            if let Some(message) = note.strip_prefix(MESSAGE) {
                notes.message = Some(self.with_channels(message, leaves));
            } else if let Some(statement) = note.strip_prefix(STATEMENT) {
                notes.statements.push((statement.to_owned(), Vec::new()));
            }
            let printed = lines(printed);
            match notes.statements.last_mut() {
                Some((_, output)) => output.extend(printed),
                None => notes.output.extend(printed),
            }
        }
        notes
    }

    /// The fields of a message, with names in place of the numbers of channels.
    fn with_channels(&self, message: &str, leaves: &[(String, String)]) -> String {
        if !message.contains(CHANNEL) {
            return message.to_owned();
        }
        let values = leaves.iter().map(|(name, value)| (&**name, &**value));
        let names = self.channel_names(&values.collect());
        let parts = message.split(CHANNEL).enumerate().map(|(position, part)| {
            let number = (position % 2 == 1).then(|| part.parse().ok()).flatten();
            let name = number.and_then(|number: i64| names.get(&number));
            name.map_or(part, |name| name)
        });
        parts.collect()
    }
}

fn lines(text: &str) -> Vec<String> {
    text.trim_end().lines().map(str::to_owned).collect()
}

/// Whether a name is that of a variable, or of a part of it.
fn is_part(name: &str, variable: &str) -> bool {
    let rest = name.strip_prefix(variable);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
}

/// The messages of a queue, each in brackets.
fn messages(queue: &str, values: &HashMap<&str, &str>) -> String {
    let value = |name: String| values.get(name.as_str()).copied();
    let len = value(format!("{queue}len")).and_then(|len| len.parse::<usize>().ok());
    let mut texts = Vec::new();
    for message in 0..len.unwrap_or(0) {
        let field = |field: usize| value(format!("{queue}messages[{message}].{field}"));
        let fields: Vec<&str> = (0..).map_while(field).collect();
        texts.push(format!("[{}]", fields.join(",")));
    }
    match texts.is_empty() {
        true => "empty".to_owned(),
        false => texts.join(" "),
    }
}

/// The names of all elements of a variable.
pub(crate) fn element_names(name: &str, dims: &[u32]) -> Vec<String> {
    dims.iter().fold(vec![name.to_owned()], |names, &dim| {
        let indexed = |name: &String| (0..dim).map(|i| format!("{name}[{i}]")).collect();
        names.iter().flat_map::<Vec<String>, _>(indexed).collect()
    })
}

/// Variables that hold channels.
pub(crate) fn chan_names(variables: &[crate::program::Variable]) -> Vec<Arc<str>> {
    let chans = variables.iter().filter(|it| it.ty == Scalar::Chan);
    chans.map(|it| it.name.clone()).collect()
}

/// Names of the channels that variables create, in the order of creation.
pub(crate) fn created(variables: &[crate::program::Variable]) -> Vec<String> {
    let creates = |it: &&crate::program::Variable| matches!(it.initial, Initial::Channel(_));
    let own = variables.iter().filter(creates);
    own.flat_map(|it| element_names(&it.name, &it.dims))
        .collect()
}

impl Naming {
    /// The names of a program; arrays of channels are added by the lowering.
    pub(crate) fn new(program: &Program) -> Self {
        Naming {
            chan_globals: chan_names(&program.globals),
            ..Naming::default()
        }
    }
}
