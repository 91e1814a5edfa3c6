//! Progress of a search on standard error: live on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use hadal_report::units;
use hadal_search::{Observer, Outcome, Progress, Reason, Work};
use hadal_store::disk::Folder;
use indicatif::{ProgressBar, ProgressStyle};

use crate::estimate::{Estimator, Shortage};
use crate::flags::ProgressName;
use crate::signals;

/// Shows how far a search is.
pub(crate) struct Display {
    view: View,
    /// Where states go when memory is full.
    folder: Option<Folder>,
    estimator: Estimator,
    /// When the live line is due again.
    next_live: Instant,
    /// For a recent rate rather than that of the whole run.
    last: Option<(Instant, u64)>,
    rate: f64,
}

enum View {
    /// The bar appears once there is something to wait for.
    Live(Option<ProgressBar>),
    Lines {
        next: Instant,
        every: Duration,
    },
    Nothing,
}

/// Runs shorter than this show no progress on a terminal.
pub(crate) const QUIET_SECONDS: f64 = 0.5;

pub(crate) const LIVE_EVERY: Duration = Duration::from_millis(100);

/// The live line of a terminal.
pub(crate) fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

impl Display {
    pub(crate) fn new(progress: ProgressName, folder: Option<Folder>) -> Self {
        let lines = |every: Duration| View::Lines {
            next: Instant::now() + every,
            every,
        };
        let view = match progress {
            ProgressName::None => View::Nothing,
            ProgressName::Plain => lines(Duration::from_secs(1)),
            ProgressName::Auto if std::io::stderr().is_terminal() => View::Live(None),
            ProgressName::Auto => lines(Duration::from_secs(10)),
        };
        Display {
            view,
            folder,
            estimator: Estimator::default(),
            next_live: Instant::now(),
            last: None,
            rate: 0.0,
        }
    }

    /// What a search that filled its disk would have needed.
    pub(crate) fn shortage(&self, outcome: &Outcome) -> Option<Shortage> {
        let is_short = outcome.reason == Some(Reason::Disk);
        is_short.then(|| self.estimator.shortage(outcome.states, &outcome.disk))
    }

    /// Removes the live line.
    pub(crate) fn finish(&mut self) {
        if let View::Live(Some(bar)) = &self.view {
            bar.finish_and_clear();
        }
    }

    fn line(&self, progress: &Progress) -> String {
        let done = match progress.frontier {
            0 => 100,
            frontier => progress.frontier_done * 100 / frontier,
        };
        format!(
            "layer {}: {} of {} expanded ({done} %){} · {} states · {} transitions · {}/s · {}{} · {}{}{}",
            progress.layer,
            units::count(progress.frontier_done),
            units::count(progress.frontier),
            work(progress),
            units::count(progress.states),
            units::count(progress.transitions),
            units::rate(self.rate),
            units::bytes(progress.data_bytes),
            self.disk(progress.disk_bytes),
            units::seconds(progress.seconds),
            self.left(progress),
            match signals::STOP.is_raised() {
                true => " · stopping; another signal ends it at once",
                false => "",
            },
        )
    }

    /// What is on disk and what is free there, once anything is.
    fn disk(&self, used: u64) -> String {
        match self.folder.as_ref().map(Folder::free_bytes) {
            Some(Ok(free)) if used > 0 => {
                let (used, free) = (units::bytes(used), units::bytes(free));
                format!(" · {used} on disk, {free} free")
            }
            _ => String::new(),
        }
    }

    /// A range for the remaining time, if there is an estimate.
    fn left(&self, progress: &Progress) -> String {
        // The estimate is of the search, and a graph is made after it.
        let is_searching = !matches!(progress.work, Work::Joining | Work::Writing);
        let seconds = self.estimator.seconds(progress);
        match seconds.filter(|_| is_searching) {
            Some((least, most)) => {
                let (least, most) = (units::about(least), units::about(most));
                match least == most {
                    true => format!(", perhaps {least} more"),
                    false => format!(", perhaps {least} to {most} more"),
                }
            }
            None => String::new(),
        }
    }

    fn update_rate(&mut self, now: Instant, transitions: u64) {
        match self.last {
            // A resumed run starts with those of the earlier one.
            None if transitions == 0 => {}
            None => self.last = Some((now, transitions)),
            Some((then, before)) => {
                let passed = now.duration_since(then).as_secs_f64();
                if passed >= 0.5 {
                    self.rate = transitions.saturating_sub(before) as f64 / passed;
                    self.last = Some((now, transitions));
                }
            }
        }
    }
}

/// What else than expanding is being done, and how far it is.
fn work(progress: &Progress) -> String {
    let what = match progress.work {
        Work::Expanding => return String::new(),
        Work::Resolving => "finding new states",
        Work::Merging => "merging",
        Work::Flushing => "moving to disk",
        Work::Joining => "numbering the targets of edges",
        Work::Writing => "writing the graph",
        Work::Sorting => "sorting edges",
        Work::Following => "following edges back",
    };
    format!(", {what} {} %", progress.work_percent)
}

impl Observer for Display {
    fn progress(&mut self, progress: &Progress) {
        let now = Instant::now();
        self.update_rate(now, progress.transitions);
        self.estimator.note(progress);
        let asked = signals::take_status_request();
        let is_due = match &self.view {
            View::Live(_) => progress.seconds > QUIET_SECONDS && now >= self.next_live,
            View::Lines { next, .. } => now >= *next,
            View::Nothing => false,
        };
        // Layers may end far more often than a person can read.
        if !is_due && !asked {
            return;
        }
        let line = self.line(progress);
        match &mut self.view {
            View::Live(bar) => {
                self.next_live = now + LIVE_EVERY;
                let bar = bar.get_or_insert_with(new_bar);
                if asked {
                    bar.println(&line);
                }
                bar.set_message(line);
            }
            View::Lines { next, every } => {
                *next = now + *every;
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            View::Nothing => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}
