//! The edges of a search, until their targets have ordinals.
//!
//! A duplicate that is found on disk, or among the candidates of a rank, has no ordinal at hand. So
//! where a sink wants the whole [graph](crate::EdgesWanted::Graph), edges are logged with the keys of
//! their targets, and states stay in their log. When the search has ended, keys and ordinals are
//! joined ([`Engine::give_graph`](crate::engine::Engine::give_graph)). This is so whether or not all
//! states are in memory: the join takes about as long as looking up the ordinals would, and no index
//! of all states.

use hadal_store::SegmentEntry;
use hadal_store::disk::Folder;
use hadal_store::edge_log::{EdgeBatch, EdgeHead, EdgeLog, write_edges};
use hadal_store::key_space::KeySpace;

use crate::budget::{Budget, retention};
use crate::pool::Pool;
use crate::window::{Block, Task};
use crate::{Error, SearchFolder};

/// The edges so far.
#[derive(Default)]
pub(crate) struct GraphLog {
    pub(crate) edges: EdgeLog,
    is_attached: bool,
}

/// Divisor: the part of the budget for edges in memory, where there is a folder.
const SHARE: u64 = 16;

impl GraphLog {
    /// What edges keep in memory, where there is a folder.
    pub(crate) fn share(budget: &Budget) -> u64 {
        budget.total_bytes / SHARE
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.edges.memory_bytes()
    }

    /// Appends the edges of `tasks`, whose candidates have keys of the newest layout.
    pub(crate) fn append(
        &mut self,
        tasks: &[Task],
        keys: &KeySpace,
        pool: &Pool<'_>,
        folder: Option<&SearchFolder>,
        budget: &Budget,
    ) -> Result<(), Error> {
        if let (
            false,
            Some(SearchFolder {
                folder, resumable, ..
            }),
        ) = (self.is_attached, folder)
        {
            let retention = retention(Self::share(budget), *resumable);
            self.edges.attach(folder, retention)?;
            self.is_attached = true;
        }
        let mut tasks: Vec<(&Task, Vec<EdgeBatch>)> =
            tasks.iter().map(|task| (task, Vec::new())).collect();
        pool.each(tasks.iter_mut(), |(task, batches), _| {
            encode(task, keys, batches);
        });
        let version = keys.shape().version;
        for batch in tasks.iter().flat_map(|(_, batches)| batches) {
            self.edges.append(batch, version)?;
        }
        Ok(())
    }

    /// Puts all edges on disk, and lists them for a manifest.
    pub(crate) fn commit(&mut self) -> Result<Vec<SegmentEntry>, hadal_store::Error> {
        self.edges.commit()
    }

    /// The edges that a manifest lists.
    pub(crate) fn reopen(
        folder: &Folder,
        entries: &[SegmentEntry],
        budget: &Budget,
    ) -> Result<Self, Error> {
        let retention = retention(Self::share(budget), true);
        Ok(GraphLog {
            edges: EdgeLog::reopen(folder, retention, entries)?,
            is_attached: true,
        })
    }
}

/// The edges of a task as bytes; startstates have none.
fn encode(task: &Task, keys: &KeySpace, batches: &mut Vec<EdgeBatch>) {
    let Block::States { first, .. } = task.block else {
        return;
    };
    let successors = &task.kernel.successors;
    let heads = (0..task.n_candidates()).map(|position| EdgeHead {
        source: first + u64::from(successors.source_of(position)),
        rule: successors.rule(position),
        multiplicity: successors.multiplicity(position),
    });
    let n_words = keys.shape().n_words;
    write_edges(heads, task.candidate_keys(keys), n_words, batches);
}
