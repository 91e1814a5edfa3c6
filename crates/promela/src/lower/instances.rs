//! How many instances of each process type there can be at a time.
//!
//! An edge that is on no cycle is taken at most once by an instance, so that the text bounds what it
//! creates. Where it does not, the room is a guess.

use super::LowerOptions;
use crate::MAX_INSTANCES;
use crate::automaton::Graph;
use crate::program::{Action, Program};

/// By process type.
pub(super) struct Instances {
    /// How many there is room for.
    pub(super) room: Vec<u32>,
    /// Whether some statement creates them.
    pub(super) is_run: Vec<bool>,
    /// Whether some room is a guess.
    pub(super) is_guess: bool,
}

/// A statement that creates processes.
struct Site {
    /// The process type that it is of.
    by: usize,
    /// The process type that it creates.
    of: usize,
    /// Whether an instance may execute it again.
    repeats: bool,
}

impl Instances {
    pub(super) fn new(program: &Program, options: &LowerOptions) -> Self {
        let n_types = program.proctypes.len();
        let mut bounds: Vec<u64> = vec![0; n_types];
        for &proctype in &program.initial {
            bounds[proctype] += 1;
        }
        let initial = bounds.clone();
        let sites = sites(program);
        let mut is_run = vec![false; n_types];
        sites.iter().for_each(|site| is_run[site.of] = true);
        // As many rounds as a chain of types is long; what still grows then has no bound.
        let mut unbounded = vec![false; n_types];
        for round in 0..=n_types {
            let mut next = initial.clone();
            for site in &sites {
                let n = match (bounds[site.by], site.repeats) {
                    (0, _) => 0,
                    (_, true) => u64::MAX / 512,
                    (n, false) => n,
                };
                next[site.of] = next[site.of].saturating_add(n).min(u64::MAX / 256);
            }
            if round == n_types {
                for number in 0..n_types {
                    unbounded[number] |= next[number] != bounds[number];
                }
            }
            bounds = next;
        }
        let most = MAX_INSTANCES as u64;
        let mut is_guess = false;
        let room = (0..n_types).map(|number| {
            if bounds[number] <= most && !unbounded[number] {
                return bounds[number] as u32;
            }
            let n = options.instances.max(initial[number] as u32 + 1);
            let n = n.min(MAX_INSTANCES as u32);
            is_guess |= n < MAX_INSTANCES as u32;
            n
        });
        Instances {
            room: room.collect(),
            is_run,
            is_guess,
        }
    }
}

fn sites(program: &Program) -> Vec<Site> {
    let mut sites = Vec::new();
    for (number, proctype) in program.proctypes.iter().enumerate() {
        let components = Graph::new(&proctype.automaton, |_| true).components();
        for (at, point) in proctype.automaton.points.iter().enumerate() {
            for edge in &point.edges {
                if let Action::Run(run, _) = &edge.action {
                    sites.push(Site {
                        by: number,
                        of: run.proctype,
                        repeats: components[at] == components[edge.target.index()],
                    });
                }
            }
        }
    }
    sites
}
