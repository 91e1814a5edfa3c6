//! Classes of states where steps may be inert.
//!
//! A state without inert steps is a *bottom*: what it can do at once is its signature. From any state
//! inert steps lead to a bottom of its block, for they have no cycle. Two things about a state are the
//! same for all that are bisimilar to it: the signatures of the bottoms that it reaches by inert
//! steps; and the *extras*, elements of states on the way that no bottom of the block has. Of their
//! hashes the least and the greatest are passed along inert edges, and with the block they are the
//! class of the state.
//!
//! If some block is not stable, then this splits one. Either two bottoms have different signatures:
//! for a bottom the least and the greatest are the one hash of its signature. Or all have the same,
//! and there is a state with an extra: its hash is less or greater than the one of the bottoms.

use crate::minimise::signature::{Item, hash};
use crate::numbers::{Numbers, NumbersReader, NumbersWriter};
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::sweeps::{CELL_LEN, Cell, Direction, Rule, sweep};
use crate::{Edge, Error, Hlts};

use super::round::Round;
use super::{poll, reversed};

/// Invisible steps, some of which are inert.
pub(super) struct Inert {
    tau: u32,
    /// Invisible edges the other way round. They lead from states to later ones.
    backward: Hlts,
}

impl Inert {
    pub(super) fn new(graph: &Hlts, tau: u32, resources: &Resources<'_>) -> Result<Self, Error> {
        let backward = reversed(graph, Some(tau), resources)?;
        Ok(Inert { tau, backward })
    }

    /// Whether a state of `block` with these elements has inert steps. The element that says so is
    /// taken out.
    pub(super) fn take_inert<'i>(
        &self,
        block: u64,
        items: &'i [Item<u64>],
        rest: &'i mut Vec<Item<u64>>,
    ) -> (bool, &'i [Item<u64>]) {
        match items.binary_search(&(self.tau, block)) {
            Err(_) => (false, items),
            Ok(at) => {
                rest.clear();
                rest.extend_from_slice(&items[..at]);
                rest.extend_from_slice(&items[at + 1..]);
                (true, rest)
            }
        }
    }

    /// Passes each state in order to `push`, with its block and its class within the block.
    pub(super) fn for_each_class(
        &self,
        round: &Round<'_>,
        seed: u64,
        mut push: impl FnMut(u64, u64, u128) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let cells = self.cells(round, seed)?;
        let backward = &self.backward;
        sweep(backward, &cells, &Hashes, Direction::Up, round.resources)?;
        let mut cells = cells.reader();
        for state in 0..round.n_states() {
            poll(state, round.resources)?;
            let [block, least, most] = cell(&mut cells, state)?;
            push(state, block, hash(seed, block, &[(0, least), (1, most)]))?;
        }
        Ok(())
    }

    /// The cells of [`Hashes`] at first: what each state contributes itself.
    fn cells(&self, round: &Round<'_>, seed: u64) -> Result<Numbers, Error> {
        let resources = round.resources;
        let mut of_bottoms = EdgeSorter::one_of(2, Within::LabelAndTarget, resources);
        let mut of_others = EdgeSorter::one_of(2, Within::All, resources);
        let mut cells = NumbersWriter::new(resources)?;
        let mut rest = Vec::new();
        round.for_each_state(|state, block, items| {
            let (is_inert, items) = self.take_inert(block, items, &mut rest);
            let cell = match is_inert {
                true => [block, u64::MAX, 0],
                false => {
                    let hash = hash(seed, block, items) as u64;
                    [block, hash, hash]
                }
            };
            cell.iter().try_for_each(|&it| cells.push(it))?;
            items.iter().try_for_each(|&(label, target)| {
                let edge = Edge::new(block, label, target);
                match is_inert {
                    false => of_bottoms.push(edge),
                    true => of_others.push(Edge {
                        multiplicity: state,
                        ..edge
                    }),
                }
            })
        })?;
        let cells = cells.finish()?;
        let known = Elements::new(of_bottoms, resources)?;
        let mut known = known.reader();
        let mut extras = EdgeSorter::one_of(2, Within::All, resources);
        let mut n_extras = 0;
        of_others.finish(|edge| {
            if known.contains(&edge)? {
                return Ok(());
            }
            n_extras += 1;
            let hash = hash(seed, edge.source, &[(edge.label, edge.target)]) as u64;
            extras.push(Edge::new(edge.multiplicity, 0, hash))
        })?;
        match n_extras {
            0 => Ok(cells),
            _ => with_extras(&cells, extras, round),
        }
    }
}

