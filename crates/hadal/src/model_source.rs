//! The texts of a model, and how to load them.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hadal_search::Deadlock;
use hadal_syntax::{Source, Sources};

use crate::language::{self, Language, LanguageOptions};
use crate::names::Named;
use crate::target::TargetText;
use crate::{Directed, Error, LoadLimits, LoadedModel};

/// The texts of a model in a registered [language](crate::language), and how to load them.
///
/// ```
/// # fn main() -> Result<(), hadal::Error> {
/// let text = "const N: 3; var x: 0..N; startstate x := 0; end; rule x < N ==> x := x + 1; end;";
/// let source = hadal::ModelSource::text("toy.m", text, "murphi")?;
/// let model = source.constant("N", "7").load()?;
/// assert_eq!(model.constants, [("N".to_owned(), "7".to_owned())]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ModelSource {
    /// All files: those that a language includes are added when the model is loaded.
    pub sources: Sources,
    /// The language.
    pub language: &'static dyn Language,
    /// The options of the language.
    pub options: LanguageOptions,
    /// Whether states are reduced.
    pub symmetry: Symmetry,
    /// What makes the successors.
    pub engine: Engine,
    /// Depth of recursion before it is a violation.
    pub call_limit: u32,
    /// What directs the search, where something does.
    pub directed: Option<Directed>,
    /// Where a graph is, which has no text.
    pub(crate) graph: Option<GraphFile>,
}

/// Where a graph is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GraphFile {
    /// A file.
    Path(PathBuf),
    /// Standard input, which can be read once.
    Stdin,
}

/// Reduction by the symmetry of scalarsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// One state of each class of interchangeable ones is visited.
    #[default]
    Full,
    /// All are.
    Off,
}

/// What makes the successors of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Native code, compiled when the model is loaded.
    #[default]
    Native,
    /// The reference interpreter.
    Interpreter,
}

impl ModelSource {
    /// Depth of recursion before it is a violation, unless another is set.
    pub const CALL_LIMIT: u32 = 1000;

    /// Deeper recursion would need more stack than a thread should have.
    pub const CALL_LIMIT_MAX: u32 = 100_000;

    /// Bytes that a text may have, unless another limit is set.
    pub const TEXT_LIMIT: u64 = 64 << 20;

