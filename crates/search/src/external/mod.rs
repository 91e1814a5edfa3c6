//! What a search does when memory ends: visited states lie in sorted runs on a disk, and the set in
//! memory only remembers those of late.
//!
//! A layer then goes like this. Successors that the set does not know are *candidates*: they may
//! be new, or older than the set remembers. They are written down in the order in which they were
//! generated ([`Candidates`]), and their keys are dealt out to buckets ([`Hands`]).
//! When the layer is expanded, the keys of one bucket after the other are put in order, equal
//! candidates are made one, the first of them, and what older
//! runs have is taken away ([`resolve`]); a bit for each candidate tells which are left.
//! These are the new states. They become a run ([`Tiers`]), and going over the candidates once more
//! gives them their ordinals, in the same order as if memory had never ended ([`settle`]).
//!
//! Old runs may be left alone for some layers ([`Postponed`]).
//!
//! What depends on how much memory there is, the size of the cache, hands, buckets and slices,
//! changes no result.

#[cfg(test)]
mod bench;
mod bitmap;
mod buckets;
mod candidates;
mod hands;
mod merging;
mod parallel;
mod postponed;
mod preparation;
mod resolve;
mod segment;
mod settle;
mod shares;
mod sweep;
mod tiers;
mod views;

pub(crate) use bitmap::Bitmap;
pub(crate) use candidates::{
    Candidates, PARCEL_HEAD, damaged_log, parcels, read_parents, write_parents,
};
pub(crate) use hands::Hands;
pub(crate) use postponed::{Postponed, Trust, old_keys};
pub(crate) use preparation::Preparation;
pub(crate) use resolve::resolve;
pub(crate) use settle::Settling;
pub(crate) use shares::{Shares, keep, sort_reserve};
pub(crate) use sweep::sweep;
pub(crate) use tiers::{Means, RUN, Tiers};

/// What a search has beside the set since memory ended.
pub(crate) struct External {
    pub(crate) shares: Shares,
    pub(crate) tiers: Tiers,
    pub(crate) candidates: Candidates,
    pub(crate) trust: Trust,
    /// While old runs are left alone.
    pub(crate) postponed: Option<Postponed>,
}

impl External {
    /// Memory held, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        let postponed = self.postponed.as_ref().map_or(0, Postponed::memory_bytes);
        self.tiers.memory_bytes() + self.candidates.memory_bytes() + postponed
    }
}
