//! A cube of many dimensions: a step flips a bit from 0 to 1. Its layers are binomial
//! coefficients. Some of its states are traps.

use hadal_model::{
    Cursor, Expander, Failure, Flow, Goal, GoalKind, Model, Property, PropertyKind, Rule, Shape,
    States, Step, Stop, Successors,
};

#[derive(Clone, Debug)]
pub(crate) struct Cube {
    shape: Shape,
    n_bits: u32,
    /// The expansion of this state never ends.
    pub(crate) endless: Option<u32>,
    /// The expansion of this state panics.
    pub(crate) panicking: Option<u32>,
    /// The invariant fails here.
    pub(crate) failing: Option<u32>,
}

impl Cube {
    /// Every state but the last has a step; the last one steps to itself through an assumption
    /// that discards it, so that it is no deadlock.
    pub(crate) fn new(n_bits: u32) -> Self {
        let rule = Rule {
            name: "flip".to_owned(),
            at: "cube:1:1".to_owned(),
            reads: Default::default(),
            writes: Default::default(),
        };
        let property = |kind, name: &str| Property {
            kind,
            name: name.to_owned(),
            at: "cube:2:1".to_owned(),
        };
        Cube {
            shape: Shape {
                state_bits: 32,
                state_len: 4,
                components: Vec::new(),
                rules: vec![rule],
                properties: vec![
                    property(PropertyKind::Invariant, "safe"),
                    property(PropertyKind::Liveness, "can end"),
                ],
                goals: vec![Goal {
                    property: 1,
                    kind: GoalKind::Liveness,
                    parameters: Vec::new(),
                }],
            },
            n_bits,
            endless: None,
            panicking: None,
            failing: None,
        }
    }

    /// The same without the liveness property.
    pub(crate) fn without_liveness(n_bits: u32) -> Self {
        let mut cube = Self::new(n_bits);
        cube.shape.properties.truncate(1);
        cube.shape.goals.clear();
        cube
    }

    pub(crate) fn layers(&self) -> Vec<u64> {
        let n = u64::from(self.n_bits);
        let choose = |layer: &mut u64, k| {
            let this = *layer;
            *layer = *layer * (n - k) / (k + 1);
            Some(this)
        };
        (0..=n).scan(1, choose).collect()
    }
}

impl Model for Cube {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(CubeExpander { cube: self, stop })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("bits".to_owned(), format!("{:b}", number(state)))]
    }

    fn describe_step(&self, _: Option<&[u8]>, index: u32) -> Option<Step> {
        Some(Step {
            rule: index.to_string(),
            ..Step::default()
        })
    }
}

fn number(state: &[u8]) -> u32 {
    u32::from_le_bytes(state.try_into().expect("a state has four bytes"))
}

struct CubeExpander<'a> {
    cube: &'a Cube,
    stop: &'a Stop,
}

impl Expander for CubeExpander<'_> {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &[0; 4]);
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        for source in from.state..block.len() as u32 {
            let state = number(block.get(source as usize));
            while self.cube.endless == Some(state) {
                if self.stop.is_raised() {
                    return Flow::Stopped;
                }
                std::thread::yield_now();
            }
            assert!(self.cube.panicking != Some(state), "a trap");
            let first = if source == from.state { from.rule } else { 0 };
            for bit in (first..self.cube.n_bits).filter(|bit| state >> bit & 1 == 0) {
                if out.is_full() {
                    return Flow::Full(Cursor {
                        state: source,
                        rule: bit,
                        ..Cursor::default()
                    });
                }
                out.count_enabled(source);
                out.count_firing(source, 0, true);
                out.push(source, 0, &(state | 1 << bit).to_le_bytes());
            }
            if u64::from(state) + 1 == 1 << self.cube.n_bits {
                out.count_firing(source, 0, true);
            }
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (at, state) in block.iter().enumerate() {
            if self.cube.failing == Some(number(state)) {
                failures.push(Failure {
                    state: at as u32,
                    property: 0,
                    parameters: Vec::new(),
                    fault: None,
                });
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
        for (at, state) in block.iter().enumerate() {
            reached[at] = u64::from(u64::from(number(state)) + 1 == 1 << self.cube.n_bits);
        }
        Flow::Done
    }
}
