//! What is found out about a program before it is lowered.

pub(crate) mod calls;
pub(crate) mod fault;
pub(crate) mod guard;
pub(crate) mod locals;
pub(crate) mod test;
