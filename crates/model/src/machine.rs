//! Models written as plain Rust: a [`Machine`] says how its states change, [`MachineModel`] makes a
//! [`Model`] of it.
//!
//! The seam itself works on blocks of bytes and takes some hundred lines to implement. A machine
//! takes ten, and costs a call and a decoded state per rule and state; code generators and
//! reductions implement [`Model`] directly.

use std::fmt::Debug;

use crate::{
    Cursor, Expander, Failure, Flow, Measure, MeasureKind, Model, Property, PropertyKind, Rule,
    Shape, States, Step, Stop, Stopped, Successors, Unmeasured,
};

/// A transition system as a Rust type: states as values, steps as a function.
///
/// `fire`, `holds`, `estimate` and `cost` depend on nothing but their arguments, and `fire` returns
/// its states in one order: it numbers the states of a search.
///
/// A state from which no step leads to another state is a deadlock, unless the search is asked for
/// another meaning: a machine that terminates needs that, or a rule that returns its last state. A
/// machine has invariants, and no other properties; for goals, parameters of rules in traces or a
/// reduction, implement [`Model`].
pub trait Machine: Sync {
    /// What the system remembers.
    type State: StateBytes;

    /// The names of the rules.
    const RULES: &'static [&'static str];

    /// The names of the invariants.
    const INVARIANTS: &'static [&'static str] = &[];

    /// The states in which runs begin.
    fn starts(&self) -> impl IntoIterator<Item = Self::State>;

    /// The states after `state` by the rule at this place of [`RULES`](Self::RULES); none where
    /// the rule is disabled.
    fn fire(&self, rule: usize, state: &Self::State) -> impl IntoIterator<Item = Self::State>;

    /// Whether the invariant at this place of [`INVARIANTS`](Self::INVARIANTS) is true in `state`.
    fn holds(&self, invariant: usize, state: &Self::State) -> bool {
        let _ = (invariant, state);
        true
    }

    /// Which of [`estimate`](Self::estimate) and [`cost`](Self::cost) the machine has, each at most
    /// once, for searches that are directed or weighed.
    const MEASURES: &'static [MeasureKind] = &[];

    /// An estimate of what a run from `state` to a violation costs. Where
    /// [`MEASURES`](Self::MEASURES) calls it admissible, it is never more than that, whatever the
    /// invariant.
    fn estimate(&self, state: &Self::State) -> u32 {
        let _ = state;
        0
    }

    /// What each step to `state` costs.
    fn cost(&self, state: &Self::State) -> u32 {
        let _ = state;
        1
    }

    /// The parts of a state by name, for counterexamples; a step shows those that it changes.
    fn describe(&self, state: &Self::State) -> Vec<(String, String)> {
        vec![("state".to_owned(), format!("{state:?}"))]
    }
}

/// A value of fixed length in bytes. Two values are the same state if and only if their bytes are
/// equal, so each value has one encoding.
///
/// Integers, `bool`, and arrays and tuples (up to six) of these have it; a struct or an enum encodes
/// itself as one of them:
///
/// ```
/// # use hadal_model::StateBytes;
/// #[derive(Debug)]
/// struct Lock {
///     owner: u8,
///     waiting: [bool; 4],
/// }
///
/// impl StateBytes for Lock {
///     const LEN: usize = <(u8, [bool; 4])>::LEN;
///
///     fn write(&self, bytes: &mut [u8]) {
///         (self.owner, self.waiting).write(bytes);
///     }
///
///     fn read(bytes: &[u8]) -> Self {
///         let (owner, waiting) = StateBytes::read(bytes);
///         Lock { owner, waiting }
///     }
/// }
/// ```
pub trait StateBytes: Debug {
    /// Length of the encoding.
    const LEN: usize;

    /// Writes the encoding to `bytes`, which has [`LEN`](Self::LEN) of them.
    fn write(&self, bytes: &mut [u8]);

    /// The value whose encoding `bytes` is.
    fn read(bytes: &[u8]) -> Self;
}

/// A [`Machine`] as a [`Model`].
pub struct MachineModel<M> {
    machine: M,
    shape: Shape,
}

impl<M: Machine> MachineModel<M> {
    /// The model of `machine`.
    pub fn new(machine: M) -> Self {
        let rule = |name: &&str| Rule {
            name: (*name).to_owned(),
            ..Rule::default()
        };
        let invariant = |name: &&str| Property {
            kind: PropertyKind::Invariant,
            name: (*name).to_owned(),
            at: String::new(),
        };
        let measure = |kind: &MeasureKind| Measure {
            kind: *kind,
            name: match kind {
                MeasureKind::Estimate { .. } => "estimate".to_owned(),
                MeasureKind::Cost => "cost".to_owned(),
            },
        };
        let shape = Shape {
            state_bits: 8 * M::State::LEN,
            state_len: M::State::LEN,
            rules: M::RULES.iter().map(rule).collect(),
            properties: M::INVARIANTS.iter().map(invariant).collect(),
            measures: M::MEASURES.iter().map(measure).collect(),
            ..Shape::default()
        };
        MachineModel { machine, shape }
    }
}

