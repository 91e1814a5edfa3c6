//! Writes an `.hlts` file, front to back.

use std::io::Write;

use super::block::Encoder;
use super::format::{BLOCK_LEN, Footer, Frame, HEADER_LEN, Kind, framed, header};
use super::index::IndexEntry;
use crate::{Counts, Edge, Error, Labels, varint};

/// Writes an `.hlts` file: edges in the order of their sources, and values in the order of states
/// where there are any; the two may alternate as they come. Nothing but the current blocks and a
/// few bytes for each block written are in memory.
///
/// The bytes depend on edges, values and labels alone, and on how the calls alternate.
pub struct HltsWriter<W> {
    out: W,
    written: u64,
    initial: u64,
    edges: Encoder,
    last_source: u64,
    /// One more than the greatest state named.
    n_named: u64,
    n_labels_named: u64,
    n_edges: u64,
    value_len: usize,
    values: Vec<u8>,
    n_values: u64,
    index: Vec<IndexEntry>,
}

impl<W: Write> HltsWriter<W> {
    /// Begins a file of a graph with this initial state. States have values of `value_len` bytes;
    /// 0 if they have none.
    pub fn new(mut out: W, initial: u64, value_len: u32) -> Result<Self, Error> {
        out.write_all(&header(value_len))?;
        Ok(HltsWriter {
            out,
            written: HEADER_LEN as u64,
            initial,
            edges: Encoder::new(initial),
            last_source: 0,
            n_named: initial.saturating_add(1),
            n_labels_named: 0,
            n_edges: 0,
            value_len: value_len as usize,
            values: Vec::new(),
            n_values: 0,
            index: Vec::new(),
        })
    }

    /// Appends an edge. Its source is that of the last one, or greater.
    pub fn push(&mut self, edge: Edge) -> Result<(), Error> {
        if edge.source < self.last_source || edge.multiplicity == 0 {
            return Err(Error::Order);
        }
        if edge.source == u64::MAX || edge.target == u64::MAX {
            let (state, n_states) = (u64::MAX, u64::MAX);
            return Err(Error::NoSuchState { state, n_states });
        }
        self.last_source = edge.source;
        let greatest = edge.source.max(edge.target);
        self.n_named = self.n_named.max(greatest + 1);
        self.n_labels_named = self.n_labels_named.max(u64::from(edge.label) + 1);
        self.n_edges += 1;
        self.edges.push(edge);
        match self.edges.len() >= BLOCK_LEN {
            true => self.end_edges(),
            false => Ok(()),
        }
    }

    /// Appends the value of the next state.
    pub fn push_value(&mut self, value: &[u8]) -> Result<(), Error> {
        if value.len() != self.value_len || value.is_empty() {
            return Err(Error::Order);
        }
        self.values.extend_from_slice(value);
        self.n_values += 1;
        match self.values.len() >= BLOCK_LEN {
            true => self.end_values(),
            false => Ok(()),
        }
    }

    /// Writes what is left, and what was not known before: the number of states and the labels.
    pub fn finish(mut self, n_states: u64, labels: &Labels) -> Result<W, Error> {
        if self.n_named > n_states {
            return Err(Error::NoSuchState {
                state: self.n_named - 1,
                n_states,
            });
        }
        let has_all_values = self.value_len == 0 || self.n_values == n_states;
        if !has_all_values || self.n_labels_named > labels.len() as u64 {
            return Err(Error::Order);
        }
        if !self.edges.is_empty() {
            self.end_edges()?;
        }
        if !self.values.is_empty() {
            self.end_values()?;
        }
        let labels_at = self.written;
        self.write_labels(labels)?;
        let index_at = self.written;
        self.write_index()?;
        let footer = Footer {
            counts: Counts {
                initial: self.initial,
                n_states,
                n_edges: self.n_edges,
            },
            n_labels: labels.len() as u64,
            labels_at,
            index_at,
            n_blocks: self.index.len() as u64,
        };
        self.out.write_all(&footer.bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_edges(&mut self) -> Result<(), Error> {
        let block = self.edges.finish();
        let frame = Frame {
            kind: Kind::Edges,
            flags: block.flags,
            count: block.count,
            first: block.first,
        };
        self.write_indexed(frame, &block.payload)
    }

    fn end_values(&mut self) -> Result<(), Error> {
        let values = std::mem::take(&mut self.values);
        let count = values.len() / self.value_len;
        let frame = Frame {
            kind: Kind::Values,
            flags: 0,
            count: count as u32,
            first: self.n_values - count as u64,
        };
        self.write_indexed(frame, &values)
    }

    fn write_indexed(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Error> {
        let at = self.written;
        self.write_block(frame, payload)?;
        self.index.push(IndexEntry {
            is_values: frame.kind == Kind::Values,
            len: self.written - at,
            first: frame.first,
            count: frame.count,
        });
        Ok(())
    }

    fn write_block(&mut self, frame: Frame, payload: &[u8]) -> Result<(), Error> {
        let bytes = framed(frame, payload).ok_or(Error::LabelMemory {
            limit: u64::from(u32::MAX),
        })?;
        self.out.write_all(&bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn write_labels(&mut self, labels: &Labels) -> Result<(), Error> {
        let texts = labels.iter().map(|text| {
            let mut bytes = Vec::with_capacity(text.len() + 2);
            varint::write(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text);
            bytes
        });
        self.write_list(Kind::Labels, texts)
    }

    fn write_index(&mut self) -> Result<(), Error> {
        let entries = super::index::encode(&self.index);
        self.write_list(Kind::Index, entries.into_iter())
    }

    /// Writes items in blocks of a reasonable size.
    fn write_list(
        &mut self,
        kind: Kind,
        items: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), Error> {
        let (mut payload, mut first, mut count) = (Vec::new(), 0, 0);
        for item in items {
            payload.extend_from_slice(&item);
            count += 1;
            if payload.len() >= BLOCK_LEN {
                self.write_block(list_frame(kind, first, count), &payload)?;
                payload.clear();
                first += u64::from(count);
                count = 0;
            }
        }
        match count {
            0 => Ok(()),
            _ => self.write_block(list_frame(kind, first, count), &payload),
        }
    }
}

fn list_frame(kind: Kind, first: u64, count: u32) -> Frame {
    Frame {
        kind,
        flags: 0,
        count,
        first,
    }
}
