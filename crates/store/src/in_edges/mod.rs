//! Edges of a graph by target, on disk: for each target its sources, to be followed backwards.
//!
//! Edges are written in *sequences*, in each of which targets ascend; several threads write files of
//! their own, and a target may be in several sequences. Blocks stand alone, and the first target of
//! each is in memory, so the edges into one target are read without those into others.
//!
//! An edge may have a label, a number that whoever wrote it understands. Targets and sources are
//! numbers too: nothing here knows what a state is.

mod block;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::disk::{BlockFile, BlockWriter, Folder, Kind};
use crate::{BlockSink, BlockSource, Error};

use block::BlockBuilder;
pub use block::InEdgeBlock;

/// An edge from the point of view of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InEdge {
    /// Where it comes from.
    pub source: u64,
    /// What the writer notes beside it.
    pub label: u64,
}

/// Writes a file of edges, one sequence after the other.
pub struct InEdgeWriter {
    sink: BlockWriter,
    block: BlockBuilder,
    sequences: Vec<Sequence>,
    is_durable: bool,
}

/// Blocks in which targets ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sequence {
    first_block: u32,
    /// The first target of each block.
    firsts: Vec<u64>,
    /// The last target of the last block.
    last: u64,
}

impl InEdgeWriter {
    /// A new file. If it is durable, a manifest may list it.
    pub fn create(folder: &Folder, is_durable: bool) -> Result<Self, Error> {
        let sink = match is_durable {
            true => BlockWriter::create(folder, Kind::InEdges)?,
            false => BlockWriter::create_scratch(folder, Kind::InEdges)?,
        };
        Ok(InEdgeWriter {
            sink,
            block: BlockBuilder::default(),
            sequences: Vec::new(),
            is_durable,
        })
    }

    /// Starts a sequence: the next target may be less than the one before.
    pub fn begin_sequence(&mut self) -> Result<(), Error> {
        self.end_block()?;
        if self
            .sequences
            .last()
            .is_none_or(|last| !last.firsts.is_empty())
        {
            self.sequences.push(Sequence {
                first_block: self.sink.n_blocks(),
                ..Sequence::default()
            });
        }
        Ok(())
    }

    /// Appends edges into `target`, which must not be less than the one before in the sequence.
    pub fn push(&mut self, target: u64, edges: &[InEdge]) -> Result<(), Error> {
        let mut left = edges;
        while !left.is_empty() {
            let n = self.block.append(target, left);
            left = &left[n..];
            if n == 0 {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), Error> {
        let Some((first, last)) = self.block.range() else {
            return Ok(());
        };
        if self.sequences.is_empty() {
            self.sequences.push(Sequence::default());
        }
        if let Some(sequence) = self.sequences.last_mut() {
            assert!(
                sequence.firsts.is_empty() || sequence.last <= first,
                "targets of a sequence ascend"
            );
            sequence.firsts.push(first);
            sequence.last = last;
        }
        let sink = &mut self.sink;
        self.block.finish(|payload| sink.put(payload))
    }

    /// Finishes the file.
    pub fn finish(mut self) -> Result<InEdges, Error> {
        self.end_block()?;
        if self.is_durable {
            self.sink.sync()?;
        }
        self.sequences
            .retain(|sequence| !sequence.firsts.is_empty());
        Ok(InEdges {
            file: self.sink.finish()?,
            sequences: self.sequences,
        })
    }
}

/// A file of edges as a manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InEdgesEntry {
    /// Name of the file.
    pub name: String,
    /// Blocks in it.
    pub n_blocks: u32,
}

/// A file of edges. One that no manifest lists is deleted when it is dropped.
pub struct InEdges {
    file: BlockFile,
    sequences: Vec<Sequence>,
}

/// A block, by the number of its sequence and its place there.
pub type BlockPlace = (usize, usize);

impl InEdges {
    /// Opens a file that a manifest lists, and reads all of it to learn where targets are.
    pub fn open(folder: &Folder, entry: &InEdgesEntry) -> Result<Self, Error> {
        let file = BlockFile::open(folder, &entry.name, Kind::InEdges, entry.n_blocks)?;
        let mut sequences: Vec<Sequence> = Vec::new();
        let mut reader = file.read(std::iter::once(0..entry.n_blocks).collect());
        while let Some((number, payload)) = reader.next()? {
            let block = InEdgeBlock::read(payload);
            let range = block.as_ref().and_then(InEdgeBlock::range);
            let (first, last) = range.ok_or_else(|| damaged(&file, number))?;
            match sequences.last_mut() {
                Some(sequence) if sequence.last <= first => {
                    sequence.firsts.push(first);
                    sequence.last = last;
                }
                _ => sequences.push(Sequence {
                    first_block: number,
                    firsts: vec![first],
                    last,
                }),
            }
        }
        drop(reader);
        Ok(InEdges { file, sequences })
    }

