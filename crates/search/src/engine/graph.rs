//! The graph of all states, passed on after the search: targets get their ordinals by an external join
//! of the log of edges with the log of states.
//!
//! Four steps, each on all threads but the last: keys of states and their ordinals are sorted into
//! runs; keys of targets and the numbers of their edges are partitioned; the two are joined; and what
//! comes out is brought into the order of edges. Codec and folder are those of the search; its storage
//! is given up, so that the join has all its memory.

use std::ops::Range;

use hadal_model::{PAD_BYTES, States};
use hadal_store::codec::KeyShape;
use hadal_store::disk::{Folder, STREAM_BYTES};
use hadal_store::edge_log::{EdgeHead, EdgeLog, read_heads, read_targets};
use hadal_store::join::{JoinLimits, Looked, ValueRun, join, value_runs};
use hadal_store::lock::write;
use hadal_store::partition::{ByNumber, Pairs};
use hadal_store::run::Splitters;
use hadal_store::{Log, Slice, damaged_log};

use super::{Context, Engine, Interrupt};
use crate::Error;
use crate::progress::Work;
use crate::sink::{GraphEdge, GraphFacts, GraphPart};
use crate::storage::Storage;

/// The least memory that a join gets, whatever else is held.
pub(super) const LEAST_BYTES: u64 = 64 << 10;
/// Entries in the table of a bucket, where memory allows: so many stay in the cache.
const BUCKET_ENTRIES: u64 = 8 << 10;
/// Keys sampled for each bucket.
const SAMPLE: u64 = 64;
/// Most bytes of a sample.
const SAMPLE_BYTES: u64 = 8 << 20;
/// A run of states has about this many bytes, unless there would be less than one for each thread.
const RUN_BYTES: u64 = 32 << 20;
/// Pieces for each thread that are worked on at once.
const PIECES_PER_THREAD: usize = 4;
/// A part of the graph has about this many edges, or this many states, or states of this many bytes.
const PART_EDGES: usize = 1 << 14;
const PART_STATES: u64 = 1 << 13;
const PART_BYTES: u64 = 1 << 20;
/// Parts that wait for the sink.
const PARTS_AHEAD: usize = 2;

/// Memory of the steps of a join, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Shares {
    /// Pairs that are partitioned.
    pub(crate) pairs: u64,
    /// Sorting, and tables of keys, on all threads together.
    pub(crate) tables: u64,
    /// Ordinals by the number of the edge.
    pub(crate) ordinals: u64,
    /// A stretch of these that is passed on.
    stretch: u64,
    /// Readers of files, on all threads together.
    readers: u64,
}

impl Shares {
    pub(crate) fn of(bytes: u64) -> Self {
        let part = |share: u64| bytes / 16 * share;
        Shares {
            pairs: part(6),
            tables: part(3),
            ordinals: part(4),
            stretch: part(1),
            readers: part(2),
        }
    }
}

/// What all steps refer to.
#[derive(Clone, Copy)]
pub(crate) struct Joining<'a> {
    context: Context<'a>,
    shares: Shares,
    shape: KeyShape,
    n_threads: usize,
    folder: Option<&'a Folder>,
}

impl<'a> Joining<'a> {
    /// Threads that may read pairs of `n_files` files at once.
    pub(crate) fn n_readers(&self, n_files: usize) -> usize {
        let thread_bytes = n_files.max(1) as u64 * STREAM_BYTES;
        let most = (self.shares.readers / thread_bytes).max(1);
        self.n_threads.min(most as usize)
    }

    pub(crate) fn pairs(&self, splitters: Splitters) -> Pairs {
        let folder = self.folder.cloned();
        Pairs::new(
            splitters,
            self.shape,
            self.n_threads,
            self.shares.pairs,
            folder,
        )
    }

    pub(crate) fn shares(&self) -> Shares {
        self.shares
    }

    pub(crate) fn n_threads(&self) -> usize {
        self.n_threads
    }

