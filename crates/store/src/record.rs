//! Records of states: keys in groups, so that some can be read without all that come before them.
//!
//! A group is the number of its bytes (4), then [`GROUP_KEYS`] keys, each as its
//! [delta](crate::write_delta) from the one before it in the group. The last group may have
//! fewer.

use std::ops::Range;

use crate::codec::KeyShape;
use crate::delta::{read_deltas, write_deltas};

/// Keys of a group.
const GROUP_KEYS: usize = 256;

const HEAD_BYTES: usize = 4;

/// Bytes by which records may exceed the deltas of the same keys, where `n_keys` keys were taken
/// out of `n_lists` lists of deltas.
///
/// Where keys before a key were left out, its delta has no more bytes than theirs and its own
/// together; but the first of a list or a group may differ in all bytes.
pub fn record_overhead(shape: KeyShape, n_keys: usize, n_lists: usize) -> usize {
    let n_firsts = n_lists + n_keys / GROUP_KEYS + 1;
    n_firsts * (HEAD_BYTES + shape.n_bytes())
}

/// Appends the records of keys of `n_words` words.
pub fn write_records<'a>(
    n_words: usize,
    keys: impl Iterator<Item = &'a [u64]>,
    records: &mut Vec<u8>,
) {
    let mut keys = keys.peekable();
    while keys.peek().is_some() {
        let head = records.len();
        records.extend([0; HEAD_BYTES]);
        write_deltas(n_words, keys.by_ref().take(GROUP_KEYS), records);
        let n_bytes = (records.len() - head - HEAD_BYTES) as u32;
        records[head..][..HEAD_BYTES].copy_from_slice(&n_bytes.to_le_bytes());
    }
}

/// Appends the words of keys `wanted`; `None` if they are not there.
pub fn read_records(
    mut records: &[u8],
    wanted: Range<usize>,
    n_words: usize,
    words: &mut Vec<u64>,
) -> Option<()> {
    let mut first = 0;
    while first < wanted.end {
        let (n_bytes, rest) = records.split_first_chunk()?;
        let (group, rest) = rest.split_at_checked(u32::from_le_bytes(*n_bytes) as usize)?;
        let from = wanted.start.saturating_sub(first);
        let to = (wanted.end - first).min(GROUP_KEYS);
        if from < to {
            let n_taken = read_deltas(group, from..to, n_words, words)?;
            if to == GROUP_KEYS && n_taken != group.len() {
                return None;
            }
        }
        first += GROUP_KEYS;
        records = rest;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::{GROUP_KEYS, read_records, record_overhead, write_records};
    use crate::codec::KeyShape;
    use crate::delta::write_deltas;

    const LENGTHS: [usize; 6] = [0, 1, GROUP_KEYS - 1, GROUP_KEYS, GROUP_KEYS + 1, 1000];

    fn keys(rng: &mut Pcg64Mcg, n_words: usize, n: usize) -> Vec<u64> {
        (0..n_words * n).map(|_| rng.random()).collect()
    }

    #[test]
    fn any_of_them_can_be_read() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        for n_words in [1, 2, 5, 17, 100, 600] {
            for n in LENGTHS {
                let keys = keys(&mut rng, n_words, n);
                let mut records = Vec::new();
                write_records(n_words, keys.chunks(n_words), &mut records);
                for _ in 0..50 {
                    let from = rng.random_range(0..=n);
                    let to = rng.random_range(from..=n);
                    let mut words = vec![7];
                    read_records(&records, from..to, n_words, &mut words).expect("they are there");
                    assert_eq!(words[1..], keys[from * n_words..to * n_words]);
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let keys = keys(&mut rng, 2, 600);
        let mut records = Vec::new();
        write_records(2, keys.chunks(2), &mut records);
        let reads = |records: &[u8], to| read_records(records, 0..to, 2, &mut Vec::new()).is_some();
        assert!(reads(&records, 600));
        assert!(!reads(&records, 601) && !reads(&records, usize::MAX));
        for len in (0..records.len()).step_by(7) {
            assert!(!reads(&records[..len], 600));
        }
        // A group whose length exceeds its keys.
        let n_bytes = u32::from_le_bytes([0, 1, 2, 3].map(|i| records[i]));
        records[..4].copy_from_slice(&(n_bytes + 1).to_le_bytes());
        assert!(!reads(&records, 600));
    }

    /// Records of some keys of several lists stay within the bound.
    #[test]
    fn records_of_some_keys_take_little_more_than_all_of_them_did() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for (n_bits, n_words) in [(0, 1), (1, 1), (9, 1), (64, 1), (65, 2), (72, 2), (130, 3)] {
            let shape = KeyShape {
                version: 0,
                n_bits,
                n_words,
            };
            for n_in_list in [1, 3, 300] {
                let (mut lists, mut kept, mut n_lists) = (Vec::new(), Vec::new(), 0);
                let mut key = vec![0u64; n_words];
                while kept.len() < 900 * n_words {
                    let mut list = Vec::new();
                    for at in 0..n_in_list {
                        // Much changes between lists, little within them.
                        for (number, word) in key.iter_mut().enumerate() {
                            let used = n_bits.saturating_sub(64 * number).min(64) as u32;
                            let mask = !u64::MAX.checked_shr(used).unwrap_or(0);
                            let changed = rng.random::<u64>() & mask;
                            *word ^= if at == 0 {
                                changed
                            } else {
                                changed & 0x0101 << 48
                            };
                        }
                        list.extend_from_slice(&key);
                        if rng.random_bool(0.5) {
                            kept.extend_from_slice(&key);
                        }
                    }
                    n_lists += 1;
                    write_deltas(n_words, list.chunks(n_words), &mut lists);
                }
                let mut records = Vec::new();
                write_records(n_words, kept.chunks(n_words), &mut records);
                let more = record_overhead(shape, kept.len() / n_words, n_lists);
                assert!(records.len() <= lists.len() + more, "{shape:?} {n_in_list}");
            }
        }
    }
}
