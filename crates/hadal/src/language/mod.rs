//! Languages of models, registered in one table.
//!
//! A [`Language`] turns texts into a checked program of the intermediate representation; all else
//! (symmetry, native code, search, traces) is the same for every language. To add one, implement
//! the trait in a file of this folder and add a line to [`languages`]: the extension of a file, the
//! command line and the run record follow from it.

mod murphi;

use std::fmt;
use std::path::Path;

use hadal_ir::Program;
use hadal_model::Stop;
use hadal_syntax::{Diagnostic, Sources};
use serde::{Deserialize, Serialize};

use crate::Error;

pub use murphi::Murphi;

/// A language of models.
pub trait Language: fmt::Debug + Sync {
    /// Its name on the command line and in the run record.
    fn name(&self) -> &'static str;

    /// Its name in sentences.
    fn title(&self) -> &'static str;

    /// Extensions of its files, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// Its dialects, each with a line of help; the first one is the default.
    fn dialects(&self) -> &'static [(&'static str, &'static str)];

    /// Translates the texts to a program.
    ///
    /// `sources` holds the file that the user named. A language with includes adds each included
    /// file, unless [`Sources::find`] has it: the sources of a resumed run are complete, and their
    /// files may be gone.
    ///
    /// Returns soon after `stop` is raised; what it returns then is not used.
    fn translate(
        &self,
        sources: &mut Sources,
        options: &LanguageOptions,
        stop: &Stop,
    ) -> Result<Translation, Problems>;
}

/// Every language.
pub fn languages() -> &'static [&'static dyn Language] {
    &[&Murphi]
}

/// How a language reads a text. What these mean is known to the language alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageOptions {
    /// The dialect, if not the default.
    pub dialect: Option<String>,
    /// Constants to override, each with its value as written.
    pub constants: Vec<(String, String)>,
}

/// A program and what the language reports about it.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The program.
    pub program: Program,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// What is legal but distinguishes the elements of a scalarset: errors under symmetry
    /// reduction.
    pub symmetry_breaks: Vec<Diagnostic>,
    /// The global constants with their final values, in source order.
    pub constants: Vec<(String, String)>,
    /// Iterations of one loop before it is a violation, unless the user sets another limit; `None`
    /// for no limit.
    pub loop_limit: Option<u64>,
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
    let known = languages().iter().find(|language| language.name() == name);
    known.copied().ok_or_else(|| {
        let names: Vec<&str> = languages().iter().map(|language| language.name()).collect();
        let names = names.join(", ");
        Error::Invalid(format!("there is no language `{name}`; there are: {names}"))
    })
}

/// The language of a file, by its extension.
pub fn language_of(path: &Path) -> Result<&'static dyn Language, Error> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let has = |language: &&&dyn Language| {
        extension.is_some_and(|extension| language.extensions().contains(&extension))
    };
    let found = languages().iter().find(has).copied();
    found.ok_or_else(|| Error::UnknownLanguage {
        path: path.to_owned(),
        extension: extension.map(str::to_owned),
    })
}

/// The name of the dialect that the options choose; empty for a language without dialects.
pub(crate) fn dialect_name(language: &dyn Language, options: &LanguageOptions) -> String {
    let default = language.dialects().first().map_or("", |(name, _)| name);
    options.dialect.as_deref().unwrap_or(default).to_owned()
}

/// Refuses options that make no sense in the language.
pub(crate) fn check_options(
    language: &dyn Language,
    options: &LanguageOptions,
) -> Result<(), Error> {
    if let Some(dialect) = &options.dialect {
        let mut names = language.dialects().iter().map(|(name, _)| *name);
        if !names.any(|name| name == dialect) {
            let title = language.title();
            return Err(Error::Invalid(format!(
                "{title} has no dialect `{dialect}`"
            )));
        }
    }
    let constants = &options.constants;
    for (position, (name, _)) in constants.iter().enumerate() {
        if constants[..position]
            .iter()
            .any(|(earlier, _)| earlier == name)
        {
            return Err(Error::Invalid(format!("constant `{name}` is set twice")));
        }
    }
    Ok(())
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

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let options = |dialect: &str, constants: &[&str]| LanguageOptions {
            dialect: Some(dialect.to_owned()),
            constants: constants
                .iter()
                .map(|name| (name.to_string(), "1".to_owned()))
                .collect(),
        };
        assert!(check_options(&Murphi, &options("rumur", &["N", "M"])).is_ok());
        assert!(check_options(&Murphi, &options("latin", &[])).is_err());
        assert!(check_options(&Murphi, &options("hadal", &["N", "N"])).is_err());
    }
}
