//! Breadth-first search over whatever a strategy remembers.
//!
//! The loop is that of the layer engine, for one thread: it takes states from a queue, makes their
//! successors and offers these to a [`Memory`], which decides which of them are new and admits
//! them, at once or later. A memory that forgets may admit a state again; it must never drop a
//! state that was not admitted before. Then states are first admitted in the order of their
//! depth, so the first finding of each kind lies as near to a startstate as any, and its trace is
//! among the shortest.

use std::time::Instant;

use hadal_model::{PAD_BYTES, States};
use hadal_search::strategy::{End, Ended, Halt, Run, Totals, Usage};
use hadal_search::{Duplicates, Error, GraphEdge, Outcome, Reason, Seconds, Sink, Stats, Value};
use hadal_store::Parent;

use crate::distinct;
use crate::evaluator::Evaluator;
use crate::explorer::{self, Explorer, block_len};
use crate::figures::Visits;
use crate::graph_log::GraphLog;
use crate::io_figures;
use crate::parent_index::{ExploredStates, NO_PARENT, ParentIndex};
use crate::queue::Queue;
use crate::record_dir::RecordDir;
use crate::records::Records;
use crate::signature::Signatures;

/// What a strategy remembers of the states it has seen.
pub(crate) trait Memory {
    /// Takes a successor, and admits it if it is known to be new.
    fn offer(&mut self, state: &[u8], parent: Parent, intake: &mut Intake<'_>) -> Result<(), Halt>;

    /// Which visit the state offered last belongs to, by the number of admitted states before it: the
    /// one that has expanded it or will do so. `None` where no numbers are held.
    fn visit(&self) -> Option<u64> {
        None
    }

    /// All successors of `state`, whose visit has this number, have been offered, and none of any state
    /// behind it.
    fn expanded(&mut self, _visit: u64, _state: &[u8]) {}

    /// All states of a layer have been expanded, so all that is new at `depth` has been offered
    /// and must now be admitted. May end the search for a reason of the strategy's own.
    fn end_layer(&mut self, depth: u32, intake: &mut Intake<'_>) -> Result<(), Halt>;

    /// Memory that it takes of the strategy's budget.
    fn data_bytes(&self) -> u64;

    /// Whether it may have forgotten a state, and so admitted one twice.
    fn forgot(&self) -> bool;

    /// Time spent on finding duplicates apart from offers, I/O left out.
    fn detecting(&self) -> Option<f64> {
        None
    }

    /// Duplicates that were only noticed among others of the layer, and on disk.
    fn duplicates(&self) -> (u64, u64) {
        (0, 0)
    }

    /// What only this strategy counts. `admitted` counts repeats, `distinct` does not, where it is
    /// known.
    fn report(&mut self, visits: &Visits, stats: &mut Stats);
}

/// Where new states go.
pub(crate) struct Intake<'a> {
    run: &'a Run<'a>,
    pub(crate) signatures: Signatures,
    pub(crate) queue: Queue,
    pub(crate) evaluator: Evaluator<'a>,
    pub(crate) parents: ParentIndex,
    /// Keys of all admitted states, for counting the different ones.
    ledger: Option<Records>,
    pub(crate) n_admitted: u64,
    /// Depth of the states that are being found.
    depth: u32,
}

impl Intake<'_> {
    /// Stops the search if its flag is raised.
    pub(crate) fn check_stop(&self) -> Result<(), Halt> {
        self.run.check_stop()
    }

    /// Admits a new state: its properties are evaluated, and expanded when its turn comes.
    pub(crate) fn admit(&mut self, state: &[u8], parent: Parent) -> Result<(), Halt> {
        self.queue.push(state)?;
        self.parents.push(parent)?;
        if let Some(ledger) = &mut self.ledger {
            ledger.push(self.signatures.key(state))?;
        }
        self.n_admitted += 1;
        self.evaluator.add(state, self.depth)
    }
}

