//! An open `.hlts` file: its header, labels and index in memory, its edges on request.

use std::fs::File;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::block::{Block, Bounds, Edges};
use super::format::{
    FOOTER_LEN, FRAME_LEN, Footer, Frame, HEADER_LEN, Kind, parse_block, parse_header, payload_len,
};
use super::index::{BlockAt, IndexDecoder};
use super::writer::HltsWriter;
use crate::resources::Resources;
use crate::scratch::{ReadAt, Spool};
use crate::{Counts, Edge, Error, Labels, varint};

/// A graph, open for reading by any number of threads. Its labels and an index of its blocks are in
/// memory, edges stay in the file.
///
/// ```
/// use hadal_lts::{Edge, Hlts, HltsWriter, Labels, Resources};
///
/// let mut labels = Labels::new();
/// labels.push(b"tick");
/// let mut writer = HltsWriter::new(Vec::new(), 0, 0)?;
/// writer.push(Edge::new(0, 0, 1))?;
/// let graph = Hlts::from_bytes(writer.finish(2, &labels)?)?;
/// assert_eq!(graph.counts().n_edges, 1);
/// let stop = hadal_model::Stop::new();
/// let mut edges = Vec::new();
/// graph.for_each_edge(&Resources::new(&stop), |edge| {
///     edges.push(edge);
///     Ok(())
/// })?;
/// assert_eq!(edges, [Edge::new(0, 0, 1)]);
/// # Ok::<(), hadal_lts::Error>(())
/// ```
pub struct Hlts {
    bytes: Box<dyn ReadAt>,
    counts: Counts,
    labels: Labels,
    value_len: u32,
    pub(super) edges: Vec<BlockAt>,
    pub(super) values: Vec<BlockAt>,
    len: u64,
}

impl std::fmt::Debug for Hlts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hlts")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// A frame and its payload, as they are in the file.
pub(super) type Bytes = Vec<u8>;

impl Hlts {
    /// Opens a file.
    pub fn from_file(file: File) -> Result<Self, Error> {
        Self::open(Box::new(file))
    }

