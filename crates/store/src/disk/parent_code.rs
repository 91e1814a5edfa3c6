//! How the parent of a state is written in about a byte.
//!
//! Parents of consecutive states rarely decrease (in breadth-first order never, in others where a
//! rank begins), so an entry is the distance from the parent before and the index: in one byte where
//! both are small, as nearly always, else in as few bytes as they need. Distances are modulo 2^64, so
//! a parent before the last one is a large distance, which takes ten bytes.

use crate::Parent;
use crate::varint::{read_varint, write_varint};

/// A byte, a distance of at most ten bytes and an index of at most five.
pub(crate) const MOST_PARENT_BYTES: usize = 16;

/// The low bits of an entry's first byte are the index, the others the distance; the largest value
/// of either marks that the number follows, less that value.
const INDEX_BITS: u32 = 6;
const INDEX_ESCAPE: u64 = (1 << INDEX_BITS) - 1;
const DISTANCE_ESCAPE: u64 = (1 << (8 - INDEX_BITS)) - 1;

/// Appends `parent`; `last` is the ordinal of the parent before.
pub fn encode_parent(bytes: &mut Vec<u8>, last: u64, parent: Parent) {
    let (distance, index) = (parent.ordinal.wrapping_sub(last), u64::from(parent.index));
    let (short_distance, short_index) = (distance.min(DISTANCE_ESCAPE), index.min(INDEX_ESCAPE));
    bytes.push((short_distance << INDEX_BITS | short_index) as u8);
    if short_distance == DISTANCE_ESCAPE {
        write_varint(bytes, distance - DISTANCE_ESCAPE);
    }
    if short_index == INDEX_ESCAPE {
        write_varint(bytes, index - INDEX_ESCAPE);
    }
}

/// Takes an entry from the front of `bytes`; `None` if there is none.
pub fn decode_parent(bytes: &mut &[u8], last: u64) -> Option<Parent> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut distance = u64::from(first >> INDEX_BITS);
    let mut index = u64::from(first) & INDEX_ESCAPE;
    if distance == DISTANCE_ESCAPE {
        distance = distance.checked_add(read_varint(bytes)?)?;
    }
    if index == INDEX_ESCAPE {
        index = index.checked_add(read_varint(bytes)?)?;
    }
    Some(Parent {
        ordinal: last.wrapping_add(distance),
        index: u32::try_from(index).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::{MOST_PARENT_BYTES, decode_parent, encode_parent};
    use crate::Parent;

    fn bytes_of(parents: &[Parent]) -> Vec<u8> {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for &parent in parents {
            let before = bytes.len();
            encode_parent(&mut bytes, last, parent);
            assert!(bytes.len() - before <= MOST_PARENT_BYTES);
            last = parent.ordinal;
        }
        bytes
    }

    #[test]
    fn any_sequence_comes_back() {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        for _ in 0..1000 {
            let parents: Vec<Parent> = (0..100)
                .map(|_| Parent {
                    ordinal: rng.random::<u64>() >> rng.random_range(0..64),
                    index: rng.random::<u32>() >> rng.random_range(0..32),
                })
                .chain([u64::MAX, 0, u64::MAX, 1, 0].map(|ordinal| Parent { ordinal, index: 7 }))
                .collect();
            let bytes = bytes_of(&parents);
            let (mut rest, mut last) = (&bytes[..], 0);
            for &parent in &parents {
                assert_eq!(decode_parent(&mut rest, last), Some(parent));
                last = parent.ordinal;
            }
            assert_eq!(decode_parent(&mut rest, last), None);
        }
    }

    /// Files that were written before parents could decrease have these bytes.
    #[test]
    fn bytes_of_parents_that_do_not_decrease() {
        let parents = [(0, 0), (0, 1), (2, 62), (5, 63), (405, 200), (405, 0)];
        let parents = parents.map(|(ordinal, index)| Parent { ordinal, index });
        let expected = [0, 1, 0xbe, 0xff, 0, 0, 0xff, 0x8d, 0x03, 0x89, 0x01, 0];
        assert_eq!(bytes_of(&parents), expected);
    }
}
