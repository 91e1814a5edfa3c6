//! States of kilobytes that have nothing in common: their keys are as wide as they are, and go to
//! disk as exactly as others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hadal_model::Stop;
use hadal_search::{
    Auto, Error, Options, Outcome, Progress, Reason, SearchFolder, Silent, check, resume,
};
use hadal_store::MAX_STATE_LEN;
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};
use hadal_testkit::graph::{Edge, Filling, Graph};

use crate::oracle::expect;
use crate::summary::summarise;

/// States of random bytes, with three steps from each.
fn wide_graph(state_len: usize, n_nodes: u32) -> Graph {
    let steps = |node: u32| {
        let targets = [(2 * node + 1) % n_nodes, (3 * node + 2) % n_nodes, node / 2];
        targets.map(|target| Edge::to(target, 0)).to_vec()
    };
    let mut graph = Graph::new(state_len, &[0], (0..n_nodes).map(steps).collect());
    graph.filling = Filling::Random;
    graph
}

fn options(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        checkpoint_every: Some(Duration::from_millis(100)),
        ..Options::default()
    }
}

/// Starts or resumes the search in a folder. It stops when it has found `n_most` states.
fn run(path: &Path, graph: &Graph, options: &Options, n_most: u64) -> Result<Outcome, Error> {
    let disk = NativeDisk::open(path).expect("a folder can be used");
    let limits = FolderOptions {
        reserve_bytes: 0,
        ..FolderOptions::for_memory(options.memory_bytes)
    };
    let (folder, manifest) = Folder::open(Arc::new(disk), limits)?;
    let stop = Stop::new();
    let mut observer = |progress: &Progress| {
        if progress.states >= n_most {
            stop.raise();
        }
    };
    match manifest {
        Some(manifest) => resume(
            graph,
            &Auto,
            options,
            folder,
            &manifest,
            &stop,
            &mut observer,
        ),
        None => {
            let search_folder = SearchFolder {
                folder,
                resumable: true,
                label: Vec::new(),
            };
            check(
                graph,
                &Auto,
                options,
                Some(search_folder),
                &stop,
                &mut observer,
            )
        }
    }
}

#[track_caller]
fn assert_expected(graph: &Graph, options: &Options, outcome: Result<Outcome, Error>) -> Outcome {
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let expected = expect(graph, options);
    assert_eq!(expected.verdict, "verified");
    assert_eq!(summarise(graph, options, &outcome), expected);
    outcome
}

/// 80 MiB of states in 16 MiB, which accounts with a least size may exceed a little.
#[test]
fn states_of_four_kilobytes_go_to_disk() {
    let graph = wide_graph(4096, 20_000);
    for threads in [1, 2] {
        let path = tempfile::tempdir().expect("a folder");
        let options = Options {
            checkpoint_every: None,
            ..options(threads, 16 << 20)
        };
        let outcome = run(path.path(), &graph, &options, u64::MAX);
        let outcome = assert_expected(&graph, &options, outcome);
        assert!(outcome.states > 19_000, "{}", outcome.states);
        assert!(outcome.disk.peak_bytes > 80 << 20, "{:?}", outcome.disk);
        let data_bytes = outcome.data_bytes;
        assert!(data_bytes <= 18 << 20, "{data_bytes} bytes");
    }
}

#[test]
fn a_search_of_wide_states_is_resumed() {
    let graph = wide_graph(4096, 20_000);
    let path = tempfile::tempdir().expect("a folder");
    for (threads, n_most) in [(2, 2_000), (1, 11_000)] {
        let outcome = run(path.path(), &graph, &options(threads, 16 << 20), n_most);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(outcome.reason, Some(Reason::Interrupted));
    }
    let options = options(2, 24 << 20);
    let outcome = run(path.path(), &graph, &options, u64::MAX);
    assert_expected(&graph, &options, outcome);
}

/// Wider states than a disk takes are refused at once; in memory there is no limit.
#[test]
fn the_widest_states_go_to_disk_and_wider_ones_are_refused() {
    let graph = wide_graph(MAX_STATE_LEN, 1000);
    let path = tempfile::tempdir().expect("a folder");
    let options_on_disk = options(2, 24 << 20);
    let outcome = run(path.path(), &graph, &options_on_disk, u64::MAX);
    assert_expected(&graph, &options_on_disk, outcome);

    let graph = wide_graph(MAX_STATE_LEN + 1, 100);
    let path = tempfile::tempdir().expect("a folder");
    let refused = run(path.path(), &graph, &options(1, 24 << 20), u64::MAX);
    let error = refused.map(|_| ()).expect_err("it is too wide").to_string();
    assert!(error.contains(&MAX_STATE_LEN.to_string()), "{error}");
    let in_memory = options(1, 1 << 30);
    let outcome = check(&graph, &Auto, &in_memory, None, &Stop::new(), &mut Silent);
    assert_expected(&graph, &in_memory, outcome);
}

/// Without a disk the search ends where wider keys do not fit, as it does where more keys do not.
#[test]
fn keys_that_become_wider_keep_to_the_budget_without_a_disk() {
    let mut graph = wide_graph(40, 60_000);
    graph.filling = Filling::Multiples;
    let run = |memory_bytes| {
        let options = options(1, memory_bytes);
        check(&graph, &Auto, &options, None, &Stop::new(), &mut Silent)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let needed = run(1 << 30).data_bytes;
    let (mut n_ended, mut n_stopped, mut most_percent) = (0, 0, 0);
    for percent in (20..=60).step_by(2) {
        let memory_bytes = needed * percent / 100;
        let outcome = run(memory_bytes);
        match outcome.reason {
            None => n_ended += 1,
            Some(Reason::Memory) => n_stopped += 1,
            Some(reason) => panic!("{reason:?}"),
        }
        most_percent = most_percent.max((100 * outcome.data_bytes).div_ceil(memory_bytes));
    }
    assert!(most_percent <= 100, "{most_percent} % of the budget");
    assert!(n_ended > 3 && n_stopped > 3, "{n_ended}, {n_stopped}");
}
