//! The expected results of model files: directives in their leading comments, and the table of
//! expected results for models that are not our own.
//!
//! Directives stand in a paragraph of their own among the comments at the head of a file:
//!
//! ```text
//! -- The textbook failure of the dining philosophers.
//! --
//! -- expect: violated
//! -- exit: 1
//! -- violation: deadlock depth 10
//! ```
//!
//! In Promela the comments are `/* … */`, with or without a `*` before each line, or `//`.
//!
//! A line of such a paragraph that is no directive is an error, and so is a line anywhere in the
//! head that looks like a misspelt one: a test that silently checks less than it claims is worse
//! than none.

use std::path::{Path, PathBuf};

/// What a model file expects of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directives {
    /// The verdict.
    pub expect: Verdict,
    /// Number of states.
    pub states: Option<u64>,
    /// Number of firings.
    pub transitions: Option<u64>,
    /// Number of layers after the startstates.
    pub depth: Option<u64>,
    /// Exit code of the command.
    pub exit: Option<i32>,
    /// What is violated.
    pub violation: Option<Violation>,
    /// Flags the run needs, split at blanks.
    pub flags: Vec<String>,
    /// Results for other values of constants.
    pub scales: Vec<Scale>,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything holds.
    Verified,
    /// Something does not.
    Violated,
    /// The model is rejected before any search.
    Rejected,
}

/// What is violated, by the names of the run record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Such as `invariant`, `deadlock`, `range`.
    pub kind: String,
    /// Name of the property, or the message.
    pub name: Option<String>,
    /// Depth of the state.
    pub depth: Option<u64>,
}

/// Results for other values of constants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// Constants by name, as they are given on the command line.
    pub constants: Vec<(String, String)>,
    /// Number of states.
    pub states: Option<u64>,
    /// Number of firings.
    pub transitions: Option<u64>,
    /// Number of layers after the startstates.
    pub depth: Option<u64>,
}

/// A row of the table of expected results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Path of the model below the folder.
    pub model: String,
    /// Constants by name.
    pub overrides: Vec<(String, String)>,
    /// The verdict.
    pub verdict: Verdict,
    /// Number of orbits, where known.
    pub states: Option<u64>,
    /// Number of firings, where known.
    pub transitions: Option<u64>,
    /// Number of layers after the startstates, where known.
    pub depth: Option<u64>,
    /// How long it takes.
    pub size: Size,
}

/// How long a row of the table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Seconds.
    Small,
    /// Minutes.
    Medium,
    /// More.
    Large,
}

/// A line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for CorpusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for CorpusError {}

/// The folder of models that are not our own, where there is one.
pub fn models_folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HADAL_MODELS")?);
    folder.is_dir().then_some(folder)
}

/// The language of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `.m`.
    Murphi,
    /// `.pml`.
    Promela,
}

impl Language {
    /// By the extension of a file; `None` if it is no model.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "m" => Some(Language::Murphi),
            "pml" => Some(Language::Promela),
            _ => None,
        }
    }

    /// The flag that sets a constant.
    pub fn constant_flag(self, name: &str, value: &str) -> String {
        match self {
            Language::Murphi => format!("--const={name}={value}"),
            Language::Promela => format!("--define={name}={value}"),
        }
    }
}

/// The model files of a folder, sorted by name, folders inside it included.
pub fn model_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    files(folder, |path| Language::of(path).is_some())
}

/// The model files of a folder that are in one language.
pub fn model_files_in(folder: &Path, language: Language) -> std::io::Result<Vec<PathBuf>> {
    files(folder, |path| Language::of(path) == Some(language))
}

