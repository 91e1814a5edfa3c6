use super::recoding::Recoding;
use super::{Growth, Keys, Set, SetPartition};
use crate::{N_PARTITIONS, Placing};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashSet;

/// Random keys of which few bits vary, so that many are the same.
fn random_keys(rng: &mut Pcg64Mcg, n_bits: usize, n_keys: usize, spread: u64) -> Vec<u64> {
    let n_words = Placing::new(n_bits).key_words();
    let mut keys = vec![0; n_keys * n_words];
    for key in keys.chunks_exact_mut(n_words) {
        for _ in 0..rng.random_range(0..=3) {
            let at = rng.random_range(0..n_bits.max(1));
            if at < n_bits {
                key[at / 64] ^= 1 << (63 - at % 64);
            }
        }
        let n_first = n_bits.min(64) as u32;
        if n_first > 0 {
            let number = rng.random_range(0..spread) & (u64::MAX >> (64 - n_first));
            key[0] ^= number << (64 - n_first);
        }
    }
    keys
}

/// Adds blocks of keys; returns which are new.
fn add(set: &Set, blocks: &[Vec<u64>]) -> Vec<Vec<bool>> {
    let n_words = set.placing().key_words();
    let sorted: Vec<Keys> = blocks
        .iter()
        .map(|block| {
            let mut keys = Keys::default();
            keys.fill(set.placing(), block);
            keys
        })
        .collect();
    let mut is_new: Vec<Vec<bool>> = blocks
        .iter()
        .map(|block| vec![false; block.len() / n_words])
        .collect();
    for partition in 0..N_PARTITIONS {
        let mut cells = set.partition(partition).write().unwrap();
        let n = sorted.iter().map(|k| k.positions(partition).len()).sum();
        let most = cells.data_bytes() + cells.growth_bytes(n);
        let batches = sorted.iter().map(|keys| keys.cells(partition));
        cells.add_all(batches, |batch, at| {
            let position = sorted[batch].positions(partition)[at] as usize;
            assert!(!is_new[batch][position]);
            is_new[batch][position] = true;
        });
        assert!(cells.data_bytes() <= most);
    }
    is_new
}

fn all_keys(set: &Set) -> Vec<Vec<u64>> {
    let mut keys = Vec::new();
    for partition in 0..N_PARTITIONS {
        set.partition(partition).read().unwrap().keys(&mut keys);
    }
    let n_words = set.placing().key_words();
    keys.chunks_exact(n_words).map(<[u64]>::to_vec).collect()
}

/// Rounds of random keys, few and many different ones, against a plain set; then all are listed and
/// recoded.
#[test]
fn a_set_agrees_with_a_plain_one() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let widths = [
        0, 1, 7, 24, 31, 40, 56, 64, 65, 72, 73, 104, 128, 129, 144, 200, 256, 264,
    ];
    let wide = [1025, 1088, 6400, 38_400];
    for n_bits in (widths.into_iter().chain([300, 400, 512, 777, 1000, 1024])).chain(wide) {
        let mut set = Set::new(Placing::new(n_bits));
        let n_words = set.placing().key_words();
        let mut plain = HashSet::new();
        for round in 0..20 {
            let blocks: Vec<Vec<u64>> = (0..3)
                .map(|_| {
                    let n_keys = rng.random_range(0..if n_bits > 1088 { 200 } else { 2000 });
                    random_keys(&mut rng, n_bits, n_keys, 1 << round)
                })
                .collect();
            let is_new = add(&set, &blocks);
            for (block, is_new) in blocks.iter().zip(is_new) {
                for (key, is_new) in block.chunks_exact(n_words).zip(is_new) {
                    assert_eq!(plain.insert(key.to_vec()), is_new);
                }
            }
        }
        assert_eq!(set.len(), plain.len() as u64);
        let listed = all_keys(&set);
        assert_eq!(listed.len(), plain.len());
        assert!(listed.into_iter().all(|key| plain.contains(&key)));

        // Twelve bits more in front; here keys move from each partition to every other.
        let wider = n_bits + 12;
        let most_bytes = if n_bits % 3 == 0 { 0 } else { u64::MAX };
        set.recode(wider, most_bytes, 3, |key, made| {
            let shift = wider - n_bits;
            made.fill(0);
            for (at, word) in made.iter_mut().enumerate() {
                let before = at.checked_sub(1).map_or(0, |before| key[before]);
                let here = key.get(at).copied().unwrap_or(0);
                *word = match shift {
                    0 => here,
                    _ => (here >> shift) | (before << (64 - shift)),
                };
            }
        });
        assert_eq!(set.len(), plain.len() as u64);
        let again: HashSet<Vec<u64>> = all_keys(&set).into_iter().collect();
        assert_eq!(again.len(), plain.len());
    }
}

