//! Signatures: what a state can do, in terms of blocks.

use crate::word::Word;

/// A label and a block, or [`INERT`] and the new block of the target of an inert step.
pub(super) type Item<W> = (u32, W);

/// In place of a label. No label has this number.
pub(super) const INERT: u32 = u32::MAX;

/// A hash of a signature and of the block that the state is in, which depends on `seed`.
pub(super) fn hash<W: Word>(seed: u64, block: W, items: &[Item<W>]) -> u128 {
    let mut hash = SignatureHash::new(seed, block.get());
    for &(label, block) in items {
        hash.add(label, block.get());
    }
    hash.finish()
}

/// The same, element by element.
pub(super) struct SignatureHash {
    low: u64,
    high: u64,
}

impl SignatureHash {
    pub(super) fn new(seed: u64, block: u64) -> Self {
        SignatureHash {
            low: mix(seed ^ 0x9e37_79b9_7f4a_7c15, block),
            high: mix(seed.wrapping_add(0xc2b2_ae3d_27d4_eb4f), block),
        }
    }

    /// Adds the next element; elements come in order.
    pub(super) fn add(&mut self, label: u32, block: u64) {
        let item = u64::from(label).rotate_left(32) ^ block;
        self.low = mix(self.low, item);
        self.high = mix(self.high.rotate_left(29), item ^ 0x1656_67b1_9e37_79f9);
    }

    pub(super) fn finish(&self) -> u128 {
        u128::from(self.low) | u128::from(self.high) << 64
    }
}

/// The halves of a product, folded: each bit depends on all bits of both.
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ 0xa076_1d64_78bd_642f)
        .wrapping_mul(u128::from(word ^ 0xe703_7ed1_a0b4_28db));
    (product as u64) ^ (product >> 64) as u64
}

/// Whether all of `part` but `left_out` is in `whole`; both are sorted.
pub(super) fn is_subset<W: Word>(part: &[Item<W>], left_out: Item<W>, whole: &[Item<W>]) -> bool {
    let mut rest = whole.iter();
    let mut wanted = part.iter().filter(|&&item| item != left_out);
    wanted.all(|item| rest.by_ref().find(|&it| it >= item) == Some(item))
}
