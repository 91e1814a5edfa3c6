//! The rule, property, startstate or function that is being lowered, and its side effects.

use hadal_ir::{Frame, LocalId, LocalKind};
use hadal_syntax::Span;

use super::types::Ty;

/// What is being lowered.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) frame: Frame,
    /// Bits of the locals so far.
    pub(super) bits: u64,
    pub(super) effects: Effects,
    /// What must not be changed here, if so.
    pub(super) pure: Option<&'static str>,
    pub(super) returns: Returns,
    /// There is a `return` or an `error` statement.
    pub(super) has_end: bool,
}

/// What a function may do besides returning a value.
#[derive(Debug, Default, Clone)]
pub(super) struct Effects {
    /// The first write to the state: to what, and where.
    pub(super) write: Option<(String, Span)>,
    /// The first write to what each parameter refers to.
    pub(super) params: Vec<Option<Span>>,
    /// The first `assume` or `cover`.
    pub(super) special: Option<(&'static str, Span)>,
}

/// What `return` means here.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    /// It ends a rule, a startstate or a procedure.
    #[default]
    Nothing,
    /// It returns a value of this type, declared there.
    Value(Ty, Span),
}

impl Unit {
    /// A new local.
    pub(super) fn add_local(&mut self, name: &str, kind: LocalKind) -> LocalId {
        self.frame.add(name, kind)
    }
}
