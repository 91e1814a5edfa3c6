//! Exit codes: part of the contract with scripts.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every reachable state was visited and every property holds.
    Verified,
    /// A command that gives no verdict did its work.
    Done,
    /// A violation was found.
    Violated,
    /// The command line or the model is wrong.
    Usage,
    /// The search stopped before its end: nothing is proved.
    Incomplete,
    /// A mistake of ours.
    Internal,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Verified | Exit::Done => 0,
            Exit::Violated => 1,
            Exit::Usage => 2,
            Exit::Incomplete => 3,
            Exit::Internal => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
