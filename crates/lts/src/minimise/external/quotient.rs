//! The graph of the blocks of a partition on disk, and the exact test that the partition is stable.
//!
//! States without inert steps of a block have the same signature if and only if each element that one
//! of them has is had by as many of them as there are. Elements of the other states must be among
//! these.

use crate::numbers::{Numbers, NumbersReader, NumbersWriter};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

use super::inert::ElementsWriter;
use super::poll;
use super::round::Round;

/// The graph of the blocks, or `None` where they are not stable.
pub(super) fn verified(round: &Round<'_>, n_blocks: u64) -> Result<Option<Hlts>, Error> {
    let resources = round.resources;
    resources.begin(Stage::Verifying, round.graph.counts().n_edges);
    let mut members = EdgeSorter::one_of(3, Within::All, resources);
    let mut elements = EdgeSorter::one_of(3, Within::All, resources);
    let mut of_others = EdgeSorter::one_of(3, Within::LabelAndTarget, resources);
    let mut rest = Vec::new();
    round.for_each_state(|state, block, items| {
        let (is_inert, items) = match round.inert {
            Some(inert) => inert.take_inert(block, items, &mut rest),
            None => (false, items),
        };
        members.push(Edge::new(block, u32::from(is_inert), state))?;
        let elements = match is_inert {
            false => &mut elements,
            true => &mut of_others,
        };
        let mut items = items.iter();
        items.try_for_each(|&(label, target)| elements.push(Edge::new(block, label, target)))
    })?;
    let (leaders, sizes) = leaders(members, resources)?;
    let comparison = Comparison {
        ranks: Ranks::new(&leaders),
        sizes: sizes.reader(),
        resources,
    };
    let Some(edges) = comparison.edges(elements, of_others)? else {
        return Ok(None);
    };
    // By the block that they lead to, whose number they get.
    let mut numbered = EdgeSorter::new(Within::LabelAndTarget, resources);
    let mut ranks = Ranks::new(&leaders);
    edges.finish(|edge| {
        let target = ranks.of(edge.source)?;
        numbered.push(Edge::new(edge.target, edge.label, target))
    })?;
    let initial = round.blocks.reader().at(round.graph.counts().initial)?;
    let initial = Ranks::new(&leaders).of(initial)?;
    let quotient = Hlts::build(initial, resources, |writer| {
        numbered.finish(|edge| writer.push(edge))?;
        Ok((n_blocks, round.graph.labels().clone()))
    })?;
    Ok(Some(quotient))
}

/// The least states of all blocks in order, and how many states without inert steps each block has.
/// `members` are all states under their blocks, with the label 0 if they have none.
fn leaders(
    members: EdgeSorter<'_>,
    resources: &Resources<'_>,
) -> Result<(Numbers, Numbers), Error> {
    let mut leaders = NumbersWriter::new(resources)?;
    let mut sizes = NumbersWriter::new(resources)?;
    let mut open: Option<(u64, u64)> = None;
    members.finish(|edge| {
        let n = u64::from(edge.label == 0);
        match &mut open {
            Some((block, size)) if *block == edge.source => *size += n,
            _ => {
                if let Some((_, size)) = open {
                    sizes.push(size)?;
                }
                // A block is known by its least state.
                leaders.push(edge.source)?;
                open = Some((edge.source, n));
            }
        }
        Ok(())
    })?;
    if let Some((_, size)) = open {
        sizes.push(size)?;
    }
    Ok((leaders.finish()?, sizes.finish()?))
}

/// The positions of blocks among all, which are asked for in ascending order.
struct Ranks<'n> {
    leaders: NumbersReader<'n>,
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
struct Comparison<'n> {
    ranks: Ranks<'n>,
    sizes: NumbersReader<'n>,
    resources: &'n Resources<'n>,
}

impl<'n> Comparison<'n> {
    /// The edges of all blocks, by the block that they lead to: that is the source of each, its target
    /// the number of the block that it leaves. `None` where a block's states have different ones.
    ///
    /// `elements` are those of states without inert steps, under their blocks, `of_others` those of
    /// the others.
    fn edges(
        mut self,
        elements: EdgeSorter<'_>,
        of_others: EdgeSorter<'_>,
    ) -> Result<Option<EdgeSorter<'n>>, Error> {
        let mut edges = EdgeSorter::one_of(2, Within::All, self.resources);
        let mut known = ElementsWriter::new(self.resources)?;
        let mut is_stable = true;
        let mut open: Option<(Edge, u64)> = None;
        let mut n_seen = 0;
        let mut close = |edge: &Edge, n: u64| -> Result<(), Error> {
            let rank = self.ranks.of(edge.source)?;
            is_stable &= self.sizes.at(rank)? == n;
            known.push(edge)?;
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
        let known = known.finish()?;
        let mut known = known.reader();
        of_others.finish(|edge| {
            is_stable &= known.contains(&edge)?;
            Ok(())
        })?;
        Ok(is_stable.then_some(edges))
    }
}
