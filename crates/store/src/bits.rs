//! Extracting and depositing the bits of a word under a mask, and comparing many bytes at once.
//!
//! Runs are coded by masks of bits and [deltas](crate::write_delta) by masks of bytes:
//! *extract* packs the bits of a word under a mask, *deposit* spreads them out again.
//! Processors with BMI2 do either in one instruction, but only in code that is compiled for them;
//! hence a [`Kernel`] is a whole loop, compiled once for such processors and once for all, and
//! [`run`] selects one at run time. All of these also have AVX2, which speeds up loops that compare
//! many numbers. The unsafe code for this is here.

/// The two operations, on a processor that has them.
pub trait Bits: Copy {
    /// The bits of `word` under `mask`, packed at the low end.
    fn extract(self, word: u64, mask: u64) -> u64;
    /// The low bits of `word`, spread over the ones of `mask`.
    fn deposit(self, word: u64, mask: u64) -> u64;
}

/// A loop over many words. Its `run` must be `#[inline(always)]`, and so must all that is generic
/// in [`Bits`] below it, or the instructions are called instead of inlined.
pub trait Kernel {
    /// What it computes.
    type Output;
    /// Runs it.
    fn run<B: Bits>(self, bits: B) -> Self::Output;
}

/// Runs `kernel` with the best operations that this processor has.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(bmi2) = native::Bmi2::detect() {
        return bmi2.run(kernel);
    }
    kernel.run(Portable)
}

/// The positions where `left` and `right` differ, a bit each.
#[inline]
pub(crate) fn differing_bytes(left: &[u8; 16], right: &[u8; 16]) -> u32 {
    let differences = u128::from_le_bytes(*left) ^ u128::from_le_bytes(*right);
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_setzero_si128,
        };
        // SAFETY: every x86-64 processor has SSE2.
        let equal = unsafe {
            let all = _mm_set_epi64x((differences >> 64) as i64, differences as i64);
            _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_setzero_si128()))
        };
        !equal as u32 & 0xffff
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bits = differences.to_le_bytes().into_iter().enumerate();
        bits.fold(0, |all, (at, it)| all | u32::from(it != 0) << at)
    }
}

/// The operations in plain code: a step for each run of ones in the mask.
#[derive(Clone, Copy)]
pub struct Portable;

impl Bits for Portable {
    #[inline]
    fn extract(self, word: u64, mut mask: u64) -> u64 {
        let (mut result, mut n_bits) = (0, 0);
        while mask != 0 {
            let at = mask.trailing_zeros();
            let len = (mask >> at).trailing_ones();
            let ones = u64::MAX >> (64 - len);
            result |= ((word >> at) & ones) << n_bits;
            n_bits += len;
            mask &= !(ones << at);
        }
        result
    }

    #[inline]
    fn deposit(self, mut word: u64, mut mask: u64) -> u64 {
        let mut result = 0;
        while mask != 0 {
            let at = mask.trailing_zeros();
            let len = (mask >> at).trailing_ones();
            let ones = u64::MAX >> (64 - len);
            result |= (word & ones) << at;
            word = word.checked_shr(len).unwrap_or(0);
            mask &= !(ones << at);
        }
        result
    }
}

#[cfg(target_arch = "x86_64")]
mod native {
    use std::arch::x86_64::{_pdep_u64, _pext_u64};

    use super::{Bits, Kernel};

    /// Proof that the processor has the instructions: only [`Bmi2::detect`] makes one.
    #[derive(Clone, Copy)]
    pub(super) struct Bmi2(());

    impl Bmi2 {
        #[inline]
        pub(super) fn detect() -> Option<Self> {
            let has = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("lzcnt");
            has.then_some(Bmi2(()))
        }

        #[inline]
        pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
            // SAFETY: `self` proves that the processor has all features the function asks for.
            unsafe { run_with_features(self, kernel) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    fn run_with_features<K: Kernel>(bmi2: Bmi2, kernel: K) -> K::Output {
        kernel.run(bmi2)
    }

    impl Bits for Bmi2 {
        #[inline(always)]
        fn extract(self, word: u64, mask: u64) -> u64 {
            // SAFETY: `self` proves that the processor has BMI2.
            unsafe { _pext_u64(word, mask) }
        }

        #[inline(always)]
        fn deposit(self, word: u64, mask: u64) -> u64 {
            // SAFETY: `self` proves that the processor has BMI2.
            unsafe { _pdep_u64(word, mask) }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::{Bits, Kernel, Portable, run};

    #[test]
    fn bytes_that_differ_are_found() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(2);
        for _ in 0..10_000 {
            let left: [u8; 16] = rng.random();
            let mut right = left;
            let mut expected = 0;
            for _ in 0..rng.random_range(0..4) {
                let at = rng.random_range(0..16);
                right[at] = rng.random();
            }
            for at in 0..16 {
                expected |= u32::from(left[at] != right[at]) << at;
            }
            assert_eq!(super::differing_bytes(&left, &right), expected);
        }
    }

    struct Both {
        word: u64,
        mask: u64,
    }

    impl Kernel for Both {
        type Output = (u64, u64);
        #[inline(always)]
        fn run<B: Bits>(self, bits: B) -> (u64, u64) {
            (
                bits.extract(self.word, self.mask),
                bits.deposit(self.word, self.mask),
            )
        }
    }

    /// Bit by bit, as the operations are defined.
    fn defined(word: u64, mask: u64) -> (u64, u64) {
        let (mut extracted, mut deposited, mut n_bits) = (0, 0, 0);
        for at in (0..64).filter(|at| mask >> at & 1 == 1) {
            extracted |= (word >> at & 1) << n_bits;
            deposited |= (word >> n_bits & 1) << at;
            n_bits += 1;
        }
        (extracted, deposited)
    }

    #[test]
    fn plain_code_and_instructions_do_what_is_defined() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(7);
        for round in 0..20_000 {
            let word = random.random();
            let mask = match round % 5 {
                0 => random.random(),
                1 => random.random::<u64>() & random.random::<u64>() & random.random::<u64>(),
                2 => random.random::<u64>() | random.random::<u64>() | random.random::<u64>(),
                3 => u64::MAX << random.random_range(0..64),
                _ => [0, 1, u64::MAX, 1 << 63][random.random_range(0..4)],
            };
            let expected = defined(word, mask);
            assert_eq!(
                Both { word, mask }.run(Portable),
                expected,
                "{word:x} {mask:x}"
            );
            assert_eq!(run(Both { word, mask }), expected, "{word:x} {mask:x}");
        }
    }
}
