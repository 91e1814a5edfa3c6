//! Bit fields in byte strings, most significant bit first.
//!
//! Bit 0 is the most significant bit of byte 0, so comparing packed states as bytes compares their
//! fields in declaration order.

/// Reads `n_bits` (at most 64) from bit `first` on. Reads up to 8 bytes beyond the field's first
/// byte, and one more for fields that straddle nine bytes.
#[inline]
pub fn get(bytes: &[u8], first: usize, n_bits: u32) -> u64 {
    if n_bits == 0 {
        return 0;
    }
    let (byte, shift) = (first / 8, (first % 8) as u32);
    let word = u64::from_be_bytes(*bytes[byte..].first_chunk().expect("states are padded"));
    let head = word << shift;
    if shift + n_bits <= 64 {
        head >> (64 - n_bits)
    } else {
        let tail = u64::from(bytes[byte + 8]) >> (8 - shift);
        (head | tail) >> (64 - n_bits)
    }
}

/// Writes the `n_bits` (at most 64) low bits of `value` from bit `first` on.
#[inline]
pub fn set(bytes: &mut [u8], first: usize, n_bits: u32, value: u64) {
    if n_bits == 0 {
        return;
    }
    let (byte, shift) = (first / 8, (first % 8) as u32);
    let mask = u64::MAX >> (64 - n_bits);
    let value = value & mask;
    let chunk: &mut [u8; 8] = bytes[byte..].first_chunk_mut().expect("states are padded");
    let word = u64::from_be_bytes(*chunk);
    if shift + n_bits <= 64 {
        let up = 64 - shift - n_bits;
        *chunk = ((word & !(mask << up)) | (value << up)).to_be_bytes();
    } else {
        let down = shift + n_bits - 64;
        *chunk = ((word & !(mask >> down)) | (value >> down)).to_be_bytes();
        let last = &mut bytes[byte + 8];
        let up = 8 - down;
        *last = (*last & (0xff >> down)) | ((value << up) as u8);
    }
}

/// Sets the bits from bit `first` on that are set among the `n_bits` (at most 64) of `value`, which
/// has no others. Where the field was zero, this is a cheaper [`set`].
#[inline]
pub fn add(bytes: &mut [u8], first: usize, n_bits: u32, value: u64) {
    if n_bits == 0 {
        return;
    }
    let (byte, shift) = (first / 8, (first % 8) as u32);
    let chunk: &mut [u8; 8] = bytes[byte..].first_chunk_mut().expect("states are padded");
    let aligned = value << (64 - n_bits);
    *chunk = (u64::from_be_bytes(*chunk) | aligned >> shift).to_be_bytes();
    if shift + n_bits > 64 {
        bytes[byte + 8] |= (aligned << (64 - shift) >> 56) as u8;
    }
}

/// Copies `n_bits` bits within one byte string; the ranges may overlap.
pub fn copy_within(bytes: &mut [u8], from: usize, to: usize, n_bits: usize) {
    const STEP: usize = 56;
    if from == to {
        return;
    }
    if to < from {
        let mut done = 0;
        while done < n_bits {
            let n = STEP.min(n_bits - done);
            let word = get(bytes, from + done, n as u32);
            set(bytes, to + done, n as u32, word);
            done += n;
        }
    } else {
        let mut left = n_bits;
        while left > 0 {
            let n = STEP.min(left);
            left -= n;
            let word = get(bytes, from + left, n as u32);
            set(bytes, to + left, n as u32, word);
        }
    }
}

/// Whether two ranges of one byte string hold the same bits.
pub fn equal(bytes: &[u8], a: usize, b: usize, n_bits: usize) -> bool {
    compare(bytes, a, b, n_bits).is_eq()
}

/// Compares two ranges of one byte string as unsigned numbers.
pub fn compare(bytes: &[u8], a: usize, b: usize, n_bits: usize) -> std::cmp::Ordering {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        let order = get(bytes, a + done, n as u32).cmp(&get(bytes, b + done, n as u32));
        if order.is_ne() {
            return order;
        }
        done += n;
    }
    std::cmp::Ordering::Equal
}

/// Sets `n_bits` bits to zero.
pub fn zero(bytes: &mut [u8], first: usize, n_bits: usize) {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done);
        set(bytes, first + done, n as u32, 0);
        done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_width_and_position_agree_with_single_bits() {
        let mut seed = 1u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 16 ^ seed << 21
        };
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
        for _ in 0..20_000 {
            let mut bytes = [0u8; 40];
            bytes.iter_mut().for_each(|byte| *byte = next() as u8);
            let before = bytes;
            let (first, n) = ((next() % 128) as usize, (next() % 65) as u32);
            let value = next();
            set(&mut bytes, first, n, value);
            for at in 0..8 * 40 {
                let expected = if at >= first && at < first + n as usize {
                    (value >> (first + n as usize - 1 - at) & 1) as u8
                } else {
                    bit(&before, at)
                };
                assert_eq!(bit(&bytes, at), expected);
            }
            let expected = if n == 0 {
                0
            } else {
                value & (u64::MAX >> (64 - n))
            };
            assert_eq!(get(&bytes, first, n), expected);
            let mut added = before;
            zero(&mut added, first, n as usize);
            add(&mut added, first, n, expected);
            assert_eq!(added, bytes);
        }
    }

    #[test]
    fn overlapping_copies_move_the_original_bits() {
        for (from, to, n) in [
            (3, 70, 150),
            (70, 3, 150),
            (5, 9, 130),
            (9, 5, 130),
            (4, 4, 9),
        ] {
            let mut bytes: Vec<u8> = (0..64).map(|i| (i * 37 + 11) as u8).collect();
            let before = bytes.clone();
            copy_within(&mut bytes, from, to, n);
            for i in 0..n {
                assert_eq!(get(&bytes, to + i, 1), get(&before, from + i, 1));
            }
        }
    }
}
