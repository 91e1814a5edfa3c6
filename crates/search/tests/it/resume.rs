//! Searches that die and are taken up again: nothing they tell may differ.

use std::sync::Arc;
use std::time::Duration;

use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{
    Error, OnDisk, Options, Outcome, Reason, Silent, StoreKind, check_on_disk, look_into, resume,
    verify,
};
use hadal_store::disk::{Disk, Folder, FolderOptions};
use hadal_testkit::disk::CrashDisk;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::graph::Graph;
use crate::oracle::expect;
use crate::random::{random_graph, tell};

pub(crate) const LABEL: &[u8] = b"the model";

/// Opens a folder whose input and output come one after the other.
pub(crate) fn open(disk: &Arc<CrashDisk>) -> Result<(Folder, Option<Vec<u8>>), hadal_store::Error> {
    let limits = FolderOptions {
        buffer_bytes: 1 << 18,
        reserve_bytes: 0,
        threads: false,
        ..FolderOptions::default()
    };
    Folder::open(Arc::clone(disk) as Arc<dyn Disk>, limits)
}

/// Goes on with what is on the disk, or begins.
pub(crate) fn go_on(
    model: &dyn Model,
    options: &Options,
    disk: &Arc<CrashDisk>,
) -> Result<Outcome, Error> {
    let (folder, manifest) = open(disk)?;
    let stop = Stop::new();
    match manifest {
        Some(manifest) => {
            assert_eq!(look_into(&manifest)?.label, LABEL);
            resume(model, options, folder, &manifest, &stop, &mut Silent)
        }
        None => {
            folder.sweep([])?;
            let on_disk = OnDisk {
                folder,
                resumable: true,
                label: LABEL.to_vec(),
            };
            check_on_disk(model, options, on_disk, &stop, &mut Silent)
        }
    }
}

/// Options under which a search is written down after every round.
pub(crate) fn always(threads: usize, memory_bytes: u64) -> Options {
    Options {
        threads,
        memory_bytes,
        buffer_len: Some(7),
        block_len: 4,
        window_blocks: 2,
        commit_every: Some(Duration::ZERO),
        ..Options::default()
    }
}

/// Random graphs without liveness, of some size.
fn graphs(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Graph)> {
    seeds
        .map(|seed| (seed, random_graph(&mut Pcg64Mcg::seed_from_u64(seed))))
        .filter(|(_, graph)| {
            let goals = &graph.shape().goals;
            goals.iter().all(|goal| goal.kind != GoalKind::Liveness)
                && expect(graph, &Options::default()).layers.len() > 2
        })
}

#[test]
fn a_search_may_die_at_any_operation_of_its_disk() {
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
            let outcome = go_on(&graph, &options, &whole).expect("nothing fails");
            assert_eq!(tell(&graph, &options, &outcome), expected, "seed {seed}");
            let n_operations = whole.n_operations();
            // All of a small one, some of a large one.
            let step = (n_operations / 150).max(1);
            for n in (0..n_operations).step_by(step as usize) {
                let disk = Arc::new(CrashDisk::new());
                disk.stop_at(n);
                let outcome = go_on(&graph, &options, &disk);
                if let Ok(outcome) = outcome {
                    // Only what came after the end can have failed.
                    assert_eq!(tell(&graph, &options, &outcome), expected);
                    continue;
                }
                n_crashes += 1;
                let left = Arc::new(disk.crash(seed ^ n));
                let (_, manifest) = open(&left).expect("what is left can be opened");
                let is_finished =
                    manifest.is_some_and(|m| look_into(&m).expect("a manifest").is_finished);
                n_resumed += u32::from(!is_finished);
                // Other threads and another budget may go on.
                let options = Options {
                    store,
                    seed,
                    ..always(2, memory_bytes / 2)
                };
                let outcome = go_on(&graph, &options, &left)
                    .unwrap_or_else(|error| panic!("seed {seed}, operation {n}: {error}"));
                let told = tell(&graph, &options, &outcome);
                assert_eq!(told, expected, "seed {seed}, operation {n}");
            }
        }
    }
    assert!(
        n_crashes > 1000 && n_resumed > 1000,
        "{n_crashes} {n_resumed}"
    );
}

