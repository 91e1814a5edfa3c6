//! Searches that crash and are resumed: nothing they report may differ.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{
    Auto, Error, Options, Outcome, Reason, SearchFolder, Silent, StoreKind, Strategy, check,
    read_status, resume, verify,
};
use hadal_store::disk::{Disk, Folder, FolderOptions, Payload};
use hadal_testkit::disk::CrashDisk;
use hadal_testkit::graph::{Graph, random_graph};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::oracle::expect;
use crate::summary::summarise;

pub(crate) const LABEL: &[u8] = b"the model";

/// Opens a folder whose input and output are sequential.
pub(crate) fn open(disk: &Arc<CrashDisk>) -> Result<(Folder, Option<Payload>), hadal_store::Error> {
    let limits = FolderOptions {
        buffer_bytes: 1 << 18,
        reserve_bytes: 0,
        threads: false,
        ..FolderOptions::default()
    };
    Folder::open(Arc::clone(disk) as Arc<dyn Disk>, limits)
}

/// Resumes what is on the disk, or starts.
pub(crate) fn resume_or_start(
    model: &dyn Model,
    options: &Options,
    disk: &Arc<CrashDisk>,
) -> Result<Outcome, Error> {
    resume_or_start_by(&Auto, model, options, disk)
}

/// The same by another strategy.
pub(crate) fn resume_or_start_by(
    strategy: &dyn Strategy,
    model: &dyn Model,
    options: &Options,
    disk: &Arc<CrashDisk>,
) -> Result<Outcome, Error> {
    let (folder, manifest) = open(disk)?;
    let stop = Stop::new();
    match manifest {
        Some(manifest) => {
            assert_eq!(read_status(&manifest)?.label, LABEL);
            resume(
                model,
                strategy,
                options,
                folder,
                &manifest,
                &stop,
                &mut Silent,
            )
        }
        None => {
            folder.sweep([])?;
            let search_folder = SearchFolder {
                folder,
                resumable: true,
                label: LABEL.to_vec(),
            };
            check(
                model,
                strategy,
                options,
                Some(search_folder),
                &stop,
                &mut Silent,
            )
        }
    }
}

/// Options under which a search takes a checkpoint after every window.
pub(crate) fn always(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        buffer_len: Some(7),
        block_len: 4,
        window_blocks: 2,
        checkpoint_every: Some(Duration::ZERO),
        ..Options::default()
    }
}

/// Random graphs of some size.
fn graphs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Graph)> {
    seeds
        .map(|seed| (seed, random_graph(&mut Pcg64Mcg::seed_from_u64(seed))))
        .filter(|(_, graph)| expect(graph, &Options::default()).layers.len() > 2)
}

