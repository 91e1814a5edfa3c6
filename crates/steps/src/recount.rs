//! Paths and costs of sources whose transient states do not fall into levels: the same state is
//! reached by paths of several lengths. They are counted in topological order, and where there is
//! none, there is a cycle.

use std::ops::Range;

use crate::walk::{Edge, Node, Target, Walk};

/// Nodes and edges of a walk by source, and scratch memory.
#[derive(Debug, Default)]
pub(crate) struct Recount {
    /// Numbers of nodes by source, those of a source in ascending order.
    nodes: Vec<u32>,
    /// Where the nodes of each source begin.
    first_nodes: Vec<u32>,
    /// Numbers of edges by the position in `nodes` where they begin.
    edges: Vec<u32>,
    /// Where the edges of each of `nodes` begin.
    first_edges: Vec<u32>,
    /// By number of a node, its position in `nodes`.
    positions: Vec<u32>,
    /// By position in `nodes`, edges that lead there and have not been followed.
    n_open: Vec<u32>,
    /// Positions in `nodes`, in topological order.
    order: Vec<u32>,
}

impl Recount {
    /// Collects the nodes and edges of all sources.
    pub(crate) fn collect(&mut self, walk: &Walk<'_>) {
        let sources = walk.nodes.iter().map(|node| node.source);
        sort(
            sources,
            walk.n_sources(),
            &mut self.nodes,
            &mut self.first_nodes,
        );
        self.positions.clear();
        self.positions.resize(self.nodes.len(), 0);
        for (position, &node) in self.nodes.iter().enumerate() {
            self.positions[node as usize] = position as u32;
        }
        let (nodes, positions) = (&self.nodes, &self.positions);
        let begins = walk.edges.iter().map(|edge| positions[edge.from as usize]);
        sort(begins, nodes.len(), &mut self.edges, &mut self.first_edges);
        self.n_open.clear();
        self.n_open.resize(self.nodes.len(), 0);
    }

    /// Memory that a recount takes for this number of nodes and edges, the search for a cycle
    /// included, in bytes.
    pub(crate) fn bytes_for(n_nodes: usize, n_edges: usize) -> usize {
        let by_node = 6 * size_of::<u32>() + 2 * size_of::<Option<(usize, u32)>>();
        n_nodes * by_node + 2 * n_edges * size_of::<u32>()
    }

    /// Counts the paths of a source anew, along all edges. Returns the rules of a cycle where there
    /// is one; paths and costs then stay what they are along the edges to the next level.
    pub(crate) fn run(&mut self, walk: &mut Walk<'_>, source: usize) -> Option<Vec<u32>> {
        let own = self.first_nodes[source] as usize..self.first_nodes[source + 1] as usize;
        self.sort_nodes(walk, own.clone());
        if self.order.len() < own.len() {
            return Some(self.cycle(walk, own));
        }
        let forget = |node: &mut Node| (node.n_paths, node.cost) = (0, u32::MAX);
        for position in own.skip(1) {
            forget(&mut walk.nodes[self.nodes[position] as usize]);
        }
        let results = walk.results.iter_mut();
        results
            .filter(|result| result.source == source as u32)
            .for_each(forget);
        for &position in &self.order {
            for at in self.edges_of(position) {
                let edge = walk.edges[self.edges[at] as usize];
                let cost = walk.cost_of(&edge);
                let from = walk.nodes[edge.from as usize];
                let to = match edge.to {
                    Target::Node(node) | Target::Known(node) => &mut walk.nodes[node as usize],
                    Target::Result(result) => &mut walk.results[result as usize],
                    Target::Nowhere => continue,
                };
                to.n_paths = to.n_paths.saturating_add(from.n_paths);
                to.cost = to.cost.min(from.cost.saturating_add(cost));
            }
        }
        None
    }

    fn edges_of(&self, position: u32) -> Range<usize> {
        let position = position as usize;
        self.first_edges[position] as usize..self.first_edges[position + 1] as usize
    }

    /// The position of the node that an edge leads to, if it leads to one.
    fn end_of(&self, edge: &Edge) -> Option<u32> {
        match edge.to {
            Target::Node(node) | Target::Known(node) => Some(self.positions[node as usize]),
            Target::Result(_) | Target::Nowhere => None,
        }
    }

    /// Sorts the nodes of a source, whose positions are `own`, as far as they have an order.
    fn sort_nodes(&mut self, walk: &Walk<'_>, own: Range<usize>) {
        for position in own.clone() {
            for at in self.edges_of(position as u32) {
                if let Some(end) = self.end_of(&walk.edges[self.edges[at] as usize]) {
                    self.n_open[end as usize] += 1;
                }
            }
        }
        self.order.clear();
        self.order.push(own.start as u32);
        let mut next = 0;
        while let Some(&position) = self.order.get(next) {
            next += 1;
            for at in self.edges_of(position) {
                if let Some(end) = self.end_of(&walk.edges[self.edges[at] as usize]) {
                    self.n_open[end as usize] -= 1;
                    if self.n_open[end as usize] == 0 {
                        self.order.push(end);
                    }
                }
            }
        }
    }

    /// The rules of a cycle: nodes that have no place in the order are on one or behind one, so
    /// going back from them ends in one.
    fn cycle(&self, walk: &Walk<'_>, own: Range<usize>) -> Vec<u32> {
        let is_open = |position: u32| self.n_open[position as usize] > 0;
        // By node without a place, an edge that leads there from another one.
        let mut into = vec![None; own.len()];
        for from in own.clone().filter(|position| is_open(*position as u32)) {
            for at in self.edges_of(from as u32) {
                let edge = &walk.edges[self.edges[at] as usize];
                if let Some(end) = self.end_of(edge).filter(|end| is_open(*end)) {
                    into[end as usize - own.start].get_or_insert((from, edge.rule));
                }
            }
        }
        let first = { own.clone() }.find(|position| is_open(*position as u32));
        let mut position = first.expect("some node has no place in the order");
        let mut visits = vec![None; own.len()];
        let mut rules = Vec::new();
        loop {
            let number = position - own.start;
            if let Some(start) = visits[number] {
                // What was passed before the cycle began is not part of it.
                let mut cycle = rules.split_off(start);
                cycle.reverse();
                return cycle;
            }
            visits[number] = Some(rules.len());
            let (from, rule) = into[number].expect("an edge leads there that was not followed");
            rules.push(rule);
            position = from;
        }
    }
}

/// Sorts the numbers of `keys`, which are less than `n`, by their keys; `firsts` becomes where each
/// key begins, and the end.
pub(crate) fn sort(
    keys: impl Iterator<Item = u32> + Clone,
    n: usize,
    sorted: &mut Vec<u32>,
    firsts: &mut Vec<u32>,
) {
    firsts.clear();
    firsts.resize(n + 1, 0);
    for key in keys.clone() {
        firsts[key as usize + 1] += 1;
    }
    for key in 0..n {
        firsts[key + 1] += firsts[key];
    }
    sorted.clear();
    sorted.resize(firsts[n] as usize, 0);
    for (number, key) in keys.enumerate() {
        let place = &mut firsts[key as usize];
        sorted[*place as usize] = number as u32;
        *place += 1;
    }
    // Each key now begins where the next one did.
    firsts.rotate_right(1);
    firsts[0] = 0;
}
