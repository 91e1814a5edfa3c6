//! Edges in both directions, in files.

use crate::numbers::Numbers;
use crate::resources::Resources;
use crate::sort::{EdgeSorter, Within};
use crate::{Edge, Error, Hlts, Labels};

/// Edges in both directions, each once, without labels and without those from a state to itself.
pub(crate) struct TwoWay {
    pub(crate) forward: Hlts,
    pub(crate) backward: Hlts,
}

impl TwoWay {
    /// The edges of `graph` whose label `keep` accepts.
    pub(crate) fn of(
        graph: &Hlts,
        keep: impl Fn(u32) -> bool,
        resources: &Resources<'_>,
    ) -> Result<Self, Error> {
        let mut forward = EdgeSorter::new(Within::LabelAndTarget, resources);
        graph.for_each_edge(resources, |edge| {
            match keep(edge.label) && edge.source != edge.target {
                true => forward.push(Edge::new(edge.source, 0, edge.target)),
                false => Ok(()),
            }
        })?;
        Self::new(forward, graph.counts().n_states, resources)
    }

    fn new(
        forward: EdgeSorter<'_>,
        n_states: u64,
        resources: &Resources<'_>,
    ) -> Result<Self, Error> {
        let mut backward = EdgeSorter::new(Within::LabelAndTarget, resources);
        let forward = unlabelled(n_states, resources, |push| {
            forward.finish(|edge| {
                backward.push(Edge::new(edge.target, 0, edge.source))?;
                push(edge)
            })
        })?;
        let backward = unlabelled(n_states, resources, |push| backward.finish(push))?;
        Ok(TwoWay { forward, backward })
    }

    /// The edges between states that have the same number, other than 0.
    pub(super) fn within(
        &self,
        numbers: &Numbers,
        resources: &Resources<'_>,
    ) -> Result<Self, Error> {
        let n_states = self.forward.counts().n_states;
        let mut by_target = EdgeSorter::new(Within::All, resources);
        let mut of_source = numbers.reader();
        self.forward
            .for_each_edge(resources, |edge| match of_source.at(edge.source)? {
                0 => Ok(()),
                number => by_target.push(Edge {
                    source: edge.target,
                    label: 0,
                    target: edge.source,
                    multiplicity: number,
                }),
            })?;
        let mut forward = EdgeSorter::new(Within::LabelAndTarget, resources);
        let mut of_target = numbers.reader();
        by_target.finish(
            |edge| match of_target.at(edge.source)? == edge.multiplicity {
                true => forward.push(Edge::new(edge.target, 0, edge.source)),
                false => Ok(()),
            },
        )?;
        Self::new(forward, n_states, resources)
    }

    /// The same edges between the representatives of their states.
    pub(crate) fn contracted(
        &self,
        representatives: &Numbers,
        resources: &Resources<'_>,
    ) -> Result<Self, Error> {
        let renamed = renamed(&self.forward, representatives, resources, |edge| {
            (edge.source != edge.target).then_some(0)
        })?;
        Self::new(renamed, self.forward.counts().n_states, resources)
    }
}

/// The edges of `graph` with other numbers for its states, and the label that `label` gives them if
/// any. Equal ones are one.
pub(crate) fn renamed<'a>(
    graph: &Hlts,
    numbers: &Numbers,
    resources: &'a Resources<'a>,
    label: impl Fn(&Edge) -> Option<u32>,
) -> Result<EdgeSorter<'a>, Error> {
    let mut by_target = EdgeSorter::new(Within::LabelAndTarget, resources);
    let mut of_source = numbers.reader();
    graph.for_each_edge(resources, |edge| {
        let source = of_source.at(edge.source)?;
        by_target.push(Edge::new(edge.target, edge.label, source))
    })?;
    let mut by_source = EdgeSorter::new(Within::LabelAndTarget, resources);
    let mut of_target = numbers.reader();
    by_target.finish(|edge| {
        let edge = Edge::new(edge.target, edge.label, of_target.at(edge.source)?);
        match label(&edge) {
            Some(label) => by_source.push(Edge { label, ..edge }),
            None => Ok(()),
        }
    })?;
    Ok(by_source)
}

/// A graph of the edges that `write` pushes.
pub(super) fn unlabelled(
    n_states: u64,
    resources: &Resources<'_>,
    write: impl FnOnce(&mut dyn FnMut(Edge) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<Hlts, Error> {
    Hlts::build(0, resources, |writer| {
        write(&mut |edge| writer.push(edge))?;
        let mut labels = Labels::new();
        labels.push(b"");
        Ok((n_states, labels))
    })
}
