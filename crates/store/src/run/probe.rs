//! Probing a block for many keys, without decoding it unless they are dense.

use super::block::{Group, View, unpack};
use super::damage::Damage;
use super::dense::probe_dense;
use super::reduced::{Reduced, Wide};
use crate::bits::{self, Bits, Kernel};
use crate::prefetch::prefetch;

/// Candidates reduced at a time.
const BATCH: usize = 128;
/// A block is decoded if it has at most this many keys for each candidate.
const DENSE: usize = 8;
/// Groups that are compared without a branch.
const NEAR: usize = 4;

/// Marks in `present` those of the ascending keys `candidates` that are in the block. Marked
/// candidates stay so and are not probed.
pub(crate) fn probe(view: &View, candidates: &[u64], present: &mut [bool]) -> Result<(), Damage> {
    let n_wanted = present.iter().filter(|present| !**present).count();
    if n_wanted * DENSE >= view.n_keys {
        return probe_dense(view, candidates, present);
    }
    bits::run(Probe::new(view, candidates, present))
}

/// Probing, as a loop that is compiled for several processors.
pub(crate) struct Probe<'a> {
    view: &'a View<'a>,
    candidates: &'a [u64],
    present: &'a mut [bool],
}

impl Kernel for Probe<'_> {
    type Output = Result<(), Damage>;

    #[inline(always)]
    fn run<B: Bits>(self, bits: B) -> Self::Output {
        match self.view.reduction.n_words {
            1 => self.probe::<B, 1>(bits),
            2 => self.probe::<B, 2>(bits),
            3 => self.probe::<B, 3>(bits),
            4 => self.probe::<B, 4>(bits),
            _ => self.probe::<B, 0>(bits),
        }
    }
}

impl<'a> Probe<'a> {
    pub(crate) fn new(view: &'a View<'a>, candidates: &'a [u64], present: &'a mut [bool]) -> Self {
        Probe {
            view,
            candidates,
            present,
        }
    }

    #[inline(always)]
    fn probe<B: Bits, const W: usize>(self, bits: B) -> Result<(), Damage> {
        match self.view.reduction.n_bits {
            0..=64 => self.probe_as::<B, u64, W>(bits),
            65..=128 => self.probe_as::<B, u128, W>(bits),
            _ => self.probe_as::<B, Wide, W>(bits),
        }
    }

    /// A batch goes through three loops, each over all that the one before left, so that no
    /// candidate waits for another's loads.
    #[inline(always)]
    fn probe_as<B: Bits, R: Reduced, const W: usize>(self, bits: B) -> Result<(), Damage> {
        let view = self.view;
        let n_words = if W == 0 { view.reduction.n_words } else { W };
        let reduced_bytes = view.reduction.n_bytes();
        let base = |group: usize| {
            R::load(
                view.bytes,
                view.bases_at + group * reduced_bytes,
                reduced_bytes,
            )
        };
        let mut keys = [R::default(); BATCH];
        let mut groups = [0u32; BATCH];
        let mut places = [0u8; BATCH];
        let mut group = 0;
        let batches = self.candidates.chunks(BATCH * n_words);
        for (candidates, present) in batches.zip(self.present.chunks_mut(BATCH)) {
            // Reduces all, and drops those without the bits that the block's keys share.
            let mut n_left = 0;
            for (place, key) in candidates.chunks_exact(n_words).enumerate() {
                let (key, agrees) = view.reduction.reduce::<B, R, W>(bits, key);
                keys[n_left] = key;
                places[n_left] = place as u8;
                n_left += usize::from(agrees & !present[place]);
            }
            // Finds the group of each, and prefetches its data.
            for (key, found) in keys[..n_left].iter().zip(&mut groups) {
                group = last_not_after(view, key, group);
                *found = group as u32;
                prefetch(view.bytes, view.group(group)?.mask_at);
            }
            // Searches the groups.
            for i in 0..n_left {
                let (key, number) = (&keys[i], groups[i] as usize);
                let group = view.group(number)?;
                let first = base(number);
                let mask = if group.size_log == 0 {
                    R::default()
                } else {
                    R::load(view.bytes, group.mask_at, reduced_bytes)
                };
                // Without the bits that the group's keys share it is not among them.
                if !key.differs_outside(&first, &mask) {
                    let (first, wanted) = (first.extract(bits, &mask), key.extract(bits, &mask));
                    present[usize::from(places[i])] =
                        is_in_group(view, group, mask.count_ones(), first, wanted)?;
                }
            }
        }
        Ok(())
    }
}

/// The last group from `group` on that does not begin after `key`; `group` itself if all do.
#[inline(always)]
fn last_not_after<R: Reduced>(view: &View, key: &R, mut group: usize) -> usize {
    let reduced_bytes = view.reduction.n_bytes();
    let begins_before = |group: usize| {
        R::load(
            view.bytes,
            view.bases_at + group * reduced_bytes,
            reduced_bytes,
        )
        .not_after(key)
    };
    // Mostly it is near: the next few are counted without a branch.
    if group + NEAR < view.n_groups {
        let mut n_before = 0;
        for i in 1..=NEAR {
            n_before += usize::from(begins_before(group + i));
        }
        group += n_before;
        if n_before < NEAR {
            return group;
        }
    }
    let mut step = 1;
    while group + step < view.n_groups && begins_before(group + step) {
        group += step;
        step *= 2;
    }
    // The group is in group..group + step.
    while step > 1 {
        step /= 2;
        if group + step < view.n_groups && begins_before(group + step) {
            group += step;
        }
    }
    group
}

/// Whether `wanted` is `first` or among the packed numbers of a group, of `width` bits each.
#[inline(always)]
fn is_in_group(
    view: &View,
    group: Group,
    width: u32,
    first: u64,
    wanted: u64,
) -> Result<bool, Damage> {
    let packed_at = view.packed_at(group, width)?;
    // The numbers ascend, the first before them: a search without branches, for none would be
    // predictable.
    let (mut found, mut n_before) = (first, 0);
    for step_log in (0..group.size_log).rev() {
        let step = 1 << step_log;
        let number = unpack(view.bytes, packed_at, n_before + step - 1, width);
        let before = number <= wanted;
        n_before = if before { n_before + step } else { n_before };
        found = if before { number } else { found };
    }
    Ok(found == wanted)
}
