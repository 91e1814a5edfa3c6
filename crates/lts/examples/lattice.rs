//! Writes a large graph whose minimal form is known: counters that only go up.
//!
//! A state is a number of `digits` digits in base `base`; a step increments one digit. With one
//! label for all digits, states with equal sums of digits are bisimilar, so the minimal graph is a
//! chain of `digits * (base - 1) + 1` states. With a label for each digit, no two states are.
//!
//! ```text
//! cargo run --release -p hadal-lts --example lattice -- 8 8 one lattice.hlts
//! ```

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use hadal_lts::{Edge, HltsWriter, Labels};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [base, digits, labelled, path] = &args[..] else {
        return Err("usage: lattice BASE DIGITS one|each FILE.hlts".into());
    };
    let (base, digits): (u64, u32) = (base.parse()?, digits.parse()?);
    let n_labels = match &**labelled {
        "one" => 1,
        "each" => digits,
        _ => return Err("labels are `one` for all digits or one for `each`".into()),
    };
    let n_states = base.checked_pow(digits).ok_or("that are too many states")?;
    let mut writer = HltsWriter::new(BufWriter::new(File::create(path)?), 0, 0)?;
    for source in 0..n_states {
        let mut weight = 1;
        for digit in 0..digits {
            if source / weight % base + 1 < base {
                writer.push(Edge::new(source, digit % n_labels, source + weight))?;
            }
            weight *= base;
        }
    }
    let mut labels = Labels::new();
    for label in 0..n_labels {
        labels.push(format!("increment {label}").as_bytes());
    }
    writer.finish(n_states, &labels)?;
    Ok(())
}
