//! Edges brought into the order of their targets, and followed back for the first time on the way.
//!
//! Edges come in ranges of targets. Ranges are taken in descending order, each by one thread, and in a
//! range targets descend too: so in one pass what is reached through forward edges is known all along
//! them. An edge whose source reaches everything by then, or whose target has nothing more to tell, is
//! not written.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use hadal_store::in_edges::{InEdge, InEdgeWriter, InEdges};
use hadal_store::partition::ByRange;
use hadal_store::{Error as StoreError, in_parallel};

use super::follow::Carrier;
use super::stretches::Stretches;
use crate::Error;

/// Threads and memory of sorting.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortLimits {
    pub(super) n_threads: usize,
    /// What each thread may hold, in bytes.
    pub(super) thread_bytes: u64,
}

/// Memory for an edge: as it is read, and its place and source in order.
const EDGE_BYTES: u64 = 16 + 16;
/// Memory for a target of a range: where its edges begin.
const TARGET_BYTES: u64 = 4;

/// About how many ranges edges should be partitioned into, so that threads can sort them at once.
pub(super) fn n_ranges(n_edges: u64, n_states: u64, limits: SortLimits) -> u64 {
    let all = n_edges.saturating_mul(EDGE_BYTES) + n_states.saturating_mul(TARGET_BYTES);
    // Not all ranges have as many edges.
    let bytes = (limits.thread_bytes / 2).max(1);
    all.div_ceil(bytes).max(1)
}

/// An edge as it is partitioned: the target, counted from the first state, and the source with its label.
pub(super) fn unpack([target, packed]: [u64; 2], source_bits: u32) -> (u64, InEdge) {
    let edge = InEdge {
        source: packed & (u64::MAX >> (64 - source_bits)),
        // In two steps, for there is no shift by 64.
        label: packed >> (source_bits - 1) >> 1,
    };
    (target, edge)
}

/// The reverse of [`unpack`], of the source.
pub(super) fn pack(edge: InEdge, source_bits: u32) -> u64 {
    edge.label << (source_bits - 1) << 1 | edge.source
}

/// Writes the edges in the order of their targets. Where all states are in memory, what their targets
/// reach is carried to sources at once. Where `is_stopped`, files are incomplete.
pub(super) fn sort_edges(
    by_range: &ByRange,
    source_bits: u32,
    stretches: &Stretches<'_>,
    carrier: &Carrier<'_>,
    limits: SortLimits,
) -> Result<Vec<InEdges>, Error> {
    let sorting = Sorting {
        by_range,
        source_bits,
        stretches,
        carrier,
        is_resident: stretches.len() == 1,
        next: AtomicUsize::new(by_range.n_ranges()),
        taken_from: AtomicU64::new(u64::MAX),
        most_edges: (limits.thread_bytes / 2 / EDGE_BYTES).max(1) as usize,
    };
    let n_threads = limits.n_threads.max(1);
    let files = in_parallel(n_threads, n_threads, |_| {
        // A run that is resumed sorts again.
        let mut writer = InEdgeWriter::create(carrier.folder, false)?;
        sorting.take_ranges(&mut writer)?;
        writer.finish()
    })?;
    Ok(files)
}

struct Sorting<'a> {
    by_range: &'a ByRange,
    source_bits: u32,
    stretches: &'a Stretches<'a>,
    carrier: &'a Carrier<'a>,
    /// Whether all states are in memory.
    is_resident: bool,
    /// Ranges before this one are not taken yet.
    next: AtomicUsize,
    /// States from here on may have been looked at.
    taken_from: AtomicU64,
    most_edges: usize,
}

/// Edges of a range in the order of their targets.
#[derive(Default)]
struct Sorted {
    pairs: Vec<[u64; 2]>,
    /// Where the edges of each target begin, and the end.
    starts: Vec<u32>,
    edges: Vec<InEdge>,
}

