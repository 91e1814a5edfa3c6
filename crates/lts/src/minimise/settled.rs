//! Blocks of a single state. No round can split them, so their states are passed over from then on.
//!
//! They have the greatest numbers, from the last but one downwards, where numbers of a table do not
//! get: a table has as many blocks as there are states that are not settled, and a little more.

use super::table::Table;
use crate::word::Word;

/// The blocks of a single state that were found so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    n: u64,
}

impl Settled {
    /// Their number.
    pub(super) fn len(self) -> u64 {
        self.n
    }

    /// Whether a block is one of them.
    #[inline]
    pub(super) fn contains<W: Word>(self, block: W) -> bool {
        block.get() >= W::MAX.get() - self.n
    }

    /// Settles the blocks of `blocks` that have one state. The others have numbers of a table with
    /// shards of these lengths.
    pub(super) fn add<W: Word>(&mut self, blocks: &mut [W], lens: &[usize]) {
        let before = *self;
        let mut begins = Vec::with_capacity(lens.len());
        let mut end = 0;
        for len in lens {
            begins.push(end);
            end += len;
        }
        let place = |block: W| {
            let (shard, position) = Table::split(block);
            begins[shard] + position
        };
        let (mut once, mut again) = (Bits::new(end), Bits::new(end));
        for &block in blocks.iter().filter(|&&block| !before.contains(block)) {
            let place = place(block);
            match once.get(place) {
                true => again.set(place),
                false => once.set(place),
            }
        }
        for block in blocks.iter_mut() {
            if !before.contains(*block) && !again.get(place(*block)) {
                self.n += 1;
                *block = W::new(W::MAX.get() - self.n);
            }
        }
    }
}

/// A bit for each of many things.
struct Bits(Vec<u64>);

impl Bits {
    fn new(n: usize) -> Self {
        Bits(vec![0; n.div_ceil(64)])
    }

    fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }
}
