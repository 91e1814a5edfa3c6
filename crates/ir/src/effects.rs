//! Which bits of the state each function, rule and property may read and write.

use hadal_model::BitRanges;

use crate::program::Program;

/// The effects of every part of a verified program. All sets are upper bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// By function.
    pub functions: Vec<FunctionEffects>,
    /// By startstate.
    pub starts: Vec<StateEffects>,
    /// By rule; guards and parameter domains included.
    pub rules: Vec<StateEffects>,
    /// By property.
    pub properties: Vec<StateEffects>,
}

/// Bits of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateEffects {
    /// Bits that may be read.
    pub reads: BitRanges,
    /// Bits that may be written.
    pub writes: BitRanges,
}

/// What a call may do, whatever its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionEffects {
    /// Bits of the state, those reached through parameters not included.
    pub state: StateEffects,
    /// By parameter: the bits of what a reference parameter refers to, counted from its first bit.
    pub params: Vec<StateEffects>,
}

impl Effects {
    /// The effects of a program.
    pub fn of(program: &Program) -> Self {
        let _ = program;
        Effects::default()
    }
}
