//! What is measured: models with constants, with and without symmetry.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use hadal_ir::Program;
use hadal_ir::interp::Limits;
use hadal_jit::Native;
use hadal_model::{Model, Stop};
use hadal_murphi::Dialect;
use hadal_search::{Deadlock, Options, Progress, Verdict};
use hadal_symmetry::Symmetric;
use hadal_syntax::{Outside, Source};

use crate::expected::Counts;

/// A model to be searched in one way.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What the model is called in its folder.
    pub model: String,
    /// Where it is.
    pub path: PathBuf,
    /// Constants by name.
    pub constants: Vec<(String, String)>,
    /// Whether symmetry is used.
    pub symmetry: bool,
    /// What the run must give.
    pub counts: Counts,
    /// Seconds that CMurphi 5.4.9 took by its published figures.
    pub cmurphi_seconds: Option<f64>,
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// States found.
    pub states: u64,
    /// Rule firings.
    pub transitions: u64,
    /// From the text to the checked program.
    pub load_seconds: f64,
    /// From there to native code.
    pub compile_seconds: f64,
    /// From the very beginning to the end of the first layer, which is mostly one state.
    pub first_state_seconds: f64,
    /// The search alone.
    pub search_seconds: f64,
    /// Memory for states at its largest.
    pub data_bytes: u64,
    /// The same at the end of the last layer.
    pub end_bytes: u64,
}

impl Measured {
    /// Keeps the least of each figure.
    pub fn keep_least(&mut self, other: &Measured) {
        self.load_seconds = self.load_seconds.min(other.load_seconds);
        self.compile_seconds = self.compile_seconds.min(other.compile_seconds);
        self.first_state_seconds = self.first_state_seconds.min(other.first_state_seconds);
        self.search_seconds = self.search_seconds.min(other.search_seconds);
        self.data_bytes = self.data_bytes.min(other.data_bytes);
        self.end_bytes = self.end_bytes.min(other.end_bytes);
    }
}

/// Reads and checks a model.
pub fn load(path: &Path, constants: &[(String, String)]) -> anyhow::Result<Program> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
    let source = Source::from_bytes(name, bytes)?;
    let options = hadal_murphi::Options {
        dialect: Dialect::Hadal,
        constants: constants.to_vec(),
        outside: Outside::default(),
    };
    match hadal_murphi::compile(&source, &options).program {
        Some(program) => Ok(program),
        None => bail!("`{}` is not a legal model", path.display()),
    }
}

impl Workload {
    /// A model below `folder`.
    pub fn new(folder: &Path, model: &str, constants: &[(&str, &str)], symmetry: bool) -> Self {
        Workload {
            model: model.to_owned(),
            path: folder.join(model),
            constants: constants
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            symmetry,
            counts: (None, None),
            cmurphi_seconds: None,
        }
    }

