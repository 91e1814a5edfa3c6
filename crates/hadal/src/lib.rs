//! Hadal, an explicit-state model checker for state spaces larger than memory, as a library.
//!
//! It visits every reachable state of a model and proves its properties, or shows the shortest run
//! that violates one. States that memory cannot hold go to disk; results do not depend on memory,
//! threads or interruptions. The program `hadal` is flags and printing on top of this crate, which
//! itself prints nothing and knows no flags.
//!
//! ```
//! # fn main() -> Result<(), hadal::Error> {
//! let text = r#"
//!     var x: 0..3;
//!     startstate "zero" x := 0; end;
//!     rule "up" x < 3 ==> x := x + 1; end;
//!     invariant "small" x < 2;
//! "#;
//! let model = hadal::ModelSource::text("counter.m", text, "murphi")?.load()?;
//! let checked = hadal::Check::new(&model).run()?;
//! assert_eq!(checked.outcome.verdict, hadal::Verdict::Violated);
//! let found = &checked.violations()[0];
//! assert_eq!(found.message(), "invariant \"small\" is false");
//! assert_eq!(found.trace.unwrap().n_steps(), 3);
//! println!("{found}");
//! # Ok(()) }
//! ```
//!
//! # Loading a model
//!
//! A [`ModelSource`] is the texts of a model and how to load them: dialect and constants of its
//! language, symmetry reduction, native code or interpreter, limits. [`ModelSource::load`]
//! translates, verifies and compiles. A text that is wrong is [`Error::Rejected`], with diagnostics
//! as data:
//!
//! ```
//! let source = hadal::ModelSource::text("bad.m", "var x: 0..y;", "murphi").unwrap();
//! let Err(hadal::Error::Rejected(rejection)) = source.load() else {
//!     panic!("`y` is not declared");
//! };
//! let place = rejection.diagnostics[0].span().start;
//! assert_eq!(rejection.sources.describe(place), "bad.m:1:11");
//! ```
//!
//! [`ModelSource::load_within`] limits the memory and the time that loading may take. A text may
//! have [64 MiB](ModelSource::TEXT_LIMIT), unless it is read with another limit.
//!
//! # Languages
//!
//! Languages are registered in one table, [`language::languages`]: Murphi, Promela, and graphs in
//! files, which are read while they are searched. One of your own translates texts to a program of [`ir`] and is passed to [`ModelSource::new`].
//!
//! # A Rust type as a model
//!
//! A [`Machine`](model::Machine) is a transition system as a Rust type: startstates, rules and
//! invariants over states that are plain values. [`MachineModel`](model::MachineModel) makes a model
//! of it, which [`Check::of`] takes:
//!
//! ```
//! use hadal::model::{Machine, MachineModel};
//!
//! /// A number below the one in here.
//! struct Below(u32);
//!
//! impl Machine for Below {
//!     type State = u32;
//!     const RULES: &'static [&'static str] = &["add 1", "double"];
//!
//!     fn starts(&self) -> impl IntoIterator<Item = u32> {
//!         [0]
//!     }
//!
//!     fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
//!         [[x + 1, 2 * x][rule] % self.0]
//!     }
//! }
//!
//! # fn main() -> Result<(), hadal::Error> {
//! let model = MachineModel::new(Below(1000));
//! let outcome = hadal::Check::of(&model).name("below").run()?.outcome;
//! assert_eq!((outcome.verdict, outcome.states), (hadal::Verdict::Verified, 1000));
//! # Ok(()) }
//! ```
//!
//! Anything else that implements [`model::Model`] can be checked as well; `examples/counters.rs`
//! explains each part of that interface.
//!
//! # What is asked, and with what
//!
//! [`SearchOptions`] change the result: what counts as a deadlock, a bound on the depth, the number
//! of violations, states or hashes of them. [`Resources`] do not: memory, disk, threads, time.
//! [`Check`] has a method for each.
//!
//! # Memory
//!
//! The budget of [`Check::memory`] is that of the whole process, the loaded model and whatever else
//! your program holds included, as the operating system counts it. What is left is for the data of
//! the search. The program also has glibc return freed memory to the system at once; without that a
//! process may exceed its budget by a quarter. To have the same, set
//! `MALLOC_MMAP_THRESHOLD_=131072` and `MALLOC_ARENA_MAX=2` in the environment. Checks of one
//! process share its memory, so their budgets must leave room for each other.
//!
//! # Disk, and resuming
//!
//! When memory is full, states go to a scratch folder ([`Disk::Scratch`]), which is deleted at the
//! end, or to a folder that you name ([`Check::disk`]). The latter is checkpointed every few
//! seconds, with the texts of the model, so that a [`SavedRun`] can be resumed after a crash, a
//! full disk or a time limit, by the same model: a Rust type is recognised by a sample of its states
//! and its [identity](Check::identity). Once you have delivered the result, [`Checked::finish`] empties it.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"))?;
//! # let path = folder.path().join("run");
//! let text = "var x: 0..9; startstate x := 0; end; rule x := (x + 1) % 10; end;";
//! let model = hadal::ModelSource::text("ring.m", text, "murphi")?.load()?;
//! let checked = hadal::Check::new(&model).disk(&path).run()?;
//! drop(checked); // as if the process died before it delivered the result
//!
//! let run = hadal::SavedRun::open(&path)?;
//! let model = run.source()?.load()?;
//! let checked = hadal::Check::new(&model).resume(run)?.run()?;
//! assert_eq!(checked.outcome.states, 10);
//! checked.finish()?;
//! # Ok(()) }
//! ```
//!
//! # Watching
//!
//! An [observer](Check::observer) receives the progress of the search. A [sink](Check::sink)
//! receives every state and, if it wants them, every edge, in the order of discovery, which is the
//! same for any number of threads:
//!
//! ```
//! # fn main() -> Result<(), hadal::Error> {
//! use hadal::Sink;
//! use hadal::search::NewStates;
//!
//! struct States(Vec<Vec<u8>>);
//!
//! impl Sink for States {
//!     fn states(&mut self, new: &NewStates<'_>) -> std::io::Result<()> {
//!         self.0.extend(new.states.iter().map(<[u8]>::to_vec));
//!         Ok(())
//!     }
//! }
//!
//! # let text = "var x: 0..9; startstate x := 0; end; rule x := (x + 1) % 10; end;";
//! # let model = hadal::ModelSource::text("ring.m", text, "murphi")?.load()?;
//! let (mut seen, mut sink) = (0, States(Vec::new()));
//! let mut observer = |progress: &hadal::search::Progress| seen = progress.states;
//! let checked = hadal::Check::new(&model)
//!     .observer(&mut observer)
//!     .sink(&mut sink)
//!     .run()?;
//! drop(checked);
//! assert_eq!(sink.0.len(), 10);
//! # Ok(()) }
//! ```
//!
//! # State graphs
//!
//! [`Check::graph`] passes the whole graph, with numbers at both ends of every edge, to a
//! [`GraphWriter`] for a file in `.aut`, `.hlts` or `.dot`; see [`GraphOutput`].
//!
//! # Results
//!
//! [`Checked::outcome`] has verdict and counts, [`Checked::violations`] the counterexamples in the
//! model's own names, and [`Checked::record`] everything, as the JSON that `hadal check --json`
//! writes (docs/reference/run-record.md). A [`Verdict`] is one of four: `Verified` (every reachable
//! state was visited), `Violated`, `Rejected` (the model is not as symmetric as it declares), and
//! `Incomplete`, for the reason in [`Outcome::reason`].
//!
//! # Strategies
//!
//! [`search::Auto`] is the default; any other [`Strategy`] is a value that
//! [`Check::strategy`] takes, for example [`search::Ranked`] in the order of costs.

