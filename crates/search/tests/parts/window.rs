//! The window alone: whatever its sizes and the number of threads, it hands on what a plain loop
//! finds, in the same order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use hadal_model::{Model, Source, Stop};
use hadal_store::codec::Headroom;
use hadal_store::{Parent, write_records};
use hadal_testkit::graph::{Edge, Graph, Interrupt, Trap, random_graph};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::Options;
use crate::StoreKind;
use crate::budget::Budget;
use crate::fixture::{Step, encode, expand_plainly, keys_for, pool_for};

const ROOM: Room = Room {
    bytes: u64::MAX,
    is_one_free: false,
};

/// Sizes of a window, all of them tiny.
fn sizes(
    shape: &Shape,
    keys: &KeySpace,
    buffer_len: usize,
    block_len: usize,
    window_blocks: usize,
) -> WindowSizes {
    let options = Options {
        buffer_len: Some(buffer_len),
        block_len,
        window_blocks,
        ..Options::default()
    };
    Budget::new(&options, shape, keys).window
}

/// Every node of a graph as a stored state, whose ordinal is its number, in pieces of several
/// states.
fn log_of(graph: &Graph, keys: &KeySpace) -> Log {
    let nodes = 0..graph.nodes.len() as u32;
    let states: Vec<Vec<u8>> = nodes.map(|node| graph.encode(node, 0)).collect();
    let words = encode(keys, &states);
    let shape = keys.codec.newest();
    let mut log = Log::new();
    for (number, piece) in (1..).zip(words.chunks(5 * shape.n_words)) {
        let mut records = Vec::new();
        let piece = piece.chunks_exact(shape.n_words);
        write_records(shape.n_words, piece.clone(), &mut records);
        log.append(Arc::from(records), piece.len(), shape.version)
            .unwrap_or_else(|error| panic!("piece {number}: {error}"));
    }
    log
}

/// What a window hands on.
#[derive(Debug, Default, PartialEq, Eq)]
struct HandedOn {
    steps: Vec<Step>,
    /// What happened at each source, in order; those of startstates have none.
    sources: Vec<Source>,
}

impl HandedOn {
    /// What a plain loop over the expander finds in the states from `first` on.
    fn plainly(graph: &Graph, first: u64) -> Self {
        let stop = Stop::new();
        let mut expander = graph.expander(&stop);
        let mut all = HandedOn::default();
        for node in first..graph.nodes.len() as u64 {
            let state = graph.encode(node as u32, 0);
            let source = Some((node, &state[..]));
            let (steps, source) = expand_plainly(graph, &mut *expander, source);
            all.steps.extend(steps);
            all.sources.push(source);
        }
        all
    }

    /// Takes what `task` hands on. Keys must be those of the states.
    fn take(&mut self, task: &Task, keys: &KeySpace) {
        let n_words = keys.codec.newest().n_words;
        for position in 0..task.n_candidates() {
            let state = task.kernel.successors.state(position);
            let key = &task.codec_keys()[position * n_words..][..n_words];
            let mut decoded = Vec::new();
            let version = keys.codec.newest().version;
            keys.codec.decode(version, key, &mut decoded);
            assert_eq!(decoded, state, "the key of candidate {position}");
            if let Some(hashing) = &keys.hashing {
                let n_words = keys.shape().n_words;
                let stored = &task.candidate_keys(keys)[position * n_words..][..n_words];
                assert_eq!(stored, &hashing.words(state)[..n_words]);
            }
            self.steps.push(Step {
                parent: task.parent_of(position),
                cost: task.kernel.successors.cost(position),
                state: state.to_vec(),
            });
        }
        if !task.is_full() && task.block != Block::Starts {
            self.sources
                .extend_from_slice(task.kernel.successors.sources());
        }
    }
}

