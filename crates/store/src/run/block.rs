//! A block of a run as it lies on disk.
//!
//! ```text
//! offset  bytes           what (numbers are little-endian)
//! 0       1               2: version of this layout
//! 1       1               words of a key, W: 1 to 16
//! 2       2               zero
//! 4       4               number of keys
//! 8       4               number of groups, g
//! 12      4               bytes of the groups' data, d
//! 16      8 W             first key, most significant word first
//! 16+8W   8 W             mask: bits in which keys of the block differ; b bytes hold them
//! then    b g             first key of each group, reduced by the mask
//!         2 g             where each group's data begin
//!         g               size of each group: its binary logarithm, 0 to 5
//!         d               data of the groups
//!         16              zero, so that whole words can be loaded anywhere before
//! ```
//!
//! The data of a group of one key are empty. Else they are `b` bytes of a mask, the reduced bits in
//! which keys of the group differ (at most 57), and for each key but the first these bits, packed.
//! So a key is found without decoding: its group is the last one that does not begin after it; it
//! must agree with the group's first key outside the group's mask; the rest is searched for among a
//! few sorted numbers, each of which is one unaligned load.

use super::PACKED_WORDS;
use super::damage::Damage;
use super::reduced::{Reduction, load_u64};

/// Version of the layout above.
pub(crate) const VERSION: u8 = 2;
/// Bytes before the first key.
pub(crate) const HEADER_BYTES: usize = 16;
/// Zero bytes at the end.
pub(crate) const PADDING_BYTES: usize = 16;
/// Most bits a packed number can have so that one unaligned load of 8 bytes has them all.
pub(crate) const MAX_PACKED_BITS: u32 = 57;
/// Binary logarithm of the largest group.
pub(crate) const MAX_SIZE_LOG: u32 = 5;
/// Most keys of a block.
pub(crate) const MAX_KEYS: usize = 1 << 16;

/// A block whose sections lie within it. Their content is checked where it is used.
#[derive(Clone)]
pub(crate) struct View<'a> {
    /// The block.
    pub(crate) bytes: &'a [u8],
    /// First key and mask.
    pub(crate) reduction: Reduction,
    /// Number of keys.
    pub(crate) n_keys: usize,
    /// Number of groups.
    pub(crate) n_groups: usize,
    /// Where the groups' first keys are.
    pub(crate) bases_at: usize,
    /// Where the groups' offsets are.
    pub(crate) offsets_at: usize,
    /// Where the groups' sizes are.
    pub(crate) sizes_at: usize,
    /// Where the groups' data are.
    pub(crate) data_at: usize,
    /// Where the groups' data end.
    pub(crate) data_end: usize,
}

/// Where a group's packed numbers are, how many bits each has, and its mask's place.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// Binary logarithm of the number of keys.
    pub(crate) size_log: u32,
    /// Where the mask is.
    pub(crate) mask_at: usize,
}

impl<'a> View<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Damage> {
        if bytes.len() < HEADER_BYTES + PADDING_BYTES {
            return Err(Damage("too short"));
        }
        let header = &bytes[..HEADER_BYTES];
        if header[0] != VERSION {
            return Err(Damage("unknown version"));
        }
        let n_words = usize::from(header[1]);
        if n_words == 0 || n_words > PACKED_WORDS {
            return Err(Damage("number of words"));
        }
        if header[2..4] != [0; 2] {
            return Err(Damage("reserved bytes"));
        }
        let number = |at: usize| (load_u64(bytes, at) & u64::from(u32::MAX)) as usize;
        let (n_keys, n_groups, data_len) = (number(4), number(8), number(12));
        if n_keys == 0 || n_keys > MAX_KEYS || n_groups == 0 || n_groups > n_keys {
            return Err(Damage("number of keys"));
        }
        let bases_at = HEADER_BYTES + 16 * n_words;
        if bytes.len() < bases_at {
            return Err(Damage("too short"));
        }
        let mut words = [0; 2 * PACKED_WORDS];
        for (i, word) in words[..2 * n_words].iter_mut().enumerate() {
            *word = load_u64(bytes, HEADER_BYTES + 8 * i);
        }
        let reduction = Reduction::new(&words[..n_words], &words[n_words..2 * n_words])?;
        let offsets_at = bases_at + n_groups * reduction.n_bytes();
        let sizes_at = offsets_at + 2 * n_groups;
        let data_at = sizes_at + n_groups;
        let data_end = data_at + data_len;
        if bytes.len() != data_end + PADDING_BYTES {
            return Err(Damage("length"));
        }
        Ok(View {
            bytes,
            reduction,
            n_keys,
            n_groups,
            bases_at,
            offsets_at,
            sizes_at,
            data_at,
            data_end,
        })
    }

    /// Group `group`, which must be less than the number of groups. Its mask lies within the data.
    #[inline(always)]
    pub(crate) fn group(&self, group: usize) -> Result<Group, Damage> {
        let at = self.offsets_at + 2 * group;
        let offset = u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]);
        let size_log = u32::from(self.bytes[self.sizes_at + group]);
        let mask_at = self.data_at + usize::from(offset);
        if size_log > MAX_SIZE_LOG {
            return Err(Damage("size of a group"));
        }
        if size_log > 0 && mask_at + self.reduction.n_bytes() > self.data_end {
            return Err(Damage("data of a group"));
        }
        Ok(Group { size_log, mask_at })
    }

    /// Where the packed numbers of `group` are, if numbers of `width` bits fit there.
    #[inline(always)]
    pub(crate) fn packed_at(&self, group: Group, width: u32) -> Result<usize, Damage> {
        if group.size_log == 0 {
            return Ok(group.mask_at);
        }
        let at = group.mask_at + self.reduction.n_bytes();
        let n_bits = ((1 << group.size_log) - 1) * width;
        if width > MAX_PACKED_BITS || at + n_bits.div_ceil(8) as usize > self.data_end {
            return Err(Damage("data of a group"));
        }
        Ok(at)
    }
}

/// The `i`-th of the numbers of `width` bits, at most [`MAX_PACKED_BITS`], packed from `at` on.
#[inline(always)]
pub(crate) fn unpack(bytes: &[u8], at: usize, i: usize, width: u32) -> u64 {
    let bit = i * width as usize;
    let word = load_u64(bytes, at + bit / 8) >> (bit % 8);
    word & !(u64::MAX << (width & 63))
}