mod chart;
mod check;
mod checked;
mod claims;
#[doc(hidden)]
pub mod describe;
mod directed;
mod error;
mod folder;
mod goal_model;
mod graph;
mod graph_model;
pub mod language;
mod load_limits;
mod loaded_model;
pub mod memory;
mod model_digest;
mod model_source;
mod named_model;
mod names;
pub mod order;
mod prepared_check;
mod question;
pub mod record;
#[doc(hidden)]
pub mod recorded_run;
mod resources;
mod saved_run;
mod scratch_folder;
mod shorten;
mod style;
pub mod system_limits;
mod target;
pub mod trace;
mod trace_detail;

pub use hadal_ir as ir;
pub use hadal_lts as lts;
pub use hadal_model as model;
pub use hadal_search as search;
pub use hadal_store as store;
pub use hadal_syntax as syntax;

pub use hadal_search::{Deadlock, Observer, Outcome, Sink, Strategy, Verdict};

pub use check::Check;
pub use checked::{Checked, Counterexample};
pub use claims::{LoadedClaim, ProductCounts};
pub use directed::Directed;
pub use error::{Error, FolderReason, Rejection};
pub use folder::{Disk, NoScratch};
pub use graph::{GraphOptions, GraphOutput, GraphWriter, LabelDetail, WrittenGraph};
pub use load_limits::{LoadLimits, LoadStopped};
pub use loaded_model::{LoadedModel, stack_bytes};
pub use model_source::{Engine, ModelSource, Symmetry, TextLimit};
pub use names::Named;
pub use prepared_check::{PreparedCheck, Warning};
pub use question::SearchOptions;
pub use recorded_run::RecordedRun;
pub use resources::{Accounting, Resources};
pub use saved_run::SavedRun;
pub use scratch_folder::ScratchFolder;
pub use shorten::{NotShortened, RunLength, Shortened, Shortening, ShorteningObserver, ShorterRun};
pub use style::Style;
pub use target::{Target, TargetError, TargetLeaf, TargetProblem, TargetText};
pub use trace_detail::TraceDetail;
