//! Real models: our own, and those in the folder that `HADAL_MODELS` names, if it does.

use std::fs;
use std::path::{Path, PathBuf};

use hadal_murphi::{Dialect, parse};
use hadal_syntax::{Renderer, Source};

use crate::{parse_in, print};

#[test]
fn every_model_is_understood() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let others = std::env::var_os("HADAL_MODELS").map(PathBuf::from);
    let mut files = Vec::new();
    for folder in std::iter::once(own).chain(others) {
        let n_before = files.len();
        collect(&folder, &mut files);
        assert!(files.len() > n_before, "no models below {folder:?}");
    }
    for file in files {
        let name = file.display().to_string();
        let source = Source::from_bytes(name.clone(), fs::read(&file).unwrap()).unwrap();
        for dialect in Dialect::ALL {
            let parsed = parse(&source, dialect);
            let text = Renderer::plain().render_all(&source, &parsed.diagnostics);
            assert!(!parsed.has_errors(), "{dialect}: {text}");
        }
        // The canonical form parses to the same tree.
        let printed = print::model(&parse(&source, Dialect::Hadal).model);
        let (_, again) = parse_in(&printed, Dialect::Hadal);
        assert!(again.diagnostics.is_empty(), "{name}\n{printed}");
        assert_eq!(print::model(&again.model), printed, "{name}");
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "m") {
            files.push(path);
        }
    }
}
