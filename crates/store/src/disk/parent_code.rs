//! How the parent of a state is written in about a byte.
//!
//! In breadth-first order the parents of consecutive states never decrease, so an entry is the
//! distance to the parent before and the index: in one byte where both are small, as nearly always,
//! else in as few bytes as they need.

use crate::Parent;
use crate::varint::{read_varint, write_varint};

/// A byte, a distance of at most ten bytes and an index of at most five.
pub(crate) const MOST_PARENT_BYTES: usize = 16;

/// The low bits of an entry's first byte are the index, the others the distance; the largest value
/// of either says that the number follows, less that value.
const INDEX_BITS: u32 = 6;
const INDEX_ESCAPE: u64 = (1 << INDEX_BITS) - 1;
const DISTANCE_ESCAPE: u64 = (1 << (8 - INDEX_BITS)) - 1;

/// Appends `parent`, whose ordinal is at least `last`, that of the entry before.
pub fn encode_parent(bytes: &mut Vec<u8>, last: u64, parent: Parent) {
    let (distance, index) = (parent.ordinal - last, u64::from(parent.index));
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
        ordinal: last.checked_add(distance)?,
        index: u32::try_from(index).ok()?,
    })
}
