//! A block of edges by target.
//!
//! ```text
//! offset  bytes  what (numbers are little-endian)
//! 0       1      1: version of this layout
//! 1       7      zero
//! 8       8      first target
//! 16             groups
//! ```
//!
//! A *group* is a target with some of its edges: the distance of the target from that of the group
//! before, the first from the first target; the number of edges, times 2, plus 1 if some label is not 0;
//! for each edge the distance of its source from the source before, the first from the target; and then,
//! if some label is not 0, each label. All are varints; the distance d of a source is 2 d where it is not
//! less than what it is counted from, else 2 d - 1, modulo 2^64.

use std::ops::Range;

use super::InEdge;
use crate::BLOCK_BYTES;
use crate::varint::{read_varint, write_varint};

/// Version of the layout above.
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 16;
/// The longest varint.
const VARINT_BYTES: usize = 10;
/// Edges that are encoded at once: a group of this many always fits an empty block.
const MOST_EDGES: usize = 1 << 10;
const _: () = assert!(HEADER_BYTES + VARINT_BYTES * 2 * (MOST_EDGES + 1) <= BLOCK_BYTES);

/// The distance of a number from another, small where they are close.
fn distance(value: u64, before: u64) -> u64 {
    let distance = value.wrapping_sub(before);
    distance << 1 ^ ((distance as i64) >> 63) as u64
}

/// The reverse of [`distance`].
fn value_at(distance: u64, before: u64) -> u64 {
    let sign = (distance & 1).wrapping_neg();
    before.wrapping_add(distance >> 1 ^ sign)
}

/// A block under construction.
#[derive(Default)]
pub(super) struct BlockBuilder {
    payload: Vec<u8>,
    first: u64,
    last: u64,
    /// Scratch for a group without its target.
    group: Vec<u8>,
}

impl BlockBuilder {
    /// The first target and the last one; `None` if the block is empty.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        (!self.payload.is_empty()).then_some((self.first, self.last))
    }

    /// Appends some of the edges into `target`; returns how many, 0 if the block is full.
    pub(super) fn append(&mut self, target: u64, edges: &[InEdge]) -> usize {
        let edges = &edges[..edges.len().min(MOST_EDGES)];
        let has_labels = edges.iter().any(|edge| edge.label != 0);
        self.group.clear();
        write_varint(
            &mut self.group,
            (edges.len() as u64) << 1 | u64::from(has_labels),
        );
        let mut before = target;
        for edge in edges {
            write_varint(&mut self.group, distance(edge.source, before));
            before = edge.source;
        }
        if has_labels {
            for edge in edges {
                write_varint(&mut self.group, edge.label);
            }
        }
        if self.payload.is_empty() {
            self.payload.resize(HEADER_BYTES, 0);
            self.payload[0] = VERSION;
            self.payload[8..16].copy_from_slice(&target.to_le_bytes());
            (self.first, self.last) = (target, target);
        }
        if self.payload.len() + VARINT_BYTES + self.group.len() > BLOCK_BYTES {
            return 0;
        }
        write_varint(&mut self.payload, target - self.last);
        self.payload.extend_from_slice(&self.group);
        self.last = target;
        edges.len()
    }

    /// The block, which is then empty; `take` gets its bytes.
    pub(super) fn finish<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> T {
        let taken = take(&self.payload);
        self.payload.clear();
        taken
    }
}

/// A block as it was read, every group of which is whole.
#[derive(Debug)]
pub struct InEdgeBlock {
    payload: Box<[u8]>,
    /// The target of each group, ascending.
    targets: Vec<u64>,
    /// Where the edges of each group begin in the payload.
    starts: Vec<u32>,
}

impl InEdgeBlock {
    /// Reads a block; `None` if it is none.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let (header, mut left) = payload.split_first_chunk::<HEADER_BYTES>()?;
        if header[0] != VERSION || header[1..8].iter().any(|&byte| byte != 0) {
            return None;
        }
        let first = header.last_chunk::<8>()?;
        let mut target = u64::from_le_bytes(*first);
        let (mut targets, mut starts) = (Vec::new(), Vec::new());
        while !left.is_empty() {
            target = target.checked_add(read_varint(&mut left)?)?;
            targets.push(target);
            starts.push((payload.len() - left.len()) as u32);
            let count = read_varint(&mut left)?;
            let n_edges = count >> 1;
            if n_edges == 0 || n_edges > MOST_EDGES as u64 {
                return None;
            }
            let n_numbers = n_edges << (count & 1);
            for _ in 0..n_numbers {
                skip_varint(&mut left)?;
            }
        }
        Some(InEdgeBlock {
            payload: payload.into(),
            targets,
            starts,
        })
    }

    /// The first target and the last one; `None` if there is none.
    pub fn range(&self) -> Option<(u64, u64)> {
        Some((*self.targets.first()?, *self.targets.last()?))
    }

    /// Number of groups.
    pub fn n_groups(&self) -> usize {
        self.targets.len()
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let groups = 8 * self.targets.capacity() + 4 * self.starts.capacity();
        (self.payload.len() + groups + size_of::<Self>()) as u64
    }

    /// The groups of a target; `near` is a group that may be close to them.
    pub fn groups_of(&self, target: u64, near: usize) -> Range<usize> {
        let targets = &self.targets;
        // Targets are mostly asked for one after the other.
        let guess = near.saturating_sub(4)..targets.len().min(near + 5);
        let is_near = !guess.is_empty()
            && (guess.start == 0 || targets[guess.start - 1] < target)
            && (guess.end == targets.len() || targets[guess.end] > target);
        let (base, some) = match is_near {
            true => (guess.start, &targets[guess]),
            false => (0, &targets[..]),
        };
        let from = some.partition_point(|&it| it < target);
        let to = from + some[from..].partition_point(|&it| it <= target);
        base + from..base + to
    }

    /// Calls `each` with the edges of a group.
    #[inline]
    pub fn each_edge(&self, group: usize, mut each: impl FnMut(InEdge)) {
        let mut left = &self.payload[self.starts[group] as usize..];
        let mut number =
            || read_varint(&mut left).expect("groups were checked when they were read");
        let count = number();
        let mut before = self.targets[group];
        if count & 1 == 0 {
            for _ in 0..count >> 1 {
                before = value_at(number(), before);
                let edge = InEdge {
                    source: before,
                    label: 0,
                };
                each(edge);
            }
            return;
        }
        let sources: Vec<u64> = (0..count >> 1)
            .map(|_| {
                before = value_at(number(), before);
                before
            })
            .collect();
        for source in sources {
            let label = number();
            each(InEdge { source, label });
        }
    }
}

/// Skips a number at the front of `bytes`; `None` if there is none that fits.
fn skip_varint(bytes: &mut &[u8]) -> Option<()> {
    // Most numbers are short.
    match bytes.split_first()? {
        (&byte, rest) if byte < 0x80 => {
            *bytes = rest;
            Some(())
        }
        _ => read_varint(bytes).map(|_| ()),
    }
}
