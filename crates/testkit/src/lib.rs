//! Tools for tests; no crate depends on this outside its tests.
//!
//! - [`agreement`]: two generators of one model, compared on every state.
//! - [`coherence`]: Murphi models of any length.
//! - [`equivariance`]: whether a program treats interchangeable elements alike, by brute force.
//! - [`fuzz`]: random and damaged inputs for front-ends.
//! - [`graph`]: an explicit graph as a model, random ones among them.
//! - [`guards`]: random Murphi models whose guards test fields of the state.
//! - [`loops`]: random Murphi models rich in loops over interchangeable elements.
//! - [`parallel`]: work on many items at once.
//! - [`random`]: well-typed random programs of the guarded-command language.
//! - [`oracle`]: a brute-force search that is too simple to be wrong.
//! - [`renaming`]: states with the elements of scalarsets renamed, by brute force.
//! - [`corpus`]: the expected results of model files.
//! - [`disk`]: a disk in memory that crashes, fills up or flips a bit on request.
//! - [`writes`]: whether a step keeps to the bits its rule declares.

pub mod agreement;
pub mod coherence;
pub mod corpus;
pub mod disk;
pub mod equivariance;
pub mod fuzz;
pub mod graph;
pub mod guards;
pub mod loops;
pub mod oracle;
pub mod parallel;
pub mod random;
pub mod renaming;
pub mod writes;
