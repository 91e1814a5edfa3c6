//! Strategies: the order in which states are searched, and what is remembered of them.
//!
//! A [`Strategy`] is a value that owns its parameters. [`check`] starts it on a thread of its own
//! and gives it a [`Run`], the context of one search. The strategy makes successors and evaluates
//! properties with the expansion kernel ([`Kernel`], [`Verdicts`]), collects violations in
//! [`Findings`] and counts in [`Totals`], and asks [`Run::check_stop`] in every loop that may take long.
//! It ends with [`Run::conclude`], which decides what can be decided only then, finds the path to
//! each violation, and makes the [`Outcome`]. Verdicts, limits and progress are written once, for
//! all strategies.
//!
//! [`Auto`] is the strategy of this crate. Those of the literature are in a crate of their own,
//! written against this module; `tests/it/own_strategy.rs` is a whole one in a hundred and fifty lines.

use std::sync::Arc;

use hadal_model::{Allowance, Expander, Model, Shape, Stop};
use hadal_store::disk::{Folder, Payload};

pub use crate::ending::{Decided, End, Ended, Explored, Halt, Usage};
pub use crate::findings::Findings;
pub use crate::kernel::{Kernel, Verdicts};
pub use crate::ranked::{AStar, Auto, BestFirst, Dijkstra, Ranked};
pub use crate::totals::Totals;
pub use hadal_store::hashing::Hashing;

use crate::budget::lent_to_expanders;
use crate::checkpoint::{Content, from_manifest};
use crate::ending::conclude;
use crate::progress::Work;
use crate::watch::{Watched, watched};
use crate::{Error, Observer, Options, Outcome, Reason, SearchFolder};

/// How states are searched.
pub trait Strategy: Sync {
    /// Its name on the command line and in the run record.
    fn name(&self) -> &'static str;

    /// Its parameters, by name.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What a person should know before choosing it, if there is something.
    fn remark(&self) -> Option<&'static str> {
        None
    }

    /// Whether states are expanded in the order of their depth, so that the outcome has a depth and
    /// counterexamples are the shortest.
    fn is_by_depth(&self) -> bool {
        true
    }

    /// Whether the order of its search depends on the model's estimates, so that it must have them.
    fn needs_estimates(&self) -> bool {
        false
    }

    /// Whether what it finds depends on what steps cost.
    fn needs_costs(&self) -> bool {
        false
    }

    /// Whether it uses more than one thread.
    fn is_parallel(&self) -> bool {
        false
    }

    /// The least memory with which it can keep to its budget on `threads` threads, in bytes; 0 where
    /// any will do.
    fn least_bytes(&self, shape: &Shape, threads: usize) -> u64 {
        let _ = (shape, threads);
        0
    }

    /// Whether a later run can resume it from its folder. Only the strategies of this crate write
    /// checkpoints, so only they return true.
    fn is_resumable(&self) -> bool {
        false
    }

    /// Searches, and ends with [`Run::conclude`].
    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error>;
}

/// The context of one search.
pub struct Run<'r> {
    /// The model.
    pub model: &'r dyn Model,
    /// Its shape.
    pub shape: &'r Shape,
    /// What is asked for, and with which resources.
    pub options: &'r Options,
    /// The folder and what its manifest says, if the search may use a disk.
    pub(crate) search_folder: Option<(SearchFolder, Content)>,
    /// What expanders may hold beside what each has of its own.
    pub(crate) allowance: Arc<Allowance>,
    pub(crate) watched: Watched<'r>,
}

impl<'r> Run<'r> {
    /// The folder for what memory cannot hold.
    pub fn folder(&self) -> Option<&Folder> {
        self.search_folder
            .as_ref()
            .map(|(search_folder, _)| &search_folder.folder)
    }

