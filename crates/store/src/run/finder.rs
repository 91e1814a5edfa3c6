//! Looking for candidates in one run, batch after batch.
//!
//! Where candidates are dense, nearly every block of the run is wanted: then the run is *scanned*,
//! from the block of the first candidate on, each block read once and well ahead. Where they are
//! sparse, blocks are *looked up*, those of each batch alone. How a block is then searched depends on
//! its own candidates (see `probe`).

use std::cmp::Ordering;
use std::ops::Range;

use super::damage::Damage;
use super::file::{Piece, partition_point};
use super::probe::probe;
use super::range::KeyRange;
use super::{MAX_WORDS, Run, Versioned};
use crate::blocks::want;
use crate::{BlockReader, Error};

/// A run is scanned if there are so many candidates for each of its blocks, or more.
const DENSE: u64 = 2;

/// Looks for ascending candidates in a run.
pub(crate) struct Finder<'a> {
    run: Versioned<'a>,
    /// The blocks that are scanned; none if they are looked up.
    scanned: Option<Range<u32>>,
    reader: Option<Box<dyn BlockReader + 'a>>,
    asked: Option<Asked>,
}

/// Candidates for which reading has begun.
struct Asked {
    pieces: Vec<Piece>,
    /// The candidates in the layout of the run, and the places of those that it can express.
    recoded: Option<(Vec<u64>, Vec<usize>)>,
}

impl<'a> Finder<'a> {
    /// Looks for about `n_candidates` candidates, all of which are in `range`.
    pub(crate) fn new(run: Versioned<'a>, range: KeyRange<'_>, n_candidates: u64) -> Self {
        let blocks = run.blocks_in(range);
        let is_dense = n_candidates >= DENSE * blocks.len() as u64;
        Finder {
            run,
            scanned: is_dense.then_some(blocks),
            reader: None,
            asked: None,
        }
    }

    /// Whether blocks are scanned, and there are any.
    pub(crate) fn will_scan(&self) -> bool {
        (self.scanned.as_ref()).is_some_and(|blocks| !blocks.is_empty())
    }

    /// Begins to read the blocks into which `candidates` fall, which are behind those before.
    /// Whether there are any.
    pub(crate) fn ask(&mut self, candidates: &[u64]) -> bool {
        let run: &'a Run = self.run.run;
        let recoded = self.run.recode(candidates);
        let keys = recoded.as_ref().map_or(candidates, |(keys, _)| keys);
        let pieces = run.pieces(keys);
        let Some(first) = pieces.first() else {
            // If the run ends before them, it is not needed again.
            let is_over = (run.last_key()).is_none_or(|last| keys.get(..last.len()) > Some(last));
            if is_over && !keys.is_empty() {
                self.reader = None;
            }
            return false;
        };
        match &self.scanned {
            Some(blocks) => {
                let wanted = first.block..blocks.end.max(first.block + 1);
                self.reader
                    .get_or_insert_with(|| run.source().read(vec![wanted]));
            }
            None => {
                let mut wanted: Vec<Range<u32>> = Vec::new();
                pieces
                    .iter()
                    .for_each(|piece| want(&mut wanted, piece.block));
                self.reader = Some(run.source().read(wanted));
            }
        }
        self.asked = Some(Asked { pieces, recoded });
        true
    }

    /// Marks in `present` which of the candidates that were asked for are in the run, if any were.
    /// What is marked already stays so. Whether there was anything to look for.
    pub(crate) fn probe(
        &mut self,
        candidates: &[u64],
        present: &mut [bool],
    ) -> Result<bool, Error> {
        let (Some(asked), Some(reader)) = (self.asked.take(), &mut self.reader) else {
            return Ok(false);
        };
        let run = self.run.run;
        match asked.recoded {
            None => run.probe_pieces(&asked.pieces, &mut **reader, candidates, present)?,
            Some((keys, places)) => {
                let mut marks = vec![false; places.len()];
                run.probe_pieces(&asked.pieces, &mut **reader, &keys, &mut marks)?;
                for (place, mark) in places.into_iter().zip(marks) {
                    present[place] |= mark;
                }
            }
        }
        if self.scanned.is_none() {
            self.reader = None;
        }
        Ok(true)
    }
}

impl Run {
    /// Marks which of `candidates` are in their blocks, which `reader` gives among others.
    fn probe_pieces(
        &self,
        pieces: &[Piece],
        reader: &mut dyn BlockReader,
        candidates: &[u64],
        present: &mut [bool],
    ) -> Result<(), Error> {
        for piece in pieces {
            let damage = |what: Damage| what.in_block(self.name(), piece.block);
            // The block of the last candidates may have the next ones too.
            while reader.last().is_none_or(|(block, _)| block < piece.block) {
                if reader.next()?.is_none() {
                    return Err(damage(Damage("missing")));
                }
            }
            let Some((block, payload)) = reader.last() else {
                return Err(damage(Damage("missing")));
            };
            let view = self.view(block, payload)?;
            if block != piece.block {
                return Err(damage(Damage("another block came instead")));
            }
            let n_words = self.n_words();
            let words = piece.candidates.start * n_words..piece.candidates.end * n_words;
            let present = &mut present[piece.candidates.clone()];
            probe(&view, &candidates[words], present).map_err(damage)?;
        }
        Ok(())
    }
}

impl Versioned<'_> {
    /// The blocks that may have keys in `range`, whose bounds are of the newest layout.
    pub(crate) fn blocks_in(&self, range: KeyRange<'_>) -> Range<u32> {
        let n_blocks = self.run.n_data_blocks() as usize;
        // The last block that begins at or before `from` may have it.
        let first = range.from.map_or(0, |from| {
            partition_point(0, n_blocks, |block| {
                self.compare_fence(block as u32, from) != Ordering::Greater
            })
            .saturating_sub(1)
        });
        let end = range.to.map_or(n_blocks, |to| {
            partition_point(first, n_blocks, |block| {
                self.compare_fence(block as u32, to) == Ordering::Less
            })
        });
        first as u32..end as u32
    }

    /// Candidates of the newest layout in that of the run, and the places of those that it can
    /// express; `None` if the run has the newest layout.
    fn recode(&self, candidates: &[u64]) -> Option<(Vec<u64>, Vec<usize>)> {
        let older = self.older?;
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let mut recoded = [0; MAX_WORDS];
        let recoded = &mut recoded[..self.run.n_words()];
        for (place, key) in candidates.chunks_exact(older.n_words).enumerate() {
            if older.from_newest.recode(key, recoded) {
                keys.extend_from_slice(recoded);
                places.push(place);
            }
        }
        Some((keys, places))
    }
}
