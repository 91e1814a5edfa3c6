//! Structures whose classes are known from the literature, and those that refinement alone cannot
//! take apart.

use std::collections::BTreeSet;

use crate::support::{Declarations, canonical};
use hadal_ir::{Program, Type, TypeId, bits};
use hadal_model::PAD_BYTES;
use hadal_symmetry::{Canonicaliser, Permutation};
use rand::{SeedableRng, seq::SliceRandom};
use rand_pcg::Pcg64;

/// `edge: array [P] of array [Q] of boolean`; P and Q are the same where `m` is `None`.
fn matrix(n: u32, m: Option<u32>) -> Program {
    let mut declarations = Declarations::new();
    let (_, rows) = declarations.scalarset("P", n);
    let columns = m.map_or(rows, |m| declarations.scalarset("Q", m).1);
    let boolean = declarations.boolean();
    let row = declarations.array(columns, boolean);
    let table = declarations.array(rows, row);
    declarations.var("edge", table);
    declarations.program
}

/// `next: array [P] of P`.
fn pointers(n: u32) -> Program {
    let mut declarations = Declarations::new();
    let (_, element) = declarations.scalarset("P", n);
    let next = declarations.array(element, element);
    declarations.var("next", next);
    declarations.program
}

/// A state of equal leaves, all of `width` bits, with the values from an iterator, none undefined.
fn state_of(width: u32, values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let values: Vec<u64> = values.into_iter().collect();
    let len = (values.len() * width as usize).div_ceil(8);
    let mut bytes = vec![0; len + PAD_BYTES];
    for (position, value) in values.into_iter().enumerate() {
        bits::set(&mut bytes, position * width as usize, width, value + 1);
    }
    bytes.truncate(len);
    bytes
}

fn graph(n: usize, is_edge: impl Fn(usize, usize) -> bool) -> Vec<u8> {
    state_of(2, (0..n * n).map(|at| u64::from(is_edge(at / n, at % n))))
}

fn width_of(program: &Program) -> u32 {
    let mut ty: TypeId = program.vars[0].ty;
    while let Type::Array { element, .. } = program.types.get(ty) {
        ty = *element;
    }
    program.types.bits(ty) as u32
}

fn n_classes(program: &Program, states: impl Iterator<Item = Vec<u8>>) -> usize {
    let canonicaliser = Canonicaliser::new(program);
    let mut scratch = canonicaliser.scratch();
    let mut classes = BTreeSet::new();
    for mut state in states {
        canonicaliser.canonicalise(&mut state, &mut scratch);
        classes.insert(state);
    }
    classes.len()
}

