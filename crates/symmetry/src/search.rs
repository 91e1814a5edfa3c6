//! The least arrangement: individualisation and refinement of what refinement alone leaves tied.
//!
//! Elements that a transposition exchanges without changing the state are *twins*: any order of
//! them gives the same state, so a class of twins needs no branching.
//! Where a class of the partition holds several kinds of twins, each kind in turn is put first and
//! the partition refined again, which spans a tree; each leaf of the tree arranges all elements
//! and so writes out a state.
//! The representative is the least leaf, by the traces of the refinements on the path to it and
//! then by its bytes.
//! The tree, its traces and its leaves depend on the state only up to renaming, hence so does the
//! representative.
//!
//! Two equal leaves reveal an automorphism of the state. It maps the subtree that is being explored
//! to one explored before, so the rest of that subtree is pruned, and so are children that the
//! automorphisms found so far map to explored ones.

use hadal_model::Stop;

use crate::Permutation;
use crate::instance::Instance;
use crate::names::Names;
use crate::plan::Plan;
use crate::refine::{Partition, Refiner};
use crate::relabel::Relabelling;

/// Memory of the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Searcher {
    pub(crate) refiner: Refiner,
    pub(crate) instance: Instance,
    pub(crate) names: Names,
    /// The partition that every state begins with, where vertices are elements.
    coarsest: Partition,
    /// The partitions on the path from the root to the node being explored. The first one must be
    /// refined before a search.
    pub(crate) levels: Vec<Level>,
    /// By vertex, the first one found among its twins.
    twin: Vec<u32>,
    /// By vertex, the vertex it is renamed to at the current leaf; after a run, the vertex whose
    /// number within its domain is that of the element it became.
    pub(crate) image: Vec<u32>,
    /// The state as it is, but for bags, which are written with vertices for elements.
    plain: Vec<u8>,
    /// Where a candidate is written.
    target: Vec<u8>,
    /// Traces on the path to the best leaf.
    best_traces: Vec<u64>,
    /// The best leaf so far, then others that may reveal automorphisms.
    leaves: Vec<Leaf>,
    n_leaves: usize,
    /// Memory for sorting.
    pub(crate) keys: Vec<u64>,
    /// Candidate states written for the current state.
    pub(crate) candidates: u64,
}

/// A node on the current path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) partition: Partition,
    /// The kinds of twins in the class that is branched on here.
    choices: Vec<u32>,
    /// Number of them explored or pruned.
    n_tried: usize,
    /// By vertex, a vertex of the same orbit under the automorphisms that fix this node; roots
    /// point to themselves.
    orbit: Vec<u32>,
}

/// An arrangement that was written out.
#[derive(Clone, Debug, Default)]
struct Leaf {
    state: Vec<u8>,
    order: Vec<u32>,
    /// The choice at each level.
    path: Vec<u32>,
}

/// Number of leaves besides the best one that are kept for comparison with later ones.
const KEPT_LEAVES: usize = 16;

