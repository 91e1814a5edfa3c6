//! Draws the pictures of the documentation from the recorded runs in `docs/lab/runs`.
//!
//! ```sh
//! cargo run -p hadal-bench --bin picture
//! ```

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Parser;
use hadal_bench::picture;

/// Draw recorded runs.
#[derive(Debug, Parser)]
struct Args {
    /// Recorded runs, one JSON file each
    #[arg(default_value = "docs/lab/runs")]
    runs: PathBuf,

    /// Folder of the pictures, each with the name of its run
    #[arg(long, default_value = "docs/pictures")]
    out: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    fs::create_dir_all(&args.out)?;
    for entry in fs::read_dir(&args.runs).with_context(|| args.runs.display().to_string())? {
        let path = entry?.path();
        let name = || path.display().to_string();
        let data = fs::read_to_string(&path).with_context(name)?;
        let recorded = serde_json::from_str(&data).with_context(name)?;
        let svg = picture::draw(&recorded).map_err(|error| anyhow!("{}: {error}", name()))?;
        let stem = path.file_stem().with_context(name)?;
        let out = args.out.join(stem).with_extension("svg");
        fs::write(&out, svg).with_context(|| out.display().to_string())?;
        println!("{}", out.display());
    }
    Ok(())
}
