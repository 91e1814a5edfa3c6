//! Analyses of a program before it is lowered. None of them knows Cranelift.

pub(crate) mod calls;
pub(crate) mod fault;
pub(crate) mod fixed;
pub(crate) mod guard;
pub(crate) mod locals;
pub(crate) mod mark;
pub(crate) mod test;
