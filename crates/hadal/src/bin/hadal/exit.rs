//! Exit codes: part of the contract with scripts.

use std::io;
use std::process::ExitCode;

use hadal::{Error, FolderReason, LoadStopped};
use hadal_search::{Error as SearchError, Verdict};
use hadal_store::Error as StoreError;
use rustix::io::Errno;

use crate::lts::GraphError;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every reachable state was visited and every property holds.
    Verified,
    /// A command without a verdict did its work.
    Done,
    /// A violation was found.
    Violated,
    /// Two graphs are not equivalent.
    Different,
    /// The command line or the model is wrong.
    Usage,
    /// The search stopped before its end: nothing is proved.
    Incomplete,
    /// A bug of this program, or a store that is damaged or cannot be read.
    Internal,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Verified | Exit::Done => 0,
            Exit::Violated | Exit::Different => 1,
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

/// The exit of a check with this verdict.
pub(crate) fn of_verdict(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Verified => Exit::Verified,
        Verdict::Violated => Exit::Violated,
        Verdict::Rejected => Exit::Usage,
        Verdict::Incomplete => Exit::Incomplete,
    }
}

/// The exit of a command that failed with `error`.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref() {
        return of_library_error(error);
    }
    if let Some(error) = error.downcast_ref::<GraphError>() {
        return error.exit();
    }
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    match causes.any(is_shortage) {
        true => Exit::Incomplete,
        false => Exit::Usage,
    }
}

/// The exit of a command that failed in the library.
pub(crate) fn of_library_error(error: &Error) -> Exit {
    match error {
        Error::Internal(_) => Exit::Internal,
        Error::Stopped => Exit::Incomplete,
        // Too little memory is an error of the command line, as in any other budget.
        Error::LoadStopped(LoadStopped::Memory { .. }) => Exit::Usage,
        Error::LoadStopped(_)
        | Error::Thread(_)
        | Error::Unmeasured(_)
        | Error::AddressSpace { .. } => Exit::Incomplete,
        Error::Read { error, .. }
        | Error::Folder {
            reason: FolderReason::Refused(error),
            ..
        } if is_shortage(error) => Exit::Incomplete,
        Error::Output { error, .. } => of_graph_error(error),
        Error::Store { error, .. } => of_store_error(error),
        Error::Folder {
            reason: FolderReason::OtherVersion(error),
            ..
        } => of_store_error(error),
        Error::Search { error, .. } => match &**error {
            SearchError::Store(error) | SearchError::LostPath { source: error, .. } => {
                of_store_error(error)
            }
            SearchError::Thread(_) => Exit::Incomplete,
            SearchError::Sink(error) if is_shortage(error) => Exit::Incomplete,
            SearchError::BrokenSymmetry { .. } | SearchError::Unrepeatable { .. } => Exit::Internal,
            _ => Exit::Usage,
        },
        _ => Exit::Usage,
    }
}

/// The exit of a run that would have ended with `exit`, had its result been delivered.
pub(crate) fn of_undelivered(error: &anyhow::Error, exit: Exit) -> Exit {
    match (of_error(error), exit) {
        (Exit::Incomplete, Exit::Verified | Exit::Done) => Exit::Incomplete,
        (Exit::Incomplete, exit) => exit,
        // The verdict stands, but whoever waits for it did not get it, or its folder is in the way.
        _ => Exit::Internal,
    }
}

/// Whether the system lacks something: memory, threads, open files, room on a disk or in a file.
fn is_shortage(error: &io::Error) -> bool {
    let shortages = [
        Errno::AGAIN,
        Errno::NOMEM,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::FBIG,
    ];
    let code = error.raw_os_error();
    code.is_some_and(|code| shortages.iter().any(|it| it.raw_os_error() == code))
}

/// The exit of a command that cannot write a graph.
pub(crate) fn of_graph_error(error: &hadal_lts::Error) -> Exit {
    match error {
        hadal_lts::Error::Io(error) if is_shortage(error) => Exit::Incomplete,
        hadal_lts::Error::Stopped
        | hadal_lts::Error::Memory { .. }
        | hadal_lts::Error::LabelMemory { .. } => Exit::Incomplete,
        _ => Exit::Usage,
    }
}

/// The exit of a command that cannot use its folder.
fn of_store_error(error: &StoreError) -> Exit {
    match error {
        StoreError::Full { .. } | StoreError::TooManyFiles { .. } => Exit::Incomplete,
        StoreError::Io { source, .. } if is_shortage(source) => Exit::Incomplete,
        // Nothing is wrong with the folder; it is not for this program, or not now.
        StoreError::Locked { .. }
        | StoreError::OtherVersion { .. }
        | StoreError::TooWide { .. } => Exit::Usage,
        _ => Exit::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_reduction_is_a_bug_and_startstates_are_the_model_s() {
        let exit = |error: SearchError| {
            of_library_error(&Error::Search {
                model: "lock.m".to_owned(),
                folder: None,
                error: Box::new(error),
            })
        };
        let (rule, message) = ("grant".to_owned(), "it differs".to_owned());
        let broken = SearchError::BrokenSymmetry {
            rule,
            message: message.clone(),
        };
        assert_eq!(exit(broken).code(), 4);
        assert_eq!(exit(SearchError::AsymmetricStarts { message }).code(), 2);
    }
}
