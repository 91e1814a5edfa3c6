//! A digest by which a graph is recognised, for example when a search on it is resumed.
//!
//! It is over counts and labels, and over the checksums of all blocks, which are read without their
//! payloads: a fraction of the file. Graphs in `.aut` files have the digest of the `.hlts` file that
//! they are read into.

use super::format::FRAME_LEN;
use super::reader::Hlts;
use crate::Error;
use crate::resources::Resources;

/// Blocks between two looks at the stop flag.
const POLL_EVERY: usize = 1 << 10;

impl Hlts {
    /// The digest of the graph. Two graphs with the same one are the same, but for an accident with a
    /// probability of 2^-32 or less.
    pub fn digest(&self, resources: &Resources<'_>) -> Result<u64, Error> {
        let counts = self.counts();
        let mut digest = Digest(u64::from(self.value_len()));
        for number in [counts.initial, counts.n_states, counts.n_edges] {
            digest.add(number);
        }
        for label in self.labels().iter() {
            digest.add(label.len() as u64);
            digest.add(u64::from(crc32c::crc32c(label)));
        }
        for (number, block) in self.edges.iter().chain(&self.values).enumerate() {
            if number.is_multiple_of(POLL_EVERY) {
                resources.poll()?;
            }
            let mut frame = [0; FRAME_LEN];
            self.read_at(&mut frame, block.at)?;
            let (checksum, rest) = frame.split_at(4);
            digest.add(u64::from(crc32c::crc32c(rest)));
            checksum
                .iter()
                .for_each(|&byte| digest.add(u64::from(byte)));
        }
        Ok(digest.0)
    }
}

/// Numbers, mixed in their order.
struct Digest(u64);

impl Digest {
    fn add(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