impl Searcher {
    /// Scratch memory for the states of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let names = Names::new(plan);
        let mut coarsest = Partition::default();
        coarsest.reset(plan, &names);
        Searcher {
            names,
            coarsest,
            levels: vec![Level::default()],
            ..Searcher::default()
        }
    }

    /// Writes the representative of `source`, which is padded, over `state`, which is equal to it.
    /// Once `stop` is raised, any image of the state will do.
    pub(crate) fn run(&mut self, plan: &Plan, stop: &Stop, source: &[u8], state: &mut [u8]) {
        self.candidates = 1;
        let is_settled = self.tell_apart(plan, source);
        if !is_settled {
            self.find_twins(plan, stop, source);
            if self.next_class(0).is_some() {
                self.target.clear();
                self.target.extend_from_slice(source);
                self.best_traces.clear();
                self.n_leaves = 0;
                self.candidates = 0;
                self.explore(plan, stop, source, 0);
                if self.n_leaves == 0 {
                    // Stopped before the first of them.
                    self.arrange(0);
                    return;
                }
                let best = &self.leaves[0];
                state.copy_from_slice(&best.state[..state.len()]);
                arrange(&best.order, &mut self.image);
                return;
            }
        }
        self.arrange(0);
        let mut images = self.image.iter().enumerate();
        if plan.is_indexed && images.all(|(vertex, &image)| vertex as u32 == image) {
            return;
        }
        self.target.clear();
        self.target.extend_from_slice(source);
        self.write_target(plan, source);
        state.copy_from_slice(&self.target[..state.len()]);
    }

    /// Refines the partition of the first level as far as it goes. Whether what is left tied are
    /// twins, as far as that is seen at once.
    fn tell_apart(&mut self, plan: &Plan, source: &[u8]) -> bool {
        let Searcher {
            refiner,
            instance,
            names,
            levels,
            coarsest,
            ..
        } = self;
        let partition = &mut levels[0].partition;
        if plan.is_indexed {
            // Most often elements differ after one step or two and the rest need not be read.
            instance.read_plain(plan, source);
            partition.copy_from(coarsest);
            refiner.split_by_signature(instance, partition);
            if partition.n_open == 0 {
                return true;
            }
            instance.read_near(plan, source, names);
            refiner.split_by_signature(instance, partition);
            if plan.has_rest() {
                if partition.n_open == 0 {
                    return true;
                }
                instance.read_rest(plan, source, names);
                refiner.split_by_signature(instance, partition);
            }
        } else {
            names.clear();
            instance.read_near(plan, source, names);
            instance.read_rest(plan, source, names);
            partition.reset(plan, names);
            refiner.split_by_signature(instance, partition);
        }
        if Self::holds_twins_only(plan, source, instance, partition) {
            return true;
        }
        refiner.refine(instance, partition);
        Self::holds_twins_only(plan, source, instance, partition)
    }

    /// Whether each class consists of vertices that nothing names and that have the same below
    /// them. These are twins, and most twins are of this kind: elements in their first state.
    fn holds_twins_only(
        plan: &Plan,
        source: &[u8],
        instance: &Instance,
        partition: &Partition,
    ) -> bool {
        let mut n_left = partition.n_open;
        let mut start = 0;
        while n_left > 0 {
            let class = partition.class(start);
            if let [first, others @ ..] = class
                && !others.is_empty()
            {
                n_left -= 1;
                let is_unnamed = |&vertex: &u32| instance.n_mentions[vertex as usize] == 0;
                let are_twins = class.iter().all(is_unnamed)
                    && others
                        .iter()
                        .all(|&other| plan.own_equal(source, *first, other));
                if !are_twins {
                    return false;
                }
            }
            start = partition.next(start);
        }
        true
    }

    /// Finds, within each class of the first level, the vertices that can be exchanged.
    fn find_twins(&mut self, plan: &Plan, stop: &Stop, source: &[u8]) {
        let n = plan.n_vertices as u32;
        self.twin.clear();
        self.twin.extend(0..n);
        self.image.clear();
        self.image.extend(0..n);
        if !self.instance.slots.is_empty() {
            // With vertices in place of elements, as what it will be compared with.
            self.plain.clear();
            self.plain.extend_from_slice(source);
            self.target.clear();
            self.target.extend_from_slice(source);
            let mut identity = Relabelling {
                plan,
                source,
                image: &self.image,
                names: &mut self.names,
                keys: &mut self.keys,
            };
            identity.write_bags(&mut self.plain);
        }
        let mut start = 0;
        while start < self.levels[0].partition.order.len() && !stop.is_raised() {
            let end = self.levels[0].partition.next(start);
            for position in start + 1..end {
                let vertex = self.levels[0].partition.order[position];
                // Being twins is transitive, so the first of each kind represents it.
                for earlier in start..position {
                    let other = self.levels[0].partition.order[earlier];
                    if self.twin[other as usize] == other
                        && self.are_twins(plan, source, vertex, other)
                    {
                        self.twin[vertex as usize] = other;
                        break;
                    }
                }
            }
            start = end;
        }
    }

    /// Whether exchanging two vertices leaves the state as it is. `image` must be the identity.
    fn are_twins(&mut self, plan: &Plan, source: &[u8], a: u32, b: u32) -> bool {
        let n_mentions = [a, b].map(|vertex| self.instance.n_mentions[vertex as usize]);
        match n_mentions {
            [0, 0] => return plan.own_equal(source, a, b),
            [a, b] if a != b => return false,
            _ => {}
        }
        self.image.swap(a as usize, b as usize);
        let mut exchange = Relabelling {
            plan,
            source,
            image: &self.image,
            names: &mut self.names,
            keys: &mut self.keys,
        };
        let mut is_idle = exchange.is_idle_outside_bags(a, b);
        if is_idle && self.instance.is_in_bags(a, b) {
            exchange.write_bags(&mut self.target);
            is_idle = self.target == self.plain;
        }
        self.image.swap(a as usize, b as usize);
        is_idle
    }

    /// The class to branch on at a level: the smallest of those that hold several kinds of twins,
    /// and the first of these.
    fn next_class(&self, level: usize) -> Option<usize> {
        let partition = &self.levels[level].partition;
        let mut best: Option<usize> = None;
        let mut start = 0;
        while start < partition.order.len() {
            let class = partition.class(start);
            let kind = self.twin[class[0] as usize];
            if class.len() > 1
                && best.is_none_or(|best| partition.size[best] > partition.size[start])
                && class
                    .iter()
                    .any(|&vertex| self.twin[vertex as usize] != kind)
            {
                best = Some(start);
            }
            start = partition.next(start);
        }
        best
    }

    /// Explores the node at `level`. Returns the level at which the search continues.
    fn explore(&mut self, plan: &Plan, stop: &Stop, source: &[u8], level: usize) -> usize {
        let Some(start) = self.next_class(level) else {
            return self.visit_leaf(plan, source, level);
        };
        if self.levels.len() == level + 1 {
            self.levels.push(Level::default());
        }
        let Level {
            partition,
            choices,
            n_tried,
            orbit,
        } = &mut self.levels[level];
        choices.clear();
        for &vertex in partition.class(start) {
            let kind = self.twin[vertex as usize];
            if !choices.contains(&kind) {
                choices.push(kind);
            }
        }
        *n_tried = 0;
        orbit.clear();
        orbit.extend(0..plan.n_vertices as u32);
        for position in 0..self.levels[level].choices.len() {
            if stop.is_raised() {
                break;
            }
            let kind = self.levels[level].choices[position];
            self.levels[level].n_tried = position;
            if self.levels[level].is_mapped_to_tried(kind) {
                continue;
            }
            let (above, below) = self.levels.split_at_mut(level + 1);
            let child = &mut below[0].partition;
            child.copy_from(&above[level].partition);
            let twin = &self.twin;
            child.put_first(start, |vertex| twin[vertex as usize] == kind);
            let trace = self.refiner.refine(&mut self.instance, child);
            // Whether the child is a leaf is part of its trace, so that no leaf's traces are the
            // beginning of another's.
            let is_leaf = self.next_class(level + 1).is_none();
            let trace = trace & !1 | u64::from(is_leaf);
            match self.best_traces.get(level).map(|best| trace.cmp(best)) {
                Some(std::cmp::Ordering::Greater) => continue,
                Some(std::cmp::Ordering::Equal) => {}
                Some(std::cmp::Ordering::Less) | None => {
                    // A better path, or the first one: what lay below is superseded.
                    self.best_traces.truncate(level);
                    self.best_traces.push(trace);
                    self.n_leaves = 0;
                }
            }
            let back_to = self.explore(plan, stop, source, level + 1);
            if back_to < level {
                return back_to;
            }
        }
        level
    }

    /// Writes out the arrangement at a leaf and compares it with earlier ones.
    fn visit_leaf(&mut self, plan: &Plan, source: &[u8], level: usize) -> usize {
        self.arrange(level);
        self.write_target(plan, source);
        self.candidates += 1;
        let known = self.leaves[..self.n_leaves]
            .iter()
            .position(|leaf| leaf.state == self.target);
        if let Some(known) = known {
            return self.note_automorphism(known, level);
        }
        // The best leaf stays in front.
        let is_best = self.n_leaves == 0 || self.target < self.leaves[0].state;
        if self.n_leaves > KEPT_LEAVES && !is_best {
            return level;
        }
        let slot = self.n_leaves.min(KEPT_LEAVES);
        if slot == self.leaves.len() {
            self.leaves.push(Leaf::default());
        }
        let leaf = &mut self.leaves[slot];
        leaf.state.clone_from(&self.target);
        leaf.order.clone_from(&self.levels[level].partition.order);
        leaf.path.clear();
        for level in &self.levels[..level] {
            leaf.path.push(level.choices[level.n_tried]);
        }
        self.n_leaves = slot + 1;
        if is_best {
            self.leaves.swap(0, slot);
        }
        level
    }

    /// Uses the automorphism that turns a known leaf into the current one. Returns the level where
    /// the two paths part.
    fn note_automorphism(&mut self, known: usize, level: usize) -> usize {
        let (path, leaf) = self.levels.split_at_mut(level);
        let order = &leaf[0].partition.order;
        let known = &self.leaves[known];
        for (position, level) in path.iter_mut().enumerate() {
            for (&a, &b) in known.order.iter().zip(order) {
                level.join(self.twin[a as usize], self.twin[b as usize]);
            }
            if known.path[position] != level.choices[level.n_tried] {
                return position;
            }
        }
        level
    }

    /// Writes the state, renamed by `image`, to `target`, which holds the state or an image of it.
    fn write_target(&mut self, plan: &Plan, source: &[u8]) {
        let mut relabelling = Relabelling {
            plan,
            source,
            image: &self.image,
            names: &mut self.names,
            keys: &mut self.keys,
        };
        relabelling.write(&mut self.target);
    }

    /// Sets `image` to the arrangement of a level's partition.
    fn arrange(&mut self, level: usize) {
        arrange(&self.levels[level].partition.order, &mut self.image);
    }

    /// The renaming of the last run for each scalarset that `is_wanted`, as a permutation of its
    /// elements.
    pub(crate) fn renaming(&self, plan: &Plan, is_wanted: &[bool]) -> Permutation {
        let mut images = vec![Vec::new(); is_wanted.len()];
        for (position, domain) in plan.domains.iter().enumerate() {
            if !is_wanted[domain.scalarset.index()] {
                continue;
            }
            let used = domain.base..domain.base + self.names.n_used(plan, position);
            let known = used.map(|vertex| {
                let element = self.names.element(plan, position as u32, vertex);
                (element, self.image[vertex as usize] - domain.base)
            });
            images[domain.scalarset.index()] = complete(known);
        }
        Permutation::new(images).expect("distinct vertices stand for distinct elements")
    }
}

