//! Which points can be reached from which.

use super::{Automaton, Edge, PointId};
use crate::program::Action;

/// The points of an automaton and the steps between them. A `d_step` is entered at its first point,
/// and its last one leads to where the `d_step` does.
pub(crate) struct Graph {
    successors: Vec<Vec<PointId>>,
}

/// A point without a number yet.
const NONE: u32 = u32::MAX;

impl Graph {
    /// The steps that `follows` is true for.
    pub(crate) fn new(automaton: &Automaton, follows: impl Fn(&Edge) -> bool) -> Self {
        let mut successors = vec![Vec::new(); automaton.points.len()];
        for (at, point) in automaton.points.iter().enumerate() {
            for edge in point.edges.iter().filter(|edge| follows(edge)) {
                match edge.action {
                    Action::DStep { entry, exit } => {
                        successors[at].push(entry);
                        successors[exit.index()].push(edge.target);
                    }
                    _ => successors[at].push(edge.target),
                }
            }
        }
        Graph { successors }
    }

    /// By point, whether it can be reached from another, which is itself among them.
    pub(crate) fn reached_from(&self, first: PointId) -> Vec<bool> {
        let mut is_reached = vec![false; self.successors.len()];
        is_reached[first.index()] = true;
        let mut left = vec![first];
        while let Some(point) = left.pop() {
            for &next in &self.successors[point.index()] {
                if !std::mem::replace(&mut is_reached[next.index()], true) {
                    left.push(next);
                }
            }
        }
        is_reached
    }

    /// By point, whether a step leads from it to a point from which it can be reached again.
    pub(crate) fn is_on_cycle(&self) -> Vec<bool> {
        let components = self.components();
        let points = self.successors.iter().enumerate();
        let is_on_cycle = points.map(|(at, next)| {
            let mut components_of = next.iter().map(|it| components[it.index()]);
            components_of.any(|component| component == components[at])
        });
        is_on_cycle.collect()
    }

    /// By point, the number of its strongly connected component: two points have the same one if
    /// each can be reached from the other. By Tarjan's algorithm, without recursion.
    pub(crate) fn components(&self) -> Vec<u32> {
        let n = self.successors.len();
        let (mut numbers, mut lowest, mut components) =
            (vec![NONE; n], vec![NONE; n], vec![NONE; n]);
        let (mut n_numbers, mut n_components) = (0, 0);
        // Points without a component yet, and the path to the one at hand with the number of its
        // next successor.
        let (mut open, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        for root in 0..n {
            if numbers[root] != NONE {
                continue;
            }
            path.push((root, 0));
            while let Some((at, next)) = path.pop() {
                if next == 0 {
                    (numbers[at], lowest[at]) = (n_numbers, n_numbers);
                    n_numbers += 1;
                    open.push(at);
                } else {
                    // Back from that successor.
                    let before = self.successors[at][next - 1].index();
                    if components[before] == NONE {
                        lowest[at] = lowest[at].min(lowest[before]);
                    }
                }
                if let Some(to) = self.successors[at].get(next) {
                    path.push((at, next + 1));
                    if numbers[to.index()] == NONE {
                        path.push((to.index(), 0));
                    }
                    continue;
                }
                if lowest[at] == numbers[at] {
                    while let Some(member) = open.pop() {
                        components[member] = n_components;
                        if member == at {
                            break;
                        }
                    }
                    n_components += 1;
                }
            }
        }
        components
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_what_reaches_each_other() {
        // A generator of its own, since the numbers need not be good.
        let mut seed = 1u64;
        let mut random = |n: usize| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        for _ in 0..500 {
            let n = 1 + random(12);
            let mut successors = vec![Vec::new(); n];
            for _ in 0..random(2 * n + 1) {
                let (from, to) = (random(n), random(n));
                successors[from].push(PointId(to as u32));
            }
            let graph = Graph { successors };
            let reached: Vec<Vec<bool>> = (0..n as u32)
                .map(|point| graph.reached_from(PointId(point)))
                .collect();
            let (components, is_on_cycle) = (graph.components(), graph.is_on_cycle());
            for a in 0..n {
                for b in 0..n {
                    let is_same = components[a] == components[b];
                    assert_eq!(is_same, reached[a][b] && reached[b][a]);
                }
                let mut next = graph.successors[a].iter();
                assert_eq!(is_on_cycle[a], next.any(|it| reached[it.index()][a]));
            }
        }
    }
}
