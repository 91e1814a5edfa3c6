//! The part of a parent log that goes into the manifest.

use super::HEADER_BYTES;
use crate::BLOCK_BYTES;
use crate::disk::frame::u64_at;
use crate::disk::parent_code::decode_parent;
use crate::varint::{read_varint, write_varint};

/// The state of a log without the content of its finished blocks.
pub(super) struct Mark<'a> {
    pub(super) name: &'a str,
    pub(super) firsts: Vec<u64>,
    pub(super) tail: &'a [u8],
    pub(super) tail_first: u64,
    pub(super) n_entries: u64,
    pub(super) last: u64,
}

impl<'a> Mark<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_varint(&mut bytes, self.name.len() as u64);
        bytes.extend_from_slice(self.name.as_bytes());
        write_varint(&mut bytes, self.firsts.len() as u64);
        let ends = self.firsts.iter().skip(1).chain([&self.tail_first]);
        for (first, end) in self.firsts.iter().zip(ends) {
            write_varint(&mut bytes, end - first);
        }
        write_varint(&mut bytes, self.n_entries - self.tail_first);
        write_varint(&mut bytes, self.last);
        bytes.extend_from_slice(self.tail);
        bytes
    }

    pub(super) fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let name_len = usize::try_from(read_varint(bytes)?).ok()?;
        let (name, rest) = bytes.split_at_checked(name_len)?;
        *bytes = rest;
        let n_blocks = u32::try_from(read_varint(bytes)?).ok()?;
        // Every block has a number of at least a byte here, so a wrong count is detected before it
        // costs memory.
        let mut firsts = Vec::new();
        let mut first = 0u64;
        for _ in 0..n_blocks {
            firsts.push(first);
            let n_entries = read_varint(bytes)?;
            if n_entries == 0 {
                return None;
            }
            first = first.checked_add(n_entries)?;
        }
        let n_in_tail = read_varint(bytes)?;
        let mark = Self {
            name: str::from_utf8(name).ok()?,
            firsts,
            tail_first: first,
            n_entries: first.checked_add(n_in_tail)?,
            last: read_varint(bytes)?,
            tail: bytes,
        };
        // The entries of the tail are not checked again later.
        let (header, mut entries) = mark.tail.split_at_checked(HEADER_BYTES)?;
        let mut last = u64_at(header, 8);
        for _ in 0..n_in_tail {
            last = decode_parent(&mut entries, last)?.ordinal;
        }
        let is_whole = entries.is_empty() && last == mark.last && mark.tail.len() <= BLOCK_BYTES;
        (is_whole && u64_at(header, 0) == mark.tail_first).then_some(mark)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::Mark;
    use crate::disk::ParentLog;
    use crate::disk::{BlockWriter, Folder, FolderOptions, Kind, NativeDisk};
    use crate::{BLOCK_BYTES, BlockSink, Error};

    /// Checksums do not detect what was wrong before it was written.
    #[test]
    fn blocks_of_garbage_with_good_checksums_are_damage() {
        let path = tempfile::tempdir().unwrap();
        let disk = Arc::new(NativeDisk::open(path.path()).unwrap());
        let (folder, _) = Folder::open(disk, FolderOptions::default()).unwrap();
        let mut rng = Pcg64Mcg::seed_from_u64(4);
        let mut writer = BlockWriter::create(&folder, Kind::Parents).unwrap();
        let name = writer.name().to_owned();
        let n_blocks = 40;
        for block in 0..n_blocks {
            let mut bytes = vec![0; rng.random_range(0..BLOCK_BYTES)];
            rng.fill_bytes(&mut bytes);
            // Some have a valid header.
            if block % 2 == 0 && bytes.len() >= 20 {
                bytes[..8].copy_from_slice(&(block * 50_000u64).to_le_bytes());
                bytes[16..20].copy_from_slice(&50_000u32.to_le_bytes());
            }
            writer.put(&bytes).unwrap();
        }
        drop(writer.finish().unwrap());
        let n_entries = n_blocks * 50_000;
        let mut tail = n_entries.to_le_bytes().to_vec();
        tail.extend_from_slice(&[0; 12]);
        let mark = Mark {
            name: &name,
            firsts: (0..n_blocks).map(|block| block * 50_000).collect(),
            tail: &tail,
            tail_first: n_entries,
            n_entries,
            last: 0,
        };
        let log = ParentLog::reopen(&folder, &mark.encode()).unwrap();
        for block in 0..n_blocks {
            let last = log.get(block * 50_000 + 49_999);
            assert!(matches!(last, Err(Error::Damaged { .. })), "block {block}");
        }
    }

    #[test]
    fn marks_of_garbage_are_refused() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        for _ in 0..10_000 {
            let mut bytes = vec![0; rng.random_range(0..200)];
            rng.fill_bytes(&mut bytes);
            // Small numbers get further.
            for byte in &mut bytes {
                *byte >>= rng.random_range(0..8);
            }
            if let Some(mark) = Mark::decode(&bytes) {
                assert!(mark.tail.len() <= bytes.len() && mark.tail_first <= mark.n_entries);
            }
        }
    }
}
