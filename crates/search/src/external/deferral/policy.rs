//! When old runs may be skipped, and for how many ranks: by how that went before.

use super::hits::Hits;

/// Decides for how many ranks old runs are skipped.
#[derive(Debug)]
pub(crate) struct DeferralPolicy {
    /// Consecutive ranks none of whose candidates were in old runs.
    n_calm: u32,
    /// After this many calm ranks the next ones are trusted to be calm too.
    wanted: u32,
    /// Where ranks are very thin, this many are risked although old runs have some of their keys.
    stride: u32,
    /// Ranks that must pass before that is risked again, and after the next time it did not pay.
    pause: u32,
    next_pause: u32,
    /// Ranks that are repeated after a roll back, with the hits of the first time known.
    repeated: u32,
    /// Ranks that were committed later than they were found.
    pub(crate) n_late: u64,
    /// Number of roll backs.
    pub(crate) n_rolled_back: u64,
}

/// Calm ranks in a row that say something about the next ones.
const FEW_RANKS: u32 = 8;
/// Deferral pays if runs have this many times the keys of a rank's candidates.
const WORTH: u64 = 8;
/// Most ranks that are risked where old runs are known to have some of their keys.
const MAX_RANKS: u32 = 1 << 12;
/// Divisor: deferral did not pay if more than this part of the keys were in old runs.
const FEW_HITS: u64 = 4;

impl Default for DeferralPolicy {
    fn default() -> Self {
        DeferralPolicy {
            n_calm: 0,
            wanted: FEW_RANKS,
            stride: FEW_RANKS,
            pause: 0,
            next_pause: FEW_RANKS,
            repeated: 0,
            n_late: 0,
            n_rolled_back: 0,
        }
    }
}

impl DeferralPolicy {
    /// Takes note of a rank of whose candidates `n_hits` were in runs.
    pub(crate) fn note_rank(&mut self, n_hits: u64) {
        self.pause = self.pause.saturating_sub(1);
        self.repeated = 0;
        self.n_calm = match n_hits {
            0 => self.n_calm.saturating_add(1),
            _ => 0,
        };
    }

    /// Takes note of ranks that were committed: skipped runs had none of their keys.
    pub(crate) fn note_committed(&mut self, n_ranks: u32) {
        self.n_late += u64::from(n_ranks);
        match self.repeated {
            0 => self.n_calm = self.n_calm.saturating_add(n_ranks),
            _ => self.repeated = 0,
        }
    }

    /// Takes note that `n_ranks` ranks of `n_keys` keys are rolled back because of `hits`.
    pub(crate) fn note_rolled_back(&mut self, n_ranks: u32, n_keys: u64, hits: &Hits) {
        self.n_rolled_back += 1;
        self.n_calm = 0;
        // At most as many ranks are risked as were calm before, so it takes more of these each time.
        self.wanted = self.wanted.saturating_mul(2);
        // The second time there should be no hit left to find.
        let is_second = std::mem::take(&mut self.repeated) > 0;
        if hits.are_listed() && !is_second {
            self.repeated = n_ranks;
        }
        if hits.n_keys > n_keys / FEW_HITS || self.repeated == 0 {
            self.pause = self.next_pause;
            self.next_pause = self.next_pause.saturating_mul(2);
            self.stride = FEW_RANKS;
        } else {
            self.stride = n_ranks.saturating_mul(2).min(MAX_RANKS);
        }
    }

    /// For how many ranks of about `n_candidates` runs with `n_keys` keys may be skipped. Ranks are
    /// very thin if runs have `thin` times their keys.
    pub(crate) fn most_ranks(&self, n_keys: u64, n_candidates: u64, thin: u64) -> Option<u32> {
        // Without candidates nothing is known about the ranks.
        let is_thin = |times: u64| n_candidates > 0 && n_keys / times.max(1) >= n_candidates;
        if self.repeated > 0 {
            return Some(self.repeated);
        }
        if self.n_calm >= self.wanted && is_thin(WORTH) {
            return Some(self.n_calm);
        }
        (self.pause == 0 && is_thin(thin)).then_some(self.stride)
    }
}

#[cfg(test)]
#[path = "../../../tests/parts/deferral_policy.rs"]
mod tests;
