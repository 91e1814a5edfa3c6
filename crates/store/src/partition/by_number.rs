//! Values by number: pairs of a number and a value, each number from 0 to `len` - 1 once and in any
//! order, read in the order of numbers.
//!
//! Numbers are partitioned into *stretches* that fit in memory, where each value is put to its place;
//! nothing is sorted.

use super::KeyList;
use super::bucket_reader::Bucketed;
use super::parts::Parts;
use super::spill::Stripes;
use crate::Error;
use crate::codec::KeyShape;
use crate::disk::Folder;

/// A value for each number: in memory, and in scratch files beyond a budget.
pub struct ByNumber {
    parts: Parts,
    len: u64,
    stretch_len: u64,
}

/// A value is a key of one word, and its number is that of the key.
const SHAPE: KeyShape = KeyShape {
    version: 0,
    n_bits: 64,
    n_words: 1,
};

impl ByNumber {
    /// No values yet, of `len`. Buffers take about `bytes` for all workers together; a stretch may take
    /// `stretch_bytes` in memory when it is read, and takes more only where `bytes` are too few for as
    /// many stretches. Without a folder everything stays in memory.
    pub fn new(
        len: u64,
        stretch_bytes: u64,
        n_workers: usize,
        bytes: u64,
        folder: Option<Folder>,
    ) -> Self {
        let most = Parts::most(SHAPE, n_workers, bytes) as u64;
        let stretch_len = (stretch_bytes / 8).max(1).max(len.div_ceil(most));
        let n_stretches = len.div_ceil(stretch_len).max(1) as usize;
        ByNumber {
            parts: Parts::new(n_stretches, SHAPE, n_workers, bytes, folder),
            len,
            stretch_len,
        }
    }

    /// Adds values by number. Each worker is one thread.
    ///
    /// # Panics
    /// If a number is not less than the length, or there are not as many values as numbers.
    pub fn put(&self, worker: usize, numbers: &[u64], values: &[u64]) -> Result<(), Error> {
        assert_eq!(numbers.len(), values.len(), "a value for each number");
        let classify = |parts: &mut Vec<u16>| {
            parts.extend(numbers.iter().map(|&number| {
                assert!(number < self.len, "numbers are less than the length");
                (number / self.stretch_len) as u16
            }));
        };
        (self.parts).put(worker, values, numbers.iter().copied(), classify)
    }

    /// Nothing more will be added. To be called before values are read.
    pub fn settle(&mut self) -> Result<(), Error> {
        self.parts.settle()
    }

    /// Numbers in a stretch.
    pub fn stretch_len(&self) -> u64 {
        self.stretch_len
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.parts.memory_bytes()
    }

    /// Reads the values in the order of numbers.
    pub fn stretches(&self) -> Stretches<'_> {
        Stretches {
            by_number: self,
            stripes: self.parts.stripes(0..self.parts.len()),
            next: 0,
            list: KeyList::default(),
            is_there: Vec::new(),
        }
    }
}

/// The values in the order of numbers, a stretch at a time.
pub struct Stretches<'a> {
    by_number: &'a ByNumber,
    stripes: Vec<Stripes>,
    next: usize,
    list: KeyList,
    /// A bit for each number of the stretch.
    is_there: Vec<u64>,
}

impl Stretches<'_> {
    /// Replaces the content of `values` by the next stretch; false at the end. An error if a number
    /// came twice, or not at all.
    pub fn next(&mut self, values: &mut Vec<u64>) -> Result<bool, Error> {
        let ByNumber {
            parts,
            len,
            stretch_len,
        } = self.by_number;
        let first = self.next as u64 * stretch_len;
        values.clear();
        if first >= *len {
            return Ok(false);
        }
        let n = (len - first).min(*stretch_len) as usize;
        values.resize(n, 0);
        self.is_there.clear();
        self.is_there.resize(n.div_ceil(64), 0);
        let damaged = || Error::Damaged {
            file: "values by number".to_owned(),
            offset: 0,
            what: "a number is missing, or there twice".to_owned(),
        };
        let (is_there, mut n_there) = (&mut self.is_there, 0);
        let (stripes, list) = (&mut self.stripes, &mut self.list);
        parts.read(self.next, stripes, list, &mut |found, numbers| {
            for (&value, &number) in found.iter().zip(numbers) {
                let at = number.wrapping_sub(first) as usize;
                let place = values.get_mut(at).ok_or_else(damaged)?;
                *place = value;
                let bit = 1 << (at % 64);
                n_there += usize::from(is_there[at / 64] & bit == 0);
                is_there[at / 64] |= bit;
            }
            Ok(())
        })?;
        let n_read = parts.n_keys(self.next);
        self.next += 1;
        match n_there == n && n_read == n as u64 {
            true => Ok(true),
            false => Err(damaged()),
        }
    }
}
