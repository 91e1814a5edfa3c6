//! A check that has its budgets and its folder, and its run.

use std::fmt;
use std::time::Instant;

use hadal_model::Stop;
use hadal_report::units;
use hadal_search::{
    Observer, Options, Outcome, Progress, Ranked, SearchFolder, Silent, StoreKind, Strategy,
};
use hadal_store::disk::{Folder, FolderOptions, Payload};

use crate::check::CheckedModel;
use crate::checked::Checked;
use crate::folder::{self, Disk, NoScratch, RunFolder};
use crate::question::Question;
use crate::resources::Resources;
use crate::{Error, LoadedModel, SavedRun, claims, memory};

/// A check that has its budgets and its folder and can start.
pub struct PreparedCheck<'a> {
    pub(crate) model: CheckedModel<'a>,
    pub(crate) strategy: ChosenStrategy<'a>,
    pub(crate) question: Question,
    pub(crate) budget: u64,
    pub(crate) options: Options,
    pub(crate) resources: Resources,
    pub(crate) stop: &'a Stop,
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) since: Instant,
    pub(crate) folder: Option<RunFolder>,
    /// The manifest of the run to resume.
    pub(crate) manifest: Option<Payload>,
    pub(crate) no_scratch: Option<NoScratch>,
    /// The store that was asked for, where it is not used.
    pub(crate) unused_store: Option<StoreKind>,
    /// Why there are fewer threads than asked for.
    pub(crate) fewer_threads: Option<Warning>,
}

/// What a user should know before a search starts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// The budget is more than what is free.
    Budget {
        /// The budget in bytes.
        budget: u64,
        /// What is free, in bytes.
        free: u64,
    },
    /// There are fewer threads than asked for, because the budget has no room for more.
    FewerThreads {
        /// The threads there are.
        threads: usize,
        /// The threads asked for.
        asked: usize,
        /// The bytes that these would need.
        needed: u64,
        /// The budget in bytes.
        budget: u64,
    },
    /// There are fewer threads than asked for, because the address space that the system allows has
    /// no room for the stacks of more.
    FewerThreadsForSpace {
        /// The threads there are.
        threads: usize,
        /// The threads asked for.
        asked: usize,
        /// The stack of each, in bytes.
        stack: u64,
        /// The bytes that the system allows.
        limit: u64,
    },
    /// States are stored whole, not as the hashes that were asked for: liveness needs them.
    ExactStore(StoreKind),
    /// There is no scratch folder, so the search stops when memory is full.
    NoScratch(NoScratch),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Budget { budget, free } => write!(
                f,
                "the memory budget of {} is more than the {} that are free: the system may kill \
                 the run before states go to disk",
                units::bytes(*budget),
                units::bytes(*free),
            ),
            Warning::FewerThreads {
                threads,
                asked,
                needed,
                budget,
            } => write!(
                f,
                "{threads} of {asked} threads are used: {asked} need {} of memory, and the budget \
                 is {}",
                units::bytes(*needed),
                units::bytes(*budget),
            ),
            Warning::FewerThreadsForSpace {
                threads,
                asked,
                stack,
                limit,
            } => write!(
                f,
                "{threads} of {asked} threads are used: each takes {} of address space, and the \
                 system allows {} (ulimit -v)",
                units::bytes(*stack),
                units::bytes(*limit),
            ),
            Warning::ExactStore(store) => write!(
                f,
                "states are stored whole, not as {}: liveness needs them",
                store.name(),
            ),
            Warning::NoScratch(why) => {
                write!(f, "states have nowhere to go when memory is full: {why}")
            }
        }
    }
}

impl<'a> PreparedCheck<'a> {
    pub(crate) fn take_folder(
        &mut self,
        saved: Option<SavedRun>,
        disk: &Disk,
        options: FolderOptions,
    ) -> Result<(), Error> {
        if let Some(saved) = saved {
            let started = saved.question()?;
            let path = || saved.path().to_owned();
            if !self.question.model.is_recognisable() {
                return Err(Error::Stopped);
            }
            if started.model != self.question.model {
                return Err(Error::OtherModel(path()));
            }
            if started != self.question {
                return Err(Error::OtherOptions(path()));
            }
            let (folder, manifest) = saved.folder.resume(options)?;
            (self.folder, self.manifest) = (Some(folder), Some(manifest));
            return Ok(());
        }
        let is_resumable =
            self.strategy.get().is_resumable() && self.question.model.is_recognisable();
        match disk {
            Disk::None => {}
            Disk::Scratch => match folder::scratch(self.model.model().shape().state_len, options) {
                Ok(folder) => self.folder = Some(folder),
                Err(why) => self.no_scratch = Some(why),
            },
            Disk::Folder { path, force } => {
                let mut folder = folder::given(path, *force, options)?;
                folder.kept = folder.kept.filter(|_| is_resumable);
                self.folder = Some(folder);
            }
        }
        Ok(())
    }

