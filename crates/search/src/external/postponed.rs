//! Old runs that are left alone for some layers.
//!
//! Where a graph is deep and its layers are thin, to look for each layer's candidates in all runs
//! takes far longer than to expand it. In such graphs old runs mostly have none of them: the set in
//! memory knows the states of late, and what is older never comes back. So once old runs have had
//! nothing for some layers they are not looked into any more ([`Calm`]). Only the runs that come to
//! be meanwhile are, until that has cost as much as to look into the old ones. Then all keys since
//! are looked for in these at once ([`are_new`]).
//!
//! If none is there, all is as if it had been looked at every layer. If there is one, the search goes
//! back to where it left old runs alone ([`Postponed`]), and looks into them. Nothing is told or
//! written down before it is certain.

use hadal_store::disk::Waymark;
use hadal_store::run::{Batch, Sorted, Union, Versioned, fence_splitters, subtract};
use hadal_store::{Error, Log};

use super::parallel::in_parallel;
use super::resolve::resolving_threads;
use super::tiers::{Means, Segment, Tiers, Views};
use crate::progress::Work;

/// What is remembered while old runs are left alone, to go back to.
pub(crate) struct Postponed {
    pub(crate) parents: Waymark,
    /// The log, with the states that were to be expanded; once these are, others go to a new one.
    pub(crate) log: Option<Log>,
    pub(crate) n_layers: u32,
    /// So many layers are risked.
    most_layers: u32,
    /// Keys of all runs that were looked into since.
    n_looked_into: u64,
}

impl Postponed {
    pub(crate) fn new(parents: Waymark, calm: &Calm) -> Self {
        Postponed {
            parents,
            log: None,
            n_layers: 0,
            most_layers: calm.n_layers,
            n_looked_into: 0,
        }
    }

    /// Takes note of a layer that was looked for in the runs of `tiers` that are not left alone.
    pub(crate) fn note_layer(&mut self, tiers: &Tiers) {
        self.n_layers += 1;
        self.n_looked_into += tiers.n_keys() - tiers.n_postponed_keys();
    }

    /// Whether it is time to look into all runs.
    pub(crate) fn is_due(&self, tiers: &Tiers) -> bool {
        self.n_layers >= self.most_layers || self.n_looked_into >= tiers.n_postponed_keys()
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.parents.data_bytes() + self.log.as_ref().map_or(0, Log::data_bytes)
    }
}

/// For how long old runs have had nothing, which tells whether they may be left alone.
#[derive(Debug)]
pub(crate) struct Calm {
    /// Layers in a row none of whose candidates were in runs.
    n_layers: u32,
    /// So many are asked for.
    wanted: u32,
    /// Layers of which it was found out later that old runs had nothing, in all.
    pub(crate) n_late: u64,
    /// How many times they had something.
    pub(crate) n_mistakes: u64,
}

/// So many layers in a row tell something about the next.
const FEW_LAYERS: u32 = 8;
/// It is worth it if there are so many times as many keys in runs as candidates in a layer.
const WORTH: u64 = 8;

impl Default for Calm {
    fn default() -> Self {
        Calm {
            n_layers: 0,
            wanted: FEW_LAYERS,
            n_late: 0,
            n_mistakes: 0,
        }
    }
}

impl Calm {
    /// Takes note of a layer of whose candidates runs had `n_old`.
    pub(crate) fn note_layer(&mut self, n_old: u64) {
        self.n_layers = match n_old {
            0 => self.n_layers.saturating_add(1),
            _ => 0,
        };
    }

    /// Takes note of layers of which old runs had nothing, as was found out later.
    pub(crate) fn note_certain(&mut self, n_layers: u32) {
        self.n_layers = self.n_layers.saturating_add(n_layers);
        self.n_late += u64::from(n_layers);
    }

    /// Takes note of layers of which old runs had something: they were in vain. As many as went well
    /// before are risked at most, so it takes more of these each time.
    pub(crate) fn note_mistaken(&mut self) {
        self.n_layers = 0;
        self.wanted = self.wanted.saturating_mul(2);
        self.n_mistakes += 1;
    }

    /// Whether runs with `n_keys` keys may be left alone by layers of `n_candidates`.
    pub(crate) fn is_worth_it(&self, n_keys: u64, n_candidates: u64) -> bool {
        self.n_layers >= self.wanted && n_keys / WORTH >= n_candidates
    }
}

/// Keys that keep a thread busy long enough to be worth its waking.
const PART_KEYS: u64 = 1 << 12;

/// Whether the runs that are left alone have none of the keys of the others.
pub(crate) fn are_new(tiers: &Tiers, means: &Means<'_>) -> Result<bool, Error> {
    let n_words = means.keyed.key_shape().n_words;
    let views = Views::new(tiers.segments(), means.keyed);
    let view = |segment| views.of(segment);
    let young: Vec<Versioned<'_>> = tiers.looked_into().map(view).collect();
    let old: Vec<Versioned<'_>> = tiers.left_alone().map(view).collect();
    let n_keys: u64 = tiers.looked_into().map(Segment::n_keys).sum();
    means.gauge.begin_work(Work::Resolving, 0, n_keys);

    let n_threads = resolving_threads(means);
    let n_parts = (n_keys / PART_KEYS).clamp(1, 4 * means.n_threads as u64) as usize;
    let splitters = fence_splitters(n_words, &young, n_parts);
    let n_at_once = n_threads.min(splitters.n_parts()) as u64;
    let batch_keys = (means.batch_bytes / n_at_once / (8 * n_words as u64 + 16)) as usize;
    let n_about = n_keys / splitters.n_parts() as u64;
    let found = in_parallel(n_threads, splitters.n_parts(), |part| {
        let range = splitters.range(part);
        let mut keys = Counted {
            keys: Union::new(n_words, &young, range),
            n_keys: 0,
            means,
        };
        let mut n_new = 0;
        subtract(&mut keys, n_about, range, &old, batch_keys, |keys, _| {
            n_new += (keys.len() / n_words) as u64;
            Ok(())
        })?;
        Ok(n_new == keys.n_keys)
    })?;
    means.gauge.end_work();
    Ok(found.into_iter().all(|are_new| are_new))
}

/// Keys that are counted as they go by.
struct Counted<'a> {
    keys: Union<'a>,
    n_keys: u64,
    means: &'a Means<'a>,
}

impl Sorted for Counted<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let more = self.keys.next_batch(batch)?;
        let n_keys = (batch.keys.len() / self.keys.n_words()) as u64;
        self.n_keys += n_keys;
        self.means.gauge.note_worked(n_keys);
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::Calm;

    #[test]
    fn runs_are_left_alone_when_they_had_nothing_for_long_and_longer_after_a_mistake() {
        let mut calm = Calm::default();
        let wanted = |calm: &mut Calm| {
            (1..100).find(|_| {
                calm.note_layer(0);
                calm.is_worth_it(1000, 10)
            })
        };
        assert_eq!(wanted(&mut calm), Some(8));
        assert!(!calm.is_worth_it(1000, 200), "layers are not thin");
        calm.note_certain(3);
        assert_eq!(calm.n_layers, 11);
        calm.note_layer(1);
        assert_eq!(wanted(&mut calm), Some(8));
        calm.note_mistaken();
        assert_eq!(wanted(&mut calm), Some(16));
        calm.note_mistaken();
        assert_eq!(wanted(&mut calm), Some(32));
    }
}
