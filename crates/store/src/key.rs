//! Where in a set a key belongs: an invertible mix, by which keys are spread evenly.
//!
//! The first word of a key is mixed with the others by a bijection; the others stay as they are.
//! The first byte of the mix chooses the partition and is not stored there. What remains is the
//! *cell* of the key, `cell_len` bytes, held as words of which the first has the most significant
//! bits of the mix and the last byte of the key: the order of cells as lists of words is the order
//! of their places in a partition.
//! The cell of a *wide* key, of more than 16 words, is all of the key with its first word mixed.
//! Partition and cell determine the key, so comparing cells is exact and a set can list its keys.

/// How keys of one width are spread over partitions and cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    key_len: usize,
    cell_len: usize,
    /// Bits that are mixed: those of the first word that belong to a key.
    mixed_bits: u32,
    /// Bytes of a key's last word before its last byte, where the key is longer than a word.
    last_shift: u32,
    /// Whether the last word of a key has only one byte, which lies in the cell's first word.
    last_is_alone: bool,
}

const WORD_BYTES: usize = 8;
/// Words of the longest key whose cell is packed; others are wide.
const MAX_PACKED_WORDS: usize = 16;
/// Shorter keys are filled up with zeros: partition and cell must hold a number that is mixed well.
const MIN_KEY_LEN: usize = 4;

impl Placing {
    /// The placing of keys of which the first `n_bits` bits are used.
    pub fn new(n_bits: usize) -> Self {
        let key_len = n_bits.div_ceil(8).max(MIN_KEY_LEN);
        // The cell of a wide key is the whole key, its first word mixed with all others.
        let is_wide = key_len > MAX_PACKED_WORDS * WORD_BYTES;
        let key_len = match is_wide {
            true => key_len.next_multiple_of(WORD_BYTES),
            false => key_len,
        };
        let in_last = (key_len - 1) % WORD_BYTES;
        Placing {
            key_len,
            cell_len: if is_wide { key_len } else { key_len - 1 },
            mixed_bits: 8 * key_len.min(WORD_BYTES) as u32,
            last_shift: 8 * (WORD_BYTES - 1 - in_last) as u32,
            last_is_alone: key_len > WORD_BYTES && in_last == 0,
        }
    }

    /// Bytes of a key in a partition.
    pub fn cell_len(&self) -> usize {
        self.cell_len
    }

    /// Words of a key.
    pub fn key_words(&self) -> usize {
        self.key_len.div_ceil(WORD_BYTES)
    }

    /// Whether cells have more words than functions that are generic in their number.
    pub(crate) fn is_wide(&self) -> bool {
        self.cell_words() > MAX_PACKED_WORDS
    }

    /// Words of a cell.
    pub fn cell_words(&self) -> usize {
        self.cell_len.div_ceil(WORD_BYTES)
    }

    /// Partition and cell of a key.
    #[inline]
    pub(crate) fn place<const N: usize>(&self, key: &[u64]) -> (usize, [u64; N]) {
        let last_word = key[key.len() - 1];
        // The compiler knows the length.
        let key = key
            .first_chunk::<N>()
            .expect("a cell is no longer than a key");
        if N == 1 && self.mixed_bits < 64 {
            let mixed = self.mix_short(key[0]);
            return ((mixed >> 56) as usize, [mixed << 8; N]);
        }
        let mut cell = *key;
        let mut last = 0;
        if self.key_len > WORD_BYTES {
            last = (last_word >> self.last_shift) & 0xff;
            if N > 1 && !self.last_is_alone {
                cell[N - 1] = last_word >> self.last_shift >> 8;
            }
        }
        let mut others = last;
        for &word in &cell[1..] {
            others = fold(others, word);
        }
        let mixed = mix(key[0] ^ others.wrapping_mul(OTHERS));
        cell[0] = (mixed << 8) | last;
        ((mixed >> 56) as usize, cell)
    }

    /// The key of a cell in a partition.
    #[inline]
    pub(crate) fn invert<const N: usize>(&self, partition: usize, cell: [u64; N], key: &mut [u64]) {
        let mixed = ((partition as u64) << 56) | (cell[0] >> 8);
        if self.key_len <= WORD_BYTES {
            key[0] = self.unmix(mixed);
            return;
        }
        let last = cell[0] & 0xff;
        let mut others = last;
        for number in 1..N {
            key[number] = cell[number];
            others = fold(others, cell[number]);
        }
        let n_words = key.len();
        key[0] = self.unmix(mixed) ^ others.wrapping_mul(OTHERS);
        key[n_words - 1] = match self.last_is_alone {
            true => last << self.last_shift,
            false => (cell[N - 1] << 8 | last) << self.last_shift,
        };
    }

