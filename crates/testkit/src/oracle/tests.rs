use super::*;
use hadal_model::{Failure, FaultKind, Goal, Phase, Property, PropertyKind, Rule, Shape, Step};

/// Two counters from 0 to `top`; a rule each that adds one. Deadlock at the top of both, unless a
/// third rule sets both back.
struct Counters {
    shape: Shape,
    top: u8,
    resets: bool,
    forbidden: Option<[u8; 2]>,
    faulty: Option<[u8; 2]>,
}

impl Counters {
    fn new(top: u8) -> Self {
        let rule = |name: &str| Rule {
            name: name.to_owned(),
            at: String::new(),
            ..Rule::default()
        };
        let property = |kind| Property {
            kind,
            name: String::new(),
            at: String::new(),
        };
        let goal = |property, kind| Goal {
            property,
            kind,
            parameters: Vec::new(),
        };
        Counters {
            shape: Shape {
                state_bits: 16,
                state_len: 2,
                rules: ["left", "right", "reset"].map(rule).to_vec(),
                properties: vec![
                    property(PropertyKind::Invariant),
                    property(PropertyKind::Cover),
                    property(PropertyKind::Liveness),
                ],
                goals: vec![goal(1, GoalKind::CoverState), goal(2, GoalKind::Liveness)],
                ..Shape::default()
            },
            top,
            resets: false,
            forbidden: None,
            faulty: None,
        }
    }
}

impl Model for Counters {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, _: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Counting(self))
    }

    fn describe_state(&self, _: &[u8]) -> Vec<(String, String)> {
        Vec::new()
    }

    fn describe_step(&self, _: Option<&[u8]>, _: u32) -> Option<Step> {
        None
    }
}

struct Counting<'a>(&'a Counters);

impl Expander for Counting<'_> {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &[0, 0]);
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        let state = block.get(0);
        if self.0.faulty.is_some_and(|faulty| faulty == state) {
            out.add_fault(
                0,
                Fault {
                    kind: FaultKind::Error,
                    message: String::new(),
                    at: String::new(),
                    phase: Phase::Body,
                    name: String::new(),
                    parameters: Vec::new(),
                    goes_on: false,
                },
            );
            return Flow::Done;
        }
        for rule in from.rule..3 {
            let mut next = [state[0], state[1]];
            let enabled = match rule {
                0 | 1 => state[rule as usize] < self.0.top,
                _ => self.0.resets && state == [self.0.top; 2],
            };
            if !enabled {
                continue;
            }
            if out.is_full() {
                return Flow::Full(Cursor { rule, ..from });
            }
            match rule {
                2 => next = [0, 0],
                _ => next[rule as usize] += 1,
            }
            out.count_enabled(0);
            out.count_firing(0, rule, true);
            out.push(0, rule, &next);
        }
        Flow::Done
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        if self.0.forbidden.is_some_and(|bad| bad == block.get(0)) {
            failures.push(Failure {
                state: 0,
                property: 0,
                parameters: Vec::new(),
                fault: None,
            });
        }
        Flow::Done
    }

    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        _: &mut Vec<Failure>,
    ) -> Flow {
        let state = block.get(0);
        reached[0] |= u64::from(state[0] == state[1]);
        reached[0] |= u64::from(state == [0, 1]) << 1;
        Flow::Done
    }
}

#[test]
fn layers_and_firings_of_a_grid() {
    let options = Options {
        deadlock: Deadlock::Off,
        ..Options::default()
    };
    let report = search(&Counters::new(2), &options);
    assert_eq!(report.layers, [1, 2, 3, 2, 1]);
    assert_eq!((report.depth(), report.transitions), (4, 12));
    assert_eq!(report.fired_by_rule, [6, 6, 0]);
    assert_eq!(report.goal_hits, [3, 1]);
    // Once the left counter has moved, the goal is out of reach.
    assert_eq!(report.unreachable_goals, [(1, 1)]);
    assert_eq!(report.violation, None);
}

#[test]
fn a_way_back_makes_every_goal_reachable() {
    let mut model = Counters::new(2);
    model.resets = true;
    let report = search(&model, &Options::default());
    assert_eq!(report.unreachable_goals, []);
    assert_eq!(report.transitions, 13);
}

#[test]
fn deadlocks_faults_and_properties_are_found_at_their_depth() {
    let mut model = Counters::new(2);
    let found = |model: &Counters| {
        let violation = search(model, &Options::default()).violation;
        violation.map(|violation| (violation.depth, violation.state, violation.kind))
    };
    assert_eq!(found(&model), Some((4, Some(8), ViolationKind::Deadlock)));
    model.forbidden = Some([1, 1]);
    let property = ViolationKind::Property(0, None);
    assert_eq!(found(&model), Some((2, Some(4), property)));
    model.faulty = Some([0, 1]);
    assert!(matches!(
        found(&model),
        Some((1, Some(2), ViolationKind::Fault(_)))
    ));
}

#[test]
fn orbits_of_a_grid_under_exchange() {
    let options = Options {
        deadlock: Deadlock::Off,
        ..Options::default()
    };
    let report = search(&Counters::new(3), &options);
    let orbits = count_orbits(&report.states, &permutations(2), |permutation, state| {
        permutation.iter().map(|&at| state[at]).collect()
    });
    assert_eq!((report.states.len(), orbits), (16, 10));
    assert_eq!(permutations(4).len(), 24);
}
