//! The models of the laboratory: a file, and constants that may follow it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use hadal::language::OptionValue;
use hadal::{Error, ModelSource};
use hadal_literature::lab::Subject;
use hadal_lts::GraphModel;

use super::args::Common;
use crate::flags::ColorName;

/// The option that constants behind a model set.
const CONST: &str = "const";

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

/// All models, loaded before the first is measured, so that a bad one costs nothing. `None` where
/// one is rejected; its diagnostics are printed.
pub(crate) fn load(common: &Common) -> anyhow::Result<Option<Models>> {
    let mut subjects = Vec::new();
    let mut graphs = Vec::new();
    for path in &common.models {
        let (path, constants) = with_constants(path)?;
        let mut source = ModelSource::file(&path)?;
        source.options = common.language_options.options.clone();
        for constant in &constants {
            source = source.option(CONST, constant);
        }
        let name = name_of(&path, &constants);
        let source = source.symmetry(common.symmetry).engine(common.engine);
        let style = ColorName::Auto.style(&io::stderr());
        match source.load() {
            Ok(loaded) => {
                if !loaded.warnings.is_empty() {
                    let renderer = style.renderer();
                    let text = renderer.render_all(&loaded.source.sources, &loaded.warnings);
                    writeln!(io::stderr(), "{}", text.trim_end())?;
                }
                if let Some(graph) = loaded.graph() {
                    graphs.push((path.display().to_string(), graph.clone()));
                }
                let model = loaded.model;
                subjects.push(Subject { name, model });
            }
            Err(Error::Rejected(rejection)) => {
                writeln!(io::stderr(), "{}", rejection.render(style))?;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        }
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
