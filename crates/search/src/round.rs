//! Rounds: how the states of a layer are expanded and their successors inserted, by any number of
//! threads with one result.
//!
//! A window of blocks is expanded in parallel; then each partition of the table takes its
//! candidates in the order (ordinal of the parent, index); then the properties of those that are
//! new are evaluated; then these get their ordinals, in the same order.
//! A block whose buffer ran full holds up the blocks behind it, which keep their buffers until it
//! is their turn. So the order of insertion never depends on threads, window or buffers.

mod postponing;
mod saving;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hadal_model::{Flow, Remark};
use hadal_store::disk::{Folder, ParentLog};
use hadal_store::{Error as StoreError, Log, N_PARTITIONS};

use crate::crew::Crew;
use crate::external::{
    Bitmap, Candidates, External, Means, Preparation, Settling, Shares, Tiers, Trust, damaged_log,
    keep, resolve, sort_reserve, sweep,
};
use crate::shared::{Job, Shared, lock, read, write};
use crate::sizes::Sizes;
use crate::supply::Supply;
use crate::task::{Block, Task};
use crate::visited::{Keyed, Visited};
use crate::worker::Worker;
use crate::{DiskUse, Duplicates, Error, OnDisk, Seconds};
use postponing::{hold_log, needs_log};

/// Items of [`Job::Insert`] for each thread, so that none waits long for another.
const INSERT_ITEMS: usize = 8;

