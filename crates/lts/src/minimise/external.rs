//! Refinement modulo strong bisimulation where the numbers of blocks do not fit into memory.
//!
//! Nothing is looked up at random: what belongs together is brought together by sorting. A block is
//! known by its least state, so that blocks need no table. A round takes the edges in the order of
//! their targets, gives each the block of its target, sorts them by source into signatures, sorts
//! states by block and hash of the signature, and by that finds their new blocks. Numbers of blocks
//! are read and written from end to end ([`Numbers`]).
//!
//! Hashes that collide delay a split, as in memory. That the last partition is stable is tested
//! exactly: all states of a block have the same signature if and only if each element that one of
//! them has is had by as many states as the block has.

use super::Tuning;
use super::numbers::{Numbers, NumbersWriter};
use super::signature::SignatureHash;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

/// Scratch bytes for each edge and each state: runs of two sorts, and the files between them.
const EDGE_BYTES: u64 = 72;
const STATE_BYTES: u64 = 72;

/// States between two looks at the stop flag.
const POLL_EVERY: u64 = 1 << 16;

/// The least of the memory that sorting needs.
const LEAST_BYTES: u64 = 1 << 20;

/// Scratch bytes that refinement takes at most.
pub(super) fn scratch_bytes(graph: &Hlts) -> u64 {
    let counts = graph.counts();
    let edges = counts.n_edges.saturating_mul(EDGE_BYTES);
    edges.saturating_add(counts.n_states.saturating_mul(STATE_BYTES))
}

/// The graph of the coarsest stable partition's blocks, numbered in the order of their first states,
/// and the number of rounds that it took.
pub(super) fn refine(
    graph: &Hlts,
    resources: &Resources<'_>,
    tuning: Tuning,
) -> Result<(Hlts, u64), Error> {
    resources.require("sorting signatures", LEAST_BYTES)?;
    let n_states = graph.counts().n_states;
    let reversed = reversed(graph, resources)?;
    let mut first = NumbersWriter::new(resources)?;
    for state in 0..n_states {
        poll(state, resources)?;
        first.push(0)?;
    }
    let mut blocks = first.finish()?;
    let (mut n_blocks, mut n_rounds) = (1, 0);
    loop {
        n_rounds += 1;
        let stage = Stage::Refining {
            round: n_rounds,
            n_blocks,
        };
        resources.begin(stage, graph.counts().n_edges);
        let round = Round {
            graph,
            reversed: &reversed,
            blocks: &blocks,
            resources,
        };
        let (finer, n_found) = round.refine(n_rounds, tuning)?;
        if n_found == n_blocks
            && let Some(quotient) = round.quotient(n_blocks)?
        {
            return Ok((quotient, n_rounds));
        }
        (blocks, n_blocks) = (finer, n_found);
    }
}

/// The graph with all edges the other way round.
fn reversed(graph: &Hlts, resources: &Resources<'_>) -> Result<Hlts, Error> {
    resources.begin(Stage::Reversing, graph.counts().n_edges);
    let mut sorter = EdgeSorter::new(Within::LabelAndTarget, resources);
    graph.for_each_edge(resources, |edge| {
        sorter.push(Edge::new(edge.target, edge.label, edge.source))
    })?;
    let counts = graph.counts();
    Hlts::build(counts.initial, resources, |writer| {
        sorter.finish(|edge| writer.push(edge))?;
        Ok((counts.n_states, graph.labels().clone()))
    })
}

fn poll(state: u64, resources: &Resources<'_>) -> Result<(), Error> {
    match state.is_multiple_of(POLL_EVERY) {
        true => resources.poll(),
        false => Ok(()),
    }
}

/// A partition that is refined, and what it is of.
struct Round<'a> {
    graph: &'a Hlts,
    reversed: &'a Hlts,
    /// By state, the least state of its block.
    blocks: &'a Numbers,
    resources: &'a Resources<'a>,
}

