//! Languages of models, registered in one table.
//!
//! A [`Language`] turns texts into a checked program of the intermediate representation; all else
//! (symmetry, native code, search, traces) is the same for every language. To add one, implement
//! the trait in a file of this folder and add a line to [`languages`]: the extensions of files, the
//! flags of the command line with their help, the default meaning of a deadlock and the run record
//! follow from it. A language from outside needs no line: [`ModelSource::new`](crate::ModelSource)
//! and [`SavedRun::source_in`](crate::SavedRun::source_in) take it.

pub(crate) mod graph;
mod murphi;
mod options;
mod promela;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hadal_ir::{Measure, Program};
use hadal_model::{Property, Step, Stop};
use hadal_search::Deadlock;
use hadal_syntax::{Diagnostic, FileId, Outside, OutsideRole, Source, SourceError, Sources};

use crate::Error;

pub use graph::Graph;
pub use murphi::Murphi;
pub use options::{LanguageOption, LanguageOptions, OptionValue};
pub use promela::Promela;

/// A language of models.
pub trait Language: fmt::Debug + Sync {
    /// Its name on the command line and in the run record.
    fn name(&self) -> &'static str;

    /// Its name in sentences.
    fn title(&self) -> &'static str;

    /// Whether what fires is a statement of a process, named `process(pid) line n: statement`.
    fn has_processes(&self) -> bool {
        false
    }

    /// Whether its files are no texts but graphs, whose states and edges are read while they are
    /// searched.
    fn is_graph(&self) -> bool {
        false
    }

    /// What the names of its files end in, behind a dot.
    fn extensions(&self) -> &'static [&'static str];

    /// The options that it takes. One that is called `dialect` is shown in the run record.
    fn options(&self) -> &'static [LanguageOption] {
        &[]
    }

    /// What counts as a deadlock unless the user says otherwise.
    fn default_deadlock(&self) -> Deadlock {
        Deadlock::default()
    }

    /// Translates the texts to a program.
    ///
    /// `sources` holds the file that the user named. A language with includes adds each included
    /// file, unless [`Sources::find`] has it: the sources of a resumed run are complete, and their
    /// files may be gone.
    ///
    /// With the option [`GOAL`] the last property of the program is an invariant that the goal is
    /// false; the others may be there, and are not checked. With the option [`COST`] the program has
    /// a [measure](Program::measures) of the kind [`Cost`](hadal_model::MeasureKind::Cost), and with
    /// [`ESTIMATE`] the translation has [estimates](Translation::estimates).
    ///
    /// Returns soon after `stop` is raised; what it returns then is not used.
    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems>;
}

/// The option of a goal. A language that has it takes an expression of its own, which is looked for
/// in place of the model's properties.
pub const GOAL: LanguageOption = LanguageOption {
    name: "goal",
    short: None,
    value: OptionValue::Text("EXPR"),
    is_repeatable: false,
    is_hidden: false,
    help: "Look for a state where EXPR holds, in place of the model's properties: found is exit 1, \
           not reachable exit 0",
};

/// The option of a cost. A language that has it takes an expression of its own: the cost of a step,
/// in the state that it leads to.
pub const COST: LanguageOption = LanguageOption {
    name: "cost",
    short: None,
    value: OptionValue::Text("EXPR"),
    is_repeatable: false,
    is_hidden: false,
    help: "What a step costs: EXPR in the state that it leads to, a number that is not negative, for \
           strategies that look for a counterexample of least cost",
};

/// The option of expressions that estimate the cost from a state to a violation. No flag of its own
/// sets it, as they are part of what a search is asked to be directed by.
pub const ESTIMATE: LanguageOption = LanguageOption {
    name: "estimate",
    short: None,
    value: OptionValue::Text("EXPR"),
    is_repeatable: true,
    is_hidden: true,
    help: "An estimate of the cost from a state to a violation, a number that is not negative; may be \
           repeated",
};

