//! The tables, in Markdown, to be pasted into `docs/lab/benchmarks.md`.

use std::fmt::Write;

use crate::rumur::Taken;
use crate::workload::{Measured, Workload};

/// A workload with what was measured, by number of threads, and what its peer took.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was run.
    pub workload: Workload,
    /// Numbers of threads, and what a run with each took.
    pub measured: Vec<(usize, Measured)>,
    /// rumur on the same model.
    pub peer: Option<Taken>,
}

/// All that was measured, and the ratio to rumur.
pub fn all(rows: &[Row]) -> String {
    let mut out = String::from(
        "| model | threads | states | transitions | load ms | compile ms | first state ms | search s | M transitions/s | bytes/state | at the end | rumur s | ratio |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        for (threads, measured) in &row.measured {
            let search = measured.search_seconds;
            let (peer, ratio) = match row.peer {
                Some(Taken::Seconds(seconds)) => {
                    (format!("{seconds:.2}"), format!("{:.0}", seconds / search))
                }
                Some(Taken::Beyond(seconds)) => (
                    format!("> {seconds:.0}"),
                    format!("> {:.0}", (seconds / search).floor()),
                ),
                None => ("-".to_owned(), "-".to_owned()),
            };
            let _ = writeln!(
                out,
                "| {} | {threads} | {} | {} | {:.1} | {:.1} | {:.1} | {search:.3} | {:.2} | {:.1} | {:.1} | {peer} | {ratio} |",
                row.workload.name(),
                measured.states,
                measured.transitions,
                measured.load_seconds * 1e3,
                measured.compile_seconds * 1e3,
                measured.first_state_seconds * 1e3,
                measured.transitions as f64 / search / 1e6,
                measured.data_bytes as f64 / measured.states.max(1) as f64,
                measured.end_bytes as f64 / measured.states.max(1) as f64,
            );
        }
    }
    out
}

/// The comparison with the published seconds of CMurphi, with two threads or the nearest number
/// that was measured; `None` where no row has such a figure.
pub fn cmurphi(rows: &[Row]) -> Option<String> {
    let mut out = String::from(
        "| model | states | threads | search s | CMurphi 5.4.9 s, published | ratio |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let mut ratios = Vec::new();
    for row in rows {
        let two = row.measured.iter().min_by_key(|(n, _)| n.abs_diff(2));
        let (Some(published), Some((threads, measured))) = (row.workload.cmurphi_seconds, two)
        else {
            continue;
        };
        let ratio = published / measured.search_seconds;
        ratios.push(ratio);
        let _ = writeln!(
            out,
            "| {} | {} | {threads} | {:.3} | {published} | {ratio:.1} |",
            row.workload.name(),
            measured.states,
            measured.search_seconds,
        );
    }
    if ratios.is_empty() {
        return None;
    }
    let mean = geometric_mean(&ratios);
    let _ = writeln!(
        out,
        "| geometric mean of {} | | | | | {mean:.1} |",
        ratios.len()
    );
    Some(out)
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (sum / ratios.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cmurphi_seconds: Option<f64>, search_seconds: f64, peer: Option<Taken>) -> Row {
        let measured = Measured {
            states: 10,
            transitions: 20,
            load_seconds: 0.001,
            compile_seconds: 0.002,
            first_state_seconds: 0.004,
            search_seconds,
            data_bytes: 100,
            end_bytes: 90,
        };
        let workload = Workload {
            cmurphi_seconds,
            ..Workload::new("".as_ref(), "m.m", &[("N", "9")], true)
        };
        Row {
            workload,
            measured: vec![(1, measured), (2, measured)],
            peer,
        }
    }

    #[test]
    fn a_peer_that_was_ended_gives_a_lower_bound() {
        let text = all(&[row(None, 0.7, Some(Taken::Beyond(60.0)))]);
        assert!(text.contains("| 10.0 | 9.0 | > 60 | > 85 |"), "{text}");
        assert!(cmurphi(&[row(None, 0.7, None)]).is_none());
    }

    #[test]
    fn ratios_are_averaged_as_ratios() {
        let rows = [row(Some(2.0), 1.0, None), row(Some(16.0), 2.0, None)];
        let text = cmurphi(&rows).expect("there are figures");
        assert!(
            text.contains("| m N=9 | 10 | 2 | 2.000 | 16 | 8.0 |"),
            "{text}"
        );
        assert!(
            text.contains("| geometric mean of 2 | | | | | 4.0 |"),
            "{text}"
        );
    }
}
