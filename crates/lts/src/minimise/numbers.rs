//! A number for each state or block, in a scratch file: written in order, read in ascending order.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use crate::resources::Resources;

/// Bytes of a number.
const LEN: usize = 8;

/// Numbers that are read at once.
const WINDOW: usize = 16 << 10;

/// Writes numbers in order.
pub(super) struct NumbersWriter(BufWriter<File>);

impl NumbersWriter {
    pub(super) fn new(resources: &Resources<'_>) -> io::Result<Self> {
        let file = tempfile::tempfile_in(&resources.scratch)?;
        Ok(NumbersWriter(BufWriter::with_capacity(WINDOW * LEN, file)))
    }

    pub(super) fn push(&mut self, number: u64) -> io::Result<()> {
        self.0.write_all(&number.to_le_bytes())
    }

    pub(super) fn finish(self) -> io::Result<Numbers> {
        let file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok(Numbers(file))
    }
}

/// Numbers in a file that vanishes with this.
pub(super) struct Numbers(File);

impl Numbers {
    /// A reader at the beginning.
    pub(super) fn reader(&self) -> NumbersReader<'_> {
        NumbersReader {
            file: &self.0,
            first: 0,
            window: Vec::new(),
        }
    }
}

/// Reads numbers, fast where positions ascend.
pub(super) struct NumbersReader<'f> {
    file: &'f File,
    /// Position of the first number of the window.
    first: u64,
    window: Vec<u8>,
}

impl NumbersReader<'_> {
    /// The number at a position, at which there is one.
    pub(super) fn at(&mut self, position: u64) -> io::Result<u64> {
        match self.get(position)? {
            Some(number) => Ok(number),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The number at a position; `None` behind the last.
    pub(super) fn get(&mut self, position: u64) -> io::Result<Option<u64>> {
        let in_window = |it: &Self| {
            let at = usize::try_from(position.checked_sub(it.first)?).ok()?;
            let begin = at.checked_mul(LEN)?;
            let bytes = it.window.get(begin..begin + LEN)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        if let Some(number) = in_window(self) {
            return Ok(Some(number));
        }
        self.first = position;
        self.window.resize(WINDOW * LEN, 0);
        let mut filled = 0;
        while filled < self.window.len() {
            let at = position * LEN as u64 + filled as u64;
            match self.file.read_at(&mut self.window[filled..], at) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.window.truncate(filled);
        Ok(in_window(self))
    }
}