    /// Reads a file, whose language follows from its extension.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::file_of(path.as_ref(), None, TextLimit::default())
    }

    /// Reads a file of a language by name.
    pub fn file_in(path: impl AsRef<Path>, language: &str) -> Result<Self, Error> {
        Self::file_of(path.as_ref(), Some(language), TextLimit::default())
    }

    /// Reads a file of a language by name, or else by its extension, unless it is too long.
    pub fn file_of(path: &Path, language: Option<&str>, limit: TextLimit) -> Result<Self, Error> {
        if path.is_dir() {
            return Err(Error::IsFolder(path.to_owned()));
        }
        let language = match language {
            Some(name) => language::language(name)?,
            None => language::language_of(path)?,
        };
        let name = path.display().to_string();
        let failed = |error| Error::Read {
            path: path.to_owned(),
            error,
        };
        if language.is_graph() {
            // It is read when it is loaded, but that it can be is known now.
            File::open(path).map_err(failed)?;
            return Self::of_graph(name, GraphFile::Path(path.to_owned()), language);
        }
        let file = File::open(path).map_err(failed)?;
        // A device or a pipe has no length.
        let len = file.metadata().map_or(0, |about| about.len());
        if len > limit.bytes {
            return Err(limit.error(&name));
        }
        let bytes = limit.read(&name, file)?;
        let source = Source::from_bytes(name, bytes)?;
        Ok(Self::new(Sources::new(source), language))
    }

    /// A graph, whose file has this name in messages.
    pub(crate) fn of_graph(
        name: String,
        file: GraphFile,
        language: &'static dyn Language,
    ) -> Result<Self, Error> {
        Ok(ModelSource {
            graph: Some(file),
            ..Self::new(Sources::new(Source::new(name, "")?), language)
        })
    }

    /// A graph on standard input, which is read when it is loaded. A run on it cannot be resumed.
    pub fn graph_on_stdin(name: &str) -> Result<Self, Error> {
        Self::of_graph(name.to_owned(), GraphFile::Stdin, &language::Graph)
    }

    /// Reads a stream, unless it is too long. `name` stands for the file in messages.
    pub fn stream(
        name: &str,
        stream: impl Read,
        language: &'static dyn Language,
        limit: TextLimit,
    ) -> Result<Self, Error> {
        let bytes = limit.read(name, stream)?;
        let source = Source::from_bytes(name, bytes)?;
        Ok(Self::new(Sources::new(source), language))
    }

    /// A text of a language by name. `name` stands for the file in messages.
    pub fn text(
        name: impl Into<String>,
        text: impl Into<String>,
        language: &str,
    ) -> Result<Self, Error> {
        let sources = Sources::new(Source::new(name, text)?);
        Ok(Self::new(sources, language::language(language)?))
    }

    /// Texts of a language.
    pub fn new(sources: Sources, language: &'static dyn Language) -> Self {
        ModelSource {
            sources,
            language,
            options: LanguageOptions::default(),
            symmetry: Symmetry::default(),
            engine: Engine::default(),
            call_limit: Self::CALL_LIMIT,
            directed: None,
            graph: None,
        }
    }

    /// The name of the model: that of the file the user named.
    pub fn name(&self) -> &str {
        self.sources.root().name()
    }

    /// Sets an [option](Language::options) of the language. The methods below do so for some that
    /// are common.
    pub fn option(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.options.push(name, value);
        self
    }

    /// Sets the dialect, by name.
    pub fn dialect(self, name: impl Into<String>) -> Self {
        self.option("dialect", name.into())
    }

    /// Overrides a constant of the model.
    pub fn constant(self, name: impl fmt::Display, value: impl fmt::Display) -> Self {
        self.option("const", format_args!("{name}={value}"))
    }

    /// Sets a goal: an expression of the language, which is looked for in place of the model's
    /// properties. A state where it holds is a violation, and then nothing else that the model
    /// asserts is: neither its properties nor, unless asked for, a deadlock.
    pub fn goal(self, expression: impl fmt::Display) -> Self {
        self.option(language::GOAL.name, expression)
    }

    /// The goal, if there is one.
    pub fn goal_text(&self) -> Option<&str> {
        self.options.get(language::GOAL.name)
    }

    /// Sets what a step costs: a numeric expression of the language, evaluated in the state that the
    /// step leads to.
    pub fn cost(mut self, expression: impl fmt::Display) -> Self {
        self.options.replace(language::COST.name, expression);
        self
    }

    /// The cost of a step, if it was set.
    pub fn cost_text(&self) -> Option<&str> {
        self.options.get(language::COST.name)
    }

    /// Sets estimates of the cost from a state to a violation: numeric expressions of the language,
    /// in place of all that were set before.
    pub fn estimate_expressions(mut self, expressions: Vec<String>) -> Self {
        self.options
            .replace_all(language::ESTIMATE.name, expressions);
        self
    }

    /// What a counterexample of least cost is estimated by, in the order in which it was set.
    pub fn estimate_texts(&self) -> impl Iterator<Item = &str> {
        self.options.all(language::ESTIMATE.name)
    }

    /// Gives states an estimate of what is left to a violation, for strategies that are directed by
    /// one.
    pub fn directed_by(mut self, directed: Directed) -> Self {
        self.directed = Some(directed);
        self
    }

    /// Sets a state to look for. One from a run record must be of a model in the same language.
    pub fn target(mut self, target: &TargetText) -> Result<Self, Error> {
        target.check_language(self.language.name())?;
        let text = serde_json::to_string(target);
        let text = text.map_err(|error| Error::Internal(error.to_string()))?;
        self.options.replace(language::TARGET.name, text);
        Ok(self)
    }

    /// The state to look for, if it was set.
    pub fn target_text(&self) -> Result<Option<TargetText>, Error> {
        let text = self.options.get(language::TARGET.name);
        let target = text.map(serde_json::from_str).transpose();
        target.map_err(|error| Error::Invalid(format!("target: {error}")))
    }

    /// What counts as a deadlock unless the user says otherwise: nothing, where a goal is looked for.
    pub fn default_deadlock(&self) -> Deadlock {
        match self.goal_text() {
            Some(_) => Deadlock::Off,
            None => self.language.default_deadlock(),
        }
    }

    /// Sets whether states are reduced.
    pub fn symmetry(mut self, symmetry: Symmetry) -> Self {
        self.symmetry = symmetry;
        self
    }

    /// Sets what makes the successors.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets how many iterations one loop may have before it is a violation.
    pub fn loop_limit(self, iterations: u64) -> Self {
        self.option("loop-limit", iterations)
    }

    /// Sets how deep recursion may be before it is a violation, at most
    /// [`CALL_LIMIT_MAX`](Self::CALL_LIMIT_MAX).
    pub fn call_limit(mut self, depth: u32) -> Self {
        self.call_limit = depth.clamp(1, Self::CALL_LIMIT_MAX);
        self
    }

    /// Translates, verifies and compiles the model.
    ///
    /// A model that cannot be searched is [`Error::Rejected`], with diagnostics as data.
    pub fn load(&self) -> Result<LoadedModel, Error> {
        self.load_within(&LoadLimits::default())
    }

    /// As [`load`](Self::load), within limits on memory and time. What is too large for native code
    /// within them is [interpreted](LoadedModel::interpreted).
    pub fn load_within(&self, limits: &LoadLimits<'_>) -> Result<LoadedModel, Error> {
        limits.watched(|loading| LoadedModel::new(self.clone(), loading))?
    }
}

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLimit {
    bytes: u64,
    /// The memory budget, if the limit follows from it.
    budget: Option<u64>,
}

