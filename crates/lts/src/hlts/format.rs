//! Header, frame and footer: the fixed parts of an `.hlts` file, byte by byte.

use crate::{Counts, Error};

/// Version of the format.
pub const VERSION: u32 = 1;

/// Length of the header of a file.
pub(super) const HEADER_LEN: usize = 32;
/// Length of what precedes the payload of a block.
pub(super) const FRAME_LEN: usize = 24;
/// Length of the footer.
pub(super) const FOOTER_LEN: usize = 72;
/// A block is closed once its payload has this many bytes: small enough that reading one source
/// costs little, large enough that frame and index do not show.
pub(super) const BLOCK_LEN: usize = 16 << 10;

pub(crate) const MAGIC: &[u8; 8] = b"hadallts";
const END_MAGIC: &[u8; 8] = b"hadalend";

/// Flag of a block of edges: it ends with a column of multiplicities.
pub(super) const HAS_MULTIPLICITIES: u8 = 1;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Edges,
    Values,
    Labels,
    Index,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Kind::Edges => 1,
            Kind::Values => 2,
            Kind::Labels => 3,
            Kind::Index => 4,
        }
    }
}

/// The fixed part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) flags: u8,
    /// Edges, values, labels or entries in it.
    pub(super) count: u32,
    /// Source of the first edge, or number of the first value, label or entry.
    pub(super) first: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut own = [0; 4];
    own.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(own)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut own = [0; 8];
    own.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(own)
}

/// The header of a file whose states have values of `value_len` bytes.
pub(super) fn header(value_len: u32) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&value_len.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The length of values in a file with this header.
pub(super) fn parse_header(bytes: &[u8; HEADER_LEN]) -> Result<u32, Error> {
    let damaged = |reason| Error::Damaged { at: 0, reason };
    if bytes[..8] != *MAGIC {
        return Err(Error::NotHlts);
    }
    // At this place in every version, so that a damaged number is not taken for another version.
    if u32_at(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
        return Err(damaged("the checksum of the header is wrong"));
    }
    let found = u32_at(bytes, 8);
    if found != VERSION {
        let known = VERSION;
        return Err(Error::OtherVersion { found, known });
    }
    if bytes[16..28].iter().any(|&byte| byte != 0) {
        return Err(damaged("reserved bytes of the header are not zero"));
    }
    Ok(u32_at(bytes, 12))
}

/// A block: frame and payload. `None` where the payload is too long.
pub(super) fn framed(frame: Frame, payload: &[u8]) -> Option<Vec<u8>> {
    let len = u32::try_from(payload.len()).ok()?;
    let mut bytes = Vec::with_capacity(FRAME_LEN + payload.len());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&[frame.kind.number(), frame.flags, 0, 0]);
    bytes.extend_from_slice(&frame.count.to_le_bytes());
    bytes.extend_from_slice(&frame.first.to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = crc32c::crc32c(&bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
    Some(bytes)
}

/// The length of the payload behind a frame, which is not verified yet.
pub(super) fn payload_len(frame: &[u8; FRAME_LEN]) -> u32 {
    u32_at(frame, 4)
}

/// Checks a block, frame and payload, that is to be of this kind. The payload begins behind the
/// frame.
pub(super) fn parse_block(bytes: &[u8], kind: Kind) -> Result<Frame, &'static str> {
    if bytes.len() < FRAME_LEN || u32_at(bytes, 0) != crc32c::crc32c(&bytes[4..]) {
        return Err("the checksum of a block is wrong");
    }
    if bytes.len() - FRAME_LEN != u32_at(bytes, 4) as usize {
        return Err("a block has another length than the index says");
    }
    if bytes[8] != kind.number() {
        return Err("a block is of another kind than the index says");
    }
    if bytes[10..12] != [0, 0] || bytes[9] > HAS_MULTIPLICITIES {
        return Err("a block has unknown flags");
    }
    Ok(Frame {
        kind,
        flags: bytes[9],
        count: u32_at(bytes, 12),
        first: u64_at(bytes, 16),
    })
}

/// What stands at the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) counts: Counts,
    pub(super) n_labels: u64,
    /// Where the labels begin.
    pub(super) labels_at: u64,
    /// Where the index begins.
    pub(super) index_at: u64,
    /// Blocks of edges and of values.
    pub(super) n_blocks: u64,
}

impl Footer {
    pub(super) fn bytes(&self) -> [u8; FOOTER_LEN] {
        let mut bytes = [0; FOOTER_LEN];
        bytes[..8].copy_from_slice(END_MAGIC);
        let numbers = [
            self.counts.initial,
            self.counts.n_states,
            self.counts.n_edges,
            self.n_labels,
            self.labels_at,
            self.index_at,
            self.n_blocks,
        ];
        for (place, number) in bytes[8..64].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes[..68]);
        bytes[68..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8; FOOTER_LEN]) -> Result<Self, &'static str> {
        if bytes[..8] != *END_MAGIC {
            return Err("the file does not end as it should; it may be truncated");
        }
        if u32_at(bytes, 68) != crc32c::crc32c(&bytes[..68]) {
            return Err("the checksum of the footer is wrong");
        }
        if u32_at(bytes, 64) != 0 {
            return Err("reserved bytes of the footer are not zero");
        }
        Ok(Footer {
            counts: Counts {
                initial: u64_at(bytes, 8),
                n_states: u64_at(bytes, 16),
                n_edges: u64_at(bytes, 24),
            },
            n_labels: u64_at(bytes, 32),
            labels_at: u64_at(bytes, 40),
            index_at: u64_at(bytes, 48),
            n_blocks: u64_at(bytes, 56),
        })
    }
}
