//! A Rust struct that implements the interface of models itself, each part explained. A model that
//! need not be as fast as it can is shorter as a `Machine`: see `rust_model.rs`.
//!
//! Two producers each have `ITEMS` items to put into a shared buffer with room for `ROOM`, and a
//! consumer takes them out. Each producer does it in two steps, as real code would: it looks
//! whether there is room, and only then puts its item in. Between the two steps the other producer
//! may do the same, and so the buffer can overflow. The search finds the shortest run that shows
//! it; and it verifies the version where looking and putting are one step.
//!
//! To write another one, copy this file and change `State`, `STEPS` and `step`.
//!
//! ```text
//! cargo run --release -p hadal-search --example counters
//! ```

use hadal_model::{
    Cursor, Expander, Failure, Flow, Model, Property, PropertyKind, Rule, Shape, States, Step,
    Stop, Successors,
};
use hadal_search::{Auto, Options, Silent, Verdict, check};

const ITEMS: u8 = 4;
const ROOM: u8 = 3;

/// What the system remembers. A search sees a state only as bytes of fixed length, and two states
/// are the same if and only if their bytes are; so every value must have exactly one encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Items each producer still has.
    left: [u8; 2],
    /// Whether it saw room and is about to put an item in.
    saw_room: [bool; 2],
    /// Items in the buffer.
    buffered: u8,
}

const STATE_LEN: usize = 5;

impl State {
    fn start() -> Self {
        State {
            left: [ITEMS; 2],
            saw_room: [false; 2],
            buffered: 0,
        }
    }

    fn encode(&self) -> [u8; STATE_LEN] {
        let [a, b] = self.saw_room.map(u8::from);
        [self.left[0], self.left[1], a, b, self.buffered]
    }

    fn decode(bytes: &[u8]) -> Self {
        State {
            left: [bytes[0], bytes[1]],
            saw_room: [bytes[2] != 0, bytes[3] != 0],
            buffered: bytes[4],
        }
    }
}

/// The rules by number. Those before `CONSUME` exist once for each producer.
const LOOK: u32 = 0;
const PUT: u32 = 1;
const CONSUME: u32 = 2;
const RULES: [&str; 3] = ["look for room", "put an item", "consume"];

/// All steps there are, in one fixed order: a rule and the producer that does it.
///
/// The order matters. It numbers the successors of a state, and thereby every state of the run.
const STEPS: [(u32, usize); 5] = [(LOOK, 0), (LOOK, 1), (PUT, 0), (PUT, 1), (CONSUME, 0)];

struct BoundedBuffer {
    /// Whether looking and putting are one step.
    atomic: bool,
    shape: Shape,
}

impl BoundedBuffer {
    fn new(atomic: bool) -> Self {
        // `at` is where a rule stands in a model's text; there is none here.
        let rule = |name: &&str| Rule {
            name: (*name).to_owned(),
            at: String::new(),
            ..Rule::default()
        };
        let shape = Shape {
            state_bits: 8 * STATE_LEN,
            state_len: STATE_LEN,
            rules: RULES.iter().map(rule).collect(),
            properties: vec![Property {
                kind: PropertyKind::Invariant,
                name: "the buffer never overflows".to_owned(),
                at: String::new(),
            }],
            ..Shape::default()
        };
        BoundedBuffer { atomic, shape }
    }

    /// The state after a step; `None` where its guard is false.
    fn step(&self, state: State, (rule, producer): (u32, usize)) -> Option<State> {
        let mut next = state;
        let may_look = state.left[producer] > 0 && !state.saw_room[producer];
        match rule {
            LOOK if may_look && state.buffered < ROOM => {
                if self.atomic {
                    next.left[producer] -= 1;
                    next.buffered += 1;
                } else {
                    next.saw_room[producer] = true;
                }
            }
            PUT if state.saw_room[producer] => {
                next.saw_room[producer] = false;
                next.left[producer] -= 1;
                next.buffered += 1;
            }
            CONSUME if state.buffered > 0 => next.buffered -= 1,
            // All is produced and consumed: this step to itself keeps the end from being a
            // deadlock, see `options`.
            CONSUME if state.left == [0, 0] => {}
            _ => return None,
        }
        Some(next)
    }
}

