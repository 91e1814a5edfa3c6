//! The file of a graph.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hadal_lts::{FileKind, Format, Hlts, MOST_IN_DOT, Resources, UnfinishedFile};
use hadal_model::Model;

use super::labels::Labeller;
use super::{AskedOutput, GraphOptions, GraphWriter};
use crate::loaded_model::stack_bytes;
use crate::{Error, LoadedModel, ModelSource, ScratchFolder};

/// The file that a graph is written to, and how. Its name ends in `.aut`, `.hlts` or `.dot`, with
/// `.zst` behind where it is to be compressed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ring.aut");
/// let text = "var x: 0..2; startstate x := 0; end; rule \"up\" x := (x + 1) % 3; end;";
/// let model = hadal::ModelSource::text("ring.m", text, "murphi")?.load()?;
/// let output = hadal::GraphOutput::new(&path, hadal::GraphOptions::default())?;
/// let mut writer = output.writer(&model);
/// let checked = hadal::Check::new(&model).graph(&mut writer).run()?;
/// let written = output.save(&hadal_lts::Resources::new(&Default::default()))?;
/// checked.finish()?;
/// assert_eq!(written.map(|it| (it.n_states, it.n_edges)), Some((3, 3)));
/// let text = std::fs::read_to_string(&path)?;
/// assert_eq!(text, "des (0, 3, 3)\n(0, up, 1)\n(1, up, 2)\n(2, up, 0)\n");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct GraphOutput {
    target: Target,
    options: GraphOptions,
    made: Arc<Mutex<Option<Made>>>,
}

/// Where a graph goes.
#[derive(Clone, Debug)]
pub(super) struct Target {
    path: PathBuf,
    kind: FileKind,
}

/// A graph that was written to a temporary file as `.hlts`.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) file: UnfinishedFile,
    pub(super) has_dropped_parameters: bool,
    pub(super) has_added_start: bool,
}

/// A graph that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenGraph {
    /// States, with the one that was added.
    pub n_states: u64,
    /// Edges, each label and target of a state once.
    pub n_edges: u64,
    /// Labels.
    pub n_labels: usize,
    /// Bytes of the file, if it is one.
    pub n_bytes: Option<u64>,
    /// Whether a start state was added, because the model has several startstates.
    pub has_added_start: bool,
    /// Whether labels lack the parameters that a reduction by symmetry makes ambiguous.
    pub has_dropped_parameters: bool,
}

/// What labels may take unless more is allowed, in bytes.
pub(crate) const LABEL_BYTES: u64 = 8 << 20;

impl GraphOutput {
    /// The file at `path`. An error if its name says no format that can be written, if states are
    /// to have values that the format has no place for, or if nothing can be written there.
    pub fn new(path: impl AsRef<Path>, options: GraphOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        let refused = |error| Error::Output {
            path: path.to_owned(),
            error: Box::new(error),
        };
        let kind = FileKind::of(path).map_err(refused)?;
        if options.values && kind.format != Format::Hlts {
            let what = "values of states are written to `.hlts` only";
            return Err(Error::Invalid(what.to_owned()));
        }
        let path = std::path::absolute(path).map_err(|error| refused(error.into()))?;
        if path.is_dir() {
            let error = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(refused(error.into()));
        }
        let target = Target { path, kind };
        // Before a long search, not after it.
        target.temporary().map_err(|error| refused(error.into()))?;
        Ok(GraphOutput {
            target,
            options,
            made: Arc::default(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Receives the graph of a model that was loaded from its texts.
    pub fn writer<'m>(&self, model: &'m LoadedModel) -> GraphWriter<'m> {
        let stack = stack_bytes(model.source.call_limit);
        self.writer_with(&*model.model, &model.symmetric_parameters, stack)
    }

    /// Receives the graph of any model, for example a Rust type of yours.
    pub fn writer_of<'m>(&self, model: &'m dyn Model) -> GraphWriter<'m> {
        self.writer_with(model, &[], stack_bytes(ModelSource::CALL_LIMIT))
    }

    fn writer_with<'m>(
        &self,
        model: &'m dyn Model,
        symmetric: &'m [Vec<usize>],
        stack_bytes: usize,
    ) -> GraphWriter<'m> {
        let asked = self.asked();
        let options = self.options.clone();
        let labeller = move |bytes| Labeller::new(model, symmetric, &options, stack_bytes, bytes);
        let state_len = model.shape().state_len;
        let made = Arc::clone(&self.made);
        GraphWriter::new(
            Box::new(labeller),
            state_len,
            asked,
            self.target.clone(),
            made,
        )
    }

    /// What is asked of a search.
    pub(crate) fn asked(&self) -> AskedOutput {
        AskedOutput {
            output: self.target.path.display().to_string(),
            options: self.options.clone(),
        }
    }

    /// Puts the graph under its name, in its format; `None` if the search did not visit all states.
    /// `resources` are what converting it may use.
    pub fn save(&self, resources: &Resources<'_>) -> Result<Option<WrittenGraph>, Error> {
        let made = self
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(made) = made else {
            return Ok(None);
        };
        let saved = self.target.save(made, resources);
        saved.map(Some).map_err(|error| Error::Output {
            path: self.target.path.clone(),
            error: Box::new(error),
        })
    }
}

impl Target {
    /// Whether the output is what it is, not a name for a new file: a pipe or a device.
    fn is_special(&self) -> bool {
        self.path.metadata().is_ok_and(|about| !about.is_file())
    }

    /// A temporary file beside the output, which is deleted when it is dropped.
    pub(super) fn temporary(&self) -> io::Result<UnfinishedFile> {
        let folder = match self.path.parent() {
            Some(folder) if !self.is_special() => folder.to_owned(),
            _ => ScratchFolder::default_parent(),
        };
        // For a message that names no file which nobody asked for.
        std::fs::metadata(&folder)?;
        UnfinishedFile::new(&folder)
    }

    /// Refuses a graph that is too large for its format.
    pub(super) fn refuse_too_large(
        &self,
        n_states: u64,
        n_edges: u64,
    ) -> Result<(), hadal_lts::Error> {
        match self.kind.format == Format::Dot && n_states > MOST_IN_DOT {
            true => Err(hadal_lts::Error::TooLargeForDot {
                n_states,
                n_edges,
                most: MOST_IN_DOT,
            }),
            false => Ok(()),
        }
    }

    fn save(
        &self,
        made: Made,
        resources: &Resources<'_>,
    ) -> Result<WrittenGraph, hadal_lts::Error> {
        let graph = Hlts::from_file(File::open(made.file.path())?)?;
        let is_as_made =
            self.kind.format == Format::Hlts && !self.kind.is_compressed && !self.is_special();
        match is_as_made {
            true => {
                made.file.complete(&self.path)?;
            }
            false => hadal_lts::save(&graph, &self.path, resources)?,
        }
        let about = self.path.metadata().ok().filter(|about| about.is_file());
        let counts = graph.counts();
        Ok(WrittenGraph {
            n_states: counts.n_states,
            n_edges: counts.n_edges,
            n_labels: graph.labels().len(),
            n_bytes: about.map(|about| about.len()),
            has_added_start: made.has_added_start,
            has_dropped_parameters: made.has_dropped_parameters,
        })
    }
}
