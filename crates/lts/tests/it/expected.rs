//! Graphs by others, with the sizes that their minimal forms are known to have.
//!
//! `HADAL_AUT_MODELS` names the folder, whose `expected.tsv` has a row for each file: states, edges,
//! states and edges of the strong quotient, states and edges of the branching one.

use std::path::PathBuf;

use hadal_lts::{Equivalence, Format, Info, compare, minimise, open, write};

use crate::resources;

fn rows() -> Vec<(PathBuf, Vec<u64>)> {
    let Some(folder) = std::env::var_os("HADAL_AUT_MODELS") else {
        return Vec::new();
    };
    let folder = PathBuf::from(folder);
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("a table");
    let rows = table
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let path = folder.join(cells.next().expect("a name"));
        let numbers = cells.map(|cell| cell.parse().expect("a number"));
        (path, numbers.collect())
    };
    let rows: Vec<_> = rows.map(row).collect();
    assert!(!rows.is_empty(), "the table is empty");
    rows
}

fn tau() -> Vec<String> {
    hadal_lts::Invisible::DEFAULT.map(str::to_owned).to_vec()
}

#[test]
fn minimal_forms_have_the_known_sizes() {
    for (path, numbers) in rows() {
        for threads in [1, 2, 4] {
            let mut resources = resources();
            resources.threads = threads;
            let graph = open(&path, &resources).expect("it can be read");
            let size = |graph: &hadal_lts::Hlts| {
                let counts = graph.counts();
                [counts.n_states, counts.n_edges]
            };
            let minimal = |equivalence| {
                let found = minimise(&graph, equivalence, &tau(), &resources);
                found.expect("there is memory").graph
            };
            let strong = minimal(Equivalence::Strong);
            let branching = minimal(Equivalence::Branching);
            let found = [size(&graph), size(&strong), size(&branching)].concat();
            assert_eq!(found, numbers, "{}", path.display());
            for (equivalence, smaller) in [
                (Equivalence::Strong, &strong),
                (Equivalence::Branching, &branching),
            ] {
                let result = compare(&graph, smaller, equivalence, &tau(), &resources);
                assert!(result.expect("there is memory").is_equivalent);
            }
        }
    }
}

#[test]
fn texts_by_others_survive() {
    for (path, _) in rows() {
        let graph = open(&path, &resources()).expect("it can be read");
        let mut out = Vec::new();
        write(&graph, Format::Aut, &mut out, &resources()).expect("it can be written");
        let original = std::fs::read(&path).expect("it can be read");
        assert!(out == original, "{}", path.display());
    }
}

#[test]
fn figures_of_known_graphs_agree() {
    for (path, numbers) in rows() {
        let graph = open(&path, &resources()).expect("it can be read");
        let info = Info::of(&graph, &tau(), &resources()).expect("there is memory");
        assert_eq!(
            [info.n_reachable, info.n_paths],
            numbers[..2],
            "{}",
            path.display()
        );
        assert_eq!(info.edges_by_label.iter().sum::<u64>(), numbers[1]);
    }
}
