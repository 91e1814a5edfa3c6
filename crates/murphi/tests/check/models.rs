//! Whole models: ours, and those that `HADAL_MODELS` points at.

use std::path::{Path, PathBuf};

use hadal_murphi::{Dialect, Options, compile};
use hadal_syntax::{Renderer, Source};

/// Every file below a folder whose name ends in `.m`.
fn models(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ext| ext == "m") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Compiles every model below a folder, without an error unless its directives expect a rejection.
fn check_folder(folder: &Path) {
    let models = models(folder);
    assert!(!models.is_empty(), "no models in {}", folder.display());
    for path in models {
        let bytes = std::fs::read(&path).unwrap();
        let source = Source::from_bytes(path.to_string_lossy(), bytes).unwrap();
        let must_fail = source.text().contains("-- expect: rejected");
        for dialect in Dialect::ALL {
            let options = Options {
                dialect,
                ..Options::default()
            };
            let compiled = compile(&source, &options);
            let text = Renderer::plain().render_all(&source, &compiled.diagnostics);
            match compiled.program {
                Some(_) if must_fail => panic!("{} has no errors", path.display()),
                Some(program) => {
                    if let Err(errors) = hadal_ir::verify::verify(&program) {
                        panic!("{} ({dialect}): {errors:#?}", path.display());
                    }
                }
                // Each is written for one tool; in our own dialect all of them have a meaning.
                None if must_fail || dialect != Dialect::Hadal => {}
                None => panic!("{} has errors:\n{text}", path.display()),
            }
        }
    }
}

#[test]
fn our_models_compile() {
    check_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"));
}

#[test]
fn the_models_of_others_compile() {
    if let Some(folder) = std::env::var_os("HADAL_MODELS") {
        check_folder(Path::new(&folder));
    }
}
