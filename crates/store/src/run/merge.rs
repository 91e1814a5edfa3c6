//! Many sorted inputs as one.

use super::RunKeys;
use super::batch::key;
use crate::Error;

/// Keys given at once.
const BATCH_KEYS: usize = 1024;

/// The keys of several runs, ascending and distinct.
pub(crate) struct Merge<'a> {
    inputs: Vec<Input<'a>>,
    n_words: usize,
    /// Inputs that are not at their end: a heap by their next keys. Empty before the first batch.
    heap: Vec<u32>,
    is_started: bool,
}

struct Input<'a> {
    run: RunKeys<'a>,
    keys: Vec<u64>,
    /// The next of the keys, and their number.
    at: usize,
    end: usize,
}

impl<'a> Merge<'a> {
    /// Merges `inputs`, whose keys all have `n_words` words.
    ///
    /// # Panics
    /// If an input has keys of another length.
    pub(crate) fn new(n_words: usize, inputs: Vec<RunKeys<'a>>) -> Self {
        assert!(
            inputs.iter().all(|input| input.n_words() == n_words),
            "keys that are merged have one length"
        );
        Merge {
            n_words,
            heap: Vec::with_capacity(inputs.len()),
            is_started: false,
            inputs: inputs
                .into_iter()
                .map(|run| Input {
                    run,
                    keys: Vec::new(),
                    at: 0,
                    end: 0,
                })
                .collect(),
        }
    }

    fn start<const W: usize>(&mut self) -> Result<(), Error> {
        self.is_started = true;
        for number in 0..self.inputs.len() {
            if self.inputs[number].refill(self.n_words)? {
                self.heap.push(number as u32);
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down::<W>(at);
        }
        Ok(())
    }

    /// The next key of the input at `at` in the heap.
    #[inline(always)]
    fn head<const W: usize>(&self, at: usize) -> &[u64] {
        let n_words = if W == 0 { self.n_words } else { W };
        let input = &self.inputs[self.heap[at] as usize];
        key(&input.keys, n_words, input.at)
    }

    #[inline(always)]
    fn sift_down<const W: usize>(&mut self, mut at: usize) {
        loop {
            let mut least = 2 * at + 1;
            if least >= self.heap.len() {
                return;
            }
            if least + 1 < self.heap.len()
                && is_less::<W>(self.head::<W>(least + 1), self.head::<W>(least))
            {
                least += 1;
            }
            if !is_less::<W>(self.head::<W>(least), self.head::<W>(at)) {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Goes on in the input at the top of the heap.
    #[inline(always)]
    fn advance<const W: usize>(&mut self) -> Result<(), Error> {
        let input = &mut self.inputs[self.heap[0] as usize];
        input.at += 1;
        if input.at == input.end && !input.refill(self.n_words)? {
            self.heap.swap_remove(0);
        }
        self.sift_down::<W>(0);
        Ok(())
    }

    fn fill<const W: usize>(&mut self, out: &mut Vec<u64>) -> Result<(), Error> {
        let n_words = if W == 0 { self.n_words } else { W };
        if !self.is_started {
            self.start::<W>()?;
        }
        while out.len() < BATCH_KEYS * n_words {
            match self.heap.len() {
                0 => return Ok(()),
                1 => return self.take_last_input(out),
                2 => {
                    self.fill_from_two::<W>(out)?;
                    continue;
                }
                _ => {}
            }
            let from = out.len();
            out.extend_from_slice(self.head::<W>(0));
            self.advance::<W>()?;
            while !self.heap.is_empty() && is_equal::<W>(self.head::<W>(0), &out[from..]) {
                self.advance::<W>()?;
            }
        }
        Ok(())
    }

    /// Appends keys of the two inputs that are left until one has no more at hand, or there are
    /// enough. Most merges are of two, and this takes a branch for each key that can be foretold.
    fn fill_from_two<const W: usize>(&mut self, out: &mut Vec<u64>) -> Result<(), Error> {
        let n_words = if W == 0 { self.n_words } else { W };
        let [first, second] = [self.heap[0], self.heap[1]].map(|input| input as usize);
        let (a, b) = (&self.inputs[first], &self.inputs[second]);
        let (mut at_a, mut at_b) = (a.at, b.at);
        let n_most = (a.end - at_a).min(b.end - at_b);
        let n_most = n_most.min(BATCH_KEYS);
        out.reserve(n_most * n_words);
        // No input comes to its end within so many steps.
        for _ in 0..n_most {
            let (key_a, key_b) = (key(&a.keys, n_words, at_a), key(&b.keys, n_words, at_b));
            let takes_a = !is_less::<W>(key_b, key_a);
            let takes_b = !is_less::<W>(key_a, key_b);
            out.extend_from_slice(if takes_a { key_a } else { key_b });
            at_a += usize::from(takes_a);
            at_b += usize::from(takes_b);
        }
        for (input, at) in [(first, at_a), (second, at_b)] {
            let n_words = self.n_words;
            let input = &mut self.inputs[input];
            input.at = at;
            if at == input.end && !input.refill(n_words)? {
                input.end = 0;
            }
        }
        // An input at its end leaves the heap.
        let inputs = &self.inputs;
        self.heap.retain(|&input| inputs[input as usize].end > 0);
        if self.heap.len() == 2 {
            self.sift_down::<W>(0);
        }
        Ok(())
    }

    /// Appends what the only input left has at hand.
    fn take_last_input(&mut self, out: &mut Vec<u64>) -> Result<(), Error> {
        let input = &mut self.inputs[self.heap[0] as usize];
        out.extend_from_slice(&input.keys[input.at * self.n_words..]);
        if !input.refill(self.n_words)? {
            self.heap.clear();
        }
        Ok(())
    }
}

impl Input<'_> {
    fn refill(&mut self, n_words: usize) -> Result<bool, Error> {
        let more = self.run.next(&mut self.keys)?;
        (self.at, self.end) = (0, self.keys.len() / n_words);
        Ok(more && self.end > 0)
    }
}

impl Merge<'_> {
    /// Replaces what is in `keys` by the next keys; false, and no keys, at the end.
    pub(crate) fn next(&mut self, keys: &mut Vec<u64>) -> Result<bool, Error> {
        keys.clear();
        match self.n_words {
            1 => self.fill::<1>(keys)?,
            2 => self.fill::<2>(keys)?,
            3 => self.fill::<3>(keys)?,
            4 => self.fill::<4>(keys)?,
            _ => self.fill::<0>(keys)?,
        }
        Ok(!keys.is_empty())
    }
}

/// Whether key `a` comes before `b`: by subtraction, for a branch on the first words would be
/// unpredictable as often as not.
#[inline(always)]
pub(crate) fn is_less<const W: usize>(a: &[u64], b: &[u64]) -> bool {
    if W == 0 {
        return a < b;
    }
    let (a, b) = (&a[..W], &b[..W]);
    let mut borrow = false;
    for i in (0..W).rev() {
        (_, borrow) = a[i].borrowing_sub(b[i], borrow);
    }
    borrow
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
