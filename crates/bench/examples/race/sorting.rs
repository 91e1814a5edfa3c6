//! Ways to sort candidates, with their least ordinals.

use hadal_store::run::{Batch, SortScratch, Split, Splitters, sort_part};

use crate::data::{Data, shuffled};
use crate::watch::Watch;

/// Keys of a part that is sorted at once.
const PART_KEYS: usize = 4096;

/// Sorts all keys, and again as many of them twice, in random order.
pub(crate) fn race(data: &Data) {
    let n_words = data.n_words;
    let half = data.n_keys() / 2;
    let mut keys = shuffled(data.keys(0..data.n_keys()), n_words, 3);
    keys.extend_from_within(..half * n_words);
    let n_keys = keys.len() / n_words;
    let mut times = [f64::MAX; 3];
    for _ in 0..3 {
        let start = Watch::start();
        let by_split = by_split(&keys, n_words);
        times[0] = times[0].min(start.nanoseconds());
        let start = Watch::start();
        let by_first_word = by_first_word(&keys, n_words);
        times[1] = times[1].min(start.nanoseconds());
        assert!(by_split == by_first_word, "both sort alike");
        let start = Watch::start();
        let by_key = by_key(&keys, n_words);
        times[2] = times[2].min(start.nanoseconds());
        assert!(by_split == by_key, "both sort alike");
    }
    let rate = |time: f64| n_keys as f64 / time * 1e3;
    println!(
        "sorting {n_keys} candidates, M/s: split and packed {:.1}, (first word, place) {:.1}, whole keys {:.1}",
        rate(times[0]),
        rate(times[1]),
        rate(times[2])
    );
}

/// As runs are made.
fn by_split(keys: &[u64], n_words: usize) -> Vec<u64> {
    let n_parts = (keys.len() / n_words / PART_KEYS).clamp(1, 1 << 14);
    let splitters = Splitters::sample(n_words, &[keys], n_parts);
    let splits = [Split::new(keys, 0, &splitters)];
    let (mut scratch, mut batch) = (SortScratch::default(), Batch::default());
    let mut sorted = Vec::new();
    for part in 0..splitters.n_parts() {
        sort_part(&splits, part, &mut scratch, &mut batch);
        sorted.extend_from_slice(&batch.ordinals);
    }
    sorted
}

/// Pairs of first word and place, then those with equal first words by their keys.
fn by_first_word(keys: &[u64], n_words: usize) -> Vec<u64> {
    let key = |place: u32| &keys[place as usize * n_words..(place as usize + 1) * n_words];
    let mut pairs: Vec<(u64, u32)> = (keys.chunks(n_words).zip(0..))
        .map(|(key, place)| (key[0], place))
        .collect();
    pairs.sort_unstable();
    for equal in pairs.chunk_by_mut(|a, b| a.0 == b.0) {
        if equal.len() > 1 && n_words > 1 {
            equal.sort_unstable_by_key(|(_, place)| (key(*place), *place));
        }
    }
    pairs.dedup_by(|a, b| a.0 == b.0 && key(a.1) == key(b.1));
    pairs
        .into_iter()
        .map(|(_, place)| u64::from(place))
        .collect()
}

/// Places by their keys.
fn by_key(keys: &[u64], n_words: usize) -> Vec<u64> {
    let mut places: Vec<(&[u64], u64)> = keys.chunks(n_words).zip(0..).collect();
    places.sort_unstable();
    places.dedup_by(|a, b| a.0 == b.0);
    places.into_iter().map(|(_, place)| place).collect()
}
