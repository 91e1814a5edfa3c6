//! Elements with equal keys, distinguished by the pointers between elements.
//!
//! This is the refinement of `refine` for the records of `sorting`, where two elements are related
//! only by the pointers of the one that name the other.

use crate::hash::mix;
use crate::sorting::{MAX_VERTICES, Sorting, VERTEX_MASK};

/// In place of the colour of what a pointer names: that it names its own element.
const ITSELF: u64 = 1 << 32;
/// The same for values that are no elements, to which the raw value is added.
const NO_ELEMENT: u64 = 1 << 33;

/// Memory that one thread reuses from state to state.
#[derive(Clone, Debug)]
pub(crate) struct Ties {
    /// By vertex, the position of the first vertex of its class.
    colours: [u8; MAX_VERTICES],
    /// By vertex, the sum over its pointers under the current colours.
    signatures: [u64; MAX_VERTICES],
}

impl Default for Ties {
    fn default() -> Self {
        Ties {
            colours: [0; MAX_VERTICES],
            signatures: [0; MAX_VERTICES],
        }
    }
}

impl Ties {
    /// Sorts vertices whose keys are equal by an order that depends on the state only up to
    /// renaming. `keys` are sorted and have their vertices in their low bits.
    ///
    /// Whether that is done; it is not where vertices stay tied that are not the same in all
    /// respects as far as that is seen at once.
    pub(crate) fn settle(
        &mut self,
        sorting: &Sorting,
        records: &[u64; MAX_VERTICES + 1],
        keys: &mut [u64; MAX_VERTICES],
    ) -> bool {
        let named = named(sorting, records);
        for domain in &sorting.domains {
            let mut first = domain.base;
            for position in domain.base..domain.end {
                if keys[first] ^ keys[position] > VERTEX_MASK {
                    first = position;
                }
                self.colours[vertex(keys[position])] = first as u8;
            }
        }
        while !self.are_twins(sorting, records, keys, named) {
            self.sign(sorting, records);
            if !self.split(sorting, keys) {
                return false;
            }
        }
        true
    }

    /// Whether each class consists of vertices that nothing names and that have the same below
    /// them. Any order of these gives the same state.
    fn are_twins(
        &self,
        sorting: &Sorting,
        records: &[u64; MAX_VERTICES + 1],
        keys: &[u64; MAX_VERTICES],
        named: u64,
    ) -> bool {
        // No two domains share a colour.
        keys[..sorting.n_vertices].windows(2).all(|pair| {
            let (a, b) = (vertex(pair[0]), vertex(pair[1]));
            self.colours[a] != self.colours[b]
                || records[a] ^ records[b] <= VERTEX_MASK && (named >> a | named >> b) & 1 == 0
        })
    }

    /// Sums up the pointers of each vertex.
    fn sign(&mut self, sorting: &Sorting, records: &[u64; MAX_VERTICES + 1]) {
        self.signatures[..sorting.n_vertices].fill(0);
        for domain in &sorting.domains {
            for (number, link) in (1..).zip(sorting.links(domain)) {
                for (source, &record) in (domain.base..).zip(&records[domain.base..domain.end]) {
                    let target = sorting.target(link, record);
                    let label = if target == sorting.n_vertices {
                        NO_ELEMENT + (record >> link.shift & link.mask)
                    } else if target == source {
                        ITSELF
                    } else {
                        let heard = mix(u64::from(self.colours[source]), number << 8);
                        let signature = &mut self.signatures[target];
                        *signature = signature.wrapping_add(heard);
                        u64::from(self.colours[target])
                    };
                    let signature = &mut self.signatures[source];
                    *signature = signature.wrapping_add(mix(label, number));
                }
            }
        }
    }

    /// Sorts each class by signatures and splits it. Whether any class was split.
    fn split(&mut self, sorting: &Sorting, keys: &mut [u64; MAX_VERTICES]) -> bool {
        let mut any = false;
        let mut first = 0;
        while first < sorting.n_vertices {
            let colour = self.colours[vertex(keys[first])];
            let is_other = |key: &u64| self.colours[vertex(*key)] != colour;
            let class = &mut keys[first..sorting.n_vertices];
            let n = class.iter().position(is_other).unwrap_or(class.len());
            let class = &mut class[..n];
            // Stable, so that what is in order already stays.
            class.sort_by_key(|key| self.signatures[vertex(*key)]);
            let mut start = first;
            for position in 1..n {
                let [before, this] = [position - 1, position].map(|at| vertex(class[at]));
                if self.signatures[before] != self.signatures[this] {
                    start = first + position;
                    any = true;
                }
                self.colours[this] = start as u8;
            }
            first += n;
        }
        any
    }
}

/// A bit for each vertex that a pointer names.
fn named(sorting: &Sorting, records: &[u64; MAX_VERTICES + 1]) -> u64 {
    let mut named = 0u64;
    for domain in &sorting.domains {
        for link in sorting.links(domain) {
            for &record in &records[domain.base..domain.end] {
                let target = sorting.target(link, record);
                named |= u64::from(target < sorting.n_vertices) << (target % MAX_VERTICES);
            }
        }
    }
    named
}

fn vertex(key: u64) -> usize {
    (key & VERTEX_MASK) as usize
}
