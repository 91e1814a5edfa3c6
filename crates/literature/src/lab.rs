//! The laboratory: the papers' tables and figures, for any models and strategies.
//!
//! A [`Rig`] runs strategies on models, one run after the other, and survives runs that fail. One
//! file for each of the papers' comparisons turns its runs into a [`Report`]. A strategy's memory is
//! that of its own table and queue, as in the papers, so that small models can be measured at small
//! fractions of what they need. All runs use one thread.
//!
//! What is printed, and how, is the caller's.

pub mod caches;
pub mod directed;
mod directed_paper;
pub mod layers;
pub mod locality;
pub mod memory;
pub mod profile;
mod rig;

pub use hadal_report::table::Report;
pub use rig::{Choice, Conditions, Monitor, Rig, Subject};
