//! Disk traffic, as figures of a strategy.

use hadal_search::{DiskUse, Stats, Value};

use crate::record_dir::RecordDir;

/// Time spent on I/O by two dirs, which may be the same.
pub(crate) fn io_seconds(dir: &RecordDir, other: &RecordDir) -> f64 {
    let other = match dir.is_same(other) {
        true => 0.0,
        false => other.io().as_secs_f64(),
    };
    dir.io().as_secs_f64() + other
}

/// What went to the disk and back.
pub(crate) fn disk_use(dir: &RecordDir) -> DiskUse {
    if !dir.is_on_disk() {
        return DiskUse::default();
    }
    DiskUse {
        peak_bytes: dir.peak_bytes(),
        read_bytes: dir.read_bytes(),
        written_bytes: dir.written_bytes(),
        ..DiskUse::default()
    }
}

/// The same as figures of the strategy, which has them without a folder too.
pub(crate) fn push_io(dir: &RecordDir, io_wait: f64, stats: &mut Stats) {
    stats.push("seconds_io", Value::Seconds(io_wait));
    stats.push("disk_peak_bytes", Value::Count(dir.peak_bytes()));
    stats.push("disk_read_bytes", Value::Count(dir.read_bytes()));
    stats.push("disk_written_bytes", Value::Count(dir.written_bytes()));
}
