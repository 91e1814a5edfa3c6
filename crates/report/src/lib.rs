//! Figures for people and programs: numbers as people write them ([`units`]), tables as data
//! ([`table`]) and as text ([`render`]), and with the feature `plot` pictures of them (`plot`).
//!
//! This crate knows no model and no search.

#[cfg(feature = "plot")]
pub mod plot;
mod render;
pub mod table;
pub mod units;

pub use render::{Format, Origin, render};