    /// What a user should know before the search starts.
    pub fn warnings(&self) -> Vec<Warning> {
        let budget = self.budget;
        let free = memory::free_bytes().filter(|&free| budget > free);
        let budget = free.map(|free| Warning::Budget { budget, free });
        let scratch = self.no_scratch.clone().map(Warning::NoScratch);
        let store = self.unused_store.map(Warning::ExactStore);
        let fewer = self.fewer_threads.clone();
        let warnings = budget.into_iter().chain(fewer).chain(store);
        warnings.chain(scratch).collect()
    }

    /// Where states go when memory is full.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref().map(|folder| &folder.folder)
    }

    /// Searches. Progress goes to the
    /// [observer](crate::Check::observer) of the check.
    pub fn run(mut self) -> Result<Checked<'a>, Error> {
        match self.observer.take() {
            Some(observer) => self.run_with(observer),
            None => self.run_with(&mut Silent),
        }
    }

    /// Does what [`run`](Self::run) does, with another observer, which need not live as long as the
    /// result.
    pub fn run_with(mut self, observer: &mut dyn Observer) -> Result<Checked<'a>, Error> {
        let before_search = self.since.elapsed().as_secs_f64();
        let mut watch = FirstExpansion {
            observer: &mut *observer,
            seconds: None,
        };
        let result = self.search(&mut watch);
        let failure = self.model.loaded().and_then(LoadedModel::failure);
        let outcome = match failure.map_or(result, Err) {
            Ok(outcome) => outcome,
            Err(error) => {
                let folder = self.folder.take();
                folder.into_iter().for_each(RunFolder::close);
                return Err(error);
            }
        };
        let first_state = watch.seconds.map(|seconds| before_search + seconds);
        let mut checked = Checked {
            outcome,
            products: Vec::new(),
            first_state_seconds: first_state,
            total_seconds: 0.0,
            peak_bytes: 0,
            prepared: self,
        };
        // A graph is that of the model alone.
        if checked.prepared.question.output.is_none() {
            claims::decide(&mut checked, observer)?;
        }
        if let Some(loaded) = checked.loaded() {
            loaded.drop_guesses(&mut checked.outcome);
        }
        checked.total_seconds = checked.prepared.since.elapsed().as_secs_f64();
        checked.peak_bytes = memory::peak_bytes();
        Ok(checked)
    }

    fn search(&self, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let (model, strategy) = (self.model.model(), self.strategy.get());
        let result = match (&self.folder, &self.manifest) {
            (Some(folder), Some(manifest)) => {
                let folder = folder.folder.clone();
                let options = &self.options;
                hadal_search::resume(
                    model, strategy, options, folder, manifest, self.stop, observer,
                )
            }
            (folder, _) => {
                let search_folder = folder
                    .as_ref()
                    .map(|folder| self.search_folder(folder))
                    .transpose()?;
                hadal_search::check(
                    model,
                    strategy,
                    &self.options,
                    search_folder,
                    self.stop,
                    observer,
                )
            }
        };
        result.map_err(|error| Error::Search {
            model: self.model.name().to_owned(),
            folder: self.folder.as_ref().and_then(|folder| folder.kept.clone()),
            error: Box::new(error),
        })
    }

    pub(crate) fn search_folder(&self, folder: &RunFolder) -> Result<SearchFolder, Error> {
        Ok(SearchFolder {
            folder: folder.folder.clone(),
            resumable: folder.kept.is_some(),
            label: self.question.to_label()?,
        })
    }
}

impl fmt::Debug for PreparedCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedCheck")
            .field("model", &self.model.name())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Notes when the first states were expanded.
struct FirstExpansion<'o> {
    observer: &'o mut dyn Observer,
    /// Seconds since the search started.
    seconds: Option<f64>,
}

impl Observer for FirstExpansion<'_> {
    fn progress(&mut self, progress: &Progress) {
        if progress.frontier_done > 0 {
            self.seconds.get_or_insert(progress.seconds);
        }
        self.observer.progress(progress);
    }
}

/// The strategy of a check.
pub(crate) enum ChosenStrategy<'a> {
    Given(&'a dyn Strategy),
    WithSink(Box<Ranked<'a>>),
}

impl<'a> ChosenStrategy<'a> {
    /// The one of the caller, unless it has a sink.
    pub(crate) fn given(&self) -> Option<&'a dyn Strategy> {
        match self {
            ChosenStrategy::Given(strategy) => Some(*strategy),
            ChosenStrategy::WithSink(_) => None,
        }
    }

    pub(crate) fn get(&self) -> &dyn Strategy {
        match self {
            ChosenStrategy::Given(strategy) => *strategy,
            ChosenStrategy::WithSink(strategy) => &**strategy,
        }
    }
}
