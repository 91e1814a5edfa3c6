//! Values that travel along edges until nothing changes, where values do not fit into memory.
//!
//! Each state has a *cell*, three numbers in a scratch file. A state whose cell has changed passes it
//! on to its neighbours, whose cells may change in turn. States are taken in their order, up and down
//! by turns, a *stretch* at a time: cells of a stretch are in memory, and what is meant for another
//! stretch waits in a box of that one ([`mail`]). A value that travels in the direction of the sweep
//! arrives within it, however far it gets; only one that turns back waits for the next sweep.
//!
//! What comes of it must not depend on the order in which cells arrive.

mod mail;

use std::io;
use std::ops::Range;

use crate::hlts::Walker;
use crate::numbers::Numbers;
use crate::resources::Resources;
use crate::{BlockCache, Error, Hlts};
use mail::{LINK_LEN, MESSAGE_LEN, Mail};

/// What is known about a state.
pub(crate) type Cell = [u64; 3];

/// Numbers of a cell.
pub(crate) const CELL_LEN: u64 = 3;

/// What becomes of cells.
pub(crate) trait Rule {
    /// Whether a state passes its cell on although nothing has reached it.
    fn begins(&self, cell: &Cell) -> bool;

    /// Changes a cell by one that arrives; whether it is to be passed on.
    fn receive(&self, cell: &mut Cell, from: &Cell) -> bool;
}

/// The order in which the first sweep takes the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Ascending.
    Up,
    /// Descending.
    Down,
}

/// The least buffer of a box.
const LEAST_BUFFER: usize = LINK_LEN + 15 * MESSAGE_LEN;

/// The largest buffer of a box.
const MOST_BUFFER: usize = LINK_LEN + 2047 * MESSAGE_LEN;

/// States between two looks at the stop flag.
const POLL_EVERY: u64 = 1 << 14;

/// How states are divided into stretches.
struct Plan {
    n_states: u64,
    stretch_len: u64,
    n_stretches: usize,
    /// Bytes of the buffer of a box.
    buffer_len: usize,
}

impl Plan {
    /// A quarter of the memory is for cells, another for boxes.
    fn new(n_states: u64, resources: &Resources<'_>) -> Result<Self, Error> {
        let quarter = resources.memory_bytes / 4;
        let stretch_len = (quarter / (size_of::<Cell>() as u64 + 1)).max(1);
        let n_stretches = n_states.div_ceil(stretch_len).max(1);
        // There are boxes of this sweep and of the next one.
        let buffer = quarter / (2 * n_stretches);
        if buffer < LEAST_BUFFER as u64 {
            // Stretches are as long and buffers as large as memory allows: its square is what counts.
            let cells = n_states as f64 * (size_of::<Cell>() as f64 + 1.0);
            let needed = 4.0 * (2.0 * LEAST_BUFFER as f64 * cells).sqrt();
            return Err(Error::Memory {
                what: "passing values along edges on disk",
                needed: (needed as u64).max(resources.memory_bytes + 1),
                limit: resources.memory_bytes,
            });
        }
        Ok(Plan {
            n_states,
            stretch_len,
            n_stretches: n_stretches as usize,
            buffer_len: buffer.min(MOST_BUFFER as u64) as usize,
        })
    }

    fn range(&self, stretch: usize) -> Range<u64> {
        let first = stretch as u64 * self.stretch_len;
        first..self.n_states.min(first + self.stretch_len)
    }
}

/// Passes cells from the sources of the edges of `along` to their targets until none changes.
pub(crate) fn sweep(
    along: &Hlts,
    cells: &Numbers,
    rule: &impl Rule,
    first: Direction,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let plan = Plan::new(along.counts().n_states, resources)?;
    sweep_by(plan, along, cells, rule, first, resources)
}

fn sweep_by(
    plan: Plan,
    along: &Hlts,
    cells: &Numbers,
    rule: &impl Rule,
    first: Direction,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    let mail = || Mail::new(plan.n_stretches, plan.buffer_len, resources.scratch.clone());
    let cache = BlockCache::new(resources.memory_bytes / 16);
    let mut sweep = Sweep {
        rule,
        direction: first,
        walker: Walker::new(along, &cache),
        stretch: Stretch::default(),
        now: mail(),
        next: mail(),
        plan,
        resources,
    };
    let mut is_first = true;
    loop {
        for position in 0..sweep.plan.n_stretches {
            let number = match sweep.direction {
                Direction::Up => position,
                Direction::Down => sweep.plan.n_stretches - 1 - position,
            };
            if is_first || !sweep.now.has_none_for(number) {
                sweep.pass(number, cells, is_first)?;
            }
        }
        if sweep.next.is_empty() {
            return Ok(());
        }
        std::mem::swap(&mut sweep.now, &mut sweep.next);
        sweep.direction = match sweep.direction {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        };
        is_first = false;
    }
}

struct Sweep<'a, R> {
    rule: &'a R,
    direction: Direction,
    walker: Walker<'a>,
    stretch: Stretch,
    /// For stretches that this sweep has not reached yet.
    now: Mail,
    next: Mail,
    plan: Plan,
    resources: &'a Resources<'a>,
}

/// Cells in memory.
#[derive(Default)]
struct Stretch {
    range: Range<u64>,
    cells: Vec<u64>,
    /// Whether a cell is to be passed on.
    is_changed: Vec<bool>,
}

impl Stretch {
    fn read(&mut self, range: Range<u64>, cells: &Numbers) -> io::Result<()> {
        let len = (range.end - range.start) as usize;
        self.cells.resize(len * CELL_LEN as usize, 0);
        cells.read(range.start * CELL_LEN, &mut self.cells)?;
        self.is_changed.clear();
        self.is_changed.resize(len, false);
        self.range = range;
        Ok(())
    }

