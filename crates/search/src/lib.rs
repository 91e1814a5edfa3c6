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
mod conclusion;
mod crew;
mod error;
mod external;
mod findings;
mod hashing;
mod kernel;
mod liveness;
mod locality;
mod naming;
mod omission;
mod on_disk;
mod options;
mod outcome;
mod progress;
mod round;
mod shared;
mod sizes;
mod snapshot;
mod strategy;
mod supply;
mod task;
mod totals;
mod trace;
mod visited;
mod way;
mod worker;

pub use bfs::check;
pub use error::Error;
pub use hashing::StoreKind;
pub use locality::{Jump, Locality, Share, locality};
pub use omission::Omission;
pub use on_disk::{OnDisk, Verified, check_on_disk, finish, resume, verify};
pub use options::{Deadlock, Options};
pub use outcome::{
    DiskUse, Duplicates, Outcome, Path, PathStep, Reason, Seconds, Stats, Value, Verdict,
    Violation, ViolationKind,
};
pub use progress::{Observer, Progress, Silent, Work};
pub use snapshot::{Unfinished, look_into};
pub use strategy::{
    CacheSpec, Layers, MonoTable, Policy, ProcessLimit, Sampling, SnapshotSetup, SpecError,
    StateCacheSpec, Strategy, StrategyOptions, check_with,
};
pub use trace::{Trace, TraceError, TraceStep, trace};