/// A cache never reports an unknown key as known, never grows, and knows the most recent keys.
#[test]
fn a_cache_forgets_but_never_invents() {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    for n_bits in [40, 72, 144, 300, 1088] {
        let scale = if n_bits > 1024 { 4 } else { 1 };
        for bytes in [0, 40, 100, 400, 5000].map(|bytes| 257 * bytes * scale) {
            let set = Set::new(Placing::new(n_bits));
            let n_words = set.placing().key_words();
            let mut came = HashSet::new();
            let first = random_keys(&mut rng, n_bits, 20_000, 1 << 20);
            add(&set, std::slice::from_ref(&first));
            came.extend(first.chunks_exact(n_words).map(<[u64]>::to_vec));
            set.begin_cache(bytes);
            assert!(set.data_bytes() <= bytes);
            let mut n_known = 0;
            for _ in 0..10 {
                let block = random_keys(&mut rng, n_bits, 5000, 1 << 8);
                let is_new = add(&set, std::slice::from_ref(&block));
                for (key, is_new) in block.chunks_exact(n_words).zip(is_new[0].iter().copied()) {
                    let is_first = came.insert(key.to_vec());
                    assert!(is_new || !is_first, "a key that never came is known");
                    n_known += usize::from(!is_new);
                }
                assert!(set.data_bytes() <= bytes);
                assert!(all_keys(&set).iter().all(|key| came.contains(key)));
                if bytes >= 257 * 5000 * scale {
                    // These few are surely in the young array.
                    let last = block[block.len() - 10 * n_words..].to_vec();
                    assert_eq!(add(&set, &[last]), [[false; 10]]);
                }
            }
            assert!(bytes < 257 * 400 * scale || n_known > 0);
        }
    }
}

/// Old and new keys are never all held at once: at most the larger of the two, the partition in
/// progress, and the arrays' gaps.
#[test]
fn recoding_takes_little_memory_beside_the_keys() {
    let mut rng = Pcg64Mcg::seed_from_u64(10);
    for (n_bits, wider) in [(72, 80), (91, 104), (130, 140)] {
        let mut set = Set::new(Placing::new(n_bits));
        // Enough that arrays do not grow in the large steps of small ones.
        let keys = random_keys(&mut rng, n_bits, 2_500_000, u64::MAX);
        add(&set, &[keys]);
        let before = set.data_bytes();
        let quick_bytes = set.bytes_for(&Recoding::QUICK, Placing::new(wider));
        let most = set.recode(wider, quick_bytes - 1, 3, |key, made| {
            made.fill(0);
            made[..key.len()].copy_from_slice(key);
        });
        let larger = before.max(set.data_bytes());
        assert!(most >= larger, "{most} bytes, but {larger} at an end");
        assert!(most <= larger * 6 / 5, "{most} bytes for {larger}");
    }
}

/// Where there is memory for both, new keys are made on several threads beside the old ones.
#[test]
fn quick_recoding_takes_what_was_foreseen() {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    for (n_bits, wider) in [(72, 80), (100, 140), (1088, 1096)] {
        let mut set = Set::new(Placing::new(n_bits));
        add(&set, &[random_keys(&mut rng, n_bits, 60_000, 1 << 30)]);
        let before: HashSet<Vec<u64>> = all_keys(&set).into_iter().collect();
        let foreseen = set.bytes_for(&Recoding::QUICK, Placing::new(wider));
        let n_words = Placing::new(wider).key_words();
        let peak = set.recode(wider, foreseen, 3, |key, made| {
            made.fill(0);
            made[..key.len()].copy_from_slice(key);
        });
        assert!(peak <= foreseen, "{peak} bytes, not {foreseen}");
        assert!(peak >= set.data_bytes());
        let widened = before.into_iter().map(|mut key| {
            key.resize(n_words, 0);
            key
        });
        let expected: HashSet<Vec<u64>> = widened.collect();
        let after: HashSet<Vec<u64>> = all_keys(&set).into_iter().collect();
        assert_eq!(after, expected);
    }
}

#[test]
fn a_recoded_cache_keeps_its_size() {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let mut set = Set::new(Placing::new(72));
    set.begin_cache(1 << 20);
    let keys = random_keys(&mut rng, 72, 20_000, 1 << 30);
    add(&set, &[keys]);
    let before: HashSet<Vec<u64>> = all_keys(&set).into_iter().collect();
    set.recode(80, 0, 1, |key, made| made.copy_from_slice(key));
    let after: HashSet<Vec<u64>> = all_keys(&set).into_iter().collect();
    assert_eq!(before, after);
    assert!(set.data_bytes() <= 1 << 20);
}

/// Keys that all want the last home, or the first, or are next to each other.
#[test]
fn crowded_homes_lose_nothing() {
    for base in [0, u64::MAX - 20_000, 1 << 63] {
        let placing = Placing::new(72);
        let mut partition = SetPartition::new(placing, Growth::of(placing), 0);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mut plain = HashSet::new();
        for _ in 0..6000 {
            let cell = base + rng.random_range(0..2000);
            assert_eq!(partition.add([cell]), plain.insert(cell), "{cell}");
        }
        assert_eq!(partition.len(), plain.len());
    }
}

#[test]
fn gaps_are_few() {
    let placing = Placing::new(104);
    let mut partition = SetPartition::new(placing, Growth::of(placing), 0);
    for number in 0..100_000u64 {
        partition.add([number.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0]);
    }
    assert!(partition.data_bytes() < 100_000 * 12 * 5 / 4);
}