/// Sizes of a breadth-first search.
pub(crate) struct Plan {
    /// Where the queue goes.
    pub(crate) queue_dir: RecordDir,
    /// Where everything else goes.
    pub(crate) dir: RecordDir,
    /// Where what exists only for counts and traces goes. It is not charged to the strategy.
    pub(crate) uncounted: RecordDir,
    /// Memory for each end of the queue.
    pub(crate) segment_bytes: u64,
    pub(crate) forgets: Forgets,
    /// Whether distinct states are counted at the end, where some are forgotten.
    pub(crate) count_distinct: bool,
}

/// What becomes of states that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgets {
    /// All are remembered.
    Never,
    /// Some are forgotten, but the search ends all the same, or the memory sees to that.
    AndEnds,
    /// Some are forgotten, and the search may never end.
    ForEver,
}

/// States admitted before distinct ones are first counted.
const FIRST_COUNT: u64 = 1 << 11;

/// Searches.
pub(crate) fn search<M: Memory>(run: &Run<'_>, plan: Plan, memory: M) -> Result<Outcome, Error> {
    search_for(run, plan, memory, None)
}

/// Searches, and passes the graph to `sink` if there is one. Then `memory` numbers visits.
pub(crate) fn search_for<M: Memory>(
    run: &Run<'_>,
    plan: Plan,
    memory: M,
    sink: Option<&mut dyn Sink>,
) -> Result<Outcome, Error> {
    let signatures = Signatures::new(run);
    let uncounted = &plan.uncounted;
    let graph = match sink {
        Some(sink) => Some(GraphLog::new(sink, uncounted, run.shape.state_len)?),
        None => None,
    };
    let ledger = match plan.forgets {
        Forgets::ForEver => Some(uncounted.records(signatures.key_len())?),
        Forgets::AndEnds if plan.count_distinct => Some(uncounted.records(signatures.key_len())?),
        Forgets::AndEnds | Forgets::Never => None,
    };
    let intake = Intake {
        run,
        queue: Queue::new(&plan.queue_dir, run.shape.state_len, plan.segment_bytes),
        evaluator: Evaluator::new(run),
        parents: ParentIndex::new(uncounted)?,
        signatures,
        ledger,
        n_admitted: 0,
        depth: 0,
    };
    Breadth {
        run,
        explorer: match graph {
            Some(_) => Explorer::with_multiplicities(run),
            None => Explorer::new(run),
        },
        intake,
        memory,
        plan,
        graph,
        layers: Vec::new(),
        block: Vec::new(),
        n_known: 0,
        known_starts: (0, 0),
        peak_bytes: 0,
        offering: 0.0,
        counting: 0.0,
        next_count: FIRST_COUNT,
        last_count: None,
        only_repeats: false,
    }
    .run()
}

struct Breadth<'a, 's, M> {
    run: &'a Run<'a>,
    explorer: Explorer<'a>,
    intake: Intake<'a>,
    memory: M,
    plan: Plan,
    graph: Option<GraphLog<'s>>,
    /// Sizes of the layers, without the one that is being found.
    layers: Vec<u64>,
    /// The states that are being expanded.
    block: Vec<u8>,
    /// Successors less admitted ones. Those that are not decided yet count as known.
    n_known: i64,
    /// Duplicates among startstates, which do not count.
    known_starts: (u64, u64),
    peak_bytes: u64,
    /// Time spent on offers and ends of layers, without I/O and the evaluation of properties.
    offering: f64,
    /// Time spent on counting different states before the end; it is part of that of the search.
    counting: f64,
    /// When different states are to be counted next, by the number of admitted ones.
    next_count: u64,
    /// Different states at the last count, and the depth.
    last_count: Option<(u64, usize)>,
    /// Whether everything is known to be visited, though states are left to expand.
    only_repeats: bool,
}

impl<M: Memory> Breadth<'_, '_, M> {
    fn run(mut self) -> Result<Outcome, Error> {
        let end = match self.search_layers().and_then(|end| self.pass_on_graph(end)) {
            Ok(end) => end,
            Err(Halt::Failed(error)) => return Err(error),
            Err(Halt::Enough) => unreachable!("a layer is ended before the search is"),
            Err(Halt::Stop(reason)) => {
                // What was found of the layer after the last one counts too, and its properties are evaluated.
                let depth = self.layers.len() as u32;
                if let Err(Halt::Failed(error)) = self.intake.evaluator.evaluate_pending(depth) {
                    return Err(error);
                }
                let n_found = self.intake.n_admitted - self.layers.iter().sum::<u64>();
                if n_found > 0 || self.layers.is_empty() {
                    self.layers.push(n_found);
                }
                End::Stopped(reason)
            }
        };
        self.report(end)
    }

