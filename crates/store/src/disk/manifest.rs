//! The bytes of a manifest: what a search needs to resume, as one checksummed file.
//!
//! The payload is the search's own and opaque here. The header around it says which versions of the
//! file format, the payload and the program wrote it. They are compared before the payload is
//! parsed, so a folder of another version is recognised as such; only a wrong checksum or a
//! contradiction within the known version is damage.

use super::buffers::Aligned;
use super::frame::{self, first_nonzero, u32_at, u64_at};
use super::medium::SECTOR_BYTES;
use crate::error::{Error, Versions};

/// Its name.
pub(crate) const NAME: &str = "MANIFEST";
/// The name it is written under.
pub(crate) const NEW_NAME: &str = "MANIFEST.tmp";

const MAGIC: &[u8; 8] = b"hadalman";
const HEADER_BYTES: usize = 64;
const PROGRAM_BYTES: usize = 16;
/// The version of this program: all crates of the workspace share it.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
const _: () = assert!(PROGRAM.len() <= PROGRAM_BYTES, "the version fits its field");

/// The payload of a manifest, and what wrote it.
///
/// The bytes are only given to a reader who names the version that it can parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    version: u32,
    program: String,
    bytes: Vec<u8>,
}

impl Payload {
    /// The bytes, if they have version `version` and were written by this version of the program.
    pub fn of_version(&self, version: u32) -> Result<&[u8], Error> {
        if (self.version, &*self.program) == (version, PROGRAM) {
            return Ok(&self.bytes);
        }
        let found = Versions {
            format: frame::VERSION,
            payload: Some(self.version),
            program: Some(self.program.clone()),
        };
        let supported = Versions {
            format: frame::VERSION,
            payload: Some(version),
            program: Some(PROGRAM.to_owned()),
        };
        Err(Error::other_version(NAME, found, supported))
    }
}

/// The content of a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) search_id: u64,
    /// Number of this manifest in its folder.
    pub(crate) sequence: u64,
    pub(crate) payload: Payload,
}

/// Length of the file for a payload of `len` bytes.
pub(crate) fn file_len(len: usize) -> usize {
    (HEADER_BYTES + len).next_multiple_of(SECTOR_BYTES)
}

/// The whole file.
pub(crate) fn encode(search_id: u64, sequence: u64, version: u32, payload: &[u8]) -> Aligned {
    let mut file = Aligned::new(file_len(payload.len()));
    let bytes = file.bytes_mut();
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&frame::VERSION.to_le_bytes());
    bytes[12..16].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    bytes[16..24].copy_from_slice(&search_id.to_le_bytes());
    bytes[24..32].copy_from_slice(&sequence.to_le_bytes());
    bytes[32..40].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes[40..44].copy_from_slice(&version.to_le_bytes());
    bytes[44..44 + PROGRAM.len()].copy_from_slice(PROGRAM.as_bytes());
    let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    bytes[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    file
}

/// Reads the output of [`encode`]: by this program, or by another whose format is the same.
pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, Error> {
    let damaged = |offset: usize, what: &str| Err(Error::damaged(NAME, offset as u64, what));
    if bytes.len() < HEADER_BYTES {
        return damaged(bytes.len(), "the file ends within its header");
    }
    let (header, rest) = bytes.split_at(HEADER_BYTES);
    if header[..8] != *MAGIC {
        return damaged(0, "not a manifest");
    }
    // The checksum has the same place in every format, so a format that is read was written.
    if u32_at(header, HEADER_BYTES - 4) != crc32c::crc32c(&header[..HEADER_BYTES - 4]) {
        return damaged(0, "the header's checksum is wrong");
    }
    let text = header[44..44 + PROGRAM_BYTES]
        .split(|&byte| byte == 0)
        .next();
    let program = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
    let version = u32_at(header, 40);
    let format = u32_at(header, 8);
    if format != frame::VERSION {
        // Formats up to 6 had zeros here; later ones keep these fields at their place.
        let is_known = !program.is_empty() && program.bytes().all(|byte| byte.is_ascii_graphic());
        let found = Versions {
            format,
            payload: is_known.then_some(version),
            program: is_known.then_some(program),
        };
        return Err(Error::other_version(NAME, found, Versions::own()));
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
    if let Some(at) = first_nonzero(padding) {
        return damaged(HEADER_BYTES + len + at, "the padding is not zero");
    }
    Ok(Manifest {
        search_id: u64_at(header, 16),
        sequence: u64_at(header, 24),
        payload: Payload {
            version,
            program,
            bytes: payload.to_vec(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = include_bytes!("../../tests/fixtures/manifest-format-6");
    const FUTURE: &[u8] = include_bytes!("../../tests/fixtures/manifest-format-99");

    #[test]
    fn a_manifest_comes_back_and_no_flipped_bit_does() {
        for len in [0, 1, 64, 4032, 4033, 9000] {
            let payload: Vec<u8> = (0..len).map(|at| (at * 7) as u8).collect();
            let mut file = encode(5, 6, 7, &payload);
            let read = decode(file.bytes()).unwrap();
            assert_eq!((read.search_id, read.sequence), (5, 6));
            assert_eq!(read.payload.of_version(7).unwrap(), payload);
            for at in 0..file.bytes().len() {
                file.bytes_mut()[at] ^= 1 << (at % 8);
                let error = decode(file.bytes()).unwrap_err();
                assert!(matches!(error, Error::Damaged { .. }), "byte {at} of {len}");
                file.bytes_mut()[at] ^= 1 << (at % 8);
            }
            for cut in 0..file.bytes().len() {
                assert!(decode(&file.bytes()[..cut]).is_err());
            }
        }
    }

    /// Sets bytes of the header and makes its checksum right again.
    fn patch(file: &mut [u8], at: usize, bytes: &[u8]) {
        file[at..at + bytes.len()].copy_from_slice(bytes);
        let crc = crc32c::crc32c(&file[..HEADER_BYTES - 4]);
        file[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    }

    #[test]
    fn a_manifest_of_another_format_is_no_damage() {
        let versions = |file: &[u8]| match decode(file) {
            Err(Error::OtherVersion {
                found, supported, ..
            }) => {
                assert_eq!(*supported, Versions::own());
                *found
            }
            other => panic!("{other:?}"),
        };
        let old = Versions {
            format: 6,
            payload: None,
            program: None,
        };
        assert_eq!(versions(OLD), old);
        let future = Versions {
            format: 99,
            payload: Some(12),
            program: Some("7.8.9".to_owned()),
        };
        assert_eq!(versions(FUTURE), future);
        // What is behind the header may have any form.
        assert_eq!(versions(&FUTURE[..HEADER_BYTES]), future);
        for file in [OLD, FUTURE] {
            let mut file = file.to_vec();
            file[8] ^= 1;
            assert!(matches!(decode(&file), Err(Error::Damaged { .. })));
        }
    }

    #[test]
    fn a_payload_of_another_version_or_program_is_not_given_out() {
        let mut file = encode(1, 2, 3, b"payload");
        let refused = |file: &[u8], version| {
            let read = decode(file).unwrap();
            read.payload.of_version(version).unwrap_err().to_string()
        };
        let text = refused(file.bytes(), 4);
        assert!(
            text.contains("payload 3") && text.contains("payload 4"),
            "{text}"
        );
        patch(file.bytes_mut(), 44, b"9.9.9");
        let text = refused(file.bytes(), 3);
        assert!(text.contains("hadal 9.9.9"), "{text}");
        assert!(text.contains(&format!("hadal {PROGRAM}")), "{text}");
    }
}
