//! What a check asks: the model with the texts of all its files, and every option that changes what
//! is reported.
//!
//! A resumable run keeps its question in its folder, as the label of the manifest, so that it
//! resumes the same one wherever the model's files are by then. The label is JSON and begins with a
//! version, which is read before anything else.

use std::fs::File;
use std::path::Path;

use hadal_lts::Hlts;
use hadal_model::{Model, Shape};
use hadal_search::{Deadlock, StoreKind, Strategy};
use hadal_store::Error as StoreError;
use hadal_syntax::{Source, Sources};
use serde::{Deserialize, Serialize};

use crate::folder::{MANIFEST, store_error};
use crate::graph::AskedOutput;
use crate::language::{Language, LanguageOptions, language_among};
use crate::model_source::GraphFile;
use crate::{Directed, Engine, Error, ModelSource, Symmetry, names};

/// What changes the result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchOptions {
    /// What counts as a deadlock.
    #[serde(with = "names")]
    pub deadlock: Deadlock,
    /// States at this depth are not expanded.
    pub bound: Option<u32>,
    /// The search ends at this number of violations.
    pub max_errors: u32,
    /// What is remembered of a visited state.
    #[serde(with = "names")]
    pub store: StoreKind,
    /// Chooses the hash function, and whatever else a strategy chooses at random.
    pub seed: u64,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            deadlock: Deadlock::default(),
            bound: None,
            max_errors: 1,
            store: StoreKind::default(),
            seed: 0,
        }
    }
}

/// Version of the label. Version 1 had no version field and one text, version 2 no digest of a model
/// without texts, version 3 no graphs as models, version 4 none that are written, version 5 no
/// estimates and no parameters of strategies.
const LABEL_VERSION: u32 = 6;

/// The version of this program. Another one may lay out states differently.
const HADAL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The question of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    version: u32,
    hadal: String,
    pub(crate) model: AskedModel,
    pub(crate) search: SearchOptions,
    /// The name of the strategy.
    pub(crate) strategy: String,
    /// Its parameters.
    pub(crate) parameters: Vec<(String, String)>,
    /// The graph that is to be written.
    pub(crate) output: Option<AskedOutput>,
}

/// The fields that the label of any version has.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    version: Option<u32>,
    hadal: String,
}

/// The model of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AskedModel {
    /// Texts of a language, which suffice to load it again.
    Text(AskedText),
    /// A graph in a file that is too large to be kept.
    Graph(AskedGraph),
    /// A type of the caller, who must bring it again.
    Rust(AskedRust),
}

/// The texts of a model and how they were loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedText {
    language: String,
    options: LanguageOptions,
    #[serde(with = "names")]
    symmetry: Symmetry,
    #[serde(with = "names")]
    engine: Engine,
    call_limit: u32,
    directed: Option<Directed>,
    /// The files, the one the user named first.
    files: Vec<AskedFile>,
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AskedFile {
    name: String,
    text: String,
}

/// A graph, and where it was. Two are equal wherever their files are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AskedGraph {
    /// Its file as the user named it.
    name: String,
    /// The absolute path; `None` where there is no file to be read again.
    path: Option<String>,
    language: String,
    options: LanguageOptions,
    n_states: u64,
    n_edges: u64,
    /// Of the whole graph; `None` where the run cannot be resumed.
    digest: Option<u64>,
}

impl PartialEq for AskedGraph {
    fn eq(&self, other: &Self) -> bool {
        let facts = |it: &Self| (it.n_states, it.n_edges, it.digest);
        facts(self) == facts(other) && self.options == other.options
    }
}

impl Eq for AskedGraph {}

/// What distinguishes a model without a text from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedRust {
    state_bits: usize,
    rules: Vec<String>,
    properties: Vec<String>,
    /// What the caller calls it.
    identity: Option<String>,
    /// Of its state graph; `None` where the run cannot be resumed.
    digest: Option<u64>,
}

impl Question {
    pub(crate) fn new(
        model: AskedModel,
        search: SearchOptions,
        strategy: &dyn Strategy,
        output: Option<AskedOutput>,
    ) -> Self {
        let parameters = strategy.parameters().into_iter();
        Question {
            version: LABEL_VERSION,
            hadal: HADAL_VERSION.to_owned(),
            model,
            search,
            strategy: strategy.name().to_owned(),
            parameters: parameters
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            output,
        }
    }