    /// Passes the graph on if the search has visited every state.
    fn pass_on_graph(&mut self, end: End) -> Result<End, Halt> {
        if let (End::Exhausted, Some(graph)) = (&end, self.graph.take()) {
            let n_starts = self.layers.first().map_or(0, |&n| n);
            graph.pass_on(self.run, self.intake.n_admitted, n_starts)?;
        }
        Ok(end)
    }

    fn search_layers(&mut self) -> Result<End, Halt> {
        self.find_starts()?;
        let mut depth = 0;
        loop {
            let before = self.found();
            let first = self.layers.iter().sum::<u64>();
            let n_frontier = self.intake.n_admitted - first;
            self.layers.push(n_frontier);
            self.intake.depth = depth + 1;
            self.intake.evaluator.findings.begin_rank();
            self.run.begin_rank(depth, n_frontier);
            let is_cut = self.run.options.bound == Some(depth) && n_frontier > 0;
            if !is_cut {
                let expanded = match self.intake.evaluator.findings.limit() {
                    Some(limit) => self.expand(depth, first..limit, false),
                    None => self.expand(depth, first..first + n_frontier, true),
                };
                match expanded {
                    Ok(()) | Err(Halt::Enough) => {}
                    Err(halt) => return Err(halt),
                }
            }
            self.intake.evaluator.findings.end_rank();
            if self.intake.evaluator.findings.is_full() {
                return Ok(End::Violated(before));
            }
            if is_cut {
                return Err(Halt::Stop(Reason::Bound));
            }
            // No one may be listening, and that is their affair.
            self.run.end_rank();
            if self.intake.queue.is_empty() {
                return Ok(End::Exhausted);
            }
            self.look_for_repeats()?;
            depth += 1;
        }
    }

    /// Ends a search that only visits states again. If a whole layer has no state that was not
    /// admitted before that layer, then all states that were ever admitted have been expanded, and
    /// there are no others. Since different states are counted at numbers of admitted ones that
    /// double, all counting takes about as long as the last.
    fn look_for_repeats(&mut self) -> Result<(), Halt> {
        let n = self.intake.n_admitted;
        let may_repeat = self.plan.forgets == Forgets::ForEver && self.memory.forgot();
        if !may_repeat || n < self.next_count {
            return Ok(());
        }
        self.next_count = 2 * n;
        let n_layers = self.layers.len();
        // Without room for counting the search continues until something else ends it.
        let Some(distinct) = self.count_distinct(n)? else {
            return Ok(());
        };
        let before = self.last_count.replace((distinct, n_layers));
        // The first layer that ends after a count may have begun before it.
        self.only_repeats = before.is_some_and(|(n, at)| n == distinct && n_layers > at + 1);
        match self.only_repeats {
            true => Err(Halt::Stop(Reason::Revisits)),
            false => Ok(()),
        }
    }

    /// Different states among the first `n` admitted; `None` where there is no room for counting.
    fn count_distinct(&mut self, n: u64) -> Result<Option<u64>, Halt> {
        let since = Instant::now();
        let run = self.run;
        let distinct = match &mut self.intake.ledger {
            Some(ledger) => distinct::count_within(run, ledger, n, &|| run.check_stop())?,
            None => Some(n),
        };
        self.counting += since.elapsed().as_secs_f64();
        Ok(distinct)
    }

    fn find_starts(&mut self) -> Result<(), Halt> {
        self.explorer.begin(1);
        while self.explorer.fill(None)? {
            self.offer(None)?;
        }
        self.end_layer(0)?;
        self.known_starts = self.memory.duplicates();
        let n_states = self.intake.n_admitted;
        self.intake.evaluator.add_starts(&self.explorer, n_states)
    }

