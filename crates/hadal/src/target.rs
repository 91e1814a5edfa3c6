//! A state to look for: values of leaves, as text or from a run record.
//!
//! A [`TargetText`] is what was read, before there is a model; it is kept with the options of the
//! model, so that a resumed run has the same target. A [`Target`] is what it says about the leaves
//! of one program. What a text does not name is not compared.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::Path;

use hadal_ir::leaves::{Leaf, NoValue};
use hadal_ir::{Program, Types};
use hadal_syntax::did_you_mean;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::language::{Naming, NoLeaves, ReverseNaming};
use crate::trace::shape;
use crate::{Error, ModelSource, TextLimit};

/// A target as it was read.
///
/// A text has lines `name = value` as a trace prints them, and may have empty lines and comments
/// (`--`, `//`, `#`). `x[*] = 0` stands for all elements, `x is undefined` for `x = undefined`, and
/// `the other 3 values are undefined` for all that no line names. A run record stands for the last
/// state of a violation.
///
/// ```
/// use hadal::TargetText;
///
/// assert!(TargetText::parse("goal.txt", "-- half of it\nx[1] = 3\nturn is undefined", None).is_ok());
/// let error = TargetText::parse("goal.txt", "x[1]: 2", None).unwrap_err();
/// assert_eq!(error.to_string(), "goal.txt:1: expected NAME = VALUE, found `x[1]: 2`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetText {
    /// Its file, for messages.
    file: String,
    /// The record that it comes from, if it does.
    record: Option<RecordOrigin>,
    lines: Vec<Line>,
}

/// The run that a target is the end of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordOrigin {
    model: String,
    language: String,
    /// Whether the run is one of a model and a claim, whose states have more parts.
    is_of_claim: bool,
}

/// A line of a text, or a field of a recorded state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// Counted from 1; `None` in a record.
    number: Option<usize>,
    says: Says,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Says {
    /// A leaf, or all that differ in indices written `*`, has a value.
    Value { name: String, value: String },
    /// What no line names is undefined.
    RestUndefined,
}

/// What is looked for, in terms of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Leaves with their values, in the order of their bits.
    pub leaves: Vec<TargetLeaf>,
    /// Names that were given and cannot be compared: elements of multisets, whose slots mean
    /// nothing; and of a record, processes of Promela whose pids differ between runs, and what a
    /// claim adds to a state.
    pub left_out: Vec<String>,
}

/// A leaf and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLeaf {
    /// Its name in the program.
    pub name: String,
    /// Where it is.
    pub leaf: Leaf,
    /// The value; `None` is undefined.
    pub value: Option<i64>,
}

/// Why there is no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    /// The file, with the line if there is one.
    pub at: String,
    /// What is wrong there.
    pub problem: TargetProblem,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.problem)
    }
}

impl std::error::Error for TargetError {}