    /// The bytes that a folder keeps.
    pub(crate) fn to_label(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// The reverse of [`Question::to_label`], for the folder at `path`.
    pub(crate) fn from_label(label: &[u8], path: &Path) -> Result<Self, Error> {
        let unreadable = |error: serde_json::Error| damaged(path, error.to_string());
        let header: Header = serde_json::from_slice(label).map_err(unreadable)?;
        let version = header.version.unwrap_or(1);
        if header.hadal != HADAL_VERSION || version != LABEL_VERSION {
            return Err(Error::OtherVersion {
                started: format!("{}, label {version}", header.hadal),
                this: format!("{HADAL_VERSION}, label {LABEL_VERSION}"),
            });
        }
        serde_json::from_slice(label).map_err(unreadable)
    }
}

/// The label of the folder at `path` is not one.
fn damaged(path: &Path, what: String) -> Error {
    store_error(
        path,
        StoreError::Damaged {
            file: MANIFEST.to_owned(),
            offset: 0,
            what: format!("its label cannot be read: {what}"),
        },
    )
}

impl From<&ModelSource> for AskedModel {
    fn from(source: &ModelSource) -> Self {
        let files = source.sources.iter().map(|file| AskedFile {
            name: file.name().to_owned(),
            text: file.text().to_owned(),
        });
        AskedModel::Text(AskedText {
            language: source.language.name().to_owned(),
            options: source.options.clone(),
            symmetry: source.symmetry,
            engine: source.engine,
            call_limit: source.call_limit,
            directed: source.directed.clone(),
            files: files.collect(),
        })
    }
}

impl AskedModel {
    /// A model without a text.
    pub(crate) fn rust(model: &dyn Model, identity: Option<String>, digest: Option<u64>) -> Self {
        let Shape {
            state_bits,
            rules,
            properties,
            ..
        } = model.shape();
        AskedModel::Rust(AskedRust {
            state_bits: *state_bits,
            rules: rules.iter().map(|rule| rule.name.clone()).collect(),
            properties: properties.iter().map(|it| it.name.clone()).collect(),
            identity,
            digest,
        })
    }

    /// A graph that is read from `source`.
    pub(crate) fn graph(source: &ModelSource, graph: &Hlts, digest: Option<u64>) -> Self {
        let path = match &source.graph {
            Some(GraphFile::Path(path)) => std::path::absolute(path).ok(),
            _ => None,
        };
        let counts = graph.counts();
        AskedModel::Graph(AskedGraph {
            name: source.name().to_owned(),
            // A path that is no text cannot be found again.
            path: path.and_then(|path| path.into_os_string().into_string().ok()),
            language: source.language.name().to_owned(),
            options: source.options.clone(),
            n_states: counts.n_states,
            n_edges: counts.n_edges,
            digest,
        })
    }

