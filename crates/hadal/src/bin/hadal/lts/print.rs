//! What `hadal lts` prints.

use std::fmt::Write as _;
use std::path::Path;

use hadal_lts::{Comparison, Counts, Cycles, Difference, Hlts, Info, Minimised, Traces};
use hadal_report::units::{bytes, count, counted};

use super::args::EquivalenceName;

/// Labels that are listed unless all are asked for.
const MOST_LABELS: usize = 20;

/// Longest formula that is printed, in characters.
const MOST_FORMULA: u64 = 20_000;

fn size(counts: Counts) -> String {
    let states = counted(counts.n_states, "state");
    format!("{states}, {}", counted(counts.n_edges, "edge"))
}

/// A graph that was written.
pub(super) fn written(path: &Path, graph: &Hlts) -> String {
    let mut text = format!("{}: {}", path.display(), size(graph.counts()));
    if let Ok(about) = path.metadata()
        && about.is_file()
    {
        let _ = write!(text, ", {}", file_size(about.len(), graph.counts().n_edges));
    }
    text + "\n"
}

fn file_size(len: u64, n_edges: u64) -> String {
    let per_edge = match n_edges {
        0 => String::new(),
        _ => format!(" ({:.1} bytes an edge)", len as f64 / n_edges as f64),
    };
    format!("{}{per_edge}", bytes(len))
}

/// A minimised graph that was written.
pub(super) fn minimised(
    path: &Path,
    found: &Minimised,
    (from, graph): (&Path, &Hlts),
    equivalence: EquivalenceName,
) -> String {
    format!(
        "{}: {}\n{}: {}; {} bisimulation, {}\n",
        path.display(),
        size(found.graph.counts()),
        from.display(),
        size(graph.counts()),
        equivalence.name(),
        counted(found.n_rounds, "round"),
    )
}

/// The figures of a graph.
pub(super) fn info(path: &Path, graph: &Hlts, info: &Info, shows_all: bool) -> String {
    let counts = info.counts;
    let mut text = format!("{}: {}\n\n", path.display(), size(counts));
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<12} {what}");
    };
    line("initial", format!("state {}", counts.initial));
    let reachable = match info.n_reachable == counts.n_states {
        true => "all states".to_owned(),
        false => counted(info.n_reachable, "state"),
    };
    line(
        "reachable",
        format!("{reachable}, depth {}", count(info.depth)),
    );
    line("deadlocks", count(info.n_deadlocks));
    let mean = counts.n_edges as f64 / counts.n_states as f64;
    line(
        "degree",
        format!(
            "mean {mean:.2}, at most {} out of a state, {} into one",
            count(info.most_out),
            count(info.most_in)
        ),
    );
    line(
        "loops",
        format!("{} from a state to itself", counted(info.n_loops, "edge")),
    );
    if info.n_paths != counts.n_edges {
        line(
            "paths",
            format!(
                "{}, edges counted by their multiplicity",
                count(info.n_paths)
            ),
        );
    }
    line("components", components(&info.components));
    line("livelocks", livelocks(&info.livelocks));
    if graph.value_len() > 0 {
        line(
            "values",
            format!("{} a state", counted(graph.value_len().into(), "byte")),
        );
    }
    line("as .hlts", file_size(graph.file_len(), counts.n_edges));
    line("labels", count(graph.labels().len() as u64));
    labels(&mut text, graph, info, shows_all);
    text
}

fn components(cycles: &Cycles) -> String {
    format!(
        "{}, the largest with {}; {} with a cycle, {} in all",
        count(cycles.n_components),
        counted(cycles.largest, "state"),
        count(cycles.n_cyclic),
        counted(cycles.n_in_cyclic, "state")
    )
}

fn livelocks(cycles: &Cycles) -> String {
    match cycles.n_cyclic {
        0 => "none".to_owned(),
        n => format!(
            "{} of invisible steps, {} in all",
            counted(n, "component"),
            counted(cycles.n_in_cyclic, "state")
        ),
    }
}

/// The labels with their numbers of edges, the most frequent first.
fn labels(text: &mut String, graph: &Hlts, info: &Info, shows_all: bool) {
    let mut labels: Vec<(u64, u32)> = info.edges_by_label.iter().copied().zip(0..).collect();
    labels.sort_by_key(|&(n, label)| (std::cmp::Reverse(n), label));
    let most = match shows_all {
        true => labels.len(),
        false => MOST_LABELS,
    };
    let width = labels.first().map_or(0, |first| count(first.0).len());
    for &(n, label) in labels.iter().take(most) {
        let label = graph.labels().text(label);
        let _ = writeln!(text, "    {:>width$}  {label:?}", count(n));
    }
    if labels.len() > most {
        let left = count((labels.len() - most) as u64);
        let _ = writeln!(text, "    and {left} more; -v lists all");
    }
}

/// Whether two graphs are equivalent, and what tells them apart.
pub(super) fn comparison(
    paths: [&Path; 2],
    result: &Comparison,
    equivalence: EquivalenceName,
) -> String {
    let [first, second] = paths.map(|path| path.display().to_string());
    let name = equivalence.name();
    let [a, b] = result.n_states.map(|n| counted(n, "state"));
    let Some(difference) = &result.difference else {
        return format!(
            "equivalent: {first} and {second}; {name} bisimulation, {a} when minimised\n"
        );
    };
    let mut text = format!(
        "not equivalent: {first} and {second}; {name} bisimulation, {a} and {b} when minimised\n\n"
    );
    let _ = match &difference.formula {
        None => writeln!(
            text,
            "No formula that tells them apart was found: it would be deeper than {}, or need more \
             memory (--memory).",
            count(Difference::MOST_DEPTH as u64)
        ),
        Some(formula) if formula.printed_len() > MOST_FORMULA => writeln!(
            text,
            "A formula that tells them apart has depth {} and is too long to be shown.",
            formula.depth()
        ),
        Some(formula) => writeln!(
            text,
            "A formula of depth {} that holds in {first} and not in {second}:\n\n  {formula}",
            formula.depth()
        ),
    };
    match &difference.traces {
        Traces::Differ { labels, in_first } => {
            let who = [&second, &first][usize::from(*in_first)];
            let _ = writeln!(text, "\nA shortest run that only {who} has:\n");
            for (position, label) in labels.iter().enumerate() {
                let _ = writeln!(text, "  {}  {label:?}", position + 1);
            }
        }
        Traces::Equal => {
            text += "\nBoth have the same runs; they differ in when choices are made.\n";
        }
        Traces::Unknown => text += "\nWhether they have the same runs was not found out.\n",
    }
    text
}