    /// Expands the states with these ordinals, which are next in the queue, and finds the next
    /// layer if that is wanted.
    fn expand(
        &mut self,
        depth: u32,
        ordinals: std::ops::Range<u64>,
        goes_on: bool,
    ) -> Result<(), Halt> {
        let mut first = ordinals.start;
        while first < ordinals.end {
            let most = block_len(self.run) as u64;
            let n = most.min(ordinals.end - first) as usize;
            let mut block = std::mem::take(&mut self.block);
            block.clear();
            for _ in 0..n {
                self.intake.queue.pop_onto(&mut block)?;
            }
            block.resize(block.len() + PAD_BYTES, 0);
            let result = self.expand_block(depth, first, &block, n, goes_on);
            self.block = block;
            result?;
            first += n as u64;
        }
        match goes_on {
            true => self.end_layer(depth + 1),
            false => Ok(()),
        }
    }

    fn expand_block(
        &mut self,
        depth: u32,
        first: u64,
        block: &[u8],
        n: usize,
        goes_on: bool,
    ) -> Result<(), Halt> {
        let states = States::new(block, self.run.shape.state_len, n);
        if let Some(graph) = &mut self.graph {
            graph.push_states(states)?;
        }
        self.explorer.begin(n);
        let offered = self.offer_all(first, states, goes_on);
        if !self.explorer.is_done() {
            return offered;
        }
        // Also where the memory has no room for what they led to.
        for (ordinal, source) in (first..).zip(self.explorer.successors().sources()) {
            self.intake
                .evaluator
                .findings
                .add_source(ordinal, depth, source);
        }
        offered?;
        match self.intake.evaluator.findings.is_full() {
            true => Err(Halt::Enough),
            false => Ok(()),
        }
    }

    /// Makes all successors of `states`, and offers them if that is wanted.
    fn offer_all(&mut self, first: u64, states: States<'_>, goes_on: bool) -> Result<(), Halt> {
        let mut n_ended = 0;
        while self.explorer.fill(Some(states))? {
            if goes_on {
                n_ended = self.offer(Some((first, states, n_ended)))?;
            }
        }
        if goes_on {
            for at in n_ended..states.len() {
                self.memory.expanded(first + at as u64, states.get(at));
            }
        }
        Ok(())
    }

