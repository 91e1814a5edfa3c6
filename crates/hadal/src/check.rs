//! A check, built option by option.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use hadal_lts::Hlts;
use hadal_model::{GoalKind, Model, Stop};
use hadal_search::{Auto, Deadlock, Observer, Ranked, Sink, StoreKind, Strategy};

use crate::checked::Checked;
use crate::folder::{self, Disk};
use crate::graph::{AskedOutput, LABEL_BYTES};
use crate::loaded_model::stack_bytes;
use crate::prepared_check::{ChosenStrategy, PreparedCheck};
use crate::question::{AskedModel, Question, SearchOptions};
use crate::resources::Resources;
use crate::{
    Error, GraphOutput, GraphWriter, LoadedModel, ModelSource, SavedRun, memory, model_digest,
};

/// A check of a model: what is asked, with which resources, and who watches.
///
/// Options are set by methods, each with a default; [`run`](Check::run) searches.
///
/// ```
/// # fn main() -> Result<(), hadal::Error> {
/// let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end;";
/// let model = hadal::ModelSource::text("toy.m", text, "murphi")?.load()?;
/// let checked = hadal::Check::new(&model)
///     .deadlock(hadal::Deadlock::Off)
///     .memory(300 << 20)
///     .threads(2)
///     .run()?;
/// assert_eq!(checked.outcome.verdict, hadal::Verdict::Verified);
/// assert_eq!(checked.outcome.layers, [1, 1, 1, 1]);
/// # Ok(()) }
/// ```
pub struct Check<'a> {
    model: CheckedModel<'a>,
    identity: Option<String>,
    search: SearchOptions,
    resources: Resources,
    strategy: Option<&'a dyn Strategy>,
    disk: Disk,
    saved: Option<SavedRun>,
    stop: &'a Stop,
    observer: Option<&'a mut dyn Observer>,
    sink: Option<&'a mut dyn Sink>,
    graph: Option<AskedOutput>,
    since: Option<Instant>,
}

/// The model of a check.
#[derive(Clone, Copy)]
pub(crate) enum CheckedModel<'a> {
    /// From texts.
    Loaded(&'a LoadedModel),
    /// A type of the caller.
    Rust { model: &'a dyn Model, name: &'a str },
}

impl<'a> CheckedModel<'a> {
    pub(crate) fn model(self) -> &'a dyn Model {
        match self {
            CheckedModel::Loaded(loaded) => &*loaded.model,
            CheckedModel::Rust { model, .. } => model,
        }
    }

    pub(crate) fn loaded(self) -> Option<&'a LoadedModel> {
        match self {
            CheckedModel::Loaded(loaded) => Some(loaded),
            CheckedModel::Rust { .. } => None,
        }
    }

    pub(crate) fn name(self) -> &'a str {
        match self {
            CheckedModel::Loaded(loaded) => loaded.source.name(),
            CheckedModel::Rust { name, .. } => name,
        }
    }

    fn stack_bytes(self) -> usize {
        let call_limit = self.loaded().map(|loaded| loaded.source.call_limit);
        stack_bytes(call_limit.unwrap_or(ModelSource::CALL_LIMIT))
    }
}

/// A flag that nobody raises.
static NEVER: Stop = Stop::new();

impl<'a> Check<'a> {
    /// A check of a model that was loaded from its texts.
    pub fn new(model: &'a LoadedModel) -> Self {
        Self::of_model(CheckedModel::Loaded(model))
    }

    /// A check of any model, for example a Rust type of yours.
    pub fn of(model: &'a dyn Model) -> Self {
        Self::of_model(CheckedModel::Rust {
            model,
            name: "model",
        })
    }

    fn of_model(model: CheckedModel<'a>) -> Self {
        let loaded = model.loaded();
        let deadlock = loaded.map(|loaded| loaded.source.default_deadlock());
        Check {
            model,
            identity: None,
            search: SearchOptions {
                deadlock: deadlock.unwrap_or_default(),
                ..SearchOptions::default()
            },
            resources: Resources::default(),
            strategy: None,
            disk: Disk::default(),
            saved: None,
            stop: &NEVER,
            observer: None,
            sink: None,
            graph: None,
            since: None,
        }
    }

    /// The name of a model that has no texts, for messages and the record; by default `model`. One
    /// with texts keeps the name of its file.
    pub fn name(mut self, of_model: &'a str) -> Self {
        if let CheckedModel::Rust { name, .. } = &mut self.model {
            *name = of_model;
        }
        self
    }