fn files(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_wanted(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

const NAMES: [&str; 8] = [
    "expect",
    "states",
    "transitions",
    "depth",
    "exit",
    "violation",
    "flags",
    "scale",
];

/// Reads the directives of a model file. A file must at least have an expected result.
pub fn directives(text: &str) -> Result<Directives, CorpusError> {
    let mut found = Found::default();
    let mut head = Head::default();
    let mut in_directives = false;
    let mut at_start = true;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let error = |message: String| CorpusError {
            line: line_number,
            message,
        };
        let Some(comment) = head.comment(line) else {
            break;
        };
        if comment.is_empty() {
            (in_directives, at_start) = (false, true);
            continue;
        }
        let split = comment
            .split_once(':')
            .map(|(name, rest)| (name.trim_end(), rest.trim()));
        let known = split.filter(|(name, _)| NAMES.contains(name));
        if at_start {
            (in_directives, at_start) = (known.is_some(), false);
        }
        match (in_directives, known, split) {
            (true, Some((name, rest)), _) => found.add(name, rest).map_err(error)?,
            (true, None, _) => return Err(error(format!("`{comment}` is no directive"))),
            (false, Some((name, _)), _) => {
                let message = format!("`{name}:` stands inside prose, not in its own paragraph");
                return Err(error(message));
            }
            (false, None, Some((name, _))) => {
                if let Some(near) = NAMES.iter().find(|known| is_near(name, known)) {
                    return Err(error(format!("`{name}:` may be meant to be `{near}:`")));
                }
            }
            (false, None, None) => {}
        }
    }
    found.finish()
}

/// The comments at the head of a file, of which a line may be inside a block.
#[derive(Default)]
struct Head {
    in_block: bool,
}

impl Head {
    /// What the next line says, nothing if it is empty; `None` if the head ends there.
    fn comment<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let line = line.trim();
        if !self.in_block {
            if line.is_empty() {
                return Some(line);
            }
            let comment = line.strip_prefix("--").or_else(|| line.strip_prefix("//"));
            if let Some(comment) = comment {
                return Some(comment.trim());
            }
            self.in_block = line.starts_with("/*");
            if !self.in_block {
                return None;
            }
        }
        let line = line.strip_prefix("/*").unwrap_or(line);
        let (line, is_closed) = match line.split_once("*/") {
            Some((before, _)) => (before, true),
            None => (line, false),
        };
        self.in_block = !is_closed;
        Some(line.trim_start_matches('*').trim())
    }
}

/// Directives in the order of the file, each at most once but for scales.
#[derive(Default)]
struct Found {
    expect: Option<Verdict>,
    states: Option<u64>,
    transitions: Option<u64>,
    depth: Option<u64>,
    exit: Option<i32>,
    violation: Option<Violation>,
    flags: Option<Vec<String>>,
    scales: Vec<Scale>,
}

impl Found {
    fn add(&mut self, name: &str, rest: &str) -> Result<(), String> {
        fn set<T>(name: &str, slot: &mut Option<T>, value: T) -> Result<(), String> {
            match slot.replace(value) {
                None => Ok(()),
                Some(_) => Err(format!("`{name}:` is given twice")),
            }
        }
        match name {
            "expect" => set(name, &mut self.expect, verdict(rest)?),
            "states" => set(name, &mut self.states, number(rest)?),
            "transitions" => set(name, &mut self.transitions, number(rest)?),
            "depth" => set(name, &mut self.depth, number(rest)?),
            "exit" => set(name, &mut self.exit, number(rest)?),
            "violation" => set(name, &mut self.violation, violation(rest)?),
            "flags" => {
                let flags: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
                if flags.is_empty() {
                    return Err("`flags:` names no flag".to_owned());
                }
                set(name, &mut self.flags, flags)
            }
            "scale" => {
                self.scales.push(scale(rest)?);
                Ok(())
            }
            _ => Err(format!("`{name}:` is no directive")),
        }
    }

    fn finish(self) -> Result<Directives, CorpusError> {
        let error = |message: &str| CorpusError {
            line: 1,
            message: message.to_owned(),
        };
        let expect = self
            .expect
            .ok_or_else(|| error("the file has no expected result"))?;
        if self.violation.is_some() && expect != Verdict::Violated {
            return Err(error("a violation is named but not expected"));
        }
        Ok(Directives {
            expect,
            states: self.states,
            transitions: self.transitions,
            depth: self.depth,
            exit: self.exit,
            violation: self.violation,
            flags: self.flags.unwrap_or_default(),
            scales: self.scales,
        })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number here"))
}

fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "verified" => Ok(Verdict::Verified),
        "violated" => Ok(Verdict::Violated),
        "rejected" => Ok(Verdict::Rejected),
        _ => Err(format!("`{text}` is no verdict")),
    }
}

