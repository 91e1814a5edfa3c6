//! Ordered partitions of the vertices and their colour refinement.
//!
//! A partition orders the vertices into classes; the colour of a vertex is the position of the
//! first vertex of its class.
//! Refinement splits each class by the edges of its vertices, in terms of the colours of all
//! others, until nothing splits.
//! Everything is a function of the state up to renaming: of two states that a renaming turns into
//! each other, the partitions correspond by that renaming.

use crate::hash::mix;
use crate::instance::{Instance, OUTSIDE};
use crate::names::Names;
use crate::plan::Plan;

/// An ordered partition of the vertices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partition {
    /// The vertices, class by class. Vertices of one domain stay within its range.
    pub(crate) order: Vec<u32>,
    /// By vertex, the position of the first vertex of its class.
    pub(crate) colour: Vec<u32>,
    /// By position of the first vertex of a class, the size of the class.
    pub(crate) size: Vec<u32>,
    /// Number of classes with more than one vertex.
    pub(crate) n_open: usize,
}

/// Memory of the refinement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refiner {
    /// By vertex, its colour as a random-looking word.
    hues: Vec<u64>,
    /// By vertex, the sum over its edges.
    keys: Vec<u64>,
    /// Vertices with their keys, to be sorted.
    sorted: Vec<(u64, u32)>,
}

impl Partition {
    /// The coarsest partition: a class for each domain. Vertices that are not in use come last in
    /// their domain, each alone.
    pub(crate) fn reset(&mut self, plan: &Plan, names: &Names) {
        let n = plan.n_vertices;
        self.order.clear();
        self.order.extend(0..n as u32);
        self.colour.clear();
        self.colour.extend(0..n as u32);
        self.size.clear();
        self.size.resize(n, 1);
        self.n_open = 0;
        for (position, domain) in plan.domains.iter().enumerate() {
            let n_used = names.n_used(plan, position);
            if n_used < 2 {
                continue;
            }
            let (base, end) = (domain.base as usize, (domain.base + n_used) as usize);
            self.colour[base..end].fill(domain.base);
            self.size[base] = n_used;
            self.n_open += 1;
        }
    }

    /// Takes over another partition.
    pub(crate) fn copy_from(&mut self, other: &Partition) {
        self.order.clone_from(&other.order);
        self.colour.clone_from(&other.colour);
        self.size.clone_from(&other.size);
        self.n_open = other.n_open;
    }

    /// The vertices of the class that begins at `start`.
    pub(crate) fn class(&self, start: usize) -> &[u32] {
        &self.order[start..start + self.size[start] as usize]
    }

    /// Where the class after the one that begins at `start` begins.
    pub(crate) fn next(&self, start: usize) -> usize {
        start + self.size[start] as usize
    }

    /// Splits the class at `start` so that the vertices that satisfy `first` come first, as a
    /// class.
    pub(crate) fn put_first(&mut self, start: usize, first: impl Fn(u32) -> bool) {
        let end = self.next(start);
        let mut middle = start;
        for position in start..end {
            if first(self.order[position]) {
                self.order.swap(middle, position);
                middle += 1;
            }
        }
        if middle > start && middle < end {
            self.n_open -= 1;
            self.begin_class(start, middle);
            self.begin_class(middle, end);
        }
    }

    fn begin_class(&mut self, start: usize, end: usize) {
        self.size[start] = (end - start) as u32;
        self.n_open += usize::from(end - start > 1);
        for position in start..end {
            self.colour[self.order[position] as usize] = start as u32;
        }
    }

    /// Splits classes by the keys of their vertices, least first. Whether any split; what did is
    /// mixed into `trace`.
    fn split(&mut self, keys: &[u64], sorted: &mut Vec<(u64, u32)>, trace: &mut u64) -> bool {
        let mut any = false;
        let mut start = 0;
        while start < self.order.len() {
            let end = self.next(start);
            let class = &self.order[start..end];
            let key = keys[class[0] as usize];
            if end - start == 1 || class[1..].iter().all(|&v| keys[v as usize] == key) {
                *trace = mix(*trace, key);
                start = end;
                continue;
            }
            any = true;
            sorted.clear();
            sorted.extend(class.iter().map(|&v| (keys[v as usize], v)));
            sorted.sort_unstable();
            for (position, &(_, vertex)) in sorted.iter().enumerate() {
                self.order[start + position] = vertex;
            }
            self.n_open -= 1;
            let mut first = 0;
            while first < sorted.len() {
                let key = sorted[first].0;
                let run = sorted[first..].iter().take_while(|entry| entry.0 == key);
                let next = first + run.count();
                self.begin_class(start + first, start + next);
                *trace = mix(*trace, mix(key, (start + first) as u64));
                first = next;
            }
            start = end;
        }
        any
    }
}

