//! Candidates of open ranks: ranks that are not expanded yet.
//!
//! They wait in a queue by rank, which goes to disk when it takes more than its share of memory.
//! When a rank is popped its candidates become a log, which has an account of its own until they
//! are admitted.

use std::mem;

use hadal_model::Stop;
use hadal_store::candidate_log::CandidateLog;
use hadal_store::candidates::{write_batch, write_parents};
use hadal_store::disk::Folder;
use hadal_store::key_space::KeySpace;
use hadal_store::{Error, PieceQueue, QueueDisk, Retention, SpillEntry, write_deltas};

use super::Rank;
use crate::window::Task;

/// Candidates of ranks that are not expanded yet, and of one that is being admitted.
#[derive(Default)]
pub(crate) struct OpenRanks {
    queue: PieceQueue,
    folder: Option<Folder>,
    /// The candidates of the rank that was popped last, until they are admitted.
    pub(crate) popped: CandidateLog,
    scratch: Scratch,
}

/// Buffers for sorting a task's candidates by rank.
#[derive(Default)]
struct Scratch {
    positions: Vec<u32>,
    batch: Vec<u8>,
    payload: Vec<u8>,
}

impl OpenRanks {
    /// From now on writes what does not fit memory, and moves there what exists: `disk` has the
    /// memory of the queue, `popped_bytes` is that of the rank being admitted.
    pub(crate) fn attach(&mut self, disk: QueueDisk, popped_bytes: u64) -> Result<(), Error> {
        self.folder = Some(disk.folder.clone());
        self.popped.move_to(&disk.folder, popped_bytes)?;
        self.queue.attach(disk)
    }

    /// The queue takes no more than `bytes` from now on, if it is on disk.
    pub(crate) fn set_memory(&mut self, bytes: u64) -> Result<(), Error> {
        self.queue.set_memory(bytes)
    }

    /// Replaces everything by what a manifest lists.
    pub(crate) fn restore(&mut self, disk: QueueDisk, spills: &[SpillEntry]) -> Result<(), Error> {
        self.folder = Some(disk.folder.clone());
        self.queue = PieceQueue::reopen(disk, spills)?;
        Ok(())
    }

    /// Puts everything on disk that a later run needs, and lists it for a manifest.
    pub(crate) fn commit(&mut self) -> Result<Vec<SpillEntry>, Error> {
        self.queue.commit()
    }

    /// Appends the candidates of `task`.
    pub(crate) fn append(&mut self, task: &Task, keys: &KeySpace) -> Result<(), Error> {
        let Scratch {
            positions,
            batch,
            payload,
        } = &mut self.scratch;
        let ranks = &task.ranks.ranks;
        positions.clear();
        positions.extend(0..ranks.len() as u32);
        // Stable, so that the candidates of a rank stay in the order of generation.
        positions.sort_by_key(|&position| ranks[position as usize]);
        let shape = keys.codec.newest();
        for group in positions.chunk_by(|&a, &b| ranks[a as usize] == ranks[b as usize]) {
            let rank = ranks[group[0] as usize];
            let words = task.codec_keys();
            let key =
                |&position: &u32| &words[position as usize * shape.n_words..][..shape.n_words];
            payload.clear();
            write_deltas(shape.n_words, group.iter().map(key), payload);
            let parent = |&position: &u32| task.parent_of(position as usize);
            write_parents(group.iter().map(parent), payload);
            batch.clear();
            write_batch(payload, group.len(), batch);
            self.queue.push(rank.0, shape.version, batch)?;
        }
        Ok(())
    }

    /// Removes the lowest open rank and returns it. Its candidates are in `popped`, which keeps
    /// about `memory_bytes` in memory if there is a disk; not all are, once `stop` is raised.
    pub(crate) fn pop_first(
        &mut self,
        keys: &KeySpace,
        memory_bytes: u64,
        stop: &Stop,
    ) -> Result<Option<Rank>, Error> {
        let disk = (self.folder.as_ref()).map(|folder| (folder, Retention::Bytes(memory_bytes)));
        let mut log = CandidateLog::new(disk, keys)?;
        let popped = self
            .queue
            .pop_first(|version, piece| match stop.is_raised() {
                false => log.append_piece(piece, keys.codec.shape(version)),
                true => Ok(()),
            })?;
        log.end_piece()?;
        self.popped = log;
        Ok(popped.map(Rank))
    }

    /// The candidates that were popped last.
    pub(crate) fn take_popped(&mut self) -> CandidateLog {
        mem::take(&mut self.popped)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let Scratch {
            positions,
            batch,
            payload,
        } = &self.scratch;
        let scratch = 4 * positions.capacity() + batch.capacity() + payload.capacity();
        self.queue.memory_bytes() + self.popped.memory_bytes() + scratch as u64
    }
}
