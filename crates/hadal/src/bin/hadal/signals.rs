//! Signals: SIGINT, SIGTERM and SIGHUP stop cleanly, a second one at once; SIGUSR1 asks for the
//! status.
//!
//! At once means without waiting for the search; scratch folders and unfinished files are still deleted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit::Exit;

/// Raised by the first signal to stop.
pub(crate) static STOP: Stop = Stop::new();

static STATUS_WANTED: AtomicBool = AtomicBool::new(false);

/// Set while the process is being ended at once.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Does not return once a second signal is ending the process: a failure of a search whose folder
/// is being deleted deserves neither a message nor another exit code.
pub(crate) fn await_exit() {
    while LEAVING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Whether the status was requested since the last call.
pub(crate) fn take_status_request() -> bool {
    STATUS_WANTED.swap(false, Ordering::Relaxed)
}

/// Lets a write beyond the system's limit on the size of a file fail, instead of ending the process.
pub(crate) fn survive_large_files() -> std::io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    Ok(())
}

/// Starts to listen.
pub(crate) fn listen() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    // With nohup it is to outlive the terminal.
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGUSR1 => STATUS_WANTED.store(true, Ordering::Relaxed),
                    _ if STOP.is_raised() => {
                        LEAVING.store(true, Ordering::SeqCst);
                        hadal::ScratchFolder::delete_all();
                        hadal_lts::UnfinishedFile::delete_all();
                        let message = "stopped at once; nothing is proved; a folder given with \
                                       --disk holds the last checkpoint";
                        let _ = writeln!(std::io::stderr(), "{message}");
                        std::process::exit(Exit::Incomplete.code().into())
                    }
                    _ => STOP.raise(),
                }
            }
        })?;
    Ok(())
}

/// Whether the process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = (status.lines())
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
