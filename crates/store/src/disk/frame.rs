//! The bytes of a block file: a header of one sector, then one frame of 64 KiB per block.
//!
//! Frames have fixed places, so block n is found without an index; only the last one may be cut off
//! where its padding begins. A frame names the search and the file it belongs to, so a block that
//! was left over from another file, or written to the wrong place, is detected as surely as a
//! flipped bit. Layout and reasons are in `docs/reference/format.md`.

use super::Kind;
use super::medium::SECTOR_BYTES;
use crate::error::Versions;
use crate::{BLOCK_BYTES, Error};

/// Bytes of a whole frame.
pub(crate) const FRAME_BYTES: usize = 64 << 10;
pub(crate) const FRAME_HEADER_BYTES: usize = FRAME_BYTES - BLOCK_BYTES;
const _: () = assert!(FRAME_HEADER_BYTES == 32);

/// Bytes before the first frame.
pub(crate) const HEADER_BYTES: usize = SECTOR_BYTES;
const MAGIC: &[u8; 8] = b"hadalblk";
/// Version of everything in `docs/reference/format.md` but the payloads of block files and manifests,
/// which have versions of their own.
pub const VERSION: u32 = 7;
const NAME_BYTES: usize = 64;

/// Which file a block belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Drawn at random for the search that the folder belongs to.
    pub(crate) search_id: u64,
    /// Drawn at random for the file.
    pub(crate) file_id: u64,
}

/// Where block `number` begins in its file.
pub(crate) fn offset_of(number: u32) -> u64 {
    HEADER_BYTES as u64 + u64::from(number) * FRAME_BYTES as u64
}

/// Bytes that a payload of `len` bytes takes as the last block of a file.
pub(crate) fn padded_len(len: usize) -> usize {
    (FRAME_HEADER_BYTES + len).next_multiple_of(SECTOR_BYTES)
}

/// Fills `sector` with the header of a file.
pub(crate) fn write_header(sector: &mut [u8], identity: &Identity) {
    sector.fill(0);
    sector[..8].copy_from_slice(MAGIC);
    sector[8..12].copy_from_slice(&VERSION.to_le_bytes());
    sector[12..16].copy_from_slice(&identity.kind.letters());
    sector[16..24].copy_from_slice(&identity.search_id.to_le_bytes());
    sector[24..32].copy_from_slice(&identity.file_id.to_le_bytes());
    sector[32..36].copy_from_slice(&(FRAME_BYTES as u32).to_le_bytes());
    sector[36..40].copy_from_slice(&identity.kind.version().to_le_bytes());
    let name = identity.name.as_bytes();
    assert!(
        name.len() <= NAME_BYTES,
        "names are made by the folder, and short"
    );
    sector[40..40 + name.len()].copy_from_slice(name);
    let crc = crc32c::crc32c(&sector[..SECTOR_BYTES - 4]);
    sector[SECTOR_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
}

/// Checks the header of the file called `name`, of which kind and search are known.
pub(crate) fn read_header(
    sector: &[u8],
    name: &str,
    kind: Kind,
    search_id: u64,
) -> Result<Identity, Error> {
    let damaged = |offset, what: &str| Err(Error::damaged(name, offset, what));
    if sector[..8] != *MAGIC {
        return damaged(0, "not a block file");
    }
    // The checksum has its place in every version, so a version that is read is one that was written.
    if u32_at(sector, SECTOR_BYTES - 4) != crc32c::crc32c(&sector[..SECTOR_BYTES - 4]) {
        return damaged(0, "the header's checksum is wrong");
    }
    let format = u32_at(sector, 8);
    if format != VERSION {
        let found = Versions {
            format,
            payload: None,
            program: None,
        };
        return Err(Error::other_version(name, found, Versions::own()));
    }
    let version = u32_at(sector, 36);
    if sector[12..16] == kind.letters() && version != kind.version() {
        let versions = |version| Versions {
            format,
            payload: Some(version),
            program: None,
        };
        let (found, supported) = (versions(version), versions(kind.version()));
        return Err(Error::other_version(name, found, supported));
    }
    let identity = Identity {
        name: name.to_owned(),
        kind,
        search_id,
        file_id: u64_at(sector, 24),
    };
    let mut expected = [0; SECTOR_BYTES];
    if name.len() <= NAME_BYTES {
        write_header(&mut expected, &identity);
    }
    if *sector != expected {
        return damaged(0, "the header belongs to another file or run");
    }
    Ok(identity)
}

/// Fills `frame`, of 64 KiB, with block `number` and pads it with zeros; returns the bytes it takes
/// as the last block.
pub(crate) fn write_frame(
    frame: &mut [u8],
    identity: &Identity,
    number: u32,
    payload: &[u8],
) -> usize {
    let (header, rest) = frame.split_at_mut(FRAME_HEADER_BYTES);
    let (place, padding) = rest.split_at_mut(payload.len());
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&number.to_le_bytes());
    header[12..16].fill(0);
    header[16..24].copy_from_slice(&identity.search_id.to_le_bytes());
    header[24..32].copy_from_slice(&identity.file_id.to_le_bytes());
    place.copy_from_slice(payload);
    padding.fill(0);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[4..]), place);
    header[..4].copy_from_slice(&crc.to_le_bytes());
    padded_len(payload.len())
}