    /// A generator of successors for one thread, with the memory that it may hold.
    pub fn expander(&self) -> Box<dyn Expander + 'r> {
        let mut expander = self.model.expander(self.stop());
        if self.shape.expander_bytes > 0 {
            expander.limit_memory(self.allowance.clone());
        }
        expander
    }

    /// The flag for expanders: raised when the search must stop.
    pub fn stop(&self) -> &'r Stop {
        &self.watched.limits.stop
    }

    /// The flag for what follows a search: raised some time after a signal or the time limit, so
    /// that what was found by then is shown, however the search ended.
    pub fn late(&self) -> &'r Stop {
        &self.watched.limits.late
    }

    /// Why the flag was raised.
    pub fn stop_reason(&self) -> Reason {
        self.watched.limits.reason()
    }

    /// Stops the search if the flag is raised. To be asked in every loop that may take long.
    pub fn check_stop(&self) -> Result<(), Halt> {
        match self.stop().is_raised() {
            true => Err(Halt::Stop(self.stop_reason())),
            false => Ok(()),
        }
    }

    /// Wall clock since the search began.
    pub fn seconds(&self) -> f64 {
        self.watched.gauge.seconds()
    }

    /// Reports that a rank of `n_states` states begins; for a search by depth, a layer.
    pub fn begin_rank(&self, rank: u32, n_states: u64) {
        self.watched.gauge.begin_rank(rank, n_states);
    }

    /// Reports that `n_states` more states of the rank are expanded, and all transitions so far.
    pub fn note_expanded(&self, n_states: usize, transitions: u64) {
        self.watched.gauge.note_expanded(n_states, transitions);
    }

    /// Reports all states so far, and what is held in memory and on disk.
    pub fn note_states(&self, n_states: u64, data_bytes: u64, disk_bytes: u64) {
        let gauge = self.watched.gauge;
        gauge.note_window(n_states, data_bytes, disk_bytes);
    }

    /// Reports the end of a rank to the observer. The search does not wait for it.
    pub fn end_rank(&self) {
        let progress = self.watched.gauge.read();
        let _ = self.watched.ended_ranks.try_send(progress);
    }

    /// Refuses a bound on the depth, for a strategy that searches in another order.
    pub fn refuse_bound(&self, strategy: &'static str) -> Result<(), Error> {
        match self.options.bound {
            None => Ok(()),
            Some(_) => Err(Error::Unsupported {
                strategy,
                option: "a bound on the depth",
                why: "it does not visit states in the order of their depth",
            }),
        }
    }

    /// Reports that the graph, of `n_edges` edges, is passed on to a sink from now on.
    pub fn begin_writing(&self, n_edges: u64) {
        self.watched.gauge.begin_work(Work::Writing, 0, n_edges);
    }

    /// Reports that `n_edges` more edges are passed on.
    pub fn note_written(&self, n_edges: u64) {
        self.watched.gauge.note_worked(n_edges);
    }

    /// The end of every search: decides goals, finds the paths of violations, makes the outcome.
    pub fn conclude(
        &self,
        ended: Ended<'_>,
        explored: &mut dyn Explored,
    ) -> Result<Outcome, Error> {
        conclude(self, ended, explored)
    }
}

/// Visits every reachable state of `model` by `strategy` and decides its properties.
///
/// With a folder, what memory cannot hold goes there. `stop` interrupts the search; the flag itself
/// is only read.
pub fn check(
    model: &dyn Model,
    strategy: &dyn Strategy,
    options: &Options,
    folder: Option<SearchFolder>,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let search_folder = folder.map(|folder| (folder, Content::Begun));
    let search = |run: &Run<'_>| strategy.search(run);
    run_with(model, options, search_folder, stop, observer, search)
}

/// Resumes the search that `manifest`, the manifest of `folder`, describes. Model, strategy and those
/// options that change what is reported must be the same as before.
pub fn resume(
    model: &dyn Model,
    strategy: &dyn Strategy,
    options: &Options,
    folder: Folder,
    manifest: &Payload,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let manifest = from_manifest(manifest)?;
    let search_folder = SearchFolder {
        folder,
        resumable: true,
        label: manifest.label,
    };
    let search_folder = Some((search_folder, manifest.content));
    let search = |run: &Run<'_>| strategy.search(run);
    run_with(model, options, search_folder, stop, observer, search)
}

/// Runs `work` as a search is run: on a thread of its own, with limits and progress, in memory.
/// For measurements that are no search.
pub fn run<T: Send>(
    model: &dyn Model,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    work: impl FnOnce(&Run<'_>) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    run_with(model, options, None, stop, observer, work)
}

fn run_with<T: Send>(
    model: &dyn Model,
    options: &Options,
    search_folder: Option<(SearchFolder, Content)>,
    stop: &Stop,
    observer: &mut dyn Observer,
    work: impl FnOnce(&Run<'_>) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    watched(options, stop, observer, |watched| {
        work(&Run {
            model,
            shape: model.shape(),
            options,
            search_folder,
            allowance: Arc::new(Allowance::new(lent_to_expanders(
                options.memory_bytes,
                model.shape(),
                options.threads,
            ))),
            watched,
        })
    })
}
