//! Interchangeable animals, each with a goal of its own, against a fixpoint over all states.
//!
//! The reduction sorts the animals of a state, so goals change their animal along steps.

use std::collections::{BTreeSet, VecDeque};

use hadal_model::{
    Cursor, Expander, Failure, Flow, Goal, GoalKind, Model, Property, PropertyKind, Rule, Shape,
    States, Step, Stop, Successors,
};
use hadal_search::{Deadlock, Options, Silent, Verdict, check, trace};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Animals with a mood each. A state is the list of moods.
#[derive(Clone, Debug)]
struct Herd {
    n_animals: usize,
    changes: Vec<Change>,
    /// By property, the moods wanted of an animal.
    wanted: Vec<Vec<u8>>,
    /// No animal may be in this mood.
    forbidden: Option<u8>,
    is_reduced: bool,
    shape: Shape,
}

/// An animal goes from one mood to another.
#[derive(Clone, Copy, Debug)]
struct Change {
    from: u8,
    to: u8,
    /// Only if another animal is, or none is, in this mood.
    company: Option<(u8, bool)>,
    /// The animals in this mood change theirs as well.
    infects: Option<(u8, u8)>,
}

const N_MOODS: u8 = 4;

impl Herd {
    fn random(rng: &mut Pcg64Mcg) -> Self {
        let n_animals = rng.random_range(2..=4);
        let mut mood = {
            let mut rng = Pcg64Mcg::seed_from_u64(rng.random());
            move || rng.random_range(0..N_MOODS)
        };
        let changes = (0..rng.random_range(2..6)).map(|_| Change {
            from: mood(),
            to: mood(),
            company: rng.random_bool(0.5).then(|| (mood(), rng.random())),
            infects: rng.random_bool(0.3).then(|| (mood(), mood())),
        });
        let changes = changes.collect();
        let n_properties = rng.random_range(1..=2);
        let wanted: Vec<Vec<u8>> = (0..n_properties)
            .map(|_| (0..rng.random_range(1..=2)).map(|_| mood()).collect())
            .collect();
        let property = |kind, name: String| Property {
            kind,
            name,
            at: String::new(),
        };
        let mut properties: Vec<Property> = (0..n_properties)
            .map(|number| property(PropertyKind::Liveness, format!("calms down {number}")))
            .collect();
        properties.push(property(PropertyKind::Invariant, "no panic".to_owned()));
        let goals = (0..n_properties as u32).flat_map(|property| {
            (0..n_animals).map(move |animal| Goal {
                property,
                kind: GoalKind::Liveness,
                parameters: vec![("animal".to_owned(), animal.to_string())],
            })
        });
        Herd {
            n_animals,
            changes,
            wanted,
            forbidden: rng.random_bool(0.2).then(&mut mood),
            is_reduced: false,
            shape: Shape {
                state_bits: 8 * n_animals,
                state_len: n_animals,
                rules: vec![Rule {
                    name: "change".to_owned(),
                    at: String::new(),
                    reads: Default::default(),
                    writes: Default::default(),
                }],
                properties,
                goals: goals.collect(),
                ..Shape::default()
            },
        }
    }

    fn next(&self, state: &[u8]) -> Vec<Vec<u8>> {
        let mut next = Vec::new();
        for change in &self.changes {
            for animal in (0..self.n_animals).filter(|&animal| state[animal] == change.from) {
                let others = (0..self.n_animals).filter(|&other| other != animal);
                if let Some((mood, is_there)) = change.company
                    && others.clone().any(|other| state[other] == mood) != is_there
                {
                    continue;
                }
                let mut after = state.to_vec();
                after[animal] = change.to;
                if let Some((from, to)) = change.infects {
                    for other in others.filter(|&other| state[other] == from) {
                        after[other] = to;
                    }
                }
                next.push(after);
            }
        }
        next
    }

    fn reaches(&self, state: &[u8], goal: usize) -> bool {
        let wanted = &self.wanted[goal / self.n_animals];
        wanted.contains(&state[goal % self.n_animals])
    }

