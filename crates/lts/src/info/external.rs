//! A graph in numbers where its states do not fit into memory.

use super::{Cycles, Info, count_edges};
use crate::breadth_first::discover;
use crate::numbers::Numbers;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::scc::external::{has_cycle, representatives};
use crate::scc::two_way::TwoWay;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts};

/// Scratch bytes for each edge and each state.
const EDGE_BYTES: u64 = 96;
const STATE_BYTES: u64 = 128;

/// The least memory.
const LEAST_BYTES: u64 = 1 << 20;

/// Whether there is what it takes on disk.
pub(super) fn has_room(graph: &Hlts, resources: &Resources<'_>) -> bool {
    resources.memory_bytes >= LEAST_BYTES
        && resources.has_scratch(graph.counts(), EDGE_BYTES, STATE_BYTES)
}

pub(super) fn examine(
    graph: &Hlts,
    tau: &[String],
    resources: &Resources<'_>,
) -> Result<Info, Error> {
    let mut info = Info::begin(graph);
    let mut targets = EdgeSorter::new(Within::All, resources);
    count_edges(graph, &mut info, resources, |target| {
        targets.push(Edge::new(target, 0, 0))
    })?;
    let (mut last, mut n_in) = (None, 0);
    targets.finish(|edge| {
        n_in = match last.replace(edge.source) == Some(edge.source) {
            true => n_in + 1,
            false => 1,
        };
        info.most_in = info.most_in.max(n_in);
        Ok(())
    })?;
    resources.begin(Stage::Measuring, info.counts.n_states);
    let discovered = discover(graph, resources)?;
    (info.n_reachable, info.depth) = (discovered.n_found, discovered.depth);
    drop(discovered);
    info.components = cycles(graph, |_| true, resources)?;
    let invisible = graph.labels().invisible(tau);
    info.livelocks = match invisible.first() {
        None => Cycles::none(info.counts.n_states),
        Some(_) => cycles(graph, |label| invisible.contains(label), resources)?,
    };
    Ok(info)
}

/// The components by edges whose label `keep` accepts.
fn cycles(
    graph: &Hlts,
    keep: impl Fn(u32) -> bool,
    resources: &Resources<'_>,
) -> Result<Cycles, Error> {
    resources.begin(Stage::Components, 0);
    let n_states = graph.counts().n_states;
    let representatives = {
        // Several graphs are open at the same time, each of which may be in memory in part.
        let resources = &resources.with_memory(resources.memory_bytes / 2);
        let edges = TwoWay::of(graph, &keep, resources)?;
        let heights = edges.heights(resources)?;
        match has_cycle(&heights, n_states, resources)? {
            true => Some(representatives(&edges, &heights, resources)?),
            false => None,
        }
    };
    // Under a representative its edges to themselves, and then its states.
    let mut members = EdgeSorter::new(Within::All, resources);
    let mut representatives = representatives.as_ref().map(Numbers::reader);
    let mut of = |state: u64| match &mut representatives {
        Some(representatives) => representatives.at(state),
        None => Ok(state),
    };
    let mut next = 0;
    graph.for_each_edge(resources, |edge| {
        while next <= edge.source {
            members.push(Edge::new(of(next)?, 1, 0))?;
            next += 1;
        }
        match keep(edge.label) && edge.source == edge.target {
            true => members.push(Edge::new(of(edge.source)?, 0, 0)),
            false => Ok(()),
        }
    })?;
    while next < n_states {
        members.push(Edge::new(of(next)?, 1, 0))?;
        next += 1;
    }
    let mut found = Cycles::default();
    let mut open = Open::default();
    members.finish(|edge| {
        if open.representative != Some(edge.source) {
            std::mem::take(&mut open).close(&mut found);
            open.representative = Some(edge.source);
        }
        match edge.label {
            0 => open.has_loop = true,
            _ => open.size += 1,
        }
        Ok(())
    })?;
    open.close(&mut found);
    Ok(found)
}

/// A component whose states are being counted.
#[derive(Default)]
struct Open {
    representative: Option<u64>,
    size: u64,
    has_loop: bool,
}

impl Open {
    fn close(self, found: &mut Cycles) {
        found.n_components += u64::from(self.representative.is_some());
        found.largest = found.largest.max(self.size);
        if self.size > 1 || self.has_loop {
            found.n_cyclic += 1;
            found.n_in_cyclic += self.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use hadal_model::Stop;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::Labels;

    #[test]
    fn figures_are_the_same_on_disk() {
        let stop = Stop::new();
        let resources = Resources::new(&stop);
        let mut random = Pcg64Mcg::seed_from_u64(41);
        for _ in 0..400 {
            let n = random.random_range(1..40u64);
            let mut edges: Vec<(u64, u32, u64)> = (0..random.random_range(0..2 * n))
                .map(|_| {
                    let label = random.random_range(0..2);
                    (random.random_range(0..n), label, random.random_range(0..n))
                })
                .collect();
            edges.sort_by_key(|edge| edge.0);
            let initial = random.random_range(0..n);
            let graph = Hlts::build(initial, &resources, |writer| {
                for &(source, label, target) in &edges {
                    writer.push(Edge::new(source, label, target))?;
                }
                let mut labels = Labels::new();
                for text in ["i", "a"] {
                    labels.push(text.as_bytes());
                }
                Ok((n, labels))
            });
            let graph = graph.expect("it is in memory");
            for tau in [&["i".to_owned()][..], &[]] {
                let in_memory = Info::of(&graph, tau, &resources).expect("there is memory");
                let on_disk = examine(&graph, tau, &resources).expect("there are files");
                assert_eq!(on_disk, in_memory, "{edges:?}");
            }
        }
    }
}
