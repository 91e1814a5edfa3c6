//! What states have sent to states of other stretches, in a scratch file.
//!
//! Each stretch has a box: a buffer, and full buffers in the file, each of which names the one before
//! it. So a box takes no memory but its buffer, and all boxes share one file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::Cell;

/// Bytes of a message: the state that it goes to, and the cell of its sender.
pub(super) const MESSAGE_LEN: usize = 32;

/// Bytes that precede the messages of a buffer: the number of the one before it.
pub(super) const LINK_LEN: usize = 8;

/// In place of a number where there is none before.
const NONE: u64 = u64::MAX;

/// A box for each stretch.
pub(super) struct Mail {
    folder: PathBuf,
    /// Bytes of a buffer that is full.
    buffer_len: usize,
    boxes: Vec<Vec<u8>>,
    /// Made when a buffer is full for the first time.
    file: Option<File>,
    /// Buffers in the file.
    n_written: u64,
    n_waiting: u64,
}

impl Mail {
    pub(super) fn new(n_stretches: usize, buffer_len: usize, folder: PathBuf) -> Self {
        Mail {
            folder,
            buffer_len,
            boxes: vec![Vec::new(); n_stretches],
            file: None,
            n_written: 0,
            n_waiting: 0,
        }
    }

    /// Whether no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.n_waiting == 0
    }

    /// Whether none waits for a stretch.
    pub(super) fn has_none_for(&self, stretch: usize) -> bool {
        self.boxes[stretch].is_empty()
    }

    pub(super) fn send(&mut self, stretch: usize, state: u64, from: &Cell) -> io::Result<()> {
        let buffer = &mut self.boxes[stretch];
        if buffer.is_empty() {
            buffer.reserve_exact(self.buffer_len);
            buffer.extend(NONE.to_le_bytes());
        }
        if buffer.len() + MESSAGE_LEN > self.buffer_len {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(tempfile::tempfile_in(&self.folder)?),
            };
            buffer.resize(self.buffer_len, 0);
            file.write_all_at(buffer, self.n_written * self.buffer_len as u64)?;
            buffer.clear();
            buffer.extend(self.n_written.to_le_bytes());
            self.n_written += 1;
        }
        for word in [state, from[0], from[1], from[2]] {
            buffer.extend(word.to_le_bytes());
        }
        self.n_waiting += 1;
        Ok(())
    }

    /// Passes all messages for a stretch to `f`, in no order, and forgets them.
    pub(super) fn take(&mut self, stretch: usize, mut f: impl FnMut(u64, &Cell)) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.boxes[stretch]);
        while let Some((link, messages)) = buffer.split_first_chunk::<LINK_LEN>() {
            let (messages, _) = messages.as_chunks::<MESSAGE_LEN>();
            self.n_waiting -= messages.len() as u64;
            for message in messages {
                let (words, _) = message.as_chunks::<8>();
                let word = |at: usize| u64::from_le_bytes(words[at]);
                f(word(0), &[word(1), word(2), word(3)]);
            }
            let before = u64::from_le_bytes(*link);
            match &self.file {
                Some(file) if before != NONE => {
                    buffer.resize(self.buffer_len, 0);
                    file.read_exact_at(&mut buffer, before * self.buffer_len as u64)?;
                }
                _ => break,
            }
        }
        if self.is_empty() {
            // Nothing in the file is needed any more.
            self.n_written = 0;
        }
        Ok(())
    }
}
