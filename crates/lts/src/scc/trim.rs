//! States that are on no cycle, found by reading the file from end to end.
//!
//! A state all of whose successors are closed is a component of its own. Sweeps over the file, down
//! and up, find nearly all of them where there are few cycles, and leave little for the depth-first
//! search, which reads in an order that no cache is good at.

use std::ops::Range;

use super::{Components, Search};
use crate::resources::Resources;
use crate::word::Word;
use crate::{Error, Hlts};

/// States whose edges are in memory at once.
const CHUNK: u64 = 1 << 12;

/// Divisor: a pair of sweeps that closes less than this part of the states left is the last one.
const LEAST_GAIN: u64 = 8;

/// Closes states whose successors are closed, until that gains little.
pub(super) fn trim<W: Word>(
    graph: &Hlts,
    keep: impl Fn(u32) -> bool,
    (search, found): (&mut Search<W>, &mut Components<W>),
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let n_states = graph.counts().n_states;
    let mut chunk = Chunk::default();
    loop {
        let before = n_states - found.height.len() as u64;
        let n_chunks = n_states.div_ceil(CHUNK);
        let range = |number: u64| number * CHUNK..n_states.min((number + 1) * CHUNK);
        for number in (0..n_chunks).rev() {
            chunk.read(graph, range(number), &keep, resources)?;
            for position in (0..chunk.ends.len()).rev() {
                chunk.close(position, search, found);
            }
        }
        for number in 0..n_chunks {
            chunk.read(graph, range(number), &keep, resources)?;
            for position in 0..chunk.ends.len() {
                chunk.close(position, search, found);
            }
        }
        let left = n_states - found.height.len() as u64;
        if before - left <= before / LEAST_GAIN {
            return Ok(());
        }
    }
}

/// The successors of consecutive states.
#[derive(Default)]
struct Chunk {
    first: u64,
    targets: Vec<u64>,
    /// By state, where its successors end.
    ends: Vec<usize>,
}

impl Chunk {
    fn read(
        &mut self,
        graph: &Hlts,
        range: Range<u64>,
        keep: impl Fn(u32) -> bool,
        resources: &Resources<'_>,
    ) -> Result<(), Error> {
        self.first = range.start;
        self.targets.clear();
        self.ends.clear();
        let n = (range.end - range.start) as usize;
        graph.scan(range, resources, |source, edges| {
            let position = (source - self.first) as usize;
            self.ends.resize(position, self.targets.len());
            let kept = edges.labels.iter().zip(edges.targets);
            let kept = kept.filter(|(label, _)| keep(**label));
            self.targets.extend(kept.map(|(_, target)| *target));
            self.ends.push(self.targets.len());
            Ok(())
        })?;
        self.ends.resize(n, self.targets.len());
        Ok(())
    }

    /// Closes a state if all of its successors are closed.
    fn close<W: Word>(&self, position: usize, search: &mut Search<W>, found: &mut Components<W>) {
        let state = self.first as usize + position;
        if found.of[state] != W::MAX {
            return;
        }
        let begin = match position {
            0 => 0,
            _ => self.ends[position - 1],
        };
        let mut height = 0;
        for &target in &self.targets[begin..self.ends[position]] {
            let component = found.of[target as usize];
            if component == W::MAX {
                return;
            }
            let above = found.height[component.at()].saturating_add(1);
            height = height.max(above.min(super::MOST_HEIGHT));
        }
        found.of[state] = W::new(found.height.len() as u64);
        found.height.push(height);
        found.largest = found.largest.max(1);
        // The depth-first search does not enter it.
        search.order[state] = W::new(0);
    }
}