impl<M: Machine> Model for MachineModel<M> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(MachineExpander {
            machine: &self.machine,
            stop,
            bytes: vec![0; M::State::LEN],
        })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        self.machine.describe(&M::State::read(state))
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let index = index as usize;
        let rule = match parent {
            None => {
                self.machine.starts().into_iter().nth(index)?;
                "start"
            }
            Some(parent) => {
                let parent = M::State::read(parent);
                let rules = (0..M::RULES.len()).flat_map(|rule| {
                    let states = self.machine.fire(rule, &parent).into_iter();
                    states.map(move |_| rule).collect::<Vec<_>>()
                });
                M::RULES[rules.into_iter().nth(index)?]
            }
        };
        Some(Step {
            rule: rule.to_owned(),
            ..Step::default()
        })
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        let parent = M::State::read(parent);
        for (number, rule) in M::RULES.iter().enumerate() {
            for _ in self.machine.fire(number, &parent) {
                if stop.is_raised() {
                    return Err(Stopped);
                }
                each(Step {
                    rule: (*rule).to_owned(),
                    ..Step::default()
                });
            }
        }
        Ok(())
    }
}

struct MachineExpander<'a, M> {
    machine: &'a M,
    stop: &'a Stop,
    /// The encoding of a successor.
    bytes: Vec<u8>,
}

impl<M: Machine> Expander for MachineExpander<'_, M> {
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow {
        let starts = self.machine.starts().into_iter();
        for (inner, state) in (0u64..).zip(starts).skip(from.inner as usize) {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            if out.is_full() {
                return Flow::Full(Cursor { inner, ..from });
            }
            state.write(&mut self.bytes);
            out.push(0, 0, &self.bytes);
        }
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, mut from: Cursor, out: &mut Successors) -> Flow {
        for source in from.state..block.len() as u32 {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let bytes = block.get(source as usize);
            let state = M::State::read(bytes);
            for rule in from.rule..M::RULES.len() as u32 {
                let next = self.machine.fire(rule as usize, &state).into_iter();
                for (inner, next) in (0u64..).zip(next).skip(from.inner as usize) {
                    if out.is_full() {
                        return Flow::Full(Cursor {
                            state: source,
                            rule,
                            inner,
                            ..from
                        });
                    }
                    next.write(&mut self.bytes);
                    out.count_enabled(source);
                    out.count_firing(source, rule, self.bytes != bytes);
                    out.push(source, rule, &self.bytes);
                }
                from.inner = 0;
            }
            from.rule = 0;
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (number, state) in (0u32..).zip(block.iter()) {
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let state = M::State::read(state);
            let false_ones = (0..M::INVARIANTS.len()).filter(|&i| !self.machine.holds(i, &state));
            failures.extend(false_ones.map(|invariant| Failure {
                state: number,
                property: invariant as u32,
                parameters: Vec::new(),
                fault: None,
            }));
        }
        Flow::Done
    }

    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        for state in block.iter() {
            if self.stop.is_raised() {
                return Ok(Flow::Stopped);
            }
            let state = M::State::read(state);
            values.extend(M::MEASURES.iter().map(|kind| match kind {
                MeasureKind::Estimate { .. } => self.machine.estimate(&state),
                MeasureKind::Cost => self.machine.cost(&state),
            }));
        }
        Ok(Flow::Done)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl StateBytes for $integer {
            const LEN: usize = size_of::<Self>();

            // Big-endian, so that neighbouring values are neighbouring keys.
            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_be_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_be_bytes(own)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

impl StateBytes for bool {
    const LEN: usize = 1;

    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = u8::from(*self);
    }

    fn read(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

impl<T: StateBytes, const N: usize> StateBytes for [T; N] {
    const LEN: usize = N * T::LEN;

    fn write(&self, bytes: &mut [u8]) {
        for (i, element) in self.iter().enumerate() {
            element.write(&mut bytes[i * T::LEN..][..T::LEN]);
        }
    }

    fn read(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::read(&bytes[i * T::LEN..][..T::LEN]))
    }
}

macro_rules! tuples {
    ($(($($name:ident $field:tt),*))*) => {$(
        impl<$($name: StateBytes),*> StateBytes for ($($name,)*) {
            const LEN: usize = 0 $(+ $name::LEN)*;

            fn write(&self, bytes: &mut [u8]) {
                let mut rest = bytes;
                $(
                    let (own, after) = rest.split_at_mut($name::LEN);
                    self.$field.write(own);
                    rest = after;
                )*
                debug_assert!(rest.is_empty());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut rest = bytes;
                ($(
                    {
                        let (own, after) = rest.split_at($name::LEN);
                        rest = after;
                        let _ = rest;
                        $name::read(own)
                    },
                )*)
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

#[cfg(test)]
mod tests;
