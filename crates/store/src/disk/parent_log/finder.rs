//! Looking up the parents of states.
//!
//! The block of the last lookup stays decoded: a path through a deep graph has thousands of steps
//! in each.

use std::sync::PoisonError;

use super::{Blocks, HEADER_BYTES, ParentLog};
use crate::disk::frame::{self, u32_at, u64_at};
use crate::disk::parent_code::decode_parent;
use crate::{Error, Parent};

/// Looks up entries of a log.
pub struct ParentFinder<'a> {
    log: &'a ParentLog,
    /// Number of the current block; the unfinished one follows the finished ones.
    block: Option<usize>,
    /// Its content, if it was read from disk.
    read: Vec<u8>,
    /// Where every [`MARKED`]th entry begins, and the parent of the one before.
    marks: Vec<(usize, u64)>,
}

/// Most entries that are decoded to find one.
const MARKED: u64 = 64;

impl<'a> ParentFinder<'a> {
    pub(super) fn new(log: &'a ParentLog) -> Self {
        ParentFinder {
            log,
            block: None,
            read: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The parent of the state numbered `ordinal`; `None` past the end.
    pub fn get(&mut self, ordinal: u64) -> Result<Option<Parent>, Error> {
        let log = self.log;
        if ordinal >= log.n_entries {
            return Ok(None);
        }
        let is_finished = ordinal < log.tail_first;
        let block = match is_finished {
            true => log.firsts.partition_point(|&first| first <= ordinal) - 1,
            false => log.firsts.len(),
        };
        let first = if is_finished {
            log.firsts[block]
        } else {
            log.tail_first
        };
        if self.block != Some(block) {
            self.take(block, first)?;
        }
        let position = ordinal - first;
        let (at, mut last) = self.marks[(position / MARKED) as usize];
        let bytes = &mut &self.bytes(block)[at..];
        let mut parent = None;
        for _ in 0..=position % MARKED {
            parent = decode_parent(bytes, last);
            last = parent.map_or(0, |parent| parent.ordinal);
        }
        Ok(Some(parent.expect("the block was gone through before")))
    }

    /// Loads a block, whose first entry is `first`, and indexes it.
    fn take(&mut self, block: usize, first: u64) -> Result<(), Error> {
        let log = self.log;
        self.block = None;
        let is_finished = block < log.firsts.len();
        let end = match log.firsts.get(block + 1) {
            Some(&next) => next,
            None if is_finished => log.tail_first,
            None => log.n_entries,
        };
        let n_entries = end - first;
        let mut is_expected = true;
        let mut name = String::new();
        if is_finished && let Blocks::Disk(writer) = &log.blocks {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            let file = writer.written()?;
            drop(writer);
            file.get(block as u32, &mut self.read)?;
            is_expected = self.read.len() >= HEADER_BYTES
                && u64_at(&self.read, 0) == first
                && u64::from(u32_at(&self.read, 16)) == n_entries;
            file.name().clone_into(&mut name);
        }
        let marks = is_expected.then(|| marks(self.bytes(block), n_entries));
        let Some(marks) = marks.flatten() else {
            return Err(Error::damaged(
                &name,
                frame::offset_of(block as u32),
                "the block does not hold the expected parents",
            ));
        };
        (self.block, self.marks) = (Some(block), marks);
        Ok(())
    }

    /// The content of a block, which was read before if it is on disk.
    fn bytes(&self, block: usize) -> &[u8] {
        match &self.log.blocks {
            _ if block == self.log.firsts.len() => &self.log.tail,
            Blocks::Memory(blocks) => &blocks[block],
            Blocks::Disk(_) => &self.read,
        }
    }
}

/// Indexes the entries of a block; `None` if it has fewer.
fn marks(block: &[u8], n_entries: u64) -> Option<Vec<(usize, u64)>> {
    let (header, mut bytes) = block.split_at_checked(HEADER_BYTES)?;
    let mut last = u64_at(header, 8);
    let mut marks = Vec::new();
    for position in 0..n_entries {
        if position % MARKED == 0 {
            marks.push((block.len() - bytes.len(), last));
        }
        last = decode_parent(&mut bytes, last)?.ordinal;
    }
    Some(marks)
}