impl Sorting<'_> {
    fn take_ranges(&self, writer: &mut InEdgeWriter) -> Result<(), StoreError> {
        let mut sorted = Sorted::default();
        while let Ok(after) = self
            .next
            .fetch_update(SeqCst, SeqCst, |next| next.checked_sub(1))
        {
            let range = after - 1;
            // Before anything of the range is read.
            (self.taken_from).fetch_min(self.by_range.range(range).start, SeqCst);
            sorted.pairs.clear();
            self.by_range.read(range, &mut |pairs| {
                let mut pairs = pairs;
                while !pairs.is_empty() {
                    let room = self.most_edges - sorted.pairs.len();
                    let (some, rest) = pairs.split_at(pairs.len().min(room));
                    sorted.pairs.extend_from_slice(some);
                    pairs = rest;
                    if sorted.pairs.len() == self.most_edges {
                        self.write(&mut sorted, range, writer)?;
                    }
                }
                Ok(())
            })?;
            self.write(&mut sorted, range, writer)?;
            (self.carrier.gauge).note_worked(self.by_range.n_in(range));
            if self.carrier.stop.is_raised() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sorts and follows edges of a range, and writes those that may still be needed.
    fn write(
        &self,
        sorted: &mut Sorted,
        range: usize,
        writer: &mut InEdgeWriter,
    ) -> Result<(), StoreError> {
        if sorted.pairs.is_empty() || self.carrier.stop.is_raised() {
            sorted.pairs.clear();
            return Ok(());
        }
        let is_whole = sorted.pairs.len() as u64 == self.by_range.n_in(range);
        let range = self.by_range.range(range);
        sorted.sort(
            range.start,
            (range.end - range.start) as usize,
            self.source_bits,
        );
        let base = self.stretches.states().start;
        let reached = self.stretches.reached();
        if self.is_resident {
            let mut row = Vec::new();
            for at in (0..sorted.starts.len() - 1).rev() {
                let edges = sorted.starts[at] as usize..sorted.starts[at + 1] as usize;
                let target = range.start as usize + at;
                if edges.is_empty() || !reached.row(target, &mut row) {
                    continue;
                }
                let is_last = reached.is_full(target);
                for edge in &mut sorted.edges[edges] {
                    let source = edge.source as usize;
                    let learns = self.carrier.carry(reached, &row, source, edge.label)?;
                    // States that are still to come are looked at in any case.
                    let is_next = is_whole && range.contains(&edge.source) && source < target;
                    if learns && !is_next && edge.source >= self.taken_from.load(SeqCst) {
                        self.stretches.fresh().insert(source);
                    }
                    if is_last {
                        edge.source = u64::MAX;
                    }
                }
            }
        }
        writer.begin_sequence()?;
        let mut kept: Vec<InEdge> = Vec::new();
        for at in 0..sorted.starts.len() - 1 {
            let edges = sorted.starts[at] as usize..sorted.starts[at + 1] as usize;
            if edges.is_empty() {
                continue;
            }
            kept.clear();
            let is_open = |edge: &&InEdge| {
                !self.is_resident
                    || (edge.source != u64::MAX && !reached.is_full(edge.source as usize))
            };
            let open = sorted.edges[edges].iter().filter(is_open);
            kept.extend(open.map(|edge| InEdge {
                source: base + edge.source,
                label: edge.label,
            }));
            kept.sort_unstable();
            writer.push(base + range.start + at as u64, &kept)?;
        }
        sorted.pairs.clear();
        Ok(())
    }
}

impl Sorted {
    /// Brings the pairs, whose first numbers lie in the `len` from `first` on, into the order of these.
    fn sort(&mut self, first: u64, len: usize, source_bits: u32) {
        self.starts.clear();
        self.starts.resize(len + 1, 0);
        for [target, _] in &self.pairs {
            self.starts[(target - first) as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        let none = InEdge {
            source: 0,
            label: 0,
        };
        self.edges.clear();
        self.edges.resize(self.pairs.len(), none);
        // Each target's edges are filled in from their end, where they begin in the end.
        for &pair in &self.pairs {
            let (target, edge) = unpack(pair, source_bits);
            let start = &mut self.starts[(target - first) as usize];
            *start -= 1;
            self.edges[*start as usize] = edge;
        }
    }
}
