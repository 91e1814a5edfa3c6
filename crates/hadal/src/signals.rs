//! Signals: SIGINT and SIGTERM stop cleanly, a second one at once, SIGUSR1 asks for the status.

use std::sync::atomic::{AtomicBool, Ordering};

use hadal_model::Stop;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::exit::Exit;

/// Raised by the first signal to stop.
pub(crate) static STOP: Stop = Stop::new();

static STATUS_WANTED: AtomicBool = AtomicBool::new(false);

/// Whether someone asked for the status since the last call.
pub(crate) fn take_status_request() -> bool {
    STATUS_WANTED.swap(false, Ordering::Relaxed)
}

/// Begins to listen.
pub(crate) fn listen() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGUSR1 => STATUS_WANTED.store(true, Ordering::Relaxed),
                    _ if STOP.is_raised() => std::process::exit(Exit::Incomplete.code().into()),
                    _ => STOP.raise(),
                }
            }
        })?;
    Ok(())
}