#[test]
fn what_runs_leave_that_had_saved_nothing_does_not_pile_up() {
    let (_, graph) = graphs(2300..2400)
        .max_by_key(|(_, graph)| expect(graph, &Options::default()).states)
        .expect("there is a graph");
    let options = Options {
        commit_every: Some(Duration::from_secs(3600)),
        ..always(1, 3_000)
    };
    let whole = Arc::new(CrashDisk::new());
    go_on(&graph, &options, &whole).expect("nothing fails");
    let mut disk = Arc::new(CrashDisk::new());
    let mut n_files = Vec::new();
    for _ in 0..4 {
        disk.stop_at(whole.n_operations() / 2);
        assert!(go_on(&graph, &options, &disk).is_err());
        disk = Arc::new(disk.crash(1));
        n_files.push(disk.list().expect("a list of files").len());
    }
    assert!(n_files[0] > 2, "{n_files:?}");
    assert!(n_files[3] <= n_files[0] + 2, "{n_files:?}");
}

/// Searches on disks of these capacities, up to the first that has room; those that find none go on
/// when there is more. `look_at` is given what they tell before. How many there were.
pub(crate) fn on_full_disks(
    seed: u64,
    graph: &Graph,
    options: &Options,
    capacities: impl Iterator<Item = u64>,
    look_at: impl Fn(&Outcome),
) -> u32 {
    let expected = expect(graph, options);
    let mut n_full = 0;
    for capacity in capacities {
        let disk = Arc::new(CrashDisk::new());
        disk.set_capacity(capacity, seed.is_multiple_of(2));
        match go_on(graph, options, &disk) {
            Ok(outcome) if outcome.reason == Some(Reason::Disk) => look_at(&outcome),
            Ok(outcome) => {
                assert_eq!(tell(graph, options, &outcome), expected, "seed {seed}");
                break;
            }
            // Not even the first manifest had room.
            Err(Error::Store(hadal_store::Error::Full { .. })) => {}
            Err(error) => panic!("seed {seed}, {capacity} bytes: {error}"),
        }
        n_full += 1;
        disk.set_capacity(u64::MAX, true);
        let outcome = go_on(graph, options, &disk)
            .unwrap_or_else(|error| panic!("seed {seed}, {capacity} bytes: {error}"));
        assert_eq!(tell(graph, options, &outcome), expected, "seed {seed}");
    }
    n_full
}

#[test]
fn a_full_disk_stops_a_search_that_can_go_on_later() {
    let mut n_full = 0;
    for (seed, graph) in graphs(2100..2200) {
        let options = always(1, 3_000);
        let whole = Arc::new(CrashDisk::new());
        go_on(&graph, &options, &whole).expect("nothing fails");
        let capacities = (0..).map(|n| n * 16_384).take(100);
        n_full += on_full_disks(seed, &graph, &options, capacities, |outcome| {
            assert!(outcome.violations.is_empty() || !outcome.complete);
        });
    }
    assert!(n_full > 30, "{n_full}");
}