impl TextLimit {
    /// At most this many bytes, and at most a quarter of a memory budget: a program is larger than
    /// its text.
    pub fn new(bytes: u64, budget: u64) -> Self {
        let share = budget / 4;
        match share < bytes {
            true => TextLimit {
                bytes: share,
                budget: Some(budget),
            },
            false => TextLimit {
                bytes,
                budget: None,
            },
        }
    }

    /// Reads a stream to its end, or fails at the first byte beyond the limit. `name` stands for it
    /// in messages.
    pub fn read(self, name: &str, stream: impl Read) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let mut limited = stream.take(self.bytes.saturating_add(1));
        match limited.read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 > self.bytes => Err(self.error(name)),
            Ok(_) => Ok(bytes),
            Err(error) => Err(Error::Read {
                path: name.into(),
                error,
            }),
        }
    }

    fn error(self, name: &str) -> Error {
        Error::TextTooLong {
            name: name.to_owned(),
            limit: self.bytes,
            budget: self.budget,
        }
    }
}

impl Default for TextLimit {
    fn default() -> Self {
        TextLimit {
            bytes: ModelSource::TEXT_LIMIT,
            budget: None,
        }
    }
}

impl Named for Symmetry {
    const ALL: &'static [Self] = &[Symmetry::Full, Symmetry::Off];

    fn name(self) -> &'static str {
        match self {
            Symmetry::Full => "full",
            Symmetry::Off => "off",
        }
    }
}

impl Named for Engine {
    const ALL: &'static [Self] = &[Engine::Native, Engine::Interpreter];

    fn name(self) -> &'static str {
        match self {
            Engine::Native => "native",
            Engine::Interpreter => "interpreter",
        }
    }
}
