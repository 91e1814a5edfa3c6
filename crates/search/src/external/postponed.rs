//! Old runs that are left alone for some layers.
//!
//! Where a graph is deep and its layers are thin, to look for each layer's candidates in all runs
//! takes far longer than to expand it. So old runs are left alone ([`Trust`] says when): only the
//! runs that come to be meanwhile are looked into, until that has cost as much as to look into the
//! old ones. Then all keys since are looked for in these at once ([`old_keys`]).
//!
//! In many deep graphs they have none of them: the set in memory knows the states of late, and what
//! is older never comes back. Then all is as if it had been looked at every layer. If they have some,
//! the search goes back to where it left them alone ([`Postponed`]), and goes through the layers again
//! knowing which keys are old. That is all there is to know: a state is found at its true depth, or
//! in an old run, for so are those before it. So what is wrongly taken for new is in old runs, and
//! all of it comes up the first time.
//!
//! Nothing is told or written down before it is certain.

use hadal_store::disk::Waymark;
use hadal_store::run::{Batch, Sorted, Union, Versioned, fence_splitters, intersect};
use hadal_store::{Error, Log};

use super::parallel::in_parallel;
use super::resolve::{keys_at_once, n_parts_of, resolving_threads};
use super::tiers::{Means, Tiers, Views};
use crate::progress::Work;

/// What is remembered while old runs are left alone, to go back to.
pub(crate) struct Postponed {
    pub(crate) parents: Waymark,
    /// The log, with the states that were to be expanded; once these are, others go to a new one.
    pub(crate) log: Option<Log>,
    pub(crate) n_layers: u32,
    /// So many layers are risked.
    most_layers: u32,
    /// Candidates of the layer before, and of the last one.
    n_before: u64,
    n_candidates: u64,
    /// Keys of all runs that were looked into since.
    n_looked_into: u64,
    /// What was found to be old, once that was looked for.
    pub(crate) old: Old,
}

impl Postponed {
    pub(crate) fn new(parents: Waymark, most_layers: u32, n_before: u64) -> Self {
        Postponed {
            parents,
            log: None,
            n_layers: 0,
            most_layers,
            n_before,
            n_candidates: n_before,
            n_looked_into: 0,
            old: Old::default(),
        }
    }

    /// Takes note of a layer of `n_candidates` that were looked for in the runs of `tiers` that are
    /// not left alone.
    pub(crate) fn note_layer(&mut self, n_candidates: u64, tiers: &Tiers) {
        self.n_layers += 1;
        self.n_candidates = n_candidates;
        self.n_looked_into += tiers.n_young_keys();
    }

    /// Whether it is time to look into all runs.
    pub(crate) fn is_due(&self, tiers: &Tiers) -> bool {
        // What is wrongly taken for new may be ever more.
        let has_grown = self.n_candidates > GROWTH * self.n_before.max(FEW_CANDIDATES);
        has_grown
            || self.n_layers >= self.most_layers
            || self.n_looked_into >= tiers.n_postponed_keys()
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.parents.data_bytes() + self.log.as_ref().map_or(0, Log::data_bytes)
    }
}

/// Whether old runs may be left alone, and for how long, by how that went before.
#[derive(Debug)]
pub(crate) struct Trust {
    /// Layers in a row none of whose candidates were in runs.
    n_calm: u32,
    /// If they were so many, the next ones are trusted to be like them.
    wanted: u32,
    /// In spite of what runs have, so many layers are risked where they are very thin.
    stride: u32,
    /// So many layers must pass before that is tried again, and after the next time that it was not
    /// worth it.
    pause: u32,
    next_pause: u32,
    /// So many layers are gone through again, with what is known to be old.
    again: u32,
    /// Layers that were made certain later than they were found, in all.
    pub(crate) n_late: u64,
    /// How many times the search went back.
    pub(crate) n_mistakes: u64,
}