/// `KIND ["NAME"] [depth D]`.
fn violation(text: &str) -> Result<Violation, String> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut rest = rest.trim_start();
    let mut name = None;
    if let Some(quoted) = rest.strip_prefix('"') {
        let (inner, after) = quoted
            .split_once('"')
            .ok_or_else(|| "the name of the violation is not closed".to_owned())?;
        name = Some(inner.to_owned());
        rest = after.trim_start();
    }
    let depth = match rest.strip_prefix("depth ") {
        Some(depth) => Some(number(depth.trim())?),
        None if rest.is_empty() => None,
        None => return Err(format!("`{rest}` is not `depth N`")),
    };
    if kind.is_empty() || kind.contains('"') {
        return Err("a violation has a kind".to_owned());
    }
    Ok(Violation {
        kind: kind.to_owned(),
        name,
        depth,
    })
}

/// `NAME=VALUE ... [states N] [transitions N] [depth N]`.
fn scale(text: &str) -> Result<Scale, String> {
    let mut scale = Scale::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let slot = match word {
            "states" => &mut scale.states,
            "transitions" => &mut scale.transitions,
            "depth" => &mut scale.depth,
            _ => {
                scale.constants.push(constant(word)?);
                continue;
            }
        };
        let value = words
            .next()
            .ok_or_else(|| format!("`{word}` lacks its number"))?;
        if slot.replace(number(value)?).is_some() {
            return Err(format!("`{word}` is given twice"));
        }
    }
    if scale.constants.is_empty() {
        return Err("a scale sets a constant, as NAME=VALUE".to_owned());
    }
    Ok(scale)
}

fn constant(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{word}` is not NAME=VALUE")),
    }
}

impl Scale {
    /// The flags that set the constants of a model.
    pub fn flags(&self, language: Language) -> Vec<String> {
        let constants = self.constants.iter();
        constants
            .map(|(name, value)| language.constant_flag(name, value))
            .collect()
    }
}

/// Whether a word is a known one with up to two letters wrong, missing or too many.
fn is_near(word: &str, known: &str) -> bool {
    let known: Vec<char> = known.chars().collect();
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, c) in word.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, k) in known.iter().enumerate() {
            let cost = diagonal + usize::from(c != *k);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[known.len()] <= if known.len() > 4 { 2 } else { 1 }
}

/// Reads the table of expected results, as tab-separated columns below a line of their names.
pub fn expected_rows(text: &str) -> Result<Vec<Row>, CorpusError> {
    const HEADER: &str = "model\toverrides\tverdict\tstates\ttransitions\tdepth\tsize";
    let mut rows = Vec::new();
    let mut in_table = false;
    for (index, line) in text.lines().enumerate() {
        let error = |message: String| CorpusError {
            line: index + 1,
            message,
        };
        if line.starts_with('#') || line.trim().is_empty() {
        } else if !in_table {
            if line.trim_end() != HEADER {
                return Err(error(
                    "the names of the columns are expected here".to_owned(),
                ));
            }
            in_table = true;
        } else {
            rows.push(row(line).map_err(error)?);
        }
    }
    Ok(rows)
}

fn row(line: &str) -> Result<Row, String> {
    let columns: Vec<&str> = line.trim_end().split('\t').collect();
    let [
        model,
        overrides,
        verdict_name,
        states,
        transitions,
        depth,
        size,
    ] = columns[..]
    else {
        return Err(format!("7 columns are expected, not {}", columns.len()));
    };
    let count = |text: &str| match text {
        "-" => Ok(None),
        _ => number(text).map(Some),
    };
    Ok(Row {
        model: model.to_owned(),
        overrides: match overrides {
            "-" => Vec::new(),
            _ => overrides
                .split([' ', ','])
                .filter(|word| !word.is_empty())
                .map(constant)
                .collect::<Result<_, _>>()?,
        },
        verdict: verdict(verdict_name)?,
        states: count(states)?,
        transitions: count(transitions)?,
        depth: count(depth)?,
        size: match size {
            "s" => Size::Small,
            "m" => Size::Medium,
            "l" => Size::Large,
            _ => return Err(format!("`{size}` is no size")),
        },
    })
}

#[cfg(test)]
mod tests;