    /// Opens a file that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        Self::open(Box::new(bytes))
    }

    /// The graph that `write` passes to a writer; it returns the number of states and the labels.
    pub(crate) fn build(
        initial: u64,
        resources: &Resources<'_>,
        write: impl FnOnce(&mut HltsWriter<Spool>) -> Result<(u64, Labels), Error>,
    ) -> Result<Self, Error> {
        let mut writer = HltsWriter::new(Spool::new(resources), initial, 0)?;
        let (n_states, labels) = write(&mut writer)?;
        let spool = writer.finish(n_states, &labels)?;
        Self::open(spool.finish()?)
    }

    pub(crate) fn open(bytes: Box<dyn ReadAt>) -> Result<Self, Error> {
        let len = bytes.len()?;
        let mut head = [0; HEADER_LEN];
        let n_head = len.min(HEADER_LEN as u64) as usize;
        bytes.read_exact_at(&mut head[..n_head], 0)?;
        let value_len = parse_header(&head)?;
        let truncated = || damaged(len, "the file ends early");
        let footer_at = len.checked_sub(FOOTER_LEN as u64).ok_or_else(truncated)?;
        let mut tail = [0; FOOTER_LEN];
        bytes.read_exact_at(&mut tail, footer_at)?;
        let footer = Footer::parse(&tail).map_err(|reason| damaged(footer_at, reason))?;
        let wrong = |reason| damaged(footer_at, reason);
        let places = [
            HEADER_LEN as u64,
            footer.labels_at,
            footer.index_at,
            footer_at,
        ];
        if !places.is_sorted() || footer.n_labels >= u64::from(u32::MAX) {
            return Err(wrong("the parts of the file overlap"));
        }
        let counts = footer.counts;
        if counts.initial >= counts.n_states {
            return Err(wrong("the initial state does not exist"));
        }
        let mut labels = Labels::new();
        read_list(
            &*bytes,
            Kind::Labels,
            footer.labels_at..footer.index_at,
            |bytes| {
                let len = usize::try_from(varint::read(bytes)?).ok()?;
                let (text, rest) = bytes.split_at_checked(len)?;
                *bytes = rest;
                labels.push(text).map(|_| ())
            },
        )?;
        let mut index = IndexDecoder::default();
        read_list(&*bytes, Kind::Index, footer.index_at..footer_at, |bytes| {
            index.take(bytes)
        })?;
        let n_blocks = (index.edges.len() + index.values.len()) as u64;
        let n_values = match value_len {
            0 => 0,
            _ => counts.n_states,
        };
        let is_complete = labels.len() as u64 == footer.n_labels
            && n_blocks == footer.n_blocks
            && index.at == footer.labels_at
            && index.n_edges == counts.n_edges
            && index.n_values == n_values;
        if !is_complete {
            return Err(wrong("the counts of the file do not agree with its index"));
        }
        // Algorithms compare labels by number.
        let texts: FxHashSet<&[u8]> = labels.iter().collect();
        if texts.len() != labels.len() {
            return Err(damaged(footer.labels_at, "a label occurs twice"));
        }
        Ok(Hlts {
            bytes,
            counts,
            labels,
            value_len,
            edges: index.edges,
            values: index.values,
            len,
        })
    }

    /// Initial state, number of states, number of edges.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Length of the states' values; 0 where they have none.
    pub fn value_len(&self) -> u32 {
        self.value_len
    }

    /// Length of the file.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// Passes each edge to `f`, in order.
    pub fn for_each_edge(
        &self,
        resources: &Resources<'_>,
        mut f: impl FnMut(Edge) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut block = Block::default();
        for number in 0..self.edges.len() {
            resources.poll()?;
            self.decode(number, &mut block)?;
            resources.note(block.len().into());
            for (position, &source) in block.sources.iter().enumerate() {
                let (begin, end) = block.range(position);
                (begin..end).try_for_each(|at| f(block.edge(source, at)))?;
            }
        }
        Ok(())
    }

    /// Passes the edges of each source in `sources` to `f`, in order; a source without edges is
    /// left out, and one whose edges are in several blocks is passed once.
    pub(crate) fn scan(
        &self,
        sources: Range<u64>,
        resources: &Resources<'_>,
        mut f: impl FnMut(u64, Edges<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut block = Block::default();
        let mut n_edges = 0;
        // Of a source whose edges go on in the next block.
        let mut open: Option<(u64, OwnedEdges)> = None;
        let begin = self
            .edges
            .partition_point(|block| block.first < sources.start);
        for number in begin.saturating_sub(1)..self.edges.len() {
            let first = self.edges[number].first;
            if let Some((source, edges)) = open.take_if(|(source, _)| *source != first) {
                f(source, edges.view())?;
            }
            if first >= sources.end {
                break;
            }
            resources.poll()?;
            resources.note(std::mem::take(&mut n_edges));
            self.decode(number, &mut block)?;
            for (position, &source) in block.sources.iter().enumerate() {
                if !sources.contains(&source) {
                    continue;
                }
                let edges = block.edges(position);
                n_edges += edges.targets.len() as u64;
                let goes_on = position + 1 == block.sources.len()
                    && self
                        .edges
                        .get(number + 1)
                        .is_some_and(|next| next.first == source);
                if goes_on || open.is_some() {
                    let (_, collected) =
                        open.get_or_insert_with(|| (source, OwnedEdges::default()));
                    collected.append(edges);
                    if goes_on {
                        continue;
                    }
                    if let Some((source, collected)) = open.take() {
                        f(source, collected.view())?;
                    }
                } else {
                    f(source, edges)?;
                }
            }
        }
        resources.note(n_edges);
        match open {
            Some((source, edges)) => f(source, edges.view()),
            None => Ok(()),
        }
    }

    /// Decodes a block of edges.
    pub(crate) fn decode(&self, number: usize, block: &mut Block) -> Result<(), Error> {
        let place = self.edges[number];
        let (frame, bytes) = self.read_block(place, Kind::Edges)?;
        let bounds = Bounds {
            n_states: self.counts.n_states,
            n_labels: self.labels.len() as u64,
        };
        let facts = (frame.first, frame.count, frame.flags);
        block
            .decode(&bytes[FRAME_LEN..], facts, bounds)
            .ok_or(damaged(place.at, "a block of edges cannot be decoded"))?;
        let next = self
            .edges
            .get(number + 1)
            .map_or(u64::MAX, |next| next.first);
        match block.sources.last().is_some_and(|&last| last <= next) {
            true => Ok(()),
            false => Err(damaged(
                place.at,
                "a block of edges reaches into the next one",
            )),
        }
    }

    /// Fills `bytes` from the file, which is not checked.
    pub(super) fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        Ok(self.bytes.read_exact_at(bytes, at)?)
    }

    /// Reads and checks a block.
    pub(super) fn read_block(&self, place: BlockAt, kind: Kind) -> Result<(Frame, Bytes), Error> {
        let mut bytes = vec![0; place.len as usize];
        self.bytes.read_exact_at(&mut bytes, place.at)?;
        let frame = parse_block(&bytes, kind).map_err(|reason| damaged(place.at, reason))?;
        match (frame.first, frame.count) == (place.first, place.count) {
            true => Ok((frame, bytes)),
            false => Err(damaged(
                place.at,
                "a block is not the one that the index names",
            )),
        }
    }
}