fn arrange(order: &[u32], image: &mut Vec<u32>) {
    image.clear();
    image.resize(order.len(), 0);
    for (position, &vertex) in order.iter().enumerate() {
        image[vertex as usize] = position as u32;
    }
}

/// The permutation that maps the elements that occur in a state as given. The others may become
/// anything, so they stay what they are where that is still free.
fn complete(known: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<u32> {
    let len = known.clone().map(|(element, image)| element.max(image) + 1);
    let len = len.max().unwrap_or(0) as usize;
    let (mut images, mut is_taken) = (vec![None; len], vec![false; len]);
    for (element, image) in known {
        images[element as usize] = Some(image);
        is_taken[image as usize] = true;
    }
    for (element, image) in images.iter_mut().enumerate() {
        if image.is_none() && !is_taken[element] {
            *image = Some(element as u32);
            is_taken[element] = true;
        }
    }
    let mut free = (0..len as u32).filter(|&image| !is_taken[image as usize]);
    let images = images
        .into_iter()
        .map(|image| image.or_else(|| free.next()));
    // As many are free as are missing.
    images.flatten().collect()
}

impl Level {
    fn root(&self, mut vertex: u32) -> u32 {
        while self.orbit[vertex as usize] != vertex {
            vertex = self.orbit[vertex as usize];
        }
        vertex
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.orbit[a.max(b) as usize] = a.min(b);
    }

    /// Whether a known automorphism maps this choice to one that was tried.
    fn is_mapped_to_tried(&self, choice: u32) -> bool {
        let root = self.root(choice);
        let tried = &self.choices[..self.n_tried];
        tried.iter().any(|&other| self.root(other) == root)
    }
}
