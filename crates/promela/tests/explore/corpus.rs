//! Models of a folder given by `HADAL_PROMELA_MODELS`, with the counts of its `expected.tsv`.

use std::path::Path;

use hadal_syntax::Source;

use crate::explore_source;
use crate::explorer::Error;

/// Every row: file, definition, states, edges, kinds of errors. `HADAL_PROMELA_MAX` is the number
/// of states of the largest model to explore.
#[test]
#[ignore = "needs HADAL_PROMELA_MODELS"]
fn expected_counts() {
    let folder = std::env::var("HADAL_PROMELA_MODELS").expect("a folder of models");
    let folder = Path::new(&folder);
    let max = std::env::var("HADAL_PROMELA_MAX").ok();
    let max: u64 = max.map_or(u64::MAX, |it| it.parse().unwrap());
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let (mut n_right, mut n_skipped) = (0, 0);
    let mut wrong = Vec::new();
    for row in table.lines().filter(|it| !it.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [file, define, states, edges, errors] = columns[..] else {
            panic!("unexpected row: {row}");
        };
        let (states, edges): (u64, u64) = (states.parse().unwrap(), edges.parse().unwrap());
        if states > max {
            n_skipped += 1;
            continue;
        }
        let path = folder.join(file);
        let name = path.to_str().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some((macro_name, value)) = define.split_once('=') {
            bytes = redefine(&bytes, macro_name, value);
        }
        let source = Source::from_bytes(name, bytes).unwrap();
        let found = match explore_source(source, &[], 2 * states + 1000) {
            Ok(counts) => {
                let mut kinds: Vec<&str> = Vec::new();
                for error in &counts.errors {
                    kinds.push(match error {
                        Error::Assertion => "assertion",
                        Error::InvalidEndState => "invalid-end-state",
                        _ => "other",
                    });
                }
                let kinds = if kinds.is_empty() {
                    "-".to_owned()
                } else {
                    kinds.join(",")
                };
                format!("{}\t{}\t{kinds}", counts.states, counts.edges)
            }
            Err(messages) => messages,
        };
        let expected = format!("{states}\t{edges}\t{errors}");
        match found == expected {
            true => n_right += 1,
            false => wrong.push(format!(
                "{file} {define}\n  expected {expected}\n  found    {found}"
            )),
        }
    }
    eprintln!("{n_right} right, {n_skipped} skipped");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text with the definition of a macro replaced.
fn redefine(bytes: &[u8], name: &str, value: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let is_it = words.next() == Some("#define") && words.next() == Some(name);
        if is_it {
            format!("#define {name} {value}")
        } else {
            line.to_owned()
        }
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    (lines.join("\n") + "\n").into_bytes()
}