/// The coordinator's side of rounds.
pub(crate) struct Rounds<'a> {
    pub(crate) shared: &'a Shared<'a>,
    crew: &'a Crew<Job>,
    worker: Worker<'a>,
    sizes: Sizes,
    pub(crate) parents: ParentLog,
    /// Where states may go when memory ends.
    on_disk: Option<OnDisk>,
    /// What there is on disk since it did.
    external: Option<External>,
    /// What is there before it does.
    preparation: Preparing,
    /// Tasks without a block.
    free: Vec<usize>,
    n_buffers: usize,
    /// Blocks are cut to this length, so that their successors mostly fit their buffers.
    block_len: usize,
    /// Memory held by table or set, which takes long to add up and seldom changes.
    table_bytes: u64,
    /// Memory held beside what is counted here.
    pub(crate) other_bytes: u64,
    pub(crate) peak_bytes: u64,
    /// What found no room on the disk.
    pub(crate) refused_bytes: u64,
    pub(crate) seconds: Seconds,
    /// Of the most expensive canonical form.
    most_candidates: Option<u64>,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        crew: &'a Crew<Job>,
        worker: Worker<'a>,
        sizes: Sizes,
        on_disk: Option<OnDisk>,
    ) -> Self {
        Rounds {
            shared,
            crew,
            worker,
            sizes,
            parents: ParentLog::new(),
            on_disk,
            external: None,
            preparation: Preparing::Later,
            free: (0..sizes.window_blocks).rev().collect(),
            n_buffers: 0,
            block_len: sizes.block_len,
            table_bytes: shared.visited.table_bytes(),
            other_bytes: 0,
            peak_bytes: 0,
            refused_bytes: 0,
            seconds: Seconds::default(),
            most_candidates: None,
        }
    }

    /// Number of states found.
    pub(crate) fn n_states(&self) -> u64 {
        self.shared.visited.n_states()
    }

    /// Memory held now, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.table_bytes
            + self.shared.visited.other_bytes()
            + self.parents.data_bytes()
            + self.n_buffers as u64 * self.sizes.buffer_bytes
            + self.external.as_ref().map_or(0, External::data_bytes)
            + read(&self.shared.hands).memory_bytes()
            + self
                .preparation
                .begun()
                .map_or(0, |begun| begun.memory_bytes() + begun.gathered_bytes())
            + self.disk_buffer_bytes()
            + (self.on_disk.as_ref()).map_or(0, |disk| disk.folder.spare().free_bytes())
            + self.other_bytes
    }

    /// Memory for what goes to the disk and comes back, once something does.
    fn disk_buffer_bytes(&self) -> u64 {
        match &self.on_disk {
            Some(on_disk) if on_disk.resumable || has_written(&on_disk.folder) => {
                on_disk.folder.data_bytes()
            }
            _ => 0,
        }
    }

    /// Memory held when a preparation has begun, in bytes.
    fn bytes_with_disk_buffers(&self, folder: &Folder) -> u64 {
        self.data_bytes() - self.disk_buffer_bytes() + folder.data_bytes()
    }

    /// What went to the disk and came back.
    pub(crate) fn disk_use(&self) -> DiskUse {
        let Some(on_disk) = &self.on_disk else {
            return DiskUse::default();
        };
        let statistics = on_disk.folder.statistics();
        let trust = self.external.as_ref().map(|external| &external.trust);
        DiskUse {
            peak_bytes: statistics.peak_disk_bytes,
            read_bytes: statistics.read_bytes,
            written_bytes: statistics.written_bytes,
            used_bytes: statistics.disk_bytes,
            refused_bytes: self.refused_bytes,
            late_layers: trust.map_or(0, |trust| trust.n_late),
            saved_states: 0,
            times_gone_back: trust.map_or(0, |trust| trust.n_mistakes),
        }
    }

    /// Where it is seen how much room there is on the disk.
    pub(crate) fn room(&self) -> Room {
        Room(self.on_disk.as_ref().map(|on_disk| on_disk.folder.clone()))
    }

    /// Seconds that threads have waited for the disk.
    pub(crate) fn io_wait(&self) -> f64 {
        let waited = |on_disk: &OnDisk| on_disk.folder.statistics().waited.as_secs_f64();
        self.on_disk.as_ref().map_or(0.0, waited)
    }

    /// Whether `bytes` more fit the budget; the largest need so far is remembered. Once states are
    /// on disk everything has its share, and fits.
    pub(crate) fn fits(&mut self, bytes: u64) -> bool {
        let needed = self.data_bytes().saturating_add(bytes);
        let gathered = (self.preparation.begun()).map_or(0, Preparation::gathered_bytes);
        let limit = match self.on_disk {
            Some(_) => self.sizes.memory_bytes - sort_reserve(self.sizes.memory_bytes) + gathered,
            None => self.sizes.memory_bytes,
        };
        let fits = self.external.is_some() || needed <= limit;
        if fits {
            self.peak_bytes = self.peak_bytes.max(needed);
        }
        fits
    }

    /// Memory that the budget leaves beside everything held, all buffers of the window included.
    pub(crate) fn spare_bytes(&self) -> u64 {
        let unmade = (self.sizes.window_blocks - self.n_buffers) as u64;
        self.sizes
            .memory_bytes
            .saturating_sub(self.data_bytes())
            .saturating_sub(unmade * self.sizes.buffer_bytes)
    }

    /// Runs rounds over everything in `supply`. `job` is [`Job::Expand`] to insert the successors,
    /// or another job that takes blocks and inserts nothing.
    ///
    /// When `pause` says so, no block is begun, and when the last one is done the rounds halt; they
    /// go on with what is left in `supply`.
    ///
    /// `each` is given every task that was worked on, in order, with its place in the window; it
    /// says whether to go on. With [`Job::Expand`] a task comes again if its buffer was full; what
    /// it tells about its sources is final when [`Task::is_full`] is false.
    pub(crate) fn run(
        &mut self,
        job: Job,
        supply: &mut Supply,
        pause: &dyn Fn() -> bool,
        each: &mut dyn FnMut(usize, &Task) -> bool,
    ) -> Result<Option<Halt>, Error> {
        loop {
            let is_pause = pause();
            if !is_pause && !self.fill(supply)? {
                return Ok(Some(Halt::Memory));
            }
            let (n_active, n_expanding) = {
                let round = read(&self.shared.round);
                (round.active.len(), round.expanding.len())
            };
            if n_active == 0 {
                return Ok(is_pause.then_some(Halt::Paused));
            }
            let since = Instant::now();
            self.phase(job, n_expanding, false);
            self.seconds.expand += since.elapsed().as_secs_f64();
            if !self.is_whole() {
                return Err(damaged_log("states").into());
            }
            if self.is_stopped() {
                return Ok(Some(Halt::Stopped));
            }
            self.collect_remarks()?;
            if matches!(job, Job::Expand) {
                self.widen_keys()?;
                let halt = self.insert_candidates()?;
                if halt.is_some() {
                    return Ok(halt);
                }
            } else {
                write(&self.shared.round).n_inserting = n_active;
            }
            let go_on = self.hand_over(each);
            if matches!(job, Job::Expand) {
                self.forget_expanded(supply)?;
                self.merge_runs(supply)?;
                self.prepare()?;
            }
            let folder = self.on_disk.as_ref().map(|on_disk| &on_disk.folder);
            let disk_bytes = folder.map_or(0, |folder| folder.statistics().disk_bytes);
            let data_bytes = self.data_bytes();
            self.peak_bytes = self.peak_bytes.max(data_bytes);
            self.shared
                .gauge
                .note_round(self.n_states(), data_bytes, disk_bytes);
            if !go_on {
                return Ok(Some(Halt::Enough));
            }
        }
    }

    /// Assigns blocks to free tasks. Says whether memory allows at least one task.
    fn fill(&mut self, supply: &mut Supply) -> Result<bool, Error> {
        let shared = self.shared;
        let mut round = write(&shared.round);
        while let Some(&slot) = self.free.last() {
            // Tasks with a buffer are used again before others get one.
            let is_new = slot >= self.n_buffers;
            if is_new && !supply.is_empty() && !self.fits(self.sizes.buffer_bytes) {
                // Where there is a disk, one task goes on and the rest follows from that.
                if !round.active.is_empty() || self.on_disk.is_none() {
                    return Ok(!round.active.is_empty());
                }
            }
            let next = supply.next(&shared.visited, self.block_len, &self.sizes)?;
            let Some((block, slices)) = next else {
                break;
            };
            self.n_buffers += usize::from(is_new);
            self.free.pop();
            let capacity = self.sizes.buffer_len;
            write(&shared.tasks[slot]).assign(shared.shape, block, slices, capacity);
            round.active.push(slot);
            round.expanding.push(slot);
        }
        Ok(true)
    }

    /// Inserts the candidates of the tasks up to the first whose buffer was full.
    fn insert_candidates(&mut self) -> Result<Option<Halt>, Error> {
        let since = Instant::now();
        let mut n_candidates = [0; N_PARTITIONS];
        let (n_inserting, n_partitions, n_items) = {
            let round = &mut *write(&self.shared.round);
            let mut n = 0;
            for &slot in &round.active {
                let task = read(&self.shared.tasks[slot]);
                task.names
                    .add_counts(&self.shared.visited, &mut n_candidates);
                n += 1;
                if task.is_full() {
                    break;
                }
            }
            round.n_inserting = n;
            round.partitions.clear();
            round
                .partitions
                .extend((0..N_PARTITIONS).filter(|&partition| n_candidates[partition] > 0));
            // To look at all tasks takes a while, so a thread does it for some partitions at once.
            let n_partitions = round.partitions.len();
            round.n_together = (n_partitions / (INSERT_ITEMS * self.sizes.n_threads)).max(1);
            (n, n_partitions, n_partitions.div_ceil(round.n_together))
        };
        // A cache does not grow.
        let growth_bytes = match self.external {
            Some(_) => 0,
            None => (self.shared.visited).growth_bytes(&n_candidates, self.sizes.n_threads),
        };
        if !self.fits(growth_bytes) && !self.go_external()? {
            return Ok(Some(Halt::Memory));
        }
        // Waking workers takes longer than one block's candidates.
        let alone = n_inserting == 1;
        self.phase(Job::Insert, n_items, alone);
        if growth_bytes > 0 {
            self.table_bytes = self.shared.visited.table_bytes();
        }
        if self.external.is_some() {
            self.phase(Job::Collect, n_inserting, alone);
            self.note_candidates(n_inserting, alone)?;
            self.seconds.insert += since.elapsed().as_secs_f64();
            return Ok(None);
        }
        self.seconds.insert += since.elapsed().as_secs_f64();

        let since = Instant::now();
        self.phase(Job::Check, n_inserting, alone);
        self.seconds.check += since.elapsed().as_secs_f64();
        if self.is_stopped() {
            return Ok(Some(Halt::Stopped));
        }
        self.collect_remarks()?;

        let since = Instant::now();
        let halt = self.store_survivors(n_partitions, alone)?;
        self.seconds.insert += since.elapsed().as_secs_f64();
        Ok(halt)
    }

    /// Gives the survivors their ordinals, and places in arena or log and in the parent log.
    fn store_survivors(&mut self, n_partitions: usize, alone: bool) -> Result<Option<Halt>, Error> {
        let (n_survivors, log_bytes) = self.number_survivors();
        let growth_bytes = match &self.shared.visited {
            Visited::Numbers(numbers) => read(&numbers.arena).growth_bytes(n_survivors),
            Visited::Keys(_) => log_bytes,
        };
        // Where there is a disk, what is left free for sorting has room for this.
        if !self.fits(growth_bytes + self.parents.growth_bytes(n_survivors))
            && self.on_disk.is_none()
        {
            return Ok(Some(Halt::Memory));
        }
        let Rounds {
            shared,
            crew,
            worker,
            parents,
            ..
        } = self;
        let n_unsettled = match shared.visited {
            Visited::Numbers(_) => n_partitions,
            Visited::Keys(_) => 0,
        };
        let mut stored = Ok(());
        crew.run(
            Job::Settle,
            n_unsettled,
            alone,
            || stored = append_survivors(shared, parents),
            |job, item| shared.work(job, item, worker),
        );
        stored?;
        self.gather_keys()?;
        Ok(None)
    }

    /// Where some key did not fit, gives all keys more room and makes those of the window again.
    fn widen_keys(&mut self) -> Result<(), Error> {
        let shared = self.shared;
        let Visited::Keys(keyed) = &shared.visited else {
            return Ok(());
        };
        loop {
            let n_active = {
                let round = read(&shared.round);
                let is_outgrown = |&slot: &usize| read(&shared.tasks[slot]).names.is_outgrown;
                if !round.active.iter().any(is_outgrown) {
                    return Ok(());
                }
                round.active.len()
            };
            let shape = keyed.key_shape();
            self.table_bytes = keyed.widen(self.external.is_some())?;
            if keyed.key_shape() != shape {
                self.discard_preparation(Preparing::Later)?;
            }
            self.peak_bytes = self.peak_bytes.max(self.data_bytes());
            self.table_bytes = shared.visited.table_bytes();
            if let (Some(external), Some(on_disk)) = (&mut self.external, &self.on_disk) {
                let n_threads = self.sizes.n_threads;
                let means = means(shared, keyed, on_disk, &external.shares, n_threads);
                external.candidates.set_shapes(&means)?;
            }
            self.phase(Job::Name, n_active, false);
        }
    }

    /// Begins to keep visited states on disk. Says whether that is possible.
    fn go_external(&mut self) -> Result<bool, Error> {
        let shared = self.shared;
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &shared.visited) else {
            return Ok(false);
        };
        let since = Instant::now();
        let shares = self.shares(keyed, &on_disk.folder);
        let means = means(self.shared, keyed, on_disk, &shares, self.sizes.n_threads);
        let sort_bytes = sort_reserve(self.sizes.memory_bytes);
        let set = read(&keyed.set);
        let tiers = match std::mem::replace(&mut self.preparation, Preparing::Never) {
            Preparing::Begun(begun) => begun.finish(&set, sort_bytes, &means)?,
            Preparing::Later | Preparing::Never => {
                let mut tiers = Tiers::default();
                sweep(&set, 0..N_PARTITIONS, sort_bytes, &means, &mut tiers)?;
                tiers
            }
        };
        drop(set);
        shared.first_unswept.store(0, Ordering::Relaxed);
        self.begin_external(tiers)?;
        self.balance_runs()?;
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(true)
    }

    /// While memory fills up, goes on with what shall be done when it ends.
    fn prepare(&mut self) -> Result<(), Error> {
        let memory_bytes = self.sizes.memory_bytes;
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &self.shared.visited) else {
            return Ok(());
        };
        // So that what is held does not leap when it begins.
        let held_bytes = self.bytes_with_disk_buffers(&on_disk.folder);
        if self.external.is_some() || !Preparation::is_due(held_bytes, memory_bytes) {
            return Ok(());
        }
        let since = Instant::now();
        let shares = self.shares(keyed, &on_disk.folder);
        let means = means(self.shared, keyed, on_disk, &shares, self.sizes.n_threads);
        let set = read(&keyed.set);
        if matches!(self.preparation, Preparing::Later) {
            let begun = Preparation::new(&set, memory_bytes, &means);
            self.preparation = Preparing::Begun(Box::new(begun));
        }
        let Preparing::Begun(begun) = &mut self.preparation else {
            return Ok(());
        };
        let done = begun.keep_up(&set, held_bytes, memory_bytes, &means);
        let first_unswept = begun.first_unswept();
        (self.shared.first_unswept).store(first_unswept, Ordering::Relaxed);
        self.seconds.merge += since.elapsed().as_secs_f64();
        self.unless_full(done)
    }

    /// Keeps the keys that came into swept partitions of the set.
    fn gather_keys(&mut self) -> Result<(), Error> {
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &self.shared.visited) else {
            return Ok(());
        };
        let shares = match &self.preparation {
            Preparing::Begun(_) => self.shares(keyed, &on_disk.folder),
            Preparing::Later | Preparing::Never => return Ok(()),
        };
        let means = means(self.shared, keyed, on_disk, &shares, self.sizes.n_threads);
        let Preparing::Begun(begun) = &mut self.preparation else {
            return Ok(());
        };
        let round = read(&self.shared.round);
        let mut tasks = self.shared.inserting(&round).into_iter();
        let gathered = tasks.try_for_each(|task| begun.gather(task.survivor_keys(), &means));
        drop(round);
        self.unless_full(gathered)
    }

    /// A search that may yet come to its end in memory is not ended by a disk that is full.
    fn unless_full(&mut self, done: Result<(), StoreError>) -> Result<(), Error> {
        match done {
            Err(StoreError::Full { .. }) => self.discard_preparation(Preparing::Never),
            done => Ok(done?),
        }
    }

    /// Throws away what was done before the end of memory, if anything was.
    fn discard_preparation(&mut self, then: Preparing) -> Result<(), Error> {
        self.shared.first_unswept.store(0, Ordering::Relaxed);
        match (
            std::mem::replace(&mut self.preparation, then),
            &self.on_disk,
        ) {
            (Preparing::Begun(begun), Some(on_disk)) => Ok(begun.discard(&on_disk.folder)?),
            _ => Ok(()),
        }
    }

    /// The search has come to its end. What it has prepared for another end is of no use any more.
    pub(crate) fn end(&mut self) {
        // If files stay, nobody is the worse for it: they are deleted with the folder, or when it
        // is next opened.
        let _ = self.discard_preparation(Preparing::Never);
        if let Some(on_disk) = &self.on_disk {
            let _ = on_disk.folder.settle();
        }
    }

    /// From now on the set is a cache, for `tiers` have all it had.
    fn begin_external(&mut self, tiers: Tiers) -> Result<(), Error> {
        let shared = self.shared;
        let (Some(on_disk), Visited::Keys(keyed)) = (&self.on_disk, &shared.visited) else {
            return Ok(());
        };
        let OnDisk {
            folder, resumable, ..
        } = on_disk;
        let shares = self.shares(keyed, folder);
        read(&keyed.set).begin_cache(shares.set);
        self.table_bytes = shared.visited.table_bytes();
        self.parents.attach(folder)?;
        let mut log = lock(&keyed.log);
        let keep = keep(shares.frontier, *resumable);
        match log.is_attached() {
            true => log.set_keep(keep),
            false => log.attach(folder.clone(), keep)?,
        }
        let candidates = Candidates::new(folder.clone(), shares, *resumable, keyed)?;
        self.external = Some(External {
            shares,
            tiers,
            candidates,
            trust: Trust::default(),
            postponed: None,
        });
        Ok(())
    }

    /// Who gets how much of what the buffers leave.
    fn shares(&self, keyed: &Keyed, folder: &Folder) -> Shares {
        let sizes = &self.sizes;
        let fixed = sizes.window_blocks as u64 * sizes.buffer_bytes
            + keyed.codec.data_bytes()
            + folder.data_bytes();
        let left = sizes.memory_bytes.saturating_sub(fixed);
        let scratch = sizes.window_pieces as u64 * Settling::BYTES
            + sizes.n_threads as u64 * SORT_SCRATCH_BYTES;
        // Where there is little, scratch is small too, for so are buckets and pieces.
        Shares::of(left - scratch.min(left / 4))
    }

    /// Begins to make few runs of many, if there are.
    fn balance_runs(&mut self) -> Result<(), Error> {
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &self.shared.visited)
        else {
            return Ok(());
        };
        let n_threads = self.sizes.n_threads;
        let means = means(self.shared, keyed, on_disk, &external.shares, n_threads);
        Ok(external.tiers.balance(&means)?)
    }

    /// Goes on with making few runs of many, as far as states have been expanded since it began.
    fn merge_runs(&mut self, supply: &Supply) -> Result<(), Error> {
        let (Some(external), Some(on_disk), Visited::Keys(keyed), Supply::States(left)) = (
            &mut self.external,
            &self.on_disk,
            &self.shared.visited,
            supply,
        ) else {
            return Ok(());
        };
        let since = Instant::now();
        let n_threads = self.sizes.n_threads;
        let means = means(self.shared, keyed, on_disk, &external.shares, n_threads);
        let n_meanwhile = self.shared.gauge.frontier();
        external.tiers.keep_up(left.start, n_meanwhile, &means)?;
        if is_nearly_full(&on_disk.folder) {
            external.tiers.squeeze(&means)?;
        }
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(())
    }

    /// Whether there are candidates of which it is not known whether they are new.
    pub(crate) fn has_candidates(&self) -> bool {
        (self.external.as_ref()).is_some_and(|external| external.candidates.len() > 0)
    }

    /// Takes what the tasks of this round found that may be new.
    fn note_candidates(&mut self, n_inserting: usize, alone: bool) -> Result<(), Error> {
        let shared = self.shared;
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &shared.visited)
        else {
            return Ok(());
        };
        let External {
            candidates,
            tiers,
            shares,
            ..
        } = external;
        let mut next = candidates.len();
        for &slot in &read(&shared.round).active[..n_inserting] {
            let mut task = write(&shared.tasks[slot]);
            task.first_survivor = next;
            next += task.n_survivors() as u64;
        }
        let n_candidates = (next - candidates.len()) as usize;
        let means = means(shared, keyed, on_disk, shares, self.sizes.n_threads);
        candidates.make_room(n_candidates, tiers, &means)?;
        let mut written = Ok(());
        self.crew.run(
            Job::Deal,
            n_inserting,
            alone,
            || {
                let round = read(&shared.round);
                let mut tasks = shared.inserting(&round).into_iter();
                written =
                    tasks.try_for_each(|task| candidates.append(task.parcel(), task.n_survivors()));
            },
            |job, item| shared.work(job, item, &mut self.worker),
        );
        Ok(written?)
    }

    /// Finds out which candidates are new, and gives these their ordinals. `each` is given what is
    /// found out about them, in order, with the ordinal of the first state it is about.
    pub(crate) fn settle_candidates(
        &mut self,
        duplicates: &mut Duplicates,
        each: &mut dyn FnMut(u64, &Settling),
    ) -> Result<Option<Halt>, Error> {
        let shared = self.shared;
        let (Some(external), Some(on_disk), Visited::Keys(keyed)) =
            (&mut self.external, &self.on_disk, &shared.visited)
        else {
            return Ok(None);
        };
        let since = Instant::now();
        let n_threads = self.sizes.n_threads;
        let means = means(shared, keyed, on_disk, &external.shares, n_threads);
        external.candidates.end_layer(&external.tiers, &means)?;
        let resolved = resolve(&external.candidates, &external.tiers, &means)?;
        if shared.stop.is_raised() {
            return Ok(Some(Halt::Stopped));
        }
        duplicates.layer += resolved.n_equal;
        duplicates.disk += resolved.n_old;
        match &mut external.postponed {
            Some(postponed) => postponed.note_layer(external.candidates.len(), &external.tiers),
            None => external.trust.note_layer(resolved.n_old),
        }
        hold_log(external, keyed, on_disk)?;
        *write(&shared.is_new) = resolved.is_new;
        self.seconds.merge += since.elapsed().as_secs_f64();

        let since = Instant::now();
        // While some pieces are worked on, others are read.
        let half = shared.settling.len().div_ceil(2);
        let (mut judged, mut read_next) = (0..half, half..shared.settling.len());
        let mut next = 0;
        let mut n_pieces = assign_pieces(shared, judged.clone(), external, &mut next)?;
        while n_pieces > 0 {
            let mut n_next = Ok(0);
            let Rounds {
                crew,
                worker,
                external: Some(external),
                ..
            } = self
            else {
                return Ok(None);
            };
            crew.run(
                Job::Judge(judged.start),
                n_pieces,
                false,
                || n_next = assign_pieces(shared, read_next.clone(), external, &mut next),
                |job, item| shared.work(job, item, worker),
            );
            shared.gauge.note_resolved(next);
            for piece in &shared.settling[judged.clone()][..n_pieces] {
                let mut piece = write(piece);
                if piece.flow == Flow::Stopped || shared.stop.is_raised() {
                    return Ok(Some(Halt::Stopped));
                }
                if !piece.is_whole {
                    return Err(damaged_log("candidates").into());
                }
                let remarks = std::mem::take(&mut piece.remarks);
                self.take_remarks(remarks)?;
                each(self.n_states(), &piece);
                let records = Arc::clone(&piece.records);
                lock(&keyed.log).append(records, piece.n_new, piece.version)?;
                self.parents.append(&piece.parents)?;
            }
            n_pieces = n_next?;
            std::mem::swap(&mut judged, &mut read_next);
        }
        *write(&shared.is_new) = Bitmap::default();
        self.seconds.check += since.elapsed().as_secs_f64();

        let since = Instant::now();
        let (Some(external), Some(on_disk)) = (&mut self.external, &self.on_disk) else {
            return Ok(None);
        };
        let means = self::means(shared, keyed, on_disk, &external.shares, n_threads);
        // Candidates go first, so that the disk has room for larger runs.
        external.candidates.clear(resolved.sample, &means)?;
        external.tiers.push(resolved.tier, &means)?;
        shared.gauge.end_work();
        self.seconds.merge += since.elapsed().as_secs_f64();
        Ok(None)
    }

    /// Gives the survivors of each task consecutive ordinals; returns how many there are, and
    /// what their records take in a log.
    fn number_survivors(&mut self) -> (u64, u64) {
        let round = read(&self.shared.round);
        let n_states = self.n_states();
        let (mut next, mut log_bytes) = (n_states, 0);
        for &slot in &round.active[..round.n_inserting] {
            let mut task = write(&self.shared.tasks[slot]);
            task.first_survivor = next;
            next += task.n_survivors() as u64;
            log_bytes += Log::bytes_for(task.records().len());
        }
        (next - n_states, log_bytes)
    }

    /// Shows the tasks just done and takes those that have no more to give out of the window.
    fn hand_over(&mut self, each: &mut dyn FnMut(usize, &Task) -> bool) -> bool {
        let shared = self.shared;
        let mut round = write(&shared.round);
        let n_inserting = round.n_inserting;
        let (mut go_on, mut any_full) = (true, false);
        let mut fitting = self.sizes.block_len;
        round.expanding.clear();
        let done: Vec<usize> = round.active.drain(..n_inserting).collect();
        for slot in done {
            let mut task = write(&shared.tasks[slot]);
            go_on = go_on && each(slot, &task);
            fitting = fitting.min(self.fitting_len(&task));
            if task.is_full() {
                task.is_partly_taken = true;
                any_full = true;
                round.active.insert(0, slot);
                round.expanding.push(slot);
            } else {
                self.free.push(slot);
            }
        }
        self.block_len = match any_full {
            true => self.block_len / 2,
            false => fitting.min(self.block_len * 2),
        };
        self.block_len = self.block_len.max(1);
        go_on
    }

    /// How many states like those of `task` have successors that fit a buffer, with some to spare:
    /// a task that comes again holds up all behind it.
    fn fitting_len(&self, task: &Task) -> usize {
        let n_sources = task.kernel.successors.sources().len();
        let usual = self.sizes.buffer_len - self.sizes.buffer_len / 8;
        usual * n_sources / task.n_candidates().max(1)
    }

    /// The first state of which nothing is taken yet, if all before it are done: where a search
    /// that was stopped can go on.
    pub(crate) fn first_left(&self, supply: &Supply) -> Option<u64> {
        let first_active = read(&self.shared.round).active.first().copied();
        let Some(slot) = first_active else {
            return match supply {
                Supply::States(left) => Some(left.start),
                Supply::Starts => None,
            };
        };
        let task = read(&self.shared.tasks[slot]);
        match task.block {
            Block::States { first, .. } if !task.is_partly_taken => Some(first),
            _ => None,
        }
    }

    /// Gives up the states that were expanded, where nothing else reads them: a set has its own
    /// copy of all states, and paths are replayed.
    fn forget_expanded(&self, supply: &Supply) -> Result<(), Error> {
        let Visited::Keys(keyed) = &self.shared.visited else {
            return Ok(());
        };
        let first_active = read(&self.shared.round).active.first().copied();
        let block = first_active.map(|slot| read(&self.shared.tasks[slot]).block);
        let first = match (block, supply) {
            (Some(Block::States { first, .. }), _) => first,
            (None, Supply::States(range)) => range.start,
            _ => return Ok(()),
        };
        if self.external.as_ref().is_some_and(needs_log) {
            lock(&keyed.log).put_back_before(first);
            return Ok(());
        }
        // A later run needs what is in no run on disk yet.
        let is_resident = self.external.is_none();
        if is_resident && self.on_disk.as_ref().is_some_and(|disk| disk.resumable) {
            lock(&keyed.log).release_before(first);
        } else {
            lock(&keyed.log).forget_before(first)?;
        }
        Ok(())
    }

    fn phase(&mut self, job: Job, n_items: usize, alone: bool) {
        let Rounds {
            shared,
            crew,
            worker,
            ..
        } = self;
        crew.run(
            job,
            n_items,
            alone,
            || (),
            |job, item| shared.work(job, item, worker),
        );
    }

    /// Whether the blocks of all tasks are what was written.
    fn is_whole(&self) -> bool {
        let round = read(&self.shared.round);
        (round.active.iter()).all(|&slot| read(&self.shared.tasks[slot]).is_whole)
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.is_raised()
            || read(&self.shared.round)
                .active
                .iter()
                .any(|&slot| read(&self.shared.tasks[slot]).kernel.flow == Flow::Stopped)
    }

    fn collect_remarks(&mut self) -> Result<(), Error> {
        let shared = self.shared;
        for &slot in &read(&shared.round).active {
            let remarks = std::mem::take(&mut write(&shared.tasks[slot]).kernel.remarks);
            self.take_remarks(remarks)?;
        }
        Ok(())
    }

    /// Keeps what a person should know; a broken symmetry ends the search.
    fn take_remarks(&mut self, remarks: Vec<Remark>) -> Result<(), Error> {
        for remark in remarks {
            match remark {
                Remark::BrokenSymmetry { rule, message } => {
                    return Err(Error::BrokenSymmetry { rule, message });
                }
                Remark::AsymmetricStarts { message } => {
                    return Err(Error::AsymmetricStarts { message });
                }
                Remark::ExpensiveCanonicalForm { candidates } => {
                    self.most_candidates = self.most_candidates.max(Some(candidates));
                }
            }
        }
        Ok(())
    }

    /// What a person should know.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        let expensive = |candidates| Remark::ExpensiveCanonicalForm { candidates };
        self.most_candidates.map(expensive).into_iter().collect()
    }
}

