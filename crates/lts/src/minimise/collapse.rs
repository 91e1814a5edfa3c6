//! The graph that is refined: as it is for strong bisimulation, without cycles of invisible steps
//! for branching bisimulation.
//!
//! States on a cycle of invisible steps are branching bisimilar, so each such component becomes one
//! state. What remains of the invisible steps has no cycle, and states are numbered by *level*: the
//! longest path of invisible steps from them. An invisible step leads to a lower level. Where states
//! do not fit into memory, [`external::collapse`] gives the same graph.

use crate::labels::Invisible;
use crate::minimise::{Equivalence, Tuning, external};
use crate::numbers::Numbers;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::scc;
use crate::sort::{EdgeSorter, Within};
use crate::word::Word;
use crate::{Edge, Error, Hlts};

/// A graph to be refined.
pub(super) struct System<'a, W> {
    original: &'a Hlts,
    collapsed: Option<Collapsed<W>>,
    /// The invisible label; none where all are visible.
    pub(super) tau: Option<u32>,
    /// Where each level ends; none where there are too many for memory.
    pub(super) levels: Option<Vec<u64>>,
}

pub(super) struct Collapsed<W> {
    graph: Hlts,
    /// By state of the original, its number in `graph`.
    number_of: NumberOf<W>,
}

enum NumberOf<W> {
    Memory(Vec<W>),
    Disk(Numbers),
}

impl<'a, W: Word> System<'a, W> {
    pub(super) fn new(
        graph: &'a Hlts,
        equivalence: Equivalence,
        tau: &[String],
        resources: &Resources<'_>,
        tuning: Tuning,
    ) -> Result<Self, Error> {
        let invisible = match equivalence {
            Equivalence::Strong => Invisible::default(),
            Equivalence::Branching => graph.labels().invisible(tau),
        };
        let Some(tau) = invisible.first() else {
            return Ok(System {
                original: graph,
                collapsed: None,
                tau: None,
                levels: Some(vec![graph.counts().n_states]),
            });
        };
        let on_disk = || external::collapse(graph, &invisible, tau, resources);
        let (collapsed, levels) = match tuning.is_external {
            true => on_disk()?,
            false => match collapse(graph, &invisible, tau, resources) {
                Err(Error::Memory { .. }) if external::has_room(graph, true, resources) => {
                    on_disk()?
                }
                found => found?,
            },
        };
        Ok(System {
            original: graph,
            collapsed: Some(collapsed),
            tau: Some(tau),
            levels,
        })
    }

    /// The graph that is refined.
    pub(super) fn graph(&self) -> &Hlts {
        match &self.collapsed {
            Some(collapsed) => &collapsed.graph,
            None => self.original,
        }
    }

    /// The number of a state of the original in the graph that is refined.
    pub(super) fn number_of(&self, state: u64) -> Result<u64, Error> {
        match &self.collapsed {
            None => Ok(state),
            Some(collapsed) => match &collapsed.number_of {
                NumberOf::Memory(numbers) => Ok(numbers[state as usize].get()),
                NumberOf::Disk(numbers) => Ok(numbers.reader().at(state)?),
            },
        }
    }
}

impl<W> Collapsed<W> {
    /// A graph whose states' numbers are in a file.
    pub(super) fn on_disk(graph: Hlts, number_of: Numbers) -> Self {
        let number_of = NumberOf::Disk(number_of);
        Collapsed { graph, number_of }
    }
}

fn collapse<W: Word>(
    graph: &Hlts,
    invisible: &Invisible,
    tau: u32,
    resources: &Resources<'_>,
) -> Result<(Collapsed<W>, Option<Vec<u64>>), Error> {
    let is_invisible = |label| invisible.contains(label);
    let components = scc::components::<W>(graph, is_invisible, resources)?;
    if components.height.contains(&scc::MOST_HEIGHT) {
        return Err(Error::TooManyLevels);
    }
    let (number_of, levels) = by_level(components);
    resources.begin(Stage::Collapsing, graph.counts().n_edges);
    let mut sorter = EdgeSorter::new(Within::LabelAndTarget, resources);
    graph.for_each_edge(resources, |edge| {
        let source = number_of[edge.source as usize].get();
        let target = number_of[edge.target as usize].get();
        match is_invisible(edge.label) {
            true if source == target => Ok(()),
            true => sorter.push(Edge::new(source, tau, target)),
            false => sorter.push(Edge::new(source, edge.label, target)),
        }
    })?;
    let initial = number_of[graph.counts().initial as usize].get();
    let n_states = levels.last().copied().unwrap_or(0);
    let collapsed = Hlts::build(initial, resources, |writer| {
        sorter.finish(|edge| writer.push(edge))?;
        Ok((n_states, graph.labels().clone()))
    })?;
    let collapsed = Collapsed {
        graph: collapsed,
        number_of: NumberOf::Memory(number_of),
    };
    Ok((collapsed, Some(levels)))
}

/// Numbers components by level, and within a level in the order of their first states. Returns the
/// number of each state, and where levels end.
fn by_level<W: Word>(components: scc::Components<W>) -> (Vec<W>, Vec<u64>) {
    let scc::Components { mut of, height, .. } = components;
    let n_levels = height.iter().max().map_or(0, |&most| most as usize + 1);
    let mut levels = vec![0u64; n_levels];
    for &height in &height {
        levels[height as usize] += 1;
    }
    let mut next = Vec::with_capacity(n_levels);
    let mut end = 0;
    for level in &mut levels {
        next.push(end);
        end += *level;
        *level = end;
    }
    let mut number = vec![W::MAX; height.len()];
    for state in &mut of {
        let component = state.at();
        if number[component] == W::MAX {
            let next = &mut next[height[component] as usize];
            number[component] = W::new(*next);
            *next += 1;
        }
        *state = number[component];
    }
    (of, levels)
}