/// The option of a state to look for, as [`TargetText`](crate::TargetText) is kept. No flag of its own
/// sets it.
pub const TARGET: LanguageOption = LanguageOption {
    name: "target",
    short: None,
    value: OptionValue::Text("JSON"),
    is_repeatable: false,
    is_hidden: true,
    help: "A state to look for",
};

/// The texts of the expressions from outside that options have.
fn outside_texts(options: &LanguageOptions) -> Outside<&str> {
    Outside {
        goal: options.get(GOAL.name),
        cost: options.get(COST.name),
        estimates: options.all(ESTIMATE.name).collect(),
    }
}

/// The texts of the expressions from outside, as files among the sources.
fn outside_files(
    sources: &mut Sources,
    options: &LanguageOptions,
) -> Result<Outside<FileId>, Problems> {
    let file = |role: OutsideRole, text: &str| {
        let name = role.file_name();
        // Those of a resumed run are there. Where another text was given since, it is a new file.
        let mut known = sources.iter().skip(1);
        match known.position(|file| file.name() == name && file.text() == text) {
            Some(at) => Ok(FileId::new(at as u32 + 1)),
            None => sources.add(Source::new(name, text)?),
        }
    };
    let added = outside_texts(options).try_map(file);
    added.map_err(|error: SourceError| Problems {
        messages: vec![error.to_string()],
        ..Problems::default()
    })
}

/// Every language.
pub fn languages() -> &'static [&'static dyn Language] {
    &[&Murphi, &Promela, &Graph]
}

/// The language of a text that has no file name.
pub fn default_language() -> &'static dyn Language {
    &Murphi
}

/// A program and what the language reports about it.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The program.
    pub program: Program,
    /// What the option [`ESTIMATE`] asked for, in that order: measures of the kind
    /// [`Estimate`](hadal_model::MeasureKind::Estimate) whose bodies and values are valid in the
    /// program, but which are not among those that it has. A search has at most one estimate, which
    /// is made of these and of others.
    pub estimates: Vec<Measure>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// What is legal but distinguishes the elements of a scalarset: errors under symmetry
    /// reduction.
    pub symmetry_breaks: Vec<Diagnostic>,
    /// The global constants with their final values, in source order.
    pub constants: Vec<(String, String)>,
    /// Iterations of one loop before it is a violation; `None` for no limit.
    pub loop_limit: Option<u64>,
    /// What the model asks about whole runs, such as never claims.
    pub claims: Vec<Claim>,
    /// What it has besides and was not asked for, by name.
    pub not_asked: Vec<String>,
    /// How states and steps are called, where that is not as in the program.
    pub naming: Option<Arc<dyn Naming>>,
    /// What the text has that is executed, where that is not a rule for each: after a complete search
    /// those are listed that no rule has executed.
    pub statements: Option<Vec<Statement>>,
    /// An option that gives states more room, where the room for processes is a guess. A search that
    /// reports a [process limit](hadal_model::FaultKind::ProcessLimit) starts over with it.
    pub wider: Option<(&'static str, String)>,
}

/// A statement of the text.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is called.
    pub name: String,
    /// Where it stands, as `file:line:column`.
    pub at: String,
    /// The rules of the program that execute it, by number.
    pub rules: Vec<u32>,
}

/// What a model asks about whole runs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// As a property of the model, of the kind [`Claim`](hadal_model::PropertyKind::Claim).
    pub property: Property,
    /// Where a search can decide it: the product of the program and an automaton that observes
    /// it.
    pub product: Option<Product>,
    /// Why no search decides it, or not all that it asks for.
    pub open: Option<String>,
}

/// The product of a program and a claim. A run that violates the claim meets a fault of the kind
/// [`Claim`](hadal_model::FaultKind::Claim) in a rule whose name begins with that of the claim.
#[derive(Clone, Debug)]
pub struct Product {
    /// The program.
    pub program: Program,
    /// How its states and steps are called.
    pub naming: Arc<dyn Naming>,
}

/// Names of states and steps that a user of the language knows.
pub trait Naming: fmt::Debug + Send + Sync {
    /// The values of a state, from those of the program's variables.
    fn state(&self, leaves: Vec<(String, String)>) -> Vec<(String, String)>;

