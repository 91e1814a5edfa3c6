//! A run that was interrupted, in its folder.

use std::fmt;
use std::path::{Path, PathBuf};

use hadal_search::Verified;

use crate::folder::{SavedFolder, store_error};
use crate::language::Language;
use crate::question::{AskedModel, Question, SearchOptions};
use crate::{Error, GraphOptions, ModelSource};

/// A run in a folder that was given to [`Check::disk`](crate::Check::disk). The folder is locked
/// until this, or the check that resumes it, is dropped.
///
/// ```no_run
/// # fn main() -> Result<(), hadal::Error> {
/// let run = hadal::SavedRun::open("run")?;
/// let model = run.source()?.load()?;
/// let checked = hadal::Check::new(&model).resume(run)?.run()?;
/// # Ok(()) }
/// ```
pub struct SavedRun {
    pub(crate) folder: SavedFolder,
}

impl SavedRun {
    /// Opens and locks the folder of a run.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = SavedFolder::open(path.as_ref())?;
        Ok(SavedRun { folder })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Whether the run is finished, so that there is nothing to resume.
    pub fn is_finished(&self) -> bool {
        self.folder.about.is_finished
    }

    /// States found at the last checkpoint.
    pub fn n_states(&self) -> u64 {
        self.folder.about.states
    }

    /// The texts of the run's model, all of which the folder holds, or the graph, whose file must be
    /// where it was. Fails for a Rust type: bring it again, with [`Check::of`](crate::Check::of).
    pub fn source(&self) -> Result<ModelSource, Error> {
        self.source_in(&[])
    }

    /// As [`source`](Self::source), where the language may be one of `more` as well.
    pub fn source_in(&self, more: &[&'static dyn Language]) -> Result<ModelSource, Error> {
        self.source_at(None, more)
    }

    /// As [`source_in`](Self::source_in), where the file of a graph, which no folder holds, may have
    /// been moved to `graph`. A model with texts has no use for that and refuses it.
    pub fn source_at(
        &self,
        graph: Option<&Path>,
        more: &[&'static dyn Language],
    ) -> Result<ModelSource, Error> {
        match self.question()?.model {
            AskedModel::Text(_) if graph.is_some() => {
                let what = "the folder of this run holds its model, so no other one can be named";
                Err(Error::Invalid(what.to_owned()))
            }
            AskedModel::Text(text) => text.source(self.path(), more),
            AskedModel::Graph(asked) => asked.source(graph, more),
            AskedModel::Rust(_) => Err(Error::NoText(self.path().to_owned())),
        }
    }

    /// The options that the run was started with.
    pub fn search_options(&self) -> Result<SearchOptions, Error> {
        Ok(self.question()?.search)
    }

    /// The parameters of the strategy that it was started with, by name.
    pub fn strategy_parameters(&self) -> Result<Vec<(String, String)>, Error> {
        Ok(self.question()?.parameters)
    }

    /// The name of the strategy that it was started with.
    pub fn strategy(&self) -> Result<String, Error> {
        Ok(self.question()?.strategy)
    }

    /// The graph that the run was started for, if it was for one: its file, and how it is written.
    pub fn graph(&self) -> Result<Option<(PathBuf, GraphOptions)>, Error> {
        let asked = self.question()?.output;
        Ok(asked.map(|asked| (PathBuf::from(asked.output), asked.options)))
    }

    /// Reads and checks every block that the run has on disk.
    pub fn verify(&self) -> Result<Verified, Error> {
        let verified = hadal_search::verify(&self.folder.folder, &self.folder.manifest);
        verified.map_err(|error| match error {
            hadal_search::Error::Store(error) => store_error(self.path(), error),
            error => Error::Internal(error.to_string()),
        })
    }

    pub(crate) fn question(&self) -> Result<Question, Error> {
        Question::from_label(&self.folder.about.label, self.path())
    }
}

impl fmt::Debug for SavedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedRun")
            .field("path", &self.path())
            .field("n_states", &self.n_states())
            .finish_non_exhaustive()
    }
}
