//! A queue, first in first out, whose ends are in memory and whose middle is on disk.
//!
//! States are put into the tail and taken from the head. A full tail goes behind the middle; an
//! empty head is filled from the front of the middle or, when that is empty, by the tail. The
//! middle is a row of files, so that what was taken makes room.

use std::collections::VecDeque;

use hadal_search::strategy::Run;
use hadal_store::Error;

use crate::record_dir::RecordDir;
use crate::records::Records;

/// Memory for each end of a queue on disk, in a search that has one or two of them.
pub(crate) fn segment_bytes(run: &Run<'_>) -> u64 {
    (run.options.memory_bytes / 32).min(4 << 20)
}

/// Records of one length in order.
pub(crate) struct Queue {
    dir: RecordDir,
    record_len: usize,
    stride: usize,
    /// Records that the tail holds at most.
    segment_len: usize,
    head: Vec<u8>,
    /// Where the first record of the head begins.
    head_at: usize,
    middle: VecDeque<Records>,
    /// Records taken from the first file of the middle.
    n_taken: u64,
    tail: Vec<u8>,
    len: u64,
    /// The most that there have been.
    pub(crate) max_len: u64,
}

/// Records in a file of the middle.
const FILE_BYTES: usize = 16 << 20;

impl Queue {
    /// An empty queue, each end of which takes `segment_bytes`.
    pub(crate) fn new(dir: &RecordDir, record_len: usize, segment_bytes: u64) -> Self {
        let stride = record_len.max(1);
        Queue {
            dir: dir.clone(),
            record_len,
            stride,
            segment_len: (segment_bytes / stride as u64).clamp(1, 1 << 30) as usize,
            head: Vec::new(),
            head_at: 0,
            middle: VecDeque::new(),
            n_taken: 0,
            tail: Vec::new(),
            len: 0,
            max_len: 0,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all records, wherever they are.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.len * self.stride as u64
    }

    /// Memory that the two ends take; what is more than that in the head is a buffer of the disk.
    pub(crate) fn data_bytes(&self) -> u64 {
        let head = self.head.len().min(self.segment_len * self.stride);
        (head + self.tail.len()) as u64
    }

    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        debug_assert_eq!(record.len(), self.record_len);
        self.tail.extend_from_slice(record);
        self.tail
            .resize(self.tail.len() + self.stride - self.record_len, 0);
        self.len += 1;
        self.max_len = self.max_len.max(self.len);
        if self.tail.len() == self.segment_len * self.stride {
            for record in self.tail.chunks_exact(self.stride) {
                let is_full = |last: &Records| {
                    last.len() as usize * self.stride >= FILE_BYTES.max(self.stride)
                };
                if self.middle.back().is_none_or(is_full) {
                    if let Some(last) = self.middle.back_mut() {
                        last.finish()?;
                    }
                    self.middle.push_back(self.dir.records(self.record_len)?);
                }
                if let Some(last) = self.middle.back_mut() {
                    last.push(&record[..self.record_len])?;
                }
            }
            self.tail.clear();
        }
        Ok(())
    }

    /// Takes the next record and appends it to `out`; says whether there was one.
    pub(crate) fn pop_onto(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        if self.len == 0 {
            return Ok(false);
        }
        if self.head_at == self.head.len() {
            self.fill_head()?;
        }
        out.extend_from_slice(&self.head[self.head_at..][..self.record_len]);
        self.head_at += self.stride;
        self.len -= 1;
        Ok(true)
    }

    fn fill_head(&mut self) -> Result<(), Error> {
        self.head.clear();
        self.head_at = 0;
        let Some(first) = self.middle.front_mut() else {
            std::mem::swap(&mut self.head, &mut self.tail);
            return Ok(());
        };
        // To the end of a block, so that none is read twice.
        let n = first.read_from(self.n_taken, &mut self.head)?;
        self.n_taken += n as u64;
        if self.n_taken == first.len() {
            self.middle.pop_front();
            self.n_taken = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{Queue, RecordDir};
    use crate::tables::Random;

    #[test]
    fn a_queue_keeps_the_order() {
        for (len, segment_bytes) in [(0, 1), (3, 0), (3, 50), (9, 100_000), (700, 5000)] {
            let mut queue = Queue::new(&RecordDir::in_memory(), len, segment_bytes);
            let (mut plain, mut random) = (VecDeque::new(), Random::new(1));
            let mut most = 0;
            for round in 0..200_000u64 {
                // Mostly growing first, mostly shrinking then.
                if random.below(10) < if round < 100_000 { 6 } else { 3 } {
                    let record: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
                    queue.push(&record).unwrap();
                    plain.push_back(record);
                } else {
                    let mut out = Vec::new();
                    let is_there = queue.pop_onto(&mut out).unwrap();
                    assert_eq!(is_there.then_some(out), plain.pop_front());
                }
                most = most.max(plain.len());
                assert_eq!(queue.len(), plain.len() as u64);
            }
            assert_eq!(queue.max_len, most as u64);
            let most_bytes = 2 * segment_bytes.max(len as u64).max(1);
            assert!(queue.data_bytes() <= most_bytes);
        }
    }
}