/// What is wrong with a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetProblem {
    /// The file is no text.
    #[error("this is no text: a target has lines NAME = VALUE, or is a run record")]
    NoText,
    /// A line does not say what value something has.
    #[error("expected NAME = VALUE, found `{0}`")]
    NoPair(String),
    /// It begins like a run record, and is not JSON.
    #[error("this begins like a run record, but is not JSON: {0}")]
    NotJson(String),
    /// It is JSON, but no run record.
    #[error("this is JSON, but no run record: it has no field `{0}`")]
    NoRecord(&'static str),
    /// The run found nothing.
    #[error("the run record has no violation, so no state to look for")]
    NoViolation,
    /// A violation was asked for that the record does not have.
    #[error("there is no violation {asked}: the run record has {n}, counted from 1")]
    NoSuchViolation {
        /// The number that was asked for.
        asked: usize,
        /// How many there are.
        n: usize,
    },
    /// A violation was asked for, and the file is a text.
    #[error("a violation is chosen by `#{0}`, but this is no run record")]
    NotARecord(usize),
    /// The violation was recorded without its run.
    #[error("violation {0} of the run record has no state")]
    NoState(usize),
    /// The record is of a model of another language.
    #[error("the run record is of a model in the language {found}; this one is in {wanted}")]
    OtherLanguage {
        /// The language of the record.
        found: String,
        /// That of the model.
        wanted: String,
    },
    /// The record is of another model.
    #[error("the run record is of another model, `{model}`: {why}")]
    OtherModel {
        /// Its name.
        model: String,
        /// What shows it.
        why: String,
    },
    /// The language has no [`reverse`](Naming::reverse) of its names.
    #[error("states of this language cannot be read back from their names")]
    NoNames,
    /// Nothing is named.
    #[error("no value is named that can be compared")]
    Empty,
    /// The model has no such leaf.
    #[error("the model has no `{name}`{}", suggestion(near.as_deref()))]
    UnknownName {
        /// The name.
        name: String,
        /// A name that may be meant.
        near: Option<String>,
    },
    /// The name does not stand for the same part of all states.
    #[error("`{name}` cannot be compared: {why}")]
    Varies {
        /// The name.
        name: String,
        /// Why that is so.
        why: String,
    },
    /// The leaf does not have such a value.
    #[error("`{name}` cannot be `{value}`: {why}")]
    NoValue {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What it may be, or why not this.
        why: String,
    },
    /// Several values of the leaf are called so.
    #[error("`{name}` has several values that are called `{value}`")]
    AmbiguousValue {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// A leaf is given two values.
    #[error("`{name}` is given twice{}", first.map_or(String::new(), |it| format!(", first in line {it}")))]
    Twice {
        /// The name.
        name: String,
        /// The line in which it was given first.
        first: Option<usize>,
    },
}

fn suggestion(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

impl TargetText {
    /// Reads a file; behind `#` stands which violation of a run record is meant, counted from 1. By
    /// default it is the first.
    pub fn read(name: &str) -> Result<Self, Error> {
        // A file may be called so.
        let (path, violation) = match name.rsplit_once('#') {
            Some((path, number)) if !Path::new(name).exists() => match number.parse() {
                Ok(number) => (path, Some(number)),
                Err(_) => (name, None),
            },
            _ => (name, None),
        };
        let file = File::open(path).map_err(|error| Error::Read {
            path: path.into(),
            error,
        })?;
        let bytes = TextLimit::default().read(path, file)?;
        let text = String::from_utf8(bytes).map_err(|_| TargetError {
            at: path.to_owned(),
            problem: TargetProblem::NoText,
        })?;
        Ok(Self::parse(path, &text, violation)?)
    }

    /// The target in a text, which messages call `file`.
    pub fn parse(file: &str, text: &str, violation: Option<usize>) -> Result<Self, TargetError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let fail = |at: String, problem| Err(TargetError { at, problem });
        if text.trim_start().starts_with('{') {
            let parsed = Self::of_record(file, text, violation.unwrap_or(1));
            return parsed.or_else(|problem| fail(file.to_owned(), problem));
        }
        if let Some(number) = violation {
            return fail(file.to_owned(), TargetProblem::NotARecord(number));
        }
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let is_comment = ["--", "//", "#"].iter().any(|it| line.starts_with(it));
            if line.is_empty() || is_comment {
                continue;
            }
            let Some(says) = Says::new(line) else {
                let found = line.chars().take(60).collect();
                return fail(format!("{file}:{number}"), TargetProblem::NoPair(found));
            };
            lines.push(Line {
                number: Some(number),
                says,
            });
        }
        Ok(TargetText {
            file: file.to_owned(),
            record: None,
            lines,
        })
    }

    fn of_record(file: &str, text: &str, number: usize) -> Result<Self, TargetProblem> {
        let record: Value = serde_json::from_str(text)
            .map_err(|error| TargetProblem::NotJson(error.to_string()))?;
        let field = |name: &'static str| record.get(name).ok_or(TargetProblem::NoRecord(name));
        let word = |name: &'static str| {
            let text = field(name)?.as_str();
            text.map(str::to_owned).ok_or(TargetProblem::NoRecord(name))
        };
        let violations = field("violations")?.as_array();
        let violations = violations.ok_or(TargetProblem::NoRecord("violations"))?;
        let chosen = number.checked_sub(1).and_then(|at| violations.get(at));
        let violation = chosen.ok_or(match violations.len() {
            0 => TargetProblem::NoViolation,
            n => TargetProblem::NoSuchViolation { asked: number, n },
        })?;
        let state = violation.get("state").and_then(Value::as_object);
        let state: &Map<String, Value> = state.ok_or(TargetProblem::NoRecord("state"))?;
        if state.is_empty() {
            return Err(TargetProblem::NoState(number));
        }
        let lines = state.iter().map(|(name, value)| Line {
            number: None,
            says: Says::Value {
                name: name.clone(),
                value: match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                },
            },
        });
        Ok(TargetText {
            file: file.to_owned(),
            lines: lines.collect(),
            record: Some(RecordOrigin {
                model: word("model")?,
                language: word("language")?,
                is_of_claim: violation.get("kind").and_then(Value::as_str) == Some("claim"),
            }),
        })
    }

    /// A state of the model from `source`, whose leaves have these values. It `is_of_claim` where it
    /// is one of a product with a claim.
    pub(crate) fn of_state(
        source: &ModelSource,
        leaves: Vec<(String, String)>,
        is_of_claim: bool,
    ) -> Self {
        let lines = leaves.into_iter().map(|(name, value)| Line {
            number: None,
            says: Says::Value { name, value },
        });
        TargetText {
            file: source.name().to_owned(),
            lines: lines.collect(),
            record: Some(RecordOrigin {
                model: source.name().to_owned(),
                language: source.language.name().to_owned(),
                is_of_claim,
            }),
        }
    }

    /// Refuses a record of a model in another language.
    pub(crate) fn check_language(&self, wanted: &str) -> Result<(), TargetError> {
        match &self.record {
            Some(record) if record.language != wanted => Err(TargetError {
                at: self.file.clone(),
                problem: TargetProblem::OtherLanguage {
                    found: record.language.clone(),
                    wanted: wanted.to_owned(),
                },
            }),
            _ => Ok(()),
        }
    }

    /// What the text says about states of a program, whose parts are called as `naming` has it.
    pub fn resolve(
        &self,
        program: &Program,
        naming: Option<&dyn Naming>,
    ) -> Result<Target, TargetError> {
        let leaves = program.leaves();
        let names: Vec<&str> = leaves.named.iter().map(|(name, _)| name.as_str()).collect();
        let reverse = match naming.map(|naming| naming.reverse(&names)) {
            None => None,
            Some(Some(reverse)) => Some(reverse),
            Some(None) => {
                return Err(self.error(None, TargetProblem::NoNames));
            }
        };
        let mut resolver = Resolver {
            types: &program.types,
            at_by_name: names.iter().copied().zip(0..).collect(),
            leaves: &leaves.named,
            multisets: &leaves.multisets,
            reverse: reverse.as_deref(),
            given: vec![None; names.len()],
            left_out: Vec::new(),
        };
        let mut rest_undefined = false;
        for line in &self.lines {
            let done = match &line.says {
                Says::Value { name, value } => resolver.line(name, value, line.number),
                Says::RestUndefined => {
                    rest_undefined = true;
                    Ok(())
                }
            };
            match (done, &self.record) {
                (Ok(()), _) => {}
                // Nobody chose what a record has.
                (Err(TargetProblem::Varies { name, .. }), Some(_)) => {
                    resolver.left_out.push(name);
                }
                // What a product has besides the model.
                (Err(TargetProblem::UnknownName { name, .. }), Some(record))
                    if record.is_of_claim =>
                {
                    resolver.left_out.push(name);
                }
                (Err(problem @ TargetProblem::UnknownName { .. }), Some(record)) => {
                    let problem = record.is_other(problem.to_string());
                    return Err(self.error(None, problem));
                }
                (Err(problem), _) => return Err(self.error(line.number, problem)),
            }
        }
        // A process that does not exist has no name in a state of Promela.
        if let (Some(record), None) = (&self.record, &reverse)
            && let Some(at) = resolver.given.iter().position(Option::is_none)
        {
            let why = format!("its state has no `{}`", names[at]);
            return Err(self.error(None, record.is_other(why)));
        }
        if rest_undefined {
            resolver.undefine_rest();
        }
        resolver
            .target()
            .map_err(|problem| self.error(None, problem))
    }

    fn error(&self, line: Option<usize>, problem: TargetProblem) -> TargetError {
        let at = match line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        };
        TargetError { at, problem }
    }
}

