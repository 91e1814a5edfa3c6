//! The schedule alone: when a checkpoint is due.

use std::sync::Arc;

use hadal_store::BlockSink;
use hadal_store::disk::{BlockWriter, Kind};
use hadal_testkit::disk::CrashDisk;

use super::*;
use crate::fixture::folder_on;

const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);

/// A schedule on an empty disk with this least time between checkpoints.
fn schedule(floor: Duration, resumable: bool, memory_bytes: u64) -> (Schedule, Arc<CrashDisk>) {
    let disk = Arc::new(CrashDisk::new());
    let search_folder = SearchFolder {
        folder: folder_on(&disk),
        resumable,
        label: b"the model".to_vec(),
    };
    let options = Options {
        checkpoint_every: Some(floor),
        memory_bytes,
        ..Options::default()
    };
    (Schedule::new(search_folder, &options), disk)
}

impl Schedule {
    /// Lets `time` pass.
    fn pass(&mut self, time: Duration) {
        self.last -= time;
    }

    /// Writes a checkpoint on which work has taken this long.
    fn write_within(&mut self, took: Duration) {
        let since = Instant::now() - took;
        self.write_checkpoint(&Content::Begun, 5, since)
            .expect("the disk works");
    }

    fn due(&self) -> (bool, bool) {
        (self.is_due(), self.is_overdue())
    }
}

#[test]
fn with_a_floor_of_zero_a_checkpoint_is_due_whenever_there_is_something_to_save() {
    let (mut schedule, _) = schedule(Duration::ZERO, true, u64::MAX);
    assert_eq!(schedule.due(), (false, false), "nothing is there to save");
    for took in [Duration::ZERO, HOUR] {
        schedule.note_work();
        assert_eq!(schedule.due(), (true, true));
        // However long it takes, zero stays zero.
        schedule.note_committed(took);
        schedule.write_within(took);
        assert_eq!(schedule.saved_states, 5);
        assert_eq!(schedule.due(), (false, false));
    }
}

#[test]
fn with_a_long_floor_a_checkpoint_is_due_after_it_and_overdue_after_twice_that() {
    let (mut schedule, _) = schedule(HOUR, true, u64::MAX);
    schedule.note_work();
    assert_eq!(schedule.due(), (false, false));
    assert!(schedule.is_worthwhile());
    schedule.pass(HOUR - SECOND);
    assert!(!schedule.is_due());
    schedule.pass(2 * SECOND);
    assert_eq!(schedule.due(), (true, false));
    schedule.pass(HOUR - 2 * SECOND);
    assert_eq!(schedule.due(), (true, false));
    schedule.pass(2 * SECOND);
    assert_eq!(schedule.due(), (true, true));
    schedule.write_within(Duration::ZERO);
    schedule.note_work();
    assert_eq!(schedule.due(), (false, false), "time begins anew");
}

#[test]
fn without_work_or_a_later_run_no_checkpoint_is_due() {
    for (resumable, has_worked) in [(true, false), (false, true)] {
        for floor in [Duration::ZERO, SECOND] {
            let (mut schedule, disk) = schedule(floor, resumable, u64::MAX);
            if has_worked {
                schedule.note_work();
            }
            schedule.pass(HOUR);
            assert_eq!(schedule.due(), (false, false));
            assert!(!schedule.is_worthwhile());
            schedule.begin().expect("the disk works");
            assert_eq!(disk.used_bytes() > 0, resumable, "a manifest is written");
        }
    }
}

#[test]
fn checkpoints_that_take_long_are_taken_seldom() {
    // One that took a minute may be followed by the next after 25.
    let (mut schedule, _) = schedule(SECOND, true, u64::MAX);
    schedule.write_within(60 * SECOND);
    schedule.note_work();
    schedule.pass(24 * 60 * SECOND);
    assert!(!schedule.is_due());
    schedule.pass(70 * SECOND);
    assert!(schedule.is_due());
    // To commit deferred ranks may take a quarter of the time.
    schedule.note_committed(600 * SECOND);
    schedule.write_within(Duration::ZERO);
    schedule.note_work();
    schedule.pass(2390 * SECOND);
    assert!(!schedule.is_due());
    schedule.pass(20 * SECOND);
    assert!(schedule.is_due());
    // And counts once.
    schedule.write_within(Duration::ZERO);
    schedule.note_work();
    schedule.pass(5 * SECOND);
    assert!(schedule.is_due());
}

/// Retires a file of `n_blocks` blocks that the manifest may list.
fn retire_file(schedule: &Schedule, n_blocks: usize) {
    let folder = &schedule.search_folder.folder;
    let mut writer = BlockWriter::create(folder, Kind::Log).expect("the disk works");
    for _ in 0..n_blocks {
        writer.put(&[1; 4096]).expect("the disk works");
    }
    let file = writer.finish().expect("the disk works");
    let name = file.name().to_owned();
    drop(file);
    folder.commit(PAYLOAD_VERSION, b"").expect("the disk works");
    folder.retire(&name).expect("the disk works");
}

#[test]
fn files_that_only_the_last_manifest_needs_make_a_checkpoint_overdue() {
    // More of them than there is memory for.
    let (schedule_of_little, _) = schedule(HOUR, true, 10_000);
    // Or more than a small disk has room for.
    let (schedule_of_much, disk) = schedule(HOUR, true, u64::MAX);
    for schedule in [&schedule_of_little, &schedule_of_much] {
        schedule.note_work();
        retire_file(schedule, 8);
    }
    assert_eq!(schedule_of_little.due(), (true, true));
    assert_eq!(schedule_of_much.due(), (false, false));
    disk.set_capacity(disk.used_bytes() + 1000, true);
    // The disk is asked when something is written.
    let folder = &schedule_of_much.search_folder.folder;
    let mut writer = BlockWriter::create(folder, Kind::Log).expect("the disk works");
    let _ = writer.put(&[1; 4096]);
    drop(writer.finish());
    assert_eq!(schedule_of_much.due(), (true, true));
}
