//! Sorts edges by source in bounded memory: sorted runs in a scratch file, then a merge.
//!
//! Edges of `.aut` files come in any order, and those of a graph whose states get other numbers as
//! well. Input that is sorted already becomes a single run, however long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;

use crate::resources::Resources;
use crate::{Edge, Error};

/// How edges of one source are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// As they came.
    Arrival,
    /// By label and target, equal ones once. Multiplicities are lost.
    LabelAndTarget,
    /// By label and target, all of them: equal ones as they came, with their multiplicities.
    All,
}

/// Collects edges and returns them sorted.
pub(crate) struct EdgeSorter<'a> {
    resources: &'a Resources<'a>,
    within: Within,
    /// Most edges in memory.
    capacity: usize,
    buffer: Vec<Edge>,
    /// Where each run ends, in edges, and the greatest source of the last one.
    runs: Vec<u64>,
    n_spilled: u64,
    last: Edge,
    spill: Option<BufWriter<File>>,
}

const RECORD_LEN: usize = 28;

/// Each run that is merged has a buffer, of this size where there are few of them.
const MERGE_BUFFER: usize = 256 << 10;

/// The least buffer of a run.
const LEAST_MERGE_BUFFER: usize = 4 << 10;

type Key = (u64, u32, u64);

impl Within {
    fn key(self, edge: &Edge) -> Key {
        match self {
            Within::Arrival => (edge.source, 0, 0),
            Within::LabelAndTarget | Within::All => (edge.source, edge.label, edge.target),
        }
    }
}

impl<'a> EdgeSorter<'a> {
    pub(crate) fn new(within: Within, resources: &'a Resources<'a>) -> Self {
        Self::one_of(1, within, resources)
    }

    /// One of `n` that collect edges at the same time and share the memory of one.
    pub(crate) fn one_of(n: u64, within: Within, resources: &'a Resources<'a>) -> Self {
        let capacity = resources.memory_bytes / 4 / n / size_of::<Edge>() as u64;
        Self::with_capacity(within, capacity.clamp(1 << 10, 1 << 26) as usize, resources)
    }

    pub(crate) fn with_capacity(
        within: Within,
        capacity: usize,
        resources: &'a Resources<'a>,
    ) -> Self {
        EdgeSorter {
            resources,
            within,
            capacity,
            buffer: Vec::new(),
            runs: Vec::new(),
            n_spilled: 0,
            last: Edge::new(0, 0, 0),
            spill: None,
        }
    }

    pub(crate) fn push(&mut self, edge: Edge) -> Result<(), Error> {
        if self.buffer.len() == self.capacity {
            self.write_run()?;
        }
        self.buffer.push(edge);
        Ok(())
    }

    fn sort_buffer(&mut self) {
        let within = self.within;
        if !self.buffer.is_sorted_by_key(|edge| within.key(edge)) {
            // Stable, for the order of arrival.
            self.buffer.sort_by_key(|edge| within.key(edge));
        }
        if within == Within::LabelAndTarget {
            self.buffer.dedup_by_key(|edge| within.key(edge));
        }
    }

    fn write_run(&mut self) -> Result<(), Error> {
        self.resources.poll()?;
        self.sort_buffer();
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => {
                let file = tempfile::tempfile_in(&self.resources.scratch)?;
                none.insert(BufWriter::with_capacity(MERGE_BUFFER, file))
            }
        };
        let (Some(first), Some(&last)) = (self.buffer.first(), self.buffer.last()) else {
            return Ok(());
        };
        let continues = self.within.key(&self.last) <= self.within.key(first);
        if !continues || self.runs.is_empty() {
            self.runs.push(self.n_spilled);
        }
        for edge in &self.buffer {
            spill.write_all(&record(edge))?;
        }
        self.n_spilled += self.buffer.len() as u64;
        if let Some(end) = self.runs.last_mut() {
            *end = self.n_spilled;
        }
        self.last = last;
        self.buffer.clear();
        Ok(())
    }

    /// Passes the edges to `f` in order.
    pub(crate) fn finish(
        mut self,
        mut f: impl FnMut(Edge) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.spill.is_none() {
            self.sort_buffer();
            return self.buffer.into_iter().try_for_each(f);
        }
        self.write_run()?;
        self.buffer = Vec::new();
        let Some(spill) = self.spill else {
            return Ok(());
        };
        let file = spill.into_inner().map_err(io::IntoInnerError::into_error)?;
        let share = self.resources.memory_bytes / 4 / self.runs.len().max(1) as u64;
        let buffer = (share as usize).clamp(LEAST_MERGE_BUFFER, MERGE_BUFFER);
        let mut runs = Vec::with_capacity(self.runs.len());
        let mut begin = 0;
        for &end in &self.runs {
            runs.push(RunReader::new(&file, begin..end, buffer));
            begin = end;
        }
        // Of equal keys the earlier run is first, so that the order of arrival is kept.
        let mut heap = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            if let Some(edge) = run.next()? {
                heap.push(Reverse((self.within.key(&edge), number)));
            }
        }
        let mut previous = None;
        while let Some(mut least) = heap.peek_mut() {
            let Reverse((key, number)) = *least;
            let run = &mut runs[number];
            if let Some(edge) = run.current
                && (self.within != Within::LabelAndTarget || previous != Some(key))
            {
                f(edge)?;
            }
            previous = Some(key);
            // In its place, which takes half the comparisons of taking it out and putting it in.
            match run.next()? {
                Some(next) => *least = Reverse((self.within.key(&next), number)),
                None => drop(PeekMut::pop(least)),
            }
        }
        Ok(())
    }
}

