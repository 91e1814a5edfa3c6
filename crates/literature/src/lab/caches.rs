//! Memory held, time and redundant work by set-up of the caches, and the
//! smallest caches with which depth-first search visits at most twice the states (the caching
//! paper, 4.1 and 4.2).
//!
//! What is held includes the states still to be expanded, of the search in memory too.

use hadal_report::plot::Bars;
use hadal_report::table::{Cell, Mark, Readers, Report, Table, Value};

use super::rig::{Baseline, Choice, Job, Measured, Rig, Subject};
use crate::{DfsCache, SnapshotSetup, Snapshots, StateCacheSpec};

/// Caches of states that the paper compares.
const DFS_SETUPS: [&str; 7] = [
    "(lru,100)",
    "(mru,100)",
    "(lfu,100)",
    "(mfu,100)",
    "(rnd,100)",
    "(mfu,25)(lru,75)",
    "(rnd,25)(lru,75)",
];

/// Measures them, and draws two panels for each model as the paper's figures do: the states held by
/// each set-up, and those that it visits again. `free` are set-ups beside those of the paper.
pub fn measure(
    rig: &mut Rig<'_>,
    subjects: &[Subject],
    free: &[(String, SnapshotSetup)],
    with_dfs: bool,
) -> (Report, Vec<Bars>) {
    let mut setups = vec![
        (
            "frontier-safety-net".to_owned(),
            SnapshotSetup::FrontierSafetyNet,
        ),
        ("pebble".to_owned(), SnapshotSetup::Pebble),
    ];
    setups.extend(free.iter().cloned());
    let mut jobs = Vec::new();
    for (name, setup) in &setups {
        for backtracking in [false, true] {
            let strategy = Snapshots {
                setup: setup.clone(),
                backtracking,
                ..Snapshots::default()
            };
            let suffix = if backtracking { " + BT" } else { "" };
            jobs.push(Job::unbounded(Choice::new(
                format!("{name}{suffix}"),
                strategy,
            )));
        }
    }
    let mut table = Table::new(
        "Breadth-first search with snapshots (4.1 of the caching paper)",
        Readers::All,
        &[
            "model",
            "set-up",
            "states held",
            "held share",
            "data bytes",
            "seconds",
            "time ratio",
            "redundant states",
            "redundant share",
            "snapshots hit",
            "end",
        ],
    );
    let mut smallest = Table::new(
        "Smallest cache with which depth-first search visits at most twice the states (4.2 of the \
         caching paper)",
        Readers::All,
        &[
            "model",
            "set-up",
            "cache states",
            "cache share",
            "seconds",
            "visited ratio",
        ],
    );
    let mut panels = Vec::new();
    for subject in subjects {
        let found = rig.compare(subject, &jobs);
        let base = found.baseline.as_ref();
        table.push(ram_row(&subject.name, &found.ram));
        let runs = || jobs.iter().zip(&found.runs);
        panels.extend(base.map(|base| held_bars(&subject.name, base, runs())));
        panels.extend(base.map(|base| redundant_bars(&subject.name, base, runs())));
        for (job, run) in jobs.iter().zip(&found.runs) {
            table.push(row(&subject.name, &job.choice.label, run, base));
        }
        if with_dfs {
            for setup in DFS_SETUPS {
                smallest.push(smallest_row(rig, subject, setup, base));
            }
        }
    }
    let mut tables = vec![table];
    if with_dfs {
        tables.push(smallest);
    }
    let report = Report {
        tables,
        ..Report::default()
    };
    (report, panels)
}

/// A bar for the search in memory and one for each set-up.
fn bars<'r>(
    title: String,
    ram: f64,
    runs: impl Iterator<Item = (&'r Job, &'r Measured)>,
    height: impl Fn(&Measured) -> f64,
) -> Bars {
    let mut bars = Bars {
        title,
        labels: vec!["ram".to_owned()],
        values: vec![ram],
    };
    for (job, run) in runs {
        bars.labels.push(job.choice.label.clone());
        bars.values.push(height(run));
    }
    bars
}

/// States held, in per cent of those that a search in memory holds. A run that did not end has no
/// bar.
fn held_bars<'r>(
    name: &str,
    base: &Baseline,
    runs: impl Iterator<Item = (&'r Job, &'r Measured)>,
) -> Bars {
    let most = (base.states + base.largest_queue).max(1) as f64;
    let title = format!("{name}: states held, in per cent of all");
    bars(title, 100.0, runs, |run| {
        let held = run.stat("states_held").filter(|_| run.has_ended());
        100.0 * held.unwrap_or(0.0) / most
    })
}

