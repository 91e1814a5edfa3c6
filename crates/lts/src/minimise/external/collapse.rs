//! Cycles of invisible steps are collapsed where states do not fit into memory.
//!
//! The result is that of [`collapse`](crate::minimise::collapse), byte for byte.

use crate::labels::Invisible;
use crate::minimise::collapse::Collapsed;
use crate::numbers::{Numbers, NumbersWriter};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::scc::external::{has_cycle, representatives};
use crate::scc::two_way::{TwoWay, renamed};
use crate::sort::{EdgeSorter, Within};
use crate::sweeps::CELL_LEN;
use crate::{Edge, Error, Hlts};

use super::poll;

/// The graph without cycles of invisible steps, which all have the label `tau`; and where its levels
/// end, if they are not too many for memory.
pub(in crate::minimise) fn collapse<W>(
    graph: &Hlts,
    invisible: &Invisible,
    tau: u32,
    resources: &Resources<'_>,
) -> Result<(Collapsed<W>, Option<Vec<u64>>), Error> {
    let counts = graph.counts();
    resources.begin(Stage::Components, 0);
    let (number_of, n_states, levels) = {
        // Several graphs are open at the same time, each of which may be in memory in part.
        let resources = &resources.with_memory(resources.memory_bytes / 2);
        let edges = TwoWay::of(graph, |label| invisible.contains(label), resources)?;
        let heights = edges.heights(resources)?;
        match has_cycle(&heights, counts.n_states, resources)? {
            false => numbers(&heights, None, counts.n_states, resources)?,
            true => {
                let representatives = representatives(&edges, &heights, resources)?;
                let edges = edges.contracted(&representatives, resources)?;
                let heights = edges.heights(resources)?;
                numbers(&heights, Some(&representatives), counts.n_states, resources)?
            }
        }
    };
    resources.begin(Stage::Collapsing, counts.n_edges);
    let edges = renamed(graph, &number_of, resources, |edge| {
        match invisible.contains(edge.label) {
            true => (edge.source != edge.target).then_some(tau),
            false => Some(edge.label),
        }
    })?;
    let initial = number_of.reader().at(counts.initial)?;
    let collapsed = Hlts::build(initial, resources, |writer| {
        edges.finish(|edge| writer.push(edge))?;
        Ok((n_states, graph.labels().clone()))
    })?;
    Ok((Collapsed::on_disk(collapsed, number_of), levels))
}

/// Numbers of states, how many there are, and where levels end.
type Numbered = (Numbers, u64, Option<Vec<u64>>);

/// By state, the number of its representative: these are numbered by height, and in their order
/// within a height. How many they are, and where heights end.
fn numbers(
    heights: &Numbers,
    representatives: Option<&Numbers>,
    n_states: u64,
    resources: &Resources<'_>,
) -> Result<Numbered, Error> {
    let mut by_height = EdgeSorter::one_of(2, Within::All, resources);
    // Under a representative its number, and then its states.
    let mut members = EdgeSorter::one_of(2, Within::All, resources);
    let mut heights = heights.reader();
    let mut representatives = representatives.map(Numbers::reader);
    for state in 0..n_states {
        poll(state, resources)?;
        let representative = match &mut representatives {
            Some(representatives) => representatives.at(state)?,
            None => state,
        };
        members.push(Edge::new(representative, 1, state))?;
        if representative == state {
            let height = heights.at(state * CELL_LEN + 1)?;
            by_height.push(Edge::new(height, 0, state))?;
        }
    }
    let mut n_numbered = 0;
    let most_levels = resources.memory_bytes / 8 / size_of::<u64>() as u64;
    let mut levels = Some(Vec::new());
    let mut height = 0;
    by_height.finish(|edge| {
        if edge.source != height {
            height = edge.source;
            levels = levels.take_if(|ends| (ends.len() as u64) < most_levels);
            if let Some(ends) = &mut levels {
                ends.push(n_numbered);
            }
        }
        members.push(Edge::new(edge.target, 0, n_numbered))?;
        n_numbered += 1;
        Ok(())
    })?;
    if let Some(ends) = &mut levels {
        ends.push(n_numbered);
    }
    let mut by_state = EdgeSorter::one_of(2, Within::All, resources);
    let mut number = 0;
    members.finish(|edge| match edge.label {
        0 => {
            number = edge.target;
            Ok(())
        }
        _ => by_state.push(Edge::new(edge.target, 0, number)),
    })?;
    let mut numbers = NumbersWriter::new(resources)?;
    by_state.finish(|edge| Ok(numbers.push(edge.target)?))?;
    Ok((numbers.finish()?, n_numbered, levels))
}