    pub(crate) fn folder(&self) -> Option<&'a Folder> {
        self.folder
    }

    /// Whether what is held fits, where nothing can go to disk.
    fn fits(&self, bytes: u64) -> bool {
        self.folder.is_some() || bytes <= self.shares.pairs
    }

    fn is_stopped(&self) -> bool {
        self.context.stop.is_raised()
    }
}

impl<'a> Engine<'a, '_> {
    /// Passes on the graph of all states, of which the first `n_starts` are startstates.
    pub(crate) fn give_graph(&mut self, n_starts: u64) -> Result<Option<Interrupt>, Error> {
        let Some(graph) = &mut self.graph else {
            return Ok(None);
        };
        graph.edges.end_piece()?;
        let facts = GraphFacts {
            n_states: self.states.len(),
            n_starts,
            n_edges: graph.edges.len(),
        };
        if self.states.records.first() != 0 {
            return Err(damaged_log("states").into());
        }
        self.give_up_storage()?;
        let spare = (self.context.budget.total_bytes).saturating_sub(self.held().total());
        let joining = self.joining(Shares::of(spare.max(LEAST_BYTES)));
        let gauge = self.context.gauge;
        // Each key is partitioned and looked up.
        gauge.begin_work(Work::Joining, 0, 2 * (facts.n_states + facts.n_edges));
        let ordinals = match self.ordinals_of_targets(&joining, &facts)? {
            Ok(ordinals) => ordinals,
            Err(interrupt) => return Ok(Some(interrupt)),
        };
        self.graph_bytes = ordinals.memory_bytes() + joining.shares.stretch;
        self.report_progress();
        gauge.begin_work(Work::Writing, 0, facts.n_edges);
        let halt = self.pass_on(&joining, &facts, &ordinals)?;
        gauge.end_work();
        self.graph_bytes = 0;
        Ok(halt)
    }

    /// A join of the keys of states with those of others.
    pub(crate) fn joining(&self, shares: Shares) -> Joining<'a> {
        Joining {
            context: self.context,
            shares,
            shape: self.context.keys.shape(),
            n_threads: self.pool.n_threads(),
            folder: self
                .context
                .folder
                .map(|search_folder| &search_folder.folder),
        }
    }

    /// Frees what the search needed to find states. Files that a manifest lists stay.
    pub(crate) fn give_up_storage(&mut self) -> Result<(), Error> {
        let Context {
            shape,
            keys,
            folder,
            ..
        } = self.context;
        self.window.release();
        self.batches = Vec::new();
        let folder = folder.map(|search_folder| &search_folder.folder);
        if let Storage::Resident(resident) = &mut self.storage {
            resident.give_up_flushing(folder)?;
        }
        if let (Storage::External(external), Some(folder)) = (&mut self.storage, folder) {
            folder.lent_memory().set_limit(0);
            external.tiers.evict(folder);
        }
        self.storage = Storage::resident(shape, keys, false, 0);
        if let Some(folder) = folder {
            folder.lent_memory().clear();
        }
        Ok(())
    }

    /// The ordinal of the target of every edge.
    fn ordinals_of_targets(
        &mut self,
        joining: &Joining<'_>,
        facts: &GraphFacts,
    ) -> Result<Result<ByNumber, Interrupt>, Error> {
        let Joining {
            shares, n_threads, ..
        } = *joining;
        let splitters = self.splitters(joining, facts.n_states)?;
        let runs = match self.state_runs(joining, splitters.clone(), facts.n_states)? {
            Ok(runs) => runs,
            Err(interrupt) => return Ok(Err(interrupt)),
        };
        let run_bytes: u64 = runs.iter().map(ValueRun::memory_bytes).sum();
        let pairs = match self.target_pairs(joining, splitters, run_bytes)? {
            Ok(pairs) => pairs,
            Err(interrupt) => return Ok(Err(interrupt)),
        };
        let folder = joining.folder.cloned();
        let mut ordinals = ByNumber::new(
            facts.n_edges,
            shares.stretch,
            n_threads,
            shares.ordinals,
            folder,
        );
        let n_readers = joining.n_readers(pairs.n_files() + 1);
        let limits = JoinLimits {
            n_threads: n_readers,
            table_bytes: shares.tables / n_readers as u64,
        };
        self.graph_bytes = pairs.memory_bytes() + run_bytes + shares.tables + shares.ordinals;
        self.report_progress();
        let looked: Vec<Looked<'_>> = runs.iter().map(|run| run.run().into()).collect();
        join(
            &looked,
            &pairs,
            limits,
            self.context.monitor,
            &|worker, joined| {
                match joined.missing {
                    [] => ordinals.put(worker, joined.numbers, joined.values),
                    // Every target was found before, or it would have become a state.
                    _ => Err(damaged_log("edges")),
                }
            },
        )?;
        if joining.is_stopped() {
            return Ok(Err(Interrupt::Stop));
        }
        drop(looked);
        drop((runs, pairs));
        ordinals.settle()?;
        Ok(Ok(ordinals))
    }

    /// Where the buckets of keys begin: at quantiles of a sample of all states.
    pub(crate) fn splitters(
        &mut self,
        joining: &Joining<'_>,
        n_states: u64,
    ) -> Result<Splitters, Error> {
        let Joining {
            shape,
            shares,
            n_threads,
            ..
        } = *joining;
        let most = Pairs::most_buckets(shape, n_threads, shares.pairs) as u64;
        let n_buckets = n_states.div_ceil(BUCKET_ENTRIES).clamp(1, most);
        let most_keys = SAMPLE_BYTES.min(shares.tables) / (8 * shape.n_words as u64);
        let n_wanted = (SAMPLE * n_buckets).min(most_keys).max(1);
        let (mut sample, mut keys) = (Vec::new(), Vec::new());
        let records = &mut self.states.records;
        let stride = n_states.div_ceil(n_wanted);
        let mut pieces = Pieces::new(0..n_states);
        // One key in `stride`, by the number of its state.
        while let Some((first, piece)) = pieces.next(records)? {
            let n_records = piece.n_records() as u64;
            let skipped = first.next_multiple_of(stride) - first;
            if skipped >= n_records {
                continue;
            }
            keys.clear();
            (self.context.keys.keys_of(&piece, &mut keys)).ok_or_else(|| damaged_log("states"))?;
            let wanted = keys.chunks_exact(shape.n_words).skip(skipped as usize);
            sample.extend(wanted.step_by(stride as usize).flatten());
            // The next step ends then.
            if joining.is_stopped() {
                break;
            }
        }
        let n_buckets = n_buckets.min((sample.len() / shape.n_words) as u64);
        Ok(Splitters::sample(
            shape.n_words,
            &[&sample],
            n_buckets.max(1) as usize,
        ))
    }

    /// Keys of all states with their ordinals, sorted.
    pub(crate) fn state_runs(
        &mut self,
        joining: &Joining<'_>,
        splitters: Splitters,
        n_states: u64,
    ) -> Result<Result<Vec<ValueRun>, Interrupt>, Error> {
        let Joining {
            shares, n_threads, ..
        } = *joining;
        let mut pairs = joining.pairs(splitters);
        let mut pieces = Pieces::new(0..n_states);
        let keys = self.context.keys;
        let records = &mut self.states.records;
        loop {
            let some = pieces.some(records, PIECES_PER_THREAD * n_threads)?;
            if some.is_empty() {
                break;
            }
            let failed = std::sync::RwLock::new(None);
            self.pool.each(some.into_iter(), |(first, piece), worker| {
                let mut words = Vec::new();
                let ordinals: Vec<u64> = (first..first + piece.n_records() as u64).collect();
                let pushed = match keys.keys_of(&piece, &mut words) {
                    Some(()) => pairs.push(worker.number, &words, &ordinals),
                    None => Err(damaged_log("states")),
                };
                self.context.gauge.note_worked(ordinals.len() as u64);
                if let Err(error) = pushed {
                    write(&failed).get_or_insert(error);
                }
            });
            if let Some(error) = write(&failed).take() {
                return Err(error.into());
            }
            if joining.is_stopped() {
                return Ok(Err(Interrupt::Stop));
            }
            if !joining.fits(pairs.memory_bytes()) {
                return Ok(Err(Interrupt::Memory));
            }
        }
        pairs.settle()?;
        let held_bytes = self.graph_bytes;
        self.graph_bytes = held_bytes + pairs.memory_bytes() + shares.tables;
        let n_readers = joining.n_readers(pairs.n_files() + 3);
        let pair_bytes = 8 * joining.shape.n_words as u64 + 8;
        let most_pairs = shares.tables / n_readers as u64 / (4 * pair_bytes);
        let n_runs = (n_states * pair_bytes / RUN_BYTES).max(n_readers as u64);
        let monitor = self.context.monitor;
        let runs = value_runs(
            &pairs,
            n_runs as usize,
            most_pairs.clamp(1, 1 << 24) as usize,
            n_readers,
            joining.folder,
            monitor,
        )?;
        match joining.is_stopped() {
            true => Ok(Err(Interrupt::Stop)),
            false => Ok(Ok(runs)),
        }
    }

    /// Keys of all targets with the numbers of their edges. `held_bytes` are held besides.
    fn target_pairs(
        &mut self,
        joining: &Joining<'_>,
        splitters: Splitters,
        held_bytes: u64,
    ) -> Result<Result<Pairs, Interrupt>, Error> {
        let Joining {
            shape, n_threads, ..
        } = *joining;
        let mut pairs = joining.pairs(splitters);
        let keys = self.context.keys;
        let Some(graph) = &mut self.graph else {
            return Ok(Ok(pairs));
        };
        let mut next = 0;
        loop {
            let mut some = Vec::new();
            while some.len() < PIECES_PER_THREAD * n_threads
                && let Some(piece) = graph.edges.read_piece(next)?
            {
                let first = next;
                next += piece.n_records() as u64;
                some.push((first, piece));
            }
            if some.is_empty() {
                break;
            }
            let failed = std::sync::RwLock::new(None);
            self.pool.each(some.into_iter(), |(first, piece), worker| {
                let mut words = Vec::new();
                let numbers: Vec<u64> = (first..first + piece.n_records() as u64).collect();
                let n_words = match keys.hashing {
                    Some(_) => shape.n_words,
                    None => keys.codec.shape(piece.version).n_words,
                };
                let pushed = read_targets(&piece, n_words, &mut words).and_then(|()| {
                    if keys.hashing.is_none() {
                        keys.update_codec_keys(piece.version, &mut words, 0);
                    }
                    pairs.push(worker.number, &words, &numbers)
                });
                self.context.gauge.note_worked(numbers.len() as u64);
                if let Err(error) = pushed {
                    write(&failed).get_or_insert(error);
                }
            });
            if let Some(error) = write(&failed).take() {
                return Err(error.into());
            }
            if joining.is_stopped() {
                return Ok(Err(Interrupt::Stop));
            }
            if !joining.fits(pairs.memory_bytes() + held_bytes) {
                return Ok(Err(Interrupt::Memory));
            }
        }
        pairs.settle()?;
        Ok(Ok(pairs))
    }

    /// Passes the edges on in their order.
    fn pass_on(
        &mut self,
        joining: &Joining<'_>,
        facts: &GraphFacts,
        ordinals: &ByNumber,
    ) -> Result<Option<Interrupt>, Error> {
        let Some(sink) = &mut self.sink.0 else {
            return Ok(None);
        };
        let Some(graph) = &mut self.graph else {
            return Ok(None);
        };
        sink.begin_graph(facts).map_err(Error::Sink)?;
        let with_states = sink.wants_graph_states();
        let state_len = self.context.shape.state_len;
        let mut reading = Reading {
            edges: &mut graph.edges,
            records: &mut self.states.records,
            ordinals,
            facts,
            with_states,
            context: self.context,
        };
        let mut take = |part: Part| sink.graph(&part.view(state_len)).map_err(Error::Sink);
        let halt = match joining.n_threads {
            1 => reading.read(&mut |part| take(part).map(|()| true)),
            // The sink works on a part while the next ones are read.
            _ => std::thread::scope(|scope| {
                let (send, receive) = std::sync::mpsc::sync_channel(PARTS_AHEAD);
                let reader = scope.spawn(move || {
                    let mut send = |part| Ok(send.send(part).is_ok());
                    reading.read(&mut send)
                });
                let taken = receive.iter().try_for_each(&mut take);
                // Whoever waits for a sink that has failed is told.
                drop(receive);
                let read = reader.join();
                let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                taken.and(read)
            }),
        };
        if let Some(halt) = halt? {
            return Ok(Some(halt));
        }
        sink.end_graph().map_err(Error::Sink)?;
        Ok(None)
    }
}

