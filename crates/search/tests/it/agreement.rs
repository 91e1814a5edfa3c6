//! Random graphs under every option: outcome and traces must be those of the oracle.

use hadal_model::Stop;
use hadal_search::{Auto, Deadlock, Options, Silent, check};
use hadal_testkit::graph::random_graph;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::oracle::expect;
use crate::summary::summarise;

/// Random options that affect the result.
pub(crate) fn random_meaning(rng: &mut Pcg64Mcg) -> Options {
    Options {
        deadlock: [Deadlock::Stuttering, Deadlock::Stuck, Deadlock::Off][rng.random_range(0..3)],
        bound: [None, None, Some(0), Some(3)][rng.random_range(0..4)],
        max_errors: [1, 1, 2, 100][rng.random_range(0..4)],
        ..Options::default()
    }
}

#[test]
fn random_graphs_agree_with_the_oracle_in_memory() {
    let mut verdicts = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..600 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = random_graph(&mut rng);
        let meaning = random_meaning(&mut rng);
        let expected = expect(&graph, &meaning);
        // No state to start from, and no fault to report.
        if expected.states == 0 && expected.violations.is_empty() {
            continue;
        }
        for (threads, block_len, window_blocks, buffer_len) in [
            (1, 256, 64, None),
            (1, 1, 1, Some(1)),
            (2, 7, 5, Some(3)),
            (2, 256, 64, None),
            (8, 2, 9, Some(1)),
            (8, 64, 3, Some(40)),
        ] {
            let options = Options {
                threads,
                block_len,
                window_blocks,
                buffer_len,
                ..meaning.clone()
            };
            let outcome = check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let summary = summarise(&graph, &options, &outcome);
            assert_eq!(summary, expected, "seed {seed}, {options:?}");
            let reason = summary.reason.unwrap_or("-");
            let kinds: Vec<&str> = summary.violations.iter().map(|found| found.kind).collect();
            *verdicts
                .entry(format!("{} {reason} {kinds:.1?}", summary.verdict))
                .or_default() += 1;
        }
    }
    // The random graphs must not all end the same way.
    for part in [
        "verified",
        "bound",
        "deadlock",
        "range",
        "invariant",
        "cover",
        "liveness",
    ] {
        assert!(
            verdicts.keys().any(|key| key.contains(part)),
            "no {part} in {verdicts:?}"
        );
    }
}