impl RecordOrigin {
    fn is_other(&self, why: String) -> TargetProblem {
        TargetProblem::OtherModel {
            model: self.model.clone(),
            why,
        }
    }
}

impl Says {
    /// What a line says that a trace may have.
    fn new(line: &str) -> Option<Self> {
        if let Some(name) = line.strip_suffix(" is undefined") {
            return match name.trim() {
                "everything" => Some(Says::RestUndefined),
                name => Some(Says::Value {
                    name: name.to_owned(),
                    value: "undefined".to_owned(),
                }),
            };
        }
        if line.starts_with("the other ") && line.ends_with(" values are undefined") {
            return Some(Says::RestUndefined);
        }
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let is_pair = !name.is_empty() && !value.is_empty();
        is_pair.then(|| Says::Value {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// The leaves of a program, and what was said about them so far.
struct Resolver<'p> {
    types: &'p Types,
    leaves: &'p [(String, Leaf)],
    multisets: &'p [String],
    at_by_name: HashMap<&'p str, usize>,
    reverse: Option<&'p dyn ReverseNaming>,
    /// By leaf, the value and the line that gave it.
    given: Vec<Option<(Option<i64>, Option<usize>)>>,
    left_out: Vec<String>,
}

impl Resolver<'_> {
    fn line(
        &mut self,
        name: &str,
        value: &str,
        number: Option<usize>,
    ) -> Result<(), TargetProblem> {
        let is_in = |multiset: &String| {
            let rest = [multiset.as_str(), &shape(multiset)]
                .into_iter()
                .find_map(|it| name.strip_prefix(it));
            rest.is_some_and(|rest| rest.starts_with('{'))
        };
        if self.multisets.iter().any(is_in) {
            self.left_out.push(name.to_owned());
            return Ok(());
        }
        if !name.contains("[*]") {
            return self.value(name, value, number);
        }
        let mut alike = self.names();
        alike.retain(|it| shape(it) == name);
        if alike.is_empty() {
            return Err(self.unknown(name));
        }
        alike
            .iter()
            .try_for_each(|it| self.value(it, value, number))
    }

    fn value(
        &mut self,
        name: &str,
        value: &str,
        number: Option<usize>,
    ) -> Result<(), TargetProblem> {
        let parts = match self.reverse {
            None => vec![(name.to_owned(), value.to_owned())],
            Some(reverse) => match reverse.leaves(name, value) {
                Ok(parts) => parts,
                Err(NoLeaves::Unknown) => return Err(self.unknown(name)),
                Err(NoLeaves::Varies(why)) => {
                    let name = name.to_owned();
                    return Err(TargetProblem::Varies { name, why });
                }
                Err(NoLeaves::NoValue(why)) => {
                    return Err(TargetProblem::NoValue {
                        name: name.to_owned(),
                        value: value.to_owned(),
                        why,
                    });
                }
            },
        };
        for (part, part_value) in &parts {
            let Some(&at) = self.at_by_name.get(part.as_str()) else {
                return Err(match self.reverse {
                    None => self.unknown(name),
                    Some(_) => TargetProblem::NoValue {
                        name: name.to_owned(),
                        value: value.to_owned(),
                        why: format!("the model has no `{part}`"),
                    },
                });
            };
            let ty = self.leaves[at].1.ty;
            let found = self.types.value_named(ty, part_value);
            let found = found.map_err(|why| match why {
                NoValue::Unknown => TargetProblem::NoValue {
                    name: name.to_owned(),
                    value: part_value.clone(),
                    why: format!("it may be {}", self.types.describe_values(ty)),
                },
                NoValue::Ambiguous => TargetProblem::AmbiguousValue {
                    name: name.to_owned(),
                    value: part_value.clone(),
                },
            })?;
            if let Some((_, first)) = self.given[at] {
                let name = name.to_owned();
                return Err(TargetProblem::Twice { name, first });
            }
            self.given[at] = Some((found, number));
        }
        Ok(())
    }

    /// All names that may be given.
    fn names(&self) -> Vec<String> {
        match self.reverse {
            None => self.leaves.iter().map(|(name, _)| name.clone()).collect(),
            Some(reverse) => reverse.names(),
        }
    }

    fn unknown(&self, name: &str) -> TargetProblem {
        let names = self.names();
        let is_part = |it: &&str| {
            let rest = it.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['[', '.', ':']))
        };
        // One of its parts, where the whole of something is named.
        let mut all = names.iter().map(String::as_str);
        let near = all.clone().find(is_part);
        let near = near.or_else(|| did_you_mean(name, &mut all));
        TargetProblem::UnknownName {
            name: name.to_owned(),
            near: near.map(str::to_owned),
        }
    }

    fn undefine_rest(&mut self) {
        for ((_, leaf), given) in self.leaves.iter().zip(&mut self.given) {
            let is_total = self.types.simple(leaf.ty).is_none_or(|it| it.is_total);
            if given.is_none() && !is_total {
                *given = Some((None, None));
            }
        }
    }

    fn target(self) -> Result<Target, TargetProblem> {
        let given = self.leaves.iter().zip(self.given);
        let leaves: Vec<TargetLeaf> = given
            .filter_map(|((name, leaf), given)| {
                Some(TargetLeaf {
                    name: name.clone(),
                    leaf: leaf.clone(),
                    value: given?.0,
                })
            })
            .collect();
        match leaves.is_empty() {
            true => Err(TargetProblem::Empty),
            false => Ok(Target {
                leaves,
                left_out: self.left_out,
            }),
        }
    }
}
