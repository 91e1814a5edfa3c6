//! Models of a folder given by `HADAL_PROMELA_MODELS`, those of its `expected.tsv`.

use std::path::Path;

use hadal_promela::{Options, parse, print};
use hadal_syntax::Source;

use crate::{parse_text, rendered};

/// Each model parses, and what is printed of it parses to an equal tree.
#[test]
#[ignore = "needs HADAL_PROMELA_MODELS"]
fn models_of_a_folder() {
    let folder = std::env::var("HADAL_PROMELA_MODELS").expect("a folder of models");
    let folder = Path::new(&folder);
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let rows = table.lines().filter(|it| !it.starts_with('#'));
    let files: Vec<&str> = rows.filter_map(|it| it.split('\t').next()).collect();
    assert!(!files.is_empty());
    let mut n_failed = 0;
    for file in files {
        let path = folder.join(file);
        let name = path.to_str().unwrap();
        let source = Source::from_bytes(name, std::fs::read(&path).unwrap()).unwrap();
        let parsed = parse(source, &Options::default(), &mut |path| {
            std::fs::read(path).ok()
        });
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
