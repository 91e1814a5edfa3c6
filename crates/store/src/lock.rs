//! Locks whose holders do not panic.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const UNPOISONED: &str = "nobody panics under this lock";

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().expect(UNPOISONED)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().expect(UNPOISONED)
}
