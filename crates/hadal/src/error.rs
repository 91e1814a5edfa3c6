//! Why a model cannot be loaded or a check gives no result.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hadal_report::units::{bytes, counted};
use hadal_store::Error as StoreError;
use hadal_syntax::{Diagnostic, Sources};

use crate::Style;
use crate::language::{Language, languages};
use crate::load_limits::LoadStopped;

/// Why there is no model or no result.
///
/// Messages name what was found; they name no flag of any program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A path names a folder where a model is expected.
    #[error("`{}` is a folder, not a model", .0.display())]
    IsFolder(PathBuf),
    /// The extension of a file is that of no language.
    #[error("{}", unknown_language(path, extension.as_deref()))]
    UnknownLanguage {
        /// The file.
        path: PathBuf,
        /// Its extension, if it has one.
        extension: Option<String>,
    },
    /// There is no language of this name.
    #[error("there is no language `{name}`; there are: {}", known.join(", "))]
    NoLanguage {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A text is too long.
    #[error(transparent)]
    Source(#[from] hadal_syntax::SourceError),
    /// The model is not one that can be searched.
    #[error(transparent)]
    Rejected(Box<Rejection>),
    /// A state to look for cannot be read, or is none of the model.
    #[error(transparent)]
    Target(#[from] crate::TargetError),
    /// An option makes no sense, by itself or with the others.
    #[error("{0}")]
    Invalid(String),
    /// A text is longer than it may be.
    #[error("{}", text_too_long(name, *limit, *budget))]
    TextTooLong {
        /// The file, or what stands for it.
        name: String,
        /// Bytes that it may have.
        limit: u64,
        /// The memory budget, if that is what the limit follows from.
        budget: Option<u64>,
    },
    /// Loading the model was stopped.
    #[error("{0}")]
    LoadStopped(LoadStopped),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The memory of the process cannot be measured, so no budget could be kept.
    #[error("cannot measure the memory of this process (/proc/self/status): {0}")]
    Unmeasured(io::Error),
    /// The system allows too little address space.
    #[error(
        "the address space of {} that the system allows (ulimit -v) is too small for this model; {} \
         suffice", bytes(*limit), bytes(*least)
    )]
    AddressSpace {
        /// Bytes that the system allows.
        limit: u64,
        /// Bytes that suffice for one thread, stacks included.
        least: u64,
    },
    /// A memory budget in which nothing can be done.
    #[error("{}", budget_too_small(*budget, *least))]
    BudgetTooSmall {
        /// The budget.
        budget: u64,
        /// What the process holds already, or the least budget there is.
        least: u64,
    },
    /// A memory budget too small for the states of the model.
    #[error(
        "a memory budget of {} is too small for states of {}; this model needs at least {}",
        bytes(*budget), bytes(*state_bytes), needed(*least, *asked)
    )]
    BudgetTooSmallForStates {
        /// The budget.
        budget: u64,
        /// Bytes of a state.
        state_bytes: u64,
        /// What is needed on one thread.
        least: u64,
        /// The threads asked for, and what they need.
        asked: (usize, u64),
    },
    /// A folder cannot be used for a new run.
    #[error("{}", unusable_folder(path, reason))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is in the way.
        reason: FolderReason,
    },
    /// A folder holds no run.
    #[error("there is no {} `{}`", if *.is_folder { "run in" } else { "folder" }, path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
        /// Whether there is a folder at all.
        is_folder: bool,
    },
    /// A run that is finished cannot be resumed.
    #[error("the run in `{}` is finished; there is nothing to resume", .0.display())]
    Finished(PathBuf),
    /// The run is of another model.
    #[error("the run in `{}` is of another model", .0.display())]
    OtherModel(PathBuf),
    /// A run is resumed with other options, or another strategy, than it was started with.
    #[error("the run in `{}` keeps the options it was started with", .0.display())]
    OtherOptions(PathBuf),
    /// The model of a run is a Rust type, which a folder cannot hold.
    #[error("the run in `{}` is of a Rust type, which a folder cannot hold", .0.display())]
    NoText(PathBuf),
    /// A stop was requested before the search began.
    #[error("stopped before the search began")]
    Stopped,
    /// A run was started by another version.
    #[error(
        "the run was started by hadal {started}, and can only be resumed by it; this is {this}"
    )]
    OtherVersion {
        /// The version that started it.
        started: String,
        /// This version.
        this: String,
    },
    /// What a folder holds cannot be read or written.
    #[error("{}", store_error(path, error))]
    Store {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        error: StoreError,
    },
    /// A graph cannot be written.
    #[error("cannot write `{}`: {error}", path.display())]
    Output {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: Box<hadal_lts::Error>,
    },
    /// The search gave no outcome.
    #[error("{model}: {error}")]
    Search {
        /// The model.
        model: String,
        /// The folder of the run, if it is kept.
        folder: Option<PathBuf>,
        /// Why.
        error: Box<hadal_search::Error>,
    },
    /// The graph that is searched cannot be read any more.
    #[error("{name}: {error}")]
    Graph {
        /// Its file.
        name: String,
        /// What is wrong.
        error: String,
    },
    /// A bug of this library.
    #[error("internal error: {0}")]
    Internal(String),
}