impl Round<'_> {
    fn n_states(&self) -> u64 {
        self.graph.counts().n_states
    }

    /// The elements of all signatures: (state, label, block), in that order, each once.
    fn elements(&self) -> Result<EdgeSorter<'_>, Error> {
        let mut sorter = EdgeSorter::new(Within::LabelAndTarget, self.resources);
        let mut blocks = self.blocks.reader();
        self.reversed.for_each_edge(self.resources, |edge| {
            let block = blocks.at(edge.source)?;
            sorter.push(Edge::new(edge.target, edge.label, block))
        })?;
        Ok(sorter)
    }

    /// The finer partition, and how many blocks it has.
    fn refine(&self, seed: u64, tuning: Tuning) -> Result<(Numbers, u64), Error> {
        let by_signature = self.by_signature(seed, tuning)?;
        let mut by_state = EdgeSorter::new(Within::All, self.resources);
        let (mut n_blocks, mut n_seen) = (0, 0);
        let mut last: Option<(Edge, u64)> = None;
        by_signature.finish(|edge| {
            poll(n_seen, self.resources)?;
            n_seen += 1;
            let state = edge.multiplicity;
            let key = |it: &Edge| (it.source, it.label, it.target);
            let block = match &last {
                Some((other, block)) if key(other) == key(&edge) => *block,
                // States of a block come in order, so this is the least.
                _ => {
                    n_blocks += 1;
                    state
                }
            };
            last = Some((edge, block));
            by_state.push(Edge::new(state, 0, block))
        })?;
        let mut finer = NumbersWriter::new(self.resources)?;
        by_state.finish(|edge| Ok(finer.push(edge.target)?))?;
        Ok((finer.finish()?, n_blocks))
    }

    /// All states, in the order of their blocks and of hashes of their signatures: the block is the
    /// source of an edge, the hash its label and target, and the state its multiplicity. States
    /// with the same block and hash are in order.
    fn by_signature(&self, seed: u64, tuning: Tuning) -> Result<EdgeSorter<'_>, Error> {
        let mask = u128::MAX.checked_shr(128 - tuning.hash_bits).unwrap_or(0);
        let mut sorter = EdgeSorter::new(Within::All, self.resources);
        let mut blocks = self.blocks.reader();
        let mut own = blocks.at(0)?;
        let mut hash = SignatureHash::new(seed, own);
        let mut state = 0;
        let mut close = |state: u64, own: u64, hash: &SignatureHash| {
            poll(state, self.resources)?;
            let key = hash.finish() & mask;
            sorter.push(Edge {
                source: own,
                label: (key >> 64) as u32,
                target: key as u64,
                multiplicity: state,
            })
        };
        self.elements()?.finish(|edge| {
            while state < edge.source {
                close(state, own, &hash)?;
                state += 1;
                own = blocks.at(state)?;
                hash = SignatureHash::new(seed, own);
            }
            hash.add(edge.label, edge.target);
            Ok(())
        })?;
        loop {
            close(state, own, &hash)?;
            state += 1;
            if state == self.n_states() {
                return Ok(sorter);
            }
            own = blocks.at(state)?;
            hash = SignatureHash::new(seed, own);
        }
    }

    /// The graph of the blocks, or `None` where they are not stable.
    fn quotient(&self, n_blocks: u64) -> Result<Option<Hlts>, Error> {
        let resources = self.resources;
        resources.begin(Stage::Verifying, self.graph.counts().n_edges);
        let (leaders, sizes) = self.leaders()?;
        let mut blocks = self.blocks.reader();
        let mut elements = EdgeSorter::new(Within::All, resources);
        self.elements()?.finish(|edge| {
            let block = blocks.at(edge.source)?;
            elements.push(Edge::new(block, edge.label, edge.target))
        })?;
        let Some(edges) = Elements::new(&leaders, &sizes, resources).edges(elements)? else {
            return Ok(None);
        };
        // By the block that they lead to, whose number they get.
        let mut numbered = EdgeSorter::new(Within::LabelAndTarget, resources);
        let mut ranks = Ranks::new(&leaders);
        edges.finish(|edge| {
            let target = ranks.of(edge.source)?;
            numbered.push(Edge::new(edge.target, edge.label, target))
        })?;
        let initial = self.blocks.reader().at(self.graph.counts().initial)?;
        let initial = Ranks::new(&leaders).of(initial)?;
        let quotient = Hlts::build(initial, resources, |writer| {
            numbered.finish(|edge| writer.push(edge))?;
            Ok((n_blocks, self.graph.labels().clone()))
        })?;
        Ok(Some(quotient))
    }

    /// The least states of all blocks in order, and how many states each block has.
    fn leaders(&self) -> Result<(Numbers, Numbers), Error> {
        let mut members = EdgeSorter::new(Within::All, self.resources);
        let mut blocks = self.blocks.reader();
        for state in 0..self.n_states() {
            poll(state, self.resources)?;
            members.push(Edge::new(blocks.at(state)?, 0, state))?;
        }
        let mut leaders = NumbersWriter::new(self.resources)?;
        let mut sizes = NumbersWriter::new(self.resources)?;
        let mut open: Option<(u64, u64)> = None;
        members.finish(|edge| {
            match &mut open {
                Some((block, size)) if *block == edge.source => *size += 1,
                _ => {
                    if let Some((_, size)) = open {
                        sizes.push(size)?;
                    }
                    leaders.push(edge.source)?;
                    open = Some((edge.source, 1));
                }
            }
            Ok(())
        })?;
        if let Some((_, size)) = open {
            sizes.push(size)?;
        }
        Ok((leaders.finish()?, sizes.finish()?))
    }
}

