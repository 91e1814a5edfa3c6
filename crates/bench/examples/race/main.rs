//! Ways to keep sorted states, raced on states of a real search (docs/lab/external-memory.md).
//!
//! `cargo run --release -p hadal-bench --example race -- [merging] FILE...`
//!
//! With `merging` only that part is run.
//! FILE has packed states one after the other, layer by layer; FILE.sizes the length of a state and
//! the number of states in each layer, as text. Every encoding is decoded and compared, every probe
//! is checked; times are of the processor, the least of several interleaved rounds, on one thread, in memory.

mod data;
mod merging;
mod rivals;
mod sorting;
mod watch;

use std::collections::HashSet;

use data::{Data, shuffled, sorted};
use rivals::{ByteMasks, Coding, FrontCoding, Hashes, Runs};
use watch::Watch;

const N_ROUNDS: usize = 7;

fn main() {
    let mut paths = std::env::args().skip(1).peekable();
    let is_part = paths.next_if(|part| part == "merging").is_some();
    for path in paths {
        let data = Data::load(&path);
        println!("\n{path}: {} keys of {} bits", data.n_keys(), data.n_bits);
        if !is_part {
            bytes_per_key(&data);
            speeds(&data);
            sorting::race(&data);
        }
        merging::race(&data);
    }
}

fn codings(data: &Data) -> Vec<Box<dyn Coding>> {
    vec![
        Box::new(Runs::new(data.n_words)),
        Box::new(ByteMasks::new(data.n_words, data.n_bits)),
        Box::new(FrontCoding::new(data.n_words, data.n_bits)),
        Box::new(Hashes::new(data.n_words)),
    ]
}

/// Bytes for a key, where all keys are one run, where they are in tiers that grow by four, and
/// where each layer is a run.
fn bytes_per_key(data: &Data) {
    let n_keys = data.n_keys();
    let mut tiers = Vec::new();
    let (mut at, mut len) = (0, n_keys * 3 / 4);
    while at < n_keys {
        let end = if n_keys - at < 1000 {
            n_keys
        } else {
            at + len.max(1)
        };
        tiers.push(at..end.min(n_keys));
        (at, len) = (end, len / 4);
    }
    let one = std::iter::once(0..n_keys).collect();
    println!("B/key          one run   tiers  layers");
    for mut coding in codings(data) {
        print!("  {:12}", coding.name());
        for cuts in [&one, &tiers, &data.layers] {
            let mut bytes = 0;
            for cut in cuts {
                let keys = coding.prepare(&sorted(data.keys(cut.clone()), data.n_words));
                bytes += coding.encode(&keys);
            }
            print!("{:8.2}", bytes as f64 / n_keys as f64);
        }
        println!();
    }
}

/// Encoding, decoding, and looking for candidates in the first three quarters of all keys; half of
/// the candidates are in them, half are from the last quarter, as far as it goes.
fn speeds(data: &Data) {
    let n_words = data.n_words;
    let n_old = data.n_keys() * 3 / 4;
    let old = shuffled(data.keys(0..n_old), n_words, 1);
    let new = shuffled(data.keys(n_old..data.n_keys()), n_words, 2);
    let run = sorted(&old, n_words);
    let members: HashSet<&[u64]> = run.chunks(n_words).collect();
    let n_run = run.len() / n_words;
    let ratios = [1, 2, 3, 4, 6, 10, 50, 100, 1000];
    let candidates: Vec<Vec<u64>> = ratios
        .iter()
        .map(|ratio| {
            let n_new = (n_run / ratio / 2).min(new.len() / n_words);
            let n_known = n_run / ratio - n_new;
            sorted(
                &[&new[..n_new * n_words], &old[..n_known * n_words]].concat(),
                n_words,
            )
        })
        .collect();
    let expected: Vec<Vec<bool>> = candidates
        .iter()
        .map(|candidates| {
            candidates
                .chunks(n_words)
                .map(|key| members.contains(key))
                .collect()
        })
        .collect();

    let mut codings = codings(data);
    let mut times = vec![vec![f64::MAX; 2 + ratios.len()]; codings.len()];
    for _ in 0..N_ROUNDS {
        for (coding, times) in codings.iter_mut().zip(&mut times) {
            let mut least = |i: usize, start: Watch| {
                times[i] = times[i].min(start.nanoseconds());
            };
            let input = coding.prepare(&run);
            let start = Watch::start();
            coding.encode(&input);
            least(0, start);
            let start = Watch::start();
            let decoded = coding.decode();
            least(1, start);
            assert!(
                decoded == input,
                "{} decodes what it encoded",
                coding.name()
            );
            for (i, candidates) in candidates.iter().enumerate() {
                let (candidates, places) = coding.prepare_candidates(candidates);
                let start = Watch::start();
                let present = coding.probe(&candidates);
                least(2 + i, start);
                for (place, present) in places.into_iter().zip(present) {
                    assert_eq!(
                        present,
                        expected[i][place],
                        "{} finds members",
                        coding.name()
                    );
                }
            }
        }
    }
    println!("M keys/s       encode  decode; probe, ns a candidate (ns a key of the run) at 1:n");
    print!("{:30}", "");
    ratios
        .iter()
        .for_each(|ratio| print!("{:>14}", format!("1:{ratio}")));
    println!();
    for (coding, times) in codings.iter().zip(&times) {
        print!("  {:12}", coding.name());
        print!(
            "{:8.0}{:8.0}",
            n_run as f64 / times[0] * 1e3,
            n_run as f64 / times[1] * 1e3
        );
        for (candidates, time) in candidates.iter().zip(&times[2..]) {
            let n_candidates = (candidates.len() / n_words) as f64;
            print!(
                "{:>14}",
                format!("{:.1} ({:.2})", time / n_candidates, time / n_run as f64)
            );
        }
        println!();
    }
}