/// A part of the graph on its way to the sink.
struct Part {
    sources: Range<u64>,
    /// The states, and padding.
    states: Option<Vec<u8>>,
    edges: Vec<GraphEdge>,
}

impl Part {
    fn view(&self, state_len: usize) -> GraphPart<'_> {
        let n_states = (self.sources.end - self.sources.start) as usize;
        let states = self.states.as_ref();
        GraphPart {
            sources: self.sources.clone(),
            states: states.map(|states| States::new(states, state_len, n_states)),
            edges: &self.edges,
        }
    }
}

/// Receives parts; false where no more are wanted.
type EachPart<'e> = dyn FnMut(Part) -> Result<bool, Error> + 'e;

/// What the parts of the graph are made of.
struct Reading<'r> {
    edges: &'r mut EdgeLog,
    records: &'r mut Log,
    ordinals: &'r ByNumber,
    facts: &'r GraphFacts,
    with_states: bool,
    context: Context<'r>,
}

impl Reading<'_> {
    /// Reads all edges in their order.
    fn read(&mut self, give: &mut EachPart<'_>) -> Result<Option<Interrupt>, Error> {
        let GraphFacts {
            n_states, n_edges, ..
        } = *self.facts;
        let state_len = self.context.shape.state_len;
        let most_states = match self.with_states {
            true => PART_BYTES / state_len.max(1) as u64,
            false => PART_STATES,
        };
        let mut parts = Parts {
            with_states: self.with_states,
            most_states: most_states.clamp(1, PART_STATES),
            state_len,
            pieces: Pieces::new(0..n_states),
            records: &mut *self.records,
            states: Vec::new(),
            first_state: 0,
            keys: self.context.keys,
            edges: Vec::new(),
            next: 0,
            is_wanted: true,
            give,
        };
        let mut stretches = self.ordinals.stretches();
        let (mut targets, mut at_target): (Vec<u64>, usize) = (Vec::new(), 0);
        let (mut heads, mut at_head): (Vec<EdgeHead>, usize) = (Vec::new(), 0);
        let mut next = 0;
        while next < n_edges && parts.is_wanted {
            if at_head == heads.len() {
                heads.clear();
                at_head = 0;
                let piece = self.edges.read_piece(next)?;
                let piece = piece.ok_or_else(|| damaged_log("edges"))?;
                read_heads(&piece, &mut heads)?;
            }
            if at_target == targets.len() {
                at_target = 0;
                stretches.next(&mut targets)?;
            }
            let n = (heads.len() - at_head).min(targets.len() - at_target);
            if n == 0 {
                return Err(damaged_log("edges").into());
            }
            let targets = &targets[at_target..at_target + n];
            for (head, &target) in heads[at_head..at_head + n].iter().zip(targets) {
                parts.push(GraphEdge {
                    source: head.source,
                    target,
                    multiplicity: head.multiplicity,
                    rule: head.rule,
                })?;
            }
            (at_head, at_target, next) = (at_head + n, at_target + n, next + n as u64);
            self.context.gauge.note_worked(n as u64);
            if self.context.stop.is_raised() {
                return Ok(Some(Interrupt::Stop));
            }
        }
        parts.give_until(n_states)?;
        Ok(None)
    }
}

