//! Checks a model written as a Rust struct, on disk with little memory.
//! `counters.rs` implements the interface below it, for models that need every bit of speed.

use hadal::model::{Machine, MachineModel};
use hadal::{Check, Error, Verdict};

/// A number below the one in here.
struct Below(u32);

impl Machine for Below {
    type State = u32;
    const RULES: &'static [&'static str] = &["add 1", "double"];

    fn starts(&self) -> impl IntoIterator<Item = u32> {
        [0]
    }

    fn fire(&self, rule: usize, x: &u32) -> impl IntoIterator<Item = u32> {
        [[x + 1, 2 * x][rule] % self.0]
    }
}

fn main() -> Result<(), Error> {
    let model = MachineModel::new(Below(300_000));
    let outcome = Check::of(&model).data_memory(1 << 20).run()?.outcome;
    println!("{} states, {:?}", outcome.states, outcome.disk);
    assert_eq!(outcome.verdict, Verdict::Verified);
    assert_eq!((outcome.states, outcome.transitions), (300_000, 600_000));
    assert!(outcome.disk.written_bytes > 0);
    Ok(())
}

#[test]
fn the_example_finds_what_it_says() -> Result<(), Error> {
    main()
}
