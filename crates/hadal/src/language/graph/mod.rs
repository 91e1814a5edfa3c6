//! Graphs in files, as models: `.aut` and `.hlts`, by `hadal-lts`.
//!
//! A graph is no text that becomes a program. Its edges stay in the file, and a search reads them as
//! it goes; so a model may be larger than memory before it is searched. What there is of a language
//! is the goal ([`goal`]).

mod goal;

use hadal_lts::{Error as GraphError, GraphModel, Hlts, Resources};
use hadal_model::Stop;
use hadal_search::Deadlock;
use hadal_syntax::{Diagnostics, Sources};

use super::{
    GOAL, Language, LanguageOption, LanguageOptions, Problems, Translation, outside_files,
};
use crate::model_source::GraphFile;
use crate::{Error, LoadStopped, ModelSource, ScratchFolder, memory};

/// Explicit graphs.
#[derive(Clone, Copy, Debug)]
pub struct Graph;

impl Language for Graph {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn title(&self) -> &'static str {
        "a graph"
    }

    fn is_graph(&self) -> bool {
        true
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["aut", "hlts", "aut.zst", "hlts.zst"]
    }

    fn options(&self) -> &'static [LanguageOption] {
        &[GOAL]
    }

    fn default_deadlock(&self) -> Deadlock {
        Deadlock::Stuck
    }

    fn translate(
        &self,
        _sources: &mut Sources,
        _options: &LanguageOptions,
        _stop: &Stop,
    ) -> Result<Translation, Problems> {
        Err(Problems {
            messages: vec!["a graph is read, not translated".to_owned()],
            ..Problems::default()
        })
    }
}

/// Memory for reading a graph, where nothing limits it.
const FREE_BYTES: u64 = 256 << 20;

/// The share of the memory left that reading may take, and then labels, index and blocks: the rest is
/// for the search.
const SHARE: u64 = 4;

/// The least that reading gets, whatever is left.
const LEAST_BYTES: u64 = 2 << 20;

/// Memory that an edge takes in a block that is decoded, with its share of what belongs to the block.
const DECODED_EDGE_BYTES: u64 = 24;

/// The least cache of blocks.
const LEAST_CACHE_BYTES: u64 = 256 << 10;

/// A graph that was opened as a model.
pub(crate) struct Opened {
    pub(crate) model: GraphModel,
    /// What its cache may come to hold.
    pub(crate) cache_bytes: u64,
}

/// Why there is none.
pub(crate) enum NotOpened {
    Problems(Problems),
    Error(Error),
}

impl From<Error> for NotOpened {
    fn from(error: Error) -> Self {
        NotOpened::Error(error)
    }
}

/// Opens the graph of a source. `memory` is the budget of the process.
pub(crate) fn open(
    source: &mut ModelSource,
    memory: Option<u64>,
    stop: &Stop,
) -> Result<Opened, NotOpened> {
    let resources = resources(memory, stop);
    let graph = read(source, &resources).map_err(|error| not_read(error, source, memory))?;
    let counts = graph.counts();
    let decoded = counts.n_edges.saturating_mul(DECODED_EDGE_BYTES);
    let share = (resources.memory_bytes / 2).max(LEAST_CACHE_BYTES);
    let cache_bytes = share.min(decoded.saturating_add(LEAST_CACHE_BYTES));
    let model = GraphModel::new(graph, cache_bytes);
    let outside = outside_files(&mut source.sources, &source.options);
    let outside = outside.map_err(NotOpened::Problems)?;
    let goal = outside.goal.map(|id| source.sources.file(id));
    let model = match goal {
        None => model,
        Some(text) => {
            let mut diagnostics = Diagnostics::new();
            let goal = goal::parse(text, model.graph(), &mut diagnostics);
            let Some(goal) = goal else {
                return Err(NotOpened::Problems(Problems {
                    diagnostics: diagnostics.into_vec(),
                    messages: Vec::new(),
                }));
            };
            let words: Vec<&str> = text.text().split_whitespace().collect();
            model.looking_for(goal, words.join(" "), format!("{}:1:1", text.name()))
        }
    };
    Ok(Opened { model, cache_bytes })
}

/// What reading may use.
fn resources(memory: Option<u64>, stop: &Stop) -> Resources<'_> {
    let mut resources = Resources::new(stop);
    resources.memory_bytes = match memory {
        Some(budget) => {
            let left = budget.saturating_sub(memory::resident_bytes());
            (left / SHARE).max(LEAST_BYTES)
        }
        None => FREE_BYTES,
    };
    resources.scratch = ScratchFolder::default_parent();
    resources
}

fn read(source: &ModelSource, resources: &Resources<'_>) -> Result<Hlts, GraphError> {
    match &source.graph {
        Some(GraphFile::Path(path)) => hadal_lts::open_any(path, resources),
        Some(GraphFile::Stdin) => hadal_lts::read(std::io::stdin().lock(), resources),
        None => hadal_lts::read(source.sources.root().text().as_bytes(), resources),
    }
}

/// Why a graph is no model.
fn not_read(error: GraphError, source: &ModelSource, memory: Option<u64>) -> NotOpened {
    let budget = memory.unwrap_or(FREE_BYTES);
    NotOpened::Error(match error {
        GraphError::Io(error) => Error::Read {
            path: source.name().into(),
            error,
        },
        // Whoever raised the flag says why.
        GraphError::Stopped => Error::LoadStopped(LoadStopped::Interrupted),
        GraphError::Memory { .. } | GraphError::LabelMemory { .. } => {
            Error::LoadStopped(LoadStopped::Memory { budget })
        }
        error => {
            return NotOpened::Problems(Problems {
                messages: vec![format!("{}: {error}", source.name())],
                ..Problems::default()
            });
        }
    })
}
