//! Files of records of one length. Records are packed into blocks and read back by block, in any
//! order; what does not fill a block yet is kept in memory.

use std::ops::Range;
use std::time::Instant;

use hadal_store::disk::{BlockFile, BlockWriter, Kind};
use hadal_store::{BLOCK_BYTES, BlockSink, BlockSource, Error};

use crate::record_dir::RecordDir;

/// Bytes that are worth a block of their own.
const LEAST_BYTES: usize = BLOCK_BYTES / 8;
/// What is in these files.
const KIND: Kind = Kind::Records;

/// A file of records of one length, to which more can be appended. It goes when it is dropped.
pub(crate) struct Records {
    record_len: usize,
    stride: usize,
    per_block: usize,
    /// Full blocks; the last one may be shorter if the file is finished.
    blocks: Blocks,
    is_finished: bool,
    /// What does not fill a block yet.
    partial: Vec<u8>,
    n_records: u64,
    dir: RecordDir,
}

enum Blocks {
    Memory(Vec<Box<[u8]>>),
    Disk {
        writer: Box<BlockWriter>,
        /// The file with the blocks that were there when it was last read.
        file: Option<BlockFile>,
    },
    /// Nothing more comes, so there is no writer, which would hold memory.
    Sealed(BlockFile),
}

impl Blocks {
    fn len(&self) -> usize {
        match self {
            Blocks::Memory(blocks) => blocks.len(),
            Blocks::Disk { writer, .. } => writer.n_blocks() as usize,
            Blocks::Sealed(file) => file.n_blocks() as usize,
        }
    }

    /// The file with all blocks written so far; `None` in memory.
    fn file(&mut self) -> Result<Option<&BlockFile>, Error> {
        let (writer, file) = match self {
            Blocks::Memory(_) => return Ok(None),
            Blocks::Sealed(file) => return Ok(Some(file)),
            Blocks::Disk { writer, file } => (writer, file),
        };
        let is_all = |file: &&mut BlockFile| file.n_blocks() == writer.n_blocks();
        if file.as_mut().filter(is_all).is_none() {
            *file = Some(writer.written()?);
        }
        Ok(file.as_ref())
    }
}

impl Records {
    pub(crate) fn new(dir: RecordDir, record_len: usize) -> Self {
        // A model without variables has states of no bytes.
        let stride = record_len.max(1);
        Records {
            record_len,
            stride,
            // A record that is wider than a block has one of its own, in memory; none goes to disk.
            per_block: (BLOCK_BYTES / stride).max(1),
            blocks: Blocks::Memory(Vec::new()),
            is_finished: false,
            partial: Vec::new(),
            n_records: 0,
            dir,
        }
    }

    /// Number of records.
    pub(crate) fn len(&self) -> u64 {
        self.n_records
    }

    /// Bytes of a record.
    pub(crate) fn record_len(&self) -> usize {
        self.record_len
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &RecordDir {
        &self.dir
    }

    /// Appends a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), Error> {
        debug_assert!(record.len() == self.record_len && !self.is_finished);
        self.partial.extend_from_slice(record);
        self.partial
            .resize(self.partial.len() + self.stride - self.record_len, 0);
        self.n_records += 1;
        match self.partial.len() == self.per_block * self.stride {
            true => self.put_partial(),
            false => Ok(()),
        }
    }

