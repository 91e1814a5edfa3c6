//! What there is to know about a graph, in numbers: with an array or two of its states in memory, or
//! on disk where they do not fit ([`external`]).

mod external;

use crate::hlts::{Hlts, Walker};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::scc::{self, Components};
use crate::word::{MOST_NARROW, Word};
use crate::{BlockCache, Counts, Error};

/// A graph in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Initial state, states, edges.
    pub counts: Counts,
    /// By label, in the order of the graph's table, the number of its edges.
    pub edges_by_label: Vec<u64>,
    /// Edges that lead to their source.
    pub n_loops: u64,
    /// Sum of the multiplicities, saturating.
    pub n_paths: u64,
    /// States without edges.
    pub n_deadlocks: u64,
    /// Most edges that leave a state.
    pub most_out: u64,
    /// Most edges that lead to a state.
    pub most_in: u64,
    /// States that can be reached from the initial state.
    pub n_reachable: u64,
    /// Greatest distance of a reachable state from the initial state.
    pub depth: u64,
    /// The strongly connected components.
    pub components: Cycles,
    /// The same by invisible edges alone: those with a cycle are livelocks.
    pub livelocks: Cycles,
}

/// Strongly connected components, and those of them that have a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Components.
    pub n_components: u64,
    /// States of the largest one.
    pub largest: u64,
    /// Components with a cycle: several states, or one with an edge to itself.
    pub n_cyclic: u64,
    /// States of components with a cycle.
    pub n_in_cyclic: u64,
}

impl Info {
    /// Examines a graph; labels with one of the texts `tau` are invisible.
    pub fn of(graph: &Hlts, tau: &[String], resources: &Resources<'_>) -> Result<Self, Error> {
        let found = match graph.counts().n_states > MOST_NARROW {
            true => examine::<u64>(graph, tau, resources),
            false => examine::<u32>(graph, tau, resources),
        };
        match found {
            Err(Error::Memory { .. }) if external::has_room(graph, resources) => {
                external::examine(graph, tau, resources)
            }
            found => found,
        }
    }

    /// What is known of a graph before it is read.
    fn begin(graph: &Hlts) -> Self {
        let counts = graph.counts();
        Info {
            counts,
            edges_by_label: vec![0; graph.labels().len()],
            n_loops: 0,
            n_paths: 0,
            n_deadlocks: counts.n_states,
            most_out: 0,
            most_in: 0,
            n_reachable: 0,
            depth: 0,
            components: Cycles::default(),
            livelocks: Cycles::default(),
        }
    }
}

fn examine<W: Word>(
    graph: &Hlts,
    tau: &[String],
    resources: &Resources<'_>,
) -> Result<Info, Error> {
    let counts = graph.counts();
    // Before anything is allocated that does not fit either.
    let needed = counts
        .n_states
        .saturating_mul(scc::bytes_per_state(size_of::<W>() as u64));
    resources.require("examining this graph", needed)?;
    let mut info = Info::begin(graph);
    // A degree that does not fit a word is at least the greatest one.
    let mut n_in = vec![W::new(0); counts.n_states as usize];
    count_edges(graph, &mut info, resources, |target| {
        let degree = &mut n_in[target as usize];
        *degree = W::new(degree.get().saturating_add(1).min(W::MAX.get()));
        Ok(())
    })?;
    info.most_in = n_in.iter().max().map_or(0, |degree| degree.get());
    drop(n_in);
    measure_depth::<W>(graph, &mut info, resources)?;
    info.components = cycles(&scc::components::<W>(graph, |_| true, resources)?);
    let invisible = graph.labels().invisible(tau);
    info.livelocks = match invisible.first() {
        None => Cycles::none(counts.n_states),
        Some(_) => {
            let is_invisible = |label| invisible.contains(label);
            cycles(&scc::components::<W>(graph, is_invisible, resources)?)
        }
    };
    Ok(info)
}

fn cycles<W>(components: &Components<W>) -> Cycles {
    Cycles {
        n_components: components.height.len() as u64,
        largest: components.largest,
        n_cyclic: components.n_cyclic,
        n_in_cyclic: components.n_in_cyclic,
    }
}

impl Cycles {
    /// Of a graph without any.
    fn none(n_states: u64) -> Self {
        Cycles {
            n_components: n_states,
            largest: 1,
            ..Cycles::default()
        }
    }
}

/// Counts what there is to count about edges, and passes their targets to `arrive`.
fn count_edges(
    graph: &Hlts,
    info: &mut Info,
    resources: &Resources<'_>,
    mut arrive: impl FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    resources.begin(Stage::Counting, info.counts.n_edges);
    graph.scan(0..info.counts.n_states, resources, |source, edges| {
        info.n_deadlocks -= 1;
        info.most_out = info.most_out.max(edges.targets.len() as u64);
        for (at, (&label, &target)) in edges.labels.iter().zip(edges.targets).enumerate() {
            info.edges_by_label[label as usize] += 1;
            info.n_loops += u64::from(source == target);
            let multiplicity = edges.multiplicities.get(at).copied().unwrap_or(1);
            info.n_paths = info.n_paths.saturating_add(multiplicity);
            arrive(target)?;
        }
        Ok(())
    })
}

fn measure_depth<W: Word>(
    graph: &Hlts,
    info: &mut Info,
    resources: &Resources<'_>,
) -> Result<(), Error> {
    resources.begin(Stage::Measuring, info.counts.n_states);
    let cache = BlockCache::new(resources.cache_bytes());
    let mut walker = Walker::new(graph, &cache);
    let mut is_found = vec![false; info.counts.n_states as usize];
    is_found[info.counts.initial as usize] = true;
    let mut layer = vec![W::new(info.counts.initial)];
    let mut edges = Vec::new();
    info.n_reachable = 1;
    loop {
        let mut next = Vec::new();
        for (position, state) in layer.iter().enumerate() {
            if position % (1 << 12) == 0 {
                resources.poll()?;
                resources.note((layer.len() - position).min(1 << 12) as u64);
            }
            walker.successors(state.get(), &mut edges)?;
            for edge in &edges {
                let found = &mut is_found[edge.target as usize];
                if !std::mem::replace(found, true) {
                    next.push(W::new(edge.target));
                }
            }
        }
        if next.is_empty() {
            return Ok(());
        }
        // In the order of the file, so that each of its blocks is decoded once a layer.
        next.sort_unstable();
        info.n_reachable += next.len() as u64;
        info.depth += 1;
        layer = next;
    }
}
