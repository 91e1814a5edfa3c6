//! Native code against the interpreter on every state of a table of models, the longer way.
//!
//! Each model is walked breadth-first, one state a class where it has symmetry, and at each state
//! both must give the same successors in the same order, the same facts about sources, the same
//! faults, failures and goals. A model that is walked to its end must have as many states as the
//! table says. What the time limit cut off is reported.
//!
//! ```sh
//! cargo run --release -p hadal-bench --bin agree                                # our own models
//! cargo run --release -p hadal-bench --bin agree -- --models DIR --size s,m,l --limit 600
//! ```

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Parser, ValueEnum};
use hadal_bench::{expected, workload};
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{Model, Stop};
use hadal_symmetry::Symmetric;
use hadal_testkit::agreement::{self, Bounds, Compared};
use hadal_testkit::corpus::{self, Language, Verdict};

/// Compare native code with the interpreter on every state of each model.
#[derive(Debug, Parser)]
struct Args {
    /// Folder of the models by others, with their `expected.tsv`; ours where it is not given
    #[arg(long, env = "HADAL_MODELS")]
    models: Option<PathBuf>,

    /// Sizes of the rows to be walked
    #[arg(long, value_delimiter = ',', default_value = "s,m")]
    size: Vec<Size>,

    /// Seconds for each model
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    limit: u64,

    /// Successors that fit the buffer of native code
    #[arg(long, default_value_t = 4096)]
    capacity: usize,

    /// Only models whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Size {
    S,
    M,
    L,
}

/// A model to be walked.
struct Walk {
    path: PathBuf,
    constants: Vec<(String, String)>,
    states: Option<u64>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut n_wrong = 0;
    let mut n_walked = 0;
    println!("| model | states | of all | successors | faults | failures | seconds |");
    println!("|---|---:|---|---:|---:|---:|---:|");
    for walk in walks(&args)? {
        let mut name = walk
            .path
            .file_stem()
            .map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        for (constant, value) in &walk.constants {
            name.push_str(&format!(" {constant}={value}"));
        }
        if !name.contains(&args.only) {
            continue;
        }
        n_walked += 1;
        let begun = Instant::now();
        match compare(&walk, &args) {
            Ok(compared) => println!(
                "| {name} | {} | {} | {} | {} | {} | {:.1} |",
                compared.n_states,
                if compared.is_complete { "yes" } else { "no" },
                compared.n_successors,
                compared.n_faults,
                compared.n_failures,
                begun.elapsed().as_secs_f64(),
            ),
            Err(error) => {
                n_wrong += 1;
                println!("| {name} | | | | | | |");
                eprintln!("error: {name}: {error:#}");
            }
        }
    }
    anyhow::ensure!(n_walked > 0, "no model is called so");
    anyhow::ensure!(n_wrong == 0, "{n_wrong} models do not agree");
    Ok(())
}

fn walks(args: &Args) -> anyhow::Result<Vec<Walk>> {
    let Some(folder) = &args.models else {
        return ours();
    };
    let wanted = |size: corpus::Size| {
        args.size.contains(&match size {
            corpus::Size::Small => Size::S,
            corpus::Size::Medium => Size::M,
            corpus::Size::Large => Size::L,
        })
    };
    let rows = expected::rows(folder)?;
    anyhow::ensure!(
        !rows.is_empty(),
        "`{}` has no expected.tsv",
        folder.display()
    );
    Ok(rows
        .into_iter()
        .filter(|row| wanted(row.size))
        .map(|row| Walk {
            path: folder.join(&row.model),
            constants: row.overrides,
            // A search that finds a violation ends there; a walk continues.
            states: row.states.filter(|_| row.verdict == Verdict::Verified),
        })
        .collect())
}

/// All our Murphi models that are legal.
fn ours() -> anyhow::Result<Vec<Walk>> {
    let mut walks = Vec::new();
    for path in corpus::model_files_in(&workload::our_folder(), Language::Murphi)? {
        let directives = corpus::directives(&std::fs::read_to_string(&path)?)?;
        if directives.expect == Verdict::Rejected {
            continue;
        }
        let is_plain = directives.flags.is_empty() && directives.expect == Verdict::Verified;
        walks.push(Walk {
            path,
            constants: Vec::new(),
            states: directives.states.filter(|_| is_plain),
        });
    }
    Ok(walks)
}

fn compare(walk: &Walk, args: &Args) -> anyhow::Result<Compared> {
    let program = workload::load(&walk.path, &walk.constants)?;
    let limits = Limits::default();
    let interpreter = Interpreter::new(program.clone(), limits);
    let native = Native::new(program.clone(), limits)?;
    let symmetric = Symmetric::trusting(
        Box::new(Interpreter::new(program.clone(), limits)),
        &program,
    );
    let stop = Stop::new();
    let mut reducer = symmetric.expander(&stop);
    let bounds = Bounds {
        max_states: usize::MAX,
        until: Some(Instant::now() + Duration::from_secs(args.limit)),
        block_len: 64,
        capacity: args.capacity,
    };
    let compared = agreement::compare(&interpreter, &native, Some(&mut *reducer), &bounds);
    let compared = compared.map_err(anyhow::Error::msg)?;
    if let Some(states) = walk.states
        && compared.is_complete
        && compared.n_states as u64 != states
    {
        bail!("{} states instead of {states}", compared.n_states);
    }
    let any_fault = compared.n_faults + compared.n_failures > 0 || compared.start_faults;
    if !any_fault && native.n_interpreted() > 0 {
        bail!("states were left to the interpreter without a fault");
    }
    Ok(compared)
}
