//! The formula that tells two states apart, from the history of the partitions.
//!
//! Let s and t part at depth k, and let (a, B) be an element of the signature of s at depth k - 1
//! that t lacks. Then s satisfies `<a> f` and t does not, if f holds in all of B and fails wherever t
//! gets by a. Those are other blocks of depth k - 1, so formulas of less depth tell them apart, and f
//! is their conjunction.
//!
//! Where steps may be inert, s does a after inert steps, in which it stays in its block. The until
//! operator says so: its left side holds in that block and fails in those that t reaches by leaving
//! it invisibly.

use std::mem::{self, Discriminant};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::formula::Formula;
use super::history::{Explicit, History};
use crate::Labels;
use crate::minimise::Equivalence;

/// A formula that holds in the first state and not in the second, which `history` has parted.
pub(super) fn formula(
    graph: &Explicit,
    history: &History,
    (a, b): (u32, u32),
    labels: &Labels,
    equivalence: Equivalence,
) -> Formula {
    let mut builder = Builder {
        graph,
        equivalence,
        history,
        labels,
        known: FxHashMap::default(),
        shared: FxHashMap::default(),
    };
    let formula = builder.distinguish(a, b);
    drop(builder);
    Rc::unwrap_or_clone(formula)
}

struct Builder<'a> {
    graph: &'a Explicit,
    /// Minimal graphs may have no invisible step left where the original ones have.
    equivalence: Equivalence,
    history: &'a History,
    labels: &'a Labels,
    /// By depth and blocks: it holds in all of the one and fails in all of the other.
    known: FxHashMap<(usize, u32, u32), Rc<Formula>>,
    /// Each formula once, so that equal ones are the same and large ones take little memory.
    shared: FxHashMap<Key, Rc<Formula>>,
}

/// A formula by its kind, its label and its parts, which are shared already.
type Key = (Discriminant<Formula>, Option<String>, Vec<*const Formula>);

impl Builder<'_> {
    /// A formula that holds in `s` and fails in `t`. Recursion is as deep as the history.
    fn distinguish(&mut self, s: u32, t: u32) -> Rc<Formula> {
        let depth = self.history.depth(s, t);
        let depth = depth.expect("only states that have parted are told apart");
        let blocks = &self.history.rounds[depth];
        let key = (depth, blocks[s as usize], blocks[t as usize]);
        if let Some(formula) = self.known.get(&key) {
            return Rc::clone(formula);
        }
        let before: &[u32] = &self.history.rounds[depth - 1];
        let of_s = self.graph.signature(s, before);
        let of_t = self.graph.signature(t, before);
        let lacks = |of: &[(u32, u32)], item: &(u32, u32)| of.binary_search(item).is_err();
        let formula = match of_s.iter().find(|item| lacks(&of_t, item)) {
            Some(&item) => self.can(s, t, item, before),
            None => {
                let item = of_t.iter().find(|item| lacks(&of_s, item));
                let item = *item.expect("states part by their signatures");
                let part = self.can(t, s, item, before);
                self.share(Formula::Not(part))
            }
        };
        self.known.insert(key, Rc::clone(&formula));
        formula
    }

    /// A formula that holds in `s`, which has the element `(label, block)` in its signature over the
    /// blocks `before`, and fails in `t`, which lacks it.
    fn can(&mut self, s: u32, t: u32, (label, block): (u32, u32), before: &[u32]) -> Rc<Formula> {
        let graph = self.graph;
        let around_s = graph.inert_closure(s, before);
        let mut edges = around_s.iter().flat_map(|&from| graph.edges(from));
        let found = edges.find(|&&(l, target)| l == label && before[target as usize] == block);
        let &(_, reached) = found.expect("the element comes from an edge");
        let around_t = graph.inert_closure(t, before);
        let edges_of_t: Vec<(u32, u32)> = around_t
            .iter()
            .flat_map(|&from| graph.edges(from))
            .copied()
            .collect();
        let by_label = edges_of_t.iter().filter(|edge| edge.0 == label);
        let mut others: Vec<u32> = by_label.map(|edge| edge.1).collect();
        // To do nothing is an invisible step.
        if graph.tau == Some(label) {
            others.push(t);
        }
        let then = self.all(reached, others, before);
        let name = self.labels.text(label).into_owned();
        if self.equivalence == Equivalence::Strong {
            return self.share(Formula::Diamond { label: name, then });
        }
        let own = before[s as usize];
        let invisible = edges_of_t.iter().filter(|edge| graph.tau == Some(edge.0));
        let exits = invisible.map(|edge| edge.1);
        let exits = exits.filter(|&target| before[target as usize] != own);
        let stay = self.all(s, exits.collect(), before);
        self.share(Formula::Until {
            stay,
            label: name,
            is_tau: graph.tau == Some(label),
            then,
        })
    }

    /// A formula that holds in `s` and fails in all of `others`, one of each block sufficing.
    fn all(&mut self, s: u32, mut others: Vec<u32>, before: &[u32]) -> Rc<Formula> {
        others.sort_unstable_by_key(|&other| (before[other as usize], other));
        others.dedup_by_key(|other| before[*other as usize]);
        let mut parts: Vec<Rc<Formula>> = Vec::new();
        for other in others {
            let part = self.distinguish(s, other);
            if !parts.iter().any(|it| Rc::ptr_eq(it, &part)) {
                parts.push(part);
            }
        }
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => self.share(Formula::And(parts)),
        }
    }

    /// The one formula that is equal to this.
    fn share(&mut self, formula: Formula) -> Rc<Formula> {
        let parts = formula.parts().into_iter().map(Rc::as_ptr).collect();
        let label = formula.label().map(str::to_owned);
        let key = (mem::discriminant(&formula), label, parts);
        let shared = self.shared.entry(key);
        Rc::clone(shared.or_insert_with(|| Rc::new(formula)))
    }
}