    fn cells(&mut self) -> &mut [Cell] {
        self.cells.as_chunks_mut().0
    }

    fn receive(&mut self, state: u64, from: &Cell, rule: &impl Rule) {
        let position = (state - self.range.start) as usize;
        self.is_changed[position] |= rule.receive(&mut self.cells()[position], from);
    }
}

impl<R: Rule> Sweep<'_, R> {
    /// Passes the cells of a stretch on.
    fn pass(&mut self, number: usize, cells: &Numbers, is_first: bool) -> Result<(), Error> {
        let range = self.plan.range(number);
        let stretch = &mut self.stretch;
        stretch.read(range.clone(), cells)?;
        if is_first {
            for position in 0..stretch.is_changed.len() {
                stretch.is_changed[position] = self.rule.begins(&stretch.cells()[position]);
            }
        }
        let rule = self.rule;
        self.now
            .take(number, |state, from| stretch.receive(state, from, rule))?;
        match self.direction {
            Direction::Up => range.clone().try_for_each(|state| self.pass_on(state))?,
            Direction::Down => range
                .clone()
                .rev()
                .try_for_each(|state| self.pass_on(state))?,
        }
        cells.write(range.start * CELL_LEN, &self.stretch.cells)?;
        Ok(())
    }

    fn pass_on(&mut self, state: u64) -> Result<(), Error> {
        if state.is_multiple_of(POLL_EVERY) {
            self.resources.poll()?;
        }
        let position = (state - self.stretch.range.start) as usize;
        if !self.stretch.is_changed[position] {
            return Ok(());
        }
        let own = self.stretch.cells()[position];
        let mut place = self.walker.first(state)?;
        while let Some(edge) = self.walker.next(state, &mut place)? {
            let is_ahead = match self.direction {
                Direction::Up => edge.target > state,
                Direction::Down => edge.target < state,
            };
            if is_ahead && self.stretch.range.contains(&edge.target) {
                self.stretch.receive(edge.target, &own, self.rule);
                continue;
            }
            let number = (edge.target / self.plan.stretch_len) as usize;
            let mail = match is_ahead {
                true => &mut self.now,
                false => &mut self.next,
            };
            mail.send(number, edge.target, &own)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hadal_model::Stop;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::numbers::NumbersWriter;
    use crate::{Edge, Labels};

    /// The greatest number that arrives, and how often one did.
    struct Greatest;

    impl Rule for Greatest {
        fn begins(&self, cell: &Cell) -> bool {
            cell[0] != 0
        }

        fn receive(&self, own: &mut Cell, from: &Cell) -> bool {
            let is_greater = from[0] > own[0];
            own[0] = own[0].max(from[0]);
            is_greater
        }
    }

    #[test]
    fn values_arrive_however_short_the_stretches_are() {
        let stop = Stop::new();
        let resources = Resources::new(&stop);
        let mut random = Pcg64Mcg::seed_from_u64(31);
        for _ in 0..200 {
            let n = random.random_range(1..40u64);
            let mut edges: Vec<(u64, u64)> = (0..random.random_range(0..3 * n))
                .map(|_| (random.random_range(0..n), random.random_range(0..n)))
                .collect();
            edges.sort_unstable();
            let begin: Vec<u64> = (0..n).map(|_| random.random_range(0..9)).collect();
            let mut expected = begin.clone();
            for _ in 0..n {
                for &(source, target) in &edges {
                    let value = expected[source as usize];
                    let own = &mut expected[target as usize];
                    *own = value.max(*own);
                }
            }
            let graph = Hlts::build(0, &resources, |writer| {
                for &(source, target) in &edges {
                    writer.push(Edge::new(source, 0, target))?;
                }
                let mut labels = Labels::new();
                labels.push(b"");
                Ok((n, labels))
            });
            let graph = graph.expect("it is in memory");
            for (stretch_len, n_messages) in [(1, 1), (1, 3), (2, 1), (7, 2), (100, 5)] {
                for first in [Direction::Up, Direction::Down] {
                    let mut cells = NumbersWriter::new(&resources).expect("a file");
                    for &value in &begin {
                        for number in [value, 7, 8] {
                            cells.push(number).expect("the file can be written");
                        }
                    }
                    let cells = cells.finish().expect("the file can be written");
                    let plan = Plan {
                        n_states: n,
                        stretch_len,
                        n_stretches: n.div_ceil(stretch_len) as usize,
                        buffer_len: LINK_LEN + n_messages * MESSAGE_LEN,
                    };
                    sweep_by(plan, &graph, &cells, &Greatest, first, &resources)
                        .expect("files can be read");
                    let mut cells = cells.reader();
                    let found: Vec<u64> = (0..n)
                        .map(|state| cells.at(state * CELL_LEN).expect("it is there"))
                        .collect();
                    assert_eq!(found, expected, "{stretch_len} {n_messages} {first:?}");
                }
            }
        }
    }

    #[test]
    fn the_memory_that_is_said_to_be_needed_suffices() {
        let stop = Stop::new();
        let mut resources = Resources::new(&stop);
        for n_states in [1 << 20, 1 << 30, 1 << 40] {
            resources.memory_bytes = 1 << 10;
            let Err(Error::Memory { needed, .. }) = Plan::new(n_states, &resources) else {
                panic!("a kilobyte does not suffice");
            };
            resources.memory_bytes = needed + needed / 1000 + 1000;
            assert!(Plan::new(n_states, &resources).is_ok(), "{n_states}");
            resources.memory_bytes = needed / 10 * 9;
            assert!(Plan::new(n_states, &resources).is_err(), "{n_states}");
        }
    }
}
