//! The log of candidates: parents come back as they were, and a log moves to disk.

use std::sync::Arc;

use hadal_store::Parent;
use hadal_store::candidate_log::{CandidateLog, PIECE_STATES_BYTES};
use hadal_store::candidates::{batches, read_parents, write_parents};
use hadal_store::disk::{Folder, FolderOptions};
use hadal_store::hashing::StoreKind;
use hadal_store::key_space::KeySpace;
use hadal_testkit::disk::CrashDisk;

/// Memory may end while a rank is admitted.
#[test]
fn a_log_that_moves_to_disk_leaves_memory_and_keeps_its_numbers() {
    let (folder, _) = Folder::open(Arc::new(CrashDisk::new()), FolderOptions::default())
        .expect("a folder can be used");
    let keys = KeySpace::new(8, 0, StoreKind::Exact, 0);
    let mut log = CandidateLog::new(None, &keys).expect("it is in memory");
    let batch = |number: u64| number.to_le_bytes().repeat(200);
    (0..300).for_each(|number| log.append(&batch(number), 1).expect("it is in memory"));
    log.end_piece().expect("it is in memory");
    let admitted = log.read_piece(0).expect("it is there").expect("a piece");
    let mut next = admitted.n_records() as u64;
    log.retire_before(next).expect("it is in memory");
    assert!(log.memory_bytes() > 400_000);
    log.move_to(&folder, 0).expect("the disk has room");
    // The block in progress.
    assert!(log.memory_bytes() < 200_000, "{}", log.memory_bytes());
    while let Some(piece) = log.read_piece(next).expect("it is there") {
        for found in batches(&piece.bytes) {
            assert_eq!(found, Some((1, &batch(next)[..])));
            next += 1;
        }
    }
    assert_eq!((next, log.len()), (300, 300));
}

/// States that differ in a few bytes take little in the log, and much when they are promoted.
#[test]
fn a_piece_of_wide_states_is_bounded_by_what_they_take() {
    let state_len = 10_000;
    let keys = KeySpace::new(state_len, 0, StoreKind::Exact, 0);
    let mut log = CandidateLog::new(None, &keys).expect("it is in memory");
    for _ in 0..1000 {
        log.append(&[7; 20], 2).expect("it is in memory");
    }
    log.end_piece().expect("it is in memory");
    let mut next = 0;
    while let Some(piece) = log.read_piece(next).expect("it is there") {
        assert!(piece.n_records() * state_len <= PIECE_STATES_BYTES);
        next += piece.n_records() as u64;
    }
    assert_eq!(next, 2000);
}

#[test]
fn parents_come_back_as_they_were() {
    let parents: Vec<Parent> = [(0, 0), (0, 300), (5, 1), (1 << 40, u32::MAX), (1 << 40, 7)]
        .into_iter()
        .map(|(ordinal, index)| Parent { ordinal, index })
        .collect();
    let mut piece = Vec::new();
    write_parents(parents.iter().copied(), &mut piece);
    let found: Vec<Parent> = read_parents(&piece).collect();
    assert_eq!(found, parents);
    assert_eq!(read_parents(&piece[..3]).count(), 1);
}
