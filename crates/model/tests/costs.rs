//! The column of costs, filled by a model of a few lines.

use std::ops::ControlFlow;

use hadal_model::{
    Cursor, Expander, Failure, Flow, Model, Rule, Shape, States, Step, Stop, Stopped, Successors,
    for_each_batch,
};

/// A byte that is raised by 1 to `N_STEPS`; raising by `n` costs `n` squared.
struct Stairs {
    shape: Shape,
}

const N_STEPS: u8 = 4;

impl Stairs {
    fn new() -> Self {
        let rule = Rule {
            name: "raise".to_owned(),
            at: "stairs:1:1".to_owned(),
            ..Rule::default()
        };
        Stairs {
            shape: Shape {
                state_bits: 8,
                state_len: 1,
                rules: vec![rule],
                ..Shape::default()
            },
        }
    }
}

impl Model for Stairs {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, _stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Climber)
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("height".to_owned(), state[0].to_string())]
    }

    fn describe_step(&self, _parent: Option<&[u8]>, _index: u32) -> Option<Step> {
        None
    }
}

struct Climber;

impl Expander for Climber {
    fn starts(&mut self, _from: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &[0]);
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, mut from: Cursor, out: &mut Successors) -> Flow {
        while (from.state as usize) < block.len() {
            let source = block.get(from.state as usize)[0];
            while from.inner < u64::from(N_STEPS) {
                if out.is_full() {
                    return Flow::Full(from);
                }
                from.inner += 1;
                let n = from.inner as u8;
                out.push(from.state, 0, &[source.wrapping_add(n)]);
                // A step by one has the default cost.
                if n > 1 {
                    out.set_cost(u32::from(n).pow(2));
                }
            }
            from = Cursor {
                state: from.state + 1,
                ..Cursor::default()
            };
        }
        Flow::Done
    }

    fn check(&mut self, _block: States<'_>, _failures: &mut Vec<Failure>) -> Flow {
        Flow::Done
    }
}

/// The costs of all successors of two states, by a buffer of any capacity.
fn costs(mut out: Successors) -> Vec<u32> {
    let model = Stairs::new();
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let bytes = [[0, 7].as_slice(), &[0; hadal_model::PAD_BYTES]].concat();
    let block = States::new(&bytes, 1, 2);
    let mut all = Vec::new();
    let done = for_each_batch(&mut *expander, Some(block), &mut out, |_, out| {
        all.extend((0..out.len()).map(|position| out.cost(position)));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(done, Ok::<_, Stopped>(ControlFlow::Continue(())));
    all
}

#[test]
fn costs_belong_to_their_successors_whatever_the_capacity() {
    let shape = Stairs::new().shape;
    for capacity in 1..10 {
        let out = Successors::with_costs(&shape, capacity);
        assert_eq!(costs(out), [1, 4, 9, 16, 1, 4, 9, 16], "{capacity}");
    }
}

#[test]
fn a_buffer_without_the_column_reports_one() {
    let shape = Stairs::new().shape;
    let out = Successors::new(&shape, 3);
    assert!(out.costs().is_none());
    assert_eq!(costs(out), [1; 8]);
    let (plain, with_costs) = (
        Successors::bytes_for(&shape, 100),
        Successors::bytes_for_costs(&shape, 100),
    );
    assert_eq!(with_costs, plain + 400);
}

#[test]
fn successors_written_in_place_cost_one() {
    let mut out = Successors::with_costs(&Stairs::new().shape, 4);
    out.reset(1);
    for cost in [2, 3, 4] {
        out.push(0, 0, &[0]);
        out.set_cost(cost);
    }
    // Entries that are given up, by a shorter length or by the next batch, are reset.
    out.set_len(1);
    out.set_len(3);
    assert_eq!(out.costs(), Some([2, 1, 1].as_slice()));
    out.drain();
    out.set_len(4);
    assert_eq!(out.costs(), Some([1; 4].as_slice()));
}