    /// For people, and for choosing.
    pub fn name(&self) -> String {
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

    /// Loads and compiles the model.
    pub fn model(&self) -> anyhow::Result<Box<dyn Model>> {
        self.compile(load(&self.path, &self.constants)?)
    }

    fn compile(&self, program: Program) -> anyhow::Result<Box<dyn Model>> {
        let native = Native::new(program, Limits::default())?;
        let program = native.program().clone();
        Ok(if self.symmetry {
            Box::new(Symmetric::trusting(Box::new(native), &program))
        } else {
            Box::new(native)
        })
    }

    /// How it is searched: deadlocks are not looked for.
    pub fn options(&self, threads: usize) -> Options {
        Options {
            deadlock: Deadlock::Off,
            threads,
            ..Options::default()
        }
    }

    /// Loads, compiles and searches the model.
    pub fn run(&self, threads: usize) -> anyhow::Result<Measured> {
        let first = Instant::now();
        let program = load(&self.path, &self.constants)?;
        let load_seconds = first.elapsed().as_secs_f64();

        let begun = Instant::now();
        let model = self.compile(program)?;
        let compile_seconds = begun.elapsed().as_secs_f64();

        let options = self.options(threads);
        let before_search = first.elapsed().as_secs_f64();
        let mut first_layer = None;
        let mut end_bytes = 0;
        let mut watch = |progress: &Progress| {
            end_bytes = progress.data_bytes;
            if progress.frontier_done > 0 {
                first_layer.get_or_insert(progress.seconds);
            }
        };
        let outcome = hadal_search::check(
            &*model,
            &hadal_search::Auto,
            &options,
            None,
            &Stop::new(),
            &mut watch,
        )?;
        let first_layer = first_layer.unwrap_or(outcome.seconds.search);
        if outcome.verdict != Verdict::Verified {
            bail!("{} is {}", self.name(), outcome.verdict.name());
        }
        for (what, found, expected) in [
            ("states", outcome.states, self.counts.0),
            ("transitions", outcome.transitions, self.counts.1),
        ] {
            if let Some(expected) = expected
                && found != expected
            {
                bail!("{} has {found} {what} instead of {expected}", self.name());
            }
        }
        Ok(Measured {
            states: outcome.states,
            transitions: outcome.transitions,
            load_seconds,
            compile_seconds,
            first_state_seconds: before_search + first_layer,
            search_seconds: outcome.seconds.search,
            data_bytes: outcome.data_bytes,
            end_bytes,
        })
    }
}

/// The folder of our own models.
pub fn our_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// Workloads on our own models.
pub fn ours() -> Vec<Workload> {
    let models = our_folder();
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

/// Models by others, by what they are called there, for which CMurphi 5.4.9 has published seconds.
pub fn cmurphi(folder: &Path) -> Vec<Workload> {
    let new = |model, constants: &[_], seconds| Workload {
        cmurphi_seconds: Some(seconds),
        ..Workload::new(folder, model, constants, true)
    };
    vec![
        new("sym/n_peterson.m", &[], 1.55),
        new("sym/n_peterson.m", &[("N", "9")], 62.0),
        new("multiset+sym/newlist6.m", &[("CellCount", "7")], 165.0),
        new("sym/mcslock1.m", &[("N", "6")], 215.0),
        new("sym/ldash.m", &[], 26.6),
        new("sym/ldash.m", &[("nohome", "false")], 915.0),
        new("sym/mcslock2.m", &[], 1.27),
    ]
}

/// Models by others that rumur is measured on: symmetry off where the two reduce differently.
pub fn rumur(folder: &Path) -> Vec<Workload> {
    let new = |model, constants: &[_], symmetry| Workload::new(folder, model, constants, symmetry);
    vec![
        new("sym/n_peterson.m", &[], true),
        new("sym/n_peterson.m", &[("N", "9")], true),
        new("sym/mcslock1.m", &[], false),
        new("sym/mcslock2.m", &[], false),
    ]
}

/// Models by others that are in neither set.
pub fn further(folder: &Path) -> Vec<Workload> {
    vec![
        Workload::new(folder, "sym/adash.m", &[], true),
        Workload::new(folder, "sym/cache3.m", &[], true),
    ]
}

/// Models whose search in memory takes long enough to show what little memory costs.
pub fn larger_than_memory(folder: &Path) -> Vec<Workload> {
    let new = |model, constants: &[(&str, &str)]| Workload::new(folder, model, constants, true);
    vec![
        new("sym/ldash.m", &[("nohome", "false")]),
        new("sym/n_peterson.m", &[("N", "10")]),
        new("sym/n_peterson.m", &[("N", "11")]),
        new("sym/mcslock1.m", &[("N", "6")]),
        new("sym/mcslock1.m", &[("N", "7")]),
        new("multiset+sym/newlist6.m", &[("CellCount", "7")]),
        new("multiset+sym/newlist6.m", &[("CellCount", "8")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_models_have_the_lines_asked_for_and_hold() {
        let folder = tempfile::tempdir().expect("a folder");
        for n_lines in [106, 300, 777] {
            let text = hadal_testkit::coherence::model(n_lines);
            assert_eq!(text.lines().count(), n_lines);
            std::fs::write(folder.path().join("g.m"), text).expect("it is written");
            let workload = Workload::new(folder.path(), "g.m", &[], true);
            let measured = workload.run(1).expect("it is verified");
            assert!(measured.states > 10, "{} states", measured.states);
        }
    }

    #[test]
    fn a_wrong_count_is_an_error() {
        let mut workload = Workload::new(&our_folder(), "msi.m", &[], true);
        workload.counts = crate::expected::by_directives(&workload).expect("directives");
        workload.run(1).expect("it gives what it says");
        workload.counts.0 = workload.counts.0.map(|states| states + 1);
        assert!(workload.counts.0.is_some());
        assert!(workload.run(1).is_err());
    }
}
