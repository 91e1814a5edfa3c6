//! Probing a block for nearly as many keys as it has, by decoding it.
//!
//! Decoding is sequential, and a key takes a few independent instructions. Walking keys and
//! candidates side by side is a loop without unpredictable branches. So where candidates are dense
//! it is cheaper to decode every key than to search for each candidate (see `probe`).

use super::batch::key;
use super::block::View;
use super::damage::Damage;
use super::decode::{Progress, decode};
use super::merge::{is_equal, is_less};

/// Keys decoded at once, so that they stay in the cache.
const BATCH_KEYS: usize = 1024;
/// Keys that a candidate is compared with in one step.
const NEAR: usize = 4;

/// Marks in `present` those of the ascending keys `candidates` that are in the block. Existing
/// marks stay.
pub(crate) fn probe_dense(
    view: &View,
    candidates: &[u64],
    present: &mut [bool],
) -> Result<(), Damage> {
    let n_words = view.reduction.n_words;
    let mut progress = Progress::default();
    let mut keys = Vec::new();
    let mut at = 0;
    while at < present.len() && progress.n_groups < view.n_groups {
        keys.clear();
        progress = decode(view, progress, BATCH_KEYS, &mut keys)?;
        let (candidates, present) = (&candidates[at * n_words..], &mut present[at..]);
        at += match n_words {
            1 => mark::<1>(1, &keys, candidates, present),
            2 => mark::<2>(2, &keys, candidates, present),
            3 => mark::<3>(3, &keys, candidates, present),
            4 => mark::<4>(4, &keys, candidates, present),
            _ => mark::<0>(n_words, &keys, candidates, present),
        };
    }
    Ok(())
}

/// Marks those of `candidates` that are among `keys`. Returns how many are not behind the last key.
/// `W` is the number of words, or 0 if only known at run time.
#[inline(always)]
fn mark<const W: usize>(
    n_words: usize,
    keys: &[u64],
    candidates: &[u64],
    present: &mut [bool],
) -> usize {
    let n_words = if W == 0 { n_words } else { W };
    let n_keys = keys.len() / n_words;
    let (mut at, mut at_key) = (0, 0);
    // A step passes either keys that all come before the candidate, or the candidate.
    while at < present.len() && at_key + NEAR < n_keys {
        let candidate = key(candidates, n_words, at);
        let mut n_before = 0;
        for i in 0..NEAR {
            n_before += usize::from(is_less::<W>(key(keys, n_words, at_key + i), candidate));
        }
        at_key += n_before;
        present[at] |= is_equal::<W>(key(keys, n_words, at_key), candidate);
        at += usize::from(n_before < NEAR);
    }
    // The last keys one by one.
    loop {
        // Neither ends within this many steps.
        let n_steps = (n_keys - at_key).min(present.len() - at);
        if n_steps == 0 {
            return at;
        }
        for _ in 0..n_steps {
            let (candidate, key) = (key(candidates, n_words, at), key(keys, n_words, at_key));
            let passes_key = !is_less::<W>(candidate, key);
            let passes_candidate = !is_less::<W>(key, candidate);
            present[at] |= passes_key & passes_candidate;
            at += usize::from(passes_candidate);
            at_key += usize::from(passes_key);
        }
    }
}
