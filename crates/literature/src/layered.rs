//! `layered`: layers on disk, of which only recent ones are searched for duplicates (LDDD).
//!
//! Successors are looked up in a cache of whole layers in memory, the oldest of which is dropped
//! when memory is full. Those that are not there are candidates. At the end of a layer the
//! candidates of each hash bucket are sorted, and merged with the same bucket of the last L layers
//! that are no longer in memory. What is in none of them is new. So the window is the layers in
//! memory and L more; a state that was last seen before it is visited again.
//!
//! The published code cannot run as it stands, and this is what it means. The comparison in its
//! figure 3 is the wrong way round and has no test for the end of a file; the two loops over layers
//! disagree by one and leave the range for the first L layers. Figure 2 compares the first
//! candidate with one before it, adds an undefined state and stays at a candidate that is old; in
//! figure 1 the end of a layer stands outside its loop. When the layer that is being found is
//! itself dropped from memory, the code continues as if all of it were there: here such a layer is
//! looked up on disk. Start states are tested for errors too.
//!
//! Traces need no layer: each state's parent is in a log, so layers beyond the window are deleted.
//!
//! With a fixed L the search need not end; it is stopped when it only repeats itself.
//!
//! With an automatic L, no layer is deleted. L is twice the back-jump that covers nearly all
//! duplicates seen, and every eighth layer is compared with all layers, both to see far back-jumps
//! and because then only new states remain: this always ends.

use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

use hadal_model::Shape;
use hadal_report::units::{count, counted, seconds};
use hadal_search::strategy::{Halt, Run};
use hadal_search::{Error, Outcome, Reason, Stats, Strategy, Value};
use hadal_store::{Parent, hash_state};

use crate::breadth_first::{self, Forgets, Intake, Memory, Plan};
use crate::configurable::{
    Configurable, Flag, Hint, Line, ParameterError, parse_bool, usual_hint, yes_or_no,
};
use crate::distinct::{merge, sort_pieces};
use crate::explorer;
use crate::figures::{Figures, MAY_REVISIT, MAY_STOP, Visits, push_revisits};
use crate::parent_index::PARENT_BYTES;
use crate::queue;
use crate::record_dir::RecordDir;
use crate::records::{Cursor, Records};
use crate::signature::{Signatures, second_hash};
use crate::tables::AgedTable;

/// Buckets that a layer is divided into.
const N_BUCKETS: usize = 16;
/// An automatic L is checked against all layers once in this many layers.
const FULL_EVERY: u32 = 8;
/// Share of duplicates that an automatic L must have found.
const COVERED: f64 = 0.999;
const LEAST_AUTO: u32 = 2;

/// Layers on disk, of which only the last ones are read (LDDD).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layered {
    /// How many of them.
    pub layers: Layers,
    /// Whether recent layers are also kept in memory.
    pub cache: bool,
    /// Whether the distinct states are counted at the end.
    pub count_distinct: bool,
}

/// How many layers on disk [`Layered`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// This many of the last ones that are no longer in memory; older ones are deleted.
    Fixed(u32),
    /// As many as the back-jumps seen so far ask for.
    Auto,
}

impl Layers {
    /// Reads a number of layers, or `auto`.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        match text.trim() {
            "auto" => Ok(Layers::Auto),
            number => match number.parse() {
                Ok(layers) => Ok(Layers::Fixed(layers)),
                Err(_) => Err(ParameterError::Invalid(format!(
                    "`{number}` is neither a number of layers nor `auto`"
                ))),
            },
        }
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layers::Fixed(n) => n.fmt(f),
            Layers::Auto => f.write_str("auto"),
        }
    }
}

impl Default for Layered {
    fn default() -> Self {
        Layered {
            layers: Layers::Fixed(50),
            cache: true,
            count_distinct: true,
        }
    }
}

