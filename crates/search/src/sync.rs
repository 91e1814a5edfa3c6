//! Locks whose holders do not panic: a panic under one of them ends the search.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const UNPOISONED: &str = "a panic under this lock ends the search";

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect(UNPOISONED)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect(UNPOISONED)
}
