//! Native code against the interpreter.

mod common;
mod constructs;
mod guards;
mod left_out;
mod models;
mod random;