#[test]
fn undirected_graphs_are_counted_up_to_isomorphism() {
    for (n, expected) in [(3, 4), (4, 11), (5, 34), (6, 156)] {
        let pairs: Vec<(usize, usize)> = (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let states = (0..1u32 << pairs.len()).map(|code| {
            graph(n, |a, b| {
                let pair = pairs.iter().position(|&pair| pair == (a.max(b), a.min(b)));
                pair.is_some_and(|pair| code >> pair & 1 == 1)
            })
        });
        assert_eq!(n_classes(&matrix(n as u32, None), states), expected, "{n}");
    }
}

#[test]
fn directed_graphs_with_loops_are_counted_up_to_isomorphism() {
    for (n, expected) in [(1, 2), (2, 10), (3, 104), (4, 3044)] {
        let states = (0..1u32 << (n * n)).map(|code| graph(n, |a, b| code >> (a * n + b) & 1 == 1));
        assert_eq!(n_classes(&matrix(n as u32, None), states), expected, "{n}");
    }
}

#[test]
fn binary_matrices_are_counted_up_to_rows_and_columns() {
    for (n, m, expected) in [(2, 2, 7), (3, 3, 36), (4, 4, 317), (2, 3, 13)] {
        let states = (0..1u32 << (n * m))
            .map(|code| state_of(2, (0..n * m).map(|at| u64::from(code >> at & 1))));
        assert_eq!(
            n_classes(&matrix(n, Some(m)), states),
            expected,
            "{n} by {m}"
        );
    }
}

#[test]
fn pointer_structures_are_counted_up_to_isomorphism() {
    // The numbers of functions from a set to itself, up to renaming.
    for (n, expected) in [(2, 3), (3, 7), (4, 19), (5, 47), (6, 130)] {
        let program = pointers(n);
        let width = width_of(&program);
        let n = u64::from(n);
        let states = (0..n.pow(n as u32))
            .map(|code| state_of(width, (0..n as u32).map(|at| code / n.pow(at) % n)));
        assert_eq!(n_classes(&program, states), expected, "{n}");
    }
}

#[test]
fn two_short_cycles_are_not_a_long_one() {
    let program = pointers(6);
    let canonicaliser = Canonicaliser::new(&program);
    let width = width_of(&program);
    let long = state_of(width, [1, 2, 3, 4, 5, 0]);
    let short = state_of(width, [1, 2, 0, 4, 5, 3]);
    assert_ne!(
        canonical(&canonicaliser, &long),
        canonical(&canonicaliser, &short)
    );
    let other = state_of(width, [3, 2, 5, 4, 0, 1]);
    assert_eq!(
        canonical(&canonicaliser, &other),
        canonical(&canonicaliser, &short)
    );
}

/// Representatives of shuffled copies of a graph are all the same; returns it and the most
/// candidates that a copy needed.
fn shuffled(n: u32, state: &[u8]) -> (Vec<u8>, u64) {
    let program = matrix(n, None);
    let canonicaliser = Canonicaliser::new(&program);
    let mut scratch = canonicaliser.scratch();
    let mut rng = Pcg64::seed_from_u64(u64::from(n));
    let expected = canonical(&canonicaliser, state);
    for _ in 0..50 {
        let mut images: Vec<u32> = (0..n).collect();
        images.shuffle(&mut rng);
        let renaming = Permutation::new(vec![images]).unwrap();
        let mut copy = canonicaliser.apply(state, &renaming);
        canonicaliser.canonicalise(&mut copy, &mut scratch);
        assert_eq!(copy, expected);
    }
    (expected, scratch.take_worst())
}

#[test]
fn strongly_regular_graphs_have_one_representative_each() {
    // Disjoint pairs of five points, joined where they share none.
    let pairs: Vec<(usize, usize)> = (0..5).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    let petersen = graph(10, |a, b| {
        let (a, b) = (pairs[a], pairs[b]);
        a.0 != b.0 && a.0 != b.1 && a.1 != b.0 && a.1 != b.1
    });
    let squares = [1, 3, 4, 9, 10, 12];
    let paley = graph(13, |a, b| squares.contains(&((a + 13 - b) % 13)));
    for (n, state) in [(10, petersen), (13, paley)] {
        let (_, candidates) = shuffled(n, &state);
        assert!(candidates < 100, "{candidates} candidates");
    }
    // Two graphs with the same parameters (16, 6, 2, 2).
    let rook = graph(16, |a, b| a != b && (a / 4 == b / 4 || a % 4 == b % 4));
    let shrikhande = graph(16, |a, b| {
        let (x, y) = ((a / 4 + 4 - b / 4) % 4, (a % 4 + 4 - b % 4) % 4);
        [(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)].contains(&(x, y))
    });
    let (rook, candidates) = shuffled(16, &rook);
    assert!(candidates < 200, "{candidates} candidates");
    let (shrikhande, candidates) = shuffled(16, &shrikhande);
    assert!(candidates < 500, "{candidates} candidates");
    assert_ne!(rook, shrikhande);
}

#[test]
fn equal_parts_cost_no_factorial() {
    // Four triangles, six edges, a cube: every vertex looks like every other.
    let triangles = graph(12, |a, b| a != b && a / 3 == b / 3);
    let edges = graph(12, |a, b| a != b && a / 2 == b / 2);
    let cube = graph(8, |a, b| (a ^ b).count_ones() == 1);
    for (n, state) in [(12, triangles), (12, edges), (8, cube)] {
        let (_, candidates) = shuffled(n, &state);
        assert!(candidates < 100, "{candidates} candidates");
    }
}

#[test]
fn messages_in_a_bag_point_between_elements() {
    let mut declarations = Declarations::new();
    let (_, process) = declarations.scalarset("P", 4);
    let message = declarations.record(&[process, process]);
    let bag = declarations.multiset(4, message);
    declarations.var("net", bag);
    let program = declarations.program;
    let canonicaliser = Canonicaliser::new(&program);
    let build = |messages: &[(u64, u64)]| {
        let mut choices = Vec::new();
        for &(source, destination) in messages {
            choices.extend([1, source, destination]);
        }
        choices.reverse();
        crate::support::build_state(&program, &mut |_| choices.pop().unwrap_or(0))
    };
    let class = |messages: &[(u64, u64)]| canonical(&canonicaliser, &build(messages));
    let ring = class(&[(1, 2), (2, 3), (3, 4), (4, 1)]);
    assert_eq!(ring, class(&[(1, 3), (3, 2), (2, 4), (4, 1)]));
    let exchanges = class(&[(1, 2), (2, 1), (3, 4), (4, 3)]);
    assert_ne!(ring, exchanges);
    assert_eq!(exchanges, class(&[(4, 1), (2, 3), (1, 4), (3, 2)]));
    assert_ne!(class(&[(1, 2), (1, 2)]), class(&[(1, 2), (2, 1)]));
}

/// A random cubic graph as its edges, by pairing three ends of each vertex until it is simple.
fn random_cubic(n: usize, rng: &mut Pcg64) -> Vec<(usize, usize)> {
    loop {
        let mut ends: Vec<usize> = (0..3 * n).map(|end| end / 3).collect();
        ends.shuffle(rng);
        let mut edges: Vec<(usize, usize)> = ends
            .chunks(2)
            .map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1])))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        if edges.len() == 3 * n / 2 && edges.iter().all(|edge| edge.0 != edge.1) {
            return edges;
        }
    }
}

