//! Large tiers of runs are made one a slice at a time, and keys are written before memory ends: a
//! search may die in the middle of either.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::Stop;
use hadal_search::{
    Error, OnDisk, Options, Outcome, Silent, StoreKind, check, check_on_disk, resume,
};
use hadal_store::disk::Disk;
use hadal_testkit::disk::CrashDisk;

use crate::cube::Cube;
use crate::resume::open;

/// Goes on with what is on the disk, or begins.
fn go_on(cube: &Cube, options: &Options, disk: &Arc<CrashDisk>) -> Result<Outcome, Error> {
    let (folder, manifest) = open(disk)?;
    let stop = Stop::new();
    match manifest {
        Some(manifest) => resume(cube, options, folder, &manifest, &stop, &mut Silent),
        None => {
            folder.sweep([])?;
            let on_disk = OnDisk {
                folder,
                resumable: true,
                label: Vec::new(),
            };
            check_on_disk(cube, options, on_disk, &stop, &mut Silent)
        }
    }
}

#[test]
fn a_search_may_die_at_any_operation_while_runs_are_made_one() {
    let cube = Cube::without_liveness(8);
    let expected = check(&cube, &Options::default(), &Stop::new(), &mut Silent).expect("a search");
    for store in [StoreKind::Exact, StoreKind::Hash128] {
        let options = |threads, memory_bytes| Options {
            threads,
            memory_bytes,
            store,
            block_len: 4,
            window_blocks: 2,
            buffer_len: Some(16),
            commit_every: Some(Duration::ZERO),
            ..Options::default()
        };
        let whole = Arc::new(CrashDisk::new());
        go_on(&cube, &options(1, 0), &whole).expect("nothing fails");
        let mut n_merging = 0;
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 80).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if go_on(&cube, &options(1, 0), &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let (_, manifest) = open(&left).expect("what is left can be opened");
            let manifest = manifest.unwrap_or_default();
            n_merging += u32::from(String::from_utf8_lossy(&manifest).contains("\"merging\":["));
            // With other threads and another budget; the second time it must go on alike.
            for memory_bytes in [1 << 20, 100] {
                let disk = Arc::new(left.crash(n));
                let outcome = go_on(&cube, &options(2, memory_bytes), &disk);
                let outcome = outcome.unwrap_or_else(|error| panic!("operation {n}: {error}"));
                assert_eq!(outcome.layers, expected.layers, "operation {n}");
                assert_eq!(outcome.transitions, expected.transitions, "operation {n}");
            }
        }
        assert!(
            n_merging > 3,
            "only {n_merging} died while runs were made one"
        );
    }
}

#[test]
fn a_search_may_die_before_memory_ends_and_while_it_does() {
    let cube = Cube::without_liveness(11);
    let expected = check(&cube, &Options::default(), &Stop::new(), &mut Silent).expect("a search");
    let (mut n_prepared, mut n_external) = (0, 0);
    for memory_bytes in [500_000, 560_000, 620_000, 680_000, 740_000] {
        let options = Options {
            threads: 2,
            memory_bytes,
            block_len: 32,
            window_blocks: 2,
            commit_every: Some(Duration::ZERO),
            ..Options::default()
        };
        let whole = Arc::new(CrashDisk::new());
        let outcome = go_on(&cube, &options, &whole).expect("nothing fails");
        assert_eq!(outcome.layers, expected.layers);
        let n_operations = whole.n_operations();
        for n in (0..n_operations).step_by((n_operations / 30).max(1) as usize) {
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(n);
            if go_on(&cube, &options, &disk).is_ok() {
                continue;
            }
            let left = Arc::new(disk.crash(n));
            let (_, manifest) = open(&left).expect("what is left can be opened");
            let manifest = manifest.unwrap_or_default();
            let manifest = String::from_utf8_lossy(&manifest);
            let is_external = manifest.contains("\"external\":{");
            let names = left.list().expect("a list of files");
            let has_runs = names.iter().any(|entry| entry.name.starts_with("runs"));
            n_prepared += u32::from(has_runs && manifest.contains("\"external\":null"));
            n_external += u32::from(is_external);
            let outcome = go_on(&cube, &options, &left);
            let outcome = outcome.unwrap_or_else(|error| panic!("operation {n}: {error}"));
            assert_eq!(outcome.layers, expected.layers, "operation {n}");
            assert_eq!(outcome.transitions, expected.transitions, "operation {n}");
        }
    }
    assert!(
        n_prepared > 10 && n_external > 10,
        "{n_prepared} died before memory ended, {n_external} after"
    );
}
