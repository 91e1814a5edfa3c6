//! One state seen as a coloured hypergraph over the elements of the scalarsets.
//!
//! Each cell of the state relates the elements it stands below and the element it holds: an *edge*
//! through their vertices, labelled with the cell's kind and its plain bits.
//! An edge through a single vertex is summed into that vertex's signature at once; edges through
//! several vertices are kept for refinement.
//! An element of a bag has no name of its own. It is a *slot*: the edges inside it belong
//! together, whatever its slot in the bag.

use hadal_ir::bits;

use crate::hash::mix;
use crate::names::Names;
use crate::plan::{Body, Cell, Plan};

/// A state as a hypergraph. The memory is reused from state to state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Instance {
    /// By vertex, what is known about it alone.
    pub(crate) signatures: Vec<u64>,
    /// By vertex, the number of edges through it, except those that stand below it alone.
    pub(crate) n_mentions: Vec<u32>,
    /// The edges outside of bags, then those of each slot.
    pub(crate) edges: Vec<Edge>,
    /// The vertices of edges and slots.
    pub(crate) vertices: Vec<u32>,
    /// The elements of bags, outer ones before those inside them.
    pub(crate) slots: Vec<Slot>,
}

/// A cell that relates several vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Its kind and its plain bits.
    pub(crate) label: u64,
    /// The slot it stands in, or [`OUTSIDE`].
    pub(crate) slot: u32,
    /// Its vertices in order, all different, as a range.
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// An element of a bag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The slot that its bag stands in, or [`OUTSIDE`].
    pub(crate) parent: u32,
    /// Which bag it is in, up to renaming.
    pub(crate) kind: u64,
    /// Its content that concerns no vertex.
    pub(crate) label: u64,
    /// The vertices its bag stands below, as a range.
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// Its content under the current colours; maintained by refinement.
    pub(crate) content: u64,
    /// The same with its surroundings; maintained by refinement.
    pub(crate) context: u64,
}

/// In place of a slot: outside of all bags.
pub(crate) const OUTSIDE: u32 = u32::MAX;

impl Instance {
    /// Reads a new state, up to the cells below one element that name none.
    pub(crate) fn read_plain(&mut self, plan: &Plan, state: &[u8]) {
        self.signatures.clear();
        self.signatures.extend((0..plan.n_vertices).map(|vertex| {
            plan.own(vertex).iter().fold(0u64, |signature, cell| {
                let raw = bits::get(state, cell.first_bit as usize, cell.n_bits);
                signature.wrapping_add(cell.kind.wrapping_mul(raw & !cell.field_mask))
            })
        }));
    }

    /// Reads a new state, up to the cells below at most one element. These alone distinguish most
    /// elements.
    pub(crate) fn read_near(&mut self, plan: &Plan, state: &[u8], names: &mut Names) {
        self.signatures.clear();
        self.signatures.resize(plan.n_vertices, 0);
        self.n_mentions.clear();
        self.n_mentions.resize(plan.n_vertices, 0);
        self.edges.clear();
        self.vertices.clear();
        self.slots.clear();
        let body = &plan.bodies[0];
        self.read_cells(plan, &body.cells[..body.n_near], state, 0, OUTSIDE, names);
    }

    /// Adds everything else.
    pub(crate) fn read_rest(&mut self, plan: &Plan, state: &[u8], names: &mut Names) {
        let body = &plan.bodies[0];
        self.read_cells(plan, &body.cells[body.n_near..], state, 0, OUTSIDE, names);
        self.read_bags(plan, body, state, 0, OUTSIDE, names);
    }

    /// Whether one of two vertices is named inside a bag or has one below it that is not empty.
    pub(crate) fn is_in_bags(&self, a: u32, b: u32) -> bool {
        // Bags are read after everything else.
        let Some(slot) = self.slots.first() else {
            return false;
        };
        let mut vertices = self.vertices[slot.first as usize..].iter();
        vertices.any(|&vertex| vertex == a || vertex == b)
    }

