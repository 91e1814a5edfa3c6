//! Exit codes: part of the contract with scripts.

use std::process::ExitCode;

use hadal_search::Verdict;
use hadal_store::Error as StoreError;

use crate::load::Internal;

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
    /// A mistake of ours, or a store that is damaged or cannot be read.
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

/// How a check ends that comes to this verdict.
pub(crate) fn of_verdict(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Verified => Exit::Verified,
        Verdict::Violated => Exit::Violated,
        Verdict::Rejected => Exit::Usage,
        Verdict::Incomplete => Exit::Incomplete,
    }
}

/// How a command ends that failed with `error`.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if error.is::<Internal>() {
        return Exit::Internal;
    }
    match error.downcast_ref::<StoreError>() {
        Some(error) => of_store_error(error),
        None => Exit::Usage,
    }
}

/// How a command ends that could not use its folder.
pub(crate) fn of_store_error(error: &StoreError) -> Exit {
    match error {
        StoreError::Full { .. } => Exit::Incomplete,
        // Nothing is wrong with the folder; it is not for this program, or not now.
        StoreError::Locked { .. }
        | StoreError::OtherVersion { .. }
        | StoreError::TooWide { .. } => Exit::Usage,
        _ => Exit::Internal,
    }
}
