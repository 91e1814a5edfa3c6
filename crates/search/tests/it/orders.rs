//! Orders of ranks from outside the crate.

use hadal_model::Stop;
use hadal_search::{
    Deadlock, Options, Outcome, Rank, RankOrder, Ranked, Silent, Steps, TooCostly, Verdict, check,
};
use hadal_testkit::graph::{Edge, Graph};

use crate::external::scratch;
use crate::ranks::stepping_graphs;

/// Ranks states by the distance that is left, as a search that is directed to a node would: nodes of
/// a ladder by their height, startstates among them. A rank never decreases, because each step of
/// the ladder leads up, or stays.
struct Ladder {
    width: u32,
}

impl RankOrder for Ladder {
    fn name(&self) -> &'static str {
        "ladder"
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        ranks.extend((0..steps.len()).map(|at| {
            let state = steps.successors.state(at);
            let node = u32::from_le_bytes([state[0], state[1], state[2], state[3]]);
            Rank(u64::from(node / self.width))
        }));
        Ok(())
    }
}

fn search(graph: &Graph, order: impl RankOrder + 'static, memory: Option<u64>) -> Outcome {
    let options = Options {
        threads: 2,
        memory_bytes: memory.unwrap_or(u64::MAX),
        deadlock: Deadlock::Off,
        buffer_len: Some(5),
        block_len: 3,
        ..Options::default()
    };
    let strategy = Ranked::new(order);
    let folder = memory.map(|_| scratch());
    let outcome = check(
        graph,
        &strategy,
        &options,
        folder,
        &Stop::new(),
        &mut Silent,
    );
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

/// Startstates at several heights; the one that leads to the failing node is not in the first rank.
#[test]
fn startstates_of_any_rank_begin_a_trace() {
    let (width, height) = (4, 12);
    let up = |node: u32| match node / width + 1 < height {
        true => vec![Edge::to(node + width, 0)],
        false => Vec::new(),
    };
    let nodes: Vec<_> = (0..width * height).map(up).collect();
    for start in 1..height {
        let second = start * width + 1;
        let mut graph = Graph::new(4, &[0, second], nodes.clone());
        let failing = (height - 1) * width + 1;
        graph.fail(&[(failing, false)]);
        for memory in [None, Some(0), Some(3_000)] {
            let outcome = search(&graph, Ladder { width }, memory);
            assert_eq!(outcome.verdict, Verdict::Violated, "start {start}");
            let trace = outcome.violations[0].trace.as_ref().expect("a trace");
            let states = trace.steps.iter().map(|step| step.state.as_ref());
            let found: Vec<u32> = states
                .map(|state| graph.decode(state.expect("a state")))
                .collect();
            let expected: Vec<u32> = (start..height).map(|at| at * width + 1).collect();
            assert_eq!(found, expected, "start {start}, {memory:?}");
        }
    }
}

/// Every state has the same rank, which is opened again and again.
struct Same;

impl RankOrder for Same {
    fn name(&self) -> &'static str {
        "same"
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        ranks.resize(ranks.len() + steps.len(), Rank(u64::MAX));
        Ok(())
    }
}

#[test]
fn one_rank_for_all_states_finds_them_all() {
    for (seed, graph) in stepping_graphs(7700..7730) {
        let n_states = graph.least_costs().iter().flatten().count() as u64;
        for memory in [None, Some(0), Some(3_000)] {
            let outcome = search(&graph, Same, memory);
            assert_eq!(outcome.verdict, Verdict::Verified, "seed {seed}");
            assert_eq!(outcome.states, n_states, "seed {seed}");
        }
    }
}
