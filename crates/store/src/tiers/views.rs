//! Runs with older layouts of keys, read as if they had the newest one.

use crate::codec::Recoder;
use crate::run::{Older, Recode, Versioned};

use super::{Layouts, Segment};

/// Runs of any version, read in the newest layout.
pub struct Views<'a> {
    newest: u32,
    n_words: usize,
    /// For each older version: from the newest to it, and back.
    older: Vec<(u32, Between<'a>, Between<'a>)>,
}

/// Recodes keys of one version into another.
struct Between<'a>(Recoder<'a>);

impl Recode for Between<'_> {
    fn recode(&self, key: &[u64], out: &mut [u64]) -> bool {
        self.0.recode(key, out)
    }
}

impl<'a> Views<'a> {
    /// Views of `segments`.
    pub fn new<'s>(segments: impl Iterator<Item = &'s Segment>, layouts: Layouts<'a>) -> Self {
        let newest = layouts.newest();
        let mut versions: Vec<u32> = segments.map(|segment| segment.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions.retain(|&version| version != newest.version);
        // Signatures have one version, so only the codec's keys get here.
        let between = |from, to| Between(layouts.recoder(from, to));
        Views {
            newest: newest.version,
            n_words: newest.n_words,
            older: versions
                .into_iter()
                .map(|version| {
                    let to = between(newest.version, version);
                    (version, to, between(version, newest.version))
                })
                .collect(),
        }
    }

    /// A run as if it had the newest layout.
    pub fn of<'s>(&'s self, segment: &'s Segment) -> Versioned<'s> {
        let older = self
            .older
            .iter()
            .find(|(version, ..)| *version == segment.version && segment.version != self.newest);
        Versioned {
            run: &segment.run,
            older: older.map(|(_, from_newest, to_newest)| Older {
                from_newest,
                to_newest,
                n_words: self.n_words,
            }),
        }
    }
}
