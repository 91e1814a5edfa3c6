//! The bytes of a manifest: what a search needs to go on, as one checksummed file.
//!
//! The payload is the search's own and opaque here. Around it stand what tells a manifest from
//! anything else, and the number of the search that all its files carry.

use super::buffers::Aligned;
use super::frame::{VERSION, u32_at, u64_at};
use super::medium::SECTOR_BYTES;
use crate::Error;

/// Its name.
pub(crate) const NAME: &str = "MANIFEST";
/// The name it is written under.
pub(crate) const NEW_NAME: &str = "MANIFEST.tmp";

const MAGIC: &[u8; 8] = b"hadalman";
const HEADER_BYTES: usize = 64;

/// What a manifest says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) search_id: u64,
    /// How many manifests the folder has had before.
    pub(crate) sequence: u64,
    pub(crate) payload: Vec<u8>,
}

/// Length of the file for a payload of `len` bytes.
pub(crate) fn file_len(len: usize) -> usize {
    (HEADER_BYTES + len).next_multiple_of(SECTOR_BYTES)
}

/// The whole file.
pub(crate) fn encode(search_id: u64, sequence: u64, payload: &[u8]) -> Aligned {
    let mut file = Aligned::new(file_len(payload.len()));
    let bytes = file.bytes_mut();
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    bytes[16..24].copy_from_slice(&search_id.to_le_bytes());
    bytes[24..32].copy_from_slice(&sequence.to_le_bytes());
    bytes[32..40].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    bytes[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    file
}

/// Reads what [`encode`] made.
pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, Error> {
    let damaged = |offset: usize, what: &str| Err(Error::damaged(NAME, offset as u64, what));
    if bytes.len() < HEADER_BYTES {
        return damaged(bytes.len(), "the file ends within its header");
    }
    let (header, rest) = bytes.split_at(HEADER_BYTES);
    if header[..8] != *MAGIC {
        return damaged(0, "this is no manifest");
    }
    if u32_at(header, HEADER_BYTES - 4) != crc32c::crc32c(&header[..HEADER_BYTES - 4]) {
        return damaged(0, "the header's checksum is wrong");
    }
    let version = u32_at(header, 8);
    if version != VERSION {
        return Err(Error::Version {
            file: NAME.to_owned(),
            version,
        });
    }
    if let Some(at) = header[40..HEADER_BYTES - 4]
        .iter()
        .position(|&byte| byte != 0)
    {
        return damaged(40 + at, "a reserved field is not zero");
    }
    let len = u64_at(header, 32);
    let Some(len) = usize::try_from(len).ok().filter(|&len| len <= rest.len()) else {
        return damaged(bytes.len(), "the file ends within its payload");
    };
    if bytes.len() != file_len(len) {
        return damaged(32, "the file is longer than its payload");
    }
    let (payload, padding) = rest.split_at(len);
    if u32_at(header, 12) != crc32c::crc32c(payload) {
        return damaged(HEADER_BYTES, "the payload's checksum is wrong");
    }
    if let Some(at) = padding.iter().position(|&byte| byte != 0) {
        return damaged(
            HEADER_BYTES + len + at,
            "what follows the payload is not zero",
        );
    }
    Ok(Manifest {
        search_id: u64_at(header, 16),
        sequence: u64_at(header, 24),
        payload: payload.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn a_manifest_comes_back_and_no_flipped_bit_does() {
        for len in [0, 1, 64, 4032, 4033, 9000] {
            let payload: Vec<u8> = (0..len).map(|at| (at * 7) as u8).collect();
            let mut file = encode(5, 6, &payload);
            let read = decode(file.bytes()).unwrap();
            assert_eq!((read.search_id, read.sequence), (5, 6));
            assert_eq!(read.payload, payload);
            for at in 0..file.bytes().len() {
                file.bytes_mut()[at] ^= 1 << (at % 8);
                assert!(decode(file.bytes()).is_err(), "byte {at} of {len}");
                file.bytes_mut()[at] ^= 1 << (at % 8);
            }
            for cut in 0..file.bytes().len() {
                assert!(decode(&file.bytes()[..cut]).is_err());
            }
        }
    }
}
