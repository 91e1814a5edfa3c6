//! Blocks of files that stay in memory once they were read, while memory lies idle.
//!
//! Runs that are looked into are read from end to end, layer after layer, and others give up what they
//! have ([`KeptBlocks::let_go`]). So it makes no difference which of their blocks
//! need not be read again: they stay as they come until there is no more room, and none takes the
//! place of another. The room is memory that others have a right to ([`Spare`]), who take it back
//! when they need it.

use std::collections::VecDeque;
use std::iter::Flatten;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use super::reader::BlockFile;
use super::spare::{PIECE_BYTES, Spare};
use crate::blocks::want;
use crate::{BLOCK_BYTES, BlockReader, BlockSource, Error};

const _: () = assert!(BLOCK_BYTES <= PIECE_BYTES, "a block fits a piece");

/// A file whose blocks stay in memory once they were read, as far as there is room.
pub struct KeptBlocks {
    file: BlockFile,
    spare: Arc<Spare>,
    blocks: RwLock<Vec<Option<Arc<Block>>>>,
    bytes: AtomicU64,
}

impl KeptBlocks {
    /// For a file of which nothing is in memory yet.
    pub fn new(file: BlockFile) -> Self {
        KeptBlocks {
            spare: Arc::clone(file.folder().spare()),
            blocks: RwLock::default(),
            bytes: AtomicU64::new(0),
            file,
        }
    }

    /// The file itself.
    pub fn file(&self) -> &BlockFile {
        &self.file
    }

    /// Memory that its blocks take.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Gives up blocks of `bytes` or somewhat more, or all.
    pub fn let_go(&self, bytes: u64) {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        let mut freed = 0;
        for block in blocks.iter_mut().rev() {
            if freed >= bytes {
                break;
            }
            freed += block.take().map_or(0, |_| PIECE_BYTES as u64);
        }
        self.bytes.fetch_sub(freed, Relaxed);
    }

    /// Keeps a block if there is room.
    fn keep(&self, number: u32, payload: &[u8]) {
        let Some(mut piece) = self.spare.borrow() else {
            return;
        };
        piece[..payload.len()].copy_from_slice(payload);
        let kept = Arc::new(Block {
            piece: Some(piece),
            len: payload.len(),
            spare: Arc::clone(&self.spare),
        });
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        if blocks.is_empty() {
            blocks.resize(self.file.n_blocks() as usize, None);
        }
        // Another thread may have come first.
        if let Some(block @ None) = blocks.get_mut(number as usize) {
            *block = Some(kept);
            self.bytes.fetch_add(PIECE_BYTES as u64, Relaxed);
        }
    }
}

/// A block in borrowed memory.
struct Block {
    /// Always there, but while the block is being dropped.
    piece: Option<Box<[u8]>>,
    len: usize,
    spare: Arc<Spare>,
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.piece.as_ref().map_or(&[], |piece| &piece[..self.len])
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(piece) = self.piece.take() {
            self.spare.give_back_borrowed(piece);
        }
    }
}

impl BlockSource for KeptBlocks {
    fn read(&self, wanted: Vec<Range<u32>>) -> Box<dyn BlockReader + '_> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let mut kept = VecDeque::new();
        let missing = match blocks.is_empty() {
            true => wanted.clone(),
            false => {
                let mut missing: Vec<Range<u32>> = Vec::new();
                for number in wanted.iter().cloned().flatten() {
                    match blocks.get(number as usize) {
                        Some(Some(block)) => kept.push_back((number, Arc::clone(block))),
                        _ => want(&mut missing, number),
                    }
                }
                missing
            }
        };
        // A stream would take memory from others even if it has nothing to read.
        let missing = Some(missing).filter(|missing| !missing.is_empty());
        Box::new(Reader {
            of: self,
            wanted: wanted.into_iter().flatten(),
            kept,
            missing: missing.map(|missing| self.file.stream(missing)),
            last: None,
        })
    }
}

