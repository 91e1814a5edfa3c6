//! The wrapper: it delegates, it finds orbits, and it notices models that are less symmetric than
//! they declare.

use std::collections::{HashSet, VecDeque};

use crate::support::Declarations;
use expect_test::{Expect, expect};
use hadal_ir::{Program, bits};
use hadal_model::{
    Cursor, Expander, Failure, Fault, FaultKind, Flow, Goal, GoalKind, Model, PAD_BYTES, Phase,
    Property, PropertyKind, Remark, Rule, Shape, States, Step, Stop, Successors,
};
use hadal_symmetry::Symmetric;

const N: usize = 8;
const LEN: usize = 2 * N / 8;

/// Counters to 2, declared interchangeable. What happens is the toy's second rule.
struct Toy {
    shape: Shape,
    act: Act,
}

#[derive(Clone, Copy, PartialEq)]
enum Act {
    /// Nothing: the model is symmetric.
    Nothing,
    /// The first counter below 2 jumps to 2, as a `for` that stops at the first would do.
    JumpFirst,
    /// Only the first counter is ever reset.
    ResetFirst,
    /// Fails where the first counter is 1 and no other is.
    FailFirst,
    /// Firings that lead nowhere, more than fit in a buffer.
    Stutter,
}

impl Toy {
    fn new(act: Act, properties: &[&str]) -> Self {
        let rule = |name: &str| Rule {
            name: name.to_owned(),
            at: String::new(),
            ..Rule::default()
        };
        let property = |name: &&str| Property {
            kind: PropertyKind::Invariant,
            name: (*name).to_owned(),
            at: String::new(),
        };
        Toy {
            shape: Shape {
                state_bits: 2 * N,
                state_len: LEN,
                rules: vec![rule("step"), rule("act")],
                properties: properties.iter().map(property).collect(),
                ..Shape::default()
            },
            act,
        }
    }

    fn program() -> Program {
        let mut declarations = Declarations::new();
        let (_, process) = declarations.scalarset("Proc", N as u32);
        let counter = declarations.range(0, 2);
        let counters = declarations.array(process, counter);
        declarations.var("count", counters);
        declarations.program
    }
}

fn unpack(state: &[u8]) -> [u64; N] {
    let mut bytes = state.to_vec();
    bytes.resize(LEN + PAD_BYTES, 0);
    std::array::from_fn(|process| bits::get(&bytes, 2 * process, 2) - 1)
}

fn pack(counters: [u64; N]) -> Vec<u8> {
    let mut bytes = vec![0; LEN + PAD_BYTES];
    for (process, counter) in counters.into_iter().enumerate() {
        bits::set(&mut bytes, 2 * process, 2, counter + 1);
    }
    bytes.truncate(LEN);
    bytes
}

impl Model for Toy {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, _: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(ToyExpander { toy: self })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("count".to_owned(), format!("{:?}", unpack(state)))]
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        parent.map(|_| Step {
            rule: format!("successor {index}"),
            ..Step::default()
        })
    }
}

struct ToyExpander<'a> {
    toy: &'a Toy,
}

impl ToyExpander<'_> {
    /// The outcomes of all rule instances in order.
    fn outcomes(&self, before: [u64; N]) -> Result<Vec<(u32, [u64; N])>, Fault> {
        let mut outcomes = Vec::new();
        for process in 0..N {
            if before[process] < 2 {
                let mut after = before;
                after[process] += 1;
                outcomes.push((0, after));
            }
        }
        match self.toy.act {
            Act::Nothing => {}
            Act::JumpFirst => {
                if let Some(process) = before.iter().position(|&counter| counter < 2) {
                    let mut after = before;
                    after[process] = 2;
                    outcomes.push((1, after));
                }
            }
            Act::ResetFirst if before[0] == 2 => {
                let mut after = before;
                after[0] = 0;
                outcomes.push((1, after));
            }
            Act::ResetFirst => {}
            Act::FailFirst if before[0] == 1 && !before[1..].contains(&1) => {
                return Err(Fault {
                    kind: FaultKind::Assertion,
                    message: "the first one is 1".to_owned(),
                    at: String::new(),
                    phase: Phase::Body,
                    name: "act".to_owned(),
                    parameters: Vec::new(),
                    goes_on: false,
                });
            }
            Act::FailFirst => {}
            Act::Stutter => outcomes.extend((0..700).map(|_| (1, before))),
        }
        Ok(outcomes)
    }
}