fn record(edge: &Edge) -> [u8; RECORD_LEN] {
    let mut bytes = [0; RECORD_LEN];
    bytes[..8].copy_from_slice(&edge.source.to_le_bytes());
    bytes[8..16].copy_from_slice(&edge.target.to_le_bytes());
    bytes[16..24].copy_from_slice(&edge.multiplicity.to_le_bytes());
    bytes[24..].copy_from_slice(&edge.label.to_le_bytes());
    bytes
}

/// Reads a run of the scratch file.
struct RunReader<'f> {
    input: BufReader<SharedFile<'f>>,
    left: u64,
    current: Option<Edge>,
}

impl<'f> RunReader<'f> {
    fn new(file: &'f File, edges: Range<u64>, buffer: usize) -> Self {
        let file = SharedFile {
            file,
            at: edges.start * RECORD_LEN as u64,
        };
        RunReader {
            input: BufReader::with_capacity(buffer, file),
            left: edges.end - edges.start,
            current: None,
        }
    }

    fn next(&mut self) -> io::Result<Option<Edge>> {
        self.current = None;
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut bytes = [0; RECORD_LEN];
        self.input.read_exact(&mut bytes)?;
        let word = |at: usize| {
            let mut own = [0; 8];
            own.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(own)
        };
        let mut label = [0; 4];
        label.copy_from_slice(&bytes[24..]);
        self.current = Some(Edge {
            source: word(0),
            target: word(8),
            multiplicity: word(16),
            label: u32::from_le_bytes(label),
        });
        Ok(self.current)
    }
}

/// A reader with a position of its own in a file that others read as well.
struct SharedFile<'f> {
    file: &'f File,
    at: u64,
}

impl Read for SharedFile<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = std::os::unix::fs::FileExt::read_at(self.file, bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use hadal_model::Stop;

    use super::*;

    #[test]
    fn runs_are_merged_in_the_order_of_arrival() {
        let stop = Stop::new();
        let resources = Resources::new(&stop);
        for capacity in [1, 2, 3, 7, 1000] {
            let mut sorter = EdgeSorter::with_capacity(Within::Arrival, capacity, &resources);
            let edges: Vec<Edge> = (0..100).map(|n| Edge::new(n * 37 % 11, 0, n)).collect();
            for &edge in &edges {
                sorter.push(edge).expect("there is room");
            }
            let mut expected = edges.clone();
            expected.sort_by_key(|edge| edge.source);
            let mut sorted = Vec::new();
            sorter
                .finish(|edge| {
                    sorted.push(edge);
                    Ok(())
                })
                .expect("the scratch file can be read");
            assert_eq!(sorted, expected, "{capacity}");
        }
    }

    #[test]
    fn equal_edges_of_different_runs_are_one() {
        let stop = Stop::new();
        let resources = Resources::new(&stop);
        for capacity in [1, 3, 100] {
            let mut sorter =
                EdgeSorter::with_capacity(Within::LabelAndTarget, capacity, &resources);
            for n in [5, 1, 5, 2, 1, 5, 5, 1] {
                sorter.push(Edge::new(n, 0, n)).expect("there is room");
            }
            let mut sources = Vec::new();
            sorter
                .finish(|edge| {
                    sources.push(edge.source);
                    Ok(())
                })
                .expect("the scratch file can be read");
            assert_eq!(sources, [1, 2, 5], "{capacity}");
        }
    }
}
