//! What searches cost with less memory than they need (Tables 5, 6, 8, 9 and 10
//! of the locality paper, Table 2 and Figure 4 of the magnetic-disk paper).

use hadal_report::plot::Lines;
use hadal_report::table::{Cell, Mark, Readers, Report, Table, Value};

use super::rig::{Choice, Comparison, Job, Measured, Rig, Subject};

/// The tables, and lines of time against memory.
pub fn measure(
    rig: &mut Rig<'_>,
    subjects: &[Subject],
    strategies: &[Choice],
    fractions: &[f64],
) -> (Report, Vec<Lines>) {
    let jobs: Vec<Job> = strategies
        .iter()
        .flat_map(|choice| {
            fractions
                .iter()
                .map(|&part| Job::within(choice.clone(), part))
        })
        .collect();
    let mut models = Table::new(
        "With everything in memory (Tables 3 and 4 of the locality paper)",
        Readers::All,
        &[
            "model",
            "states",
            "transitions",
            "largest queue",
            "depth",
            "M(p) bytes",
            "g",
            "seconds",
            "end",
        ],
    );
    let mut ratios = Table::new(
        "Ratios to the search with everything in memory, by fraction of its memory (Tables 5, 6, 8 \
         and 9 of the locality paper, Table 2 of the magnetic-disk paper)",
        Readers::People,
        &["model", "strategy", "ratio of"],
    );
    let titles = fractions.iter().map(|fraction| fraction.to_string());
    ratios.columns.extend(titles.clone());
    let mut races = Table::new(
        &race_title(strategies),
        Readers::People,
        &["model", "strategy", "ratio of"],
    );
    races.columns.extend(titles);
    let mut runs = runs_table();
    let mut drawn = Vec::new();
    for subject in subjects {
        let found = rig.compare(subject, &jobs);
        models.push(model_row(&subject.name, &found));
        let mut lines = Vec::new();
        for (choice, measured) in strategies.iter().zip(found.runs.chunks(fractions.len())) {
            let figures = figures(&found);
            for (figure, ratio) in &figures {
                let mut row = [&subject.name, &choice.label, *figure]
                    .map(Cell::text)
                    .to_vec();
                row.extend(measured.iter().map(|run| cell(run, &found, ratio)));
                // Only caches have collisions.
                if row[3..].iter().any(|cell| cell.shown() != "") {
                    ratios.push(row);
                }
            }
            for (run, &fraction) in measured.iter().zip(fractions) {
                let mut row = vec![Cell::text(&subject.name), Cell::text(&choice.label)];
                row.push(Value::Real(fraction).into());
                row.extend(run_cells(run, &found, &figures));
                runs.push(row);
            }
            lines.push((choice.label.clone(), points(measured, fractions, &found)));
        }
        let mut rows = found.runs.chunks(fractions.len());
        let first = rows.next().unwrap_or_default();
        for (choice, measured) in strategies.iter().skip(1).zip(rows) {
            let mut row = [&subject.name, &choice.label, "time"]
                .map(Cell::text)
                .to_vec();
            let pairs = measured.iter().zip(first);
            row.extend(pairs.map(|(run, first)| race(run, first, &found)));
            races.push(row);
        }
        drawn.push(Lines {
            title: subject.name.clone(),
            x_title: "fraction of the memory".to_owned(),
            y_title: "time ratio".to_owned(),
            lines,
        });
    }
    let mut tables = vec![models, ratios];
    if strategies.len() > 1 {
        tables.push(races);
    }
    tables.push(runs);
    let report = Report {
        tables,
        ..Report::default()
    };
    (report, drawn)
}

fn race_title(strategies: &[Choice]) -> String {
    let first = strategies.first().map_or("", |choice| &choice.label);
    format!("Times as ratios to those of `{first}` (Table 10 of the locality paper has `local`)")
}

/// The time of a run as a ratio to that of another within the same memory, where the other ended.
fn race(run: &Measured, first: &Measured, found: &Comparison) -> Cell {
    let ratio = match (&run.outcome, first.has_ended()) {
        (Some(_), true) => Value::Ratio(run.seconds / first.seconds.max(1e-9)),
        _ => Value::None,
    };
    let n_states = found.baseline.as_ref().map(|base| base.states);
    Cell::from(ratio).marked(run.mark(n_states))
}