    /// A firing in a state whose values are `leaves`, from the rule of the program.
    fn step(&self, step: Step, leaves: &[(String, String)]) -> Step;

    /// A step whose firings have the names that [`step`](Self::step) gives them.
    fn whole_step(&self, step: Step) -> Step {
        step
    }

    /// What fires: a rule of the program with its parameters, in a state whose values have the names
    /// that [`state`](Self::state) gives them. There are none where the state is not known.
    fn firing(
        &self,
        rule: &str,
        parameters: &[(String, String)],
        state: &[(String, String)],
    ) -> String;

    /// The reverse of [`state`](Self::state), for a program with these leaves; `None` where there is
    /// none.
    fn reverse(&self, _leaves: &[&str]) -> Option<Box<dyn ReverseNaming>> {
        None
    }

    /// Of a state in which nothing can happen any more: what should not wait there, and for what.
    fn blocked(&self, _state: &[(String, String)]) -> Vec<String> {
        Vec::new()
    }
}

/// What names of a language stand for in every state.
pub trait ReverseNaming {
    /// All names that stand for something.
    fn names(&self) -> Vec<String>;

    /// The leaves of the program with their values that a value of this name stands for.
    fn leaves(&self, name: &str, value: &str) -> Result<Vec<(String, String)>, NoLeaves>;
}

/// Why a name stands for no leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLeaves {
    /// Nothing has this name.
    Unknown,
    /// What it stands for is not the same in all states, for this reason.
    Varies(String),
    /// It has no such value, for this reason.
    NoValue(String),
}

/// Why there is no program.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// Errors and warnings with their places.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors without a place in the text.
    pub messages: Vec<String>,
}

/// The language of this name.
pub fn language(name: &str) -> Result<&'static dyn Language, Error> {
    language_among(&[], name)
}

/// The language of this name, among `more` and those of the table.
pub(crate) fn language_among(
    more: &[&'static dyn Language],
    name: &str,
) -> Result<&'static dyn Language, Error> {
    let all = || more.iter().chain(languages()).copied();
    let found = all().find(|language| language.name() == name);
    found.ok_or_else(|| Error::NoLanguage {
        name: name.to_owned(),
        known: all().map(|language| language.name()).collect(),
    })
}

/// The language of a file, by its extension.
pub fn language_of(path: &Path) -> Result<&'static dyn Language, Error> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let name = path.file_name().map(|name| name.to_string_lossy());
    let ends_in = |extension: &str| {
        let stem = name.as_ref().and_then(|it| it.strip_suffix(extension));
        // A file `.m` has no extension.
        stem.is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'))
    };
    let has = |language: &&&dyn Language| {
        let mut extensions = language.extensions().iter();
        extensions.any(|extension| ends_in(extension))
    };
    let found = languages().iter().find(has).copied();
    found.ok_or_else(|| Error::UnknownLanguage {
        path: path.to_owned(),
        extension: extension.map(str::to_owned),
    })
}

/// The name of the dialect that the options choose; empty for a language without dialects.
pub(crate) fn dialect_name(language: &dyn Language, options: &LanguageOptions) -> String {
    let declared = language.options().iter().find(|it| it.name == "dialect");
    let default = match declared.map(|option| option.value) {
        Some(OptionValue::OneOf([(name, _), ..])) => name,
        _ => "",
    };
    options.get("dialect").unwrap_or(default).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_extensions_are_unique() {
        for (position, language) in languages().iter().enumerate() {
            assert_eq!(
                super::language(language.name()).unwrap().name(),
                language.name()
            );
            for earlier in &languages()[..position] {
                let shared = language.extensions().iter();
                assert_eq!(
                    shared
                        .filter(|it| earlier.extensions().contains(it))
                        .count(),
                    0
                );
            }
            for extension in language.extensions() {
                let path = format!("a.{extension}");
                assert_eq!(
                    language_of(Path::new(&path)).unwrap().name(),
                    language.name()
                );
            }
        }
        assert!(language_of(Path::new("a")).is_err());
        assert!(super::language("").is_err());
    }
}
