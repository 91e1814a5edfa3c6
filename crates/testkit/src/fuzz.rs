//! Random inputs for front-ends: bytes, pieces of the language, and models that were damaged.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Runs a test with a generator whose seed is printed if it fails. The environment variable
/// `HADAL_FUZZ_FACTOR` asks for more runs.
pub fn with_seeds(n_seeds: u64, test: impl Fn(&mut Pcg64Mcg)) {
    let factor = std::env::var("HADAL_FUZZ_FACTOR").ok();
    let factor: u64 = factor.and_then(|text| text.parse().ok()).unwrap_or(1);
    for seed in 0..n_seeds * factor {
        let run = std::panic::AssertUnwindSafe(|| test(&mut Pcg64Mcg::seed_from_u64(seed)));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("failed with seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Some bytes.
pub fn random_bytes(rng: &mut Pcg64Mcg) -> Vec<u8> {
    let len = rng.random_range(0..400);
    (0..len).map(|_| rng.random()).collect()
}

/// Some pieces in a row.
pub fn random_pieces(rng: &mut Pcg64Mcg, pieces: &[&str]) -> String {
    let len = rng.random_range(0..120);
    let chosen: Vec<&str> = (0..len)
        .map(|_| pieces[rng.random_range(0..pieces.len())])
        .collect();
    chosen.join(" ")
}

/// A model with a few bytes changed, deleted, copied elsewhere, or a piece inserted.
pub fn mutated(rng: &mut Pcg64Mcg, models: &[&str], pieces: &[&str]) -> Vec<u8> {
    let model = models[rng.random_range(0..models.len())];
    let mut bytes = model.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(0..bytes.len());
        let until = (at + rng.random_range(0..12)).min(bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] = rng.random(),
            1 => drop(bytes.drain(at..until)),
            2 => {
                let part = bytes[at..until].to_vec();
                let to = rng.random_range(0..bytes.len());
                bytes.splice(to..to, part);
            }
            _ => {
                let piece = pieces[rng.random_range(0..pieces.len())];
                bytes.splice(at..at, piece.bytes());
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}