/// The pieces of a log of states, one after the other.
struct Pieces {
    left: Range<u64>,
}

impl Pieces {
    fn new(states: Range<u64>) -> Self {
        Pieces { left: states }
    }

    /// The next piece, with the ordinal of its first state.
    fn next(&mut self, records: &mut Log) -> Result<Option<(u64, Slice)>, Error> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let first = self.left.start;
        let piece = records.read_piece(first)?;
        records.evict_piece(first);
        self.left.start += piece.n_records() as u64;
        Ok(Some((first, piece)))
    }

    /// The next pieces, up to `n`.
    fn some(&mut self, records: &mut Log, n: usize) -> Result<Vec<(u64, Slice)>, Error> {
        let mut some = Vec::with_capacity(n);
        while some.len() < n
            && let Some(piece) = self.next(records)?
        {
            some.push(piece);
        }
        Ok(some)
    }
}

/// Edges that are passed on together, all of a state at once.
struct Parts<'p> {
    with_states: bool,
    /// Most states of a part.
    most_states: u64,
    state_len: usize,
    pieces: Pieces,
    records: &'p mut Log,
    /// States from `first_state` on that were read and not passed on, without padding.
    states: Vec<u8>,
    first_state: u64,
    keys: &'p hadal_store::key_space::KeySpace,
    edges: Vec<GraphEdge>,
    /// The first state that was not passed on.
    next: u64,
    is_wanted: bool,
    give: &'p mut EachPart<'p>,
}

