//! One round of refinement on disk.

use crate::minimise::Tuning;
use crate::minimise::signature::{Item, hash};
use crate::numbers::{Numbers, NumbersWriter};
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

use super::inert::Inert;
use super::poll;

/// A partition that is refined, and what it is of.
pub(super) struct Round<'a> {
    pub(super) graph: &'a Hlts,
    pub(super) reversed: &'a Hlts,
    /// Only where steps may be inert.
    pub(super) inert: Option<&'a Inert>,
    /// By state, the least state of its block.
    pub(super) blocks: &'a Numbers,
    pub(super) resources: &'a Resources<'a>,
}

impl Round<'_> {
    pub(super) fn n_states(&self) -> u64 {
        self.graph.counts().n_states
    }

    /// Passes each state to `f`, with its block and what it can do at once: sorted elements (label,
    /// block), each once.
    pub(super) fn for_each_state(
        &self,
        mut f: impl FnMut(u64, u64, &[Item<u64>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut sorter = EdgeSorter::new(Within::LabelAndTarget, self.resources);
        let mut blocks = self.blocks.reader();
        self.reversed.for_each_edge(self.resources, |edge| {
            let block = blocks.at(edge.source)?;
            sorter.push(Edge::new(edge.target, edge.label, block))
        })?;
        let mut blocks = self.blocks.reader();
        let mut state = 0;
        let mut items = Vec::new();
        let mut end = |state: u64, items: &mut Vec<Item<u64>>| {
            poll(state, self.resources)?;
            f(state, blocks.at(state)?, items)?;
            items.clear();
            Ok::<(), Error>(())
        };
        sorter.finish(|edge| {
            while state < edge.source {
                end(state, &mut items)?;
                state += 1;
            }
            items.push((edge.label, edge.target));
            Ok(())
        })?;
        while state < self.n_states() {
            end(state, &mut items)?;
            state += 1;
        }
        Ok(())
    }

    /// The finer partition, and how many blocks it has.
    pub(super) fn refine(&self, seed: u64, tuning: Tuning) -> Result<(Numbers, u64), Error> {
        let mut by_class = EdgeSorter::one_of(2, Within::All, self.resources);
        let mask = u128::MAX.checked_shr(128 - tuning.hash_bits).unwrap_or(0);
        let mut push = |state: u64, block: u64, class: u128| {
            let class = class & mask;
            by_class.push(Edge {
                source: block,
                label: (class >> 64) as u32,
                target: class as u64,
                multiplicity: state,
            })
        };
        match self.inert {
            None => self.for_each_state(|state, block, items| {
                push(state, block, hash(seed, block, items))
            })?,
            Some(inert) => inert.for_each_class(self, seed, push)?,
        }
        self.blocks_of(by_class)
    }

    /// The blocks of states that were pushed in order, each as the multiplicity of an edge: those with
    /// the same source, label and target are together.
    fn blocks_of(&self, by_class: EdgeSorter<'_>) -> Result<(Numbers, u64), Error> {
        let mut by_state = EdgeSorter::one_of(2, Within::All, self.resources);
        let (mut n_blocks, mut n_seen) = (0, 0);
        let mut last: Option<(Edge, u64)> = None;
        by_class.finish(|edge| {
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
}
