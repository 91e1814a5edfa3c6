//! The mixing function behind colours and signatures.
//!
//! Colours are hashes of facts that no renaming changes. Two elements with different facts and the
//! same hash are merely distinguished later; no representative depends on luck.

/// Mixes two words into one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    (product >> 64) as u64 ^ product as u64
}