/// So many layers in a row tell something about the next.
const FEW_LAYERS: u32 = 8;
/// It is worth it if there are so many times as many keys in runs as candidates in a layer.
const WORTH: u64 = 8;
/// Layers that are risked at most where it is known that old runs have something.
const MOST_LAYERS: u32 = 1 << 12;
/// If more than one in so many of the keys since were old, it was not worth it.
const FEW_OLD: u64 = 4;
/// Nor is it to go on when a layer has so many times as many candidates as that before the first.
const GROWTH: u64 = 2;
/// As long as these are not very few.
const FEW_CANDIDATES: u64 = 16;

impl Default for Trust {
    fn default() -> Self {
        Trust {
            n_calm: 0,
            wanted: FEW_LAYERS,
            stride: FEW_LAYERS,
            pause: 0,
            next_pause: FEW_LAYERS,
            again: 0,
            n_late: 0,
            n_mistakes: 0,
        }
    }
}

impl Trust {
    /// Takes note of a layer of whose candidates runs had `n_old`.
    pub(crate) fn note_layer(&mut self, n_old: u64) {
        self.pause = self.pause.saturating_sub(1);
        self.again = 0;
        self.n_calm = match n_old {
            0 => self.n_calm.saturating_add(1),
            _ => 0,
        };
    }

    /// Takes note of layers of which old runs had nothing that was not known, as was found out later.
    pub(crate) fn note_certain(&mut self, n_layers: u32) {
        self.n_late += u64::from(n_layers);
        match self.again {
            0 => self.n_calm = self.n_calm.saturating_add(n_layers),
            _ => self.again = 0,
        }
    }

    /// Takes note that of `n_layers` with `n_keys` keys old runs had `old`: they were in vain.
    pub(crate) fn note_mistaken(&mut self, n_layers: u32, n_keys: u64, old: &Old) {
        self.n_mistakes += 1;
        self.n_calm = 0;
        // As many as went well before are risked at most, so it takes more of these each time.
        self.wanted = self.wanted.saturating_mul(2);
        // The second time nothing should be left to be found.
        let is_second = std::mem::take(&mut self.again) > 0;
        if old.is_known() && !is_second {
            self.again = n_layers;
        }
        if old.n_keys > n_keys / FEW_OLD || self.again == 0 {
            self.pause = self.next_pause;
            self.next_pause = self.next_pause.saturating_mul(2);
            self.stride = FEW_LAYERS;
        } else {
            self.stride = n_layers.saturating_mul(2).min(MOST_LAYERS);
        }
    }

    /// For how many layers of about `n_candidates` runs with `n_keys` keys may be left alone. Layers
    /// are very thin if there are `thin` times as many keys.
    pub(crate) fn most_layers(&self, n_keys: u64, n_candidates: u64, thin: u64) -> Option<u32> {
        // If there were none, nothing is known of the layers.
        let is_thin = |times: u64| n_candidates > 0 && n_keys / times.max(1) >= n_candidates;
        if self.again > 0 {
            return Some(self.again);
        }
        if self.n_calm >= self.wanted && is_thin(WORTH) {
            return Some(self.n_calm);
        }
        (self.pause == 0 && is_thin(thin)).then_some(self.stride)
    }
}

/// Keys that old runs had.
#[derive(Debug, Default)]
pub(crate) struct Old {
    pub(crate) n_keys: u64,
    /// All of them, ascending, or none if they are too many.
    pub(crate) keys: Vec<u64>,
}

