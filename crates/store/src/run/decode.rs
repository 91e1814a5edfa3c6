//! All keys of a block, one group after the other.

use super::PACKED_WORDS;
use super::block::{MAX_KEYS, View, unpack};
use super::damage::Damage;
use super::reduced::{Reduced, Wide};
use crate::bits::{self, Bits, Kernel};

/// How far a block is decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Groups decoded.
    pub(crate) n_groups: usize,
    /// Keys decoded.
    pub(crate) n_keys: usize,
}

/// Appends keys of whole groups to `out`, from `progress` on, until `n_wanted` keys or more have
/// been appended or the block ends.
pub(crate) fn decode(
    view: &View,
    progress: Progress,
    n_wanted: usize,
    out: &mut Vec<u64>,
) -> Result<Progress, Damage> {
    let progress = bits::run(Decode::new(view, progress, n_wanted, out))?;
    let all_groups = progress.n_groups == view.n_groups;
    if progress.n_keys > view.n_keys || all_groups != (progress.n_keys == view.n_keys) {
        return Err(Damage("number of keys"));
    }
    Ok(progress)
}

/// Decoding, as a loop that is compiled for several processors.
pub(crate) struct Decode<'a> {
    view: &'a View<'a>,
    progress: Progress,
    n_wanted: usize,
    out: &'a mut Vec<u64>,
}

impl Kernel for Decode<'_> {
    type Output = Result<Progress, Damage>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Self::Output {
        match self.view.reduction.n_words {
            1 => self.decode::<B, 1>(bits),
            2 => self.decode::<B, 2>(bits),
            3 => self.decode::<B, 3>(bits),
            4 => self.decode::<B, 4>(bits),
            _ => self.decode::<B, 0>(bits),
        }
    }
}

impl<'a> Decode<'a> {
    pub(crate) fn new(
        view: &'a View<'a>,
        progress: Progress,
        n_wanted: usize,
        out: &'a mut Vec<u64>,
    ) -> Self {
        Decode {
            view,
            progress,
            n_wanted,
            out,
        }
    }

    #[inline(always)]
    fn decode<B: Bits, const W: usize>(self, bits: B) -> Result<Progress, Damage> {
        match self.view.reduction.n_bits {
            0..=64 => self.decode_as::<B, u64, W>(bits),
            65..=128 => self.decode_as::<B, u128, W>(bits),
            _ => self.decode_as::<B, Wide, W>(bits),
        }
    }

    #[inline(always)]
    fn decode_as<B: Bits, R: Reduced, const W: usize>(self, bits: B) -> Result<Progress, Damage> {
        let view = self.view;
        let reduction = &view.reduction;
        let n_words = if W == 0 { reduction.n_words } else { W };
        let reduced_bytes = reduction.n_bytes();
        let mut fixed = [0; PACKED_WORDS];
        for (i, fixed) in fixed[..n_words].iter_mut().enumerate() {
            *fixed = reduction.first[i] & !reduction.mask[i];
        }
        let mut progress = self.progress;
        let until = progress.n_keys.saturating_add(self.n_wanted).min(MAX_KEYS);
        while progress.n_groups < view.n_groups && progress.n_keys < until {
            let group = view.group(progress.n_groups)?;
            let base = R::load(
                view.bytes,
                view.bases_at + progress.n_groups * reduced_bytes,
                reduced_bytes,
            );
            let mut key = reduction.expand::<B, R, W>(bits, &base);
            for i in 0..n_words {
                key[i] |= fixed[i];
            }
            self.out.extend_from_slice(&key[..n_words]);
            if group.size_log > 0 {
                let mask = R::load(view.bytes, group.mask_at, reduced_bytes);
                let width = mask.count_ones();
                let packed_at = view.packed_at(group, width)?;
                let mask = reduction.expand::<B, R, W>(bits, &mask);
                let mut shift = [0; PACKED_WORDS];
                let mut n_bits = 0;
                for i in (0..n_words).rev() {
                    key[i] &= !mask[i];
                    shift[i] = n_bits;
                    n_bits += mask[i].count_ones();
                }
                let n_packed = (1 << group.size_log) - 1;
                let from = self.out.len();
                self.out.resize(from + n_packed * n_words, 0);
                for (j, out) in self.out[from..].chunks_exact_mut(n_words).enumerate() {
                    let number = unpack(view.bytes, packed_at, j, width);
                    for i in 0..n_words {
                        out[i] = key[i] | bits.deposit(number >> (shift[i] & 63), mask[i]);
                    }
                }
            }
            progress.n_keys += 1 << group.size_log;
            progress.n_groups += 1;
        }
        Ok(progress)
    }
}