    /// Nothing more is appended, so nothing has to stay aside, unless it is too little for a file
    /// or a block.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.is_finished = true;
        if self.partial.len() >= LEAST_BYTES {
            self.put_partial()?;
        }
        self.partial.shrink_to_fit();
        let since = Instant::now();
        self.blocks = match std::mem::replace(&mut self.blocks, Blocks::Memory(Vec::new())) {
            Blocks::Disk { writer, .. } => Blocks::Sealed(writer.finish()?),
            blocks => blocks,
        };
        self.dir.count_io(since);
        Ok(())
    }

    fn put_partial(&mut self) -> Result<(), Error> {
        let since = Instant::now();
        if let (0, Some(folder)) = (self.blocks.len(), &self.dir.folder) {
            self.blocks = Blocks::Disk {
                writer: Box::new(BlockWriter::create(folder, KIND)?),
                file: None,
            };
        }
        match &mut self.blocks {
            Blocks::Memory(blocks) => blocks.push(self.partial.as_slice().into()),
            Blocks::Disk { writer, .. } => writer.put(&self.partial)?,
            Blocks::Sealed(_) => unreachable!("nothing is appended to a finished file"),
        }
        self.dir.count_io(since);
        self.dir.count_written(self.partial.len());
        self.partial.clear();
        Ok(())
    }

    /// Replaces `bytes` by the records from `from` on to the end of their block, and says how many
    /// these are.
    pub(crate) fn read_from(&mut self, from: u64, bytes: &mut Vec<u8>) -> Result<usize, Error> {
        let (block, skip) = self.place(from);
        if block < self.blocks.len() {
            let since = Instant::now();
            match self.blocks.file()? {
                Some(file) => file.get(block as u32, bytes)?,
                None => self.copy_block(block, bytes),
            }
            self.dir.count_io(since);
            self.dir.count_read(bytes.len());
        } else {
            bytes.clear();
            bytes.extend_from_slice(&self.partial);
        }
        bytes.drain(..skip * self.stride);
        Ok(bytes.len() / self.stride)
    }

    fn copy_block(&self, block: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        if let Blocks::Memory(blocks) = &self.blocks {
            bytes.extend_from_slice(&blocks[block]);
        }
    }

    /// Copies the record at `at`.
    pub(crate) fn get(&mut self, at: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.read_from(at, &mut bytes)?;
        bytes.truncate(self.record_len);
        Ok(bytes)
    }

    /// Calls `each` with the records of `range` in order, reading ahead, until it says that this is
    /// enough.
    pub(crate) fn for_each<E: From<Error>>(
        &mut self,
        range: Range<u64>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (stride, record_len) = (self.stride, self.record_len);
        let mut at = range.start;
        let mut take = |at: &mut u64, bytes: &[u8]| {
            let wanted = (range.end - *at) as usize;
            let mut records = bytes.chunks_exact(stride).take(wanted);
            *at += records.len() as u64;
            records.try_for_each(|record| each(&record[..record_len]))
        };
        let n_blocks = self.blocks.len();
        let (first, skip) = self.place(at);
        let end = self.place(range.end.max(1) - 1).0 + 1;
        let (dir, mut skip) = (self.dir.clone(), skip * stride);
        if at < range.end
            && first < n_blocks
            && let Some(file) = self.blocks.file()?
        {
            let wanted = first as u32..end.min(n_blocks) as u32;
            let mut reader = file.read(Vec::from_iter([wanted]));
            loop {
                let since = Instant::now();
                let block = reader.next()?;
                dir.count_io(since);
                let Some((_, bytes)) = block else { break };
                dir.count_read(bytes.len());
                take(&mut at, &bytes[skip..])?;
                skip = 0;
            }
        }
        let mut bytes = Vec::new();
        while at < range.end {
            self.read_from(at, &mut bytes)?;
            take(&mut at, &bytes)?;
        }
        Ok(())
    }

    /// Block, and position in it, of a record.
    fn place(&self, at: u64) -> (usize, usize) {
        let per_block = self.per_block as u64;
        ((at / per_block) as usize, (at % per_block) as usize)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        let bytes = self.n_records * self.stride as u64 - self.partial.len() as u64;
        self.dir.count_deleted(bytes);
        let Some(folder) = &self.dir.folder else {
            return;
        };
        // What cannot be deleted now is deleted when the folder is next used.
        let name = match std::mem::replace(&mut self.blocks, Blocks::Memory(Vec::new())) {
            Blocks::Memory(_) => return,
            Blocks::Disk { mut writer, .. } => {
                let _ = writer.flush();
                writer.name().to_owned()
            }
            Blocks::Sealed(file) => file.name().to_owned(),
        };
        let _ = folder.retire(&name);
    }
}

/// Goes through the records of a file in order.
#[derive(Debug)]
pub(crate) struct Cursor {
    at: u64,
    end: u64,
    /// Records from `first` on.
    bytes: Vec<u8>,
    first: u64,
    n: usize,
}

impl Cursor {
    /// Before the first record.
    pub(crate) fn new() -> Self {
        Self::within(0..u64::MAX)
    }

