//! Memory that blocks pass through on their way to the disk and back.
//!
//! A folder has a fixed number of chunks, allocated when first needed and reused.
//! A stream (a writer or a reader) takes chunks while there are any. One that gets none uses a
//! single block of its own, one at a time: slowly, but no number of streams can block the others.
//! So the memory is the chunks, plus one block per stream.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::frame::FRAME_BYTES;
use super::medium::SECTOR_BYTES;

/// Most bytes of a chunk: longer reads and writes gain nothing.
const CHUNK_BYTES: usize = 1 << 20;
/// Least number of chunks before they get longer.
const N_CHUNKS: usize = 32;
/// Most chunks that a stream uses, where no other needs them.
const MOST_PER_STREAM: usize = 16;

/// Memory that a stream takes at most beside the chunks of its folder: the block of its own.
pub const STREAM_BYTES: u64 = (FRAME_BYTES + SECTOR_BYTES) as u64;

/// Bytes at an address aligned to a sector.
#[derive(Debug)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub(crate) fn new(len: usize) -> Self {
        let bytes = vec![0; len + SECTOR_BYTES];
        // The vector never grows, so its bytes stay where they are.
        let start = bytes.as_ptr().align_offset(SECTOR_BYTES);
        Self { bytes, start, len }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..][..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.len]
    }
}

/// The chunks of a folder.
#[derive(Debug)]
pub(crate) struct Pool {
    chunk_bytes: usize,
    n_chunks: usize,
    chunks: Mutex<Chunks>,
    n_streams: AtomicUsize,
    own_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Chunks {
    free: Vec<Aligned>,
    n_made: usize,
}

impl Pool {
    /// Chunks that take `bytes` together, but never less than two blocks.
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        let frames = (bytes / FRAME_BYTES).max(2);
        let frames_per_chunk = (frames / N_CHUNKS).clamp(1, CHUNK_BYTES / FRAME_BYTES);
        Arc::new(Self {
            chunk_bytes: frames_per_chunk * FRAME_BYTES,
            n_chunks: frames / frames_per_chunk,
            chunks: Mutex::default(),
            n_streams: AtomicUsize::new(0),
            own_bytes: AtomicU64::new(0),
        })
    }

    /// Memory of all chunks, and of the streams' own blocks.
    pub(crate) fn data_bytes(&self) -> u64 {
        (self.n_chunks * (self.chunk_bytes + SECTOR_BYTES)) as u64 + self.own_bytes.load(Relaxed)
    }

    fn take(self: &Arc<Self>) -> Option<Chunk> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = match chunks.free.pop() {
            Some(memory) => memory,
            None if chunks.n_made < self.n_chunks => {
                chunks.n_made += 1;
                Aligned::new(self.chunk_bytes)
            }
            None => return None,
        };
        Some(Chunk {
            memory: Some(memory),
            pool: Arc::clone(self),
            is_own: false,
        })
    }
}

/// A writer or reader, as the pool sees it.
#[derive(Debug)]
pub(crate) struct Stream {
    pool: Arc<Pool>,
    own: Option<Chunk>,
}

impl Stream {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        pool.n_streams.fetch_add(1, Relaxed);
        Self {
            pool: Arc::clone(pool),
            own: None,
        }
    }

    /// Most chunks that this stream should use, so that others get theirs; with fewer than two it
    /// would wait for each one.
    pub(crate) fn share(&self) -> usize {
        let n_streams = self.pool.n_streams.load(Relaxed).max(1);
        (self.pool.n_chunks / n_streams).clamp(2, MOST_PER_STREAM)
    }

    /// A chunk, if there is one.
    pub(crate) fn take(&self) -> Option<Chunk> {
        self.pool.take()
    }

    /// A chunk, or else the block of this stream's own. Only for a stream that uses none.
    pub(crate) fn take_any(&mut self) -> Chunk {
        if let Some(chunk) = self.pool.take() {
            return chunk;
        }
        self.own.take().unwrap_or_else(|| {
            self.pool.own_bytes.fetch_add(STREAM_BYTES, Relaxed);
            Chunk {
                memory: Some(Aligned::new(FRAME_BYTES)),
                pool: Arc::clone(&self.pool),
                is_own: true,
            }
        })
    }

    /// Gives a chunk back.
    pub(crate) fn give_back(&mut self, chunk: Chunk) {
        if chunk.is_own {
            self.own = Some(chunk);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.pool.n_streams.fetch_sub(1, Relaxed);
    }
}

/// A borrowed chunk, returned on drop.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// `None` only while the chunk is being dropped.
    memory: Option<Aligned>,
    pool: Arc<Pool>,
    is_own: bool,
}

impl Chunk {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], Aligned::bytes)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], Aligned::bytes_mut)
    }

    /// Whether it is the stream's own block, the only one it then has.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Blocks that fit.
    pub(crate) fn n_frames(&self) -> usize {
        self.bytes().len() / FRAME_BYTES
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        if self.is_own {
            self.pool.own_bytes.fetch_sub(STREAM_BYTES, Relaxed);
        } else {
            let mut chunks = self
                .pool
                .chunks
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            chunks.free.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Aligned, Pool, Stream};
    use crate::disk::SECTOR_BYTES;
    use crate::disk::frame::FRAME_BYTES;

    #[test]
    fn memory_is_aligned() {
        for len in [SECTOR_BYTES, FRAME_BYTES, 1 << 20] {
            let memory = Aligned::new(len);
            assert_eq!(memory.bytes().len(), len);
            assert_eq!(memory.bytes().as_ptr().addr() % SECTOR_BYTES, 0);
        }
    }

    #[test]
    fn streams_share_and_never_go_without() {
        for bytes in [0, 1 << 20, 16 << 20, 100 << 20] {
            let pool = Pool::new(bytes);
            let fixed = pool.data_bytes();
            assert!(fixed <= bytes.max(2 * FRAME_BYTES) as u64 * 17 / 16);
            let mut streams: Vec<_> = (0..pool.n_chunks + 3).map(|_| Stream::new(&pool)).collect();
            assert_eq!(streams[0].share(), 2);
            let taken: Vec<_> = streams.iter_mut().map(Stream::take_any).collect();
            assert_eq!(taken.iter().filter(|chunk| chunk.is_own).count(), 3);
            assert!(streams[0].take().is_none());
            let own = 3 * (FRAME_BYTES + SECTOR_BYTES) as u64;
            assert_eq!(pool.data_bytes(), fixed + own);
            drop((taken, streams));
            assert_eq!(pool.data_bytes(), fixed);
            assert!(Stream::new(&pool).take().is_some());
        }
    }
}