    /// What makes a model that has no texts different from others of its type, for example its
    /// parameters as text. A run is [resumed](Check::resume) only with the identity it was started
    /// with.
    ///
    /// Without one, a model is recognised by its rules, its properties, its first thousand states
    /// and a thousand others. Models that agree on these are taken for one.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Continues a saved run of the same model, with the options it was started with; see
    /// [`SavedRun`]. Another model is refused as [`Error::OtherModel`] before the search starts.
    pub fn resume(mut self, run: SavedRun) -> Result<Self, Error> {
        if run.is_finished() {
            return Err(Error::Finished(run.path().to_owned()));
        }
        self.search = run.search_options()?;
        self.saved = Some(run);
        Ok(self)
    }

    /// What changes the result, all at once.
    pub fn search(mut self, options: SearchOptions) -> Self {
        self.search = options;
        self
    }

    /// What counts as a deadlock; by default what the language of the model says.
    pub fn deadlock(mut self, deadlock: Deadlock) -> Self {
        self.search.deadlock = deadlock;
        self
    }

    /// Does not expand states at this depth.
    pub fn bound(mut self, depth: u32) -> Self {
        self.search.bound = Some(depth);
        self
    }

    /// Ends at this number of violations, one for each property and kind, instead of the first.
    pub fn max_errors(mut self, n: u32) -> Self {
        self.search.max_errors = n;
        self
    }

    /// What is remembered of a visited state: hashes take less memory and may miss states, with a
    /// probability that the outcome reports.
    pub fn store(mut self, store: StoreKind) -> Self {
        self.search.store = store;
        self
    }

    /// Chooses the hash function.
    pub fn seed(mut self, seed: u64) -> Self {
        self.search.seed = seed;
        self
    }

