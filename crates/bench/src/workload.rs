//! What is measured: models with constants, with and without symmetry.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_ir::interp::Limits;
use hadal_jit::Native;
use hadal_model::{Model, Stop};
use hadal_murphi::Dialect;
use hadal_search::{Deadlock, Options, Silent, Verdict};
use hadal_symmetry::Symmetric;
use hadal_syntax::Source;

/// A model to be searched in one way.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) path: PathBuf,
    pub(crate) constants: Vec<(String, String)>,
    pub(crate) symmetry: bool,
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) load_seconds: f64,
    pub(crate) compile_seconds: f64,
    pub(crate) search_seconds: f64,
    pub(crate) data_bytes: u64,
}

impl Measured {
    /// Keeps the least of each time.
    pub(crate) fn keep_least(&mut self, other: &Measured) {
        self.load_seconds = self.load_seconds.min(other.load_seconds);
        self.compile_seconds = self.compile_seconds.min(other.compile_seconds);
        self.search_seconds = self.search_seconds.min(other.search_seconds);
        self.data_bytes = self.data_bytes.min(other.data_bytes);
    }
}

impl Workload {
    fn new(folder: &Path, model: &str, constants: &[(&str, &str)], symmetry: bool) -> Self {
        Workload {
            path: folder.join(model),
            constants: constants
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            symmetry,
        }
    }

    /// For people, and for choosing.
    pub(crate) fn name(&self) -> String {
        let mut name = self
            .path
            .file_stem()
            .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        for (constant, value) in &self.constants {
            name.push_str(&format!(" {constant}={value}"));
        }
        if !self.symmetry {
            name.push_str(" symmetry off");
        }
        name
    }

    /// Loads, compiles and searches the model, deadlocks not looked for.
    pub(crate) fn run(&self, threads: usize) -> anyhow::Result<Measured> {
        let begun = Instant::now();
        let bytes = std::fs::read(&self.path)
            .with_context(|| format!("cannot read `{}`", self.path.display()))?;
        let source = Source::from_bytes(self.name(), bytes)?;
        let options = hadal_murphi::Options {
            dialect: Dialect::Hadal,
            constants: self.constants.clone(),
        };
        let Some(program) = hadal_murphi::compile(&source, &options).program else {
            bail!("`{}` is not a legal model", self.path.display());
        };
        let load_seconds = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let native = Native::new(program, Limits::default())?;
        let program = native.program().clone();
        let model: Box<dyn Model> = if self.symmetry {
            Box::new(Symmetric::new(Box::new(native), &program))
        } else {
            Box::new(native)
        };
        let compile_seconds = begun.elapsed().as_secs_f64();

        let options = Options {
            deadlock: Deadlock::Off,
            threads,
            ..Options::default()
        };
        let outcome = hadal_search::check(&*model, &options, &Stop::new(), &mut Silent)?;
        if outcome.verdict != Verdict::Verified {
            bail!("{} is {}", self.name(), outcome.verdict.name());
        }
        Ok(Measured {
            states: outcome.states,
            transitions: outcome.transitions,
            load_seconds,
            compile_seconds,
            search_seconds: outcome.seconds.search,
            data_bytes: outcome.data_bytes,
        })
    }
}

/// Workloads on our own models.
pub(crate) fn ours() -> Vec<Workload> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let new = |model, constants: &[_], symmetry| Workload::new(&models, model, constants, symmetry);
    vec![
        new("peterson.m", &[], true),
        new("peterson.m", &[], false),
        new("szymanski.m", &[("N", "7")], false),
        new("philosophers.m", &[("N", "8")], false),
        new("msi.m", &[("NODES", "5")], true),
        new("election.m", &[("N", "6")], false),
        new("sliding_unsolvable.m", &[], false),
        new("token_ring.m", &[], false),
    ]
}

/// Workloads on the models by others, by what they are called there.
pub(crate) fn of_others(folder: &Path) -> Vec<Workload> {
    let new = |model, constants: &[_], symmetry| Workload::new(folder, model, constants, symmetry);
    vec![
        new("sym/n_peterson.m", &[], true),
        new("sym/mcslock1.m", &[], false),
        new("sym/mcslock2.m", &[], false),
        new("sym/mcslock2.m", &[], true),
        new("sym/n_peterson.m", &[("N", "9")], true),
        new("sym/mcslock1.m", &[("N", "6")], true),
        new("sym/ldash.m", &[], true),
        new("sym/adash.m", &[], true),
        new("sym/cache3.m", &[], true),
        new("multiset+sym/newlist6.m", &[("CellCount", "7")], true),
    ]
}