impl Model for BoundedBuffer {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    // Called once in each thread. An expander that needs scratch memory keeps it in its struct.
    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Producer { model: self, stop })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        let state = State::decode(state);
        vec![
            ("left[1]".to_owned(), state.left[0].to_string()),
            ("left[2]".to_owned(), state.left[1].to_string()),
            ("buffered".to_owned(), state.buffered.to_string()),
        ]
    }

    // Traces are printed by asking again what the successor numbered `index` was.
    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let Some(parent) = parent else {
            return (index == 0).then(|| Step {
                rule: "start".to_owned(),
                ..Step::default()
            });
        };
        let parent = State::decode(parent);
        let mut enabled = STEPS
            .iter()
            .filter(|step| self.step(parent, **step).is_some());
        let &(rule, producer) = enabled.nth(index as usize)?;
        let by = ("producer".to_owned(), (producer + 1).to_string());
        Some(Step {
            rule: RULES[rule as usize].to_owned(),
            parameters: if rule == CONSUME { vec![] } else { vec![by] },
            ..Step::default()
        })
    }
}

struct Producer<'a> {
    model: &'a BoundedBuffer,
    stop: &'a Stop,
}

impl Expander for Producer<'_> {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        // One startstate fits any buffer.
        out.push(0, 0, &State::start().encode());
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        for source in from.state..block.len() as u32 {
            // Long computations ask more often; here a state takes no time.
            if self.stop.is_raised() {
                return Flow::Stopped;
            }
            let state = State::decode(block.get(source as usize));
            // After a full buffer, go on with the step that did not fit.
            let first = if source == from.state {
                from.instance
            } else {
                0
            };
            for (number, &step) in STEPS.iter().enumerate().skip(first as usize) {
                let Some(next) = self.model.step(state, step) else {
                    continue;
                };
                if out.is_full() {
                    return Flow::Full(Cursor {
                        state: source,
                        instance: number as u64,
                        ..Cursor::default()
                    });
                }
                // These three facts decide what counts as a deadlock, and the statistics.
                out.count_enabled(source);
                out.count_firing(source, step.0, next != state);
                out.push(source, step.0, &next.encode());
            }
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (number, state) in block.iter().enumerate() {
            if State::decode(state).buffered > ROOM {
                failures.push(Failure {
                    state: number as u32,
                    property: 0,
                    parameters: Vec::new(),
                    fault: None,
                });
            }
        }
        Flow::Done
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, stop) = (options(), Stop::new());

    // One step: verified, and the number of states never changes.
    let model = BoundedBuffer::new(true);
    let outcome = check(&model, &Auto, &options, None, &stop, &mut Silent)?;
    println!(
        "one step:  {}, {} states",
        outcome.verdict.name(),
        outcome.states
    );
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!((outcome.states, outcome.depth), (ATOMIC_STATES, 16));

    // Two steps: the shortest run to an overflow.
    let model = BoundedBuffer::new(false);
    let outcome = check(&model, &Auto, &options, None, &stop, &mut Silent)?;
    println!("two steps: {}", outcome.verdict.name());
    assert_eq!(outcome.verdict, Verdict::Violated);
    let violation = &outcome.violations[0];
    assert_eq!(violation.depth, 8);
    println!("{}:", violation.name);
    let trace = violation.trace.as_ref();
    let trace = trace.ok_or("an invariant fails in a state")?;
    for entry in &trace.steps {
        let state = entry
            .state
            .as_ref()
            .map(|state| model.describe_state(state));
        println!("  {:14} {:?}", entry.step.rule, state.unwrap_or_default());
    }
    Ok(())
}

/// The end, where everything is consumed, only steps to itself. By default that is a deadlock too;
/// here only a state without any step shall be one.
fn options() -> Options {
    Options {
        deadlock: hadal_search::Deadlock::Stuck,
        ..Options::default()
    }
}

/// With one step, a state is how many items each producer has left (25 pairs) and how many of
/// those it had are still buffered, at most 3: 1 * 1 + 2 * 2 + 3 * 3 + 19 * 4.
const ATOMIC_STATES: u64 = 90;

#[test]
fn the_example_finds_what_it_says() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