    /// How a manifest lists it.
    pub fn entry(&self) -> InEdgesEntry {
        InEdgesEntry {
            name: self.file.name().to_owned(),
            n_blocks: self.file.n_blocks(),
        }
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = |it: &Sequence| (8 * it.firsts.capacity() + size_of::<Sequence>()) as u64;
        self.sequences.iter().map(bytes).sum()
    }

    /// Number of sequences.
    pub fn n_sequences(&self) -> usize {
        self.sequences.len()
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> u32 {
        self.file.n_blocks()
    }

    /// The first target of a sequence and the last one.
    pub fn targets(&self, sequence: usize) -> (u64, u64) {
        let sequence = &self.sequences[sequence];
        (sequence.firsts[0], sequence.last)
    }

    /// The blocks of a sequence that may have edges into `target`.
    pub fn blocks_of(&self, sequence: usize, target: u64) -> Range<usize> {
        let Sequence { firsts, last, .. } = &self.sequences[sequence];
        if target > *last {
            return 0..0;
        }
        // The block before the first one that begins at the target may end with it.
        let from = firsts.partition_point(|&first| first < target);
        let to = firsts.partition_point(|&first| first <= target);
        from.saturating_sub(1)..to
    }

    /// The targets that a block may have: the first one, and one that is not less than the last.
    /// `None` behind the last block.
    pub fn targets_of_block(&self, (sequence, block): BlockPlace) -> Option<(u64, u64)> {
        let Sequence { firsts, last, .. } = &self.sequences[sequence];
        let first = firsts.get(block)?;
        Some((*first, *firsts.get(block + 1).unwrap_or(last)))
    }

    /// Reads blocks of a sequence, which are ascending, together; calls `each` with the place of each.
    pub fn read(
        &self,
        sequence: usize,
        blocks: &[usize],
        each: &mut dyn FnMut(usize, InEdgeBlock),
    ) -> Result<(), Error> {
        let Sequence {
            first_block,
            firsts,
            last,
        } = &self.sequences[sequence];
        let mut wanted: Vec<Range<u32>> = Vec::new();
        for &block in blocks {
            let number = first_block + block as u32;
            match wanted.last_mut() {
                Some(range) if range.end == number => range.end += 1,
                _ => wanted.push(number..number + 1),
            }
        }
        let mut reader = self.file.read(wanted);
        for &place in blocks {
            let found = reader.next()?;
            let (number, payload) = found.ok_or_else(|| damaged(&self.file, 0))?;
            let block = InEdgeBlock::read(payload);
            let range = block.as_ref().and_then(InEdgeBlock::range);
            let most = firsts.get(place + 1).unwrap_or(last);
            match (block, range) {
                (Some(block), Some((first, end))) if first == firsts[place] && end <= *most => {
                    each(place, block);
                }
                _ => return Err(damaged(&self.file, number)),
            }
        }
        Ok(())
    }

    /// Deletes the file once no manifest lists it.
    pub fn retire(self, folder: &Folder) -> Result<(), Error> {
        folder.retire(self.file.name())
    }
}

impl Drop for InEdges {
    fn drop(&mut self) {
        self.file.abandon();
    }
}

/// The error for a block that is not what was written.
fn damaged(file: &BlockFile, block: u32) -> Error {
    Error::Damaged {
        file: file.name().to_owned(),
        offset: u64::from(block),
        what: "a block does not hold the expected edges".to_owned(),
    }
}
