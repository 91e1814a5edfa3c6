//! Figures for people and programs: numbers as people write them ([`units`]), tables as data
//! ([`table`]) and as text ([`render`]), plots for terminals and pages ([`plot`]).
//!
//! This crate knows no model and no search.

pub mod plot;
mod render;
pub mod table;
pub mod units;

pub use render::{Format, Origin, render};
