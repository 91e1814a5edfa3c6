//! Locks whose holders do not panic: a panic under one of them ends the search.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const UNPOISONED: &str = "a panic under this lock ends the search";

/// Locks for reading.
///
/// # Panics
/// Where a holder has panicked.
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect(UNPOISONED)
}

/// Locks for writing.
///
/// # Panics
/// Where a holder has panicked.
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect(UNPOISONED)
}
