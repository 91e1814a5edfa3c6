//! Merging sorted rows of runs.
//!
//! Rows are merged pairwise, the two shortest first, and the result with the next: each key takes
//! part in few merges, and most keys, which are in the largest row, in one. A pairwise merge is a
//! loop without unpredictable branches, and keys of one side that precede all of the other are
//! copied together.

use std::cmp::Reverse;
use std::hint::select_unpredictable;
use std::mem;

use super::batch::key;
use super::merge_keys;
use super::row::Row;
use crate::Error;

/// Keys that are copied or merged between checks which of the two is better.
const STRETCH: usize = 16;

/// The keys of several rows, ascending and distinct.
pub(crate) struct Merge<'a> {
    n_words: usize,
    /// Keys that are merged at once.
    batch_keys: usize,
    all: Stream<'a>,
}

/// Ascending keys, some of them buffered.
#[derive(Default)]
struct Stream<'a> {
    source: Source<'a>,
    keys: Vec<u64>,
    /// The first word of the keys that is not consumed.
    at: usize,
}

/// Where the keys of a stream come from.
enum Source<'a> {
    Row(Box<Row<'a>>),
    Two(Box<[Stream<'a>; 2]>),
}

impl Default for Source<'_> {
    fn default() -> Self {
        Source::Row(Box::default())
    }
}

impl<'a> Merge<'a> {
    /// Merges `rows`, whose keys all have `n_words` words.
    pub(crate) fn new(n_words: usize, rows: Vec<Row<'a>>) -> Self {
        let batch_keys = merge_keys(n_words, rows.len());
        let mut streams: Vec<(u64, Stream<'a>)> = rows
            .into_iter()
            .map(|mut row| {
                row.limit_batch(batch_keys);
                (row.n_blocks(), Stream::new(Source::Row(Box::new(row))))
            })
            .collect();
        let all = loop {
            streams.sort_by_key(|(n_blocks, _)| Reverse(*n_blocks));
            let Some((n_shortest, shortest)) = streams.pop() else {
                break Stream::default();
            };
            let Some((n_next, next)) = streams.pop() else {
                break shortest;
            };
            let two = Stream::new(Source::Two(Box::new([next, shortest])));
            streams.push((n_shortest + n_next, two));
        };
        Merge {
            n_words,
            batch_keys,
            all,
        }
    }

    /// The next keys, up to some thousand; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u64]>, Error> {
        self.all.at = self.all.keys.len();
        let more = match self.n_words {
            1 => self.all.fill::<1>(1, self.batch_keys)?,
            2 => self.all.fill::<2>(2, self.batch_keys)?,
            3 => self.all.fill::<3>(3, self.batch_keys)?,
            4 => self.all.fill::<4>(4, self.batch_keys)?,
            n_words => self.all.fill::<0>(n_words, self.batch_keys)?,
        };
        Ok(more.then(|| self.all.at_hand()))
    }
}

impl<'a> Stream<'a> {
    fn new(source: Source<'a>) -> Self {
        Stream {
            source,
            keys: Vec::new(),
            at: 0,
        }
    }

    fn at_hand(&self) -> &[u64] {
        &self.keys[self.at..]
    }

    /// Ensures that keys are buffered; false at the end.
    fn fill<const W: usize>(&mut self, n_words: usize, batch_keys: usize) -> Result<bool, Error> {
        if self.at < self.keys.len() {
            return Ok(true);
        }
        self.keys.clear();
        self.at = 0;
        let two = match &mut self.source {
            Source::Row(row) => return row.next(&mut self.keys),
            Source::Two(two) => two,
        };
        while self.keys.len() < batch_keys * n_words {
            let [a, b] = &mut **two;
            let more_a = a.fill::<W>(n_words, batch_keys)?;
            let more_b = b.fill::<W>(n_words, batch_keys)?;
            if more_a && more_b {
                let n_most = batch_keys - self.keys.len() / n_words;
                let (a_keys, b_keys) = (a.at_hand(), b.at_hand());
                let taken = merge::<W>(n_words, a_keys, b_keys, n_most, &mut self.keys);
                a.at += taken.0 * n_words;
                b.at += taken.1 * n_words;
            } else if self.keys.is_empty() {
                // One has ended: from now on this is the other.
                *self = mem::take(if more_a { a } else { b });
                return Ok(more_a || more_b);
            } else {
                break;
            }
        }
        Ok(true)
    }
}

/// Appends the union of `a` and `b` to `out`, until one ends or `n_most` keys are appended; returns
/// how many keys of each are in it. `W` is the number of words, or 0 if only known at run time.
fn merge<const W: usize>(
    n_words: usize,
    a: &[u64],
    b: &[u64],
    n_most: usize,
    out: &mut Vec<u64>,
) -> (usize, usize) {
    let n_words = if W == 0 { n_words } else { W };
    let (n_a, n_b) = (a.len() / n_words, b.len() / n_words);
    let (mut at_a, mut at_b) = (0, 0);
    let mut at = out.len();
    let end = at + n_most * n_words;
    out.resize(end, 0);
    loop {
        let n_steps = (n_a - at_a).min(n_b - at_b).min((end - at) / n_words);
        let n_steps = n_steps.min(STRETCH);
        if n_steps == 0 {
            break;
        }
        let place = &mut out[at..at + n_steps * n_words];
        at += place.len();
        // Neither ends within this many steps.
        if is_less::<W>(key(a, n_words, at_a + n_steps - 1), key(b, n_words, at_b)) {
            place.copy_from_slice(&a[at_a * n_words..(at_a + n_steps) * n_words]);
            at_a += n_steps;
        } else if is_less::<W>(key(b, n_words, at_b + n_steps - 1), key(a, n_words, at_a)) {
            place.copy_from_slice(&b[at_b * n_words..(at_b + n_steps) * n_words]);
            at_b += n_steps;
        } else {
            for place in place.chunks_exact_mut(n_words) {
                let (key_a, key_b) = (key(a, n_words, at_a), key(b, n_words, at_b));
                let takes_a = !is_less::<W>(key_b, key_a);
                let takes_b = !is_less::<W>(key_a, key_b);
                for i in 0..n_words {
                    place[i] = select_unpredictable(takes_a, key_a[i], key_b[i]);
                }
                at_a += usize::from(takes_a);
                at_b += usize::from(takes_b);
            }
        }
    }
    out.truncate(at);
    (at_a, at_b)
}

/// Whether key `a` comes before `b`: two words at once and without a branch, which would be
/// mispredicted half of the time.
#[inline(always)]
pub(crate) fn is_less<const W: usize>(a: &[u64], b: &[u64]) -> bool {
    if W == 0 {
        return a < b;
    }
    let (a, b) = (&a[..W], &b[..W]);
    let mut is_less = false;
    for (a, b) in a.rchunks(2).zip(b.rchunks(2)) {
        let (a, b) = (number(a), number(b));
        is_less = (a < b) | ((a == b) & is_less);
    }
    is_less
}

/// Up to two words as one number.
#[inline(always)]
fn number(words: &[u64]) -> u128 {
    let (high, low) = match *words {
        [low] => (0, low),
        [high, low] => (high, low),
        _ => unreachable!("words come in chunks of one or two"),
    };
    u128::from(high) << 64 | u128::from(low)
}

/// Whether two keys are the same.
#[inline(always)]
pub(crate) fn is_equal<const W: usize>(a: &[u64], b: &[u64]) -> bool {
    if W == 0 {
        return a == b;
    }
    let (a, b) = (&a[..W], &b[..W]);
    let mut differs = 0;
    for i in 0..W {
        differs |= a[i] ^ b[i];
    }
    differs == 0
}
