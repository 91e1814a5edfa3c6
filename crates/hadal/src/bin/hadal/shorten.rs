//! `hadal replay --shorten`: looks for cheaper runs to the violations of a record, and shows them.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::Context;
use hadal::{
    Error, LoadedModel, ModelSource, NotShortened, RecordedRun, RunLength, Shortened, Shortening,
    ShorteningObserver,
};
use hadal_report::units::{counted, seconds};
use hadal_search::{Observer, Progress, Reason};

use crate::allocator::adapt_allocator;
use crate::deliver::{RecordFile, deliver, deliver_record};
use crate::exit::Exit;
use crate::flags::{ProgressName, ReplayArgs};
use crate::progress::Display;
use crate::replay::replay;
use crate::run::if_delivered;
use crate::{failure, signals};

/// Shortens the violations of these numbers, one after the other, and shows them. `since` is when the
/// process started.
pub(crate) fn run(
    args: &ReplayArgs,
    mut record: RecordedRun,
    numbers: &[usize],
    source: ModelSource,
    since: Instant,
) -> anyhow::Result<Exit> {
    let run_args = args.run_args();
    adapt_allocator(run_args.resources().budget());
    signals::listen().context("cannot listen to signals")?;
    let record_file = RecordFile::of(&run_args)?;
    let replayed = match source.clone().for_replay().load() {
        Ok(loaded) => loaded,
        Err(Error::Rejected(rejection)) => {
            let style = args.color.style(&io::stderr());
            writeln!(io::stderr(), "{}", rejection.render(style))?;
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    let to_stdout = (args.shortening.json.as_ref()).is_some_and(|path| path.as_os_str() == "-");
    let mut display = ShorteningDisplay::new(args.shortening.progress);
    let mut refused = None;
    let mut n_shortened = 0;
    for (position, &number) in numbers.iter().enumerate() {
        // What one of them leaves of the time is for the others.
        let left = args.shortening.time_limit.saturating_sub(since.elapsed());
        let limit = left / (numbers.len() - position) as u32;
        let violation = record.violations()[number].clone();
        let mut resources = run_args.resources();
        resources.time_limit = Some(limit);
        let result = Shortening::new(source.clone(), &violation, &signals::STOP, &mut display)
            .resources(resources)
            .load_limits(run_args.load_limits(since))
            .run();
        display.finish();
        let verdict = match result {
            Ok(shortened) => {
                n_shortened += 1;
                record.shorten(number, &shortened)?;
                verdict(&shortened, limit)
            }
            Err(NotShortened::Failed(error)) => {
                signals::await_exit();
                return Err(failed(error, &replayed));
            }
            Err(error) => {
                let verdict = format!("Not shortened: {error}.");
                refused.get_or_insert(error);
                verdict
            }
        };
        if !to_stdout && (n_shortened > 0 || numbers.len() > 1) {
            let mut out = String::new();
            let style = args.color.style(&io::stdout());
            replay(&mut out, &record, number, &replayed, args.trace, style)?;
            out += &format!("{verdict}\n\n");
            deliver(&mut io::stdout(), &out, "the counterexample")?;
        }
    }
    // Where one of several can be shortened, the others are shown as they are.
    if let (0, Some(error)) = (n_shortened, refused) {
        return Err(error.into());
    }
    let delivered = deliver_record(&run_args, record_file, &record);
    Ok(if_delivered(delivered, Exit::Done))
}

/// A failed search as an error of the command.
fn failed(error: Error, loaded: &LoadedModel) -> anyhow::Error {
    match &error {
        Error::Search { .. } => {
            let message = failure::message(&error, loaded);
            anyhow::Error::new(error).context(message)
        }
        _ => error.into(),
    }
}

/// What was found out about a run, in a sentence or two.
fn verdict(shortened: &Shortened, limit: Duration) -> String {
    let Shortened {
        known,
        shorter,
        is_least,
        reason,
    } = shortened;
    let best = shortened.best();
    // A user who knows of no costs should not have to think of them.
    let has_costs = [*known, best].iter().any(|it| it.cost != it.steps);
    let length = |it: RunLength| match has_costs {
        false => counted(it.steps, "step"),
        true => format!("{} of cost {}", counted(it.steps, "step"), it.cost),
    };
    let (shortest, is_shorter) = match has_costs {
        false => ("a shortest one", "is shorter"),
        true => ("a cheapest one", "costs less"),
    };
    let ended = match reason {
        Some(Reason::Time) => format!("within {}", seconds(limit.as_secs_f64())),
        Some(Reason::Interrupted) => "before the search was interrupted".to_owned(),
        Some(Reason::Memory) => "within the memory budget".to_owned(),
        Some(Reason::Disk) => "before the disk was full".to_owned(),
        _ => "by searches that leave out what exceeds a limit".to_owned(),
    };
    match (shorter, is_least) {
        (Some(shorter), _) => {
            let end = match shorter.is_same_state {
                true => "the same state",
                false => "another state with the same violation",
            };
            let rest = match is_least {
                true => format!("No run to this violation {is_shorter}."),
                false => format!("Whether it is {shortest} was not decided {ended}."),
            };
            format!(
                "Shortened from {} to {}: the run ends in {end}. {rest}",
                length(*known),
                length(best)
            )
        }
        (None, true) => format!(
            "The run of {} is {shortest}: no run to this violation {is_shorter}.",
            length(*known)
        ),
        (None, false) => format!(
            "No run that {is_shorter} than {} was found {ended}.",
            length(*known)
        ),
    }
}

/// Shows how far each search is, and what it finds.
struct ShorteningDisplay {
    progress: ProgressName,
    display: Option<Display>,
}

impl ShorteningDisplay {
    fn new(progress: ProgressName) -> Self {
        ShorteningDisplay {
            progress,
            display: None,
        }
    }

    /// Removes the live line.
    fn finish(&mut self) {
        self.display.iter_mut().for_each(Display::finish);
        self.display = None;
    }
}

impl Observer for ShorteningDisplay {
    fn progress(&mut self, progress: &Progress) {
        if let Some(display) = &mut self.display {
            display.progress(progress);
        }
    }
}

impl ShorteningObserver for ShorteningDisplay {
    fn begin(&mut self, search: &str) {
        self.finish();
        if self.progress == ProgressName::Plain {
            let _ = writeln!(io::stderr(), "searching {search}");
        }
        self.display = Some(Display::new(self.progress, None));
    }

    fn improved(&mut self, length: RunLength) {
        self.finish();
        if self.progress != ProgressName::None {
            let steps = counted(length.steps, "step");
            let cost = match length.cost == length.steps {
                true => String::new(),
                false => format!(" of cost {}", length.cost),
            };
            let _ = writeln!(io::stderr(), "note: found a run of {steps}{cost}");
        }
    }
}