impl Old {
    /// Whether all of them are known.
    pub(crate) fn is_known(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// The keys of runs that are looked into that those have which are left alone.
pub(crate) fn old_keys(tiers: &Tiers, means: &Means<'_>) -> Result<Old, Error> {
    let n_words = means.keyed.key_shape().n_words;
    let views = Views::new(tiers.segments(), means.keyed);
    let view = |segment| views.of(segment);
    let young: Vec<Versioned<'_>> = tiers.young().map(view).collect();
    let old: Vec<Versioned<'_>> = tiers.left_alone().map(view).collect();
    let n_keys = tiers.n_young_keys();
    means.gauge.begin_work(Work::Resolving, 0, n_keys);

    let n_threads = resolving_threads(means);
    let splitters = fence_splitters(n_words, &young, n_parts_of(n_keys, means));
    let n_at_once = n_threads.min(splitters.n_parts()) as u64;
    // What is old takes memory too.
    let batch_bytes = means.batch_bytes / 2;
    let batch_keys = keys_at_once(batch_bytes / n_at_once, n_words);
    let most_words = (batch_bytes / 8) as usize / splitters.n_parts();
    let n_about = n_keys / splitters.n_parts() as u64;
    let parts = in_parallel(n_threads, splitters.n_parts(), |part| {
        let range = splitters.range(part);
        let mut keys = Counted {
            keys: Union::new(n_words, &young, range),
            means,
        };
        let mut found = Old::default();
        intersect(&mut keys, n_about, range, &old, batch_keys, |key| {
            found.n_keys += 1;
            if found.keys.len() + n_words <= most_words {
                found.keys.extend_from_slice(key);
            }
        })?;
        Ok(found)
    })?;
    means.gauge.end_work();
    let mut all = Old::default();
    for part in parts {
        all.n_keys += part.n_keys;
        all.keys.extend(part.keys);
    }
    if (all.keys.len() / n_words) as u64 != all.n_keys {
        all.keys = Vec::new();
    }
    Ok(all)
}

/// Keys of which it is told how many went by.
struct Counted<'a> {
    keys: Union<'a>,
    means: &'a Means<'a>,
}

impl Sorted for Counted<'_> {
    fn n_words(&self) -> usize {
        self.keys.n_words()
    }

    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let more = self.keys.next_batch(batch)?;
        let n_keys = batch.keys.len() / self.keys.n_words();
        self.means.gauge.note_worked(n_keys as u64);
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use super::{Old, Trust};

    const THIN: u64 = 1000;

    /// Layers without anything old until runs of a hundred keys for a candidate are left alone.
    fn n_wanted(trust: &mut Trust) -> Option<u32> {
        (1..100).find(|_| {
            trust.note_layer(0);
            trust.most_layers(1000, 10, THIN).is_some()
        })
    }

    #[test]
    fn runs_are_left_alone_when_they_had_nothing_for_long_and_longer_after_a_mistake() {
        let unknown = Old {
            n_keys: 1,
            keys: Vec::new(),
        };
        let mut trust = Trust::default();
        assert_eq!(n_wanted(&mut trust), Some(8));
        assert_eq!(trust.most_layers(1000, 10, THIN), Some(8));
        assert_eq!(trust.most_layers(1000, 200, THIN), None, "layers are large");
        trust.note_certain(3);
        assert_eq!(trust.most_layers(1000, 10, THIN), Some(11));
        trust.note_layer(1);
        assert_eq!(n_wanted(&mut trust), Some(8));
        trust.note_mistaken(5, 50, &unknown);
        assert_eq!(n_wanted(&mut trust), Some(16));
        trust.note_mistaken(5, 50, &unknown);
        assert_eq!(n_wanted(&mut trust), Some(32));
    }

    #[test]
    fn what_is_known_to_be_old_is_used_once_and_thin_layers_are_risked() {
        let few = Old {
            n_keys: 2,
            keys: vec![1, 2],
        };
        let many = Old {
            n_keys: 60,
            keys: Vec::new(),
        };
        let mut trust = Trust::default();
        trust.note_layer(7);
        let of_thin = |trust: &Trust| trust.most_layers(1_000_000, 10, THIN);
        assert_eq!(of_thin(&trust), Some(8));
        trust.note_mistaken(8, 100, &few);
        assert_eq!(of_thin(&trust), Some(8), "again");
        trust.note_certain(8);
        assert_eq!(of_thin(&trust), Some(16), "few were old");
        trust.note_mistaken(16, 100, &many);
        assert_eq!(of_thin(&trust), None, "nothing is known of so many");
        (0..8).for_each(|_| trust.note_layer(1));
        assert_eq!(of_thin(&trust), Some(8));
        trust.note_mistaken(8, 100, &few);
        trust.note_mistaken(8, 100, &few);
        assert_eq!(of_thin(&trust), None, "twice is enough");
        (0..16).for_each(|_| trust.note_layer(1));
        assert_eq!(of_thin(&trust), Some(8));
        assert_eq!(
            trust.most_layers(1_000_000, 0, THIN),
            None,
            "unknown layers"
        );
    }
}
