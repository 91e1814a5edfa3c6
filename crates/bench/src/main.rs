//! The benchmark: time, rate and memory of searches in one table, and the ratios to other tools.
//!
//! Machines are noisy, so everything is run several times, interleaved (all models once, then all
//! again), and the least time of each counts. Each figure is of the search alone; loading and
//! compiling stand beside it. rumur's figure is the wall clock of the checker it generates, its
//! C compiler not included; CMurphi's are those it was published with.
//! A run that does not give the counts it must give ends the benchmark with an error.
//!
//! ```sh
//! cargo run --release -p hadal-bench                                 # our own models
//! cargo run --release -p hadal-bench -- --models DIR --repeat 5      # those of HADAL_MODELS
//! cargo run --release -p hadal-bench -- --models DIR --set cmurphi   # the comparison with CMurphi
//! ```

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use hadal_bench::rumur::{Checker, Taken};
use hadal_bench::table::{self, Row};
use hadal_bench::workload::{self, Workload};
use hadal_bench::{expected, header};
use hadal_testkit::coherence;

/// Measure hadal, and rumur where it is installed, on the same models in the same run.
#[derive(Debug, Parser)]
struct Args {
    /// Folder of the models by others; their workloads are then run instead of ours
    #[arg(long, env = "HADAL_MODELS")]
    models: Option<PathBuf>,

    /// Only the models by others that are compared with this tool
    #[arg(long, requires = "models")]
    set: Option<Set>,

    /// Runs of each workload, interleaved; the least time counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,

    /// Thread counts to measure; 1 and 2, and for the comparison with CMurphi 2
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,

    /// Do not run rumur
    #[arg(long)]
    no_rumur: bool,

    /// Seconds after which a run of rumur is ended and counts as slower than that
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    peer_limit: u64,

    /// Only workloads whose name contains this
    #[arg(long, default_value = "")]
    only: String,

    /// Lines of the generated model that shows what a long text costs
    #[arg(long, default_value_t = 3000)]
    lines: usize,
}

/// What the models by others are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Set {
    Cmurphi,
    Rumur,
}

fn main() -> anyhow::Result<()> {
    let mut args = Args::parse();
    if args.threads.is_empty() {
        args.threads = match args.set {
            Some(Set::Cmurphi) => vec![2],
            _ => vec![1, 2],
        };
    }
    let generated = tempfile::tempdir()?;
    let mut workloads = workloads(&args)?;
    if args.set.is_none() {
        let name = format!("generated_{}_lines.m", args.lines);
        std::fs::write(generated.path().join(&name), coherence::model(args.lines))?;
        workloads.push(Workload::new(generated.path(), &name, &[], true));
    }
    workloads.retain(|workload| workload.name().contains(&args.only));
    anyhow::ensure!(!workloads.is_empty(), "no workload is called so");

    let has_peers = !args.no_rumur && args.set != Some(Set::Cmurphi);
    let peers: Vec<Option<Checker>> = workloads
        .iter()
        .map(|workload| has_peers.then(|| Checker::build(workload)).flatten())
        .collect();
    let rows = measure(&args, workloads, &peers)?;
    println!("{}\n\n{}", header::line(), table::all(&rows));
    if let Some(text) = table::cmurphi(&rows) {
        println!("{text}");
    }
    Ok(())
}

/// The workloads asked for, with the counts they must give where these are known.
fn workloads(args: &Args) -> anyhow::Result<Vec<Workload>> {
    let Some(folder) = &args.models else {
        let mut workloads = workload::ours();
        for workload in &mut workloads {
            workload.counts = expected::by_directives(workload)?;
        }
        return Ok(workloads);
    };
    let mut workloads = match args.set {
        Some(Set::Cmurphi) => workload::cmurphi(folder),
        Some(Set::Rumur) => workload::rumur(folder),
        None => {
            let mut all = workload::cmurphi(folder);
            for workload in workload::rumur(folder) {
                if !all.iter().any(|known| known.name() == workload.name()) {
                    all.push(workload);
                }
            }
            all.extend(workload::further(folder));
            all
        }
    };
    let rows = expected::rows(folder)?;
    for workload in &mut workloads {
        workload.counts = expected::by_rows(&rows, workload);
    }
    Ok(workloads)
}

/// Runs everything in rounds and keeps the least figures.
fn measure(
    args: &Args,
    workloads: Vec<Workload>,
    peers: &[Option<Checker>],
) -> anyhow::Result<Vec<Row>> {
    let new = |workload| Row {
        workload,
        measured: Vec::new(),
        peer: None,
    };
    let mut rows: Vec<Row> = workloads.into_iter().map(new).collect();
    for round in 0..args.repeat.max(1) {
        for (row, peer) in rows.iter_mut().zip(peers) {
            eprintln!("round {}: {}", round + 1, row.workload.name());
            for &threads in &args.threads {
                let measured = row.workload.run(threads)?;
                match row.measured.iter_mut().find(|(n, _)| *n == threads) {
                    Some((_, known)) => known.keep_least(&measured),
                    None => row.measured.push((threads, measured)),
                }
            }
            // One that is too slow once is not waited for again.
            if matches!(row.peer, Some(Taken::Beyond(_))) {
                continue;
            }
            let limit = Duration::from_secs(args.peer_limit);
            if let Some(taken) = peer.as_ref().and_then(|peer| peer.run(limit)) {
                row.peer = Some(row.peer.map_or(taken, |known| known.least(taken)));
            }
        }
    }
    Ok(rows)
}
