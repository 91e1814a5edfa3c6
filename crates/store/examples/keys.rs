//! How long keys and the set take, and how much memory, on states from a file.
//!
//! ```text
//! cargo run --release -p hadal-store --example keys -- FILE STATE_LEN \
//!     [plain | collapse | tree] [FILL STEPS]
//! ```
//!
//! The file has states of one length, one after the other, in the order in which a search found
//! them. They are added in that order; between them each is looked up four more times, at random
//! among the last tenth of those before it, as a search meets its duplicates.
//! FILL and STEPS are those of `hadal_store::Growth`. `tree` counts the nodes of a tree of pairs
//! over words of four bytes instead, which is another way to hold wide states.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use hadal_store::codec::{Codec, Encoder, Headroom};
use hadal_store::{Growth, Keys, N_PARTITIONS, Placing, Set};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// States that are encoded at once, and blocks that are added at once.
const BLOCK_LEN: usize = 2000;
const WINDOW_BLOCKS: usize = 16;
const N_LOOKUPS: usize = 4;
const PAD_BYTES: usize = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, state_len, rest @ ..] = &args[..] else {
        eprintln!("usage: keys FILE STATE_LEN [plain | collapse | tree] [FILL STEPS]");
        std::process::exit(2);
    };
    let state_len: usize = state_len.parse().expect("a number of bytes");
    let states = std::fs::read(file).expect("a file of states");
    let n_states = states.len() / state_len;
    let numbers: Vec<usize> = rest.iter().filter_map(|arg| arg.parse().ok()).collect();
    let growth = match numbers[..] {
        [fill, steps] => Some(Growth {
            fill,
            steps,
            loose_bytes: 0,
        }),
        _ => None,
    };
    let codec = match rest.first().map(String::as_str) {
        Some("tree") => return count_tree(&states, state_len),
        Some("plain") => Codec::plain(state_len),
        Some("collapse") => Codec::collapsed(state_len, 64 << 20),
        _ => Codec::new(state_len, 64 << 20),
    };
    let mut bench = Bench::new(codec, growth);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut block = Vec::new();
    let mut in_block = 0;
    for number in 0..n_states {
        let recent = number - number / 10;
        for lookup in 0..=N_LOOKUPS {
            let chosen = match lookup {
                0 => number,
                _ => rng.random_range(recent.min(number)..=number),
            };
            block.extend_from_slice(&states[chosen * state_len..][..state_len]);
            in_block += 1;
        }
        if in_block == BLOCK_LEN || number + 1 == n_states {
            block.resize(block.len() + PAD_BYTES, 0);
            bench.take(&block, in_block);
            block.clear();
            in_block = 0;
        }
    }
    bench.add_window();
    assert_eq!(bench.set.len(), n_states as u64, "states are different");
    let in_order = bench.encode_in_order(&states, state_len);
    bench.print(n_states, in_order);
}

struct Bench {
    codec: Codec,
    encoder: Encoder,
    set: Set,
    growth: Option<Growth>,
    version: u32,
    /// Keys of the blocks that wait, and how many.
    keys: Vec<Vec<u64>>,
    sorted: Vec<Keys>,
    n_waiting: usize,
    encoding: Duration,
    adding: Duration,
    widening: Duration,
    n_versions_late: usize,
    n_operations: usize,
    n_new: u64,
    peak_bytes: u64,
}

impl Bench {
    fn new(codec: Codec, growth: Option<Growth>) -> Self {
        let shape = codec.newest();
        let set = new_set(shape.n_bits, growth);
        Bench {
            encoder: codec.encoder(),
            set,
            growth,
            version: shape.version,
            keys: vec![Vec::new(); WINDOW_BLOCKS],
            sorted: (0..WINDOW_BLOCKS).map(|_| Keys::default()).collect(),
            n_waiting: 0,
            encoding: Duration::ZERO,
            adding: Duration::ZERO,
            widening: Duration::ZERO,
            n_versions_late: 0,
            n_operations: 0,
            n_new: 0,
            peak_bytes: 0,
            codec,
        }
    }

    fn take(&mut self, states: &[u8], n_states: usize) {
        let since = cpu_time();
        let keys = &mut self.keys[self.n_waiting];
        let mut result = self.encoder.encode(&self.codec, states, n_states, keys);
        self.encoding += cpu_time() - since;
        while result.is_err() {
            // Those that wait have keys of the version before.
            self.add_window();
            self.widen();
            let keys = &mut self.keys[0];
            result = self.encoder.encode(&self.codec, states, n_states, keys);
        }
        self.n_waiting += 1;
        self.n_operations += n_states;
        if self.n_waiting == WINDOW_BLOCKS {
            self.add_window();
        }
    }

    fn widen(&mut self) {
        let since = cpu_time();
        let shape = self.codec.widen(Headroom::Roomy);
        let recoder = self.codec.recoder(self.version, shape.version);
        if shape.n_bits != 0 {
            self.set.recode(shape.n_bits, u64::MAX, 1, |key, made| {
                assert!(recoder.recode(key, made), "newer layouts have room");
            });
        }
        drop(recoder);
        self.codec.forget_older();
        self.version = shape.version;
        self.n_versions_late += usize::from(self.n_new > 100_000);
        self.widening += cpu_time() - since;
    }