    /// Before the first record of `range`, behind which it does not go.
    pub(crate) fn within(range: Range<u64>) -> Self {
        Cursor {
            at: range.start,
            end: range.end,
            bytes: Vec::new(),
            first: 0,
            n: 0,
        }
    }

    /// The record to come; `None` at the end.
    pub(crate) fn peek(&mut self, records: &mut Records) -> Result<Option<&[u8]>, Error> {
        if self.at >= self.end.min(records.len()) {
            return Ok(None);
        }
        if self.at >= self.first + self.n as u64 {
            self.first = self.at;
            self.n = records.read_from(self.at, &mut self.bytes)?;
        }
        let skip = (self.at - self.first) as usize * records.stride;
        Ok(Some(&self.bytes[skip..][..records.record_len]))
    }

    /// Goes behind that record.
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

    use super::{Cursor, Error, LEAST_BYTES, RecordDir, Records};

    /// A directory in memory, and one in a fresh folder.
    fn dirs(path: &std::path::Path) -> Vec<RecordDir> {
        let disk = NativeDisk::open(path).unwrap();
        let (folder, _) = Folder::open(Arc::new(disk), FolderOptions::default()).unwrap();
        vec![RecordDir::in_memory(), RecordDir::within(Some(folder))]
    }

    /// An error of the callback ends the iteration at once.
    fn check_enough(records: &mut Records, n: u64) {
        let mut n_told = 0;
        let each = &mut |_: &[u8]| {
            n_told += 1;
            match n_told == n / 2 {
                true => Err(Error::Full { needed: 0 }),
                false => Ok(()),
            }
        };
        assert!(records.for_each(0..n, each).is_err());
        assert_eq!(n_told, n / 2);
    }

    fn check_records(dir: &RecordDir, len: usize, n: u64) {
        let mut records = dir.records(len).unwrap();
        let record = |at: u64| -> Vec<u8> {
            let bytes = at.to_le_bytes();
            (0..len).map(|byte| bytes[byte % 8]).collect()
        };
        for at in 0..n {
            records.push(&record(at)).unwrap();
            if at % 10_007 == 0 {
                assert_eq!(records.get(at / 2).unwrap(), record(at / 2));
            }
        }
        for is_finished in [false, true] {
            if is_finished {
                records.finish().unwrap();
            }
            assert_eq!(records.len(), n);
            for at in [n - 1, 0, n / 2, n / 3] {
                assert_eq!(records.get(at).unwrap(), record(at));
            }
            let mut at = n / 4;
            let each = &mut |found: &[u8]| {
                assert_eq!(found, record(at));
                at += 1;
                Ok::<(), Error>(())
            };
            records.for_each(n / 4..n - 2, each).unwrap();
            assert_eq!(at, n - 2);
            let nothing = &mut |_: &[u8]| panic!("nothing");
            records.for_each::<Error>(5..5, nothing).unwrap();
            check_enough(&mut records, n);
            let mut cursor = Cursor::new();
            let mut seen = 0;
            while let Some(found) = cursor.peek(&mut records).unwrap() {
                assert_eq!(found, record(seen));
                cursor.advance();
                seen += 1;
            }
            assert_eq!(seen, n);
            let mut cursor = Cursor::within(n / 3..n / 2);
            for at in n / 3..n / 2 {
                let found = cursor.peek(&mut records).unwrap();
                assert_eq!(found, Some(&record(at)[..]));
                cursor.advance();
            }
            assert_eq!(cursor.peek(&mut records).unwrap(), None);
        }
        assert!(dir.now_bytes() + LEAST_BYTES as u64 > n * len as u64);
    }

    #[test]
    fn records_come_back_in_any_order() {
        let path = std::env::temp_dir().join(format!("hadal-records-{}", std::process::id()));
        for dir in dirs(&path) {
            for (len, n) in [(0, 100), (3, 70_000), (100, 2000), (40_000, 9)] {
                check_records(&dir, len, n);
                assert_eq!(dir.now_bytes(), 0);
            }
            assert!(dir.written_bytes() > 0 && dir.read_bytes() > 0);
            if let Some(folder) = &dir.folder {
                // Every file is gone.
                folder.wait_for_deletions().unwrap();
                assert_eq!(folder.statistics().disk_bytes, 0);
            }
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}
