//! A priority queue that may be larger than memory: pieces by rank, the lowest rank first.
//!
//! The pieces of a rank come back in the order in which they were pushed. Pieces in memory are kept
//! by rank. With a folder, when they pass their limit all of them become a *spill*: a file in which
//! ranks ascend. Ranks are popped in ascending order, so a spill is read once, from front to end;
//! it takes an open file, and a block of memory once its first rank is reached.
//! When there are too many spills, neighbours are merged, so neither memory nor the number of files
//! depends on how many ranks there are.

mod spill;

use std::collections::BTreeMap;

use spill::Spill;

use crate::disk::Folder;
use crate::{BLOCK_BYTES, Error, HALF_PIECE_BYTES};

pub use spill::SpillEntry;

/// Pieces by rank, popped rank by rank in ascending order.
#[derive(Default)]
pub struct PieceQueue {
    /// Pieces in memory. They come after those of all spills.
    ranks: BTreeMap<u64, Pieces>,
    /// Memory that these take.
    pieces_bytes: u64,
    /// In the order in which they were written, which is that of their pieces within a rank.
    spills: Vec<Spill>,
    disk: Option<QueueDisk>,
}

/// Where a queue goes when it is larger than memory.
#[derive(Clone)]
pub struct QueueDisk {
    /// The folder for its files.
    pub folder: Folder,
    /// What the queue may hold in memory. It takes a few blocks of 64 KiB however little this is.
    pub memory_bytes: u64,
    /// Whether what is written must survive a crash.
    pub is_durable: bool,
}

/// The pieces of a rank.
#[derive(Default)]
struct Pieces {
    full: Vec<Piece>,
    last: Piece,
}

#[derive(Default)]
struct Piece {
    version: u32,
    bytes: Vec<u8>,
}

/// Pieces of one rank and layout are joined up to this length.
const PIECE_BYTES: usize = HALF_PIECE_BYTES;
/// Pieces that take less are not worth a file.
const MIN_SPILL_BYTES: u64 = 16 << 10;
/// Range of the number of spills beyond which some are merged: each takes a block of memory.
const FEWEST_SPILLS: u64 = 4;
const MOST_SPILLS: u64 = 16;
/// Most spills that are merged at once.
const MOST_MERGED: usize = 4;
/// What the system's allocator adds to an allocation.
const ALLOCATION_BYTES: usize = 16;
/// Memory for a rank besides its pieces: the nodes of a tree may be half empty.
const RANK_BYTES: u64 = (2 * size_of::<(u64, Pieces)>() + ALLOCATION_BYTES) as u64;

impl PieceQueue {
    /// An empty queue in memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reopens a queue from its files.
    pub fn reopen(disk: QueueDisk, entries: &[SpillEntry]) -> Result<Self, Error> {
        let spills = entries.iter().map(|entry| Spill::reopen(&disk, entry));
        Ok(PieceQueue {
            spills: spills.collect::<Result<_, _>>()?,
            disk: Some(disk),
            ..Self::default()
        })
    }

    /// From now on writes what does not fit memory. What is there already is written at once if it
    /// does not fit.
    pub fn attach(&mut self, disk: QueueDisk) -> Result<(), Error> {
        self.disk = Some(disk);
        self.spill_over()
    }

    /// Takes no more than `bytes` from now on, if it is attached.
    pub fn set_memory(&mut self, bytes: u64) -> Result<(), Error> {
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        disk.memory_bytes = bytes;
        self.spill_over()
    }

    /// Appends to the pieces of `rank` one whose keys have this version of the layout. Neighbours
    /// of one layout may come back as one piece.
    pub fn push(&mut self, rank: u64, version: u32, bytes: &[u8]) -> Result<(), Error> {
        let pieces = self.ranks.entry(rank).or_insert_with(|| {
            self.pieces_bytes += RANK_BYTES;
            Pieces::default()
        });
        self.pieces_bytes += pieces.push(version, bytes);
        self.spill_over()
    }

    /// The lowest rank.
    pub fn first(&self) -> Option<u64> {
        let in_memory = self.ranks.keys().next().copied();
        self.spills
            .iter()
            .filter_map(Spill::first)
            .chain(in_memory)
            .min()
    }