/// The cells with the hashes of extras, which are sorted by state.
fn with_extras(
    cells: &Numbers,
    extras: EdgeSorter<'_>,
    round: &Round<'_>,
) -> Result<Numbers, Error> {
    let mut cells = cells.reader();
    let mut changed = NumbersWriter::new(round.resources)?;
    let mut own = cell(&mut cells, 0)?;
    let mut state = 0;
    extras.finish(|edge| {
        while state < edge.source {
            own.iter().try_for_each(|&it| changed.push(it))?;
            state += 1;
            own = cell(&mut cells, state)?;
        }
        own = [own[0], own[1].min(edge.target), own[2].max(edge.target)];
        Ok(())
    })?;
    loop {
        poll(state, round.resources)?;
        own.iter().try_for_each(|&it| changed.push(it))?;
        state += 1;
        if state == round.n_states() {
            return Ok(changed.finish()?);
        }
        own = cell(&mut cells, state)?;
    }
}

fn cell(cells: &mut NumbersReader<'_>, state: u64) -> Result<Cell, Error> {
    let mut at = |position: u64| cells.at(state * CELL_LEN + position);
    Ok([at(0)?, at(1)?, at(2)?])
}

/// The least and the greatest hash that is reached within a block. A cell is the block and these.
struct Hashes;

impl Rule for Hashes {
    fn begins(&self, _: &Cell) -> bool {
        true
    }

    fn receive(&self, own: &mut Cell, from: &Cell) -> bool {
        let before = *own;
        if own[0] == from[0] {
            *own = [own[0], own[1].min(from[1]), own[2].max(from[2])];
        }
        *own != before
    }
}

/// Sorted elements of blocks, each once, in a scratch file.
pub(super) struct Elements(Numbers);

impl Elements {
    /// Those of a sorter that returns each once.
    pub(super) fn new(sorter: EdgeSorter<'_>, resources: &Resources<'_>) -> Result<Self, Error> {
        let mut elements = ElementsWriter::new(resources)?;
        sorter.finish(|edge| elements.push(&edge))?;
        elements.finish()
    }

    pub(super) fn reader(&self) -> ElementsReader<'_> {
        ElementsReader {
            numbers: self.0.reader(),
            position: 0,
        }
    }
}

/// Writes elements in order.
pub(super) struct ElementsWriter(NumbersWriter);

impl ElementsWriter {
    pub(super) fn new(resources: &Resources<'_>) -> Result<Self, Error> {
        Ok(ElementsWriter(NumbersWriter::new(resources)?))
    }

    pub(super) fn push(&mut self, edge: &Edge) -> Result<(), Error> {
        let numbers = [edge.source, edge.label.into(), edge.target];
        Ok(numbers.iter().try_for_each(|&it| self.0.push(it))?)
    }

    pub(super) fn finish(self) -> Result<Elements, Error> {
        Ok(Elements(self.0.finish()?))
    }
}

/// Looks elements up that come in order.
pub(super) struct ElementsReader<'n> {
    numbers: NumbersReader<'n>,
    position: u64,
}

impl ElementsReader<'_> {
    pub(super) fn contains(&mut self, edge: &Edge) -> Result<bool, Error> {
        let wanted = [edge.source, edge.label.into(), edge.target];
        loop {
            let Some(source) = self.numbers.get(3 * self.position)? else {
                return Ok(false);
            };
            let label = self.numbers.at(3 * self.position + 1)?;
            let found = [source, label, self.numbers.at(3 * self.position + 2)?];
            if found >= wanted {
                return Ok(found == wanted);
            }
            self.position += 1;
        }
    }
}
