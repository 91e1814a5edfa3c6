//! The engine's memory: what is held, what fits, and the step to the disk when memory ends.

use std::time::Instant;

use hadal_store::Set;
use hadal_store::codec::Headroom;
use hadal_store::tiers::Tiers;

use super::{Closed, Context, Engine, Interrupt};
use crate::Error;
use crate::budget::Held;
use crate::external::{DiskContext, External, batches_bytes};
use crate::graph::GraphLog;
use crate::storage::Storage;

/// By how much old and new keys together may exceed the budget while a set is recoded, if there is a
/// disk: far less than what a process may. On disk the keys of a small budget would take more bits
/// for good, because their order may not change any more.
const WIDENING_SLACK: u64 = 4 << 20;

impl<'a> Engine<'a, '_> {
    /// Memory held now, by account.
    pub(crate) fn held(&self) -> Held {
        let mut held = Held {
            logs: self.states.records.data_bytes(),
            open_ranks: self.open.memory_bytes(),
            parents: self.states.parents.data_bytes(),
            codec: self.context.keys.codec.data_bytes(),
            expanders: {
                let kept = self.context.budget.lent_to_expanders;
                self.context.allowance.borrowed().saturating_sub(kept)
            },
            window: self.window.data_bytes(),
            batches: batches_bytes(&self.batches),
            disk_buffers: self.disk_buffer_bytes(),
            graph: {
                let log = self.graph.as_ref().map_or(0, GraphLog::memory_bytes);
                self.graph_bytes + log + self.window.multiplicity_bytes()
            },
            closed: self.closed.as_ref().map_or(0, Closed::memory_bytes),
            ..Held::default()
        };
        match &self.storage {
            Storage::Resident(resident) => resident.add_held(&mut held),
            Storage::External(external) => external.add_held(&mut held),
        }
        held
    }

    /// Buffers of the disk layer, once something is written, and memory that it could lend.
    fn disk_buffer_bytes(&self) -> u64 {
        self.context.folder.map_or(0, |search_folder| {
            let folder = &search_folder.folder;
            let is_used = search_folder.resumable || folder.statistics().written_bytes > 0;
            let buffers = if is_used { folder.data_bytes() } else { 0 };
            buffers + folder.lent_memory().free_bytes()
        })
    }

    /// Whether `bytes` more fit the budget; if so, they count for the peak. On disk every part has
    /// its share, and fits.
    pub(crate) fn fits(&mut self, bytes: u64) -> bool {
        let held = self.held();
        let needed = held.total().saturating_add(bytes);
        let fits = match &self.storage {
            Storage::External(_) => true,
            Storage::Resident(_) => needed <= self.resident_limit(&held),
        };
        if fits {
            self.peak_bytes = self.peak_bytes.max(needed);
        }
        fits
    }

    /// How many more bytes fit the budget.
    pub(super) fn headroom(&self) -> u64 {
        match &self.storage {
            Storage::External(_) => u64::MAX,
            Storage::Resident(_) => {
                let held = self.held();
                self.resident_limit(&held).saturating_sub(held.total())
            }
        }
    }

    /// Lends expanders half of what nobody else holds, as long as all states are in memory.
    pub(super) fn lend_to_expanders(&self) {
        let Context {
            allowance, budget, ..
        } = self.context;
        let more = match &self.storage {
            Storage::External(_) => 0,
            Storage::Resident(_) => {
                let held = self.held();
                let left = self.resident_limit(&held).saturating_sub(held.total());
                held.expanders + left / 2
            }
        };
        allowance.set(budget.lent_to_expanders + more);
    }

    /// What the candidates of a rank may take in memory while they are admitted, if there is a disk.
    pub(super) fn popped_bytes(&self) -> u64 {
        match &self.storage {
            Storage::External(external) => {
                let shares = external.disk.shares;
                shares.candidates - shares.open_ranks()
            }
            // The set needs room as well.
            Storage::Resident(_) => self.headroom() / 2,
        }
    }

    fn resident_limit(&self, held: &Held) -> u64 {
        let has_disk = self.context.folder.is_some();
        let budget = self.context.budget;
        budget.resident_limit(has_disk, held.gathered)
    }

    /// Memory that the budget leaves beside everything held and a full window, in bytes.
    pub(crate) fn spare_bytes(&self) -> u64 {
        let budget = self.context.budget;
        let held = self.held();
        let beside = held.total() - held.window + self.window.full_bytes().max(held.window);
        budget.total_bytes.saturating_sub(beside)
    }

    /// What a join may take once storage is given up, beside everything held and a full window. A part
    /// stays free, as while all states are in memory.
    pub(crate) fn bytes_for_join(&self) -> u64 {
        let spare = self.spare_bytes();
        let free = self.context.budget.sort_reserve().min(spare / 2);
        (spare - free).max(super::graph::LEAST_BYTES)
    }

    /// Frees the memory of tasks.
    pub(crate) fn release_window(&mut self) {
        self.window.release();
    }

    /// Moves the states in memory to disk, but for few of them.
    pub(crate) fn evict_states(&mut self) -> Result<(), Error> {
        let Some(disk) = self.disk_context() else {
            return Ok(());
        };
        let retention = disk.state_retention(disk.shares.frontier);
        match self.states.records.is_attached() {
            true => self.states.records.set_retention(retention),
            false => (self.states.records).attach(disk.folder.clone(), retention)?,
        }
        Ok(())
    }

    /// Memory has ended: moves visited states to disk, where the search continues. False if there is
    /// no disk.
    pub(super) fn go_external(&mut self) -> Result<bool, Error> {
        let Some(disk) = self.disk_context() else {
            return Ok(false);
        };
        let Storage::Resident(resident) = &mut self.storage else {
            return Ok(true);
        };
        let since = Instant::now();
        let (tiers, set) = resident.flush_all(self.context.budget, &disk)?;
        self.begin_external(set, tiers, disk)?;
        if let Some(closed) = &mut self.closed {
            // It was in memory.
            closed.forget();
        }
        let popped_bytes = self.popped_bytes();
        self.open.attach(disk.open_ranks(), popped_bytes)?;
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(true)
    }

    /// Continues with external storage: `tiers` has all visited keys, `set` some of them.
    pub(super) fn begin_external(
        &mut self,
        set: Set,
        tiers: Tiers,
        disk: DiskContext<'a>,
    ) -> Result<(), Error> {
        let batches = std::mem::take(&mut self.batches);
        let mut external = External::new(set, tiers, &mut self.states, batches, disk)?;
        external.balance_runs()?;
        self.storage = Storage::External(Box::new(external));
        Ok(())
    }

    /// Flushes part of the set before memory ends, if that is due.
    pub(super) fn flush_early(&mut self) -> Result<(), Error> {
        let Some(disk) = self.disk_context() else {
            return Ok(());
        };
        // With the buffers that flushing needs, so that what is held does not leap when it starts.
        let held = self.held();
        let spare = disk.folder.lent_memory().free_bytes();
        let with_buffers = disk.folder.data_bytes() + spare;
        let held_bytes = held.total() - held.disk_buffers + with_buffers;
        let Storage::Resident(resident) = &mut self.storage else {
            return Ok(());
        };
        if held_bytes > self.context.budget.flush_range().0 {
            let since = Instant::now();
            resident.flush_early(held_bytes, self.context.budget, &disk)?;
            self.seconds.merge += since.elapsed().as_secs_f64();
        }
        Ok(())
    }

    /// Whether set and window have room for their keys when they are wider.
    fn fits_widened(&self) -> bool {
        let Storage::Resident(resident) = &self.storage else {
            return true;
        };
        let keys = self.context.keys;
        let (held, widths) = (self.held(), keys.widened_widths(self.key_headroom()));
        let set = match keys.hashing {
            Some(_) => held.set,
            None => resident.widening_bytes(widths.stored_bits),
        };
        let widened = set + self.window.widened_bytes(widths);
        let slack = self.context.folder.map_or(0, |_| WIDENING_SLACK);
        let limit = self.resident_limit(&held).saturating_add(slack);
        held.total() - held.set - held.window + widened <= limit
    }

    /// How much room keys of a new layout get.
    fn key_headroom(&self) -> Headroom {
        match &self.storage {
            Storage::External(_) => Headroom::Ordered,
            Storage::Resident(resident) => self.context.budget.key_headroom(resident.set_bytes()),
        }
    }

    /// Whether keys have ample room, and there are too many of them for that.
    fn are_keys_too_wide(&self) -> bool {
        let headroom = self.key_headroom();
        self.context.keys.codec.is_ample() && matches!(headroom, Headroom::Roomy | Headroom::Tight)
    }

    /// Gives keys more room where some did not fit, or less where it has become too much, and makes
    /// those of the window again.
    pub(super) fn widen_keys(&mut self) -> Result<Option<Interrupt>, Error> {
        while self.window.has_outgrown() || self.are_keys_too_wide() {
            let keys = self.context.keys;
            if !self.fits_widened() && !self.go_external()? {
                return Ok(Some(Interrupt::Memory));
            }
            let folder = self
                .context
                .folder
                .map(|search_folder| &search_folder.folder);
            let recoder = keys.widen(self.key_headroom());
            // What the set may take while it is recoded.
            let set_bytes = match &self.storage {
                Storage::Resident(resident) => resident.set_bytes() + self.headroom(),
                Storage::External(_) => 0,
            };
            let n_threads = self.pool.n_threads();
            self.window.fit();
            let disk = self.disk_context();
            let set_bytes = match &mut self.storage {
                Storage::Resident(resident) => {
                    resident.widen(recoder, keys, folder, set_bytes, n_threads)?
                }
                Storage::External(external) => {
                    let set_bytes = external.widen(recoder)?;
                    if let Some(disk) = disk {
                        external.set_shares(disk, &mut self.states);
                        self.open.set_memory(disk.shares.open_ranks())?;
                    }
                    set_bytes
                }
            };
            let held = self.held();
            self.peak_bytes = self.peak_bytes.max(held.total() - held.set + set_bytes);
            self.window.encode_again(self.pool);
        }
        Ok(None)
    }
}
