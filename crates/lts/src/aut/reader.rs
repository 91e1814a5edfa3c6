//! Reads an `.aut` file edge by edge.

use std::io::{BufRead, Read};

use super::line::{parse_edge, parse_header};
use crate::error::{AutReason, Error};
use crate::labels::Interner;
use crate::{Counts, Edge, Labels};

/// Reads an `.aut` file edge by edge, in the order of the file. Holds one line and the labels met so
/// far, whatever the size of the file.
///
/// ```
/// use hadal_lts::{AutReader, Edge};
///
/// let text = "des (0, 1, 2)\n(0, \"send(a, b)\", 1)\n";
/// let mut reader = AutReader::new(text.as_bytes(), 1 << 20)?;
/// assert_eq!(reader.counts().n_states, 2);
/// assert_eq!(reader.next_edge()?, Some(Edge::new(0, 0, 1)));
/// assert_eq!(reader.next_edge()?, None);
/// assert_eq!(reader.into_labels().text(0), "send(a, b)");
/// # Ok::<(), hadal_lts::Error>(())
/// ```
#[derive(Debug)]
pub struct AutReader<R> {
    input: R,
    counts: Counts,
    labels: Interner,
    line: Vec<u8>,
    /// Number of the line that was read last.
    line_number: u64,
    n_read: u64,
    limit_bytes: u64,
}

impl<R: BufRead> AutReader<R> {
    /// Reads the header. Labels may take `limit_bytes` of memory, and so may a line.
    pub fn new(input: R, limit_bytes: u64) -> Result<Self, Error> {
        let mut reader = AutReader {
            input,
            counts: Counts::default(),
            labels: Interner::new(limit_bytes),
            line: Vec::new(),
            line_number: 0,
            n_read: 0,
            limit_bytes,
        };
        if !reader.read_line()? {
            return Err(Error::Aut {
                line: 1,
                reason: AutReason::Empty,
            });
        }
        let header = parse_header(&reader.line);
        let [initial, n_edges, n_states] = header.map_err(|reason| reader.wrong(reason))?;
        if initial >= n_states {
            return Err(reader.wrong(AutReason::Initial { initial, n_states }));
        }
        reader.counts = Counts {
            initial,
            n_states,
            n_edges,
        };
        Ok(reader)
    }

    /// What the header declares.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The next edge; `None` behind the last, once the counts of the header are met.
    pub fn next_edge(&mut self) -> Result<Option<Edge>, Error> {
        let declared = self.counts.n_edges;
        if !self.read_line()? {
            let found = self.n_read;
            return match found < declared {
                true => Err(self.wrong(AutReason::TooFew { declared, found })),
                false => Ok(None),
            };
        }
        let parts = parse_edge(&self.line).map_err(|reason| Error::Aut {
            line: self.line_number,
            reason,
        })?;
        let (source, target, n_states) = (parts.source, parts.target, self.counts.n_states);
        for (which, state) in [("source", source), ("target", target)] {
            if state >= n_states {
                return Err(self.wrong(AutReason::Range {
                    which,
                    state,
                    n_states,
                }));
            }
        }
        if self.n_read == declared {
            return Err(self.wrong(AutReason::TooMany { declared }));
        }
        self.n_read += 1;
        let label = self.labels.intern(parts.label)?;
        Ok(Some(Edge::new(source, label, target)))
    }

    /// The labels of the edges read so far.
    pub fn into_labels(self) -> Labels {
        self.labels.into_labels()
    }

    /// Reads the next line that is not blank; `false` at the end.
    fn read_line(&mut self) -> Result<bool, Error> {
        loop {
            self.line.clear();
            let most = self.limit_bytes.saturating_add(1);
            let n = (&mut self.input)
                .take(most)
                .read_until(b'\n', &mut self.line)?;
            if n == 0 {
                return Ok(false);
            }
            self.line_number += 1;
            if n as u64 == most && self.line.last() != Some(&b'\n') {
                let limit = self.limit_bytes;
                return Err(self.wrong(AutReason::TooLong { limit }));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// An error at the line that was read last.
    fn wrong(&self, reason: AutReason) -> Error {
        Error::Aut {
            line: self.line_number,
            reason,
        }
    }
}