    fn add_window(&mut self) {
        let since = cpu_time();
        let waiting = &self.keys[..self.n_waiting];
        for (sorted, keys) in self.sorted.iter_mut().zip(waiting) {
            sorted.fill(self.set.placing(), keys);
        }
        let sorted = &self.sorted[..self.n_waiting];
        let mut largest = 0;
        for number in 0..N_PARTITIONS {
            let mut partition = self.set.partition(number).write().expect("one thread");
            partition.add_all(sorted.iter().map(|keys| keys.cells(number)), |_, _| {
                self.n_new += 1;
            });
            largest = largest.max(partition.data_bytes());
        }
        self.n_waiting = 0;
        self.adding += cpu_time() - since;
        // Two threads may each hold an array beside its replacement.
        let bytes = self.set.data_bytes() + 2 * largest + self.codec.data_bytes();
        self.peak_bytes = self.peak_bytes.max(bytes);
    }

    /// Nanoseconds to encode a state after the one that was found before it.
    fn encode_in_order(&mut self, states: &[u8], state_len: usize) -> f64 {
        let mut best = f64::MAX;
        let n = states.len() / state_len;
        let mut keys = Vec::new();
        for _ in 0..3 {
            let since = cpu_time();
            for block in states[..(n - 1) * state_len].chunks_exact(BLOCK_LEN * state_len) {
                let begin = block.as_ptr() as usize - states.as_ptr() as usize;
                let end = (begin + block.len() + PAD_BYTES).min(states.len());
                let n_block = (end - begin - PAD_BYTES) / state_len;
                self.encoder
                    .encode(&self.codec, &states[begin..end], n_block, &mut keys)
                    .expect("all words are known");
            }
            best = best.min((cpu_time() - since).as_nanos() as f64 / n as f64);
        }
        best
    }

    fn print(&self, n_states: usize, in_order: f64) {
        let shape = self.codec.newest();
        let each = |time: Duration| time.as_nanos() as f64 / self.n_operations as f64;
        let bytes = self.set.data_bytes() + self.codec.data_bytes();
        println!(
            "{} bits, {} versions ({} beyond 100000 states, {:.2} s), {} entries, {:.2} B/state of codec",
            shape.n_bits,
            shape.version + 1,
            self.n_versions_late,
            self.widening.as_secs_f64(),
            self.codec.n_entries(),
            self.codec.data_bytes() as f64 / n_states as f64,
        );
        println!(
            "encode {:.1} ns (in order {in_order:.1}), add {:.1} ns, {:.2} B/state, peak {:.2} of it, growth {:?}",
            each(self.encoding),
            each(self.adding),
            bytes as f64 / n_states as f64,
            self.peak_bytes as f64 / bytes as f64,
            self.growth.unwrap_or(Growth::of(self.set.placing())),
        );
    }
}

fn new_set(n_bits: usize, growth: Option<Growth>) -> Set {
    let placing = Placing::new(n_bits);
    Set::with_growth(placing, growth.unwrap_or(Growth::of(placing)))
}

/// Counts the different pairs in a tree over the words of four bytes of all states: by levels, and
/// by halves.
fn count_tree(states: &[u8], state_len: usize) {
    for (name, fold) in [
        ("levels", fold_levels as fn(&[u32], &mut Tables) -> u32),
        ("halves", fold_halves),
    ] {
        let (mut tables, mut n_roots) = (Tables::default(), 0);
        for state in states.chunks_exact(state_len) {
            let big_endian = |bytes: &[u8]| bytes.iter().fold(0, |w, &b| w << 8 | u32::from(b));
            let words: Vec<u32> = state.chunks(4).map(big_endian).collect();
            tables.next = 0;
            fold(&words, &mut tables);
            n_roots += 1;
        }
        let n_all: usize = tables.pairs.iter().map(HashMap::len).sum();
        let n_inner = n_all - n_roots;
        println!(
            "by {name}: {n_roots} roots, {n_inner} inner nodes, {:.2} B/state at 8 bytes a pair",
            n_all as f64 * 8.0 / n_roots as f64,
        );
    }
}

/// A table of pairs for each place in the tree.
#[derive(Default)]
struct Tables {
    pairs: Vec<HashMap<(u32, u32), u32>>,
    /// The place that comes next.
    next: usize,
}

impl Tables {
    fn number(&mut self, left: u32, right: u32) -> u32 {
        if self.next == self.pairs.len() {
            self.pairs.push(HashMap::new());
        }
        let table = &mut self.pairs[self.next];
        self.next += 1;
        let number = table.len() as u32;
        *table.entry((left, right)).or_insert(number)
    }
}

/// Neighbours are paired, then the pairs, up to the root.
fn fold_levels(words: &[u32], tables: &mut Tables) -> u32 {
    let mut level = words.to_vec();
    while level.len() > 1 {
        let pairs = level.chunks(2);
        level = pairs
            .map(|pair| match *pair {
                [left, right] => tables.number(left, right),
                _ => pair[0],
            })
            .collect();
    }
    level[0]
}

/// The left half is paired with the right one.
fn fold_halves(words: &[u32], tables: &mut Tables) -> u32 {
    if let [word] = words {
        return *word;
    }
    let (left, right) = words.split_at(words.len() / 2);
    let (left, right) = (fold_halves(left, tables), fold_halves(right, tables));
    tables.number(left, right)
}

/// Time that this thread has run, where the system reports it in nanoseconds; else time that has
/// passed.
fn cpu_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().map(str::parse) {
        Some(Ok(nanos)) => Duration::from_nanos(nanos),
        _ => BEGIN.elapsed(),
    }
}
