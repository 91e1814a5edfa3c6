//! Random programs against SPIN: `spin` and a C compiler must be installed.
//!
//! `HADAL_SPIN_SEED` is the first seed, `HADAL_SPIN_RUNS` the number of programs, and `HADAL_SPIN_CC`
//! the compiler, `gcc` by default; `tcc` is faster. With `HADAL_SPIN_THIN` remote variables, loops over
//! channels and jumps into an `atomic` are frequent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use hadal_syntax::Source;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::explorer::{Counts, Error};
use crate::{explore_source, generate};

mod claims;

/// More states than this are not compared.
const MAX_STATES: u64 = 30_000;

/// What the verifier reports.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    states: u64,
    edges: u64,
    errors: BTreeSet<String>,
}

/// Why there is no report.
enum Refusal {
    /// SPIN rejects the program.
    Rejected,
    /// It is too large, or SPIN's verifier crashes.
    Unfinished,
}

/// What is asked of SPIN's verifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The program without its claim.
    Program,
    /// The product with its claim.
    Claim,
    /// Whether its formula holds, acceptance cycles included.
    Formula,
}

fn run_spin(folder: &Path, text: &str, asked: Asked) -> Result<Report, Refusal> {
    std::fs::write(folder.join("m.pml"), text).unwrap();
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        let output = command
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        output.unwrap_or_else(|error| panic!("{program}: {error}"))
    };
    // The translation of some formulas takes for ever.
    let args = ["10", "spin", "-a", "-o1", "-o2", "-o3", "m.pml"];
    let made = run("timeout", &args);
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    let is_rejected = |line: &str| {
        let line = line.to_ascii_lowercase();
        // It advises against some constructs in this way, and takes them.
        let is_advice = line.contains("dubious") || line.contains("saw 'unless' on a guard");
        line.contains("error") && !is_advice
    };
    if !made.status.success() || said.lines().any(is_rejected) {
        if std::env::var_os("HADAL_SPIN_REJECTIONS").is_some() {
            eprintln!("rejected: {said}\n{text}");
        }
        return Err(Refusal::Rejected);
    }
    let compiler = std::env::var("HADAL_SPIN_CC").unwrap_or_else(|_| "gcc".to_owned());
    let mut args = vec!["-O0", "-w", "-o", "pan", "-DNOREDUCE", "-DNOFAIR"];
    args.extend(match asked {
        Asked::Program => &["-DSAFETY", "-DNOCLAIM"][..],
        Asked::Claim => &["-DSAFETY"],
        Asked::Formula => &[],
    });
    args.push("pan.c");
    if !run(&compiler, &args).status.success() {
        return Err(Refusal::Rejected);
    }
    let mut args = vec!["10", "./pan", "-n", "-c0", "-m20000", "-w20"];
    args.extend((asked == Asked::Formula).then_some("-a"));
    let found = run("timeout", &args);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    if !found.status.success() || text.contains("max search depth too small") {
        return Err(Refusal::Unfinished);
    }
    let number = |what: &str| {
        let line = text.lines().find(|it| it.contains(what))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (Some(states), Some(transitions)) = (number("states, stored"), number("transitions (="))
    else {
        return Err(Refusal::Unfinished);
    };
    let mut errors = BTreeSet::new();
    for line in text.lines() {
        let is_error = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        if !line.strip_prefix("pan:").is_some_and(is_error) {
            continue;
        }
        let kind = match line {
            _ if line.contains("assertion violated") => "assertion",
            _ if line.contains("invalid end state") => "invalid-end-state",
            _ if line.contains("in d_step") => "d_step",
            _ if line.contains("end state in claim") => "claim",
            _ if line.contains("acceptance cycle") => "claim",
            _ => "other",
        };
        errors.insert(kind.to_owned());
    }
    Ok(Report {
        states,
        edges: transitions - 1,
        errors,
    })
}

fn run_explorer(text: &str) -> Result<Option<Report>, String> {
    let source = Source::new("m.pml", text).unwrap();
    let counts = explore_source(source, &[], MAX_STATES)?;
    if !counts.complete {
        return Ok(None);
    }
    Ok(Some(report(&counts)))
}

fn report(counts: &Counts) -> Report {
    let name = |error: &Error| match error {
        Error::Assertion => "assertion",
        Error::InvalidEndState => "invalid-end-state",
        Error::DStepBlocks | Error::DStepRendezvous => "d_step",
        Error::Claim => "claim",
        _ => "other",
    };
    Report {
        states: counts.states,
        edges: counts.edges,
        errors: counts.errors.iter().map(|it| name(it).to_owned()).collect(),
    }
}

/// Whether two reports are equal but for a `d_step` that blocks, which only ours has.
fn equal_but_for_d_step(theirs: &Report, ours: &Report) -> bool {
    let errors = ours.errors.iter().filter(|it| *it != "d_step");
    theirs.states == ours.states && theirs.edges == ours.edges && theirs.errors.iter().eq(errors)
}

pub(crate) fn from_environment(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |it| it.parse().expect("a number"))
}

#[test]
#[ignore = "needs spin and a C compiler"]
fn random_programs() {
    let seed = from_environment("HADAL_SPIN_SEED", 0);
    let n_runs = from_environment("HADAL_SPIN_RUNS", 20);
    let folder = tempfile::tempdir().unwrap();
    let (mut n_equal, mut n_rejected, mut n_unfinished, mut n_refused) = (0, 0, 0, 0);
    let mut coverage: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in seed..seed + n_runs {
        let generate::Random { text, constructs } =
            generate::program(&mut Pcg64Mcg::seed_from_u64(seed));
        let ours = match run_explorer(&text) {
            Ok(Some(report)) => Ok(report),
            Ok(None) => {
                n_unfinished += 1;
                continue;
            }
            Err(messages) => Err(messages),
        };
        match (run_spin(folder.path(), &text, Asked::Program), ours) {
            (Err(Refusal::Rejected), Ok(_)) => n_rejected += 1,
            (Err(Refusal::Unfinished), _) => n_unfinished += 1,
            (Err(Refusal::Rejected), Err(_)) => n_refused += 1,
            (Ok(theirs), Ok(ours)) if theirs == ours => {
                n_equal += 1;
                for construct in constructs {
                    *coverage.entry(construct).or_default() += 1;
                }
            }
            // SPIN's verifier ends with such an error.
            (Ok(theirs), Ok(ours))
                if theirs.errors.contains("d_step") && ours.errors.contains("d_step") =>
            {
                n_equal += 1;
            }
            // After a selection, it takes a `d_step` that blocks for one that is not executable.
            (Ok(theirs), Ok(ours)) if equal_but_for_d_step(&theirs, &ours) => n_equal += 1,
            (Ok(theirs), ours) => {
                eprintln!("seed {seed}:\n{text}\nspin: {theirs:?}\nours: {ours:?}");
                failures.push(seed);
            }
        }
    }
    eprintln!("constructs, by number of equal programs: {coverage:#?}");
    eprintln!(
        "{n_equal} equal, {} different, {n_rejected} rejected by spin alone, \
         {n_refused} by both, {n_unfinished} too large",
        failures.len()
    );
    assert!(failures.is_empty(), "seeds that differ: {failures:?}");
}
