use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Log, MAX_PIECE_BYTES, Retention, SegmentEntry, Slice};
use crate::delta::delta_bytes;
use crate::disk::{Folder, FolderOptions, NativeDisk};
use crate::{MAX_KEY_WORDS, read_records, write_records};

fn folder(path: &std::path::Path) -> Folder {
    let disk = NativeDisk::open(path).expect("a folder can be used");
    let options = FolderOptions {
        reserve_bytes: 0,
        buffer_bytes: 1 << 18,
        ..FolderOptions::default()
    };
    let opened = Folder::open(Arc::new(disk), options);
    opened.expect("a folder can be used").0
}

/// Wide keys as records: some to a piece, or a single one that fills a block.
#[test]
fn wide_records_come_back_from_memory_and_disk() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for n_words in [17, 100, 600, MAX_KEY_WORDS] {
        let most = (MAX_PIECE_BYTES / delta_bytes(n_words)).min(50);
        let mut keys: Vec<u64> = Vec::new();
        let (mut logs, mut entries) = (Vec::new(), Vec::new());
        let path = tempfile::tempdir().expect("a folder");
        let folder = folder(path.path());
        for keep in [
            None,
            Some(Retention::Bytes(1 << 16)),
            Some(Retention::BytesAndWrite(0)),
        ] {
            let mut log = Log::new();
            if let Some(keep) = keep {
                log.attach(folder.clone(), keep).expect("it works");
            }
            logs.push(log);
        }
        for _ in 0..20 {
            let n = rng.random_range(1..=most);
            let from = keys.len();
            keys.extend((0..n * n_words).map(|_| rng.random::<u64>()));
            let mut records = Vec::new();
            write_records(n_words, keys[from..].chunks(n_words), &mut records);
            for log in &mut logs {
                log.append(records.as_slice().into(), n, 0)
                    .expect("it works");
            }
        }
        entries.extend(logs[2].commit().expect("it works"));
        folder.commit(1, b"a manifest").expect("it works");
        logs.push(Log::reopen(folder.clone(), Retention::Bytes(0), &entries).expect("it works"));
        let n_keys = keys.len() / n_words;
        for log in &mut logs {
            assert_eq!(log.len(), n_keys as u64);
            for _ in 0..20 {
                let from = rng.random_range(0..n_keys);
                let len = rng.random_range(1..=n_keys - from);
                let mut words = Vec::new();
                for slice in log.read(from as u64, len).expect("it works") {
                    read_records(&slice.bytes, slice.records, n_words, &mut words)
                        .expect("whole records");
                }
                assert!(words == keys[from * n_words..(from + len) * n_words]);
            }
        }
    }
}

/// Records of nine bytes that hold their ordinals.
fn piece(first: u64, len: usize) -> Arc<[u8]> {
    let record = |ordinal: u64| [&ordinal.to_be_bytes()[..], &[7]].concat();
    (first..first + len as u64).flat_map(record).collect()
}

#[track_caller]
fn assert_there(log: &mut Log, first: u64, len: u64) -> Vec<Slice> {
    let slices = log.read(first, len as usize).expect("it is there");
    let records = |slice: &Slice| {
        slice
            .bytes
            .chunks(9)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let wanted = |slice: &Slice| records(slice)[slice.records.clone()].concat();
    let bytes: Vec<u8> = slices.iter().flat_map(wanted).collect();
    assert_eq!(bytes, *piece(first, len as usize));
    slices
}

#[test]
fn records_come_back_in_order_and_memory_stays_within_its_limit() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for keep in [
        Retention::AllAndWrite,
        Retention::Bytes(40_000),
        Retention::BytesAndWrite(0),
    ] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut log = Log::new();
        log.append(piece(0, 10), 10, 0).expect("memory has room");
        log.attach(folder(scratch.path()), keep).expect("it works");
        while log.len() < 200_000 {
            let len = rng.random_range(0..3000);
            log.append(piece(log.len(), len), len, 1).expect("it works");
            if keep != Retention::AllAndWrite {
                assert!(log.data_bytes() < 300_000, "{}", log.data_bytes());
            }
        }
        let mut at = 0;
        while at < log.len() {
            let len = rng.random_range(1..2000).min(log.len() - at);
            assert_there(&mut log, at, len);
            at += len;
            log.retire_before(at).expect("it works");
        }
        log.discard().expect("it works");
    }
}

