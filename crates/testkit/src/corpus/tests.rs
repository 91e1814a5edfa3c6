use super::*;

fn message(text: &str) -> String {
    directives(text).unwrap_err().to_string()
}

#[test]
fn a_paragraph_of_directives_is_read_and_prose_is_not() {
    let text = "-- A model: of something.\n-- interchangeable: not a directive.\n--\n\
        -- expect: violated\n-- exit: 1\n-- violation: invariant \"x: y\" depth 14\n\
        -- flags: --deadlock off\n-- scale: N=3 M=A states 12 depth 4\n\nconst\n-- states: 5\n";
    assert_eq!(
        directives(text),
        Ok(Directives {
            expect: Verdict::Violated,
            states: None,
            transitions: None,
            depth: None,
            exit: Some(1),
            violation: Some(Violation {
                kind: "invariant".to_owned(),
                name: Some("x: y".to_owned()),
                depth: Some(14),
            }),
            flags: vec!["--deadlock".to_owned(), "off".to_owned()],
            scales: vec![Scale {
                constants: vec![
                    ("N".to_owned(), "3".to_owned()),
                    ("M".to_owned(), "A".to_owned())
                ],
                states: Some(12),
                transitions: None,
                depth: Some(4),
            }],
        })
    );
}

#[test]
fn comments_of_promela_have_directives_too() {
    let block = "/*\n * A model: of something.\n *\n * expect: verified\n * states: 5\n\
        * scale: N=3 states 12\n */\n\n// Prose.\n\nbyte x;\n/* states: 6 */\n";
    let found = directives(block).expect("they are well-formed");
    assert_eq!((found.expect, found.states), (Verdict::Verified, Some(5)));
    assert_eq!(found.scales[0].flags(Language::Promela), ["--define=N=3"]);
    assert_eq!(found.scales[0].flags(Language::Murphi), ["--const=N=3"]);
    let plain = "/* expect: violated\n   exit: 1 */\n";
    assert_eq!(directives(plain).map(|found| found.exit), Ok(Some(1)));
    let lines = "// A model.\n//\n// expect: verified\n// depth: 3\n";
    assert_eq!(directives(lines).map(|found| found.depth), Ok(Some(3)));
    assert!(message("/*\n * expect: verified\n * stats: 5\n */").contains("line 3"));
    assert!(message("/* A model. */\nbyte x;\n/* expect: verified */").contains("expected"));
}

#[test]
fn languages_go_by_extension() {
    let language = |name: &str| Language::of(Path::new(name));
    assert_eq!(language("a/b.m"), Some(Language::Murphi));
    assert_eq!(language("b.m.pml"), Some(Language::Promela));
    assert_eq!(language("README.md"), None);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models"));
    let all = model_files(folder).expect("the folder is there");
    let [murphi, promela] = [Language::Murphi, Language::Promela]
        .map(|language| model_files_in(folder, language).expect("the folder is there"));
    assert!(murphi.len() >= 15 && promela.len() >= 15);
    assert_eq!(all.len(), murphi.len() + promela.len());
}

#[test]
fn errors_are_not_ignored() {
    assert!(message("-- A model.\n").contains("expected result"));
    assert!(message("-- expect: verified\n-- stats: 5\n").contains("line 2"));
    assert!(message("-- prose\n-- states: 5\n").contains("prose"));
    assert!(message("-- expekt: verified\n").contains("`expect:`"));
    assert!(message("-- expect: fine\n").contains("no verdict"));
    assert!(message("-- expect: verified\n-- states: 1\n-- states: 2\n").contains("twice"));
    assert!(message("-- expect: verified\n-- states: 1e3\n").contains("not a number"));
    assert!(message("-- expect: violated\n-- violation: deadlock at 3\n").contains("depth N"));
    assert!(message("-- expect: verified\n-- violation: deadlock\n").contains("not expected"));
    assert!(message("-- expect: verified\n-- scale: states 5\n").contains("NAME=VALUE"));
}

#[test]
fn our_own_models_have_expected_results() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models"));
    let mut wrong = Vec::new();
    for file in model_files(folder).unwrap_or_default() {
        let text = std::fs::read_to_string(&file).expect("model files are UTF-8");
        if let Err(error) = directives(&text) {
            wrong.push(format!("{}: {error}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_of_expected_results() {
    let head = "# Comment.\nmodel\toverrides\tverdict\tstates\ttransitions\tdepth\tsize\n";
    let rows = expected_rows(&format!("{head}a/b.m\tN=9\tverified\t5\t-\t7\tm\n"));
    assert_eq!(
        rows,
        Ok(vec![Row {
            model: "a/b.m".to_owned(),
            overrides: vec![("N".to_owned(), "9".to_owned())],
            verdict: Verdict::Verified,
            states: Some(5),
            transitions: None,
            depth: Some(7),
            size: Size::Medium,
        }])
    );
    assert!(expected_rows("a.m\t-\tverified\n").is_err());
    assert!(expected_rows(&format!("{head}a.m\t-\tverified\t1\t1\t1\tx\n")).is_err());
    if let Some(folder) = models_folder() {
        let text = std::fs::read_to_string(folder.join("expected.tsv")).expect("the table");
        let rows = expected_rows(&text).expect("every row can be read");
        assert!(rows.iter().all(|row| folder.join(&row.model).is_file()));
    }
}