    /// Turns a wide key into its cell; returns the partition.
    pub(crate) fn place_wide(&self, key: &mut [u64]) -> usize {
        let others = key[1..].iter().fold(0, |others, &word| fold(others, word));
        key[0] = mix(key[0] ^ others.wrapping_mul(OTHERS));
        (key[0] >> 56) as usize
    }

    /// Turns a wide cell into its key.
    pub(crate) fn invert_wide(&self, cell: &mut [u64]) {
        let others = cell[1..].iter().fold(0, |others, &word| fold(others, word));
        cell[0] = self.unmix(cell[0]) ^ others.wrapping_mul(OTHERS);
    }

    /// The cell stored at the beginning of `bytes`, behind which a word can be read.
    #[inline]
    pub(crate) fn load<const N: usize>(&self, bytes: &[u8]) -> [u64; N] {
        let mut cell = [0; N];
        if N == 1 {
            cell[0] = load(bytes, 0) << (64 - 8 * self.cell_len);
            return cell;
        }
        cell[0] = load(bytes, self.cell_len - WORD_BYTES);
        for (number, word) in cell.iter_mut().enumerate().skip(1) {
            *word = load(bytes, (number - 1) * WORD_BYTES);
        }
        // Behind the last word lies the first one.
        cell[N - 1] &= u64::MAX >> (64 - 8 * (self.cell_len - (N - 1) * WORD_BYTES));
        cell
    }

    /// The first word of the cell at `at` among those in `bytes`.
    #[inline]
    pub(crate) fn load_first(&self, bytes: &[u8], at: usize) -> u64 {
        let end = (at + 1) * self.cell_len;
        match self.cell_len {
            0..WORD_BYTES => load(bytes, at * self.cell_len) << (64 - 8 * self.cell_len),
            _ => load(bytes, end - WORD_BYTES),
        }
    }

    /// Writes a cell to the beginning of `bytes`, behind which a word can be read.
    #[inline]
    pub(crate) fn store<const N: usize>(&self, bytes: &mut [u8], cell: [u64; N]) {
        if N == 1 {
            // What lies behind a short cell stays; a length that the compiler knows is quick.
            let unused = 64 - 8 * self.cell_len;
            let behind = load(bytes, 0) & !(u64::MAX >> unused);
            let word = (cell[0] >> unused) | behind;
            bytes[..WORD_BYTES].copy_from_slice(&word.to_le_bytes());
            return;
        }
        // The last of these words reaches into the first word's place, which is written last.
        for (number, word) in cell.iter().enumerate().skip(1) {
            bytes[(number - 1) * WORD_BYTES..number * WORD_BYTES]
                .copy_from_slice(&word.to_le_bytes());
        }
        bytes[self.cell_len - WORD_BYTES..self.cell_len].copy_from_slice(&cell[0].to_le_bytes());
    }

    /// The mix of fewer bits than a word has, those at its upper end.
    #[inline]
    fn mix_short(&self, word: u64) -> u64 {
        let (unused, half) = (64 - self.mixed_bits, self.mixed_bits / 2);
        let mut word = word >> unused;
        for _ in 0..2 {
            word = (word ^ (word >> half)).wrapping_mul(FACTOR) << unused >> unused;
        }
        (word ^ (word >> half)) << unused
    }

    #[inline]
    fn unmix(&self, word: u64) -> u64 {
        let (unused, half) = (64 - self.mixed_bits, self.mixed_bits / 2);
        let mut word = word >> unused;
        for _ in 0..2 {
            word = (word ^ (word >> half)).wrapping_mul(INVERSE) << unused >> unused;
        }
        (word ^ (word >> half)) << unused
    }
}

const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
/// `FACTOR` times this is one, by Newton's iteration.
const INVERSE: u64 = {
    let mut inverse = FACTOR;
    let mut step = 0;
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(FACTOR.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};
const OTHERS: u64 = 0xbf58_476d_1ce4_e5b9;

/// A bijection of words under which every bit of the input changes about half of the output.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 32)).wrapping_mul(FACTOR);
    word = (word ^ (word >> 32)).wrapping_mul(FACTOR);
    word ^ (word >> 32)
}

