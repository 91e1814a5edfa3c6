//! The values of states: strings of bytes of one length, as a model packs them.

use super::format::{FRAME_LEN, Kind};
use super::reader::{Hlts, damaged};
use crate::Error;

impl Hlts {
    /// The value of a state; `None` where states have none, or there is no such state.
    pub fn value(&self, state: u64) -> Result<Option<Vec<u8>>, Error> {
        let behind = self.values.partition_point(|block| block.first <= state);
        let Some(&place) = behind.checked_sub(1).and_then(|at| self.values.get(at)) else {
            return Ok(None);
        };
        let (_, bytes) = self.read_block(place, Kind::Values)?;
        let len = self.value_len() as usize;
        let values = &bytes[FRAME_LEN..];
        if values.len() != place.count as usize * len {
            return Err(damaged(
                place.at,
                "a block of values has another length than its count",
            ));
        }
        let position = (state - place.first) as usize;
        let value = values.chunks_exact(len).nth(position);
        Ok(value.map(<[u8]>::to_vec))
    }

    /// Passes each value to `f`, in the order of states.
    pub fn for_each_value(
        &self,
        mut f: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = self.value_len() as usize;
        for &place in &self.values {
            let (_, bytes) = self.read_block(place, Kind::Values)?;
            let values = &bytes[FRAME_LEN..];
            if values.len() != place.count as usize * len {
                let reason = "a block of values has another length than its count";
                return Err(damaged(place.at, reason));
            }
            values.chunks_exact(len).try_for_each(&mut f)?;
        }
        Ok(())
    }
}