    /// Offers the successors of some states (of the startstate, if there are none). Given and
    /// returned with the states is the number of those whose successors have all been offered.
    fn offer(&mut self, sources: Option<(u64, States<'_>, usize)>) -> Result<usize, Halt> {
        let Breadth {
            explorer,
            intake,
            memory,
            graph,
            ..
        } = self;
        let (since, before) = (Instant::now(), pauses(intake, &self.plan));
        let n_before = intake.n_admitted;
        let successors = explorer.successors();
        let mut n_ended = sources.map_or(0, |(_, _, n_ended)| n_ended);
        for at in 0..successors.len() {
            let source = successors.source_of(at) as usize;
            let ordinal = match sources {
                None => NO_PARENT,
                Some((first, states, _)) => {
                    while n_ended < source {
                        memory.expanded(first + n_ended as u64, states.get(n_ended));
                        n_ended += 1;
                    }
                    first + source as u64
                }
            };
            let index = successors.index(at);
            memory.offer(successors.state(at), Parent { ordinal, index }, intake)?;
            if let (Some(graph), Some(_)) = (&mut *graph, sources) {
                graph.push_edge(GraphEdge {
                    source: ordinal,
                    target: memory.visit().expect("visits are numbered for a graph"),
                    multiplicity: successors.multiplicity(at),
                    rule: successors.rule(at),
                })?;
            }
        }
        intake.evaluator.evaluate_pending(intake.depth)?;
        if sources.is_some() {
            self.n_known += successors.len() as i64 - (intake.n_admitted - n_before) as i64;
        }
        self.offering +=
            since.elapsed().as_secs_f64() - (pauses(&self.intake, &self.plan) - before);
        self.note();
        Ok(n_ended)
    }

    fn end_layer(&mut self, depth: u32) -> Result<(), Halt> {
        let (since, before) = (Instant::now(), pauses(&self.intake, &self.plan));
        let n_before = self.intake.n_admitted;
        self.memory.end_layer(depth, &mut self.intake)?;
        self.intake.evaluator.evaluate_pending(self.intake.depth)?;
        if depth > 0 {
            self.n_known -= (self.intake.n_admitted - n_before) as i64;
        }
        self.offering +=
            since.elapsed().as_secs_f64() - (pauses(&self.intake, &self.plan) - before);
        self.note();
        Ok(())
    }

    fn note(&mut self) {
        let bytes = self.memory.data_bytes() + self.intake.queue.data_bytes();
        self.peak_bytes = self.peak_bytes.max(bytes);
        let disk_bytes = self.plan.dir.now_bytes();
        self.run
            .note_states(self.intake.n_admitted, bytes, disk_bytes);
    }

    /// What is known so far.
    fn found(&self) -> Totals {
        let (mut layer, mut disk) = self.memory.duplicates();
        layer -= self.known_starts.0;
        disk -= self.known_starts.1;
        let duplicates = Duplicates {
            memory: (self.n_known.max(0) as u64).saturating_sub(layer + disk),
            layer,
            disk,
        };
        explorer::totals(&self.explorer, &self.intake.evaluator, duplicates)
    }

    fn report(mut self, end: End) -> Result<Outcome, Error> {
        let totals = self.found();
        let seconds = self.run.seconds();
        let admitted = self.layers.iter().sum::<u64>();
        let forgot = self.memory.forgot();
        let distinct = match &mut self.intake.ledger {
            _ if !forgot => Some(admitted),
            Some(ledger) if self.plan.count_distinct => {
                distinct::count_at_end(self.run, &end, ledger, admitted)?
            }
            _ => None,
        };
        let mut stats = Stats::default();
        let visits = Visits {
            admitted,
            distinct,
            all_visited: self.only_repeats || matches!(end, End::Exhausted),
            max_queue: self.intake.queue.max_len,
            state_len: self.run.shape.state_len,
        };
        self.memory.report(&visits, &mut stats);
        let Breadth {
            run,
            explorer,
            intake,
            layers,
            ..
        } = self;
        let depth = layers.len().saturating_sub(1) as u32;
        let omission = intake.signatures.push_omission(admitted, depth, &mut stats);
        stats.push("queue_max", Value::Count(visits.max_queue));
        stats.push("shortest_trace", Value::Count(1));
        let detecting = self.memory.detecting();
        let inserting = (self.offering - detecting.unwrap_or(0.0)).max(0.0);
        stats.push("seconds_generation", Value::Seconds(explorer.seconds));
        stats.push("seconds_insertion", Value::Seconds(inserting));
        if let Some(detecting) = detecting {
            stats.push("seconds_detection", Value::Seconds(detecting));
        }
        stats.push("seconds_judging", Value::Seconds(intake.evaluator.seconds));
        let io_wait = io_figures::io_seconds(&self.plan.dir, &self.plan.queue_dir);
        io_figures::push_io(&self.plan.dir, io_wait, &mut stats);
        if self.plan.forgets != Forgets::Never {
            stats.push("seconds_counting", Value::Seconds(self.counting));
        }
        let ended = Ended {
            end,
            totals,
            findings: intake.evaluator.findings,
            states: distinct.unwrap_or(admitted),
            states_exact: !forgot,
            depth,
            layers,
            omission,
            remarks: explorer.remarks(),
            stats,
        };
        let usage = Usage {
            data_bytes: self.peak_bytes,
            disk: io_figures::disk_use(&self.plan.dir),
            seconds: Seconds {
                search: seconds,
                expand: explorer.seconds,
                insert: inserting,
                check: intake.evaluator.seconds,
                io_wait,
                ..Seconds::default()
            },
        };
        let parents = intake.parents;
        run.conclude(ended, &mut ExploredStates { parents, usage })
    }
}

/// Time that is not the memory's own.
fn pauses(intake: &Intake<'_>, plan: &Plan) -> f64 {
    io_figures::io_seconds(&plan.dir, &plan.queue_dir) + intake.evaluator.seconds
}
