//! Duplicates, time and disk by the number of layers that are read (Tables
//! 1, 2 and 3 and Figure 5 of the layered paper).

use hadal_report::plot::Bars;
use hadal_report::table::{Cell, Readers, Report, Table, Value};

use super::locality::layer_bars;
use super::rig::{Choice, Job, Measured, Rig, Subject};
use crate::{Layered, Layers};

/// The tables, and the layers to draw.
pub fn measure(
    rig: &mut Rig<'_>,
    subjects: &[Subject],
    layers: &[Layers],
    fraction: f64,
) -> (Report, Vec<Bars>) {
    let job = |layers: Layers, cache: bool| {
        let strategy = Layered {
            layers,
            cache,
            ..Layered::default()
        };
        Job::within(Choice::new(label(layers, cache), strategy), fraction)
    };
    // Table 2 is about the first of them.
    let first = layers.first().copied().unwrap_or(Layers::Fixed(50));
    let mut jobs = vec![job(first, false)];
    jobs.extend(layers.iter().map(|&layers| job(layers, true)));

    let columns = [
        "model",
        "layers",
        "states",
        "depth",
        "duplicates in RAM",
        "in DDD",
        "missed",
        "BFS seconds",
        "trace seconds",
        "disk bytes",
        "end",
    ];
    let name = format!(
        "Duplicates, time and disk with {fraction} of the memory (Tables 1 and 3 of the layered \
         paper; below, Figure 5)"
    );
    let mut all = Table::new(&name, Readers::All, &columns);
    let mut cached = Table::new(
        "With and without a cache of recent layers in memory (Table 2)",
        Readers::All,
        &[
            "model",
            "layers",
            "cache",
            "seconds",
            "delayed duplicates",
            "end",
        ],
    );
    let (mut report, mut drawn) = (Report::default(), Vec::new());
    for subject in subjects {
        let found = rig.compare(subject, &jobs);
        let n_states = found.baseline.as_ref().map(|base| base.states);
        let with_cache = found.runs.iter().skip(1);
        for (&layers, run) in layers.iter().zip(with_cache.clone()) {
            all.push(row(&subject.name, layers, run, n_states));
        }
        let both = [
            ("yes", with_cache.clone().next()),
            ("no", found.runs.first()),
        ];
        for (cache, run) in both {
            let Some(run) = run else { continue };
            cached.push(vec![
                Cell::text(&subject.name),
                Cell::text(first.to_string()),
                Cell::text(cache),
                run.cell(n_states, |_| Value::Seconds(run.seconds)),
                stat(run, "duplicates_ddd", n_states, whole),
                Cell::text(run.end()),
            ]);
        }
        if let Some(base) = &found.baseline {
            let bars = layer_bars(&subject.name, &base.layers);
            report.plots.push(bars.to_text());
            drawn.push(bars);
        }
    }
    report.tables = vec![all, cached];
    (report, drawn)
}

fn row(name: &str, layers: Layers, run: &Measured, n_states: Option<u64>) -> Vec<Cell> {
    vec![
        Cell::text(name),
        Cell::text(layers.to_string()),
        run.cell(n_states, |outcome| whole(outcome.states as f64)),
        run.cell(n_states, |outcome| whole(f64::from(outcome.depth))),
        stat(run, "duplicates_ram", n_states, whole),
        stat(run, "duplicates_ddd", n_states, whole),
        stat(run, "duplicates_missed", n_states, whole),
        run.cell(n_states, |_| Value::Seconds(run.seconds)),
        // Only runs that found a violation have one.
        run.stat("seconds_trace")
            .map_or(Cell::none(), |seconds| Value::Seconds(seconds).into()),
        stat(run, "disk_peak_bytes", n_states, |n| Value::Bytes(n as u64)),
        Cell::text(run.end()),
    ]
}

fn stat(run: &Measured, name: &str, n_states: Option<u64>, value: fn(f64) -> Value) -> Cell {
    run.cell(n_states, |_| run.stat(name).map_or(Value::None, value))
}

fn whole(n: f64) -> Value {
    Value::Count(n as i64)
}

fn label(layers: Layers, cache: bool) -> String {
    match cache {
        true => format!("layered:{layers}"),
        false => format!("layered:{layers} without cache"),
    }
}