    fn failing(&self, state: &[u8]) -> Option<usize> {
        state.iter().position(|mood| Some(*mood) == self.forbidden)
    }

    /// All states that can be reached from one.
    fn reachable(&self, state: &[u8]) -> BTreeSet<Vec<u8>> {
        let mut known = BTreeSet::from([state.to_vec()]);
        let mut waiting = VecDeque::from([state.to_vec()]);
        while let Some(state) = waiting.pop_front() {
            for next in self.next(&state) {
                if known.insert(next.clone()) {
                    waiting.push_back(next);
                }
            }
        }
        known
    }

    fn can_reach(&self, state: &[u8], goal: usize) -> bool {
        let all = self.reachable(state);
        all.iter().any(|state| self.reaches(state, goal))
    }
}

impl Model for Herd {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, _: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(HerdExpander { herd: self })
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        vec![("moods".to_owned(), format!("{state:?}"))]
    }

    fn describe_step(&self, _: Option<&[u8]>, index: u32) -> Option<Step> {
        Some(Step {
            rule: index.to_string(),
            ..Step::default()
        })
    }
}

struct HerdExpander<'a> {
    herd: &'a Herd,
}

impl Expander for HerdExpander<'_> {
    fn starts(&mut self, _: Cursor, out: &mut Successors) -> Flow {
        out.push(0, 0, &vec![0; self.herd.n_animals]);
        Flow::Done
    }

    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow {
        for source in from.state..block.len() as u32 {
            let state = block.get(source as usize);
            let first = if source == from.state { from.rule } else { 0 };
            for (number, next) in (0..).zip(self.herd.next(state)).skip(first as usize) {
                if out.is_full() {
                    return Flow::Full(Cursor {
                        state: source,
                        rule: number,
                        ..Cursor::default()
                    });
                }
                out.count_enabled(source);
                out.count_firing(source, 0, next != state);
                out.push(source, 0, &next);
            }
        }
        Flow::Done
    }

    fn canonicalise(&mut self, states: &mut [u8]) {
        self.canonicalise_with_goals(states, &mut Vec::new());
    }

    fn canonicalise_with_goals(&mut self, states: &mut [u8], images: &mut Vec<u32>) {
        images.clear();
        if !self.herd.is_reduced {
            return;
        }
        let n = self.herd.n_animals;
        for state in states.chunks_exact_mut(n) {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&animal| state[animal]);
            let before = state.to_vec();
            let mut image_of = vec![0; n];
            for (place, &animal) in order.iter().enumerate() {
                state[place] = before[animal];
                image_of[animal] = place;
            }
            let goals = 0..self.herd.shape.goals.len();
            images.extend(goals.map(|goal| (goal / n * n + image_of[goal % n]) as u32));
        }
    }

    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow {
        for (at, state) in block.iter().enumerate() {
            if let Some(animal) = self.herd.failing(state) {
                failures.push(Failure {
                    state: at as u32,
                    property: self.herd.wanted.len() as u32,
                    parameters: vec![("animal".to_owned(), animal.to_string())],
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
        for (state, reached) in block.iter().zip(reached) {
            for goal in 0..self.herd.shape.goals.len() {
                *reached |= u64::from(self.herd.reaches(state, goal)) << goal;
            }
        }
        Flow::Done
    }
}

#[test]
fn liveness_of_each_animal_is_that_of_the_herd_without_reduction() {
    let (mut n_live, mut n_dead, mut n_unsafe, mut n_renamed) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut herd = Herd::random(&mut rng);
        let all = herd.reachable(&vec![0; herd.n_animals]);
        let is_unsafe = all.iter().any(|state| herd.failing(state).is_some());
        let is_live = |property: usize| {
            let goals = property * herd.n_animals..(property + 1) * herd.n_animals;
            (all.iter()).all(|state| goals.clone().all(|goal| herd.can_reach(state, goal)))
        };
        let live: Vec<Option<bool>> = (0..herd.wanted.len())
            .map(|property| (!is_unsafe).then(|| is_live(property)))
            .collect();
        for (is_reduced, threads) in [(false, 1), (true, 1), (true, 2)] {
            herd.is_reduced = is_reduced;
            let options = Options {
                deadlock: Deadlock::Off,
                max_errors: 10,
                threads,
                block_len: 3,
                buffer_len: [None, Some(2)][threads - 1],
                ..Options::default()
            };
            let outcome = check(&herd, &options, &Stop::new(), &mut Silent);
            let outcome = outcome.expect("the search has an outcome");
            let (holds, _) = outcome.holds.split_at(live.len());
            assert_eq!(holds, live, "seed {seed}, reduced: {is_reduced}");
            let n_expected = match is_unsafe {
                true => 1,
                false => live.iter().filter(|live| **live == Some(false)).count(),
            };
            assert_eq!(outcome.violations.len(), n_expected, "seed {seed}");
            for violation in &outcome.violations {
                let path = violation.path.as_ref().expect("a path");
                let trace = trace(&herd, path, &options, &Stop::new()).expect("a trace");
                let last = trace.steps.last().and_then(|step| step.state.as_ref());
                let last = last.expect("a state");
                let animal: usize = violation.parameters[0].1.parse().expect("an animal");
                let property = violation.property.expect("a property") as usize;
                match is_unsafe {
                    true => assert_eq!(herd.failing(last), Some(animal), "seed {seed}"),
                    false => assert!(
                        !herd.can_reach(last, property * herd.n_animals + animal),
                        "seed {seed}: animal {animal} of {last:?}"
                    ),
                }
                n_renamed += usize::from(path.steps.last().map(|step| &step.state) != Some(last));
            }
            n_unsafe += usize::from(is_unsafe);
            n_live += usize::from(outcome.verdict == Verdict::Verified);
            n_dead += usize::from(outcome.verdict == Verdict::Violated && !is_unsafe);
        }
    }
    assert!(n_live.min(n_dead).min(n_unsafe).min(n_renamed) > 100);
}

/// Two animals take turns; sorted, the herd stays in one state for ever.
#[test]
fn a_step_to_the_same_representative_may_exchange_goals() {
    let mut herd = Herd::random(&mut Pcg64Mcg::seed_from_u64(0));
    let property = |kind| Property {
        kind,
        name: String::new(),
        at: String::new(),
    };
    herd.n_animals = 2;
    herd.is_reduced = true;
    herd.forbidden = None;
    herd.wanted = vec![vec![1]];
    herd.shape.state_len = 2;
    herd.shape.properties = vec![
        property(PropertyKind::Liveness),
        property(PropertyKind::Invariant),
    ];
    herd.shape.goals = (0..2)
        .map(|animal| Goal {
            property: 0,
            kind: GoalKind::Liveness,
            parameters: vec![("animal".to_owned(), animal.to_string())],
        })
        .collect();
    let change = |from, to, infects| Change {
        from,
        to,
        company: None,
        infects,
    };
    // From the start one animal wakes; then the sleeping one wakes and puts the other to sleep.
    herd.changes = vec![
        Change {
            company: Some((1, false)),
            ..change(0, 1, None)
        },
        Change {
            company: Some((1, true)),
            ..change(0, 1, Some((1, 0)))
        },
    ];
    let options = Options::default();
    let outcome = check(&herd, &options, &Stop::new(), &mut Silent).expect("an outcome");
    assert_eq!((outcome.verdict, outcome.states), (Verdict::Verified, 2));
    // Without the exchange, the one that woke first stays awake.
    herd.changes.pop();
    let options = Options {
        deadlock: Deadlock::Off,
        ..options
    };
    let outcome = check(&herd, &options, &Stop::new(), &mut Silent).expect("an outcome");
    assert_eq!((outcome.verdict, outcome.states), (Verdict::Violated, 2));
    let violation = &outcome.violations[0];
    assert_eq!(violation.depth, 1);
    // The first animal is the one that wakes in the run shown, though it is sorted to the end.
    assert_eq!(violation.parameters[0].1, "1");
}
