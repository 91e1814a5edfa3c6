//! What a canonical form costs; run with `--ignored --nocapture` to see the figures.

use std::time::Instant;

use crate::support::{Declarations, build_state, names};
use hadal_ir::layout::Layout;
use hadal_ir::{Program, UnionPart};
use hadal_symmetry::Canonicaliser;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Three processes: a program counter, flags, a ticket, a pointer; a lock with an owner.
fn small(with_pointers: bool) -> Program {
    let mut declarations = Declarations::new();
    let (process, element) = declarations.scalarset("Proc", 3);
    let union = declarations.union(vec![
        UnionPart::Enum(names(1)),
        UnionPart::Scalarset(process),
    ]);
    let (location, boolean) = (declarations.members(7), declarations.boolean());
    let ticket = declarations.range(0, 120);
    let pointer = if with_pointers { element } else { boolean };
    let local = declarations.record(&[location, boolean, boolean, ticket, pointer, ticket]);
    let locals = declarations.array(element, local);
    declarations.var("local", locals);
    declarations.var("owner", if with_pointers { union } else { boolean });
    declarations.program
}

/// A cache protocol: four nodes, two addresses, values, a bag of messages, sharers.
fn large() -> Program {
    let mut declarations = Declarations::new();
    let (process, node) = declarations.scalarset("Proc", 4);
    let (_, value) = declarations.scalarset("Value", 2);
    let home_or_node = declarations.union(vec![
        UnionPart::Enum(names(1)),
        UnionPart::Scalarset(process),
    ]);
    let address = declarations.range(0, 1);
    let (state, kind) = (declarations.members(10), declarations.members(14));
    let (boolean, count) = (declarations.boolean(), declarations.range(0, 15));
    let line = declarations.record(&[state, value, boolean, count]);
    let lines = declarations.array(address, line);
    let locals = declarations.array(node, lines);
    declarations.var("local", locals);
    let sharers = declarations.array(node, boolean);
    let entry = declarations.record(&[state, home_or_node, sharers, value]);
    let directory = declarations.array(address, entry);
    declarations.var("directory", directory);
    let message = declarations.record(&[kind, address, home_or_node, home_or_node, value, count]);
    let bag = declarations.multiset(16, message);
    declarations.var("net", bag);
    let queue = declarations.range(0, 5);
    let queue = declarations.array(queue, message);
    let queues = declarations.array(home_or_node, queue);
    declarations.var("queues", queues);
    declarations.program
}

fn measure(name: &str, program: &Program, variety: u64) {
    let canonicaliser = Canonicaliser::new(program);
    let mut scratch = canonicaliser.scratch();
    let mut rng = Pcg64::seed_from_u64(1);
    let states: Vec<Vec<u8>> = (0..1000)
        .map(|_| {
            build_state(program, &mut |n| {
                if rng.random_bool(0.5) {
                    0
                } else {
                    rng.random_range(0..n.min(variety))
                }
            })
        })
        .collect();
    let mut worst = 0;
    let mut best = f64::MAX;
    for _ in 0..20 {
        let mut copies = states.clone();
        let start = Instant::now();
        for state in &mut copies {
            canonicaliser.canonicalise(state, &mut scratch);
        }
        best = best.min(start.elapsed().as_secs_f64() / copies.len() as f64);
        worst = worst.max(scratch.take_worst());
    }
    let bits = Layout::new(program).state_bits;
    println!(
        "{name:32} {bits:5} bits {:8.0} ns, at most {worst} candidates",
        best * 1e9
    );
}

#[test]
#[ignore = "prints figures; asserts nothing"]
fn figures() {
    for (name, program) in [
        ("small, columns only", small(false)),
        ("small, pointers", small(true)),
        ("large", large()),
    ] {
        for (how, variety) in [("varied", 1000), ("alike", 2), ("tied", 1)] {
            measure(&format!("{name}, {how}"), &program, variety);
        }
    }
    for n in [12, 20, 100] {
        let mut declarations = Declarations::new();
        let (_, element) = declarations.scalarset("P", n);
        let boolean = declarations.boolean();
        let local = declarations.record(&[boolean, element, boolean]);
        let locals = declarations.array(element, local);
        declarations.var("local", locals);
        measure(&format!("{n} elements, tied"), &declarations.program, 1);
        measure(&format!("{n} elements, alike"), &declarations.program, 2);
    }
}