#[test]
fn a_flipped_bit_is_found_or_never_read() {
    let (mut n_found, mut n_harmless) = (0, 0);
    for (seed, graph) in graphs(2200..2240) {
        let options = always(1, 3_000);
        let expected = expect(&graph, &options);
        let whole = Arc::new(CrashDisk::new());
        go_on(&graph, &options, &whole).expect("nothing fails");
        let disk = Arc::new(CrashDisk::new());
        disk.stop_at(whole.n_operations() * 3 / 4);
        if go_on(&graph, &options, &disk).is_ok() {
            continue;
        }
        let names: Vec<_> = disk.crash(seed).list().expect("a list of files");
        for entry in names {
            let step = (entry.len as usize / 40).max(1);
            for byte in (0..entry.len as usize).step_by(step) {
                let left = Arc::new(disk.crash(seed));
                left.flip(&entry.name, byte, (byte % 8) as u32);
                match go_on(&graph, &options, &left) {
                    Ok(outcome) => {
                        assert_eq!(tell(&graph, &options, &outcome), expected, "seed {seed}");
                        n_harmless += 1;
                    }
                    Err(Error::Store(error)) => {
                        assert!(
                            matches!(
                                error,
                                hadal_store::Error::Damaged { .. }
                                    | hadal_store::Error::Version { .. }
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
fn every_block_can_be_read_and_checked() {
    let (_, graph) = graphs(2300..2400)
        .max_by_key(|(_, graph)| expect(graph, &Options::default()).states)
        .expect("there is a graph");
    let options = always(1, 3_000);
    let whole = Arc::new(CrashDisk::new());
    go_on(&graph, &options, &whole).expect("nothing fails");
    let disk = Arc::new(CrashDisk::new());
    disk.stop_at(whole.n_operations() * 3 / 4);
    assert!(go_on(&graph, &options, &disk).is_err());
    let left = Arc::new(disk.crash(1));
    let (folder, manifest) = open(&left).expect("what is left can be opened");
    let manifest = manifest.expect("it had begun");
    let verified = verify(&folder, &manifest).expect("nothing is damaged");
    assert!(verified.files >= 2 && verified.blocks >= 2 && verified.bytes > 0);
}

#[test]
fn a_search_that_was_stopped_goes_on_where_it_was() {
    let mut n_stopped = 0;
    for (seed, graph) in graphs(2400..2480) {
        for memory_bytes in [0, 3_000, 1 << 20] {
            let options = Options {
                commit_every: Some(Duration::from_secs(3600)),
                ..always(2, memory_bytes)
            };
            let expected = expect(&graph, &options);
            let disk = Arc::new(CrashDisk::new());
            let (folder, _) = open(&disk).expect("a folder can be used");
            let on_disk = OnDisk {
                folder,
                resumable: true,
                label: LABEL.to_vec(),
            };
            let stop = Stop::new();
            // Raised by whoever watches, in the middle.
            let mut raise = |progress: &hadal_search::Progress| {
                if progress.layer >= 1 {
                    stop.raise();
                }
            };
            let outcome = check_on_disk(&graph, &options, on_disk, &stop, &mut raise);
            let outcome = outcome.expect("nothing fails");
            if outcome.reason != Some(Reason::Interrupted) {
                continue;
            }
            n_stopped += 1;
            let outcome = go_on(&graph, &options, &disk).expect("it goes on");
            let told = tell(&graph, &options, &outcome);
            assert_eq!(told, expected, "seed {seed}, {memory_bytes} bytes");
        }
    }
    assert!(n_stopped > 0, "no search was stopped");
}

#[test]
fn a_search_goes_on_with_its_own_store_and_seed_only() {
    let (_, graph) = graphs(2300..2400)
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
        go_on(&graph, &own, &whole).expect("nothing fails");
        let disk = Arc::new(CrashDisk::new());
        disk.stop_at(whole.n_operations() * 3 / 4);
        assert!(go_on(&graph, &own, &disk).is_err());
        for (store, seed) in [
            (StoreKind::Exact, 0),
            (StoreKind::Hash96, 5),
            (StoreKind::Hash64, 6),
        ] {
            let left = Arc::new(disk.crash(1));
            let error = go_on(&graph, &with(store, seed), &left).expect_err("it is refused");
            assert!(matches!(error, Error::OtherStore { .. }), "{error}");
            assert!(error.to_string().contains("`hash64` and seed 5"), "{error}");
            // And nothing is lost by having tried.
            let outcome = go_on(&graph, &own, &left).expect("it goes on");
            assert_eq!(tell(&graph, &own, &outcome), expect(&graph, &own));
        }
    }
}
