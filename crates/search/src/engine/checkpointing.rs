//! The engine's part of a checkpoint: its states, saved and restored.

use hadal_store::candidate_log::CandidateLog;
use hadal_store::codec::Mark;
use hadal_store::disk::{Folder, ParentLog};
use hadal_store::tiers::Tiers;
use hadal_store::{Keys, Log, Placing, QueueDisk, Retention, damaged_log};

use super::{Context, Engine};
use crate::budget::retention;
use crate::checkpoint::{Blob, NextRank, StoredRuns, StoredStates, damaged_manifest};
use crate::external::DiskContext;
use crate::graph::GraphLog;
use crate::rank::Rank;
use crate::storage::{Storage, fresh_set, growth_bytes, insert};
use crate::{Error, SearchFolder};

/// Records that are added to the set at once.
const RECORDS_AT_ONCE: u64 = 1 << 16;

impl<'a> Engine<'a, '_> {
    /// From now on writes everything that a later run needs.
    pub(crate) fn begin_checkpoints(&mut self) -> Result<(), Error> {
        if let Some(SearchFolder {
            folder,
            resumable: true,
            ..
        }) = self.context.folder
        {
            self.states.write_all(folder)?;
            self.open.attach(in_memory(folder), u64::MAX)?;
        }
        Ok(())
    }

    /// Makes everything durable and lists it. `next` is the rank of the candidates that external
    /// storage collects.
    pub(crate) fn save(&mut self, next: Rank) -> Result<Option<StoredStates>, Error> {
        let Context { keys, folder, .. } = self.context;
        let Some(SearchFolder { folder, .. }) = folder else {
            return Ok(None);
        };
        let (mut runs, mut candidates) = (None, None);
        if let Storage::External(external) = &mut self.storage {
            let (tiers, compaction) = external.tiers.commit(&external.disk.runs())?;
            runs = Some(StoredRuns { tiers, compaction });
            let log = &mut external.candidates.log;
            if !log.is_empty() {
                candidates = Some(NextRank {
                    rank: next,
                    log: log.commit()?,
                    n_candidates: log.len(),
                });
            }
        }
        let mut codec = Vec::new();
        keys.codec.write_since(&mut Mark::default(), &mut codec);
        Ok(Some(StoredStates {
            n_states: self.states.len(),
            store: keys.store(),
            codec: Blob(codec),
            log: self.states.records.commit()?,
            parents: Blob(self.states.parents.commit(folder)?),
            parents_file: self.states.parents.file_name(),
            runs,
            candidates,
            open: self.open.commit()?,
            edges: self.graph.as_mut().map(GraphLog::commit).transpose()?,
        }))
    }

    /// Restores what a checkpoint lists; states before `first_left` are expanded.
    pub(crate) fn restore(&mut self, stored: &StoredStates, first_left: u64) -> Result<(), Error> {
        let Some(disk) = self.disk_context() else {
            return Err(damaged_manifest("there is no folder"));
        };
        let keys = disk.keys;
        if keys.store() != stored.store {
            return Err(Error::OtherStore {
                begun: stored.store,
                asked: keys.store(),
            });
        }
        disk.folder.sweep(stored.files())?;
        let read = keys.codec.read_log(&stored.codec.0);
        read.map_err(|error| damaged_manifest(&error.to_string()))?;
        let ample_bytes = self.context.budget.ample_bytes();
        self.storage = Storage::resident(self.context.shape, keys, false, ample_bytes);
        self.states.parents = ParentLog::reopen(disk.folder, &stored.parents.0)?;
        // The dictionaries take their part of the budget now.
        let disk = self.disk_context().unwrap_or(disk);
        let retention = match &stored.runs {
            Some(_) => Retention::BytesAndWrite(disk.shares.frontier),
            None if self.graph.is_some() => Retention::BytesAndWrite(disk.shares.frontier),
            None => Retention::AllAndWrite,
        };
        self.restore_graph(stored, &disk)?;
        let mut log = Log::reopen(disk.folder.clone(), retention, &stored.log)?;
        if log.is_empty() {
            log.begin_at(stored.n_states);
        }
        if log.len() != stored.n_states || self.states.parents.len() != stored.n_states {
            return Err(damaged_manifest("states are missing"));
        }
        self.states.records = log;
        match &stored.runs {
            Some(runs) => {
                let tiers = Tiers::open(disk.folder, &runs.tiers, runs.compaction)?;
                self.begin_external(fresh_set(keys), tiers, disk)?;
            }
            None => self.fill_set(disk, stored.n_states, first_left)?,
        }
        self.restore_candidates(stored, &disk)?;
        if self.keeps_log() {
            self.states.records.evict_before(first_left);
        } else {
            self.states.records.drop_before(first_left);
        }
        Ok(())
    }

    /// Reopens the log of edges; a search without a graph cannot give one later.
    fn restore_graph(
        &mut self,
        stored: &StoredStates,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        match (&mut self.graph, &stored.edges) {
            (Some(graph), Some(edges)) => {
                *graph = GraphLog::reopen(disk.folder, edges, self.context.budget)?;
                Ok(())
            }
            (None, None) => Ok(()),
            (graph, _) => Err(Error::OtherSink {
                has_sink: graph.is_some(),
            }),
        }
    }

    fn restore_candidates(
        &mut self,
        stored: &StoredStates,
        disk: &DiskContext<'_>,
    ) -> Result<(), Error> {
        let is_external = matches!(self.storage, Storage::External(_));
        let queue = match is_external {
            true => disk.open_ranks(),
            false => in_memory(disk.folder),
        };
        self.open.restore(queue, &stored.open)?;
        if let Storage::External(external) = &mut self.storage
            && let Some(candidates) = &stored.candidates
        {
            let retention = retention(disk.shares.candidates, disk.durable);
            let log = CandidateLog::reopen(disk.folder, retention, &candidates.log, disk.keys)?;
            if log.len() != candidates.n_candidates {
                return Err(damaged_manifest("candidates are missing"));
            }
            let disk = external.disk;
            (external.candidates).load(log, 0, &external.tiers, &disk)?;
        }
        Ok(())
    }

    /// Adds the keys of all states to the set again, and flushes them to disk if they do not fit.
    fn fill_set(
        &mut self,
        disk: DiskContext<'a>,
        n_states: u64,
        first_left: u64,
    ) -> Result<(), Error> {
        let (keys, budget) = (disk.keys, self.context.budget);
        let placing = Placing::new(keys.shape().n_bits);
        let (mut batch, mut words) = (Keys::default(), Vec::new());
        let mut tiers = Tiers::default();
        let mut first = 0;
        while first < n_states {
            let n = RECORDS_AT_ONCE.min(n_states - first);
            let slices = self.states.records.read(first, n as usize)?;
            first += n;
            words.clear();
            for slice in &slices {
                (keys.keys_of(slice, &mut words)).ok_or_else(|| damaged_log("states"))?;
            }
            batch.fill(placing, &words);
            let growth_bytes = match &self.storage {
                Storage::Resident(resident) => growth_bytes(&resident.set, &[&batch], 1),
                Storage::External(_) => 0,
            };
            let fits = self.fits(growth_bytes);
            if let Storage::Resident(resident) = &mut self.storage {
                if !fits {
                    resident.flush_to(&mut tiers, budget, &disk)?;
                }
                insert(&resident.set, &[&batch], self.pool, |_, _| ());
                resident.update_set_bytes();
            }
            if self.graph.is_some() {
                (self.states.records).evict_before(first.min(first_left));
            } else if !self.keeps_states {
                (self.states.records).drop_before(first.min(first_left));
            }
        }
        if let Storage::Resident(resident) = &mut self.storage
            && tiers.n_keys() > 0
        {
            let set = resident.flush_to(&mut tiers, budget, &disk)?;
            self.begin_external(set, tiers, disk)?;
        }
        Ok(())
    }
}

/// A queue that goes to disk for checkpoints only.
fn in_memory(folder: &Folder) -> QueueDisk {
    QueueDisk {
        folder: folder.clone(),
        memory_bytes: u64::MAX,
        is_durable: true,
    }
}