/// Reads pieces of candidates from `next` on to these places; says how many.
fn assign_pieces(
    shared: &Shared<'_>,
    places: Range<usize>,
    external: &mut External,
    next: &mut u64,
) -> Result<usize, Error> {
    let log = &mut external.candidates.log;
    let mut n_pieces = 0;
    for settling in &shared.settling[places] {
        if *next == log.len() {
            break;
        }
        let piece = log.read_piece(*next)?;
        let first = *next;
        *next += piece.n_records() as u64;
        log.forget_before(*next)?;
        write(settling).assign(piece, first);
        n_pieces += 1;
    }
    Ok(n_pieces)
}

/// Puts the survivors of a round behind all states before.
fn append_survivors(shared: &Shared<'_>, parents: &mut ParentLog) -> Result<(), Error> {
    for task in shared.inserting(&read(&shared.round)) {
        let n = task.n_survivors();
        match &shared.visited {
            Visited::Numbers(numbers) => write(&numbers.arena).append(task.survivor_states(), n),
            Visited::Keys(keyed) => {
                let version = keyed.codec.newest().version;
                lock(&keyed.log).append(Arc::clone(task.records()), n, version)?;
            }
        }
        parents.append(task.parents())?;
    }
    Ok(())
}

fn means<'a>(
    shared: &'a Shared<'_>,
    keyed: &'a Keyed,
    on_disk: &'a OnDisk,
    shares: &Shares,
    n_threads: usize,
) -> Means<'a> {
    Means {
        folder: &on_disk.folder,
        keyed,
        n_threads,
        durable: on_disk.resumable,
        memory_bytes: shares.runs,
        batch_bytes: shares.batch,
        hands: &shared.hands,
        stop: shared.stop,
        gauge: shared.gauge,
    }
}

