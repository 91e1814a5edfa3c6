//! Checks Murphi files and prints each violation with the run that shows it:
//! `cargo run -p hadal --example check_file -- models/peterson.m`.

use hadal::{Check, Error, ModelSource, Outcome, Verdict};

fn check(path: &str) -> Result<Outcome, Error> {
    let model = ModelSource::file(path)?.load()?;
    let checked = Check::new(&model).memory(300 << 20).threads(2).run()?;
    match checked.outcome.verdict {
        Verdict::Verified => println!("{path}: verified, {} states", checked.outcome.states),
        verdict => println!("{path}: {}", verdict.name()),
    }
    for found in checked.violations() {
        println!("{found}");
    }
    Ok(checked.outcome)
}

fn main() -> Result<(), Error> {
    for path in std::env::args().skip(1) {
        check(&path)?;
    }
    Ok(())
}

#[test]
fn counts_are_those_of_the_models() -> Result<(), Error> {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let verified = check(&format!("{models}/peterson.m"))?;
    assert_eq!(verified.verdict, Verdict::Verified);
    assert_eq!((verified.states, verified.violations.len()), (49302, 0));
    let violated = check(&format!("{models}/bus_decoder.m"))?;
    assert_eq!(violated.violations[0].kind.name(), "no-return");
    assert_eq!(violated.violations[0].depth, 4);
    Ok(())
}
