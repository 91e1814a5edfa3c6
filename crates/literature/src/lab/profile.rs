//! Where the time goes (Figures 1 and 3 of the magnetic-disk paper).

use hadal_report::table::{Cell, Readers, Report, Table, Value};

use super::rig::{Choice, Job, Measured, Rig, Subject};

/// What the time is spent on, by the names that strategies give it and those in the table.
const PARTS: [(&str, &str); 7] = [
    ("seconds_generation", "generation"),
    ("seconds_insertion", "insertion"),
    ("seconds_detection", "duplicate detection"),
    ("seconds_io", "file I/O"),
    ("seconds_queue", "enqueue and dequeue"),
    ("seconds_partitioning", "partitioning"),
    ("seconds_judging", "properties"),
];

/// Measures them.
pub fn measure(
    rig: &mut Rig<'_>,
    subjects: &[Subject],
    strategies: &[Choice],
    fraction: f64,
) -> Report {
    let job = |choice: &Choice| match choice.strategy.name() == "ram" {
        // It would only stop.
        true => Job::unbounded(choice.clone()),
        false => Job::within(choice.clone(), fraction),
    };
    let jobs: Vec<Job> = strategies.iter().map(job).collect();
    let name = format!(
        "Shares of the time, with {fraction} of the memory that is needed (Figures 1 and 3 of the \
         magnetic-disk paper)"
    );
    let mut table = Table::new(&name, Readers::All, &["model", "strategy", "seconds"]);
    let titles = PARTS.iter().map(|(_, title)| (*title).to_owned());
    table.columns.extend(titles);
    table.columns.extend(["other", "end"].map(str::to_owned));
    for subject in subjects {
        let found = rig.compare(subject, &jobs);
        let n_states = found.baseline.as_ref().map(|base| base.states);
        for (choice, run) in strategies.iter().zip(&found.runs) {
            let mut row = vec![Cell::text(&subject.name), Cell::text(&choice.label)];
            row.push(run.cell(n_states, |_| Value::Seconds(run.seconds)));
            row.extend(shares(run));
            row.push(Cell::text(run.end()));
            table.push(row);
        }
    }
    Report {
        tables: vec![table],
        ..Report::default()
    }
}

fn shares(run: &Measured) -> Vec<Cell> {
    let parts = PARTS.map(|(name, _)| seconds(run, name));
    let known: f64 = parts.iter().flatten().sum();
    let total = run.seconds.max(known);
    let share = |seconds: Option<f64>| match seconds {
        Some(seconds) if total > 0.0 => Value::Share(seconds / total).into(),
        _ => Cell::none(),
    };
    let mut cells: Vec<Cell> = parts.into_iter().map(share).collect();
    let rest = run.outcome.as_ref().map(|_| total - known);
    cells.push(share(rest));
    cells
}

/// The time that a run spent on this, where it was measured. `auto` has other names for it, and
/// waits for the disk while it merges.
fn seconds(run: &Measured, name: &str) -> Option<f64> {
    let outcome = run.outcome.as_ref()?;
    let is_auto = outcome.strategy_stats.get("seconds_generation").is_none();
    let times = &outcome.seconds;
    let waiting = times.io_wait.min(times.merge);
    match name {
        "seconds_generation" if is_auto => Some(times.expand),
        "seconds_insertion" if is_auto => Some(times.insert),
        "seconds_detection" if is_auto => Some(times.merge - waiting),
        "seconds_io" if is_auto => Some(waiting),
        "seconds_judging" if is_auto => Some(times.check),
        _ => run.stat(name),
    }
}