#[test]
fn a_search_may_crash_at_any_operation_of_its_disk() {
    let (mut n_crashes, mut n_resumed) = (0, 0);
    for (seed, graph) in graphs(2000..2120) {
        for (memory_bytes, store) in [
            (0, StoreKind::Exact),
            (3_000, StoreKind::Exact),
            (1 << 20, StoreKind::Exact),
            (0, StoreKind::Hash128),
            (3_000, StoreKind::Hash128),
            (1 << 20, StoreKind::Hash128),
        ] {
            let options = Options {
                store,
                seed,
                ..always(1, memory_bytes)
            };
            let expected = expect(&graph, &options);
            let whole = Arc::new(CrashDisk::new());
            let outcome = resume_or_start(&graph, &options, &whole).expect("nothing fails");
            assert_eq!(
                summarise(&graph, &options, &outcome),
                expected,
                "seed {seed}"
            );
            let n_operations = whole.n_operations();
            // All of a small one, some of a large one.
            let step = (n_operations / 150).max(1);
            for n in (0..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let outcome = resume_or_start(&graph, &options, &disk);
                if let Ok(outcome) = outcome {
                    // Only operations after the end can have failed.
                    assert_eq!(summarise(&graph, &options, &outcome), expected);
                    continue;
                }
                n_crashes += 1;
                let left = Arc::new(disk.crash(seed ^ n));
                let (_, manifest) = open(&left).expect("the folder can be opened");
                let is_finished =
                    manifest.is_some_and(|m| read_status(&m).expect("a manifest").is_finished);
                n_resumed += u32::from(!is_finished);
                // Resumed with other threads and another budget.
                let options = Options {
                    store,
                    seed,
                    ..always(2, memory_bytes / 2)
                };
                let outcome = resume_or_start(&graph, &options, &left)
                    .unwrap_or_else(|error| panic!("seed {seed}, operation {n}: {error}"));
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(
        n_crashes > 1000 && n_resumed > 1000,
        "{n_crashes} {n_resumed}"
    );
}

#[test]
fn leftovers_of_searches_without_a_checkpoint_do_not_accumulate() {
    let (_, graph) = graphs(2300..2400)
        .max_by_key(|(_, graph)| expect(graph, &Options::default()).states)
        .expect("there is a graph");
    let options = Options {
        checkpoint_every: Some(Duration::from_secs(3600)),
        ..always(1, 3_000)
    };
    let whole = Arc::new(CrashDisk::new());
    resume_or_start(&graph, &options, &whole).expect("nothing fails");
    let mut disk = Arc::new(CrashDisk::new());
    let mut n_files = Vec::new();
    for _ in 0..4 {
        disk.stop_at(whole.n_operations() / 2);
        assert!(resume_or_start(&graph, &options, &disk).is_err());
        disk = Arc::new(disk.crash(1));
        n_files.push(disk.list().expect("a list of files").len());
    }
    assert!(n_files[0] > 2, "{n_files:?}");
    assert!(n_files[3] <= n_files[0] + 2, "{n_files:?}");
}

/// Searches on disks of these capacities, up to the first that suffices; the others are resumed with
/// enough space. `inspect` receives what they report before. Returns the number of the others.
pub(crate) fn on_full_disks(
    seed: u64,
    graph: &Graph,
    options: &Options,
    capacities: impl Iterator<Item = u64>,
    inspect: impl Fn(&Outcome),
) -> u32 {
    let mut n_full = 0;
    for capacity in capacities {
        let disk = Arc::new(CrashDisk::new());
        disk.set_capacity(capacity, seed.is_multiple_of(2));
        match on_full_disk(seed, graph, options, &disk, &inspect) {
            true => n_full += 1,
            false => break,
        }
    }
    n_full
}

/// Searches on a disk that may become full, and then on with all the space it needs. Whether it
/// became full.
pub(crate) fn on_full_disk(
    seed: u64,
    graph: &Graph,
    options: &Options,
    disk: &Arc<CrashDisk>,
    inspect: &dyn Fn(&Outcome),
) -> bool {
    let expected = expect(graph, options);
    match resume_or_start(graph, options, disk) {
        Ok(outcome) if outcome.reason == Some(Reason::Disk) => inspect(&outcome),
        // All states were found before.
        Ok(outcome) if outcome.reason == Some(Reason::Liveness) => {
            assert!(outcome.disk.refused_bytes > 0, "seed {seed}");
            inspect(&outcome);
        }
        Ok(outcome) => {
            assert_eq!(summarise(graph, options, &outcome), expected, "seed {seed}");
            return false;
        }
        // Not even the first manifest had room.
        Err(Error::Store(hadal_store::Error::Full { .. })) => {}
        Err(error) => panic!("seed {seed}: {error}"),
    }
    disk.set_capacity(u64::MAX, true);
    let outcome = resume_or_start(graph, options, disk);
    let outcome = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(summarise(graph, options, &outcome), expected, "seed {seed}");
    true
}

#[test]
fn a_search_stopped_by_a_full_disk_can_be_resumed() {
    let mut n_full = 0;
    for (seed, graph) in graphs(2100..2200) {
        let options = always(1, 3_000);
        let whole = Arc::new(CrashDisk::new());
        resume_or_start(&graph, &options, &whole).expect("nothing fails");
        let capacities = (0..).map(|n| n * 16_384).take(100);
        let expected = expect(&graph, &options);
        n_full += on_full_disks(seed, &graph, &options, capacities, |outcome| {
            assert!(!outcome.complete, "seed {seed}");
            let (whole, last) = outcome.layers.split_at(outcome.layers.len() - 1);
            assert_eq!(whole, &expected.layers[..whole.len()], "seed {seed}");
            assert!(last[0] <= expected.layers[whole.len()], "seed {seed}");
        });
    }
    assert!(n_full > 30, "{n_full}");
}

/// There may be no room even for what a resumed search writes first.
#[test]
fn a_search_resumed_on_a_full_disk_can_be_resumed_again() {
    let mut n_full = 0;
    for (seed, graph) in graphs(2500..2570) {
        for memory_bytes in [0, 3_000, 1 << 20] {
            let options = always(1, memory_bytes);
            let whole = Arc::new(CrashDisk::new());
            resume_or_start(&graph, &options, &whole).expect("nothing fails");
            let disk = Arc::new(CrashDisk::new());
            disk.stop_at(whole.n_operations() * 2 / 3);
            if resume_or_start(&graph, &options, &disk).is_ok() {
                continue;
            }
            for room in [0, 1_000, 10_000, 40_000, 100_000] {
                let left = Arc::new(disk.crash(seed));
                left.set_capacity(left.used_bytes() + room, seed.is_multiple_of(2));
                // With less memory, so that the set has to be flushed at once.
                let options = always(1, memory_bytes / 4);
                let expected = expect(&graph, &options);
                let context = format!("seed {seed}, {memory_bytes} bytes, room for {room}");
                match resume_or_start(&graph, &options, &left) {
                    Ok(outcome) if outcome.reason == Some(Reason::Disk) => n_full += 1,
                    Ok(outcome) => {
                        let summary = summarise(&graph, &options, &outcome);
                        assert_eq!(summary, expected, "{context}");
                    }
                    // There was no checkpoint, and no room for a manifest.
                    Err(Error::Store(hadal_store::Error::Full { .. })) => {}
                    Err(error) => panic!("{context}: {error}"),
                }
                left.set_capacity(u64::MAX, true);
                let outcome = resume_or_start(&graph, &options, &left)
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                let summary = summarise(&graph, &options, &outcome);
                assert_eq!(summary, expected, "{context}");
            }
        }
    }
    assert!(n_full > 20, "{n_full}");
}

#[test]
fn a_flipped_bit_is_found_or_never_read() {
    let (mut n_found, mut n_harmless) = (0, 0);
    for (seed, graph) in graphs(2200..2240) {
        let options = always(1, 3_000);
        let expected = expect(&graph, &options);
        let whole = Arc::new(CrashDisk::new());
        resume_or_start(&graph, &options, &whole).expect("nothing fails");
        let disk = Arc::new(CrashDisk::new());
        disk.stop_at(whole.n_operations() * 3 / 4);
        if resume_or_start(&graph, &options, &disk).is_ok() {
            continue;
        }
        let names: Vec<_> = disk.crash(seed).list().expect("a list of files");
        for entry in names {
            let step = (entry.len as usize / 40).max(1);
            for byte in (0..entry.len as usize).step_by(step) {
                let left = Arc::new(disk.crash(seed));
                left.flip(&entry.name, byte, (byte % 8) as u32);
                match resume_or_start(&graph, &options, &left) {
                    Ok(outcome) => {
                        assert_eq!(
                            summarise(&graph, &options, &outcome),
                            expected,
                            "seed {seed}"
                        );
                        n_harmless += 1;
                    }
                    Err(Error::Store(error)) => {
                        assert!(
                            matches!(
                                error,
                                hadal_store::Error::Damaged { .. }
                                    | hadal_store::Error::OtherVersion { .. }
                            ),
                            "{error}"
                        );
                        n_found += 1;
                    }
                    Err(error) => panic!("seed {seed}, {}, byte {byte}: {error}", entry.name),
                }
            }
        }
    }
    assert!(n_found > 20, "{n_found} {n_harmless}");
}

#[test]
fn verify_reads_every_block() {
    let (_, graph) = graphs(2300..2400)
        .max_by_key(|(_, graph)| expect(graph, &Options::default()).states)
        .expect("there is a graph");
    let options = always(1, 3_000);
    let whole = Arc::new(CrashDisk::new());
    resume_or_start(&graph, &options, &whole).expect("nothing fails");
    let disk = Arc::new(CrashDisk::new());
    disk.stop_at(whole.n_operations() * 3 / 4);
    assert!(resume_or_start(&graph, &options, &disk).is_err());
    let left = Arc::new(disk.crash(1));
    let (folder, manifest) = open(&left).expect("the folder can be opened");
    let manifest = manifest.expect("it had begun");
    let verified = verify(&folder, &manifest).expect("nothing is damaged");
    assert!(verified.files >= 2 && verified.blocks >= 2 && verified.bytes > 0);
}

#[test]
fn a_search_that_was_interrupted_is_resumed() {
    let mut n_stopped = 0;
    for (seed, graph) in graphs(2400..2480) {
        for memory_bytes in [0, 3_000, 1 << 20] {
            let options = Options {
                checkpoint_every: Some(Duration::from_secs(3600)),
                ..always(2, memory_bytes)
            };
            let expected = expect(&graph, &options);
            let disk = Arc::new(CrashDisk::new());
            let (folder, _) = open(&disk).expect("a folder can be used");
            let search_folder = SearchFolder {
                folder,
                resumable: true,
                label: LABEL.to_vec(),
            };
            let stop = Stop::new();
            // The observer raises it in the middle.
            let mut raise = |progress: &hadal_search::Progress| {
                if progress.layer >= 1 {
                    stop.raise();
                }
            };
            let outcome = check(
                &graph,
                &Auto,
                &options,
                Some(search_folder),
                &stop,
                &mut raise,
            );
            let outcome = outcome.expect("nothing fails");
            if outcome.reason != Some(Reason::Interrupted) {
                continue;
            }
            n_stopped += 1;
            let outcome = resume_or_start(&graph, &options, &disk).expect("it resumes");
            let summary = summarise(&graph, &options, &outcome);
            assert_eq!(summary, expected, "seed {seed}, {memory_bytes} bytes");
        }
    }
    assert!(n_stopped > 0, "no search was stopped");
}

#[test]
fn a_search_is_resumed_with_its_own_store_and_seed_only() {
    // A search that decides liveness has one store only.
    let is_live = |graph: &Graph| {
        let mut goals = graph.shape.goals.iter();
        goals.any(|goal| goal.kind == GoalKind::Liveness)
    };
    let (_, graph) = graphs(2300..2400)
        .filter(|(_, graph)| !is_live(graph))
        .max_by_key(|(_, graph)| expect(graph, &Options::default()).states)
        .expect("there is a graph");
    for memory_bytes in [3_000, 1 << 20] {
        let with = |store, seed| Options {
            store,
            seed,
            ..always(1, memory_bytes)
        };
        let own = with(StoreKind::Hash64, 5);
        let whole = Arc::new(CrashDisk::new());
        resume_or_start(&graph, &own, &whole).expect("nothing fails");
        let disk = Arc::new(CrashDisk::new());
        disk.stop_at(whole.n_operations() * 3 / 4);
        assert!(resume_or_start(&graph, &own, &disk).is_err());
        for (store, seed) in [
            (StoreKind::Exact, 0),
            (StoreKind::Hash96, 5),
            (StoreKind::Hash64, 6),
        ] {
            let left = Arc::new(disk.crash(1));
            let error =
                resume_or_start(&graph, &with(store, seed), &left).expect_err("it is refused");
            assert!(matches!(error, Error::OtherStore { .. }), "{error}");
            assert!(error.to_string().contains("`hash64` and seed 5"), "{error}");
            // The attempt changes nothing.
            let outcome = resume_or_start(&graph, &own, &left).expect("it resumes");
            assert_eq!(summarise(&graph, &own, &outcome), expect(&graph, &own));
        }
    }
}
