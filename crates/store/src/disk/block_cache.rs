//! A cache of blocks in memory that is idle otherwise.
//!
//! Runs that are probed are read from end to end, layer after layer, and the caches of others are
//! evicted ([`BlockCache::let_go`]). So any block is as good as another: blocks are cached as they
//! come until there is no more room, and none replaces another. The memory is lent ([`LentMemory`]) and
//! its owner takes it back when needed.

use std::collections::VecDeque;
use std::iter::Flatten;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use super::lent_memory::{LentMemory, PIECE_BYTES};
use super::reader::BlockFile;
use crate::blocks::want;
use crate::{BLOCK_BYTES, BlockReader, BlockSource, Error};

const _: () = assert!(BLOCK_BYTES <= PIECE_BYTES, "a block fits a piece");

/// A file with a cache of its blocks.
pub struct BlockCache {
    file: BlockFile,
    spare: Arc<LentMemory>,
    blocks: RwLock<Vec<Option<Arc<Block>>>>,
    bytes: AtomicU64,
}

impl BlockCache {
    /// An empty cache for a file.
    pub fn new(file: BlockFile) -> Self {
        BlockCache {
            spare: Arc::clone(file.folder().lent_memory()),
            blocks: RwLock::default(),
            bytes: AtomicU64::new(0),
            file,
        }
    }

    /// The file itself.
    pub fn file(&self) -> &BlockFile {
        &self.file
    }

    /// Memory of the cached blocks.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Evicts blocks of at least `bytes`, or all.
    pub fn evict(&self, bytes: u64) {
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

    /// Caches a block if there is room.
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
        // Another thread may have been first.
        if let Some(block @ None) = blocks.get_mut(number as usize) {
            *block = Some(kept);
            self.bytes.fetch_add(PIECE_BYTES as u64, Relaxed);
        }
    }
}

/// A block in lent memory.
struct Block {
    /// `None` only while the block is being dropped.
    piece: Option<Box<[u8]>>,
    len: usize,
    spare: Arc<LentMemory>,
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

impl BlockSource for BlockCache {
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
        // Even a stream with nothing to read would take memory from others.
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

/// Reads blocks from the cache and from the file, in order.
struct Reader<'a> {
    of: &'a BlockCache,
    wanted: Flatten<std::vec::IntoIter<Range<u32>>>,
    /// Those that are cached.
    kept: VecDeque<(u32, Arc<Block>)>,
    /// The others.
    missing: Option<Box<dyn BlockReader>>,
    /// The last block, if it was cached.
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

    use super::{BlockCache, PIECE_BYTES};
    use crate::disk::{BlockWriter, Folder, FolderOptions, Kind, NativeDisk};
    use crate::{BlockSink, BlockSource};

    const LEN: usize = 1000;

    fn file(folder: &Folder, n_blocks: u8) -> BlockCache {
        let mut writer = BlockWriter::create(folder, Kind::Log).expect("a file");
        for number in 0..n_blocks {
            writer.put(&[number; LEN]).expect("a block");
        }
        BlockCache::new(writer.finish().expect("a file"))
    }

    fn numbers(source: &BlockCache, wanted: &[std::ops::Range<u32>]) -> Vec<u32> {
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

        folder.lent_memory().set_limit(4 * block_bytes + 1);
        assert_eq!(numbers(&source, &[2..4, 5..10]), [2, 3, 5, 6, 7, 8, 9]);
        assert_eq!(source.memory_bytes(), 4 * block_bytes);
        let before = n_read();
        assert_eq!(numbers(&source, &[2..4, 5..7]), [2, 3, 5, 6]);
        assert_eq!(n_read(), before);
        assert_eq!(numbers(&source, &[0..4, 4..10]), Vec::from_iter(0..10));
        assert!(n_read() > before);

        folder.lent_memory().lower_limit(2 * block_bytes);
        assert_eq!(folder.lent_memory().excess(), 2 * block_bytes);
        source.evict(folder.lent_memory().excess());
        assert_eq!(source.memory_bytes(), 2 * block_bytes);
        let before = n_read();
        assert_eq!(numbers(&source, &[2..3, 3..4]), [2, 3]);
        assert_eq!(n_read(), before);

        drop(source);
        folder.lent_memory().set_limit(0);
        assert_eq!(folder.lent_memory().excess(), 0);
    }
}
