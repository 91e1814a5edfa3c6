//! Numbers that are mostly small, in groups of seven bits.

/// Appends a number: seven bits a byte, the least significant first; the high bit marks that
/// another byte follows.
pub(crate) fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the front of `bytes`; `None` where they end early or it exceeds 64 bits.
#[inline]
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut number = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Bytes that a number takes.
#[inline]
pub(crate) fn len(number: u64) -> u32 {
    (64 - (number | 1).leading_zeros()).div_ceil(7)
}

/// A difference as a number that is small where the difference is near 0, modulo 2^64.
#[inline]
pub(crate) fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_have_the_length_that_is_computed() {
        let mut numbers: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
        numbers.push(u64::MAX);
        for number in numbers {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(bytes.len() as u32, len(number));
            assert_eq!(read(&mut &bytes[..]), Some(number));
            assert_eq!(read(&mut &bytes[..bytes.len() - 1]), None);
            assert_eq!(unzigzag(zigzag(number)), number);
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(2);
        assert_eq!(read(&mut &bytes[..]), None);
        assert_eq!(read(&mut &[0xff; 11][..]), None);
    }
}