/// Bytes of `frame` up to its padding, by its own length field.
pub(crate) fn frame_len(frame: &[u8]) -> usize {
    let len = match frame.get(4..8) {
        Some(_) => u32_at(frame, 4) as usize,
        None => 0,
    };
    padded_len(len.min(BLOCK_BYTES)).min(frame.len())
}

/// The payload of block `number`; `frame` is all of it that is in the file.
pub(crate) fn read_frame<'a>(
    frame: &'a [u8],
    identity: &Identity,
    number: u32,
) -> Result<&'a [u8], Error> {
    let damaged = |at: usize, what: &str| {
        Err(Error::damaged(
            &identity.name,
            offset_of(number) + at as u64,
            what,
        ))
    };
    if frame.len() < FRAME_HEADER_BYTES {
        return damaged(0, "the file ends within a block");
    }
    let (header, rest) = frame.split_at(FRAME_HEADER_BYTES);
    let len = u32_at(header, 4) as usize;
    if len > BLOCK_BYTES {
        return damaged(4, "a block's length is impossible");
    }
    if len > rest.len() {
        return damaged(4, "the file ends within a block");
    }
    let (payload, padding) = rest.split_at(len);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header[4..]), payload);
    if u32_at(header, 0) != crc {
        return damaged(0, "a block's checksum is wrong");
    }
    // With a right checksum, a wrong field means that the block belongs elsewhere.
    if u32_at(header, 8) != number {
        return damaged(8, "another block of the file is in its place");
    }
    if u32_at(header, 12) != 0 {
        return damaged(12, "a reserved field is not zero");
    }
    if u64_at(header, 16) != identity.search_id || u64_at(header, 24) != identity.file_id {
        return damaged(16, "a block of another file is in its place");
    }
    if let Some(at) = first_nonzero(padding) {
        return damaged(
            FRAME_HEADER_BYTES + len + at,
            "the padding of a block is not zero",
        );
    }
    Ok(payload)
}

/// Where padding is not zero. A piece at a time: byte by byte takes longer than the checksum.
pub(crate) fn first_nonzero(padding: &[u8]) -> Option<usize> {
    const PIECE: usize = 64;
    let is_nonzero = |piece: &[u8]| piece.iter().fold(0, |all, byte| all | byte) != 0;
    let start = PIECE * padding.chunks(PIECE).position(is_nonzero)?;
    let at = padding[start..].iter().position(|&byte| byte != 0)?;
    Some(start + at)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(value)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}