impl Parts<'_> {
    fn push(&mut self, edge: GraphEdge) -> Result<(), Error> {
        let is_new = self
            .edges
            .last()
            .is_none_or(|last| last.source != edge.source);
        if is_new {
            let is_full = self.edges.len() >= PART_EDGES;
            if is_full || edge.source.saturating_sub(self.next) >= self.most_states {
                self.give_until(edge.source)?;
            }
        }
        self.edges.push(edge);
        Ok(())
    }

    /// Passes on the states before `end`, which all edges at hand leave.
    fn give_until(&mut self, end: u64) -> Result<(), Error> {
        let mut edges = std::mem::take(&mut self.edges);
        while self.next < end && self.is_wanted {
            let to = end.min(self.next + self.most_states);
            let n = edges.partition_point(|edge| edge.source < to);
            let behind = edges.split_off(n);
            let part = Part {
                sources: self.next..to,
                states: self.states_until(to)?,
                edges: std::mem::replace(&mut edges, behind),
            };
            self.is_wanted = (self.give)(part)?;
            self.next = to;
        }
        match edges.is_empty() || !self.is_wanted {
            true => Ok(()),
            false => Err(damaged_log("edges").into()),
        }
    }

    /// The states before `end` that were not passed on yet, and padding; reads them.
    fn states_until(&mut self, end: u64) -> Result<Option<Vec<u8>>, Error> {
        if !self.with_states {
            return Ok(None);
        }
        let mut keys = Vec::new();
        while self.pieces.left.start < end {
            let Some((_, piece)) = self.pieces.next(self.records)? else {
                break;
            };
            keys.clear();
            let decoded = self.keys.decode(&piece, &mut keys, &mut self.states);
            decoded.ok_or_else(|| damaged_log("states"))?;
        }
        let n_bytes = (end - self.first_state) as usize * self.state_len;
        if self.states.len() < n_bytes {
            return Err(damaged_log("states").into());
        }
        let behind = self.states.split_off(n_bytes);
        let mut states = std::mem::replace(&mut self.states, behind);
        states.resize(states.len() + PAD_BYTES, 0);
        self.first_state = end;
        Ok(Some(states))
    }
}
