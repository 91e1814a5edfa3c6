//! Progress of work on graphs on standard error: live on a terminal, plain lines elsewhere.
//!
//! The work counts what it does in a [`Gauge`]; a thread of its own reads that and shows it, so that
//! work in a single long pass is shown as well.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hadal::memory;
use hadal_lts::{Gauge, Reading, Stage};
use hadal_report::units;
use indicatif::ProgressBar;

use crate::flags::ProgressName;
use crate::progress::{LIVE_EVERY, QUIET_SECONDS, new_bar};
use crate::signals;

/// Does `work`, whose progress is shown until it ends.
pub(crate) fn shown<T>(progress: ProgressName, gauge: &Gauge, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        let viewer = move || {
            let mut view = View::new(progress);
            while is_done.recv_timeout(LIVE_EVERY) == Err(RecvTimeoutError::Timeout) {
                view.show(&gauge.read());
            }
            view.finish();
        };
        // Where no thread can be started nothing is shown.
        let viewer = std::thread::Builder::new().spawn_scoped(scope, viewer);
        let result = work();
        drop(done);
        if let Ok(viewer) = viewer {
            let _ = viewer.join();
        }
        result
    })
}

struct View {
    kind: Kind,
    since: Instant,
}

enum Kind {
    /// The bar appears once there is something to wait for.
    Live(Option<ProgressBar>),
    Lines {
        next: Instant,
        every: Duration,
    },
    Nothing,
}

impl View {
    fn new(progress: ProgressName) -> Self {
        let since = Instant::now();
        let lines = |every: Duration| Kind::Lines {
            next: since + every,
            every,
        };
        let kind = match progress {
            ProgressName::None => Kind::Nothing,
            ProgressName::Plain => lines(Duration::from_secs(1)),
            ProgressName::Auto if io::stderr().is_terminal() => Kind::Live(None),
            ProgressName::Auto => lines(Duration::from_secs(10)),
        };
        View { kind, since }
    }

    fn show(&mut self, reading: &Reading) {
        let now = Instant::now();
        let seconds = (now - self.since).as_secs_f64();
        let asked = signals::take_status_request();
        let is_due = match &self.kind {
            Kind::Live(_) => seconds > QUIET_SECONDS,
            Kind::Lines { next, .. } => now >= *next,
            Kind::Nothing => false,
        };
        if !is_due && !asked {
            return;
        }
        let line = line(reading, seconds, memory::resident_bytes());
        match &mut self.kind {
            Kind::Live(bar) => {
                let bar = bar.get_or_insert_with(new_bar);
                if asked {
                    bar.println(&line);
                }
                bar.set_message(line);
            }
            Kind::Lines { next, every } => {
                *next = now + *every;
                let _ = writeln!(io::stderr(), "{line}");
            }
            Kind::Nothing => {
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    /// Removes the live line.
    fn finish(&self) {
        if let Kind::Live(Some(bar)) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

/// What is being done, how far it is, how long it takes, and the memory that is held.
fn line(reading: &Reading, seconds: f64, held_bytes: u64) -> String {
    let Reading { done, total, .. } = *reading;
    let far = match total {
        0 => format!("{} {}", units::count(done), unit(reading.stage)),
        _ => format!(
            "{} of {} {} ({} %)",
            units::count(done),
            units::count(total),
            unit(reading.stage),
            u128::from(done) * 100 / u128::from(total)
        ),
    };
    format!(
        "{}: {far} · {} · {}{}{}",
        name(reading.stage),
        units::bytes(held_bytes),
        units::seconds(seconds),
        left(reading),
        match signals::STOP.is_raised() {
            true => " · stopping; another signal ends it at once",
            false => "",
        },
    )
}

/// Seconds of a stage before its end is estimated.
const LEAST_SECONDS: f64 = 1.0;

/// How long the stage still takes, if the rest of it is like its beginning.
fn left(reading: &Reading) -> String {
    let Reading {
        stage,
        done,
        total,
        seconds,
    } = *reading;
    if seconds < LEAST_SECONDS || done == 0 || total <= done {
        return String::new();
    }
    let left = units::about(seconds * (total - done) as f64 / done as f64);
    match stage {
        Stage::Refining { .. } => format!(", perhaps {left} more in this round"),
        _ => format!(", perhaps {left} more for this"),
    }
}

fn name(stage: Stage) -> String {
    let name = match stage {
        Stage::Starting => "starting",
        Stage::Reading => "reading",
        Stage::Sorting => "sorting",
        Stage::Unpacking => "unpacking",
        Stage::Writing => "writing",
        Stage::Counting => "counting edges",
        Stage::Measuring => "measuring distances",
        Stage::Components => "finding components",
        Stage::Collapsing => "collapsing cycles",
        Stage::Reversing => "sorting by target",
        Stage::Refining { round, n_blocks } => {
            return format!(
                "round {}, {}",
                units::count(round),
                units::counted(n_blocks, "block")
            );
        }
        Stage::Verifying => "verifying the result",
        Stage::Numbering => "numbering the result",
        Stage::Distinguishing => "telling the graphs apart",
        _ => "working",
    };
    name.to_owned()
}

fn unit(stage: Stage) -> &'static str {
    match stage {
        Stage::Unpacking => "bytes",
        Stage::Measuring | Stage::Numbering => "states",
        Stage::Components | Stage::Distinguishing => "steps",
        _ => "edges",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_and_what_is_left() {
        let reading = Reading {
            stage: Stage::Refining {
                round: 3,
                n_blocks: 1234,
            },
            done: 25_000_000,
            total: 100_000_000,
            seconds: 10.0,
        };
        assert_eq!(
            line(&reading, 31.0, 300 << 20),
            "round 3, 1,234 blocks: 25,000,000 of 100,000,000 edges (25 %) · 300.0 MiB · 31.0 s, \
             perhaps 30 s more in this round"
        );
        let reading = Reading {
            stage: Stage::Components,
            total: 0,
            ..reading
        };
        let line = line(&reading, 0.5, 1 << 20);
        assert_eq!(
            line,
            "finding components: 25,000,000 steps · 1.0 MiB · 0.50 s"
        );
    }
}