/// Gives blocks from memory and from the file, in their order.
struct Reader<'a> {
    of: &'a KeptBlocks,
    wanted: Flatten<std::vec::IntoIter<Range<u32>>>,
    /// Those of them that are in memory.
    kept: VecDeque<(u32, Arc<Block>)>,
    /// The others.
    missing: Option<Box<dyn BlockReader>>,
    /// The block that was given last, if it was in memory.
    last: Option<(u32, Arc<Block>)>,
}

impl BlockReader for Reader<'_> {
    fn next(&mut self) -> Result<Option<(u32, &[u8])>, Error> {
        self.last = None;
        let Some(number) = self.wanted.next() else {
            self.missing = None;
            return Ok(None);
        };
        if let Some(kept) = self.kept.pop_front_if(|(kept, _)| *kept == number) {
            let (_, block) = self.last.insert(kept);
            return Ok(Some((number, block)));
        }
        let Some(missing) = &mut self.missing else {
            return Ok(None);
        };
        let read = missing.next()?;
        if let Some((number, payload)) = read {
            self.of.keep(number, payload);
        }
        Ok(read)
    }

    fn last(&self) -> Option<(u32, &[u8])> {
        match &self.last {
            Some((number, block)) => Some((*number, block)),
            None => self.missing.as_ref()?.last(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{KeptBlocks, PIECE_BYTES};
    use crate::disk::{BlockWriter, Folder, FolderOptions, Kind, NativeDisk};
    use crate::{BlockSink, BlockSource};

    const LEN: usize = 1000;

    fn file(folder: &Folder, n_blocks: u8) -> KeptBlocks {
        let mut writer = BlockWriter::create(folder, Kind(*b"test")).expect("a file");
        for number in 0..n_blocks {
            writer.put(&[number; LEN]).expect("a block");
        }
        KeptBlocks::new(writer.finish().expect("a file"))
    }

    fn numbers(source: &KeptBlocks, wanted: &[std::ops::Range<u32>]) -> Vec<u32> {
        let mut reader = source.read(wanted.to_vec());
        let mut numbers = Vec::new();
        while let Some((number, payload)) = reader.next().expect("blocks") {
            assert_eq!(payload, [number as u8; LEN]);
            numbers.push(number);
            assert_eq!(reader.last(), Some((number, &[number as u8; LEN][..])));
        }
        assert_eq!(reader.last(), None);
        numbers
    }

    #[test]
    fn blocks_are_read_once_as_far_as_there_is_room() {
        let path = tempfile::tempdir().expect("a folder");
        let disk = Arc::new(NativeDisk::open(path.path()).expect("a disk"));
        let (folder, _) = Folder::open(disk, FolderOptions::default()).expect("a folder");
        let source = file(&folder, 10);
        let n_read = || folder.statistics().read_bytes;
        let block_bytes = PIECE_BYTES as u64;
        assert_eq!(numbers(&source, &[0..4, 4..10]), Vec::from_iter(0..10));
        assert_eq!(source.memory_bytes(), 0);

        folder.spare().set_limit(4 * block_bytes + 1);
        assert_eq!(numbers(&source, &[2..4, 5..10]), [2, 3, 5, 6, 7, 8, 9]);
        assert_eq!(source.memory_bytes(), 4 * block_bytes);
        let before = n_read();
        assert_eq!(numbers(&source, &[2..4, 5..7]), [2, 3, 5, 6]);
        assert_eq!(n_read(), before);
        assert_eq!(numbers(&source, &[0..4, 4..10]), Vec::from_iter(0..10));
        assert!(n_read() > before);

        folder.spare().lower_limit(2 * block_bytes);
        assert_eq!(folder.spare().excess(), 2 * block_bytes);
        source.let_go(folder.spare().excess());
        assert_eq!(source.memory_bytes(), 2 * block_bytes);
        let before = n_read();
        assert_eq!(numbers(&source, &[2..3, 3..4]), [2, 3]);
        assert_eq!(n_read(), before);

        drop(source);
        folder.spare().set_limit(0);
        assert_eq!(folder.spare().excess(), 0);
    }
}
