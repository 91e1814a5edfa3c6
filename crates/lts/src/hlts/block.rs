//! A block of edges: encoding and decoding of its payload.
//!
//! A payload begins with the *horizon*: one more than the greatest state named before this block.
//! A graph numbered in the order of discovery reaches most states first from just below the
//! horizon, so a target is one of
//!
//! | mode | target |
//! |---|---|
//! | 0 | horizon + value: a state that was not named before |
//! | 1 | horizon - 1 - value |
//! | 2 | previous target of the run (the source, for its first edge) + value, zigzag |
//! | 3 | value |
//!
//! whichever is shortest; the least mode of those.

use super::format::HAS_MULTIPLICITIES;
use crate::{Edge, varint};

/// Mode of a target, and its value.
#[inline]
fn choose(target: u64, horizon: u64, previous: u64) -> (u64, u64) {
    let from_horizon = match target >= horizon {
        true => (0, target - horizon),
        false => (1, horizon - 1 - target),
    };
    let others = [
        (2, varint::zigzag(target.wrapping_sub(previous))),
        (3, target),
    ];
    let shorter =
        |best: (u64, u64), other: (u64, u64)| match varint::len(other.1) < varint::len(best.1) {
            true => other,
            false => best,
        };
    others.into_iter().fold(from_horizon, shorter)
}

/// Encodes the edges of one block.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    payload: Vec<u8>,
    /// Of the current source: its edges so far.
    run: Vec<u8>,
    run_len: u64,
    source: u64,
    previous: u64,
    /// Source that a run has unless it says otherwise.
    expected: u64,
    first: u64,
    count: u32,
    multiplicities: Vec<u64>,
    has_multiplicities: bool,
    /// Of the whole file.
    horizon: u64,
}

/// An encoded block.
pub(super) struct Encoded {
    pub(super) payload: Vec<u8>,
    pub(super) flags: u8,
    pub(super) count: u32,
    pub(super) first: u64,
}

impl Encoder {
    pub(super) fn new(initial: u64) -> Self {
        Encoder {
            horizon: initial.saturating_add(1),
            ..Encoder::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that the payload has so far.
    pub(super) fn len(&self) -> usize {
        self.payload.len()
            + self.run.len()
            + self.multiplicities.len() * usize::from(self.has_multiplicities)
    }

    pub(super) fn push(&mut self, edge: Edge) {
        if self.is_empty() {
            varint::write(&mut self.payload, self.horizon);
            (self.first, self.expected) = (edge.source, edge.source);
            (self.source, self.previous) = (edge.source, edge.source);
        } else if edge.source != self.source {
            self.end_run();
            (self.source, self.previous) = (edge.source, edge.source);
        }
        let (mode, value) = choose(edge.target, self.horizon, self.previous);
        varint::write(&mut self.run, u64::from(edge.label) << 2 | mode);
        varint::write(&mut self.run, value);
        self.horizon = self.horizon.max(edge.target.saturating_add(1));
        self.previous = edge.target;
        self.run_len += 1;
        self.count += 1;
        self.multiplicities.push(edge.multiplicity);
        self.has_multiplicities |= edge.multiplicity != 1;
    }

    fn end_run(&mut self) {
        let skipped = self.source - self.expected;
        varint::write(
            &mut self.payload,
            self.run_len << 1 | u64::from(skipped > 0),
        );
        if skipped > 0 {
            varint::write(&mut self.payload, skipped);
        }
        self.payload.append(&mut self.run);
        self.run_len = 0;
        self.expected = self.source.wrapping_add(1);
    }

    /// Closes the block; the next edge begins another one.
    pub(super) fn finish(&mut self) -> Encoded {
        self.end_run();
        let mut payload = std::mem::take(&mut self.payload);
        if self.has_multiplicities {
            for &multiplicity in &self.multiplicities {
                varint::write(&mut payload, multiplicity.saturating_sub(1));
            }
        }
        let encoded = Encoded {
            payload,
            flags: match self.has_multiplicities {
                true => HAS_MULTIPLICITIES,
                false => 0,
            },
            count: self.count,
            first: self.first,
        };
        self.multiplicities.clear();
        self.has_multiplicities = false;
        self.count = 0;
        encoded
    }
}

/// The decoded edges of a block, by columns.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The sources that have edges here, ascending.
    pub(crate) sources: Vec<u64>,
    /// By source, where its edges end in the other columns.
    ends: Vec<u32>,
    labels: Vec<u32>,
    targets: Vec<u64>,
    /// Empty where all are 1.
    multiplicities: Vec<u64>,
}

/// Edges of one source, by columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges<'a> {
    pub(crate) labels: &'a [u32],
    pub(crate) targets: &'a [u64],
    /// Empty where all are 1.
    pub(crate) multiplicities: &'a [u64],
}

