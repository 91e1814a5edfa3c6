//! Searches over the seam of `hadal-model`: breadth-first, by layers.
//!
//! [`check`] visits every reachable state of a [`Model`](hadal_model::Model) and tells in an
//! [`Outcome`] whether its properties hold; [`trace`] turns the [`Path`] of a [`Violation`] into the
//! run that shows it.
//! This crate knows neither the language of a model nor whether successors come from an
//! interpreter, from native code or from a Rust type; it prints nothing and writes no file.
//!
//! Everything an outcome tells (counts, layers, violations, paths) is the same for any number of
//! threads and any sizes in [`Options`]; only a search that was stopped from outside (memory,
//! time, interrupt) tells how far it happened to come.
//!
//! ```no_run
//! # fn example(model: &dyn hadal_model::Model) -> Result<(), Box<dyn std::error::Error>> {
//! use hadal_model::Stop;
//! use hadal_search::{Options, Silent, check, trace};
//!
//! let (options, stop) = (Options::default(), Stop::new());
//! let outcome = check(model, &options, &stop, &mut Silent)?;
//! println!("{} states, {}", outcome.states, outcome.verdict.name());
//! for violation in &outcome.violations {
//!     if let Some(path) = &violation.path {
//!         for step in trace(model, path, &options, &stop)?.steps {
//!             println!("{}", step.step.rule);
//!         }
//!     }
//! }
//! # Ok(()) }
//! ```

mod bfs;
mod crew;
mod error;
mod findings;
mod liveness;
mod naming;
mod options;
mod outcome;
mod progress;
mod round;
mod shared;
mod task;
mod trace;
mod visited;

pub use bfs::check;
pub use error::Error;
pub use options::{Deadlock, Options};
pub use outcome::{
    Duplicates, Outcome, Path, PathStep, Reason, Seconds, Verdict, Violation, ViolationKind,
};
pub use progress::{Observer, Progress, Silent};
pub use trace::{Trace, TraceError, TraceStep, trace};
