//! Strongly connected components where states do not fit into memory.
//!
//! States on no cycle are peeled off first: those without successors, again and again, and those
//! without predecessors. Of what is left each state gets a *color*, the greatest name of a state that
//! it reaches. A state that has its own name for a color reaches exactly those states of its color
//! that are in its component. These are taken away, edges between colors as well, and what is left is
//! peeled and colored again. Names are numbers of states mixed up, so that a color on its way round a
//! long cycle meets few others that are less than it and greater than those before.
//!
//! Degrees and colors travel along edges by sweeps over files ([`sweep`]).

use super::two_way::TwoWay;
use crate::numbers::{Numbers, NumbersWriter};
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::sweeps::{CELL_LEN, Cell, Direction, Rule, sweep};
use crate::{Edge, Error, Hlts};

/// States between two looks at the stop flag.
const POLL_EVERY: u64 = 1 << 16;

impl TwoWay {
    /// By state, what is left of it when states without edges are peeled off: see [`Peel`].
    pub(crate) fn heights(&self, resources: &Resources<'_>) -> Result<Numbers, Error> {
        // States are mostly numbered in the order of their discovery, before their successors.
        let (from, to) = (&self.forward, &self.backward);
        peeled(from, to, Direction::Down, resources)
    }
}

/// Peels off states without edges to states that are left. A cell is the number of such edges, and
/// the longest path to a state without any.
struct Peel;

impl Rule for Peel {
    fn begins(&self, &[n_left, ..]: &Cell) -> bool {
        n_left == 0
    }

    fn receive(&self, [n_left, height, _]: &mut Cell, &[_, below, _]: &Cell) -> bool {
        *n_left -= 1;
        *height = (*height).max(below + 1);
        *n_left == 0
    }
}

/// The cells of [`Peel`] in the end; `backward` has the edges of `forward` the other way round.
fn peeled(
    forward: &Hlts,
    backward: &Hlts,
    first: Direction,
    resources: &Resources<'_>,
) -> Result<Numbers, Error> {
    let n_states = forward.counts().n_states;
    let mut cells = NumbersWriter::new(resources)?;
    let (mut state, mut degree) = (0, 0);
    let mut end = |degree: u64| -> Result<(), Error> {
        [degree, 0, 0].iter().try_for_each(|&it| cells.push(it))?;
        Ok(())
    };
    forward.for_each_edge(resources, |edge| {
        while state < edge.source {
            end(std::mem::take(&mut degree))?;
            state += 1;
        }
        degree += 1;
        Ok(())
    })?;
    while state < n_states {
        poll(state, resources)?;
        end(std::mem::take(&mut degree))?;
        state += 1;
    }
    let cells = cells.finish()?;
    sweep(backward, &cells, &Peel, first, resources)?;
    Ok(cells)
}

