//! The tally alone: reset to a mark, it is as it was then.

use hadal_model::{Failure, Fault, FaultKind, GoalKind, Phase, Source};
use hadal_testkit::graph::Graph;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::Deadlock;

/// What a checkpoint saves of a tally, as text.
fn saved(tally: &Tally<'_>) -> String {
    let Tally {
        rank,
        frontier,
        layers,
        ranks: _,
        reopened: _,
        totals,
        before,
        findings,
    } = tally;
    let saved = (rank, frontier, layers, totals, before, findings.save());
    serde_json::to_string(&saved).expect("numbers and names become text")
}

/// Random additions, as a search makes them.
struct Additions {
    rng: Pcg64Mcg,
    /// Ordinal of the next state to be found, and of the next one to be expanded.
    next_found: u64,
    next_expanded: u64,
}

impl Additions {
    fn new(seed: u64) -> Self {
        Additions {
            rng: Pcg64Mcg::seed_from_u64(seed),
            next_found: 0,
            next_expanded: 0,
        }
    }

    fn add(&mut self, tally: &mut Tally<'_>, n: usize) {
        for _ in 0..n {
            match self.rng.random_range(0..10) {
                0 => self.add_rank(tally),
                1..5 => self.add_found(tally),
                _ => self.add_expanded(tally),
            }
        }
    }

    fn add_rank(&mut self, tally: &mut Tally<'_>) {
        tally.findings.end_rank();
        let first = tally.frontier.end;
        let rank = Rank(tally.rank.0 + self.rng.random_range(1..4));
        tally.begin_rank(rank, first..self.next_found.max(first), &[]);
        self.next_expanded = first;
    }

    /// A new state, at which properties may fail.
    fn add_found(&mut self, tally: &mut Tally<'_>) {
        self.next_found += self.rng.random_range(1..3);
        let depth = tally.depth() + 1;
        for property in 0..3 {
            if self.rng.random_range(0..6) > 0 {
                continue;
            }
            let fault = (self.rng.random_range(0..3) == 0).then(|| Box::new(self.fault()));
            let failure = Failure {
                state: 0,
                property,
                parameters: vec![("p".to_owned(), self.next_found.to_string())],
                fault,
            };
            (tally.findings).add_failure(self.next_found, depth, &failure);
        }
        let n_goals = tally.totals.goals.len();
        let reached: Vec<u64> = (0..n_goals).map(|_| self.rng.random_range(0..2)).collect();
        tally.totals.add_goals(&reached);
        tally.totals.duplicates.memory += self.rng.random_range(0..9);
        tally.totals.duplicates.layer += self.rng.random_range(0..9);
        tally.totals.duplicates.disk += self.rng.random_range(0..9);
    }

    /// The expansion of a state, which may be a deadlock or meet a fault.
    fn add_expanded(&mut self, tally: &mut Tally<'_>) {
        let fired: u32 = self.rng.random_range(0..4);
        let source = Source {
            fired: u64::from(fired),
            enabled: fired,
            written: fired,
            may_end: false,
            progress: self.rng.random_range(0..8) > 0,
            faults: match self.rng.random_range(0..8) {
                0 => vec![self.fault()],
                _ => Vec::new(),
            },
        };
        tally.totals.visited += 1;
        tally.totals.transitions += u64::from(fired);
        tally.totals.fired_by_rule[0] += u64::from(fired);
        tally.frontier.start = (tally.frontier.start + 1).min(tally.frontier.end);
        let depth = tally.depth();
        (tally.findings).add_source(self.next_expanded, depth, &source);
        self.next_expanded += 1;
    }

    fn fault(&mut self) -> Fault {
        let kinds = [FaultKind::Range, FaultKind::Undefined, FaultKind::Error];
        let rule = self.rng.random_range(0..3);
        Fault {
            kind: kinds[self.rng.random_range(0..3)],
            message: "out of range".to_owned(),
            at: "here:1:1".to_owned(),
            phase: Phase::Body,
            name: format!("rule {rule}"),
            parameters: Vec::new(),
            goes_on: false,
        }
    }
}

fn shape() -> Shape {
    let mut graph = Graph::new(2, &[0], vec![vec![]]);
    (0..3).for_each(|_| graph.fail(&[]));
    graph.reach(GoalKind::CoverStep, &[]);
    graph.reach(GoalKind::CoverState, &[]);
    graph.shape
}

fn random_options(rng: &mut Pcg64Mcg) -> Options {
    Options {
        deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off][rng.random_range(0..3)],
        max_errors: [1, 3, 100][rng.random_range(0..3)],
        ..Options::default()
    }
}

#[test]
fn after_a_reset_everything_is_as_it_was_marked() {
    let shape = shape();
    let (mut n_changed, mut n_found) = (0, 0);
    for seed in 0..500 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let options = random_options(&mut rng);
        let mut tally = Tally::new(&shape, &options);
        let mut additions = Additions::new(seed);
        additions.add(&mut tally, rng.random_range(0..60));
        let (mark, before) = (tally.mark(), saved(&tally));
        additions.add(&mut tally, rng.random_range(0..60));
        n_changed += usize::from(saved(&tally) != before);
        tally.reset_to(mark);
        assert_eq!(saved(&tally), before, "seed {seed}");
        n_found += tally.findings.finish().len();
    }
    assert!(
        n_changed > 400,
        "{n_changed} tallies changed after the mark"
    );
    assert!(n_found > 500, "{n_found} violations");
}

/// What is not saved, such as which violations are known, shows in what is added later.
#[test]
fn after_a_reset_the_search_repeats_what_it_would_have_found() {
    let shape = shape();
    for seed in 0..500 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let options = random_options(&mut rng);
        let (n_before, n_undone) = (rng.random_range(0..60), rng.random_range(0..60));
        let run = |is_reset: bool| {
            let mut tally = Tally::new(&shape, &options);
            let mut additions = Additions::new(seed);
            additions.add(&mut tally, n_before);
            let (found, expanded) = (additions.next_found, additions.next_expanded);
            if is_reset {
                let mark = tally.mark();
                additions.add(&mut tally, n_undone);
                tally.reset_to(mark);
            }
            let mut additions = Additions {
                rng: Pcg64Mcg::seed_from_u64(!seed),
                next_found: found,
                next_expanded: expanded,
            };
            additions.add(&mut tally, 60);
            (saved(&tally), tally.findings.finish())
        };
        assert_eq!(run(true), run(false), "seed {seed}");
    }
}
