use std::ops::ControlFlow;

use super::{Machine, MachineModel, StateBytes};
use crate::{Flow, MeasureKind, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};

/// Two counters below 5; rule 0 adds 1 to either that has room, rule 1 swaps them.
struct Pair;

impl Machine for Pair {
    type State = (u16, [u8; 1]);
    const RULES: &'static [&'static str] = &["add", "swap"];
    const INVARIANTS: &'static [&'static str] = &["not both 4", "not equal"];

    fn starts(&self) -> impl IntoIterator<Item = Self::State> {
        [(0, [0]), (3, [1])]
    }

    fn fire(&self, rule: usize, &(a, [b]): &Self::State) -> impl IntoIterator<Item = Self::State> {
        match rule {
            0 => {
                let added = [(a + 1, [b]), (a, [b + 1])];
                added
                    .into_iter()
                    .filter(|s| s.0 < 5 && s.1[0] < 5)
                    .collect()
            }
            _ => vec![(u16::from(b), [a as u8])],
        }
    }

    fn holds(&self, invariant: usize, &(a, [b]): &Self::State) -> bool {
        match invariant {
            0 => (a, b) != (4, 4),
            _ => a != u16::from(b),
        }
    }
}

const BLOCK: [u8; 9 + PAD_BYTES] = {
    let mut bytes = [0; 9 + PAD_BYTES];
    (bytes[1], bytes[2], bytes[4], bytes[5], bytes[8]) = (3, 1, 4, 4, 4);
    bytes
};

fn block() -> States<'static> {
    States::new(&BLOCK, 3, 3)
}

/// Successors of [`BLOCK`] as (source, rule, state), through a buffer of this size.
fn successors(capacity: usize) -> Vec<(u32, u32, Vec<u8>)> {
    let (model, stop) = (MachineModel::new(Pair), Stop::new());
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), capacity);
    let mut all = Vec::new();
    let ended = for_each_batch(&mut *expander, Some(block()), &mut out, |_, out| {
        for i in 0..out.len() {
            all.push((out.source_of(i), out.rule(i), out.state(i).to_vec()));
        }
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(ended, Ok(ControlFlow::Continue(())));
    all
}

#[test]
fn a_small_buffer_loses_and_repeats_nothing() {
    let expected = [
        (0, 0, vec![0, 4, 1]),
        (0, 0, vec![0, 3, 2]),
        (0, 1, vec![0, 1, 3]),
        (1, 1, vec![0, 4, 4]),
        (2, 0, vec![0, 1, 4]),
        (2, 1, vec![0, 4, 0]),
    ];
    for capacity in [1, 2, 3, 5, 100] {
        assert_eq!(successors(capacity), expected, "capacity {capacity}");
    }
}

#[test]
fn every_successor_is_described_by_its_rule() {
    let model = MachineModel::new(Pair);
    let rule = |parent, index| Some(model.describe_step(parent, index)?.rule);
    let parent = Some(&BLOCK[..3]);
    assert_eq!(rule(parent, 1).as_deref(), Some("add"));
    assert_eq!(rule(parent, 2).as_deref(), Some("swap"));
    assert_eq!(rule(parent, 3), None);
    assert_eq!(rule(None, 1).as_deref(), Some("start"));
    assert_eq!(rule(None, 2), None);
}

#[test]
fn a_state_is_described_as_the_machine_says() {
    struct Named;
    impl Machine for Named {
        type State = u8;
        const RULES: &'static [&'static str] = &[];

        fn starts(&self) -> impl IntoIterator<Item = u8> {
            [7]
        }

        fn fire(&self, _: usize, _: &u8) -> impl IntoIterator<Item = u8> {
            []
        }

        fn describe(&self, state: &u8) -> Vec<(String, String)> {
            vec![("low".to_owned(), (state % 4).to_string())]
        }
    }
    let described = |model: &dyn Model, state| model.describe_state(state);
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let named = MachineModel::new(Named);
    assert_eq!(described(&named, &[7]), pair("low", "3"));
    let debug = MachineModel::new(Pair);
    assert_eq!(described(&debug, &BLOCK[..3]), pair("state", "(3, [1])"));
}

#[test]
fn a_machine_measures_its_states() {
    struct Measured;
    impl Machine for Measured {
        type State = u16;
        const RULES: &'static [&'static str] = &[];
        const MEASURES: &'static [MeasureKind] = &[
            MeasureKind::Cost,
            MeasureKind::Estimate {
                is_admissible: true,
            },
        ];

        fn starts(&self) -> impl IntoIterator<Item = u16> {
            [0]
        }

        fn fire(&self, _: usize, _: &u16) -> impl IntoIterator<Item = u16> {
            []
        }

        fn estimate(&self, state: &u16) -> u32 {
            1000 - u32::from(*state)
        }

        fn cost(&self, state: &u16) -> u32 {
            u32::from(*state % 7)
        }
    }
    let (model, stop) = (MachineModel::new(Measured), Stop::new());
    let names: Vec<&str> = (model.shape().measures.iter().map(|it| it.name.as_str())).collect();
    assert_eq!(names, ["cost", "estimate"]);
    let mut bytes = [0; 4 + PAD_BYTES];
    (bytes[1], bytes[2], bytes[3]) = (10, 1, 0);
    let mut values = vec![99];
    let block = States::new(&bytes, 2, 2);
    let measured = model.expander(&stop).measure(block, &mut values);
    assert_eq!(measured, Ok(Flow::Done));
    assert_eq!(values, [99, 3, 990, 4, 744]);
    // Without any, there is nothing to append.
    let plain = MachineModel::new(Pair);
    assert!(plain.shape().measures.is_empty());
}

#[test]
fn false_invariants_are_reported_in_order() {
    let (model, stop) = (MachineModel::new(Pair), Stop::new());
    let mut failures = Vec::new();
    let flow = model.expander(&stop).check(block(), &mut failures);
    assert_eq!(flow, Flow::Done);
    let found: Vec<_> = failures.iter().map(|f| (f.state, f.property)).collect();
    assert_eq!(found, [(1, 0), (1, 1)]);
}

#[test]
fn values_survive_their_encoding() {
    fn round_trip<T: StateBytes + PartialEq>(value: T) {
        let mut bytes = vec![0xaa; T::LEN];
        value.write(&mut bytes);
        assert_eq!(T::read(&bytes), value);
    }
    round_trip((true, [[-3i16, 4], [i16::MIN, 0]], u64::MAX, -1i128));
    round_trip(((1u8, (2u32,)), [false; 3], 7i8, 8u16, 9i32, 10i64));
    assert_eq!(<(bool, [u16; 3], (u8, u32))>::LEN, 12);
}
