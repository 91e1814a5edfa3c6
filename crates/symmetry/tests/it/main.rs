//! Canonical forms against the definition of symmetry.

mod exactness;
mod graphs;
mod measures;
mod order;
mod paths;
mod speed;
mod successors;
mod support;
mod ties;
mod wrapper;
