//! Models whose loops over interchangeable elements do or do not depend on the order of iterations.
//!
//! Each file in `tests/order` is marked `-- order: dependent` or `-- order: innocent`, with the
//! verdict of `--symmetry off` and, for innocent ones that are verified, the number of orbits. With
//! symmetry a dependent model must never be verified, and an innocent one must not be rejected.
//!
//! `-- order: rejected` marks a known limitation: the model is innocent and rejected all the same.
//! Whoever lifts the limitation changes the mark.

use std::path::PathBuf;

use crate::common::{Run, check_text, root};
use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_syntax::Source;
use hadal_testkit::corpus::{Language, model_files_in};
use hadal_testkit::equivariance::{Equivariance, equivariance};
use hadal_testkit::oracle;
use hadal_testkit::renaming::{rename, renamings};
use serde_json::Value;

/// Flags for a run record on standard output.
const RECORD: &[&str] = &["--json", "-"];

/// How a model takes the order of iterations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A loop of it depends on the order.
    Dependent,
    /// No loop does, and the model gets its verdict.
    Innocent,
    /// No loop does, and the model is rejected all the same.
    Rejected,
}

/// What a model file says about itself.
struct Case {
    path: PathBuf,
    text: String,
    mark: Mark,
    /// Whether it is violated without symmetry.
    is_violated: bool,
    /// States with symmetry.
    orbits: Option<u64>,
}

impl Case {
    fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Runs the binary on the text, so that the file's name is in no message.
    fn check(&self, symmetry: &str, flags: &[&str]) -> Run {
        let args = ["--symmetry", symmetry, "--progress", "none"];
        check_text(&self.text, &[&args, flags].concat())
    }

    fn program(&self) -> Program {
        let source = Source::new(self.name(), self.text.clone()).expect("a small file");
        let compiled = hadal_murphi::compile(&source, &hadal_murphi::Options::default());
        assert!(compiled.symmetry_breaks.is_empty(), "{}", self.name());
        (compiled.program).unwrap_or_else(|| panic!("{} does not load", self.name()))
    }
}

/// Reads the leading comments of all files; what is misspelt or missing is an error.
fn cases() -> Vec<Case> {
    let folder = root().join("crates/hadal/tests/order");
    let files = model_files_in(&folder, Language::Murphi).expect("the folder is there");
    files.into_iter().map(case).collect()
}

fn case(path: PathBuf) -> Case {
    let text = std::fs::read_to_string(&path).expect("a model can be read");
    let (mut order, mut off, mut orbits) = (None, None, None);
    for line in text.lines().map_while(|line| line.strip_prefix("--")) {
        let Some((key, value)) = line.split_once(": ") else {
            continue;
        };
        match (key.trim(), value.trim()) {
            ("order", "dependent") => order = Some(Mark::Dependent),
            ("order", "innocent") => order = Some(Mark::Innocent),
            ("order", "rejected") => order = Some(Mark::Rejected),
            ("off", "violated") => off = Some(true),
            ("off", "verified") => off = Some(false),
            ("orbits", n) => orbits = n.parse().ok(),
            ("order" | "off", other) => panic!("{}: {key}: {other}?", path.display()),
            _ => {}
        }
    }
    let missing = |what: &str| -> ! { panic!("{}: no `-- {what}:`", path.display()) };
    let mark = order.unwrap_or_else(|| missing("order"));
    let is_violated = off.unwrap_or_else(|| missing("off"));
    if mark != Mark::Dependent && !is_violated && orbits.is_none() {
        missing("orbits");
    }
    Case {
        mark,
        is_violated,
        orbits,
        text,
        path,
    }
}

/// The files with a mark.
fn of(mark: Mark) -> impl Iterator<Item = Case> {
    cases().into_iter().filter(move |case| case.mark == mark)
}

/// Whether a run says that it is the order of elements that is wrong.
fn names_order(run: &Run) -> bool {
    shown(run).contains("order")
}

fn shown(run: &Run) -> String {
    format!("exit {}\n{}{}", run.code, run.stdout, run.stderr)
}

#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

