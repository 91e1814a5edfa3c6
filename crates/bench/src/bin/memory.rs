//! What little memory costs: the same search with all the memory it wants, and with fractions of
//! that.
//!
//! A search in memory reports how much its data take; then it is repeated with a budget for its data
//! of a half of that, a tenth, and so on, the rest going to a folder. Runs of a model are
//! interleaved and the least time of each counts. States and firings must be the same in all.
//!
//! ```sh
//! cargo run --release -p hadal-bench --bin memory                        # our own models
//! cargo run --release -p hadal-bench --bin memory -- --models DIR --repeat 2
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::ensure;
use clap::Parser;
use hadal_bench::header;
use hadal_bench::workload::{self, Workload};
use hadal_search::{Auto, Outcome, SearchFolder, check};
use hadal_store::disk::{Folder, FolderOptions, NativeDisk};

/// Compare searches with little memory with one that has enough.
#[derive(Debug, Parser)]
struct Args {
    /// Folder of the models by others; ours where it is not given
    #[arg(long, env = "HADAL_MODELS")]
    models: Option<PathBuf>,

    /// Fractions of what the search in memory takes
    #[arg(long, value_delimiter = ',', default_value = "0.5,0.1,0.03,0.01")]
    fractions: Vec<f64>,

    /// Rounds, of which the least time counts
    #[arg(long, default_value_t = 1)]
    repeat: usize,

    #[arg(long, default_value_t = 2)]
    threads: usize,

    /// Where folders are made; the system's place for large scratch files if it is not given
    #[arg(long, default_value = "/var/tmp")]
    disk: PathBuf,

    /// Write everything from the first state on, as `--disk` does
    #[arg(long)]
    resumable: bool,

    /// Only models whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// The least time of a budget, and what else its runs told.
struct Row {
    fraction: f64,
    seconds: f64,
    outcome: Outcome,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    println!("{}\n", header::line());
    println!(
        "| model | memory | data MB | search s | ratio | added ns/firing | merge s | I/O wait s | \
         found on disk | disk MB | bytes/state | read MB | written MB |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let workloads = match &args.models {
        Some(folder) => workload::larger_than_memory(folder),
        None => workload::ours(),
    };
    for workload in workloads {
        if workload.name().contains(&args.only) {
            measure(&workload, &args)?;
        }
    }
    Ok(())
}

fn measure(workload: &Workload, args: &Args) -> anyhow::Result<()> {
    let in_memory = run(workload, args, None)?;
    let needed = in_memory.data_bytes;
    let mut rows = vec![Row {
        fraction: 1.0,
        seconds: in_memory.seconds.search,
        outcome: in_memory,
    }];
    for round in 0..args.repeat.max(1) {
        if round > 0 {
            let again = run(workload, args, None)?;
            rows[0].seconds = rows[0].seconds.min(again.seconds.search);
        }
        for (number, &fraction) in args.fractions.iter().enumerate() {
            let outcome = run(workload, args, Some((needed as f64 * fraction) as u64))?;
            ensure!(
                (outcome.states, outcome.transitions, &outcome.layers)
                    == (
                        rows[0].outcome.states,
                        rows[0].outcome.transitions,
                        &rows[0].outcome.layers
                    ),
                "{}: another result with {fraction} of the memory",
                workload.name()
            );
            let seconds = outcome.seconds.search;
            match rows.get_mut(number + 1) {
                Some(row) => row.seconds = row.seconds.min(seconds),
                None => rows.push(Row {
                    fraction,
                    seconds,
                    outcome,
                }),
            }
        }
    }
    let base = rows[0].seconds;
    for row in &rows {
        print_row(workload, args, base, row);
    }
    Ok(())
}

fn print_row(workload: &Workload, args: &Args, base: f64, row: &Row) {
    let Row {
        fraction,
        seconds,
        outcome,
    } = row;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let added = (seconds - base) * args.threads as f64 * 1e9 / outcome.transitions as f64;
    println!(
        "| {} | {fraction} | {:.1} | {seconds:.2} | {:.2} | {added:.0} | {:.2} | {:.2} | {} | {:.0} | {:.2} | {:.0} | {:.0} |",
        workload.name(),
        mb(outcome.data_bytes),
        seconds / base,
        outcome.seconds.merge,
        outcome.seconds.io_wait,
        outcome.duplicates.disk,
        mb(outcome.disk.peak_bytes),
        outcome.disk.peak_bytes as f64 / outcome.states as f64,
        mb(outcome.disk.read_bytes),
        mb(outcome.disk.written_bytes),
    );
}

/// Searches in memory, or with this many bytes for its data and a folder.
fn run(workload: &Workload, args: &Args, data_bytes: Option<u64>) -> anyhow::Result<Outcome> {
    let model = workload.model()?;
    let stop = hadal_model::Stop::new();
    let mut options = workload.options(args.threads);
    let Some(data_bytes) = data_bytes else {
        return Ok(check(
            &*model,
            &Auto,
            &options,
            None,
            &stop,
            &mut hadal_search::Silent,
        )?);
    };
    options.memory_bytes = data_bytes;
    let scratch = tempfile::tempdir_in(&args.disk)?;
    let disk = NativeDisk::open(scratch.path())?;
    let (folder, _) = Folder::open(Arc::new(disk), FolderOptions::for_memory(data_bytes))?;
    let search_folder = SearchFolder {
        folder,
        resumable: args.resumable,
        label: Vec::new(),
    };
    Ok(check(
        &*model,
        &Auto,
        &options,
        Some(search_folder),
        &stop,
        &mut hadal_search::Silent,
    )?)
}
