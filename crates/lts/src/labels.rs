//! The table of labels: each text once, edges hold its number.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::Error;

/// The labels of a graph by number. A label is a string of bytes, for files written by others need
/// not be Unicode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    texts: Vec<Box<[u8]>>,
}

impl Labels {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The text of a label.
    ///
    /// # Panics
    /// Where there is no label of this number.
    pub fn bytes(&self, label: u32) -> &[u8] {
        &self.texts[label as usize]
    }

    /// The text of a label for people.
    ///
    /// # Panics
    /// Where there is no label of this number.
    pub fn text(&self, label: u32) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(label))
    }

    /// The texts in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(|text| &**text)
    }

    /// Appends a label, which may equal another one. `None` where there is no number for it.
    pub fn push(&mut self, text: &[u8]) -> Option<u32> {
        // The last number is never a label, so that algorithms have one to spare.
        let number = u32::try_from(self.texts.len()).ok()?;
        if number == u32::MAX {
            return None;
        }
        self.texts.push(text.into());
        Some(number)
    }

    /// The number of a label.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        let position = self.texts.iter().position(|it| **it == *text)?;
        Some(position as u32)
    }

    /// Which labels are invisible, by number: those with one of the `texts`.
    pub fn invisible(&self, texts: &[String]) -> Invisible {
        let is_one = |label: &[u8]| texts.iter().any(|text| text.as_bytes() == label);
        Invisible {
            labels: self.iter().map(is_one).collect(),
        }
    }
}

/// Which labels of a graph are invisible: the conventions (`i`, `tau`) differ between tools.
#[derive(Clone, Debug, Default)]
pub struct Invisible {
    labels: Vec<bool>,
}

impl Invisible {
    /// The labels that are invisible by convention: CADP's and mCRL2's.
    pub const DEFAULT: [&str; 2] = ["i", "tau"];

    /// Whether a label is invisible.
    pub fn contains(&self, label: u32) -> bool {
        self.labels.get(label as usize).is_some_and(|&it| it)
    }

    /// The least number of an invisible label.
    pub fn first(&self) -> Option<u32> {
        let first = self.labels.iter().position(|&it| it)?;
        Some(first as u32)
    }
}

/// A table of labels that grows as texts are met, within a limit of memory.
#[derive(Debug)]
pub struct Interner {
    labels: Labels,
    numbers: FxHashMap<Box<[u8]>, u32>,
    held_bytes: u64,
    limit_bytes: u64,
}

/// What a label takes beside its text, which is held twice.
const ENTRY_BYTES: u64 = 96;

impl Interner {
    /// An empty table that may hold `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Interner {
            labels: Labels::new(),
            numbers: FxHashMap::default(),
            held_bytes: 0,
            limit_bytes,
        }
    }

    /// The number of a text, a new one where it has none.
    pub fn intern(&mut self, text: &[u8]) -> Result<u32, Error> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(number);
        }
        let full = Error::LabelMemory {
            limit: self.limit_bytes,
        };
        self.held_bytes += 2 * text.len() as u64 + ENTRY_BYTES;
        if self.held_bytes > self.limit_bytes {
            return Err(full);
        }
        let number = self.labels.push(text).ok_or(full)?;
        self.numbers.insert(text.into(), number);
        Ok(number)
    }

    /// The table.
    pub fn into_labels(self) -> Labels {
        self.labels
    }
}
