//! Making one run of several: what a key costs, next to decoding and encoding it alone.

use std::ops::Range;
use std::sync::Arc;

use hadal_store::hash_state;
use hadal_store::run::{KeyRange, MemoryBlocks, Run, RunWriter, Versioned, compact};

use crate::data::{Data, sorted};
use crate::watch::Watch;

const N_ROUNDS: usize = 7;
/// Keys that are merged: the last ones of the data, where layers are long.
const MOST_KEYS: usize = 2 << 20;

/// Tiers by their shares of all keys, the oldest first, and into how many runs each is cut.
const CASES: [(&str, &[usize], &[usize]); 6] = [
    ("1:1", &[1, 1], &[1, 1]),
    ("4:1", &[4, 1], &[1, 1]),
    ("16:1", &[16, 1], &[1, 1]),
    ("4:1 in 4 and 3 runs", &[4, 1], &[4, 3]),
    ("16:4:1", &[16, 4, 1], &[1, 1, 1]),
    ("16:4:1 in 4, 3, 2 runs", &[16, 4, 1], &[4, 3, 2]),
];

/// Keys as they are, and 64 bits of their hashes.
pub(crate) fn race(data: &Data) {
    let n_keys = data.n_keys().min(MOST_KEYS);
    let from = data.n_keys() - n_keys;
    let keys = data.keys(from..data.n_keys());
    let hashes: Vec<u64> = keys.chunks(data.n_words).map(hashed).collect();
    println!("making runs one, ns a key: decoding, encoding, all with merging");
    for (kind, n_words, keys) in [("keys", data.n_words, keys), ("hashes", 1, &hashes)] {
        for (name, shares, n_runs) in CASES {
            let tiers = tiers(n_keys, shares);
            let runs: Vec<Run> = (tiers.iter().zip(n_runs))
                .flat_map(|(tier, n_runs)| {
                    let keys = &keys[tier.start * n_words..tier.end * n_words];
                    cut(&sorted(keys, n_words), n_words, *n_runs)
                })
                .collect();
            let times = measured(&runs, &sorted(keys, n_words), n_words);
            let [decoding, encoding, all] = times.map(|time| time / n_keys as f64);
            println!("  {kind:7}{name:24}{decoding:6.1}{encoding:6.1}{all:6.1}");
        }
    }
}

/// The hash of a key.
fn hashed(key: &[u64]) -> u64 {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_be_bytes()).collect();
    hash_state(&bytes)
}

/// Stretches of `n_keys` keys in proportion to `shares`.
fn tiers(n_keys: usize, shares: &[usize]) -> Vec<Range<usize>> {
    let all: usize = shares.iter().sum();
    let mut before = 0;
    let mut stretch = |share: &usize| {
        let from = before * n_keys / all;
        before += share;
        from..before * n_keys / all
    };
    shares.iter().map(&mut stretch).collect()
}

/// Ascending keys as a row of runs.
fn cut(keys: &[u64], n_words: usize, n_runs: usize) -> Vec<Run> {
    let n_keys = (keys.len() / n_words).div_ceil(n_runs);
    keys.chunks(n_keys * n_words)
        .map(|keys| written(keys, n_words))
        .collect()
}

fn written(keys: &[u64], n_words: usize) -> Run {
    let mut writer = RunWriter::new(MemoryBlocks::default(), n_words);
    writer.push(keys).expect("memory takes all");
    finished(writer)
}

fn finished(writer: RunWriter<MemoryBlocks>) -> Run {
    let (blocks, written) = writer.finish().expect("memory takes all");
    Run::new(Arc::new(blocks), written, "race")
}

/// Nanoseconds of decoding all `runs`, of encoding all `keys`, and of making the runs one.
fn measured(runs: &[Run], keys: &[u64], n_words: usize) -> [f64; 3] {
    let mut times = [f64::MAX; 3];
    let mut some = Vec::new();
    for round in 0..N_ROUNDS {
        let start = Watch::start();
        let mut n_decoded = 0;
        for run in runs {
            let mut cursor = run.keys(KeyRange::ALL);
            while cursor.next(&mut some).expect("the run is whole") {
                n_decoded += some.len();
            }
        }
        times[0] = times[0].min(start.nanoseconds());
        assert!(n_decoded >= keys.len(), "all keys are decoded");

        let start = Watch::start();
        let alone = written(keys, n_words);
        times[1] = times[1].min(start.nanoseconds());

        let inputs: Vec<Versioned> = runs.iter().map(Versioned::from).collect();
        let start = Watch::start();
        let mut writer = RunWriter::new(MemoryBlocks::default(), n_words);
        compact(&inputs, KeyRange::ALL, &mut writer, || false).expect("runs are whole");
        let one = finished(writer);
        times[2] = times[2].min(start.nanoseconds());
        assert_eq!(one.n_keys(), alone.n_keys());
        if round == 0 {
            assert!(listed(&one) == keys, "all keys are there, in order");
        }
    }
    times
}

fn listed(run: &Run) -> Vec<u64> {
    let (mut all, mut some) = (Vec::new(), Vec::new());
    let mut cursor = run.keys(KeyRange::ALL);
    while cursor.next(&mut some).expect("the run is whole") {
        all.extend_from_slice(&some);
    }
    all
}
