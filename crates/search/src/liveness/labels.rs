//! Labels of edges on disk: how an edge renames the goals, as a number.
//!
//! Label 0 is the identity. Maps are numbered as they turn up, on any thread, so their numbers differ
//! from run to run, and nothing else does. There may be as many maps as renamings; where no more of them
//! fit in memory, an edge is written once for each goal, with a label that says which goal of its source
//! becomes which goal of its target.

use std::sync::RwLock;

use hadal_model::Shape;
use hadal_store::lock::{read, write};

use super::maps::{IDENTITY, Inverses, Maps};

/// Labels while edges are made.
pub(super) struct LabelMaker {
    maps: RwLock<Maps>,
    n_goals: u64,
    /// Maps that may be numbered.
    most_maps: u64,
}

/// Labels of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Labelled {
    /// One.
    Whole(u64),
    /// One for each goal.
    ByGoal(Box<[u64]>),
}

impl LabelMaker {
    /// No map yet; they may take about `bytes`.
    pub(super) fn new(shape: &Shape, bytes: u64) -> Self {
        let maps = Maps::new(shape);
        let n_goals = maps.goals().len();
        LabelMaker {
            most_maps: (bytes / Maps::bytes_for(n_goals)).clamp(1, u64::from(u32::MAX)),
            n_goals: n_goals as u64,
            maps: RwLock::new(maps),
        }
    }

    /// All labels are less than this.
    pub(super) fn end(&self) -> Option<u64> {
        let singles = self.n_goals.checked_mul(self.n_goals)?;
        singles.checked_add(self.most_maps + 1)
    }

    /// The labels of the maps of a block, by their numbers there.
    pub(super) fn labels_of(&self, block: &Maps) -> Vec<Labelled> {
        let identity = Labelled::Whole(IDENTITY.into());
        if block.is_empty() {
            return vec![identity];
        }
        let mut maps = write(&self.maps);
        let labels = block.iter().map(|map| {
            let number = match maps.known(map) {
                None if (maps.len() as u64) < self.most_maps => Some(maps.number_of_map(map)),
                number => number,
            };
            match number {
                Some(number) => Labelled::Whole(number.into()),
                None => {
                    let single = |(goal, &image): (u64, &u32)| {
                        1 + self.most_maps + goal * self.n_goals + u64::from(image)
                    };
                    Labelled::ByGoal((0..).zip(map).map(single).collect())
                }
            }
        });
        std::iter::once(identity).chain(labels).collect()
    }

    /// Memory held, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        let maps = read(&self.maps);
        maps.data_bytes() + maps.inverted_bytes()
    }

    /// The labels for whoever follows edges back.
    pub(super) fn finish(self) -> Labels {
        let maps = self
            .maps
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Labels {
            n_goals: self.n_goals,
            n_numbered: self.most_maps,
            inverses: maps.inverted(),
        }
    }
}

/// Labels while edges are followed back.
#[derive(Debug)]
pub(super) struct Labels {
    n_goals: u64,
    n_numbered: u64,
    inverses: Inverses,
}

impl Labels {
    /// Only the identity, for `n_goals` goals.
    #[cfg(test)]
    pub(super) fn identity(n_goals: usize) -> Self {
        Labels {
            n_goals: n_goals as u64,
            n_numbered: 1,
            inverses: Inverses::identity(n_goals),
        }
    }

    /// Calls `each` with each goal that the source of an edge with this label reaches where its target
    /// reaches `goals`, those of this part; `None` if there is no such label.
    pub(super) fn each_origin(
        &self,
        label: u64,
        part: usize,
        goals: u64,
        mut each: impl FnMut(usize),
    ) -> Option<()> {
        let mut left = goals;
        if let Some(single) = label.checked_sub(1 + self.n_numbered) {
            let (goal, image) = (single / self.n_goals, single % self.n_goals);
            if goal >= self.n_goals {
                return None;
            }
            if image / 64 == part as u64 && (goals >> (image % 64)) & 1 == 1 {
                each(goal as usize);
            }
            return Some(());
        }
        let map = u32::try_from(label).ok()?;
        if map as usize >= self.inverses.len() {
            return None;
        }
        while left != 0 {
            let image = 64 * part + left.trailing_zeros() as usize;
            left &= left - 1;
            each(self.inverses.origin(map, image));
        }
        Some(())
    }
}

#[cfg(test)]
#[path = "../../tests/parts/liveness_labels.rs"]
mod tests;