#[inline]
fn fold(others: u64, word: u64) -> u64 {
    let others = (others ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    others ^ (others >> 32)
}

#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    let word: [u8; WORD_BYTES] = bytes[at..at + WORD_BYTES]
        .try_into()
        .expect("a word has eight bytes");
    u64::from_le_bytes(word)
}

/// Calls a function that is generic in the number of words of a cell, which is not wide.
macro_rules! with_cell_words {
    ($n_words:expr, $object:ident.$function:ident($($argument:expr),*)) => {
        match $n_words {
            0 | 1 => $object.$function::<1>($($argument),*),
            2 => $object.$function::<2>($($argument),*),
            3 => $object.$function::<3>($($argument),*),
            4 => $object.$function::<4>($($argument),*),
            5 => $object.$function::<5>($($argument),*),
            6 => $object.$function::<6>($($argument),*),
            7 => $object.$function::<7>($($argument),*),
            8 => $object.$function::<8>($($argument),*),
            9 => $object.$function::<9>($($argument),*),
            10 => $object.$function::<10>($($argument),*),
            11 => $object.$function::<11>($($argument),*),
            12 => $object.$function::<12>($($argument),*),
            13 => $object.$function::<13>($($argument),*),
            14 => $object.$function::<14>($($argument),*),
            15 => $object.$function::<15>($($argument),*),
            _ => $object.$function::<16>($($argument),*),
        }
    };
}
pub(crate) use with_cell_words;

#[cfg(test)]
mod tests {
    use super::Placing;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    struct Checks(Placing);

    impl Checks {
        /// Partition and cell give the key back: nothing is lost.
        fn round_trip<const N: usize>(&self, key: &[u64]) -> usize {
            let placing = self.0;
            let (partition, cell) = placing.place::<N>(key);
            let mut bytes = vec![0x5a; placing.cell_len() + 8];
            placing.store(&mut bytes, cell);
            assert_eq!(placing.load::<N>(&bytes), cell);
            assert_eq!(bytes[placing.cell_len()], 0x5a);
            let mut found = vec![u64::MAX; placing.key_words()];
            placing.invert(partition, cell, &mut found);
            assert_eq!(found, key);
            partition
        }
    }

    #[test]
    fn wide_keys_come_back_and_spread() {
        let mut rng = Pcg64Mcg::seed_from_u64(4);
        for n_bits in [1025, 1088, 6400, 38_400] {
            let placing = Placing::new(n_bits);
            assert!(placing.is_wide());
            let mut counts = [0; 256];
            for number in 0..1024u64 {
                let mut key = vec![rng.random(); placing.key_words()];
                if number % 2 == 0 {
                    key.fill(0);
                    *key.last_mut().unwrap() = number << 40;
                }
                let mut cell = key.clone();
                counts[placing.place_wide(&mut cell)] += 1;
                placing.invert_wide(&mut cell);
                assert_eq!(cell, key);
            }
            assert!(counts.iter().filter(|&&count| count == 0).count() < 40);
        }
    }

    #[test]
    fn placing_can_be_inverted_and_spreads() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for n_bits in (0..=1024).step_by(4) {
            let checks = Checks(Placing::new(n_bits));
            let n_words = checks.0.key_words();
            let mut counts = [0; 256];
            for number in 0..1024u64 {
                let mut key: Vec<u64> = (0..n_words)
                    .map(|_| [0, 1, u64::MAX, rng.random()][rng.random_range(0..4)])
                    .collect();
                // Half of the keys are consecutive numbers.
                if number % 2 == 0 {
                    key.fill(0);
                    key[0] = number << 40;
                }
                for (word, at) in key.iter_mut().zip((0..).step_by(64)) {
                    let n_used = n_bits.saturating_sub(at).min(64) as u32;
                    *word &= !u64::MAX.checked_shr(n_used).unwrap_or(0);
                }
                let n = checks.0.cell_words();
                counts[super::with_cell_words!(n, checks.round_trip(&key))] += 1;
            }
            let n_empty = counts.iter().filter(|&&count| count == 0).count();
            assert!(n_bits < 40 || n_empty < 40, "{n_bits} {n_empty}");
        }
    }
}