#[test]
fn cubic_graphs_have_their_classes_in_any_encoding() {
    const N: usize = 8;
    // A bag of edges, each a bag of two ends.
    let mut declarations = Declarations::new();
    let (_, vertex) = declarations.scalarset("P", N as u32);
    let ends = declarations.multiset(2, vertex);
    let edges = declarations.multiset(3 * N as u32 / 2, ends);
    declarations.var("edges", edges);
    let bag = declarations.program;
    // A list of neighbours for each vertex, as a bag.
    let mut declarations = Declarations::new();
    let (_, vertex) = declarations.scalarset("P", N as u32);
    let neighbours = declarations.multiset(3, vertex);
    let lists = declarations.array(vertex, neighbours);
    declarations.var("neighbours", lists);
    let lists = declarations.program;

    let mut rng = Pcg64::seed_from_u64(8);
    let graphs: Vec<_> = (0..5000).map(|_| random_cubic(N, &mut rng)).collect();
    let in_bag = graphs.iter().map(|edges| {
        let mut choices: Vec<u64> = Vec::new();
        for &(a, b) in edges {
            choices.extend([1, 1, a as u64 + 1, 1, b as u64 + 1]);
        }
        let mut choices = choices.into_iter();
        crate::support::build_state(&bag, &mut |_| choices.next().unwrap())
    });
    assert_eq!(n_classes(&bag, in_bag), 6);
    let in_lists = graphs.iter().map(|edges| {
        let mut choices: Vec<u64> = Vec::new();
        for vertex in 0..N {
            for &(a, b) in edges
                .iter()
                .filter(|edge| edge.0 == vertex || edge.1 == vertex)
            {
                choices.extend([1, (a + b - vertex) as u64 + 1]);
            }
        }
        let mut choices = choices.into_iter();
        crate::support::build_state(&lists, &mut |_| choices.next().unwrap())
    });
    assert_eq!(n_classes(&lists, in_lists), 6);
    let in_matrix = graphs
        .iter()
        .map(|edges| graph(N, |a, b| edges.contains(&(a.min(b), a.max(b)))));
    assert_eq!(n_classes(&matrix(N as u32, None), in_matrix), 6);
}
