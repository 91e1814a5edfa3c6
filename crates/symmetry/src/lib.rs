//! Exact canonical forms of states under scalarset symmetry.
//!
//! The elements of a scalarset are interchangeable: renaming them throughout a state gives a state
//! that behaves alike, so a search need visit only one state of each class (orbit).
//! A [`Canonicaliser`], made from a program's types and layout, replaces a state by the one
//! representative of its orbit; [`Symmetric`] wraps a model with it, so that no search need know
//! whether symmetry is on.
//!
//! ```
//! use hadal_ir::{Program, Simple, SimpleKind, Type, Var};
//! use hadal_symmetry::{Canonicaliser, Permutation};
//!
//! // type Proc: scalarset(3); var count: array [Proc] of 0..2;
//! let mut program = Program::new("counters");
//! let processes = program.types.add_scalarset("Proc", 3);
//! let kind = SimpleKind::Scalarset(processes);
//! let index = program.types.add(Type::Simple(Simple { lo: 0, hi: 2, kind, is_total: false }));
//! let element = program.types.add(Type::Simple(Simple::range(0, 2)));
//! let ty = program.types.add(Type::Array { index, element });
//! program.vars.push(Var { name: "count".to_owned(), ty });
//!
//! let canonicaliser = Canonicaliser::new(&program);
//! let mut scratch = canonicaliser.scratch();
//! let exchange = Permutation::new(vec![vec![1, 0, 2]]).unwrap();
//! let mut state = vec![0b_11_01_10_00];
//! let mut image = canonicaliser.apply(&state, &exchange);
//! assert_eq!(image, [0b_01_11_10_00]);
//! canonicaliser.canonicalise(&mut state, &mut scratch);
//! canonicaliser.canonicalise(&mut image, &mut scratch);
//! assert_eq!(state, image);
//! assert_eq!(canonicaliser.describe().to_string(), "Proc(3): 6 permutations");
//! ```
//!
//! - [`permutation`](Permutation): a renaming of all scalarsets at once.
//! - `action`: what a renaming does to a state, straight from the types.
//! - `plan`: the same facts as flat tables, built once per program.
//! - `names`, `relabel`: which elements occur in a state, and writing it out under other names.
//! - `instance`: one state seen as a coloured hypergraph over the scalarsets' elements.
//! - `hash`, `refine`, `search`: colour refinement, and a search over what it leaves open.
//! - `sorting`, `rotation`, `ties`: the fast path for states that relate elements by pointers at
//!   most.
//! - `canonical`: the public interface of the above.
//! - `goals`: what a renaming does to goals that have elements for parameters.
//! - [`order`]: the proof that no result depends on the order of elements.
//! - `sample`, `wrapper`: the model wrapper and its check that a model is as symmetric as declared.

mod action;
mod canonical;
mod goals;
mod hash;
mod instance;
mod names;
pub mod order;
mod permutation;
mod plan;
mod refine;
mod relabel;
mod rotation;
mod sample;
mod search;
mod sorting;
mod ties;
mod wrapper;

pub use canonical::{Canonicaliser, Description, ScalarsetSummary, Scratch};
pub use permutation::Permutation;
pub use wrapper::Symmetric;