    fn read_cells(
        &mut self,
        plan: &Plan,
        cells: &[Cell],
        state: &[u8],
        at: usize,
        slot: u32,
        names: &mut Names,
    ) {
        for cell in cells {
            let mut rest = bits::get(state, at + cell.first_bit as usize, cell.n_bits);
            // A wholly undefined cell adds no edge: its absence distinguishes it as well.
            if rest == 0 {
                continue;
            }
            let fields = match rest & cell.field_mask {
                0 => &[][..],
                _ => plan.fields(cell),
            };
            for field in fields {
                let raw = rest >> field.shift & field.mask;
                if let Some((segment, element)) = plan.decode(field, raw) {
                    rest ^= raw << field.shift;
                    let vertex = names.vertex(segment, element);
                    // The first raw value names the part of a union.
                    let label = (cell.kind ^ field.kind).wrapping_mul(2 * segment.first_raw + 1);
                    self.add_edge(plan, cell, label, Some(vertex), slot);
                }
            }
            if rest == 0 {
                continue;
            }
            match (cell.only_axis, slot) {
                (Some(axis), OUTSIDE) => {
                    // A sum of small multiples of random words is as good as any hash of them.
                    let signature = &mut self.signatures[axis.vertex as usize];
                    *signature = signature.wrapping_add(cell.kind.wrapping_mul(rest));
                }
                _ if slot == OUTSIDE && plan.axes(cell).is_empty() => {}
                _ => self.add_edge(plan, cell, mix(cell.kind, rest), None, slot),
            }
        }
    }

    fn read_bags(
        &mut self,
        plan: &Plan,
        body: &Body,
        state: &[u8],
        at: usize,
        slot: u32,
        names: &mut Names,
    ) {
        for (cell, bag) in &body.bags {
            let at = at + cell.first_bit as usize;
            for position in 0..bag.capacity {
                if bits::get(state, at + position as usize, 1) == 0 {
                    break;
                }
                let first = self.vertices.len() as u32;
                let axes = plan.axes(cell);
                for axis in axes {
                    self.vertices.push(axis.vertex);
                    self.n_mentions[axis.vertex as usize] += 1;
                }
                let inner = self.slots.len() as u32;
                self.slots.push(Slot {
                    parent: slot,
                    kind: cell.kind,
                    label: 0,
                    first,
                    end: self.vertices.len() as u32,
                    content: 0,
                    context: 0,
                });
                let at = at + bag.slot_bit(position);
                let body = &plan.bodies[bag.body as usize];
                self.read_cells(plan, &body.cells, state, at, inner, names);
                self.read_bags(plan, body, state, at, inner, names);
            }
        }
    }

    /// Adds the edge of a cell: the vertices it stands below and the one it holds.
    fn add_edge(
        &mut self,
        plan: &Plan,
        cell: &Cell,
        mut label: u64,
        target: Option<u32>,
        slot: u32,
    ) {
        let axes = plan.axes(cell);
        if slot == OUTSIDE {
            // What concerns a single vertex goes to its signature at once.
            let only = match (axes, target) {
                ([], Some(vertex)) => Some(vertex),
                ([axis], Some(vertex)) if axis.vertex == vertex => {
                    label = mix(label, 1);
                    Some(vertex)
                }
                _ => None,
            };
            if let Some(vertex) = only {
                let signature = &mut self.signatures[vertex as usize];
                *signature = signature.wrapping_add(label);
                self.n_mentions[vertex as usize] += 1;
                return;
            }
        }
        let first = self.vertices.len();
        self.vertices.extend(axes.iter().map(|axis| axis.vertex));
        if let Some(target) = target {
            // Pointing to an element one stands below is a fact of its own.
            match self.vertices[first..].iter().position(|&v| v == target) {
                Some(position) => label = mix(label, position as u64 + 1),
                None => self.vertices.push(target),
            }
        }
        let end = self.vertices.len();
        let is_own = axes.len() == 1 && slot == OUTSIDE;
        for &vertex in &self.vertices[first + usize::from(is_own)..end] {
            self.n_mentions[vertex as usize] += 1;
        }
        // So is naming, inside a bag, an element that the bag stands below.
        let mut outer = slot;
        let mut depth = 1u64 << 32;
        while outer != OUTSIDE {
            let above = self.slots[outer as usize];
            for (j, position) in (above.first..above.end).enumerate() {
                let vertex = self.vertices[position as usize];
                if let Some(k) = self.vertices[first..end].iter().position(|&v| v == vertex) {
                    label = mix(label, depth + ((j as u64) << 16) + k as u64);
                }
            }
            outer = above.parent;
            depth += 1 << 32;
        }
        match end - first {
            0 => {
                if let Some(slot) = self.slots.get_mut(slot as usize) {
                    slot.label = slot.label.wrapping_add(label);
                }
            }
            _ => self.edges.push(Edge {
                label,
                slot,
                first: first as u32,
                end: end as u32,
            }),
        }
    }
}