    /// Removes the lowest rank and returns it. `each` is called with the version and the bytes of
    /// each of its pieces.
    pub fn pop_first(
        &mut self,
        mut each: impl FnMut(u32, &[u8]) -> Result<(), Error>,
    ) -> Result<Option<u64>, Error> {
        let Some(rank) = self.first() else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for spill in &mut self.spills {
            while spill.first() == Some(rank) {
                let version = spill.read_piece(&mut bytes)?;
                each(version, &bytes)?;
            }
        }
        let is_read = |spill: &mut Spill| spill.first().is_none();
        for spill in self.spills.extract_if(.., is_read) {
            spill.retire()?;
        }
        if let Some(pieces) = self.ranks.remove(&rank) {
            self.pieces_bytes -= RANK_BYTES + pieces.memory_bytes();
            for piece in pieces.full.into_iter().chain([pieces.last]) {
                each(piece.version, &piece.bytes)?;
            }
        }
        Ok(Some(rank))
    }

    /// Writes everything, and lists the files for a manifest. Only for a queue that is durable.
    pub fn commit(&mut self) -> Result<Vec<SpillEntry>, Error> {
        if let Some(disk) = self.disk.clone() {
            self.spill(&disk)?;
        }
        Ok(self.spills.iter().map(Spill::entry).collect())
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let spills = self.spills.iter().map(Spill::memory_bytes);
        self.pieces_bytes + spills.sum::<u64>()
    }

    /// Number of files.
    pub fn n_files(&self) -> usize {
        self.spills.len()
    }

    /// Writes the pieces in memory if they have passed their limit.
    fn spill_over(&mut self) -> Result<(), Error> {
        match &self.disk {
            Some(disk) if self.pieces_bytes > disk.pieces_limit() => {
                let disk = disk.clone();
                self.spill(&disk)
            }
            _ => Ok(()),
        }
    }

    /// Makes a spill of all pieces in memory. After an error all are still there.
    fn spill(&mut self, disk: &QueueDisk) -> Result<(), Error> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        let spill = Spill::write(disk, |writer| {
            for (&rank, pieces) in &self.ranks {
                for piece in pieces.full.iter().chain([&pieces.last]) {
                    writer.put(rank, piece.version, &piece.bytes)?;
                }
            }
            Ok(())
        })?;
        self.spills.push(spill);
        self.ranks.clear();
        self.pieces_bytes = 0;
        while self.spills.len() as u64 > disk.most_spills() {
            let from = self.cheapest_merge();
            let merged = Spill::merge(disk, &self.spills[from.clone()])?;
            let old: Vec<Spill> = self.spills.splice(from, [merged]).collect();
            old.into_iter().try_for_each(Spill::retire)?;
        }
        Ok(())
    }

    /// The neighbours to merge: those with the fewest bytes for each file that there is less. So
    /// spills of similar size are merged, and no piece is written often.
    fn cheapest_merge(&self) -> std::ops::Range<usize> {
        let cost = |range: &std::ops::Range<usize>| {
            let bytes: u64 = self.spills[range.clone()].iter().map(Spill::n_bytes).sum();
            bytes / (range.len() as u64 - 1)
        };
        let n_spills = self.spills.len();
        let starts = 0..n_spills;
        let ranges = starts.flat_map(|from| (2..=MOST_MERGED).map(move |len| from..from + len));
        let ranges = ranges.filter(|range| range.end <= n_spills);
        ranges.min_by_key(cost).unwrap_or(0..n_spills)
    }
}

impl QueueDisk {
    /// What pieces may take in memory. The blocks of spills have the other half.
    fn pieces_limit(&self) -> u64 {
        (self.memory_bytes / 2).max(MIN_SPILL_BYTES)
    }

    fn most_spills(&self) -> u64 {
        (self.memory_bytes / 2 / BLOCK_BYTES as u64).clamp(FEWEST_SPILLS, MOST_SPILLS)
    }
}

impl Pieces {
    /// Appends a piece; returns by how much memory has grown, in bytes.
    fn push(&mut self, version: u32, bytes: &[u8]) -> u64 {
        let mut grown = 0;
        let Pieces { full, last } = self;
        let is_full = last.bytes.len() + bytes.len() > PIECE_BYTES;
        if !last.bytes.is_empty() && (is_full || last.version != version) {
            let capacity = full.capacity();
            full.push(std::mem::take(last));
            grown += (full.capacity() - capacity) * size_of::<Piece>();
        }
        let before = last.memory_bytes();
        last.version = version;
        last.bytes.extend_from_slice(bytes);
        grown as u64 + last.memory_bytes() - before
    }

    fn memory_bytes(&self) -> u64 {
        let full = self.full.iter().map(Piece::memory_bytes).sum::<u64>();
        (self.full.capacity() * size_of::<Piece>()) as u64 + full + self.last.memory_bytes()
    }
}

impl Piece {
    fn memory_bytes(&self) -> u64 {
        match self.bytes.capacity() {
            0 => 0,
            capacity => (capacity + ALLOCATION_BYTES) as u64,
        }
    }
}
