//! `hadal lab`: the papers' strategies on the same models, counted the same way.
//!
//! [`args`] (what was typed) → [`rig`] (loads the models, runs what is to be measured, and survives
//! what goes wrong) → one file for each table ([`locality`], [`memory`], [`profile`], [`layers`],
//! [`caches`]) → [`table`] (what was measured, as data) → [`output`] and [`plot`] (text).
//!
//! A strategy's memory is here that of its own table and queue, as in the papers, so that small
//! models can be measured at small fractions of what they need. All runs have one thread.

mod args;
mod caches;
mod layers;
mod lists;
mod locality;
mod memory;
mod origin;
mod output;
mod plot;
mod profile;
mod rig;
mod table;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

pub(crate) use args::LabArgs;

use crate::exit::Exit;
use crate::load::Internal;
use args::{Common, LabTable};
use origin::Origin;
use rig::{Rig, Subject};
use table::Report;

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<Exit> {
    match &args.table {
        LabTable::Locality { common, svg } => {
            in_rig("locality", common, svg.as_deref(), |rig, subjects| {
                let (report, bars) = locality::measure(rig, subjects);
                (report, plot::svg_of_bars(&bars))
            })
        }
        LabTable::Memory {
            common,
            strategies,
            fractions,
            svg,
        } => in_rig("memory", common, svg.as_deref(), |rig, subjects| {
            let (report, lines) = memory::measure(rig, subjects, &strategies.0, &fractions.0);
            (report, plot::svg_of_lines(&lines))
        }),
        LabTable::Profile {
            common,
            strategies,
            fraction,
        } => in_rig("profile", common, None, |rig, subjects| {
            let report = profile::measure(rig, subjects, &strategies.0, *fraction);
            (report, String::new())
        }),
        LabTable::Layers {
            common,
            layers,
            fraction,
            svg,
        } => in_rig("layers", common, svg.as_deref(), |rig, subjects| {
            let (report, bars) = layers::measure(rig, subjects, &layers.0, *fraction);
            (report, plot::svg_of_bars(&bars))
        }),
        LabTable::Caches {
            common,
            caches,
            no_dfs,
        } => in_rig("caches", common, None, |rig, subjects| {
            let report = caches::measure(rig, subjects, caches, !no_dfs);
            (report, String::new())
        }),
    }
}

/// Loads the models, measures them and prints what was found.
fn in_rig(
    name: &'static str,
    common: &Common,
    svg: Option<&Path>,
    measure: impl FnOnce(&mut Rig<'_>, &[Subject]) -> (Report, String),
) -> anyhow::Result<Exit> {
    let mut rig = Rig::new(common)?;
    let subjects = match rig.load() {
        Ok(Some(subjects)) => subjects,
        Ok(None) => return Ok(Exit::Usage),
        Err(error) if error.is::<Internal>() => {
            let _ = writeln!(io::stderr(), "error: {error}");
            return Ok(Exit::Internal);
        }
        Err(error) => return Err(error),
    };
    // Before anything is measured, so that a bad path costs nothing.
    let cannot_write = |path: &Path| format!("cannot write `{}`", path.display());
    if let Some(path) = svg {
        fs::File::create(path).with_context(|| cannot_write(path))?;
    }
    let (mut report, picture) = measure(&mut rig, &subjects);
    report.notes.append(&mut rig.notes);
    if let Some(path) = svg {
        fs::write(path, picture).with_context(|| cannot_write(path))?;
    }
    let text = output::render(&report, &Origin::new(name, common.seed), common.format);
    io::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()?;
    Ok(match rig.is_interrupted() {
        true => Exit::Incomplete,
        false => Exit::Verified,
    })
}