impl Expander for ToyExpander<'_> {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &pack([0; N]));
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let mut first = from.instance as usize;
        for source in from.state..block.len() as u32 {
            let before = unpack(block.get(source as usize));
            match self.outcomes(before) {
                Ok(outcomes) => {
                    for (instance, &(rule, after)) in outcomes.iter().enumerate().skip(first) {
                        if out.is_full() {
                            return Flow::Full(Cursor {
                                state: source,
                                instance: instance as u64,
                                ..Cursor::default()
                            });
                        }
                        out.count_enabled(source);
                        out.count_firing(source, rule, after != before);
                        out.push(source, rule, &pack(after));
                        out.set_cost(instance as u32 + 1);
                    }
                }
                Err(fault) => out.add_fault(source, fault),
            }
            first = 0;
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (state, bytes) in block.iter().enumerate() {
            let counters = unpack(bytes);
            for (property, name) in self.toy.shape.properties.iter().enumerate() {
                let holds = match &name.name[..] {
                    _ if name.kind != PropertyKind::Invariant => true,
                    "not all at 2" => counters != [2; N],
                    _ => counters[0] != 2,
                };
                if !holds {
                    failures.push(Failure {
                        state: state as u32,
                        property: property as u32,
                        parameters: Vec::new(),
                        fault: None,
                    });
                }
            }
        }
        Flow::Done
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        _: &mut Vec<Failure>,
    ) -> Flow {
        for (state, reached) in block.iter().zip(reached) {
            let counters = unpack(state);
            for process in (0..self.toy.shape.goals.len()).filter(|&it| counters[it] == 2) {
                *reached |= 1 << process;
            }
        }
        Flow::Done
    }
}

/// Searches the wrapped model with a buffer of the given capacity; returns the number of
/// representatives and the remarks.
fn search(model: &dyn Model, capacity: usize) -> (usize, Vec<Remark>) {
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), capacity);
    out.reset(1);
    assert_eq!(expander.starts(Cursor::default(), &mut out), Flow::Done);
    let mut known = HashSet::new();
    let mut queue = VecDeque::new();
    let mut take = |expander: &mut dyn Expander, out: &mut Successors, queue: &mut VecDeque<_>| {
        expander.canonicalise(out.states_mut());
        for state in out.states().iter() {
            if known.insert(state.to_vec()) {
                queue.push_back(state.to_vec());
            }
        }
        known.len()
    };
    let mut n_states = take(&mut *expander, &mut out, &mut queue);
    while let Some(mut state) = queue.pop_front() {
        state.resize(LEN + PAD_BYTES, 0);
        out.reset(1);
        let mut from = Cursor::default();
        loop {
            let flow = expander.expand(States::new(&state, LEN, 1), from, &mut out);
            n_states = take(&mut *expander, &mut out, &mut queue);
            match flow {
                Flow::Full(cursor) => from = cursor,
                flow => break assert_eq!(flow, Flow::Done),
            }
            out.drain();
        }
    }
    (n_states, expander.take_remarks())
}

fn remark_on(act: Act, properties: &[&str], expected: Expect) {
    let toy = Toy::new(act, properties);
    let model = Symmetric::trusting(&toy, &Toy::program());
    let (_, remarks) = search(&model, 4);
    expected.assert_debug_eq(&remarks);
}

#[test]
fn a_symmetric_model_is_searched_by_orbits_without_remarks() {
    for act in [Act::Nothing, Act::Stutter] {
        let toy = Toy::new(act, &["not all at 2"]);
        if act == Act::Nothing {
            assert_eq!(search(&toy, 5).0, 6561);
        }
        let boxed: Box<dyn Model> = Box::new(toy);
        let model = Symmetric::trusting(boxed, &Toy::program());
        // Ways to distribute eight alike counters over three values.
        assert_eq!(search(&model, 5), (45, Vec::new()));
    }
}

#[test]
fn everything_else_is_the_inner_models() {
    let toy = Toy::new(Act::Nothing, &[]);
    let model = Symmetric::trusting(&toy, &Toy::program());
    assert!(std::ptr::eq(model.shape(), toy.shape()));
    let state = pack([2, 0, 1, 0, 0, 1, 2, 0]);
    assert_eq!(model.describe_state(&state), toy.describe_state(&state));
    let step = model.describe_step(Some(&state), 1);
    assert_eq!(step, toy.describe_step(Some(&state), 1));
    let description = model.canonicaliser().describe().to_string();
    expect!["Proc(8): 40,320 permutations"].assert_eq(&description);
}