/// The positions of blocks among all, which are asked for in ascending order.
struct Ranks<'n> {
    leaders: super::numbers::NumbersReader<'n>,
    next: u64,
}

impl<'n> Ranks<'n> {
    fn new(leaders: &'n Numbers) -> Self {
        Ranks {
            leaders: leaders.reader(),
            next: 0,
        }
    }

    fn of(&mut self, block: u64) -> Result<u64, Error> {
        while self.leaders.at(self.next)? != block {
            self.next += 1;
        }
        Ok(self.next)
    }
}

/// Compares the signatures of states of a block.
struct Elements<'n> {
    ranks: Ranks<'n>,
    sizes: super::numbers::NumbersReader<'n>,
    resources: &'n Resources<'n>,
}

impl<'n> Elements<'n> {
    fn new(leaders: &'n Numbers, sizes: &'n Numbers, resources: &'n Resources<'n>) -> Self {
        Elements {
            ranks: Ranks::new(leaders),
            sizes: sizes.reader(),
            resources,
        }
    }

    /// The edges of all blocks, by the block that they lead to: that is the source of each, its target
    /// the number of the block that it leaves. `None` where a block's states have different ones.
    ///
    /// `elements` are the signatures of all states, under their blocks.
    fn edges(mut self, elements: EdgeSorter<'_>) -> Result<Option<EdgeSorter<'n>>, Error> {
        let mut edges = EdgeSorter::new(Within::All, self.resources);
        let mut is_stable = true;
        let mut open: Option<(Edge, u64)> = None;
        let mut n_seen = 0;
        let mut close = |edge: &Edge, n: u64| -> Result<(), Error> {
            let rank = self.ranks.of(edge.source)?;
            is_stable &= self.sizes.at(rank)? == n;
            edges.push(Edge::new(edge.target, edge.label, rank))
        };
        elements.finish(|edge| {
            poll(n_seen, self.resources)?;
            n_seen += 1;
            match &mut open {
                Some((same, n)) if *same == edge => *n += 1,
                _ => {
                    if let Some((other, n)) = &open {
                        close(other, *n)?;
                    }
                    open = Some((edge, 1));
                }
            }
            Ok(())
        })?;
        if let Some((last, n)) = &open {
            close(last, *n)?;
        }
        Ok(is_stable.then_some(edges))
    }
}