/// Less than one in so many bytes that are used should not be free.
const FREE_SHARE: u64 = 8;

/// Whether the disk, or what may be used of it, will soon be full.
fn is_nearly_full(folder: &Folder) -> bool {
    let used = folder.statistics().disk_bytes;
    !folder.has_free(used / FREE_SHARE)
}

/// The disk, if there is one.
pub(crate) struct Room(Option<Folder>);

impl Room {
    /// Whether it, or what may be used of it, will soon be full.
    pub(crate) fn is_short(&self) -> bool {
        self.0.as_ref().is_some_and(is_nearly_full)
    }
}

/// Whether anything was written, so that there are buffers for it.
fn has_written(folder: &Folder) -> bool {
    folder.statistics().written_bytes > 0
}

/// How far the search is with what it does before memory ends.
enum Preparing {
    /// It is not time yet.
    Later,
    /// Some of it is done.
    Begun(Box<Preparation>),
    /// It is of no use, or cannot be.
    Never,
}

impl Preparing {
    fn begun(&self) -> Option<&Preparation> {
        match self {
            Preparing::Begun(begun) => Some(begun),
            Preparing::Later | Preparing::Never => None,
        }
    }
}

/// What each thread takes for putting keys in order and merging runs, beside what has a share.
const SORT_SCRATCH_BYTES: u64 = 2 << 20;

/// Why rounds ended before their range of states did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The receiver of results asked for it.
    Enough,
    /// The stop flag was raised.
    Stopped,
    /// The memory budget does not allow another round.
    Memory,
    /// Someone wants a pause.
    Paused,
    /// What was taken for new is not.
    Mistaken,
}
