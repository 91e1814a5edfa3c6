//! Probing one run for candidates, batch after batch.
//!
//! Where candidates are dense, nearly every block of the run is wanted: then the run is *scanned*,
//! from the block of the first candidate on, each block read once and well ahead. Where they are
//! sparse, blocks are *looked up*, those of each batch alone. How a block is then searched depends on
//! its own candidates (see `probe`).

use std::cmp::Ordering;
use std::ops::Range;

use super::damage::Damage;
use super::decode::Progress;
use super::file::{Piece, partition_point};
use super::probe::probe;
use super::range::KeyRange;
use super::{Run, Versioned, wide};
use crate::blocks::want;
use crate::{BlockReader, Error};

/// A run is scanned if there are at least this many candidates for each of its blocks.
const DENSE: u64 = 2;

/// Probes a run for ascending candidates.
pub(crate) struct Finder<'a> {
    run: Versioned<'a>,
    /// The blocks that are scanned; none if they are looked up.
    scanned: Option<Range<u32>>,
    reader: Option<Box<dyn BlockReader + 'a>>,
    requested: Option<Requested>,
}

/// Candidates for which reading has begun.
struct Requested {
    pieces: Vec<Piece>,
    /// The candidates in the layout of the run, and the places of those that it can express.
    recoded: Option<(Vec<u64>, Vec<usize>)>,
}

impl<'a> Finder<'a> {
    /// For about `n_candidates` candidates, all of which are in `range`.
    pub(crate) fn new(run: Versioned<'a>, range: KeyRange<'_>, n_candidates: u64) -> Self {
        let blocks = run.blocks_in(range);
        let is_dense = n_candidates >= DENSE * blocks.len() as u64;
        Finder {
            run,
            scanned: is_dense.then_some(blocks),
            reader: None,
            requested: None,
        }
    }

    /// Whether blocks are scanned, and there are any.
    pub(crate) fn will_scan(&self) -> bool {
        (self.scanned.as_ref()).is_some_and(|blocks| !blocks.is_empty())
    }

    /// Requests the blocks that may have `candidates`, which are behind those before. Returns
    /// whether there are any.
    pub(crate) fn request(&mut self, candidates: &[u64]) -> bool {
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
                let wanted = first.blocks.start..blocks.end.max(first.blocks.end);
                self.reader
                    .get_or_insert_with(|| run.source().read(vec![wanted]));
            }
            None => {
                let mut wanted: Vec<Range<u32>> = Vec::new();
                let blocks = pieces.iter().flat_map(|piece| piece.blocks.clone());
                blocks.for_each(|block| want(&mut wanted, block));
                self.reader = Some(run.source().read(wanted));
            }
        }
        self.requested = Some(Requested { pieces, recoded });
        true
    }

    /// Marks in `present` which of the requested candidates are in the run, if any were. Existing
    /// marks stay. Returns whether there was anything to probe.
    pub(crate) fn probe(
        &mut self,
        candidates: &[u64],
        present: &mut [bool],
    ) -> Result<bool, Error> {
        let (Some(requested), Some(reader)) = (self.requested.take(), &mut self.reader) else {
            return Ok(false);
        };
        let run = self.run.run;
        match requested.recoded {
            None => run.probe_pieces(&requested.pieces, &mut **reader, candidates, present)?,
            Some((keys, places)) => {
                let mut marks = vec![false; places.len()];
                run.probe_pieces(&requested.pieces, &mut **reader, &keys, &mut marks)?;
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
    /// Marks which of `candidates` are in their blocks, which are among those of `reader`.
    fn probe_pieces(
        &self,
        pieces: &[Piece],
        reader: &mut dyn BlockReader,
        candidates: &[u64],
        present: &mut [bool],
    ) -> Result<(), Error> {
        let n_words = self.n_words();
        let mut keys = Vec::new();
        for piece in pieces {
            let start = piece.blocks.start;
            let missing = || Damage("missing").in_block(self.name(), start);
            // The block of the last candidates may have the next ones too.
            while reader.last().is_none_or(|(block, _)| block < start) {
                if reader.next()?.is_none() {
                    return Err(missing());
                }
            }
            let words = piece.candidates.start * n_words..piece.candidates.end * n_words;
            let (mut candidates, mut present) =
                (&candidates[words], &mut present[piece.candidates.clone()]);
            loop {
                let (block, payload) = reader.last().ok_or_else(missing)?;
                if !piece.blocks.contains(&block) {
                    let damage = Damage("another block came instead");
                    return Err(damage.in_block(self.name(), start));
                }
                if !wide::is_wide(n_words) {
                    let view = self.view(block, payload)?;
                    let probed = probe(&view, candidates, present);
                    probed.map_err(|what| what.in_block(self.name(), block))?;
                    break;
                }
                keys.clear();
                self.decode(block, payload, Progress::default(), usize::MAX, &mut keys)?;
                let n_done = wide::mark(n_words, &keys, candidates, present);
                candidates = &candidates[n_done * n_words..];
                present = &mut present[n_done..];
                // Later candidates may fall into this block, so the next is read only if needed.
                if present.is_empty() || block + 1 == piece.blocks.end {
                    break;
                }
                reader.next()?;
            }
        }
        Ok(())
    }
}

impl Versioned<'_> {
    /// The blocks that may have keys in `range`, whose bounds are of the newest layout.
    pub(crate) fn blocks_in(&self, range: KeyRange<'_>) -> Range<u32> {
        let n_fences = self.run.n_fences() as usize;
        // The last block that begins at or before `from` may have it.
        let first = range.from.map_or(0, |from| {
            partition_point(0, n_fences, |fence| {
                self.compare_fence(fence as u32, from) != Ordering::Greater
            })
            .saturating_sub(1)
        });
        let end = range.to.map_or(n_fences, |to| {
            partition_point(first, n_fences, |fence| {
                self.compare_fence(fence as u32, to) == Ordering::Less
            })
        });
        self.run.blocks_of(first..end)
    }

    /// Candidates of the newest layout in that of the run, and the places of those that it can
    /// express; `None` if the run has the newest layout.
    fn recode(&self, candidates: &[u64]) -> Option<(Vec<u64>, Vec<usize>)> {
        let older = self.older?;
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let mut recoded = vec![0; self.run.n_words()];
        for (place, key) in candidates.chunks_exact(older.n_words).enumerate() {
            if older.from_newest.recode(key, &mut recoded) {
                keys.extend_from_slice(&recoded);
                places.push(place);
            }
        }
        Some((keys, places))
    }
}
