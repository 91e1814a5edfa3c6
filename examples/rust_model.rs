//! Implements `Model` for a Rust struct and checks it on disk, with little memory.
//! `counters.rs` explains each part of such a model.

use hadal::model::*;
use hadal::{Check, Error, Resources};

/// A number below `N`: one rule adds 1, the other doubles.
struct Numbers(Shape);

const N: u32 = 300_000;

fn step(state: &[u8], rule: u64) -> [u8; 4] {
    let x = u32::from_be_bytes(state.try_into().unwrap_or_default());
    u32::to_be_bytes([x + 1, 2 * x][rule as usize] % N)
}

impl Model for Numbers {
    fn shape(&self) -> &Shape {
        &self.0
    }

    fn expander<'a>(&'a self, _: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Stepper)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("x".to_owned(), format!("{state:?}"))]
    }

    fn describe_step(&self, _: Option<&[u8]>, index: u32) -> Option<Step> {
        let rule = self.0.rules.get(index as usize)?.name.clone();
        Some(Step {
            rule,
            ..Step::default()
        })
    }
}

struct Stepper;

impl Expander for Stepper {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &[0; 4]);
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, mut at: Cursor, out: &mut Successors) -> Flow {
        while (at.state as usize) < block.len() {
            for rule in at.instance..2 {
                at.instance = rule;
                if out.is_full() {
                    return Flow::Full(at);
                }
                let state = block.get(at.state as usize);
                let next = step(state, rule);
                out.count_enabled(at.state);
                out.count_firing(at.state, rule as u32, next != state);
                out.push(at.state, rule as u32, &next);
            }
            (at.state, at.instance) = (at.state + 1, 0);
        }
        Flow::Done
    }

    fn check(&mut self, _: States<'_>, _: &mut Vec<Failure>) -> Flow {
        Flow::Done
    }
}

fn main() -> Result<(), Error> {
    let rule = |name: &str| Rule {
        name: name.to_owned(),
        at: String::new(),
        reads: Default::default(),
        writes: Default::default(),
    };
    let model = Numbers(Shape {
        state_bits: 32,
        state_len: 4,
        rules: vec![rule("add 1"), rule("double")],
        ..Shape::default()
    });
    let resources = Resources {
        data_memory: Some(1 << 20),
        ..Resources::default()
    };
    let checked = Check::of(&model).resources(resources).run()?;
    let outcome = &checked.outcome;
    println!("{} states, {:?}", outcome.states, outcome.disk);
    assert_eq!(outcome.verdict.name(), "verified");
    assert_eq!((outcome.states, outcome.transitions), (300_000, 600_000));
    assert!(outcome.disk.written_bytes > 0);
    Ok(())
}

#[test]
fn the_example_finds_what_it_says() -> Result<(), Error> {
    main()
}
