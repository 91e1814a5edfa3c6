//! Large tiers of runs are merged a slice at a time, and keys are flushed before memory ends: a
//! search may crash in the middle of either.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::Stop;
use hadal_search::{Auto, Options, PAYLOAD_VERSION, Reason, Silent, StoreKind, check};
use hadal_store::disk::{Disk, Payload};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::Graph;

use crate::external::folder;
use crate::resume::{open, resume_or_start};

/// The text in the payload of a manifest.
fn text(payload: Option<Payload>) -> String {
    let bytes = payload
        .as_ref()
        .map(|payload| payload.of_version(PAYLOAD_VERSION));
    let bytes = bytes.transpose().expect("this version wrote it");
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// Layers and transitions of a search in memory.
fn expect(cube: &Graph) -> (Vec<u64>, u64) {
    let options = Options::default();
    let outcome = check(cube, &Auto, &options, None, &Stop::new(), &mut Silent);
    let outcome = outcome.expect("a search");
    (outcome.layers, outcome.transitions)
}

#[test]
fn a_search_may_crash_at_any_operation_while_runs_are_merged() {
    let cube = Graph::cube(8);
    let expected = expect(&cube);
    for store in [StoreKind::Exact, StoreKind::Hash128] {
        let options = |threads, memory_bytes| Options {
            threads,
            memory_bytes,
            store,
            block_len: 4,
            window_blocks: 2,
            buffer_len: Some(16),
            checkpoint_every: Some(Duration::ZERO),
            ..Options::default()
        };
        let whole = Arc::new(CrashDisk::new());
        resume_or_start(&cube, &options(1, 0), &whole).expect("nothing fails");
        let mut n_merging = 0;
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 80).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if resume_or_start(&cube, &options(1, 0), &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let (_, manifest) = open(&left).expect("the folder can be opened");
            n_merging += u32::from(text(manifest).contains("\"compaction\":["));
            // With other threads, and other budgets from the same checkpoint.
            for memory_bytes in [1 << 20, 100] {
                let disk = Arc::new(left.crash(n));
                let outcome = resume_or_start(&cube, &options(2, memory_bytes), &disk);
                let outcome = outcome.unwrap_or_else(|error| panic!("operation {n}: {error}"));
                let found = (outcome.layers, outcome.transitions);
                assert_eq!(found, expected, "operation {n}");
            }
        }
        assert!(n_merging > 3, "{n_merging} crashed during a merge");
    }
}

#[test]
fn a_search_may_crash_before_memory_ends_and_while_it_goes_external() {
    let cube = Graph::cube(11);
    let expected = expect(&cube);
    let (mut n_flushed, mut n_external) = (0, 0);
    for memory_bytes in [500_000, 560_000, 620_000, 680_000, 740_000] {
        let options = Options {
            threads: 2,
            memory_bytes,
            block_len: 32,
            window_blocks: 2,
            checkpoint_every: Some(Duration::ZERO),
            ..Options::default()
        };
        let whole = Arc::new(CrashDisk::new());
        let outcome = resume_or_start(&cube, &options, &whole).expect("nothing fails");
        assert_eq!((outcome.layers, outcome.transitions), expected);
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 30).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if resume_or_start(&cube, &options, &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let (_, manifest) = open(&left).expect("the folder can be opened");
            let manifest = text(manifest);
            let names = left.list().expect("a list of files");
            let has_runs = names.iter().any(|entry| entry.name.starts_with("runs"));
            n_flushed += u32::from(has_runs && manifest.contains("\"runs\":null"));
            n_external += u32::from(manifest.contains("\"runs\":{"));
            let outcome = resume_or_start(&cube, &options, &left);
            let outcome = outcome.unwrap_or_else(|error| panic!("operation {n}: {error}"));
            let found = (outcome.layers, outcome.transitions);
            assert_eq!(found, expected, "operation {n}");
        }
    }
    assert!(
        n_flushed > 10 && n_external > 10,
        "{n_flushed} crashed before memory ended, {n_external} after"
    );
}

/// A full disk ends early flushing, but no search that then fits memory.
#[test]
fn a_search_that_fits_memory_survives_a_full_disk() {
    let cube = Graph::cube(11);
    let expected = expect(&cube);
    let options = |memory_bytes| Options {
        threads: 2,
        memory_bytes,
        block_len: 32,
        window_blocks: 2,
        ..Options::default()
    };
    let run = |memory_bytes, capacity| {
        let disk = Arc::new(CrashDisk::new());
        disk.set_capacity(capacity, true);
        let on_disk = Some(folder(&disk, 1 << 14, false));
        let (options, stop) = (options(memory_bytes), Stop::new());
        let outcome = check(&cube, &Auto, &options, on_disk, &stop, &mut Silent);
        outcome.expect("a full disk is no error")
    };
    let (mut n_survived, mut n_stopped) = (0, 0);
    for memory_bytes in (300_000..700_000).step_by(10_000) {
        let flushed = run(memory_bytes, u64::MAX);
        assert_eq!((flushed.layers, flushed.transitions), expected);
        for capacity in [0, 4_000, 16_000] {
            let outcome = run(memory_bytes, capacity);
            if outcome.reason == Some(Reason::Disk) {
                n_stopped += 1;
                continue;
            }
            assert_eq!((outcome.layers, outcome.transitions), expected);
            n_survived += u32::from(flushed.disk.peak_bytes > capacity);
        }
    }
    assert!(
        n_survived > 2 && n_stopped > 2,
        "{n_survived} survived, {n_stopped} were stopped"
    );
}