impl Window<'_> {
    /// Expands what it has and hands it on, without new blocks.
    fn step(&mut self, pool: &Pool<'_>, taken: &mut HandedOn) {
        self.expand(pool, None);
        assert!(self.is_intact() && !self.is_stopped());
        while self.has_outgrown() {
            self.keys.widen(Headroom::Tight);
            self.encode_again(pool);
        }
        let keys = self.keys;
        self.ready().iter().for_each(|task| taken.take(task, keys));
        self.retire_ready();
    }

    /// Expands all of `source`; `after` is called with every window.
    fn run(
        &mut self,
        source: &mut BlockSource,
        log: &mut Log,
        pool: &Pool<'_>,
        mut after: impl FnMut(&Window<'_>, &BlockSource, &HandedOn),
    ) -> HandedOn {
        let mut taken = HandedOn::default();
        loop {
            let filled = self.fill(source, log, pool.n_threads(), ROOM);
            assert_eq!(filled.expect("the log is in memory"), Filled::Enough);
            if self.is_empty() {
                return taken;
            }
            self.step(pool, &mut taken);
            after(self, source, &taken);
        }
    }
}

/// Random graphs with costs, of some size.
fn graphs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (Pcg64Mcg, Graph)> {
    seeds.map(|seed| {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut graph = random_graph(&mut rng);
        graph.set_random_costs(3, &mut rng);
        (rng, graph)
    })
}

#[test]
fn candidates_come_in_the_order_of_a_plain_loop_whatever_threads_and_sizes() {
    let (mut n_full, mut n_several) = (0, 0);
    for (mut rng, graph) in graphs(0..150) {
        let n = graph.nodes.len() as u64;
        let expected = HandedOn::plainly(&graph, 0);
        for n_threads in 1..=4 {
            let (buffer_len, block_len, window_blocks) = match n_threads {
                1 => (3, 2, 4),
                _ => (
                    rng.random_range(1..12),
                    rng.random_range(1..70),
                    rng.random_range(1..9),
                ),
            };
            let store = [StoreKind::Exact, StoreKind::Hash40, StoreKind::Hash128];
            let keys = keys_for(&graph, store[rng.random_range(0..3)]);
            let mut log = log_of(&graph, &keys);
            let (shape, stop) = (graph.shape(), Stop::new());
            let sizes = sizes(shape, &keys, buffer_len, block_len, window_blocks);
            let pool = pool_for(&graph, &stop, &keys, n_threads);
            let mut window = Window::new(shape, &keys, sizes, true);
            let mut source = BlockSource::States(0..n);
            let taken = pool.run(|| {
                window.run(&mut source, &mut log, &pool, |window, source, taken| {
                    n_several += usize::from(window.active.len() > 1);
                    // From the first state left a search that ends here can resume: all before it
                    // are complete, and nothing of the others was handed on.
                    let n_done = match window.first_left(source) {
                        Some(first) => {
                            let is_before = |step: &&Step| step.parent.ordinal < first;
                            let steps = expected.steps.iter().filter(is_before);
                            assert!(taken.steps.iter().eq(steps), "resumes from {first}");
                            first as usize
                        }
                        None => {
                            n_full += 1;
                            taken.sources.len()
                        }
                    };
                    assert_eq!(taken.sources, expected.sources[..n_done]);
                })
            });
            assert_eq!(taken, expected, "{n_threads} threads, {sizes:?}");
        }
    }
    assert!(n_full > 1000, "{n_full} buffers were continued");
    assert!(n_several > 1000, "{n_several} windows had several blocks");
}

#[test]
fn startstates_are_handed_on_once_and_in_order() {
    for (_, mut graph) in graphs(0..60) {
        graph.starts.retain(|start| start.target().is_some());
        let expected = {
            let stop = Stop::new();
            expand_plainly(&graph, &mut *graph.expander(&stop), None).0
        };
        let keys = keys_for(&graph, StoreKind::Exact);
        let (shape, stop) = (graph.shape(), Stop::new());
        let pool = pool_for(&graph, &stop, &keys, 2);
        let mut window = Window::new(shape, &keys, sizes(shape, &keys, 1, 2, 3), true);
        let (mut source, mut log) = (BlockSource::Starts, Log::new());
        let taken = pool.run(|| window.run(&mut source, &mut log, &pool, |_, _, _| ()));
        assert_eq!(taken.steps, expected);
        assert!(source.is_empty());
        assert!((taken.steps.iter()).all(|step| step.parent.ordinal == Parent::START));
    }
}

