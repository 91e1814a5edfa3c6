//! Block numbers on disk against block numbers in memory: the same bytes.

use hadal_model::Stop;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::minimise::tests::{BOTH, Plain, tau};
use crate::minimise::{Equivalence, Tuning, minimise, minimise_tuned};
use crate::{Error, Resources};

/// A graph whose states differ by few things, so that it becomes smaller over several rounds. Of so
/// many steps in a hundred the label is invisible; some of these lead back.
fn layered(random: &mut Pcg64Mcg, n: usize, n_invisible: u32) -> Plain {
    let step = |random: &mut Pcg64Mcg, source: usize| {
        let row = source / 16 * 16;
        if random.random_range(0..100) < n_invisible {
            let target = (row + n - 16 + random.random_range(0..48)) % n;
            return (source, 0, target);
        }
        // Sixteen alike in a row, most of which stay so.
        let target = (row + 16 + random.random_range(0..16)) % n;
        let is_odd = source % 61 == 5;
        (source, 1 + u32::from(is_odd), target)
    };
    let mut edges = Vec::new();
    for source in 0..n {
        for _ in 0..random.random_range(1..4) {
            edges.push(step(random, source));
        }
    }
    Plain {
        n,
        initial: 0,
        edges,
    }
}

#[test]
fn block_numbers_on_disk_give_the_same_bytes() {
    let stop = Stop::new();
    let mut random = Pcg64Mcg::seed_from_u64(23);
    for (equivalence, n_invisible) in [
        (Equivalence::Strong, 0),
        (Equivalence::Branching, 20),
        (Equivalence::Branching, 60),
    ] {
        let graph = layered(&mut random, 140_000, n_invisible).hlts();
        let result = |memory_bytes: u64, threads: usize, is_external: bool| {
            let mut resources = Resources::new(&stop);
            resources.memory_bytes = memory_bytes;
            resources.threads = threads;
            let tuning = Tuning {
                is_external,
                ..Tuning::default()
            };
            let found = minimise_tuned(&graph, equivalence, &tau(), &resources, tuning);
            let found = found.expect("there is memory");
            let mut text = Vec::new();
            crate::write_aut(&found.graph, &mut text, &resources).expect("memory can be written");
            (found.graph.counts(), text)
        };
        let in_memory = result(64 << 20, 2, false);
        // Sorts in many runs and in one; and budgets that have no room for the numbers.
        for (bytes, threads, is_external) in [
            (16 << 20, 4, true),
            (4 << 20, 2, false),
            (1_100_000, 1, false),
        ] {
            let found = result(bytes, threads, is_external);
            assert!(
                found == in_memory,
                "{bytes} {equivalence:?} {n_invisible} {:?}",
                found.0
            );
        }
        let mut resources = Resources::new(&stop);
        resources.memory_bytes = 1_100_000;
        resources.scratch_bytes = 1 << 20;
        let found = minimise(&graph, equivalence, &tau(), &resources);
        assert!(matches!(found, Err(Error::Memory { .. })));
    }
}

/// Graphs in the folder that `HADAL_AUT_MODELS` names; their sizes are tested elsewhere.
#[test]
fn graphs_by_others_become_the_same_on_disk() {
    let Some(folder) = std::env::var_os("HADAL_AUT_MODELS") else {
        return;
    };
    let stop = Stop::new();
    let mut n_graphs = 0;
    for entry in std::fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_none_or(|extension| extension != "aut") {
            continue;
        }
        n_graphs += 1;
        let graph = crate::open(&path, &Resources::new(&stop)).expect("it can be read");
        let tau = crate::Invisible::DEFAULT.map(str::to_owned);
        for equivalence in BOTH {
            let result = |is_external: bool, threads: usize, memory_bytes: u64| {
                let mut resources = Resources::new(&stop);
                resources.threads = threads;
                resources.memory_bytes = memory_bytes;
                let tuning = Tuning {
                    is_external,
                    ..Tuning::default()
                };
                let found = minimise_tuned(&graph, equivalence, &tau, &resources, tuning);
                let mut text = Vec::new();
                let found = found.expect("there is room").graph;
                crate::write_aut(&found, &mut text, &resources).expect("memory");
                text
            };
            let in_memory = result(false, 2, 64 << 20);
            for (threads, memory_bytes) in [(1, 1 << 20), (2, 4 << 20), (4, 64 << 20)] {
                let on_disk = result(true, threads, memory_bytes);
                assert!(on_disk == in_memory, "{} {memory_bytes}", path.display());
            }
        }
    }
    assert!(n_graphs > 0, "there is no graph");
}
