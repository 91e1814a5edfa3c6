//! Successors of representatives, whose canonical forms cost only what a step changes, against
//! states that come from nowhere.

use crate::support::{Declarations, canonical, names, random_program, random_state};
use hadal_ir::layout::Layout;
use hadal_ir::{Program, TypeId, UnionPart, bits};
use hadal_model::{PAD_BYTES, States, Stop};
use hadal_symmetry::Canonicaliser;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A state that differs from `source` in a leaf or two, in a bag, or not at all.
fn step(program: &Program, source: &[u8], rng: &mut Pcg64) -> Vec<u8> {
    let layout = Layout::new(program);
    let mut bytes = source.to_vec();
    bytes.resize(layout.state_len + PAD_BYTES, 0);
    let mut other = random_state(program, rng);
    other.resize(layout.state_len + PAD_BYTES, 0);
    for _ in 0..rng.random_range(0..=2) {
        let number = rng.random_range(0..program.vars.len());
        let at: usize = (program.vars[..number].iter())
            .map(|var| program.types.bits(var.ty) as usize)
            .sum();
        let ty = program.vars[number].ty;
        // Bags stay in their normal form if taken over whole.
        let mut places: Vec<(TypeId, usize)> = Vec::new();
        if program.types.has_multiset(ty) {
            places.push((ty, at));
        } else {
            let visit = &mut |_: &str, ty, at| places.push((ty, at));
            (program.types).for_each_leaf(ty, &mut String::new(), at, visit);
        }
        let (ty, at) = places[rng.random_range(0..places.len())];
        for bit in at..at + program.types.bits(ty) as usize {
            bits::set(&mut bytes, bit, 1, bits::get(&other, bit, 1));
        }
    }
    bytes.truncate(layout.state_len);
    bytes
}

/// Compares for random blocks and steps. Returns how many successors were left as they are, and
/// how many were not.
fn check(name: &str, program: &Program, n_blocks: usize, seed: u64) -> (usize, usize) {
    let canonicaliser = Canonicaliser::new(program);
    let mut scratch = canonicaliser.scratch();
    let mut rng = Pcg64::seed_from_u64(seed);
    let (mut n_left, mut n_changed) = (0, 0);
    for _ in 0..n_blocks {
        let sources: Vec<Vec<u8>> = (0..3)
            .map(|_| canonical(&canonicaliser, &random_state(program, &mut rng)))
            .collect();
        let (mut sources_of, mut states, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        for number in [0, 0, 0, 0, 2, 2, 2, 1, 1, 0, 2] {
            let state = step(program, &sources[number], &mut rng);
            sources_of.push(number as u32);
            let representative = canonical(&canonicaliser, &state);
            n_left += usize::from(representative == state);
            n_changed += usize::from(representative != state);
            expected.extend(representative);
            states.extend(state);
        }
        let n_bytes = states.len();
        // What stands behind the states must be kept.
        states.resize(n_bytes + PAD_BYTES, 0xa5);
        let mut block = sources.concat();
        block.resize(block.len() + PAD_BYTES, 0x5a);
        let block = States::new(&block, canonicaliser.state_len(), sources.len());
        let stop = Stop::new();
        canonicaliser.canonicalise_successors(&stop, block, &sources_of, &mut states, &mut scratch);
        assert_eq!(states[..n_bytes], expected, "{name}, seed {seed}");
        assert_eq!(states[n_bytes..], [0xa5; PAD_BYTES], "{name}, seed {seed}");
    }
    (n_left, n_changed)
}

#[test]
fn random_layouts() {
    let (mut n_left, mut n_changed) = (0, 0);
    for seed in 0..600 {
        let program = random_program(seed, 600, 300);
        let (left, changed) = check("random", &program, 6, seed);
        n_left += left;
        n_changed += changed;
    }
    assert!(n_left > 10_000, "only {n_left} were left as they are");
    assert!(n_changed > 2000, "only {n_changed} were changed");
}

/// A lock with a queue: pointers, owners, columns with and without gaps, and what does not move.
fn queue(n: u32, with_pointers: bool, is_wide: bool) -> Program {
    let mut declarations = Declarations::new();
    let (process, element) = declarations.scalarset("Proc", n);
    let parts = vec![
        UnionPart::Enum(names(2)),
        UnionPart::Scalarset(process),
        UnionPart::Enum(names(1)),
    ];
    let union = declarations.union(parts);
    let (boolean, members) = (declarations.boolean(), declarations.members(5));
    let number = declarations.range(0, if is_wide { 100_000 } else { 3 });
    let node = match with_pointers {
        true => declarations.record(&[boolean, union, boolean, element]),
        false => declarations.record(&[boolean, number, boolean]),
    };
    declarations.var("plain", members);
    for (name, ty) in [("at", members), ("node", node), ("ticket", number)] {
        let array = declarations.array(element, ty);
        declarations.var(name, array);
    }
    declarations.var("count", number);
    declarations.var("head", union);
    declarations.var("tail", element);
    declarations.program
}

#[test]
fn any_number_of_elements() {
    for n in 2..=10 {
        for with_pointers in [false, true] {
            for is_wide in [false, true] {
                let name = format!("{n} elements, {with_pointers}, {is_wide}");
                let program = queue(n, with_pointers, is_wide);
                let (left, changed) = check(&name, &program, 150, u64::from(n));
                assert!(left > 300 && changed > 100, "{name}: {left}, {changed}");
            }
        }
    }
}

#[test]
fn two_scalarsets_that_name_each_other() {
    let mut declarations = Declarations::new();
    let (p, process) = declarations.scalarset("P", 4);
    let (q, value) = declarations.scalarset("Q", 3);
    let parts = vec![UnionPart::Scalarset(q), UnionPart::Scalarset(p)];
    let either = declarations.union(parts);
    let (boolean, members) = (declarations.boolean(), declarations.members(3));
    let node = declarations.record(&[members, either]);
    for (name, index, ty) in [
        ("node", process, node),
        ("owner", value, process),
        ("mark", value, boolean),
    ] {
        let array = declarations.array(index, ty);
        declarations.var(name, array);
    }
    declarations.var("turn", either);
    check("two scalarsets", &declarations.program, 400, 1);
}

#[test]
fn channels_between_elements_and_bags_of_messages() {
    let mut declarations = Declarations::new();
    let (_, process) = declarations.scalarset("P", 4);
    let (boolean, members) = (declarations.boolean(), declarations.members(3));
    let message = declarations.record(&[members, process]);
    let row = declarations.array(process, message);
    let channels = declarations.array(process, row);
    let flags = declarations.array(process, members);
    let bag = declarations.multiset(3, message);
    declarations.var("plain", members);
    declarations.var("channels", channels);
    declarations.var("flags", flags);
    declarations.var("net", bag);
    declarations.var("idle", boolean);
    let (left, changed) = check("channels", &declarations.program, 400, 1);
    assert!(left > 1000 && changed > 300, "{left}, {changed}");
}
