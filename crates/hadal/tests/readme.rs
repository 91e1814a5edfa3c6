//! The commands of the README and of the guide print what is written there, and the reference
//! names every flag.

mod common;

use std::collections::BTreeSet;

#[test]
fn documented_commands_print_what_is_written() {
    // Paths are relative to the root of the repository, as for a reader who stands there.
    std::env::set_current_dir(common::root()).expect("the root is there");
    trycmd::TestCases::new()
        .register_bin("hadal", std::path::Path::new(env!("CARGO_BIN_EXE_hadal")))
        .case(common::root().join("README.md"))
        .case(common::root().join("docs/guide/*.md"));
}

#[test]
fn the_reference_names_every_flag() {
    let page = "docs/reference/cli.md";
    let text = std::fs::read_to_string(common::root().join(page)).expect("the page is in the tree");
    let documented = flags(&text);
    let mut defined = BTreeSet::from(["--help".to_owned()]);
    for command in [
        &["check"][..],
        &["generate"],
        &["resume"],
        &["replay"],
        &["lts", "info"],
        &["lts", "convert"],
        &["lts", "minimise"],
        &["lts", "compare"],
    ] {
        let help = common::hadal(&[command, &["--help"]].concat());
        defined.extend(flags(&help.stdout));
    }
    let expected: BTreeSet<_> = documented
        .union(&["--help".to_owned()].into())
        .cloned()
        .collect();
    assert_eq!(expected, defined, "{page} and the program differ");
}

/// Long flags that a text names.
fn flags(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
    let rest = text.split("--").skip(1);
    rest.map(|rest| rest.split(|c| !is_name(c)).next().unwrap_or(""))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .map(|name| format!("--{name}"))
        .collect()
}