impl Refiner {
    /// Splits by what is known about each vertex alone.
    pub(crate) fn split_by_signature(&mut self, instance: &Instance, partition: &mut Partition) {
        partition.split(&instance.signatures, &mut self.sorted, &mut 0);
    }

    /// Splits until nothing splits any more. Returns a trace that is the same for states, and
    /// partitions of them, that a renaming turns into each other.
    pub(crate) fn refine(&mut self, instance: &mut Instance, partition: &mut Partition) -> u64 {
        let mut trace = partition.n_open as u64;
        // A slot without edges counts too: its bag is not empty.
        let is_silent = instance.edges.is_empty() && instance.slots.is_empty();
        while partition.n_open > 0 && !is_silent {
            self.gather(instance, partition);
            if !partition.split(&self.keys, &mut self.sorted, &mut trace) {
                break;
            }
        }
        trace
    }

    /// Sums up the edges of each vertex under the current colours.
    fn gather(&mut self, instance: &mut Instance, partition: &Partition) {
        self.hues.clear();
        let colours = partition.colour.iter();
        self.hues
            .extend(colours.map(|&colour| mix(u64::from(colour), 7)));
        self.keys.clear();
        self.keys.resize(partition.order.len(), 0);
        self.weigh_slots(instance);
        for edge in &instance.edges {
            let vertices = &instance.vertices[edge.first as usize..edge.end as usize];
            let mut label = mix(edge.label, self.tuple(vertices));
            if edge.slot != OUTSIDE {
                label = mix(label, instance.slots[edge.slot as usize].context);
            }
            self.add_edge(vertices, label);
        }
        for slot in &instance.slots {
            let vertices = &instance.vertices[slot.first as usize..slot.end as usize];
            self.add_edge(vertices, slot.context);
        }
    }

    /// Updates the content of each slot from the inside out, then its context.
    fn weigh_slots(&self, instance: &mut Instance) {
        let Instance {
            edges,
            vertices,
            slots,
            ..
        } = instance;
        for slot in slots.iter_mut() {
            slot.content = slot.label;
        }
        for edge in edges.iter().filter(|edge| edge.slot != OUTSIDE) {
            let label = mix(
                edge.label,
                self.tuple(&vertices[edge.first as usize..edge.end as usize]),
            );
            let content = &mut slots[edge.slot as usize].content;
            *content = content.wrapping_add(label);
        }
        // Inner slots come after the slots they stand in.
        for position in (0..slots.len()).rev() {
            let slot = slots[position];
            let place = mix(
                slot.kind,
                self.tuple(&vertices[slot.first as usize..slot.end as usize]),
            );
            let content = mix(place, slot.content);
            slots[position].content = content;
            if slot.parent != OUTSIDE {
                let outer = &mut slots[slot.parent as usize].content;
                *outer = outer.wrapping_add(content);
            }
        }
        for position in 0..slots.len() {
            let slot = slots[position];
            let around = match slot.parent {
                OUTSIDE => 11,
                parent => slots[parent as usize].context,
            };
            slots[position].context = mix(around, slot.content);
        }
    }

    /// The colours of vertices in their order, as one word.
    fn tuple(&self, vertices: &[u32]) -> u64 {
        let mut word = 0u64;
        for &vertex in vertices {
            word = word
                .rotate_left(23)
                .wrapping_add(self.hues[vertex as usize]);
        }
        word
    }

    /// Adds an edge to the keys of its vertices, each with its position in the edge.
    fn add_edge(&mut self, vertices: &[u32], label: u64) {
        for (position, &vertex) in vertices.iter().enumerate() {
            let key = &mut self.keys[vertex as usize];
            *key = key.wrapping_add(mix(label, position as u64 + 1));
        }
    }
}
