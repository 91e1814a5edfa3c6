//! Failures of the library as messages: what went wrong, and which flag helps.

use std::io::{self, Write};

use hadal::{Error, FolderReason, LoadStopped, LoadedModel, NoScratch, describe, system_limits};
use hadal_search::Error as SearchError;
use hadal_store::Error as StoreError;
use rustix::io::Errno;

use crate::exit;

/// What to do about an error, as the end of its message.
pub(crate) fn hint(error: &anyhow::Error) -> &'static str {
    error.downcast_ref().map_or("", hint_for)
}

/// Ends the process where loading continues although it was stopped.
pub(crate) fn exit_at_overrun(cause: LoadStopped) {
    let error = Error::LoadStopped(cause);
    let _ = writeln!(io::stderr(), "error: {error}{}", hint_for(&error));
    std::process::exit(exit::of_library_error(&error).code().into())
}

fn hint_for(error: &Error) -> &'static str {
    match error {
        Error::TextTooLong { budget: None, .. } => "; allow more with --text-limit",
        Error::TextTooLong { .. } | Error::LoadStopped(LoadStopped::Memory { .. }) => {
            "; give it more with --memory"
        }
        Error::AddressSpace { .. } | Error::LoadStopped(LoadStopped::AddressSpace { .. }) => {
            "; allow more with ulimit -v"
        }
        Error::Thread(_) => "; allow more with ulimit -u or -v",
        Error::Unmeasured(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            "; allow more with ulimit -n"
        }
        Error::UnknownLanguage { .. } => ", or name the language with --language",
        Error::Folder { reason, .. } => match reason {
            FolderReason::NotEmpty => "; use another folder, or --force to use it all the same",
            FolderReason::Unfinished { .. } => {
                "; use hadal resume to continue it, or another folder"
            }
            FolderReason::FinishedRun => "; --force deletes it, or use another folder",
            FolderReason::InMemory => "; use a folder on a disk, or --force to use it all the same",
            FolderReason::OtherVersion(_) => {
                ": resume it with that version, or start anew with --force"
            }
            _ => "",
        },
        Error::Search { error, .. } => match &**error {
            SearchError::AsymmetricStarts { .. } => {
                "\nhelp: let the startstates treat all elements alike, or run with --symmetry off"
            }
            // A model that says so is rejected before or during the search, so this is not about
            // it.
            SearchError::BrokenSymmetry { .. } => {
                "; please report this with the model; --symmetry off does not depend on it"
            }
            SearchError::Unrepeatable { .. } => "; please report this with the model",
            SearchError::Thread(_) => {
                "; allow more with ulimit -u or -v, or use fewer with --threads"
            }
            _ => "",
        },
        _ => "",
    }
}

/// An error of the library with what to do about it; one of a search names its folder, and what was
/// found before it failed.
pub(crate) fn message(error: &Error, loaded: &LoadedModel) -> String {
    if let Error::Search {
        model,
        folder,
        error: inner,
    } = error
    {
        if let SearchError::Store(inner) = &**inner {
            let folder = folder.as_ref();
            let folder = folder.map_or(String::new(), |path| format!(" in `{}`", path.display()));
            let limit = match (inner, system_limits::open_files()) {
                (StoreError::TooManyFiles { .. }, Some(limit)) => {
                    format!("; the system allows {limit} (ulimit -n)")
                }
                _ => String::new(),
            };
            return format!("{model}: the search cannot continue{folder}: {inner}{limit}");
        }
        if let SearchError::LostPath { violation, source } = &**inner {
            let found = describe::described(violation, loaded.model.shape());
            return format!("{model}: {found}, but the path to it cannot be read: {source}");
        }
    }
    format!("{error}{}", hint_for(error))
}

/// Whether a search failed because the model is not one that can be searched.
pub(crate) fn is_about_the_model(error: &Error) -> bool {
    let Error::Search { error, .. } = error else {
        return false;
    };
    matches!(
        **error,
        SearchError::NoStartstate | SearchError::AsymmetricStarts { .. }
    )
}

/// What to do where there is no scratch folder.
pub(crate) fn remedy(why: &NoScratch) -> &'static str {
    match why {
        NoScratch::TooWide(_) => "give it more memory with --memory",
        _ => "name a folder on a disk with --disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_reduction_is_reported_as_a_bug() {
        let search = |error: SearchError| Error::Search {
            model: "lock.m".to_owned(),
            folder: None,
            error: Box::new(error),
        };
        let (rule, message) = ("grant".to_owned(), "it differs".to_owned());
        let broken = search(SearchError::BrokenSymmetry {
            rule,
            message: message.clone(),
        });
        assert!(!is_about_the_model(&broken));
        let text = format!("{broken}{}", hint_for(&broken));
        assert!(text.starts_with("lock.m: internal error: "), "{text}");
        assert!(text.ends_with(
            "`grant` tells apart what the model declares interchangeable: it differs; please \
             report this with the model; --symmetry off does not depend on it"
        ));
        let starts = search(SearchError::AsymmetricStarts { message });
        assert!(is_about_the_model(&starts));
    }
}
