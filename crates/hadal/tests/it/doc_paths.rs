//! The documentation names files that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

/// Folders that a path may be relative to; the crates' pages leave `crates/` out, the map of the
/// engine its folder.
const BASES: [&str; 3] = ["", "crates", "crates/search/src"];

/// Extensions of the repository's files.
const EXTENSIONS: [&str; 6] = [".rs", ".md", ".m", ".toml", ".json", ".svg"];

/// Folders that hold files by name, for a file that is named without its folder.
const TREES: [&str; 3] = ["crates", "examples", "docs"];

/// All files below a folder, what is built excepted.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

/// The pages: all of `docs`, and those at the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    files(&root().join("docs"), &mut pages);
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|it| root().join(it)));
    pages
}

/// What stands in backticks, blocks of code excepted.
fn quoted(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    let quoted =
        outside.flat_map(|part| part.lines().flat_map(|it| it.split('`').skip(1).step_by(2)));
    quoted.collect()
}

/// Whether it looks like a path of this repository.
fn is_path(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-./{},".contains(c);
    let has_folder = text.contains('/') && !text.starts_with(['/', '.']);
    let is_file = EXTENSIONS.iter().any(|extension| text.ends_with(extension));
    let is_folder = text.len() > 1 && text.ends_with('/');
    let is_source = text.ends_with(".rs") && text.len() > 3;
    text.chars().all(is_word) && (is_source || has_folder && (is_file || is_folder))
}

/// `a/{b,c}.rs` is two paths.
fn expanded(text: &str) -> Vec<String> {
    let parts = text
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (choices, after))) => {
            let choices = choices.split(',');
            choices.map(|it| format!("{before}{it}{after}")).collect()
        }
        None => vec![text.to_owned()],
    }
}

#[test]
fn every_path_that_a_page_names_exists() {
    let mut all = Vec::new();
    for tree in TREES {
        files(&root().join(tree), &mut all);
    }
    let (mut n_paths, mut missing) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for path in quoted(&text)
            .into_iter()
            .filter(|it| is_path(it))
            .flat_map(expanded)
        {
            n_paths += 1;
            let folder = page.parent().expect("a page has a folder");
            let bases = BASES.map(|base| root().join(base)).into_iter();
            let mut candidates = bases.chain([folder.to_owned()]);
            let is_there = candidates.any(|base| base.join(&path).exists());
            let is_named = || !path.contains('/') && all.iter().any(|file| file.ends_with(&path));
            if !is_there && !is_named() {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(n_paths > 50, "{n_paths} paths");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn paths_are_told_from_other_code() {
    let code = "one `a/b.rs` two `x` `crates/` `--json FILE`\n```\n`c.rs`\n```\n`{d,e}.rs`";
    let paths: Vec<String> = quoted(code)
        .into_iter()
        .filter(|it| is_path(it))
        .flat_map(expanded)
        .collect();
    assert_eq!(paths, ["a/b.rs", "crates/", "d.rs", "e.rs"]);
}
