//! The models of the laboratory: a file, and constants that may follow it.

use std::path::{Path, PathBuf};

use hadal_literature::lab::Subject;

use super::args::Common;
use crate::flags::{ColorName, SymmetryName};
use crate::load::{self, Request};
use crate::plan;
use crate::style::Style;

/// All models, loaded before the first is measured, so that a bad one costs nothing. `None` where
/// one is wrong; the diagnostics have been printed.
pub(crate) fn load(common: &Common) -> anyhow::Result<Option<Vec<Subject>>> {
    let mut subjects = Vec::new();
    for path in &common.models {
        let (path, mut constants) = with_constants(path)?;
        let name = name_of(&path, &constants);
        constants.extend(common.constants.iter().cloned());
        let (source, language) = load::read(&path, None)?;
        let request = Request {
            source,
            language,
            dialect: plan::dialect(common.dialect),
            constants,
            symmetry: common.symmetry == SymmetryName::Full,
            limits: limits(common),
            engine: common.engine,
        };
        let style = Style::new(ColorName::Auto, &std::io::stderr());
        match load::load(request, style)? {
            Ok(loaded) => subjects.push(Subject {
                name,
                model: loaded.model,
            }),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(subjects))
}

pub(crate) fn limits(common: &Common) -> hadal_ir::interp::Limits {
    const CALL_LIMIT: u32 = 1000;
    plan::limits(plan::dialect(common.dialect), None, CALL_LIMIT)
}

/// `model.m:N=4,M=2` is a file and constants.
fn with_constants(argument: &Path) -> anyhow::Result<(PathBuf, Vec<(String, String)>)> {
    let text = argument.to_string_lossy();
    match text.rsplit_once(':') {
        Some((path, constants)) if constants.contains('=') && !argument.exists() => {
            let constants: Result<Vec<_>, String> = constants
                .split(',')
                .map(crate::flags::parse_constant)
                .collect();
            let constants = constants.map_err(|what| anyhow::anyhow!("in `{text}`: {what}"))?;
            Ok((PathBuf::from(path), constants))
        }
        _ => Ok((argument.to_owned(), Vec::new())),
    }
}

/// The name of a model in tables: its file's, and the constants that make it another.
fn name_of(path: &Path, constants: &[(String, String)]) -> String {
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    let mut name = stem.to_string_lossy().into_owned();
    for (constant, value) in constants {
        name += &format!(" {constant}={value}");
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