impl Strategy for Layered {
    fn name(&self) -> &'static str {
        "layered"
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("layers", self.layers.to_string()),
            ("cache", yes_or_no(self.cache)),
        ]
    }

    fn remark(&self) -> Option<&'static str> {
        match self.layers {
            Layers::Fixed(_) => Some(MAY_STOP),
            Layers::Auto => Some(MAY_REVISIT),
        }
    }

    fn least_bytes(&self, shape: &Shape, _threads: usize) -> u64 {
        explorer::least_bytes(shape)
    }

    fn search(&self, run: &Run<'_>) -> Result<Outcome, Error> {
        let signatures = Signatures::new(run);
        let key_len = signatures.key_len();
        let segment_bytes = queue::segment_bytes(run);
        // Sorting gets a quarter, and all where nothing is kept in memory.
        let rest = run.options.memory_bytes - 2 * segment_bytes;
        let sort_bytes = if self.cache { rest / 4 } else { rest };
        let state_len = run.shape.state_len;
        let stored_len = if signatures.is_exact() { 0 } else { state_len };
        let dir = RecordDir::new(run)?;
        let mut memory = LayerWindow {
            layers: self.layers,
            table: (self.cache).then(|| AgedTable::new(key_len, rest - sort_bytes)),
            complete_from: 0,
            depth: 0,
            key_len,
            state_len,
            record_len: key_len + stored_len + PARENT_BYTES,
            candidates: Vec::new(),
            refined: VecDeque::new(),
            first_kept: 0,
            sort_bytes,
            dir: dir.clone(),
            record: Vec::new(),
            n_in_memory: 0,
            n_in_layer: 0,
            n_on_disk: 0,
            back_jumps: Vec::new(),
            n_looked_at: 0,
            n_left_out: 0,
            seconds: 0.0,
        };
        memory.begin_candidates()?;
        let plan = Plan {
            queue_dir: dir.clone(),
            uncounted: dir.beside(),
            dir,
            segment_bytes,
            forgets: match self.layers {
                Layers::Fixed(_) => Forgets::ForEver,
                Layers::Auto => Forgets::AndEnds,
            },
            count_distinct: self.count_distinct,
        };
        breadth_first::search(run, plan, memory)
    }
}

impl Configurable for Layered {
    fn about(&self) -> &'static str {
        "LDDD: layers on disk, of which only the last ones are looked at"
    }

    fn flags(&self) -> &'static [Flag] {
        &[
            Flag {
                name: "layers",
                value_name: Some("L"),
                values: &[],
                help: "how many of the last layers on disk are searched for duplicates, or `auto` \
                       for as many as the search needs [default: 50]",
            },
            Flag {
                name: "no-cache",
                value_name: None,
                values: &[],
                help: "keep no recent layers in memory",
            },
        ]
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), ParameterError> {
        match parameter {
            "layers" => self.layers = Layers::parse(value)?,
            "no-cache" => self.cache = !parse_bool(value)?,
            "count-distinct" => self.count_distinct = parse_bool(value)?,
            _ => return Err(ParameterError::unknown(self.name(), parameter)),
        }
        Ok(())
    }

    fn set_variant(&mut self, variant: &str) -> Result<(), ParameterError> {
        match variant {
            "no-cache" => self.set("no-cache", "yes"),
            layers => self.set("layers", layers),
        }
    }

    fn summary(&self, outcome: &Outcome) -> Vec<Line> {
        let figures = Figures::new(self, outcome);
        let [ram, ddd] = ["duplicates_ram", "duplicates_ddd"].map(|name| figures.count(name));
        let missed = match outcome.strategy_stats.count("duplicates_missed") {
            Some(missed) => format!("{} missed", count(missed)),
            None => "those missed not counted".to_owned(),
        };
        let (ram, ddd) = (count(ram), count(ddd));
        let text = format!("{ram} in memory, {ddd} on disk, {missed}");
        let checked = counted(figures.count("layers_checked"), "layer");
        let window = format!("{checked} on disk at the end of the last layer");
        let mut lines = vec![("duplicates", text), ("looked at", window)];
        if let Some(time) = figures.seconds("seconds_trace") {
            lines.push(("trace", format!("found in {}", seconds(time))));
        }
        figures.lines(lines)
    }

    fn hint(&self, reason: Reason) -> Option<Hint> {
        match (reason, self.layers) {
            (Reason::Revisits, Layers::Fixed(_)) => Some(Hint::MoreLayers),
            _ => usual_hint(reason),
        }
    }

    fn boxed_clone(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }
}

/// Keys of a layer: bucket after bucket, sorted in each. All in one file, for there may be as many
/// layers as a process may have files open.
struct Layer {
    keys: Records,
    /// Where each bucket begins; one more for the end.
    starts: Vec<u64>,
}

impl Layer {
    /// A bucket, to be gone through.
    fn bucket(&mut self, bucket: usize) -> (&mut Records, Cursor) {
        let cursor = Cursor::within(self.starts[bucket]..self.starts[bucket + 1]);
        (&mut self.keys, cursor)
    }
}