/// States visited again, in per cent of all states.
fn redundant_bars<'r>(
    name: &str,
    base: &Baseline,
    runs: impl Iterator<Item = (&'r Job, &'r Measured)>,
) -> Bars {
    let n_states = base.states.max(1) as f64;
    let title = format!("{name}: states visited again, in per cent of all");
    bars(title, 0.0, runs, |run| {
        let again = run.stat("redundant").filter(|_| run.has_ended());
        100.0 * again.unwrap_or(0.0) / n_states
    })
}

fn ram_row(name: &str, ram: &Measured) -> Vec<Cell> {
    let whole = |n: u64| Value::Count(n as i64);
    vec![
        Cell::text(name),
        Cell::text("all states (ram)"),
        ram.cell(None, |outcome| {
            whole(outcome.states + ram.count("queue_max").unwrap_or(0))
        }),
        ram.cell(None, |_| Value::Share(1.0)),
        ram.cell(None, |outcome| Value::Bytes(outcome.data_bytes)),
        ram.cell(None, |_| Value::Seconds(ram.seconds)),
        ram.cell(None, |_| Value::Ratio(1.0)),
        ram.cell(None, |_| whole(0)),
        ram.cell(None, |_| Value::Share(0.0)),
        Cell::none(),
        Cell::text(ram.end()),
    ]
}

fn row(name: &str, setup: &str, run: &Measured, base: Option<&Baseline>) -> Vec<Cell> {
    let n_states = base.map(|base| base.states);
    let per_state = n_states.unwrap_or(1).max(1) as f64;
    let per_held = base
        .map_or(1, |base| base.states + base.largest_queue)
        .max(1) as f64;
    let stat = |name: &str, value: &dyn Fn(f64) -> Value| {
        run.cell(n_states, |_| run.stat(name).map_or(Value::None, value))
    };
    let ram_seconds = base.map_or(0.0, |base| base.seconds).max(1e-9);
    vec![
        Cell::text(name),
        Cell::text(setup),
        stat("states_held", &|n| Value::Count(n as i64)),
        stat("states_held", &|n| Value::Share(n / per_held)),
        run.cell(n_states, |outcome| Value::Bytes(outcome.data_bytes)),
        run.cell(n_states, |_| Value::Seconds(run.seconds)),
        run.cell(n_states, |_| Value::Ratio(run.seconds / ram_seconds)),
        stat("redundant", &|n| Value::Count(n as i64)),
        stat("redundant", &|n| Value::Share(n / per_state)),
        stat("snapshots_hit", &|n| Value::Count(n as i64)),
        Cell::text(run.end()),
    ]
}

/// Halves the interval until it is known to a hundredth of the states.
fn smallest_row(
    rig: &mut Rig<'_>,
    subject: &Subject,
    setup: &str,
    base: Option<&Baseline>,
) -> Vec<Cell> {
    let names = || vec![Cell::text(&subject.name), Cell::text(setup)];
    let marked = |mark: Mark| {
        let mut row = names();
        row.extend(vec![Cell::none().marked(Some(mark)); 4]);
        row
    };
    let Some(base) = base else {
        return marked(Mark::NotRun);
    };
    let caches = StateCacheSpec::parse_all(setup).unwrap_or_else(|_| StateCacheSpec::usual());
    let mut search = |states: u64| {
        let strategy = DfsCache {
            caches: caches.clone(),
            states: Some(states),
            most_visited: Some(2 * base.states),
            ..DfsCache::default()
        };
        let label = format!("dfs-cache:{setup} with {states} states");
        rig.run(subject, &Job::unbounded(Choice::new(label, strategy)), None)
    };
    // With room for all states none is visited twice.
    let mut enough = (base.states.max(1), search(base.states.max(1)));
    if !enough.1.has_ended() {
        return marked(enough.1.mark(None).unwrap_or(Mark::Failed));
    }
    let (mut too_few, step) = (0, (base.states / 100).max(1));
    while enough.0 - too_few > step {
        let states = too_few + (enough.0 - too_few) / 2;
        let run = search(states);
        match (run.has_ended(), run.mark(None)) {
            (true, _) => enough = (states, run),
            (false, Some(mark @ (Mark::Interrupted | Mark::Failed))) => return marked(mark),
            (false, _) => too_few = states,
        }
    }
    let (states, run) = enough;
    let visited = run.outcome.as_ref().map_or(0, |outcome| outcome.visited);
    let per_state = base.states.max(1) as f64;
    let mut row = names();
    row.extend([
        Cell::count(states),
        Value::Share(states as f64 / per_state).into(),
        Value::Seconds(run.seconds).into(),
        Value::Ratio(visited as f64 / per_state).into(),
    ]);
    row
}