/// Whether states are left by heights.
pub(crate) fn has_cycle(
    heights: &Numbers,
    n_states: u64,
    resources: &Resources<'_>,
) -> Result<bool, Error> {
    let mut heights = heights.reader();
    for state in 0..n_states {
        poll(state, resources)?;
        if heights.at(state * CELL_LEN)? != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The numbers of states that are left; 0 for the others, and how many are left.
fn left_of(
    cells: &Numbers,
    numbers: Option<&Numbers>,
    n_states: u64,
    resources: &Resources<'_>,
) -> Result<(Numbers, u64), Error> {
    let mut cells = cells.reader();
    let mut numbers = numbers.map(Numbers::reader);
    let mut left = NumbersWriter::new(resources)?;
    let mut n_left = 0;
    for state in 0..n_states {
        poll(state, resources)?;
        let number = match (cells.at(state * CELL_LEN)?, &mut numbers) {
            (0, _) => 0,
            (_, Some(numbers)) => numbers.at(state)?,
            (_, None) => 1,
        };
        n_left += u64::from(number != 0);
        left.push(number)?;
    }
    Ok((left.finish()?, n_left))
}

/// The greatest name of a state that is reached.
struct Color;

impl Rule for Color {
    fn begins(&self, &[color, ..]: &Cell) -> bool {
        color != 0
    }

    fn receive(&self, own: &mut Cell, from: &Cell) -> bool {
        let is_greater = from[0] > own[0];
        own[0] = own[0].max(from[0]);
        is_greater
    }
}

/// What a state reaches of its own color. A cell is the color, and 1 where it is reached.
struct Reach;

impl Rule for Reach {
    fn begins(&self, &[_, is_reached, _]: &Cell) -> bool {
        is_reached == 1
    }

    fn receive(&self, own: &mut Cell, from: &Cell) -> bool {
        let is_new = own[0] == from[0] && own[1] == 0;
        own[1] |= u64::from(is_new);
        is_new
    }
}

/// A number for each state that no other has: not 0, and in no order.
fn name(state: u64) -> u64 {
    let mixed = (state + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// By state, the least state of its component. `heights` are those of `edges`.
pub(crate) fn representatives(
    edges: &TwoWay,
    heights: &Numbers,
    resources: &Resources<'_>,
) -> Result<Numbers, Error> {
    let n_states = edges.forward.counts().n_states;
    let mut members = EdgeSorter::one_of(2, Within::All, resources);
    let (mut left, mut n_left) = left_of(heights, None, n_states, resources)?;
    while n_left > 0 {
        let part = edges.within(&left, resources)?;
        // From below the first time, as what has no successors is gone already.
        let from_above = peeled(&part.backward, &part.forward, Direction::Up, resources)?;
        (left, _) = left_of(&from_above, Some(&left), n_states, resources)?;
        let part = part.within(&left, resources)?;
        let colors = colored(&part, &left, resources)?;
        let mut colors = colors.reader();
        let mut next = NumbersWriter::new(resources)?;
        for state in 0..n_states {
            poll(state, resources)?;
            let color = colors.at(state * CELL_LEN)?;
            match colors.at(state * CELL_LEN + 1)? {
                1 => {
                    members.push(Edge::new(color, 0, state))?;
                    next.push(0)?;
                }
                _ => next.push(color)?,
            }
        }
        let next = next.finish()?;
        let part = part.within(&next, resources)?;
        let from_below = part.heights(resources)?;
        (left, n_left) = left_of(&from_below, Some(&next), n_states, resources)?;
    }
    least_members(members, n_states, resources)
}

/// Colors of all states that are left, and whether they are in the component that the color names:
/// the cells of [`Reach`].
fn colored(part: &TwoWay, left: &Numbers, resources: &Resources<'_>) -> Result<Numbers, Error> {
    let n_states = part.forward.counts().n_states;
    let mut left = left.reader();
    let mut names = NumbersWriter::new(resources)?;
    for state in 0..n_states {
        poll(state, resources)?;
        let name = match left.at(state)? {
            0 => 0,
            _ => name(state),
        };
        [name, 0, 0].iter().try_for_each(|&it| names.push(it))?;
    }
    let names = names.finish()?;
    sweep(&part.backward, &names, &Color, Direction::Down, resources)?;
    let mut colors = names.reader();
    let mut cells = NumbersWriter::new(resources)?;
    for state in 0..n_states {
        poll(state, resources)?;
        let color = colors.at(state * CELL_LEN)?;
        let cell = [color, u64::from(color == name(state)), 0];
        cell.iter().try_for_each(|&it| cells.push(it))?;
    }
    let cells = cells.finish()?;
    sweep(&part.forward, &cells, &Reach, Direction::Up, resources)?;
    Ok(cells)
}

/// By state, the least state that has the same source in `members`; itself where it is not there.
fn least_members(
    members: EdgeSorter<'_>,
    n_states: u64,
    resources: &Resources<'_>,
) -> Result<Numbers, Error> {
    let mut by_state = EdgeSorter::one_of(2, Within::All, resources);
    let mut component: Option<(u64, u64)> = None;
    members.finish(|edge| {
        let least = match component {
            Some((color, least)) if color == edge.source => least,
            _ => edge.target,
        };
        component = Some((edge.source, least));
        by_state.push(Edge::new(edge.target, 0, least))
    })?;
    let mut least = NumbersWriter::new(resources)?;
    let mut next = 0;
    by_state.finish(|edge| {
        while next < edge.source {
            least.push(next)?;
            next += 1;
        }
        least.push(edge.target)?;
        next += 1;
        Ok(())
    })?;
    while next < n_states {
        poll(next, resources)?;
        least.push(next)?;
        next += 1;
    }
    Ok(least.finish()?)
}

fn poll(state: u64, resources: &Resources<'_>) -> Result<(), Error> {
    match state.is_multiple_of(POLL_EVERY) {
        true => resources.poll(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use hadal_model::Stop;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::super::two_way::unlabelled;
    use super::*;

    #[test]
    fn components_on_disk_are_those_in_memory() {
        let stop = Stop::new();
        let resources = Resources::new(&stop);
        let mut random = Pcg64Mcg::seed_from_u64(37);
        let mut n_cyclic = 0;
        for _ in 0..400 {
            let n = random.random_range(1..60u64);
            let mut edges: Vec<(u64, u64)> = (0..random.random_range(0..2 * n))
                .map(|_| (random.random_range(0..n), random.random_range(0..n)))
                .collect();
            edges.sort_unstable();
            let graph = unlabelled(n, &resources, |push| {
                let mut edges = edges.iter();
                edges.try_for_each(|&(source, target)| push(Edge::new(source, 0, target)))
            });
            let graph = graph.expect("it is in memory");
            let expected = crate::scc::components::<u32>(&graph, |_| true, &resources);
            let expected = expected.expect("there is memory").of;
            let least = |state: usize| {
                let mut states = expected.iter();
                states.position(|&it| it == expected[state])
            };
            let two_way = TwoWay::of(&graph, |_| true, &resources).expect("files");
            let heights = two_way.heights(&resources).expect("files");
            let found = representatives(&two_way, &heights, &resources).expect("files");
            let mut found = found.reader();
            for state in 0..n {
                let representative = found.at(state).expect("it is there");
                assert_eq!(
                    Some(representative as usize),
                    least(state as usize),
                    "{edges:?}"
                );
                n_cyclic += usize::from(representative != state);
            }
        }
        assert!(n_cyclic > 1000, "{n_cyclic}");
    }
}
