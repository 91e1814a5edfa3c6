//! Prefetching memory.
//!
//! A large table is in no cache; a load that is prefetched while others are processed costs next to
//! nothing. Besides [`bits`](crate::bits) this is the crate's only unsafe code.

/// Prefetches the cache line that holds `bytes[at]`; past the end it does nothing.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, it changes nothing a program can
        // see, and the address is that of a byte we may read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