/// What numbers of a block must be below.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) n_states: u64,
    pub(super) n_labels: u64,
}

impl Block {
    /// Decodes a payload of `count` edges whose first source is `first`. `None` where it is not
    /// what an encoder writes, or names what does not exist.
    pub(super) fn decode(
        &mut self,
        mut payload: &[u8],
        (first, count, flags): (u64, u32, u8),
        bounds: Bounds,
    ) -> Option<()> {
        self.clear();
        let bytes = &mut payload;
        let mut horizon = varint::read(bytes)?;
        let mut source = first;
        let count = count as usize;
        while self.targets.len() < count {
            let head = varint::read(bytes)?;
            if head & 1 == 1 {
                source = source.checked_add(varint::read(bytes)?)?;
            }
            let n = usize::try_from(head >> 1).ok()?;
            if source >= bounds.n_states || n == 0 || n > count - self.targets.len() {
                return None;
            }
            let mut previous = source;
            for _ in 0..n {
                let head = varint::read(bytes)?;
                let value = varint::read(bytes)?;
                let target = match head & 3 {
                    0 => horizon.checked_add(value)?,
                    1 => horizon.checked_sub(value)?.checked_sub(1)?,
                    2 => previous.wrapping_add(varint::unzigzag(value)),
                    _ => value,
                };
                if head >> 2 >= bounds.n_labels || target >= bounds.n_states {
                    return None;
                }
                self.labels.push((head >> 2) as u32);
                self.targets.push(target);
                horizon = horizon.max(target + 1);
                previous = target;
            }
            self.sources.push(source);
            self.ends.push(self.targets.len() as u32);
            source = source.checked_add(1)?;
        }
        if flags & HAS_MULTIPLICITIES != 0 {
            for _ in 0..count {
                let multiplicity = varint::read(bytes)?.checked_add(1)?;
                self.multiplicities.push(multiplicity);
            }
        }
        (bytes.is_empty() && self.sources.first() == Some(&first)).then_some(())
    }

    fn clear(&mut self) {
        self.sources.clear();
        self.ends.clear();
        self.labels.clear();
        self.targets.clear();
        self.multiplicities.clear();
    }

    /// Number of edges.
    pub(crate) fn len(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Where the edges of the source at `position` begin and end.
    pub(crate) fn range(&self, position: usize) -> (u32, u32) {
        let begin = match position {
            0 => 0,
            _ => self.ends[position - 1],
        };
        (begin, self.ends[position])
    }

    /// The edges of the source at `position`.
    pub(crate) fn edges(&self, position: usize) -> Edges<'_> {
        let (begin, end) = self.range(position);
        let range = begin as usize..end as usize;
        Edges {
            labels: &self.labels[range.clone()],
            targets: &self.targets[range.clone()],
            multiplicities: match self.multiplicities.is_empty() {
                true => &[],
                false => &self.multiplicities[range],
            },
        }
    }

    /// The edge at `at`, which leaves `source`.
    pub(crate) fn edge(&self, source: u64, at: u32) -> Edge {
        let at = at as usize;
        Edge {
            source,
            label: self.labels[at],
            target: self.targets[at],
            multiplicity: self.multiplicities.get(at).copied().unwrap_or(1),
        }
    }

    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let words = self.sources.capacity() + self.targets.capacity();
        let words = words + self.multiplicities.capacity();
        (words * 8 + (self.ends.capacity() + self.labels.capacity()) * 4) as u64
    }
}
