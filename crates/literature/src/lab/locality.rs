//! Table 1 of the locality paper, the back-jumps and the layers.

use hadal_report::plot::{Bars, horizontal_bar};
use hadal_report::table::{Cell, Mark, Readers, Report, Table, Value};
use hadal_report::units;
use hadal_search::Reason;

use super::rig::{Rig, Subject};
use crate::{Jump, Locality, Share};

/// The table, and what may be drawn.
pub fn measure(rig: &mut Rig<'_>, subjects: &[Subject]) -> (Report, Vec<Bars>) {
    let mut shares = share_table("Share of k-transitions per state (Definition 4, Table 1)");
    let mut without = share_table("The same, self-loops left out");
    let mut sizes = Table::new(
        "Models",
        Readers::All,
        &[
            "model",
            "states",
            "transitions",
            "self-loops",
            "ends",
            "faults",
            "depth",
            "farthest back",
            "end",
        ],
    );
    let mut jumps = Table::new(
        "Back-jumps",
        Readers::All,
        &["model", "k", "transitions", "share"],
    );
    let mut layers = Table::new("Layers", Readers::Programs, &["model", "level", "states"]);
    let mut report = Report::default();
    let mut drawn = Vec::new();
    for subject in subjects {
        let name = || Cell::text(&subject.name);
        let Some(found) = rig.locality(subject) else {
            for table in [&mut shares, &mut without, &mut sizes] {
                let mut row = vec![Cell::none().marked(Some(Mark::Failed)); table.columns.len()];
                row[0] = name();
                table.push(row);
            }
            continue;
        };
        let mark = mark(found.reason);
        shares.push(share_row(
            name(),
            &found,
            mark,
            |jump| jump.share,
            found.one_local(),
        ));
        let sum = found.one_local_without_loops();
        without.push(share_row(
            name(),
            &found,
            mark,
            |jump| jump.share_without_loops,
            sum,
        ));
        let farthest = found.jumps.last().map_or(0, |jump| jump.levels.min(0));
        let depth = found.layers.len().saturating_sub(1) as u64;
        sizes.push(vec![
            name(),
            Cell::count(found.states).marked(mark),
            Cell::count(found.transitions).marked(mark),
            Cell::count(found.self_loops).marked(mark),
            Cell::count(found.ends).marked(mark),
            Cell::count(found.faults).marked(mark),
            Cell::count(depth).marked(mark),
            Cell::from(Value::Count(farthest)).marked(mark),
            Cell::text(found.reason.map_or("complete", Reason::name)),
        ]);
        for jump in found.jumps.iter().filter(|jump| jump.transitions > 0) {
            jumps.push(vec![
                name(),
                Value::Count(jump.levels).into(),
                Cell::count(jump.transitions),
                Value::Share(part(jump.transitions, found.transitions)).into(),
            ]);
        }
        for (level, &states) in found.layers.iter().enumerate() {
            layers.push(vec![name(), Cell::count(level as u64), Cell::count(states)]);
        }
        let bars = layer_bars(&subject.name, &found.layers);
        report.plots.push(bars.to_text());
        report.plots.push(histogram(&subject.name, &found));
        drawn.push(bars);
        drawn.push(jump_bars(&subject.name, &found));
    }
    // For people the histogram is a picture.
    jumps.readers = Readers::Programs;
    report.tables = vec![shares, without, sizes, jumps, layers];
    (report, drawn)
}

fn share_table(name: &str) -> Table {
    Table::new(
        name,
        Readers::All,
        &[
            "model", "mean(-1)", "dev(-1)", "mean(0)", "dev(0)", "mean(1)", "dev(1)", "1-local",
        ],
    )
}

fn share_row(
    name: Cell,
    found: &Locality,
    mark: Option<Mark>,
    share: fn(&Jump) -> Share,
    sum: f64,
) -> Vec<Cell> {
    let real = |x: f64| Cell::from(Value::Real(x)).marked(mark);
    let mut row = vec![name];
    for levels in [-1, 0, 1] {
        let share = found.jump(levels).map_or(Share::default(), share);
        row.extend([real(share.mean), real(share.deviation)]);
    }
    row.push(real(sum));
    row
}

fn mark(reason: Option<Reason>) -> Option<Mark> {
    reason.map(|reason| match reason {
        Reason::Time => Mark::Time,
        Reason::Interrupted => Mark::Interrupted,
        _ => Mark::Memory,
    })
}

fn part(n: u64, of: u64) -> f64 {
    n as f64 / of.max(1) as f64
}

/// States on each level.
pub(crate) fn layer_bars(name: &str, layers: &[u64]) -> Bars {
    let most = layers.iter().copied().max().unwrap_or(0);
    Bars {
        title: format!("{name}: states by level, at most {}", units::count(most)),
        labels: (0..layers.len()).map(|level| level.to_string()).collect(),
        values: layers.iter().map(|&n| n as f64).collect(),
    }
}

fn jump_bars(name: &str, found: &Locality) -> Bars {
    Bars {
        title: format!("{name}: transitions by the levels they lead on"),
        labels: found
            .jumps
            .iter()
            .map(|jump| jump.levels.to_string())
            .collect(),
        values: found
            .jumps
            .iter()
            .map(|jump| jump.transitions as f64)
            .collect(),
    }
}

/// Jumps shown one by one; those farther back are added up.
const SHOWN_JUMPS: usize = 12;

fn histogram(name: &str, found: &Locality) -> String {
    let mut out = format!("{name}: transitions by the levels they lead on\n");
    let mut line = |label: String, n: u64| {
        let share = part(n, found.transitions);
        let (n, bar) = (units::count(n), horizontal_bar(share, 36));
        out += format!("{label:>7} {n:>14} {:>5.1} %  {bar}", share * 100.0).trim_end();
        out.push('\n');
    };
    let near = found.jumps.iter().take(SHOWN_JUMPS);
    near.for_each(|jump| line(jump.levels.to_string(), jump.transitions));
    let far = found.jumps.iter().skip(SHOWN_JUMPS);
    let n_far: u64 = far.map(|jump| jump.transitions).sum();
    if n_far > 0 {
        line("farther".to_owned(), n_far);
    }
    out
}
