//! Models of a folder given by `HADAL_PROMELA_MODELS`.

use std::path::{Path, PathBuf};

use hadal_promela::{Options, parse, print};
use hadal_syntax::Source;

use crate::{parse_text, rendered};

fn models(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => models(&path, out),
            false if path.extension().is_some_and(|it| it == "pml") => out.push(path),
            false => {}
        }
    }
}

/// Each model parses, and what is printed of it parses to an equal tree.
#[test]
#[ignore = "needs HADAL_PROMELA_MODELS"]
fn models_of_a_folder() {
    let folder = std::env::var("HADAL_PROMELA_MODELS").expect("a folder of models");
    let mut paths = Vec::new();
    models(Path::new(&folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty());
    let mut n_failed = 0;
    for path in paths {
        let name = path.to_str().unwrap();
        let source = Source::from_bytes(name, std::fs::read(&path).unwrap()).unwrap();
        let parsed = parse(source, &Options::default(), &mut |path| {
            std::fs::read(path).ok()
        });
        if rendered(&parsed).contains("`STDIN` is not supported") {
            continue;
        }
        if parsed.has_errors() {
            n_failed += 1;
            eprintln!("{}", rendered(&parsed));
            continue;
        }
        let printed = print::model(&parsed.model);
        let again = parse_text(&printed);
        if again.has_errors() || print::model(&again.model) != printed {
            n_failed += 1;
            eprintln!("{name} changes when it is printed\n{}", rendered(&again));
        }
    }
    assert_eq!(n_failed, 0);
}
