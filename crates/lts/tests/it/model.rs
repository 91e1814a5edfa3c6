//! A graph as a model, by the brute-force search of the test kit.

use std::fs;

use hadal_lts::{Edge, Goal, GraphModel, Info, Relation};
use hadal_model::{Model, Stop, Successors, for_each_batch};
use hadal_testkit::oracle::{self, Deadlock, Options};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{graph, random_edges, resources, written};

fn options() -> Options {
    Options {
        deadlock: Deadlock::Off,
        ..Options::default()
    }
}

#[test]
fn a_search_finds_what_the_graph_has() {
    let mut random = Pcg64Mcg::seed_from_u64(10);
    for cache_bytes in [0, 1 << 20] {
        for _ in 0..50 {
            let n = random.random_range(1..600u64);
            let n_edges = random.random_range(0..2000);
            let all = random_edges(&mut random, n, n_edges, 3);
            let info = Info::of(&graph(n, &all, &["a", "b", "c"]), &[], &resources());
            let info = info.expect("there is memory");
            let model = GraphModel::new(graph(n, &all, &["a", "b", "c"]), cache_bytes);
            let report = oracle::search(&model, &options());
            assert_eq!(report.states.len() as u64, info.n_reachable);
            assert_eq!(report.layers.len() as u64, info.depth + 1);
            let reached: Vec<u64> = report.states.iter().map(|it| model.decode(it)).collect();
            let own = |edge: &&Edge| reached.contains(&edge.source);
            assert_eq!(report.transitions, all.iter().filter(own).count() as u64);
            assert!(model.failure().is_none());
        }
    }
}

#[test]
fn states_are_numbers_and_steps_are_labels() {
    let base = 1u64 << 32;
    let edges = [Edge::new(0, 0, base + 1), Edge::new(base + 1, 1, base + 2)];
    let model = GraphModel::new(graph(base + 3, &edges, &["to the far side", "i"]), 1 << 20);
    assert_eq!(model.shape().state_len, 5);
    assert_eq!(model.shape().rules[1].name, "i");
    let report = oracle::search(&model, &options());
    let numbers: Vec<u64> = report.states.iter().map(|it| model.decode(it)).collect();
    assert_eq!(numbers, [0, base + 1, base + 2]);
    let first = &report.states[0];
    assert_eq!(
        model.describe_state(&report.states[1]),
        [("state".to_owned(), "4294967297".to_owned())]
    );
    let step = |parent, index| Some(model.describe_step(parent, index)?.rule);
    assert_eq!(step(Some(first), 0).as_deref(), Some("to the far side"));
    assert_eq!(step(Some(first), 1), None);
    assert_eq!(step(None, 0).as_deref(), Some("initial state"));
    assert_eq!(step(None, 1), None);
}

#[test]
fn deadlocks_are_states_without_edges() {
    let edges = [Edge::new(0, 0, 1), Edge::new(0, 0, 0), Edge::new(1, 0, 2)];
    let model = GraphModel::new(graph(3, &edges, &["a"]), 1 << 20);
    let options = Options {
        deadlock: Deadlock::Stuck,
        ..Options::default()
    };
    let violation = oracle::search(&model, &options).violation;
    assert_eq!(violation.expect("state 2 has no edge").depth, 2);
}

#[test]
fn multiplicities_count_as_paths() {
    let edges = [Edge {
        multiplicity: 6,
        ..Edge::new(0, 0, 1)
    }];
    let model = GraphModel::new(graph(2, &edges, &["a"]), 1 << 20);
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 4).with_multiplicities();
    let padded = [0u8; 1 + hadal_model::PAD_BYTES];
    let block = hadal_model::States::new(&padded, 1, 1);
    let expanded = for_each_batch(&mut *expander, Some(block), &mut out, |_, out| {
        assert_eq!((out.len(), out.multiplicity(0)), (1, 6));
        std::ops::ControlFlow::<()>::Continue(())
    });
    assert!(expanded.is_ok());
    assert_eq!(out.sources()[0].fired, 6);
}

