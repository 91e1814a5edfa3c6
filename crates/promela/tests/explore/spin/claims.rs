//! Random programs with never claims and formulas against SPIN.

use std::path::Path;

use hadal_promela::{Options, asked, compile};
use hadal_syntax::Source;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::{Asked, MAX_STATES, Refusal, Report, from_environment, report, run_explorer, run_spin};
use crate::explorer::{Counts, Explorer};
use crate::generate;
use crate::product::Product;

/// The product of a program with its only claim; `None` where it has none that can be searched.
fn product(text: &str, product: Product) -> Option<Counts> {
    let source = Source::new("m.pml", text).unwrap();
    let compiled = compile(source, &Options::default(), &mut |_| None);
    let program = compiled.program.as_ref()?;
    let asked = asked(program);
    let claim = asked.first()?.claim.as_ref().ok()?;
    Some(Explorer::new(program).explore_product(claim, product, MAX_STATES))
}

/// Why counts of a product differ.
#[derive(Debug, PartialEq, Eq)]
enum Difference {
    /// The program without the claim differs as well.
    OfProgram,
    /// They agree once no run ends: which states SPIN finds behind the end of a run depends on the
    /// order in which it searches.
    OfEnds,
    Unknown,
}

fn difference(folder: &Path, text: &str) -> Difference {
    let agree = |ours: Option<Report>, theirs: Result<Report, Refusal>| match (ours, theirs) {
        (Some(ours), Ok(theirs)) => ours == theirs,
        _ => false,
    };
    let ours = run_explorer(text).ok().flatten();
    if !agree(ours, run_spin(folder, text, Asked::Program)) {
        return Difference::OfProgram;
    }
    let endless = text.replace("never {", &format!("{}never {{", generate::ENDLESS));
    let ours = product(&endless, Product::AsPan).filter(|counts| counts.complete);
    let ours = ours.map(|counts| report(&counts));
    match agree(ours, run_spin(folder, &endless, Asked::Claim)) {
        true if !text.contains(generate::ENDLESS) => Difference::OfEnds,
        _ => Difference::Unknown,
    }
}

#[test]
#[ignore = "needs spin and a C compiler"]
fn random_claims() {
    let seed = from_environment("HADAL_SPIN_SEED", 0);
    let n_runs = from_environment("HADAL_SPIN_RUNS", 20);
    let folder = tempfile::tempdir().unwrap();
    let (mut n_equal, mut n_rejected, mut n_unfinished, mut n_plain) = (0, 0, 0, 0);
    let (mut of_program, mut of_ends) = (Vec::new(), Vec::new());
    let mut failures = Vec::new();
    for seed in seed..seed + n_runs {
        let text = generate::claimed(&mut Pcg64Mcg::seed_from_u64(seed)).text;
        let Some(ours) = product(&text, Product::AsPan) else {
            n_rejected += 1;
            continue;
        };
        if !ours.complete {
            n_unfinished += 1;
            continue;
        }
        let ours = report(&ours);
        // Behind such errors SPIN counts differently, with and without a claim.
        if ours.errors.contains("d_step") || ours.errors.contains("other") {
            n_unfinished += 1;
            continue;
        }
        match run_spin(folder.path(), &text, Asked::Claim) {
            Err(Refusal::Rejected) => n_rejected += 1,
            Err(Refusal::Unfinished) => n_unfinished += 1,
            Ok(theirs) if theirs == ours => {
                n_equal += 1;
                let plain = product(&text, Product::Plain).map(|counts| report(&counts));
                n_plain += u32::from(plain.as_ref() == Some(&ours));
            }
            Ok(theirs) => match difference(folder.path(), &text) {
                Difference::OfProgram => of_program.push(seed),
                Difference::OfEnds => of_ends.push(seed),
                Difference::Unknown => {
                    eprintln!("seed {seed}:\n{text}\nspin: {theirs:?}\nours: {ours:?}");
                    failures.push(seed);
                }
            },
        }
    }
    eprintln!("different without the claim, too: {of_program:?}");
    eprintln!("different behind the end of a run: {of_ends:?}");
    eprintln!(
        "{n_equal} equal, {n_plain} of them without what is particular to SPIN, {} different, \
         {n_rejected} rejected, {n_unfinished} too large or with run-time errors",
        failures.len()
    );
    assert!(failures.is_empty(), "seeds that differ: {failures:?}");
}

#[test]
#[ignore = "needs spin and a C compiler"]
fn random_formulas() {
    let seed = from_environment("HADAL_SPIN_SEED", 0);
    let n_runs = from_environment("HADAL_SPIN_RUNS", 20);
    let folder = tempfile::tempdir().unwrap();
    let (mut n_holding, mut n_violated, mut n_not_safety, mut n_unfinished) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for seed in seed..seed + n_runs {
        let text = generate::with_formula(&mut Pcg64Mcg::seed_from_u64(seed)).text;
        let Some(ours) = product(&text, Product::Plain) else {
            n_not_safety += 1;
            continue;
        };
        let ours_violated = match report(&ours).errors.iter().collect::<Vec<_>>()[..] {
            [] if ours.complete => false,
            [only] if only == "claim" && ours.complete => true,
            _ => {
                n_unfinished += 1;
                continue;
            }
        };
        let Ok(theirs) = run_spin(folder.path(), &text, Asked::Formula) else {
            n_unfinished += 1;
            continue;
        };
        // SPIN states some claims as assertions.
        let is_violated = theirs.errors.contains("claim") || theirs.errors.contains("assertion");
        match is_violated == ours_violated {
            true if is_violated => n_violated += 1,
            true => n_holding += 1,
            false => {
                eprintln!("seed {seed}:\n{text}\nspin: {theirs:?}\nours: {ours_violated}");
                failures.push(seed);
            }
        }
    }
    eprintln!(
        "{n_holding} hold, {n_violated} violated, {} different, {n_not_safety} are no safety, \
         {n_unfinished} too large or with run-time errors",
        failures.len()
    );
    assert!(failures.is_empty(), "seeds that differ: {failures:?}");
}

/// Explores the product of the file that `HADAL_PROMELA_FILE` names and prints its counts.
#[test]
#[ignore = "needs HADAL_PROMELA_FILE"]
fn one_product() {
    let name = std::env::var("HADAL_PROMELA_FILE").expect("the name of a model");
    let text = std::fs::read_to_string(name).unwrap();
    for kind in [Product::AsPan, Product::Plain] {
        eprintln!("{kind:?}: {:?}", product(&text, kind));
    }
}