/// Edges of one source from several blocks.
#[derive(Default)]
struct OwnedEdges {
    labels: Vec<u32>,
    targets: Vec<u64>,
    multiplicities: Vec<u64>,
}

impl OwnedEdges {
    fn append(&mut self, edges: Edges<'_>) {
        // Ones are left out up to the first block that has others.
        if !edges.multiplicities.is_empty() {
            self.multiplicities.resize(self.targets.len(), 1);
            self.multiplicities.extend_from_slice(edges.multiplicities);
        }
        self.labels.extend_from_slice(edges.labels);
        self.targets.extend_from_slice(edges.targets);
        if !self.multiplicities.is_empty() {
            self.multiplicities.resize(self.targets.len(), 1);
        }
    }

    fn view(&self) -> Edges<'_> {
        Edges {
            labels: &self.labels,
            targets: &self.targets,
            multiplicities: &self.multiplicities,
        }
    }
}

pub(super) fn damaged(at: u64, reason: &'static str) -> Error {
    Error::Damaged { at, reason }
}

/// Reads the blocks of a list, which fill `range`, and passes their payloads to `take` until each
/// item is taken.
fn read_list(
    bytes: &dyn ReadAt,
    kind: Kind,
    range: Range<u64>,
    mut take: impl FnMut(&mut &[u8]) -> Option<()>,
) -> Result<(), Error> {
    let (mut at, mut n_before) = (range.start, 0);
    while at < range.end {
        let wrong = |reason| damaged(at, reason);
        let left = range.end - at;
        if left < FRAME_LEN as u64 {
            return Err(wrong("a block ends early"));
        }
        let mut frame = [0; FRAME_LEN];
        bytes.read_exact_at(&mut frame, at)?;
        let len = FRAME_LEN as u64 + u64::from(payload_len(&frame));
        if len > left {
            return Err(wrong("a block ends early"));
        }
        let mut block = vec![0; len as usize];
        bytes.read_exact_at(&mut block, at)?;
        let frame = parse_block(&block, kind).map_err(wrong)?;
        if frame.first != n_before {
            return Err(wrong("a block is out of order"));
        }
        let mut payload = &block[FRAME_LEN..];
        for _ in 0..frame.count {
            take(&mut payload).ok_or(wrong("a list cannot be decoded"))?;
        }
        if !payload.is_empty() {
            return Err(wrong("a list is longer than its count"));
        }
        n_before += u64::from(frame.count);
        at += len;
    }
    Ok(())
}