/// A ratio to the search in memory, where there is one.
type Ratio<'a> = Box<dyn Fn(&Measured) -> Option<f64> + 'a>;

/// The figures of the papers, by the names they have in the tables. `time` is the only one that
/// changes from run to run.
fn figures(found: &Comparison) -> [(&'static str, Ratio<'_>); 4] {
    let base = found.baseline.as_ref();
    // What a strategy visits again counts again.
    let states = move |run: &Measured| {
        let outcome = run.outcome.as_ref()?;
        let admitted = run.count("admitted").unwrap_or(outcome.states);
        Some(admitted as f64 / base?.states.max(1) as f64)
    };
    let transitions = move |run: &Measured| {
        let outcome = run.outcome.as_ref()?;
        Some(outcome.transitions as f64 / base?.transitions.max(1) as f64)
    };
    let time = move |run: &Measured| {
        run.outcome.as_ref()?;
        Some(run.seconds / base?.seconds.max(1e-9))
    };
    [
        ("states", Box::new(states)),
        ("transitions", Box::new(transitions)),
        ("time", Box::new(time)),
        ("collisions", Box::new(|run| run.stat("collision_rate"))),
    ]
}

fn cell(run: &Measured, found: &Comparison, ratio: &Ratio<'_>) -> Cell {
    let n_states = found.baseline.as_ref().map(|base| base.states);
    let value = ratio(run).map_or(Value::None, Value::Ratio);
    match (&value, &run.outcome) {
        // The strategy has no such figure, which is nothing to be remarked on.
        (Value::None, Some(_)) => Cell::none(),
        _ => Cell::from(value).marked(run.mark(n_states)),
    }
}

fn points(runs: &[Measured], fractions: &[f64], found: &Comparison) -> Vec<(f64, f64)> {
    let Some(base) = &found.baseline else {
        return Vec::new();
    };
    let ended = runs
        .iter()
        .zip(fractions)
        .filter(|(run, _)| run.has_ended());
    let mut points: Vec<(f64, f64)> = ended
        .map(|(run, &fraction)| (fraction, run.seconds / base.seconds.max(1e-9)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn runs_table() -> Table {
    Table::new(
        "Runs",
        Readers::Programs,
        &[
            "model",
            "strategy",
            "fraction",
            "states ratio",
            "transitions ratio",
            "time ratio",
            "collision rate",
            "states",
            "visited",
            "transitions",
            "seconds",
            "end",
            "all visited",
        ],
    )
}

fn run_cells(run: &Measured, found: &Comparison, figures: &[(&str, Ratio<'_>)]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = figures
        .iter()
        .map(|(_, ratio)| cell(run, found, ratio))
        .collect();
    cells.push(run.cell(None, |outcome| count(outcome.states)));
    cells.push(run.cell(None, |outcome| count(outcome.visited)));
    cells.push(run.cell(None, |outcome| count(outcome.transitions)));
    cells.push(run.cell(None, |_| Value::Seconds(run.seconds)));
    cells.push(Cell::text(run.end()));
    let n_states = found.baseline.as_ref().map(|base| base.states);
    let all = match run.mark(n_states) {
        None | Some(Mark::AllVisited) => "yes",
        Some(Mark::NotRun | Mark::Failed) => "",
        Some(_) => "no",
    };
    cells.push(Cell::text(all));
    cells
}

fn count(n: u64) -> Value {
    Value::Count(i64::try_from(n).unwrap_or(i64::MAX))
}

fn model_row(name: &str, found: &Comparison) -> Vec<Cell> {
    let ram = &found.ram;
    let stat = |name: &str, value: fn(f64) -> Value| {
        let figure = ram.stat(name);
        ram.cell(None, |_| figure.map_or(Value::None, value))
    };
    vec![
        Cell::text(name),
        ram.cell(None, |outcome| count(outcome.states)),
        ram.cell(None, |outcome| count(outcome.transitions)),
        stat("queue_max", |n| Value::Count(n as i64)),
        ram.cell(None, |outcome| count(outcome.depth.into())),
        stat("memory_needed", |n| Value::Bytes(n as u64)),
        stat("g", Value::Ratio),
        ram.cell(None, |_| Value::Seconds(ram.seconds)),
        Cell::text(ram.end()),
    ]
}