#[test]
fn a_file_that_is_damaged_stops_the_search_with_the_reason() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let mut bytes = written(5000, &random_edges(&mut random, 5000, 60_000, 1), &["a"]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    let path = folder.path().join("g.hlts");
    fs::write(&path, bytes).expect("it can be written");
    let model = GraphModel::open(&path, &resources()).expect("labels and index are intact");
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 1000);
    let n_read = (0..5000u64).take_while(|&state| {
        let mut bytes = model.encode(state);
        bytes.resize(bytes.len() + hadal_model::PAD_BYTES, 0);
        let block = hadal_model::States::new(&bytes, model.shape().state_len, 1);
        let go_on = |_: &mut dyn hadal_model::Expander, _: &mut Successors| {
            std::ops::ControlFlow::<()>::Continue(())
        };
        for_each_batch(&mut *expander, Some(block), &mut out, go_on).is_ok()
    });
    let n_read = n_read.count();
    assert!((1000..4000).contains(&n_read), "{n_read}");
    assert!(stop.is_raised());
    let failure = model.failure().expect("the reason is kept").to_string();
    assert!(
        failure.starts_with("the file is damaged at byte "),
        "{failure}"
    );
}

#[test]
fn expanders_share_the_cache_between_threads() {
    let mut random = Pcg64Mcg::seed_from_u64(12);
    let all = random_edges(&mut random, 4000, 50_000, 2);
    let model = GraphModel::new(graph(4000, &all, &["a", "b"]), 200_000);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (model, all) = (&model, &all);
            scope.spawn(move || {
                let mut random = Pcg64Mcg::seed_from_u64(thread);
                for _ in 0..500 {
                    let state = random.random_range(0..4000u64);
                    let n = all.iter().filter(|edge| edge.source == state).count() as u32;
                    let parent = model.encode(state);
                    assert!(model.describe_step(Some(&parent), n).is_none());
                    assert_eq!(n > 0, model.describe_step(Some(&parent), 0).is_some());
                }
            });
        }
    });
}

#[test]
fn goals_hold_where_states_and_labels_say_so() {
    let mut random = Pcg64Mcg::seed_from_u64(13);
    for _ in 0..40 {
        let n = random.random_range(2..80u64);
        let n_edges = random.random_range(0..200);
        let all = random_edges(&mut random, n, n_edges, 3);
        let number = random.random_range(0..n);
        let goal = Goal::All(vec![
            Goal::Any(vec![Goal::Enabled(1), Goal::State(Relation::Less, number)]),
            Goal::Not(Box::new(Goal::Enabled(2))),
            Goal::State(Relation::NotEqual, 0),
        ]);
        let has = |state: u64, label: u32| {
            let mut own = all.iter().filter(|edge| edge.source == state);
            own.any(|edge| edge.label == label)
        };
        let holds = |state: u64| (has(state, 1) || state < number) && !has(state, 2) && state != 0;
        let plain = GraphModel::new(graph(n, &all, &["a", "b", "c"]), 0);
        let states = oracle::search(&plain, &options()).states;
        let first = states.iter().position(|state| holds(plain.decode(state)));
        let model = GraphModel::new(graph(n, &all, &["a", "b", "c"]), 0);
        let model = model.looking_for(goal, "there", "<goal>:1:1");
        let violation = oracle::search(&model, &options()).violation;
        assert_eq!(violation.and_then(|found| found.state), first);
    }
}

#[test]
fn an_expansion_is_interrupted_at_any_edge_and_goes_on_there() {
    let mut random = Pcg64Mcg::seed_from_u64(14);
    // Edges of one state in several blocks, and states without edges.
    let mut all = random_edges(&mut random, 40, 100, 2);
    all.extend((0..30_000).map(|at| Edge::new(50, 1, at % 60)));
    let model = GraphModel::new(graph(60, &all, &["a", "b"]), 1 << 20);
    let states: Vec<u8> = (0..60).chain([0; hadal_model::PAD_BYTES]).collect();
    let block = hadal_model::States::new(&states, 1, 60);
    for capacity in [1, 2, 7, 1000, 40_000] {
        let stop = Stop::new();
        let mut expander = model.expander(&stop);
        let mut out = Successors::new(model.shape(), capacity);
        let mut found = Vec::new();
        let read = for_each_batch(&mut *expander, Some(block), &mut out, |_, out| {
            found.extend((0..out.len()).map(|at| (out.rule(at), out.state(at)[0])));
            std::ops::ControlFlow::<()>::Continue(())
        });
        assert!(read.is_ok());
        let expected = all.iter().map(|edge| (edge.label, edge.target as u8));
        assert!(expected.eq(found), "{capacity}");
    }
}
