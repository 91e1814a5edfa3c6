//! Looking for many keys in a block, without decoding it.

use super::bits::{self, Bits, Kernel};
use super::block::{View, unpack};
use super::damage::Damage;
use super::reduced::{Reduced, Wide};

/// Candidates reduced at a time.
const BATCH: usize = 128;

/// Marks in `present` those of the ascending keys `candidates` that are in the block.
/// What is marked already stays so and is not looked for.
pub(crate) fn probe(view: &View, candidates: &[u64], present: &mut [bool]) -> Result<(), Damage> {
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

    #[inline(always)]
    fn probe_as<B: Bits, R: Reduced, const W: usize>(self, bits: B) -> Result<(), Damage> {
        let view = self.view;
        let n_words = if W == 0 { view.reduction.n_words } else { W };
        let reduced_bytes = view.reduction.n_bytes();
        let mut reduced = [R::default(); BATCH];
        let mut places = [0u8; BATCH];
        let mut group = 0;
        let batches = self.candidates.chunks(BATCH * n_words);
        for (candidates, present) in batches.zip(self.present.chunks_mut(BATCH)) {
            // First all are reduced, and those without the block's common bits dropped: no step of
            // this waits for another.
            let mut n_reduced = 0;
            for (place, key) in candidates.chunks_exact(n_words).enumerate() {
                let (key, agrees) = view.reduction.reduce::<B, R, W>(bits, key);
                reduced[n_reduced] = key;
                places[n_reduced] = place as u8;
                n_reduced += usize::from(agrees & !present[place]);
            }
            for (key, &place) in reduced[..n_reduced].iter().zip(&places) {
                group = last_not_after(view, key, group);
                let base = R::load(
                    view.bytes,
                    view.bases_at + group * reduced_bytes,
                    reduced_bytes,
                );
                present[usize::from(place)] = is_in_group(view, bits, group, &base, key)?;
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
    // Mostly it is near.
    for _ in 0..8 {
        if group + 1 >= view.n_groups || !begins_before(group + 1) {
            return group;
        }
        group += 1;
    }
    let mut step = 8;
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

/// Whether `key` is in group `group`, which begins with `base`.
#[inline(always)]
fn is_in_group<B: Bits, R: Reduced>(
    view: &View,
    bits: B,
    group: usize,
    base: &R,
    key: &R,
) -> Result<bool, Damage> {
    let group = view.group(group)?;
    if group.size_log == 0 {
        return Ok(!key.differs_outside(base, &R::default()));
    }
    let mask = R::load(view.bytes, group.mask_at, view.reduction.n_bytes());
    if key.differs_outside(base, &mask) {
        return Ok(false);
    }
    let width = mask.count_ones();
    let packed_at = view.packed_at(group, width)?;
    let wanted = key.extract(bits, &mask);
    // The numbers ascend, the base's before them: a search without branches, for nothing here is
    // predictable.
    let (mut found, mut n_before) = (base.extract(bits, &mask), 0);
    for step_log in (0..group.size_log).rev() {
        let step = 1 << step_log;
        let number = unpack(view.bytes, packed_at, n_before + step - 1, width);
        let before = number <= wanted;
        n_before = if before { n_before + step } else { n_before };
        found = if before { number } else { found };
    }
    Ok(found == wanted)
}
