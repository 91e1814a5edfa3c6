//! Names of leaves and values are read back as they are described, on random programs.

use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::layout::Layout;
use hadal_ir::leaves::{Leaf, LeafStep};
use hadal_ir::{Program, Type};
use hadal_model::{Model, PAD_BYTES};
use hadal_testkit::oracle;
use hadal_testkit::random::{Config, program_from_seed};

/// Where a leaf is in a state.
fn first_bit(program: &Program, layout: &Layout, leaf: &Leaf) -> usize {
    let types = &program.types;
    let mut at = layout.var(leaf.var);
    let mut ty = program.var(leaf.var).ty;
    for step in &leaf.path {
        (at, ty) = match (*step, types.get(ty)) {
            (LeafStep::Field(field), Type::Record { fields }) => {
                let field = field as usize;
                (at + types.field_offset(ty, field), fields[field].ty)
            }
            (LeafStep::Index(value), Type::Array { index, element }) => {
                let index = types.simple(*index).expect("an index is simple");
                let position = (value - index.lo) as usize;
                (at + position * types.bits(*element) as usize, *element)
            }
            (step, ty) => panic!("{step:?} in {ty:?}"),
        };
    }
    assert_eq!(ty, leaf.ty);
    at
}

#[test]
fn what_is_described_is_read_back() {
    let options = oracle::Options {
        deadlock: oracle::Deadlock::Off,
        max_states: 2000,
    };
    let (mut n_values, mut n_undefined, mut n_in_multisets) = (0, 0, 0);
    for seed in 0..400 {
        let config = Config {
            symmetric: seed % 3 == 0,
            ..Config::default()
        };
        let program = program_from_seed(seed, &config);
        let interpreter = Interpreter::new(program.clone(), Limits::default());
        let layout = Layout::new(&program);
        let leaves = program.leaves();
        let states = oracle::search(&interpreter, &options).states;
        for state in states.iter().take(100) {
            let mut bytes = state.clone();
            bytes.extend([0; PAD_BYTES]);
            let mut expected = leaves.named.iter();
            for (name, value) in interpreter.describe_state(state) {
                let is_in = |multiset: &String| {
                    let rest = name.strip_prefix(multiset.as_str());
                    rest.is_some_and(|rest| rest.starts_with('{'))
                };
                if leaves.multisets.iter().any(is_in) {
                    n_in_multisets += 1;
                    continue;
                }
                // In the same order, and each once.
                let (leaf_name, leaf) = expected.next().expect("there is a leaf");
                assert_eq!(*leaf_name, name, "seed {seed}");
                let at = first_bit(&program, &layout, leaf);
                let stored = program.types.leaf_value(&bytes, leaf.ty, at);
                let read = program.types.value_named(leaf.ty, &value);
                assert_eq!(read, Ok(stored), "seed {seed}: {name} = {value}");
                n_values += 1;
                n_undefined += usize::from(stored.is_none());
            }
            assert_eq!(expected.next(), None, "seed {seed}");
        }
    }
    assert!(
        n_values > 10_000 && n_undefined > 500,
        "{n_values} {n_undefined}"
    );
    assert!(n_in_multisets > 100, "{n_in_multisets}");
}

#[test]
fn all_values_of_a_type_and_nothing_else_are_read() {
    for seed in 0..200 {
        let program = program_from_seed(seed, &Config::default());
        let types = &program.types;
        for (_, leaf) in program.leaves().named {
            let simple = types.simple(leaf.ty).expect("a leaf is simple");
            for value in simple.lo..=simple.hi.min(simple.lo.saturating_add(300)) {
                let name = types.value_name(leaf.ty, value);
                assert_eq!(types.value_named(leaf.ty, &name), Ok(Some(value)));
            }
            for value in [simple.lo - 1, simple.hi + 1] {
                let name = types.value_name(leaf.ty, value);
                assert!(types.value_named(leaf.ty, &name).is_err(), "{name}");
            }
            let undefined = types.value_named(leaf.ty, "undefined");
            assert_eq!(undefined.is_ok(), !simple.is_total);
            for nonsense in ["", " 1", "+1", "01", "-0", "True", "Undefined", "_1"] {
                assert!(types.value_named(leaf.ty, nonsense).is_err());
            }
        }
    }
}