struct LayerWindow {
    layers: Layers,
    /// Keys of recent layers with their depths.
    table: Option<AgedTable>,
    /// This layer and all after it are in memory as a whole.
    complete_from: u32,
    /// Depth of the layer that is being found.
    depth: u32,
    key_len: usize,
    state_len: usize,
    record_len: usize,
    /// By bucket: key, state where the key is not the state, and parent.
    candidates: Vec<Records>,
    /// Layers on disk from `first_kept` on.
    refined: VecDeque<Layer>,
    first_kept: u32,
    sort_bytes: u64,
    dir: RecordDir,
    record: Vec<u8>,
    n_in_memory: u64,
    n_in_layer: u64,
    n_on_disk: u64,
    /// Duplicates by the distance to the layer in which they were found.
    back_jumps: Vec<u64>,
    /// Layers in the last window.
    n_looked_at: u32,
    /// Layers outside the window, summed over all ends of layers.
    n_left_out: u64,
    seconds: f64,
}

impl LayerWindow {
    fn begin_candidates(&mut self) -> Result<(), Error> {
        self.candidates.clear();
        for _ in 0..N_BUCKETS {
            self.candidates.push(self.dir.records(self.record_len)?);
        }
        Ok(())
    }

    /// Notes a duplicate of a state at `depth`.
    fn note_jump(&mut self, depth: u32) {
        let distance = (self.depth - depth) as usize;
        if self.back_jumps.len() <= distance {
            self.back_jumps.resize(distance + 1, 0);
        }
        self.back_jumps[distance] += 1;
    }

    /// The first layer on disk to look at.
    fn window(&self) -> u32 {
        let first = match self.layers {
            Layers::Fixed(n) => self.complete_from.min(self.depth).saturating_sub(n),
            Layers::Auto if self.depth.is_multiple_of(FULL_EVERY) => 0,
            Layers::Auto => self.depth.saturating_sub(self.auto_distance()),
        };
        first.max(self.first_kept)
    }

    /// Twice the back-jump that covers nearly all duplicates seen so far.
    fn auto_distance(&self) -> u32 {
        let all: u64 = self.back_jumps.iter().sum();
        let wanted = (all as f64 * COVERED).ceil() as u64;
        let mut sum = 0;
        let covering = self.back_jumps.iter().position(|n| {
            sum += n;
            sum >= wanted
        });
        (2 * covering.unwrap_or(0) as u32).max(LEAST_AUTO)
    }

    /// Admits the candidates of a bucket that are new; appends their keys, sorted, to `refined`.
    fn detect(
        &mut self,
        bucket: usize,
        window: std::ops::Range<u32>,
        refined: &mut Records,
        intake: &mut Intake<'_>,
    ) -> Result<(), Halt> {
        let n = self.candidates[bucket].len();
        let sort_bytes = self.sort_bytes;
        let mut runs = sort_pieces(
            &mut self.candidates[bucket],
            n,
            sort_bytes,
            &self.dir,
            &|| intake.check_stop(),
        )?;
        let skip = window.start.saturating_sub(self.first_kept) as usize;
        let mut files: Vec<(u32, &mut Records, Cursor)> = window
            .zip(self.refined.iter_mut().skip(skip))
            .map(|(depth, layer)| {
                let (keys, cursor) = layer.bucket(bucket);
                (depth, keys, cursor)
            })
            .collect();
        let (key_len, state_len) = (self.key_len, self.state_len);
        let mut last: Option<Vec<u8>> = None;
        let (mut jumps, mut n_in_layer) = (Vec::new(), 0);
        let result = merge(&mut runs, &mut |record: &[u8]| -> Result<(), Halt> {
            let (rest, parent) = record.split_at(record.len() - PARENT_BYTES);
            let key = &rest[..key_len];
            if last.as_deref() == Some(key) {
                n_in_layer += 1;
                return Ok(());
            }
            last = Some(key.to_vec());
            // The most recent layer first: most duplicates are there.
            for (depth, layer, cursor) in files.iter_mut().rev() {
                if contains(cursor, layer, key, intake)? {
                    jumps.push(*depth);
                    return Ok(());
                }
            }
            refined.push(key)?;
            // The state is the key, or behind it.
            let state = &rest[rest.len() - state_len..];
            intake.admit(state, parent_from(parent))
        });
        self.n_in_layer += n_in_layer;
        self.n_on_disk += jumps.len() as u64;
        jumps.into_iter().for_each(|depth| self.note_jump(depth));
        result
    }

    /// Deletes layers that no window will have again.
    fn delete_old(&mut self) {
        if let Layers::Fixed(n) = self.layers {
            let first = self.complete_from.min(self.depth + 1).saturating_sub(n);
            while self.first_kept < first && self.refined.pop_front().is_some() {
                self.first_kept += 1;
            }
        }
    }
}

