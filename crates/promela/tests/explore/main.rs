//! The meaning of automata, by a naive explorer: counts are those of SPIN 6.5.2.

mod claims;
mod corpus;
mod explorer;
mod generate;
mod lowered;
mod product;
mod spin;
mod table;

use hadal_promela::{Options, compile};
use hadal_syntax::{Outside, Renderer, Source};

use explorer::{Counts, Explorer};

/// Explores a model that includes no files.
fn explore(text: &str) -> Counts {
    explore_source(Source::new("test.pml", text).unwrap(), &[], 1 << 20).unwrap()
}

/// Explores a model, or returns the messages about it.
fn explore_source(source: Source, defines: &[String], max_states: u64) -> Result<Counts, String> {
    let options = Options {
        defines: defines.to_vec(),
        include_dirs: Vec::new(),
        outside: Outside::default(),
    };
    let compiled = compile(source, &options, &mut |path| std::fs::read(path).ok());
    match &compiled.program {
        Some(program) => Ok(Explorer::new(program).explore(max_states)),
        None => Err(Renderer::plain().render_all(&compiled.text.sources, &compiled.diagnostics)),
    }
}

/// Explores the file that `HADAL_PROMELA_FILE` names and prints its counts.
#[test]
#[ignore = "needs HADAL_PROMELA_FILE"]
fn one_file() {
    let name = std::env::var("HADAL_PROMELA_FILE").expect("the name of a model");
    let source = Source::from_bytes(&name, std::fs::read(&name).unwrap()).unwrap();
    match explore_source(source, &[], 10_000_000) {
        Ok(counts) => eprintln!("{counts:?}"),
        Err(messages) => eprintln!("{messages}"),
    }
}