    /// The resources, all at once.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// The memory budget of the whole process, in bytes; by default half of what is available.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.resources.memory = Some(bytes);
        self
    }

    /// The memory of the data of the search alone, in bytes; by default what the budget of the
    /// process leaves for it.
    pub fn data_memory(mut self, bytes: u64) -> Self {
        self.resources.data_memory = Some(bytes);
        self
    }

    /// Threads that expand states; by default all cores.
    pub fn threads(mut self, n: usize) -> Self {
        self.resources.threads = Some(n);
        self
    }

    /// Stops cleanly after this long.
    pub fn time_limit(mut self, limit: std::time::Duration) -> Self {
        self.resources.time_limit = Some(limit);
        self
    }

    /// Uses a folder, which is kept, so that the run can be [resumed](SavedRun).
    pub fn disk(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        self.disk_use(Disk::Folder { path, force: false })
    }

    /// Where states go when memory is full; by default to a scratch folder.
    pub fn disk_use(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// The most that the run may take on disk, in bytes.
    pub fn disk_limit(mut self, bytes: u64) -> Self {
        self.resources.disk_limit = Some(bytes);
        self
    }

    /// How to search; by default [`Auto`].
    pub fn strategy(mut self, strategy: &'a dyn Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Stops when this flag is raised.
    pub fn stop(mut self, stop: &'a Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Reports progress to this observer, about five times a second and at the end of each layer.
    pub fn observer(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Receives every state, and every edge if it wants them, in the order of discovery. For
    /// another order of ranks, pass a [`Ranked`] with a sink as the strategy instead.
    pub fn sink(mut self, sink: &'a mut dyn Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Writes the graph of all states. Nothing else is asked: no state is a deadlock, and the search
    /// goes on behind violations, of which it reports the first of each property. Steps that meet a
    /// fault are no edges.
    pub fn graph(mut self, writer: &'a mut GraphWriter<'_>) -> Self {
        let asked = writer.asked.clone();
        self.asks_for_graph(asked);
        self.sink(writer)
    }

    /// The same by a strategy that passes the graph to a writer of `output`.
    pub fn graph_by(mut self, strategy: &'a dyn Strategy, output: &GraphOutput) -> Self {
        self.asks_for_graph(output.asked());
        self.strategy(strategy)
    }

    fn asks_for_graph(&mut self, asked: AskedOutput) {
        self.graph = Some(asked);
        self.search.deadlock = Deadlock::Off;
        self.search.max_errors = u32::MAX;
    }

    /// The start of the times in the record; by default when the check is prepared.
    pub fn since(mut self, start: Instant) -> Self {
        self.since = Some(start);
        self
    }

    /// Why invalid end states cannot be asked for.
    fn no_ends(&self) -> String {
        let who = match self.model.loaded() {
            Some(loaded) => format!("{} has no such states", loaded.source.language.title()),
            None => "this model has no such states".to_owned(),
        };
        let name = Deadlock::EndStates.name();
        format!("`{name}` is for models that name the states where they may end: {who}")
    }

    /// Searches.
    pub fn run(self) -> Result<Checked<'a>, Error> {
        self.prepare()?.run()
    }

    /// Fixes the budgets and takes the folder. What a user should know before a long search is then
    /// in [`warnings`](PreparedCheck::warnings).
    pub fn prepare(mut self) -> Result<PreparedCheck<'a>, Error> {
        let since = self.since.unwrap_or_else(Instant::now);
        memory::start_measuring()?;
        let strategy = match (self.strategy, self.sink.take()) {
            (Some(_), Some(_)) => {
                let what = "a sink goes with the default strategy; give it to the strategy itself";
                return Err(Error::Invalid(what.to_owned()));
            }
            (Some(strategy), None) => ChosenStrategy::Given(strategy),
            (None, Some(sink)) => {
                ChosenStrategy::WithSink(Box::new(Ranked::by_depth().with_sink(sink)))
            }
            (None, None) => ChosenStrategy::Given(&Auto),
        };
        let is_kept = match &self.disk {
            _ if self.saved.is_some() => true,
            Disk::Folder { .. } => strategy.get().is_resumable(),
            Disk::None | Disk::Scratch => false,
        };
        let asked = self.asked(is_kept)?;
        if self.search.deadlock == Deadlock::EndStates && !self.model.model().shape().has_ends {
            return Err(Error::Invalid(self.no_ends()));
        }
        let goals = &self.model.model().shape().goals;
        let has_liveness = goals.iter().any(|goal| goal.kind == GoalKind::Liveness);
        // Liveness needs the states themselves.
        let unused_store =
            Some(self.search.store).filter(|&store| has_liveness && store != StoreKind::Exact);
        if unused_store.is_some() {
            self.search.store = StoreKind::Exact;
        }
        let graph = self.graph.take();
        let label_bytes = graph.as_ref().map_or(0, |_| LABEL_BYTES);
        let question = Question::new(asked, self.search.clone(), strategy.get(), graph);
        let budget = self.resources.budget();
        // Not the peak: an earlier check of this process may have needed more.
        Resources::check_budget(budget, memory::resident_bytes())?;
        let stack_bytes = self.model.stack_bytes();
        let resources = &self.resources;
        let shape = self.model.model().shape();
        let reserved = self.model.loaded().map_or(0, LoadedModel::reserved_bytes);
        let unreserved = budget.saturating_sub(reserved);
        let share = resources.share(strategy.get(), shape, unreserved, stack_bytes)?;
        // Labels are no data of the search.
        let left = share
            .data_bytes
            .saturating_sub(label_bytes.min(share.data_bytes / 8));
        let mut options = resources.options(left, &self.search, share.threads, stack_bytes);
        // Loading counts, so less may be left.
        let spent = since.elapsed();
        options.time_limit = options.time_limit.map(|limit| limit.saturating_sub(spent));
        let data_bytes = resources.data_memory.unwrap_or(left);
        let folder_options = folder::folder_options(data_bytes, resources.disk_limit);
        let mut prepared = PreparedCheck {
            model: self.model,
            strategy,
            question,
            budget,
            options,
            resources: self.resources,
            stop: self.stop,
            observer: self.observer,
            since,
            folder: None,
            manifest: None,
            no_scratch: None,
            unused_store,
            fewer_threads: share.fewer,
        };
        prepared.take_folder(self.saved, &self.disk, folder_options)?;
        Ok(prepared)
    }

    /// A graph as a question has it.
    fn asked_graph(
        &self,
        source: &ModelSource,
        graph: &Hlts,
        is_kept: bool,
    ) -> Result<AskedModel, Error> {
        let digest = match is_kept {
            true => match graph.digest(&hadal_lts::Resources::new(self.stop)) {
                Ok(digest) => Some(digest),
                Err(hadal_lts::Error::Stopped) => None,
                Err(error) => {
                    return Err(Error::Graph {
                        name: source.name().to_owned(),
                        error: error.to_string(),
                    });
                }
            },
            false => None,
        };
        Ok(AskedModel::graph(source, graph, digest))
    }

    /// The model as a question has it; recognisable if the run `is_kept`, unless it is stopped
    /// before the model is known.
    fn asked(&mut self, is_kept: bool) -> Result<AskedModel, Error> {
        let model = match self.model {
            CheckedModel::Loaded(loaded) => {
                let source = &loaded.source;
                return match loaded.graph() {
                    // One without a file has a text.
                    Some(graph) if source.graph.is_some() => {
                        self.asked_graph(source, graph.graph(), is_kept)
                    }
                    _ => Ok(AskedModel::from(source)),
                };
            }
            CheckedModel::Rust { model, .. } => model,
        };
        let digest = match is_kept {
            true => model_digest::digest(model, self.model.stack_bytes(), self.stop),
            false => Ok(None),
        };
        let digest = digest.map_err(|error| Error::Search {
            model: self.model.name().to_owned(),
            folder: None,
            error: Box::new(error),
        })?;
        Ok(AskedModel::rust(model, self.identity.take(), digest))
    }
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("model", &self.model.name())
            .field("search", &self.search)
            .field("resources", &self.resources)
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}