/// Whether the file has `key`. Keys are asked for in ascending order; between two of them may lie
/// the whole file.
fn contains(
    cursor: &mut Cursor,
    records: &mut Records,
    key: &[u8],
    intake: &Intake<'_>,
) -> Result<bool, Halt> {
    loop {
        intake.check_stop()?;
        match cursor.peek(records)? {
            Some(found) if found < key => cursor.advance(),
            found => return Ok(found == Some(key)),
        }
    }
}

/// A parent such that those found earlier come first in the order of bytes.
fn parent_bytes(parent: Parent) -> [u8; PARENT_BYTES] {
    let mut bytes = [0; PARENT_BYTES];
    bytes[..8].copy_from_slice(&parent.ordinal.to_be_bytes());
    bytes[8..].copy_from_slice(&parent.index.to_be_bytes());
    bytes
}

fn parent_from(bytes: &[u8]) -> Parent {
    let (mut ordinal, mut index) = ([0; 8], [0; 4]);
    ordinal.copy_from_slice(&bytes[..8]);
    index.copy_from_slice(&bytes[8..]);
    Parent {
        ordinal: u64::from_be_bytes(ordinal),
        index: u32::from_be_bytes(index),
    }
}

impl Memory for LayerWindow {
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt> {
        let key = intake.signatures.key(state);
        if let Some(table) = &mut self.table {
            if let Some(depth) = table.find(key) {
                self.n_in_memory += 1;
                self.note_jump(depth);
                return Ok(());
            }
            while !table.push(key, self.depth) {
                // The layer under way may be the oldest that is there.
                let oldest = table.oldest().unwrap_or(self.depth);
                self.complete_from = self.complete_from.max(oldest + 1);
                table.drop_oldest();
            }
        }
        let bucket = second_hash(hash_state(key)) as usize % N_BUCKETS;
        self.record.clear();
        self.record.extend_from_slice(key);
        if self.record.len() + PARENT_BYTES < self.record_len {
            self.record.extend_from_slice(state);
        }
        self.record.extend_from_slice(&parent_bytes(parent));
        Ok(self.candidates[bucket].push(&self.record)?)
    }

    fn end_layer(&mut self, depth: u32, intake: &mut Intake<'_>) -> Result<(), Halt> {
        let since = Instant::now();
        let pauses = |this: &Self, intake: &Intake<'_>| {
            this.dir.io().as_secs_f64() + intake.evaluator.seconds
        };
        let before = pauses(self, intake);
        if self.table.is_none() {
            self.complete_from = depth;
        }
        let window = self.window()..self.complete_from.min(depth);
        self.n_looked_at = window.end.saturating_sub(window.start);
        self.n_left_out += u64::from(window.start.min(window.end));
        let (mut keys, mut starts) = (self.dir.records(self.key_len)?, vec![0]);
        for bucket in 0..N_BUCKETS {
            self.detect(bucket, window.clone(), &mut keys, intake)?;
            starts.push(keys.len());
        }
        keys.finish()?;
        self.begin_candidates()?;
        self.refined.push_back(Layer { keys, starts });
        self.delete_old();
        self.depth = depth + 1;
        self.seconds += since.elapsed().as_secs_f64() - (pauses(self, intake) - before);
        Ok(())
    }

    fn data_bytes(&self) -> u64 {
        self.table.as_ref().map_or(0, AgedTable::data_bytes)
    }

    fn forgot(&self) -> bool {
        self.n_left_out > 0
    }

    fn detecting(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn duplicates(&self) -> (u64, u64) {
        (self.n_in_layer, self.n_on_disk)
    }

    fn report(&mut self, visits: &Visits, stats: &mut Stats) {
        stats.push("duplicates_ram", Value::Count(self.n_in_memory));
        stats.push(
            "duplicates_ddd",
            Value::Count(self.n_on_disk + self.n_in_layer),
        );
        if let Some(distinct) = visits.distinct {
            stats.push(
                "duplicates_missed",
                Value::Count(visits.admitted - distinct),
            );
        }
        push_revisits(visits, stats);
        stats.push("all_visited", Value::Count(u64::from(visits.all_visited)));
        stats.push("layers_checked", Value::Count(u64::from(self.n_looked_at)));
        let jumps = self.back_jumps.iter().map(|&n| n as f64).collect();
        stats.push("back_jumps", Value::Series(jumps));
    }
}
