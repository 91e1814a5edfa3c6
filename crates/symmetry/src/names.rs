//! Which vertex stands for which element, in one state.
//!
//! For a scalarset that serves as an index they are numbered alike.
//! For others, vertices are assigned in the order in which elements occur, so that elements that do
//! not occur cost nothing. The assignment then depends on the state's names; the canonical form
//! does not.

use crate::plan::{Domain, Plan, Segment};

/// Scalarsets up to this size have a table from element to vertex; larger ones are searched.
const TABLE_LIMIT: u32 = 1 << 16;

/// The elements that have been given a vertex.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// By domain.
    domains: Vec<Met>,
}

#[derive(Clone, Debug, Default)]
struct Met {
    /// The elements that occurred, in order.
    elements: Vec<u32>,
    /// By element, its position in `elements` plus one, or 0.
    table: Vec<u32>,
}

impl Names {
    /// Room for the domains of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let room = |domain: &Domain| Met {
            elements: Vec::new(),
            table: match !domain.is_index && domain.size <= TABLE_LIMIT {
                true => vec![0; domain.size as usize],
                false => Vec::new(),
            },
        };
        Names {
            domains: plan.domains.iter().map(room).collect(),
        }
    }

    /// Clears all elements.
    pub(crate) fn clear(&mut self) {
        for met in &mut self.domains {
            if !met.table.is_empty() {
                for &element in &met.elements {
                    met.table[element as usize] = 0;
                }
            }
            met.elements.clear();
        }
    }

    /// The vertex of an element, a fresh one at its first occurrence.
    #[inline]
    pub(crate) fn vertex(&mut self, segment: &Segment, element: u32) -> u32 {
        match segment.is_index {
            true => segment.base + element,
            false => segment.base + self.domains[segment.domain as usize].position(element),
        }
    }
    /// The element that a vertex in use stands for.
    pub(crate) fn element(&self, plan: &Plan, domain: u32, vertex: u32) -> u32 {
        let Domain { base, is_index, .. } = plan.domains[domain as usize];
        match is_index {
            true => vertex - base,
            false => self.domains[domain as usize].elements[(vertex - base) as usize],
        }
    }

    /// Number of vertices of a domain in use.
    pub(crate) fn n_used(&self, plan: &Plan, domain: usize) -> u32 {
        match &plan.domains[domain] {
            Domain {
                is_index: true,
                n_vertices,
                ..
            } => *n_vertices,
            _ => self.domains[domain].elements.len() as u32,
        }
    }
}

impl Met {
    /// The position of an element among those that occurred; adds it if it is new.
    fn position(&mut self, element: u32) -> u32 {
        let known = match self.table.get(element as usize) {
            Some(0) => None,
            Some(&position) => Some(position - 1),
            None => self
                .elements
                .iter()
                .position(|&other| other == element)
                .map(|position| position as u32),
        };
        known.unwrap_or_else(|| {
            self.elements.push(element);
            let position = self.elements.len() as u32 - 1;
            if let Some(entry) = self.table.get_mut(element as usize) {
                *entry = position + 1;
            }
            position
        })
    }
}