    /// Whether it can be recognised when a run is resumed.
    pub(crate) fn is_recognisable(&self) -> bool {
        match self {
            AskedModel::Graph(graph) => graph.digest.is_some() && graph.path.is_some(),
            AskedModel::Text(_) => true,
            AskedModel::Rust(model) => model.digest.is_some(),
        }
    }
}

impl AskedGraph {
    /// The graph, in `file` or where it was.
    pub(crate) fn source(
        &self,
        file: Option<&Path>,
        more: &[&'static dyn Language],
    ) -> Result<ModelSource, Error> {
        let path = file.or(self.path.as_deref().map(Path::new));
        let path = path.unwrap_or(Path::new(&self.name)).to_owned();
        if let Err(error) = File::open(&path) {
            return Err(Error::Read { path, error });
        }
        let language = language_among(more, &self.language)?;
        let name = match file {
            Some(file) => file.display().to_string(),
            None => self.name.clone(),
        };
        Ok(ModelSource {
            options: self.options.clone(),
            ..ModelSource::of_graph(name, GraphFile::Path(path), language)?
        })
    }
}

impl AskedText {
    /// The model as it was given, without any of its files, in a registered language or one of
    /// `more`; `path` is the folder of the run.
    pub(crate) fn source(
        &self,
        path: &Path,
        more: &[&'static dyn Language],
    ) -> Result<ModelSource, Error> {
        let mut files = self.files.iter();
        let mut next = || {
            let file = files.next()?;
            Some(Source::new(file.name.as_str(), file.text.as_str()))
        };
        let no_file = || damaged(path, "it has no text".to_owned());
        let mut sources = Sources::new(next().ok_or_else(no_file)??);
        while let Some(file) = next() {
            sources.add(file?)?;
        }
        Ok(ModelSource {
            options: self.options.clone(),
            symmetry: self.symmetry,
            engine: self.engine,
            call_limit: self.call_limit,
            directed: self.directed.clone(),
            ..ModelSource::new(sources, language_among(more, &self.language)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use hadal_search::Auto;

    use super::*;

    fn source() -> ModelSource {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/peterson.m");
        ModelSource::file(path).expect("the model can be read")
    }

    #[test]
    fn a_question_is_restored_from_its_label() {
        let default = || (source(), SearchOptions::default());
        let mut asked = vec![default()];
        let sources = [
            source().dialect("rumur"),
            source().constant("N", 5),
            source().symmetry(Symmetry::Off),
            source().engine(Engine::Interpreter),
            source().loop_limit(7),
            source().call_limit(7),
        ];
        asked.extend(sources.map(|source| (source, SearchOptions::default())));
        let searches: [fn(&mut SearchOptions); 5] = [
            |it| it.deadlock = Deadlock::Stuck,
            |it| it.bound = Some(3),
            |it| it.max_errors = 3,
            |it| it.store = StoreKind::Hash64,
            |it| it.seed = 9,
        ];
        for change in searches {
            let (source, mut search) = default();
            change(&mut search);
            asked.push((source, search));
        }
        let first = Question::new((&source()).into(), SearchOptions::default(), &Auto, None);
        for (number, (source, search)) in asked.into_iter().enumerate() {
            let question = Question::new((&source).into(), search, &Auto, None);
            let label = question.to_label().expect("it becomes text");
            let back = Question::from_label(&label, Path::new("run")).expect("it is a label");
            assert_eq!(back, question);
            assert_eq!(back == first, number == 0, "{number}");
        }
    }

    #[test]
    fn all_files_of_a_model_are_kept() {
        let mut source = source();
        let header = Source::new("part.m", "const M: 3;\n").expect("it is short");
        source.sources.add(header).expect("there is room");
        let AskedModel::Text(text) = AskedModel::from(&source) else {
            panic!("it is a text");
        };
        let back = text
            .source(Path::new("run"), &[])
            .expect("the texts are there");
        let files = |source: &ModelSource| -> Vec<(String, String)> {
            let files = source.sources.iter();
            files
                .map(|file| (file.name().to_owned(), file.text().to_owned()))
                .collect()
        };
        assert_eq!(files(&back), files(&source));
        assert_eq!(files(&back).len(), 2);
    }

    #[test]
    fn another_version_s_question_is_refused_and_nonsense_is_damage() {
        let error = |label: &str| {
            Question::from_label(label.as_bytes(), Path::new("run")).expect_err("refused")
        };
        let is_damage = |error: &Error| {
            let damaged = |error: &StoreError| matches!(error, StoreError::Damaged { .. });
            matches!(error, Error::Store { error, .. } if damaged(error))
        };
        let other = error(r#"{"hadal": "99.0.0", "oracle": "delphi"}"#);
        assert!(matches!(other, Error::OtherVersion { .. }));
        let message = other.to_string();
        assert!(message.contains("started by hadal 99.0.0"), "{message}");
        let older = error(&format!(r#"{{"hadal": "{HADAL_VERSION}", "text": ""}}"#));
        assert!(matches!(older, Error::OtherVersion { .. }), "{older}");
        let newer = error(r#"{"version": 99, "hadal": "0.1.0"}"#);
        assert!(newer.to_string().contains("label 99"), "{newer}");
        assert!(is_damage(&error("")));
        let truncated = format!(r#"{{"version": {LABEL_VERSION}, "hadal": "{HADAL_VERSION}"}}"#);
        assert!(is_damage(&error(&truncated)));
    }
}
