//! The renaming that removes one element and inserts it elsewhere.
//!
//! A step that changes one element of a sorted state needs no other. It is applied to all elements
//! of a word at once.

/// The renaming of up to eight elements that removes one of them and inserts it elsewhere, as most
/// successors of a sorted state need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    /// Number of elements to the right of those that move.
    n_right: u32,
    /// How far the removed one moves.
    far: u32,
    /// Whether it moves to the left, rather than to the right.
    is_to_left: bool,
}

impl Rotation {
    /// The rotation that moves each of `n` elements to its position, four bits each, the first
    /// element in the lowest ones: `None` where nothing moves, `Some(None)` where it is no
    /// rotation.
    #[inline]
    pub(crate) fn of_packed(positions: u64, n: u32) -> Option<Option<Self>> {
        const WIDTH: u32 = 4;
        const IDENTITY: u64 = 0x7654_3210;
        let identity = IDENTITY & u64::MAX >> (64 - WIDTH * n);
        let moved = positions ^ identity;
        if moved == 0 {
            return None;
        }
        let first = moved.trailing_zeros() / WIDTH;
        let last = (63 - moved.leading_zeros()) / WIDTH;
        let far = last - first;
        // Here the first element stands at the right and in a strip at the left; but these are the
        // positions of elements and there are the elements of positions. So the same is done to
        // both.
        let is_to_left = positions >> (WIDTH * last) & 15 == u64::from(first);
        let expected = rotate(identity, WIDTH, first, far, is_to_left);
        Some((expected == positions).then_some(Rotation {
            n_right: n - 1 - last,
            far,
            is_to_left,
        }))
    }

    /// Applies it to a word with a field of `width` bits for each element, the last one at the
    /// right end.
    #[inline]
    pub(crate) fn of_fields(&self, word: u64, width: u32) -> u64 {
        rotate(word, width, self.n_right, self.far, self.is_to_left)
    }
}

/// Takes out the field at one end of `far` + 1 fields and puts it in at the other end.
#[inline]
fn rotate(word: u64, width: u32, n_right: u32, far: u32, is_to_left: bool) -> u64 {
    let (at, far) = (n_right * width, far * width);
    let mask = u64::MAX >> (64 - far - width);
    let old = word >> at & mask;
    let new = match is_to_left {
        true => old >> width | old << far & mask,
        false => old << width & mask | old >> far,
    };
    word ^ (old ^ new) << at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_permutations_of_four_are_told_apart_and_applied() {
        let mut n_rotations = 0;
        for code in 0..256u64 {
            let positions: [u64; 4] = std::array::from_fn(|i| code >> (2 * i) & 3);
            if positions.iter().map(|p| 1 << p).sum::<u64>() != 15 {
                continue;
            }
            let packed = (0..4).map(|i| positions[i] << (4 * i)).sum();
            // Element i has the value i + 3 in a field of five bits.
            let word = (0..4).fold(0, |word, i| word << 5 | (i + 3));
            let mut image = [0; 4];
            (0..4).for_each(|i| image[positions[i] as usize] = i as u64 + 3);
            let image = image.iter().fold(0, |word, value| word << 5 | value);
            match Rotation::of_packed(packed, 4) {
                None => assert_eq!(image, word),
                Some(None) => assert_ne!(image, word),
                Some(Some(rotation)) => {
                    assert_eq!(rotation.of_fields(word, 5), image, "{positions:?}");
                    n_rotations += 1;
                }
            }
        }
        // Three exchanges of neighbours, and two ways round for two longer distances and places.
        assert_eq!(n_rotations, 3 + 2 * 2 + 2);
    }
}
