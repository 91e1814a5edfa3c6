//! Layouts made for each way to a canonical form, against brute force over the whole group.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Declarations, build_state, group, names};
use hadal_ir::{Program, UnionPart};
use hadal_symmetry::Canonicaliser;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Compares on random states, most of them with many ties.
fn check(name: &str, program: &Program, is_sorted: bool) {
    let canonicaliser = Canonicaliser::new(program);
    let sorts = format!("{canonicaliser:?}").contains("sorting: Some");
    assert_eq!(sorts, is_sorted, "{name}: which path it takes");
    let mut scratch = canonicaliser.scratch();
    let renamings = group(program);
    let mut rng = Pcg64::seed_from_u64(7);
    // By representative, the least state of its orbit.
    let mut least_of = BTreeMap::new();
    for round in 0..300 {
        let variety = [2, 3, 1000][round % 3];
        let state = build_state(program, &mut |n| rng.random_range(0..n.min(variety)));
        let images = renamings.iter();
        let orbit: BTreeSet<Vec<u8>> = images
            .map(|renaming| canonicaliser.apply(&state, renaming))
            .collect();
        let mut expected = state.clone();
        let renaming = canonicaliser.canonicalise_with_renaming(&mut expected, &mut scratch);
        assert_eq!(
            canonicaliser.apply(&state, &renaming),
            expected,
            "{name}: the renaming"
        );
        for member in &orbit {
            let mut found = member.clone();
            canonicaliser.canonicalise(&mut found, &mut scratch);
            assert_eq!(found, expected, "{name}: two representatives");
        }
        let least = orbit.first().expect("the state itself").clone();
        let known = least_of.entry(expected).or_insert(least.clone());
        assert_eq!(*known, least, "{name}: two orbits share a state");
    }
}

#[test]
fn columns_that_fill_words_or_leave_gaps_are_sorted() {
    for (n_before, wide) in [(0, false), (1, true), (3, true), (7, false)] {
        let mut declarations = Declarations::new();
        let (_, element) = declarations.scalarset("P", 4);
        let (boolean, members) = (declarations.boolean(), declarations.members(5));
        let number = declarations.range(0, if wide { 500_000 } else { 6 });
        for before in 0..n_before {
            declarations.var(&format!("before{before}"), boolean);
        }
        let pair = declarations.record(&[boolean, number]);
        for (name, ty) in [("a", members), ("b", pair), ("c", boolean)] {
            let array = declarations.array(element, ty);
            declarations.var(name, array);
        }
        check("columns", &declarations.program, true);
    }
}

#[test]
fn an_array_below_several_indices_of_one_kind_is_sorted_by_whole_rows() {
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", 4);
    let index = declarations.range(0, 2);
    let number = declarations.range(0, 6);
    let row = declarations.array(index, number);
    let rows = declarations.array(element, row);
    declarations.var("rows", rows);
    check("rows", &declarations.program, true);
}

#[test]
fn places_that_name_elements_are_part_of_the_keys() {
    let mut declarations = Declarations::new();
    let (p, element) = declarations.scalarset("P", 4);
    let (q, other) = declarations.scalarset("Q", 3);
    let index = declarations.range(0, 3);
    let boolean = declarations.boolean();
    let parts = vec![
        UnionPart::Scalarset(q),
        UnionPart::Enum(names(2)),
        UnionPart::Scalarset(p),
    ];
    let union = declarations.union(parts);
    let slot = declarations.record(&[boolean, union]);
    for (name, index, ty) in [
        ("turn", index, element),
        ("flag", element, boolean),
        ("mark", other, boolean),
        ("slots", index, slot),
    ] {
        let array = declarations.array(index, ty);
        declarations.var(name, array);
    }
    check("names", &declarations.program, true);
}

#[test]
fn keys_that_do_not_fit_are_not_sorted() {
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", 3);
    let number = declarations.range(0, i64::from(u32::MAX));
    let pair = declarations.record(&[number, number]);
    let array = declarations.array(element, pair);
    declarations.var("wide", array);
    check("wide keys", &declarations.program, false);
}

#[test]
fn elements_that_point_to_elements_are_sorted_where_that_settles_it() {
    let mut declarations = Declarations::new();
    let (p, element) = declarations.scalarset("P", 4);
    let boolean = declarations.boolean();
    let parts = vec![UnionPart::Enum(names(2)), UnionPart::Scalarset(p)];
    let union = declarations.union(parts);
    let node = declarations.record(&[boolean, union, element]);
    let nodes = declarations.array(element, node);
    declarations.var("nodes", nodes);
    declarations.var("head", union);
    check("pointers", &declarations.program, true);
}

#[test]
fn tables_are_not_sorted() {
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", 4);
    let boolean = declarations.boolean();
    let entry = declarations.record(&[boolean, element]);
    let row = declarations.array(element, entry);
    let table = declarations.array(element, row);
    declarations.var("table", table);
    check("tables", &declarations.program, false);
}
