//! Ranks: what is expanded together, and in which order.
//!
//! Ranks are expanded in ascending order. Breadth-first search ranks states by depth; a search by
//! cost ranks them by the least cost of a path, which makes it Dijkstra's algorithm.
//! A successor whose rank is not the next one waits in the log of its rank, which is *open* until
//! all lower ranks are expanded; only then is it decided whether the successor is new. A state
//! belongs to the least rank that reaches it.

use std::collections::BTreeMap;

use hadal_model::Successors;
use hadal_store::codec::KeyShape;
use hadal_store::disk::Folder;
use hadal_store::{Error as StoreError, Retention, write_deltas};
use serde::{Deserialize, Serialize};

use crate::external::{CandidateLog, write_parents};
use crate::keys::KeySpace;
use crate::window::Task;

/// The position of a state in the order of expansion.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rank(pub u64);

/// Assigns ranks to successors.
pub trait RankOrder: Send + Sync {
    /// Its name. A search is resumed in the order in which it began.
    fn name(&self) -> &'static str;

    /// Appends to `ranks` the rank of each successor in the buffer, whose sources have the rank
    /// `from`; `None` is the imaginary source of the startstates. No rank may be less than `from`.
    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>);

    /// Whether the rank of a state is its depth, so that all successors of a rank belong to the
    /// next one. The engine then decides at once whether a successor is new.
    fn is_depth(&self) -> bool {
        false
    }

    /// Whether ranks depend on the costs of steps.
    fn needs_costs(&self) -> bool {
        false
    }
}

/// Ranks states by depth: breadth-first search.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByDepth;

impl RankOrder for ByDepth {
    fn name(&self) -> &'static str {
        "depth"
    }

    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>) {
        let rank = Rank(from.map_or(0, |from| from.0 + 1));
        ranks.extend(std::iter::repeat_n(rank, successors.len()));
    }

    fn is_depth(&self) -> bool {
        true
    }
}

/// Ranks states by the least cost of a path: Dijkstra's algorithm. A cost may be zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByCost;

impl RankOrder for ByCost {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn rank_successors(&self, from: Option<Rank>, successors: &Successors, ranks: &mut Vec<Rank>) {
        match from {
            None => ranks.extend(std::iter::repeat_n(Rank(0), successors.len())),
            Some(from) => {
                let rank = |position| Rank(from.0 + u64::from(successors.cost(position)));
                ranks.extend((0..successors.len()).map(rank));
            }
        }
    }

    fn needs_costs(&self) -> bool {
        true
    }
}

/// Candidates of ranks that are not expanded yet.
#[derive(Default)]
pub(crate) struct OpenRanks {
    ranks: BTreeMap<Rank, CandidateLog>,
    /// Where logs are, and how many bytes of all of them together may be in memory.
    disk: Option<(Folder, Retention)>,
    scratch: Scratch,
}

/// Buffers for sorting a task's candidates by rank.
#[derive(Default)]
struct Scratch {
    ranks: Vec<Rank>,
    positions: Vec<u32>,
    batch: Vec<u8>,
}

impl OpenRanks {
    /// From now on logs are written to `folder`, all of them or what `keep` does not allow in
    /// memory. Logs that exist are moved there.
    pub(crate) fn attach(
        &mut self,
        folder: &Folder,
        retention: Retention,
        shape: KeyShape,
    ) -> Result<(), StoreError> {
        self.disk = Some((folder.clone(), retention));
        for log in self.ranks.values_mut() {
            let moved = CandidateLog::new(Some((folder, retention)), shape)?;
            log.move_to(moved)?;
        }
        Ok(())
    }

    /// Appends the candidates of `task`, whose sources have the rank `from`.
    pub(crate) fn append(
        &mut self,
        task: &Task,
        from: Option<Rank>,
        order: &dyn RankOrder,
        keys: &KeySpace,
    ) -> Result<(), StoreError> {
        let Scratch {
            ranks,
            positions,
            batch,
        } = &mut self.scratch;
        ranks.clear();
        order.rank_successors(from, &task.kernel.successors, ranks);
        let name = order.name();
        assert_eq!(
            ranks.len(),
            task.n_candidates(),
            "ranks of the order {name}"
        );
        positions.clear();
        positions.extend(0..ranks.len() as u32);
        // Stable, so that the candidates of a rank stay in the order of generation.
        positions.sort_by_key(|&position| ranks[position as usize]);
        let n_words = keys.codec.newest().n_words;
        for group in positions.chunk_by(|&a, &b| ranks[a as usize] == ranks[b as usize]) {
            let rank = ranks[group[0] as usize];
            assert!(from.is_none_or(|from| rank >= from), "ranks never decrease");
            batch.clear();
            let words = task.codec_keys();
            let key = |&position: &u32| &words[position as usize * n_words..][..n_words];
            write_deltas(n_words, group.iter().map(key), batch);
            let parents = group
                .iter()
                .map(|&position| task.parent_of(position as usize));
            write_parents(parents, batch);
            let log = match self.ranks.entry(rank) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let disk = self
                        .disk
                        .as_ref()
                        .map(|(folder, retention)| (folder, *retention));
                    entry.insert(CandidateLog::new(disk, keys.codec.newest())?)
                }
            };
            log.append(batch, group.len())?;
        }
        Ok(())
    }

    /// Continues with keys of another layout.
    pub(crate) fn set_shape(&mut self, shape: KeyShape) -> Result<(), StoreError> {
        (self.ranks.values_mut()).try_for_each(|log| log.set_shape(shape))
    }

    /// Takes the lowest open rank.
    pub(crate) fn pop_first(&mut self) -> Option<(Rank, CandidateLog)> {
        self.ranks.pop_first()
    }

    /// Adds a rank that a manifest lists.
    pub(crate) fn insert(&mut self, rank: Rank, log: CandidateLog) {
        self.ranks.insert(rank, log);
    }

    /// All open ranks.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Rank, &mut CandidateLog)> {
        self.ranks.iter_mut().map(|(rank, log)| (*rank, log))
    }

    /// Memory held, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.ranks.values().map(CandidateLog::memory_bytes).sum()
    }
}