#[test]
fn a_paused_window_finishes_its_blocks_and_the_rest_can_be_expanded_later() {
    for (mut rng, graph) in graphs(200..260) {
        let n = graph.nodes.len() as u64;
        let expected = HandedOn::plainly(&graph, 0);
        let keys = keys_for(&graph, StoreKind::Exact);
        let mut log = log_of(&graph, &keys);
        let (shape, stop) = (graph.shape(), Stop::new());
        let sizes = sizes(shape, &keys, 3, 2, rng.random_range(1..6));
        let pool = pool_for(&graph, &stop, &keys, rng.random_range(1..4));
        let mut window = Window::new(shape, &keys, sizes, true);
        let mut source = BlockSource::States(0..n);
        let mut taken = HandedOn::default();
        let rest = pool.run(|| {
            for _ in 0..rng.random_range(0..10) {
                let filled = window.fill(&mut source, &mut log, pool.n_threads(), ROOM);
                assert_eq!(filled.expect("the log is in memory"), Filled::Enough);
                window.step(&pool, &mut taken);
            }
            // The pause: no further block is started.
            while !window.is_empty() {
                window.step(&pool, &mut taken);
            }
            let first = window.first_left(&source).expect("no block is left");
            assert_eq!(first, taken.sources.len() as u64);
            assert_eq!(window.first_needed(&source), Some(first));
            // Another window, as after a checkpoint.
            let mut window = Window::new(shape, &keys, sizes, true);
            let mut left = BlockSource::States(first..n);
            assert_eq!(
                window.run(&mut left, &mut log, &pool, |_, _, _| ()),
                HandedOn::plainly(&graph, first),
            );
            let mut rest = window.run(&mut source, &mut log, &pool, |_, _, _| ());
            taken.steps.append(&mut rest.steps);
            taken.sources.append(&mut rest.sources);
            taken
        });
        assert_eq!(rest, expected);
    }
}

/// A graph of `n` nodes in a circle.
fn circle(n: u32) -> Graph {
    let nodes = (0..n).map(|node| vec![Edge::to((node + 1) % n, 0)]);
    Graph::new(2, &[0], nodes.collect())
}

#[test]
fn a_raised_flag_stops_all_blocks_and_the_window_can_be_cleared() {
    for n_threads in 1..=4 {
        let mut graph = circle(40);
        // One block raises the flag, those behind it wait for that.
        graph.interrupt = Some(Interrupt::Found(1));
        graph.traps = (2..40).map(|node| (node, Trap::Endless)).collect();
        let keys = keys_for(&graph, StoreKind::Exact);
        let mut log = log_of(&graph, &keys);
        let (shape, stop) = (graph.shape(), Stop::new());
        let sizes = sizes(shape, &keys, 8, 2, 4);
        let pool = pool_for(&graph, &stop, &keys, n_threads);
        let mut window = Window::new(shape, &keys, sizes, false);
        let mut source = BlockSource::States(0..40);
        let (running, is_running) = channel::<()>();
        std::thread::scope(|scope| {
            let stop = &stop;
            let watching = scope.spawn(move || {
                let ended = is_running.recv_timeout(Duration::from_secs(60));
                let is_hung = ended == Err(RecvTimeoutError::Timeout);
                stop.flag().fetch_or(is_hung, Ordering::Relaxed);
                is_hung
            });
            pool.run(|| {
                let filled = window.fill(&mut source, &mut log, n_threads, ROOM);
                assert_eq!(filled.expect("the log is in memory"), Filled::Enough);
                assert!(!window.is_stopped());
                window.expand(&pool, None);
            });
            drop(running);
            assert!(!watching.join().expect("it only waits"), "no block ends");
        });
        assert!(stop.is_raised() && window.is_stopped());
        assert!(window.is_intact(), "to be stopped is not to be damaged");
        let held = window.data_bytes();
        window.clear();
        assert!(window.is_empty() && !window.is_stopped());
        assert_eq!(window.data_bytes(), held, "buffers are used again");
        assert_eq!(source_start(&source), Some(8), "four blocks were started");
    }
}

fn source_start(source: &BlockSource) -> Option<u64> {
    match source {
        BlockSource::Starts => None,
        BlockSource::States(left) => Some(left.start),
    }
}

