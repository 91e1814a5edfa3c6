//! The benchmark: time, rate and memory of searches in one table, and the ratio to rumur where that
//! is installed.
//!
//! Machines are noisy, so everything is run several times, interleaved (all models once, then all
//! again), and the least time of each counts. Each figure is of the search alone; loading and
//! compiling stand beside it. rumur's figure is the wall clock of the checker it generates, its
//! C compiler not included.
//!
//! ```sh
//! cargo run --release -p hadal-bench                                 # our own models
//! cargo run --release -p hadal-bench -- --models DIR --repeat 5      # those of HADAL_MODELS
//! ```

mod rumur;
mod workload;

use std::path::PathBuf;

use clap::Parser;

use workload::{Measured, Workload};

/// Measure hadal, and rumur where it is installed, on the same models in the same run.
#[derive(Debug, Parser)]
struct Args {
    /// Folder of the models by others; their workloads are then run instead of ours
    #[arg(long, env = "HADAL_MODELS")]
    models: Option<PathBuf>,

    /// Runs of each workload, interleaved; the least time counts
    #[arg(long, default_value_t = 3)]
    repeat: usize,

    /// Thread counts to measure
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,

    /// Do not compare with rumur
    #[arg(long)]
    no_rumur: bool,

    /// Only workloads whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut workloads = match &args.models {
        Some(folder) => workload::of_others(folder),
        None => workload::ours(),
    };
    workloads.retain(|workload| workload.name().contains(&args.only));
    anyhow::ensure!(!workloads.is_empty(), "no workload is called so");

    let peers: Vec<Option<rumur::Checker>> = match args.no_rumur {
        true => workloads.iter().map(|_| None).collect(),
        false => workloads.iter().map(rumur::Checker::build).collect(),
    };
    let n_columns = args.threads.len();
    let mut best: Vec<Vec<Option<Measured>>> = vec![vec![None; n_columns]; workloads.len()];
    let mut best_peer: Vec<Option<f64>> = vec![None; workloads.len()];
    for round in 0..args.repeat.max(1) {
        for (number, workload) in workloads.iter().enumerate() {
            eprintln!("round {}: {}", round + 1, workload.name());
            for (column, &threads) in args.threads.iter().enumerate() {
                let measured = workload.run(threads)?;
                let known = &mut best[number][column];
                match known {
                    Some(known) => known.keep_least(&measured),
                    None => *known = Some(measured),
                }
            }
            if let Some(seconds) = peers[number].as_ref().and_then(rumur::Checker::run) {
                let known = best_peer[number].get_or_insert(seconds);
                *known = known.min(seconds);
            }
        }
    }
    print_table(&args, &workloads, &best, &best_peer);
    Ok(())
}

fn print_table(
    args: &Args,
    workloads: &[Workload],
    best: &[Vec<Option<Measured>>],
    best_peer: &[Option<f64>],
) {
    println!(
        "| model | threads | states | transitions | load ms | compile ms | search s | M transitions/s | bytes/state | rumur s | ratio |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (number, workload) in workloads.iter().enumerate() {
        for (column, threads) in args.threads.iter().enumerate() {
            let Some(measured) = &best[number][column] else {
                continue;
            };
            let (peer, ratio) = match best_peer[number] {
                Some(seconds) => (
                    format!("{seconds:.2}"),
                    format!("{:.0}", seconds / measured.search_seconds),
                ),
                None => ("-".to_owned(), "-".to_owned()),
            };
            println!(
                "| {} | {threads} | {} | {} | {:.1} | {:.1} | {:.3} | {:.2} | {:.1} | {peer} | {ratio} |",
                workload.name(),
                measured.states,
                measured.transitions,
                measured.load_seconds * 1e3,
                measured.compile_seconds * 1e3,
                measured.search_seconds,
                measured.transitions as f64 / measured.search_seconds / 1e6,
                measured.data_bytes as f64 / measured.states.max(1) as f64,
            );
        }
    }
}