/// As a search does it: states of a layer are read and dropped while those of the next are
/// appended, so that memory is freed now and then.
#[test]
fn what_is_put_back_can_be_read_again() {
    let path = tempfile::tempdir().expect("a temporary folder");
    for keep in [Retention::Bytes(20_000), Retention::BytesAndWrite(20_000)] {
        let mut log = Log::new();
        log.attach(folder(path.path()), keep).expect("a folder");
        for i in 0..500 {
            log.append(piece(i * 100, 100), 100, 0).expect("room");
        }
        let held = log.data_bytes();
        for upto in [0, 250, 20_050, 50_000] {
            assert_there(&mut log, 0, 50_000);
            assert!(log.data_bytes() > 400_000, "all of it was read");
            log.evict_before(upto);
        }
        assert!(log.data_bytes() <= held, "{} {held}", log.data_bytes());
        assert_there(&mut log, 0, 50_000);
    }
}

#[test]
fn records_are_read_while_others_are_appended() {
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for limit in [0, 5_000, 100_000, 400_000] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut log = Log::new();
        let keep = Retention::Bytes(limit);
        log.attach(folder(scratch.path()), keep).expect("it works");
        let mut at = 0;
        for round in 0..3000 {
            let len = rng.random_range(0..400);
            log.append(piece(log.len(), len), len, 1).expect("it works");
            // Sometimes more is read than appended, sometimes less.
            let most = if round / 300 % 2 == 0 { 100 } else { 600 };
            let len = rng.random_range(0..most).min(log.len() - at);
            assert_there(&mut log, at, len);
            at += len;
            log.retire_before(at).expect("it works");
        }
        log.discard().expect("it works");
    }
}

/// However long it gets, a log keeps few files open; those whose records are dropped are
/// deleted.
#[test]
fn files_grow_with_the_log_and_are_deleted_one_by_one() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = folder(scratch.path());
    let mut log = Log::new();
    let keep = Retention::BytesAndWrite(0);
    log.attach(folder.clone(), keep).expect("it works");
    while log.len() < 14_000_000 {
        let len = 7000;
        log.append(piece(log.len(), len), len, 1).expect("it works");
    }
    let n_blocks = |entries: &[SegmentEntry]| entries.iter().map(|e| e.n_blocks).sum::<u32>();
    let entries = log.commit().expect("it works");
    assert!(n_blocks(&entries) > 1900, "{}", n_blocks(&entries));
    assert!((16..60).contains(&entries.len()), "{}", entries.len());
    // A search that only reads states keeps writing to the same file.
    let half = log.len() / 2;
    assert_there(&mut log, half, 10_000);
    log.retire_before(half).expect("it works");
    let entries = log.commit().expect("it works");
    assert!((900..1300).contains(&n_blocks(&entries)));
    folder.commit(1, b"a manifest").expect("it works");
    drop(log);
    let mut log = Log::reopen(folder, keep, &entries).expect("it is there");
    assert_eq!(log.len(), 14_000_000);
    let mut at = half;
    while at < log.len() {
        assert_there(&mut log, at, 70_000);
        at += 70_000;
        log.retire_before(at).expect("it works");
    }
    assert!(log.commit().expect("it works").is_empty());
}

#[test]
fn a_committed_log_reopens_unchanged() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let entries = {
        let folder = folder(scratch.path());
        let mut log = Log::new();
        log.attach(folder.clone(), Retention::AllAndWrite)
            .expect("it works");
        while log.len() < 50_000 {
            log.append(piece(log.len(), 777), 777, 2).expect("it works");
        }
        let entries = log.commit().expect("it works");
        folder.commit(1, b"a manifest").expect("it works");
        // What comes later is lost.
        log.append(piece(log.len(), 5), 5, 2).expect("it works");
        log.commit().expect("it works");
        entries
    };
    let folder = folder(scratch.path());
    let mut log = Log::reopen(folder, Retention::AllAndWrite, &entries).expect("it is there");
    assert_eq!(log.len(), 50_505);
    log.append(piece(log.len(), 5), 5, 3).expect("it works");
    let slices = assert_there(&mut log, 50_000, 510);
    assert_eq!(slices.last().map(|slice| slice.version), Some(3));
}

