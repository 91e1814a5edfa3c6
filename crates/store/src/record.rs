//! Keys as bytes: as many as their bits need, most significant first.
//!
//! Words are what keys are compared and sorted by; bytes are what they are stored in where there
//! are many of them.

use crate::codec::KeyShape;

/// Bytes of a key of this shape.
pub fn record_len(shape: KeyShape) -> usize {
    shape.n_bits.div_ceil(8)
}

/// Appends the bytes of a key.
pub fn write_record(key: &[u64], shape: KeyShape, records: &mut Vec<u8>) {
    let end = records.len() + record_len(shape);
    for word in key {
        records.extend_from_slice(&word.to_be_bytes());
    }
    records.truncate(end);
}

/// Appends the words of the keys whose bytes lie one after the other in `records`, `n` of them.
pub fn read_records(records: &[u8], n: usize, shape: KeyShape, words: &mut Vec<u64>) {
    let len = record_len(shape);
    assert_eq!(records.len(), n * len, "records are of one length");
    if len == 0 {
        // All states are the same one.
        words.resize(words.len() + n * shape.n_words, 0);
        return;
    }
    for record in records.chunks_exact(len) {
        let (whole, rest) = record.as_chunks::<8>();
        words.extend(whole.iter().map(|&word| u64::from_be_bytes(word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            words.push(u64::from_be_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{read_records, record_len, write_record};
    use crate::codec::KeyShape;

    #[test]
    fn records_come_back_as_they_were() {
        for n_bits in [1, 7, 8, 9, 63, 64, 65, 72, 128, 130] {
            let shape = KeyShape {
                version: 0,
                n_bits,
                n_words: n_bits.div_ceil(64),
            };
            let mask = |word: usize| match n_bits - 64 * word {
                bits @ 0..64 => !(u64::MAX >> bits),
                _ => u64::MAX,
            };
            let keys: Vec<u64> = (0..5 * shape.n_words)
                .map(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .zip((0..shape.n_words).cycle())
                .map(|(word, at)| word & mask(at))
                .collect();
            let mut records = Vec::new();
            for key in keys.chunks(shape.n_words) {
                write_record(key, shape, &mut records);
            }
            assert_eq!(records.len(), 5 * record_len(shape));
            let mut back = Vec::new();
            read_records(&records, 5, shape, &mut back);
            assert_eq!(back, keys);
        }
    }
}
