//! Guarded commands: the one language every front-end lowers to and every generator runs.
//!
//! A [`Program`] has typed variables packed into a bit string, functions, startstates, rules with
//! guards and bodies, properties, and measures.
//! It is small, structured (no jumps), allocation-free and without host pointers, so that it can be
//! interpreted, compiled to native code, or moved to other devices.
//!
//! - [`types`] and [`layout`]: what a state is made of and which bits hold what.
//! - [`leaves`]: the parts of a state and their values by name.
//! - [`expr`], [`stmt`], [`program`]: the tree.
//! - [`verify`]: what every program must satisfy before anything runs it.
//! - [`text`]: a text form that prints and parses.
//! - [`walk`]: who mentions whom.
//! - [`defined`]: which parts of the state always hold a value.
//! - [`effects`]: which bits a rule reads and writes.
//! - [`goals`]: the numbers of covers and liveness properties, shared by all generators.
//! - [`interp`]: the reference interpreter. It is the meaning; other generators must agree with it
//!   on every state.

pub mod bits;
pub mod defined;
pub mod effects;
pub mod expr;
pub mod goals;
pub mod ids;
pub mod interp;
pub mod layout;
pub mod leaves;
pub mod program;
mod seek;
pub mod stmt;
pub mod text;
pub mod types;
pub mod verify;
pub mod walk;

pub use expr::{Arg, BinaryOp, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
pub use ids::{ExprId, FileId, FunctionId, LocalId, MapId, ScalarsetId, SiteId, TypeId, VarId};
pub use program::{
    Arithmetic, CoverPoint, Frame, Function, Guard, Local, LocalKind, Measure, Param, ParamDomain,
    ParamMode, Program, Property, PropertyKind, Rule, Segment, Site, Start, ValueMap, Var,
};
pub use stmt::{Block, Notation, PutItem, ReturnValue, Stmt, StmtKind};
pub use types::{Field, Scalarset, Simple, SimpleKind, Type, Types, UnionPart};
