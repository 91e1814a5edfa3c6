//! Numbers for each state or block, in a scratch file: written in order, read in ascending order, or
//! read and written a range at a time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use crate::resources::Resources;

/// Bytes of a number.
const LEN: usize = 8;

/// Numbers that are read at once.
const WINDOW: usize = 16 << 10;

/// Numbers that are converted at once.
const PIECE: usize = 1 << 10;

/// Writes numbers in order.
pub(crate) struct NumbersWriter(BufWriter<File>);

impl NumbersWriter {
    pub(crate) fn new(resources: &Resources<'_>) -> io::Result<Self> {
        let file = tempfile::tempfile_in(&resources.scratch)?;
        Ok(NumbersWriter(BufWriter::with_capacity(WINDOW * LEN, file)))
    }

    pub(crate) fn push(&mut self, number: u64) -> io::Result<()> {
        self.0.write_all(&number.to_le_bytes())
    }

    pub(crate) fn finish(self) -> io::Result<Numbers> {
        let file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok(Numbers(file))
    }
}

/// Numbers in a file that vanishes with this.
pub(crate) struct Numbers(File);

impl Numbers {
    /// A reader at the beginning.
    pub(crate) fn reader(&self) -> NumbersReader<'_> {
        NumbersReader {
            file: &self.0,
            first: 0,
            window: Vec::new(),
        }
    }

    /// An editor, for positions that mostly ascend.
    pub(crate) fn editor(&self) -> NumbersEditor<'_> {
        NumbersEditor {
            numbers: self,
            first: 0,
            window: Vec::new(),
            is_changed: false,
        }
    }

    /// Fills `numbers` from `first` on.
    pub(crate) fn read(&self, first: u64, numbers: &mut [u64]) -> io::Result<()> {
        let mut bytes = [0; PIECE * LEN];
        let mut at = first * LEN as u64;
        for piece in numbers.chunks_mut(PIECE) {
            let bytes = &mut bytes[..piece.len() * LEN];
            self.0.read_exact_at(bytes, at)?;
            for (number, bytes) in piece.iter_mut().zip(bytes.as_chunks().0) {
                *number = u64::from_le_bytes(*bytes);
            }
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Replaces those from `first` on.
    pub(crate) fn write(&self, first: u64, numbers: &[u64]) -> io::Result<()> {
        let mut bytes = [0; PIECE * LEN];
        let mut at = first * LEN as u64;
        for piece in numbers.chunks(PIECE) {
            let bytes = &mut bytes[..piece.len() * LEN];
            for (bytes, number) in bytes.as_chunks_mut().0.iter_mut().zip(piece) {
                *bytes = number.to_le_bytes();
            }
            self.0.write_all_at(bytes, at)?;
            at += bytes.len() as u64;
        }
        Ok(())
    }
}

/// Reads numbers, fast where positions ascend.
pub(crate) struct NumbersReader<'f> {
    file: &'f File,
    /// Position of the first number of the window.
    first: u64,
    window: Vec<u8>,
}

impl NumbersReader<'_> {
    /// The number at a position, at which there is one.
    pub(crate) fn at(&mut self, position: u64) -> io::Result<u64> {
        match self.get(position)? {
            Some(number) => Ok(number),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The number at a position; `None` behind the last.
    pub(crate) fn get(&mut self, position: u64) -> io::Result<Option<u64>> {
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

/// Replaces numbers, a window at a time.
pub(crate) struct NumbersEditor<'f> {
    numbers: &'f Numbers,
    /// Position of the first number of the window.
    first: u64,
    window: Vec<u64>,
    is_changed: bool,
}

impl NumbersEditor<'_> {
    /// Replaces the number at a position, at which there is one.
    pub(crate) fn set(&mut self, position: u64, number: u64) -> io::Result<()> {
        let in_window = position.checked_sub(self.first).map(|at| at as usize);
        let at = match in_window {
            Some(at) if at < self.window.len() => at,
            _ => {
                self.flush()?;
                let len = self.numbers.0.metadata()?.len() / LEN as u64;
                self.first = position;
                self.window
                    .resize(len.saturating_sub(position).min(PIECE as u64) as usize, 0);
                self.numbers.read(position, &mut self.window)?;
                0
            }
        };
        match self.window.get_mut(at) {
            Some(own) => *own = number,
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.is_changed = true;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_changed) {
            true => self.numbers.write(self.first, &self.window),
            false => Ok(()),
        }
    }

    /// Writes what is left. Without it, the last window is lost.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}