#[test]
fn there_are_enough_of_both_kinds() {
    let cases = cases();
    let count = |mark| cases.iter().filter(|case| case.mark == mark).count();
    let (n_dependent, n_innocent) = (count(Mark::Dependent), count(Mark::Innocent));
    let n_rejected = count(Mark::Rejected);
    println!("{n_dependent} dependent models, {n_innocent} innocent ones, {n_rejected} rejected");
    assert!(n_dependent >= 24 && n_innocent >= 24);
    assert!(n_rejected * 10 <= n_innocent, "{n_rejected} limitations");
}

#[test]
fn without_symmetry_models_give_what_they_say() {
    let mut problems = Vec::new();
    for case in cases() {
        let run = case.check("off", &[]);
        if run.code != i32::from(case.is_violated) {
            problems.push(format!("{}: {}", case.name(), shown(&run)));
        }
    }
    report(&problems);
}

/// Rejected with a message that names the order, or violated: by a fault of the state in which the
/// dependence shows, or by what is wrong without symmetry too.
#[test]
fn dependent_models_are_never_verified() {
    let mut problems = Vec::new();
    for case in of(Mark::Dependent) {
        let run = case.check("full", &[]);
        let names_order = names_order(&run);
        let is_right = match run.code {
            1 => case.is_violated || names_order,
            2 => names_order,
            _ => false,
        };
        if !is_right {
            problems.push(format!("{}: {}", case.name(), shown(&run)));
        }
    }
    report(&problems);
}

#[test]
fn innocent_models_are_verified_or_violated_as_without_symmetry() {
    let mut problems = Vec::new();
    for case in of(Mark::Innocent) {
        let (off, full) = (case.check("off", RECORD), case.check("full", RECORD));
        if off.code != full.code || full.code > 1 {
            problems.push(format!("{}: {}", case.name(), shown(&full)));
            continue;
        }
        let (off, full) = (off.record(), full.record());
        let least = |record: &Value| {
            let violation = &record["violations"][0];
            (record["verdict"].clone(), violation["depth"].clone())
        };
        if least(&off) != least(&full) {
            let (off, full) = (least(&off), least(&full));
            problems.push(format!("{}: {off:?} and {full:?}", case.name()));
        }
        if let Some(orbits) = case.orbits
            && full["states"] != orbits
        {
            problems.push(format!(
                "{}: {} states instead of {orbits} orbits",
                case.name(),
                full["states"]
            ));
        }
    }
    report(&problems);
}

/// A limitation that is lifted shows here: its file becomes an innocent one.
#[test]
fn known_limitations_are_still_there() {
    let mut problems = Vec::new();
    for case in of(Mark::Rejected) {
        let run = case.check("full", &[]);
        let is_rejected = matches!(run.code, 1 | 2) && names_order(&run);
        if !is_rejected {
            problems.push(format!("{}: {}", case.name(), shown(&run)));
        }
    }
    report(&problems);
}

/// The marks of the files are right: by brute force, elements are told apart by the dependent
/// models and by no other.
#[test]
fn brute_force_agrees_on_who_depends_on_the_order() {
    let mut problems = Vec::new();
    for case in cases() {
        let found = equivariance(&case.program(), 20_000);
        let is_dependent = case.mark == Mark::Dependent;
        if matches!(found, Equivariance::Broken(_)) != is_dependent || found == Equivariance::GaveUp
        {
            problems.push(format!("{}: {found:?}", case.name()));
        }
    }
    report(&problems);
}

/// The counts of the files are right: orbits are counted by applying all renamings.
#[test]
fn brute_force_agrees_on_the_orbits() {
    let mut problems = Vec::new();
    for case in cases() {
        let Some(orbits) = case.orbits else { continue };
        let program = case.program();
        if program.types.scalarsets.iter().any(|set| set.size > 6) {
            // Too many renamings to apply them all.
            continue;
        }
        let model = Interpreter::new(program.clone(), Limits::default());
        let report = oracle::search(&model, &oracle::Options::default());
        let group = renamings(&program);
        // States need not be closed under renamings, since startstates need not be.
        let mut least: Vec<Vec<u8>> = (report.states.iter())
            .filter_map(|state| group.iter().map(|it| rename(&program, it, state)).min())
            .collect();
        least.sort();
        least.dedup();
        if least.len() as u64 != orbits {
            problems.push(format!("{}: {} orbits", case.name(), least.len()));
        }
    }
    report(&problems);
}