/// Memory may end when a log is long already.
#[test]
fn what_was_appended_before_there_was_a_folder_keeps_to_its_memory_too() {
    let path = tempfile::tempdir().expect("a temporary folder");
    let limit = 100_000;
    for keep in [Retention::Bytes(limit), Retention::BytesAndWrite(limit)] {
        let mut log = Log::new();
        for at in 0..500 {
            let appended = log.append(piece(100 * at, 100), 100, 0);
            appended.expect("it is in memory");
        }
        assert!(log.data_bytes() > 4 * limit);
        match keep {
            Retention::Bytes(_) => log.attach(folder(path.path()), keep).expect("it works"),
            // As a search that can be resumed does it.
            _ => {
                let attached = log.attach(folder(path.path()), Retention::AllAndWrite);
                attached.expect("it works");
                assert!(log.data_bytes() > 4 * limit);
                log.set_retention(keep);
            }
        }
        // One block may not be full yet, and is in memory twice; its buffer has grown by doubling.
        let most = limit + 3 * crate::BLOCK_BYTES as u64 + 500 * 100;
        assert!(log.data_bytes() <= most, "{} bytes", log.data_bytes());
        assert_there(&mut log, 0, 50_000);
        log.discard().expect("it works");
    }
}

#[test]
fn a_log_is_continued_by_another_one() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for keep in [
        None,
        Some(Retention::Bytes(40_000)),
        Some(Retention::BytesAndWrite(0)),
        Some(Retention::AllAndWrite),
    ] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = folder(scratch.path());
        let mut log = Log::new();
        for part in 0..6 {
            let mut later = Log::new();
            if let Some(keep) = keep {
                later.attach(folder.clone(), keep).expect("it works");
            }
            later.begin_at(log.len());
            let end = log.len() + [0, 5, 30_000, 400][rng.random_range(0..4)];
            while later.len() < end {
                let len = rng.random_range(0..1000);
                later
                    .append(piece(later.len(), len), len, 1)
                    .expect("it works");
            }
            match part {
                0 => log = later,
                _ => log.extend(later).expect("it works"),
            }
            // Something more, behind the seam.
            log.append(piece(log.len(), 3), 3, 2).expect("it works");
            let from = rng.random_range(0..log.len());
            let len = log.len() - from;
            assert_there(&mut log, from, len);
        }
        let (all, half) = (log.len(), log.len() / 2);
        assert_there(&mut log, 0, all);
        log.evict_before(all);
        assert_there(&mut log, 0, all);
        if keep.is_some_and(Retention::writes_all) {
            let entries = log.commit().expect("it works");
            folder.commit(1, b"a manifest").expect("it works");
            let keep = Retention::Bytes(0);
            let mut again = Log::reopen(folder.clone(), keep, &entries).expect("it is whole");
            assert_eq!(again.len(), all);
            assert_there(&mut again, 0, all);
        }
        log.retire_before(half).expect("it works");
        assert_there(&mut log, half, all - half);
        log.discard().expect("it works");
    }
}

/// A log of thin layers, all of which stay on disk, takes little memory, and its pieces are read as they
/// were written.
#[test]
fn small_pieces_take_no_memory_once_they_are_evicted() {
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    for keep in [Retention::Bytes(10_000), Retention::BytesAndWrite(0)] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = folder(scratch.path());
        let mut log = Log::new();
        log.attach(folder.clone(), keep).expect("it works");
        let mut lens = Vec::new();
        while log.len() < 100_000 {
            let len = match rng.random_range(0..300) {
                0 => rng.random_range(1..1000),
                _ => rng.random_range(1..4),
            };
            log.append(piece(log.len(), len), len, (lens.len() / 500) as u32)
                .expect("it works");
            lens.push(len);
            log.evict_before(log.len().saturating_sub(10));
            // What is underway is a block.
            assert!(log.data_bytes() < 600_000, "{}", log.data_bytes());
        }
        assert!(lens.len() > 20_000);
        for _ in 0..3 {
            let mut first = 0;
            for (number, &len) in lens.iter().enumerate() {
                let slice = log.read_piece(first).expect("it is there");
                assert_eq!(
                    (slice.n_records(), slice.version),
                    (len, (number / 500) as u32)
                );
                assert_eq!(*slice.bytes, *piece(first, len));
                log.evict_piece(first);
                first += len as u64;
                assert!(log.data_bytes() < 600_000, "{}", log.data_bytes());
            }
            for _ in 0..20 {
                let from = rng.random_range(0..log.len());
                let len = rng.random_range(1..5000).min(log.len() - from);
                assert_there(&mut log, from, len);
                log.evict_before(from + len / 2);
            }
            let end = log.len();
            log.evict_before(end);
            if keep.writes_all() {
                let entries = log.commit().expect("it works");
                folder.commit(1, b"a manifest").expect("it works");
                log = Log::reopen(folder.clone(), keep, &entries).expect("it is whole");
                assert_eq!(log.len(), end);
            }
        }
    }
}