#[test]
fn tasks_are_made_as_far_as_there_is_room() {
    let graph = circle(40);
    let keys = keys_for(&graph, StoreKind::Exact);
    let mut log = log_of(&graph, &keys);
    let shape = graph.shape();
    let sizes = sizes(shape, &keys, 3, 2, 6);
    for (n_fitting, is_one_free, expected) in [
        (0, false, (Filled::NoMemory, 0)),
        (0, true, (Filled::Enough, 1)),
        (1, false, (Filled::Enough, 1)),
        (4, true, (Filled::Enough, 4)),
        (100, false, (Filled::Enough, 6)),
    ] {
        let mut window = Window::new(shape, &keys, sizes, false);
        let mut source = BlockSource::States(0..40);
        let room = Room {
            bytes: n_fitting * window.task_bytes() + window.task_bytes() / 2,
            is_one_free,
        };
        let filled = window.fill(&mut source, &mut log, 2, room);
        let filled = filled.expect("the log is in memory");
        assert_eq!((filled, window.active.len()), expected, "{room:?}");
        let held = window.active.len() as u64 * window.task_bytes();
        assert_eq!(window.data_bytes(), held);
        assert_eq!(source_start(&source), Some(2 * window.active.len() as u64));
    }
}

/// Tasks that have a block when keys become wider keep their sizes until they retire, and are counted
/// with these.
#[test]
fn a_window_fits_wider_keys_and_counts_each_task_with_its_own_sizes() {
    let steps = |node: u32| vec![Edge::to((node + 1) % 400, 0)];
    let graph = Graph::new(64, &[0], (0..400).map(steps).collect());
    let keys = keys_for(&graph, StoreKind::Exact);
    let mut log = log_of(&graph, &keys);
    let shape = graph.shape();
    let options = Options {
        memory_bytes: 1 << 20,
        window_blocks: 4,
        ..Options::default()
    };
    let sizes = Budget::new(&options, shape, &keys).window;
    let mut window = Window::new(shape, &keys, sizes, false);
    let mut source = BlockSource::States(0..400);
    let fill = |window: &mut Window<'_>, source: &mut BlockSource, log: &mut Log| {
        let filled = window.fill(source, log, 1, ROOM);
        assert_eq!(filled.expect("the log is in memory"), Filled::Enough);
    };
    window.block_len = 2;
    fill(&mut window, &mut source, &mut log);
    assert_eq!(window.data_bytes(), 4 * window.task_bytes());
    // Two of them retire and are used again or not, by their sizes.
    window.idle.extend(window.active.drain(2..));

    let before = keys.widths();
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let random_state = |_| (0..64).map(|_| rng.random()).collect();
    encode(&keys, &(0..3000).map(random_state).collect::<Vec<_>>());
    let widths = keys.widths();
    assert!(widths.codec_words > 2 * before.codec_words, "{widths:?}");
    let old_task = Task::bytes_for(shape, widths, sizes.buffer_len, sizes.block_len);
    assert_eq!(window.widened_bytes(widths), 2 * old_task);
    window.fit();
    assert!(window.sizes.buffer_len < sizes.buffer_len);
    assert_eq!(window.data_bytes(), 2 * old_task);
    assert!(window.full_bytes() <= sizes.limits.share_bytes);

    fill(&mut window, &mut source, &mut log);
    let n_new = window.active.len() as u64 - 2;
    assert!(n_new > 0);
    assert_eq!(
        window.data_bytes(),
        2 * old_task + n_new * window.task_bytes()
    );
    window.clear();
    assert_eq!(window.data_bytes(), n_new * window.task_bytes());
}

#[test]
fn damaged_records_are_noticed() {
    let graph = circle(40);
    let keys = keys_for(&graph, StoreKind::Exact);
    let (shape, stop) = (graph.shape(), Stop::new());
    let mut log = Log::new();
    let damaged = vec![0xff; 9];
    log.append(Arc::from(damaged), 2, 0)
        .expect("the log is in memory");
    let pool = pool_for(&graph, &stop, &keys, 2);
    let mut window = Window::new(shape, &keys, sizes(shape, &keys, 3, 2, 2), false);
    pool.run(|| {
        let filled = window.fill(&mut BlockSource::States(0..2), &mut log, 2, ROOM);
        assert_eq!(filled.expect("the log is in memory"), Filled::Enough);
        window.expand(&pool, None);
    });
    assert!(!window.is_intact());
}