#[test]
fn a_rule_that_takes_the_first_of_several_breaks_the_symmetry() {
    remark_on(
        Act::JumpFirst,
        &[],
        expect![[r#"
            [
                BrokenSymmetry {
                    rule: "act",
                    message: "exchanging Proc_1 and Proc_7 changes what happens: rule \"act\" leads to states that are not renamings of each other",
                },
            ]
        "#]],
    );
}

#[test]
fn a_rule_for_one_element_only_breaks_the_symmetry() {
    remark_on(
        Act::ResetFirst,
        &[],
        expect![[r#"
            [
                BrokenSymmetry {
                    rule: "act",
                    message: "exchanging Proc_1 and Proc_8 changes what happens: rule \"act\" fires never before the exchange and once after it",
                },
            ]
        "#]],
    );
}

#[test]
fn a_fault_at_one_element_only_breaks_the_symmetry() {
    remark_on(
        Act::FailFirst,
        &[],
        expect![[r#"
            [
                BrokenSymmetry {
                    rule: "act",
                    message: "exchanging Proc_1 and Proc_2 changes what happens: \"act\" fails before but not after the exchange (the first one is 1)",
                },
            ]
        "#]],
    );
}

#[test]
fn an_invariant_about_one_element_only_breaks_the_symmetry() {
    remark_on(
        Act::Nothing,
        &["not all at 2", "first below 2"],
        expect![[r#"
            [
                BrokenSymmetry {
                    rule: "first below 2",
                    message: "exchanging Proc_1 and Proc_8 changes what happens: \"first below 2\" fails after the exchange but not before",
                },
            ]
        "#]],
    );
}

#[test]
fn a_goal_of_some_elements_only_breaks_the_symmetry() {
    for (n_goals, n_remarks) in [(N, 0), (1, 1)] {
        let mut toy = Toy::new(Act::Nothing, &["ends"]);
        toy.shape.properties[0].kind = PropertyKind::Liveness;
        toy.shape.goals = (0..n_goals)
            .map(|process| Goal {
                property: 0,
                kind: GoalKind::Liveness,
                parameters: vec![("process".to_owned(), process.to_string())],
            })
            .collect();
        let model = Symmetric::trusting(&toy, &Toy::program());
        let (_, remarks) = search(&model, 4);
        assert_eq!(remarks.len(), n_remarks, "{remarks:?}");
    }
}

#[test]
fn states_far_from_the_start_are_sampled() {
    let mut block: Vec<u8> = (0..3u64.pow(N as u32))
        .flat_map(|code| pack(std::array::from_fn(|at| code / 3u64.pow(at as u32) % 3)))
        .collect();
    let n_states = block.len() / LEN;
    block.resize(block.len() + PAD_BYTES, 0);
    for (act, n_remarks) in [(Act::Nothing, 0), (Act::JumpFirst, 1)] {
        let toy = Toy::new(act, &[]);
        let model = Symmetric::trusting(&toy, &Toy::program());
        let stop = Stop::new();
        // Nobody asks for startstates here, so what is seen is seen in the block.
        let mut expander = model.expander(&stop);
        let mut out = Successors::new(model.shape(), 100_000);
        out.reset(n_states);
        let states = States::new(&block, LEN, n_states);
        assert_eq!(
            expander.expand(states, Cursor::default(), &mut out),
            Flow::Done
        );
        assert_eq!(expander.take_remarks().len(), n_remarks);
        assert_eq!(expander.take_remarks(), []);
    }
}

#[test]
fn costs_pass_through() {
    let toy = Toy::new(Act::ResetFirst, &[]);
    let model = Symmetric::trusting(&toy, &Toy::program());
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut bytes = pack([0; N]);
    bytes.resize(LEN + PAD_BYTES, 0);
    let block = States::new(&bytes, LEN, 1);
    let mut out = Successors::with_costs(model.shape(), 2 * N);
    out.reset(1);
    assert_eq!(
        expander.expand(block, Cursor::default(), &mut out),
        Flow::Done
    );
    expander.canonicalise_successors(block, &mut out);
    let first = out.state(0).to_vec();
    assert!(out.states().iter().all(|state| state == first));
    assert_eq!(out.costs(), Some([1, 2, 3, 4, 5, 6, 7, 8].as_slice()));
}
