//! The models of the laboratory: a file, and constants that may follow it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use hadal::language::OptionValue;
use hadal::{Error, LoadedModel, ModelSource};
use hadal_literature::lab::Subject;
use hadal_lts::GraphModel;
use hadal_search::Deadlock;

use super::args::Common;
use crate::flags::ColorName;

/// The options that constants behind a model set; a language has one of them.
const CONSTANTS: [&str; 2] = ["const", "define"];

/// The models of a table.
pub(crate) struct Models {
    pub(crate) subjects: Vec<Subject>,
    /// Those that are read while they are searched, by the names of their files.
    graphs: Vec<(String, Arc<GraphModel>)>,
}

impl Models {
    /// Fails where a graph could not be read in the middle of a search.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (name, graph) in &self.graphs {
            if let Some(error) = graph.failure() {
                bail!("{name}: {error}");
            }
        }
        Ok(())
    }
}

/// A model that was named, before it is loaded.
pub(crate) struct Named {
    /// As it is called in tables.
    pub(crate) name: String,
    pub(crate) source: ModelSource,
}

/// The models that were named, with all options.
pub(crate) fn named(common: &Common) -> anyhow::Result<Vec<Named>> {
    let mut all = Vec::new();
    for path in &common.models {
        let (path, constants) = with_constants(path)?;
        let mut source = ModelSource::file(&path)?;
        source.options = common.language_options.options.clone();
        let known = source.language.options();
        let option = CONSTANTS
            .into_iter()
            .find(|name| known.iter().any(|option| option.name == *name))
            .unwrap_or(CONSTANTS[0]);
        for constant in &constants {
            source = source.option(option, constant);
        }
        all.push(Named {
            name: name_of(&path, &constants),
            source: source.symmetry(common.symmetry).engine(common.engine),
        });
    }
    Ok(all)
}

/// Loads a model. `None` where it is rejected; its diagnostics are printed, and so are warnings.
pub(crate) fn loaded(source: &ModelSource) -> anyhow::Result<Option<LoadedModel>> {
    let style = ColorName::Auto.style(&io::stderr());
    match source.load() {
        Ok(loaded) => {
            if !loaded.warnings.is_empty() {
                let renderer = style.renderer();
                let text = renderer.render_all(&loaded.source.sources, &loaded.warnings);
                writeln!(io::stderr(), "{}", text.trim_end())?;
            }
            Ok(Some(loaded))
        }
        Err(Error::Rejected(rejection)) => {
            writeln!(io::stderr(), "{}", rejection.render(style))?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// All models, loaded before the first is measured, so that a bad one costs nothing. `None` where
/// one is rejected; its diagnostics are printed.
pub(crate) fn load(common: &Common) -> anyhow::Result<Option<Models>> {
    let mut subjects = Vec::new();
    let mut graphs = Vec::new();
    for Named { name, source } in named(common)? {
        let Some(loaded) = loaded(&source)? else {
            return Ok(None);
        };
        if let Some(graph) = loaded.graph() {
            graphs.push((source.name().to_owned(), graph.clone()));
        }
        subjects.push(Subject {
            name,
            model: loaded.model,
            deadlock: common.deadlock.unwrap_or(Deadlock::Off),
        });
    }
    Ok(Some(Models { subjects, graphs }))
}

/// `model.m:N=4,M=2` is a file and constants.
fn with_constants(argument: &Path) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let text = argument.to_string_lossy();
    match text.rsplit_once(':') {
        Some((path, constants)) if constants.contains('=') && !argument.exists() => {
            let constants: Vec<String> = constants.split(',').map(str::to_owned).collect();
            for constant in &constants {
                let checked = OptionValue::Pair.check(constant);
                checked.map_err(|what| anyhow::anyhow!("in `{text}`: {what}"))?;
            }
            Ok((PathBuf::from(path), constants))
        }
        _ => Ok((argument.to_owned(), Vec::new())),
    }
}

/// The name of a model in tables: its file's, and the constants that make it another.
fn name_of(path: &Path, constants: &[String]) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    let mut name = stem.to_string_lossy().into_owned();
    for constant in constants {
        name += &format!(" {constant}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_may_follow_a_model() {
        let read = |text: &str| with_constants(Path::new(text));
        let (path, constants) = read("sym/lock.m:N=4,M=2").expect("constants");
        assert_eq!(path, Path::new("sym/lock.m"));
        assert_eq!(name_of(&path, &constants), "lock N=4 M=2");
        let (path, constants) = read("c:lock.m").expect("a file");
        assert_eq!(
            (path.as_path(), constants.len()),
            (Path::new("c:lock.m"), 0)
        );
        assert!(read("lock.m:N=").is_err());
    }
}
