//! Searches that run out of memory and continue on disk: nothing they report may differ.

use std::sync::Arc;

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{Auto, Deadlock, Options, Outcome, SearchFolder, Silent, StoreKind, check};
use hadal_store::disk::{Disk, Folder, FolderOptions};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Edge, Graph, random_graph};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::agreement::random_meaning;
use crate::oracle::expect;
use crate::resume::LABEL;
use crate::summary::summarise;

/// States themselves, and hashes so long that no two collide.
const STORES: [StoreKind; 2] = [StoreKind::Exact, StoreKind::Hash128];

/// A folder on `disk` with buffers of this size.
pub(crate) fn folder(disk: &Arc<CrashDisk>, buffer_bytes: usize, resumable: bool) -> SearchFolder {
    let limits = FolderOptions {
        buffer_bytes,
        reserve_bytes: 0,
        threads: false,
        ..FolderOptions::default()
    };
    let disk = Arc::clone(disk) as Arc<dyn Disk>;
    let (folder, _) = Folder::open(disk, limits).expect("a folder can be used");
    SearchFolder {
        folder,
        resumable,
        label: LABEL.to_vec(),
    }
}

/// A fresh folder for one search.
pub(crate) fn scratch() -> SearchFolder {
    folder(&Arc::new(CrashDisk::new()), 1 << 18, false)
}

/// Searches with a fresh folder, whose buffers leave nothing of a small budget.
pub(crate) fn run(model: &dyn Model, options: &Options) -> Outcome {
    run_with(model, options, 1 << 20)
}

/// Searches with a fresh folder, with buffers of this size.
pub(crate) fn run_with(model: &dyn Model, options: &Options, buffer_bytes: usize) -> Outcome {
    let on_disk = folder(&Arc::new(CrashDisk::new()), buffer_bytes, false);
    check(
        model,
        &Auto,
        options,
        Some(on_disk),
        &Stop::new(),
        &mut Silent,
    )
    .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn random_graphs_agree_with_the_oracle_whatever_the_memory() {
    let mut n_spilled = [0; STORES.len()];
    for seed in 1000..1250 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let graph = random_graph(&mut rng);
        let meaning = random_meaning(&mut rng);
        let expected = expect(&graph, &meaning);
        if expected.states == 0 && expected.violations.is_empty() {
            continue;
        }
        for (threads, memory_bytes, buffer_len) in [
            (1, 0, Some(3)),
            (2, 2_000, Some(40)),
            (4, 20_000, None),
            (1, 200_000, None),
        ] {
            for (spilled, store) in n_spilled.iter_mut().zip(STORES) {
                let options = Options {
                    threads,
                    memory_bytes,
                    buffer_len,
                    store,
                    seed,
                    ..meaning.clone()
                };
                let outcome = run(&graph, &options);
                *spilled += u32::from(outcome.duplicates.disk > 0);
                // A search that decides liveness stores states.
                let goals = &graph.shape().goals;
                let is_live = goals.iter().any(|goal| goal.kind == GoalKind::Liveness);
                let is_hashed = store != StoreKind::Exact && !is_live;
                assert_eq!(outcome.omission.is_some(), is_hashed);
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(
                    summary,
                    expect(&graph, &options),
                    "seed {seed}, {options:?}"
                );
            }
        }
    }
    assert!(
        n_spilled.iter().all(|&n| n > 50),
        "only {n_spilled:?} searches found anything on disk"
    );
}

/// A piece of candidates becomes a piece of states, which must fit a block too: where tasks have
/// many candidates with similar keys, and where each has one.
#[test]
fn pieces_of_candidates_become_pieces_of_states() {
    let n_similar = 80;
    let n_nodes = 256 * n_similar;
    // The lowest byte of a node's number is in all words of its state.
    let similar = |at: u32| Edge::to(at % n_similar * 256 + at / n_similar, 0);
    let mut nodes = vec![Vec::new(); n_nodes as usize];
    nodes[0] = (0..n_nodes).map(similar).collect();
    let graph = Graph::new(64, &[0], nodes);
    for (memory_bytes, buffer_len) in [(100_000, None), (1 << 20, None), (1 << 20, Some(1))] {
        let options = Options {
            deadlock: Deadlock::Off,
            memory_bytes,
            buffer_len,
            ..Options::default()
        };
        let outcome = run(&graph, &options);
        assert_eq!(outcome.layers, [1, u64::from(n_nodes) - 1]);
    }
}

#[test]
fn a_large_graph_is_the_same_at_every_budget() {
    let cube = Graph::cube(14);
    let expected = check(
        &cube,
        &Auto,
        &Options::default(),
        None,
        &Stop::new(),
        &mut Silent,
    )
    .expect("a search");
    for (threads, memory_bytes, store) in [
        (2, 100_000, StoreKind::Exact),
        (2, 400_000, StoreKind::Exact),
        (4, 1 << 20, StoreKind::Exact),
        (2, 100_000, StoreKind::Hash64),
        (2, 400_000, StoreKind::Hash96),
        (4, 1 << 20, StoreKind::Hash40),
        (1, u64::MAX, StoreKind::Hash40),
    ] {
        let options = Options {
            threads,
            memory_bytes,
            store,
            ..Options::default()
        };
        let outcome = run(&cube, &options);
        assert_eq!(outcome.layers, expected.layers);
        assert_eq!(outcome.transitions, expected.transitions);
        assert_eq!(outcome.verdict, expected.verdict);
    }
}