/// What is in the way of a new run in a folder.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderReason {
    /// Files that are not of a run.
    NotEmpty,
    /// A run that can be resumed.
    Unfinished {
        /// States found so far.
        states: u64,
    },
    /// A run that is finished.
    FinishedRun,
    /// It lies in memory itself, so it would save none.
    InMemory,
    /// A run of another version.
    OtherVersion(StoreError),
    /// The system refuses.
    Refused(io::Error),
}

impl fmt::Display for FolderReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FolderReason::NotEmpty => write!(f, "is not empty"),
            FolderReason::Unfinished { states } => {
                write!(
                    f,
                    "holds an unfinished run ({} so far)",
                    counted(*states, "state")
                )
            }
            FolderReason::FinishedRun => write!(f, "holds a finished run"),
            FolderReason::InMemory => write!(f, "lies in memory itself, so it would save none"),
            FolderReason::OtherVersion(error) => write!(f, "holds another version's run: {error}"),
            FolderReason::Refused(error) => write!(f, "cannot be used: {error}"),
        }
    }
}

/// Why a model is rejected before its first state: diagnostics as data. Displays them as plain
/// text.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The texts that the diagnostics point into.
    pub sources: Sources,
    /// What is suspect, where the texts are right and only their symmetry is not.
    pub warnings: Vec<Diagnostic>,
    /// Why it is rejected.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors without a place in the text.
    pub messages: Vec<String>,
}

impl Rejection {
    /// The diagnostics as text.
    pub fn render(&self, style: Style) -> String {
        let renderer = style.renderer();
        let mut parts: Vec<String> = [&self.warnings, &self.diagnostics]
            .into_iter()
            .filter(|diagnostics| !diagnostics.is_empty())
            .map(|diagnostics| renderer.render_all(&self.sources, diagnostics))
            .map(|text| text.trim_end().to_owned())
            .collect();
        let error = style.bad("error");
        let messages = self.messages.iter();
        parts.extend(messages.map(|message| format!("{error}: {message}")));
        parts.join("\n")
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::plain()))
    }
}

impl std::error::Error for Rejection {}

fn unusable_folder(path: &Path, reason: &FolderReason) -> String {
    let path = path.display();
    match reason {
        FolderReason::Refused(error) => format!("cannot use `{path}`: {error}"),
        FolderReason::OtherVersion(error) => format!("in `{path}`: {error}"),
        reason => format!("`{path}` {reason}"),
    }
}

fn store_error(path: &Path, error: &StoreError) -> String {
    match error {
        StoreError::Locked { .. } => error.to_string(),
        _ => format!("in `{}`: {error}", path.display()),
    }
}

fn unknown_language(path: &Path, extension: Option<&str>) -> String {
    let path = path.display();
    let known = |language: &&dyn Language| {
        let extensions: Vec<String> = language
            .extensions()
            .iter()
            .map(|it| format!("`.{it}`"))
            .collect();
        format!("{} ends in {}", language.title(), extensions.join(" or "))
    };
    let known: Vec<String> = languages().iter().map(known).collect();
    let known = known.join(", ");
    match extension {
        Some(extension) => {
            format!("the extension `.{extension}` of `{path}` is that of no model; {known}")
        }
        None => format!("the language of `{path}` is unknown, for it has no extension; {known}"),
    }
}

fn text_too_long(name: &str, limit: u64, budget: Option<u64>) -> String {
    let limit = bytes(limit);
    match budget {
        Some(budget) => format!(
            "`{name}` has more than {limit} of text, a quarter of the memory budget of {}",
            bytes(budget)
        ),
        None => format!("`{name}` has more than {limit} of text"),
    }
}

/// What a search needs on one thread and on those asked for.
fn needed(least: u64, (threads, bytes_needed): (usize, u64)) -> String {
    match threads {
        0 | 1 => bytes(least),
        _ => format!(
            "{} with 1 thread, {} with {threads}",
            bytes(least),
            bytes(bytes_needed)
        ),
    }
}

fn budget_too_small(budget: u64, least: u64) -> String {
    let [budget, least] = match [budget, least].map(bytes) {
        // They differ by less than is shown.
        [shown, least_shown] if shown == least_shown => {
            [budget, least].map(|bytes| format!("{bytes} bytes"))
        }
        shown => shown,
    };
    format!("a memory budget of {budget} is too small for this model; it needs at least {least}")
}
