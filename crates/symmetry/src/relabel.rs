//! Writing out a state under other names, by the plan.

use hadal_ir::bits;

use crate::action::copy;
use crate::names::Names;
use crate::plan::{Axis, Bag, Body, Cell, Plan};

/// A state and the renaming of its vertices: vertex `v` becomes what `image[v]` stands for.
pub(crate) struct Relabelling<'a> {
    pub(crate) plan: &'a Plan,
    /// The state, padded.
    pub(crate) source: &'a [u8],
    pub(crate) image: &'a [u32],
    pub(crate) names: &'a mut Names,
    /// Memory for sorting the slots of bags.
    pub(crate) keys: &'a mut Vec<u64>,
}

impl Relabelling<'_> {
    /// Writes the image of the state to `target`, where each vertex stands for the element of the
    /// same number in its domain. `target` must be as long as the padded state; what it holds does
    /// not matter.
    pub(crate) fn write(&mut self, target: &mut [u8]) {
        let plan = self.plan;
        for ((target, source), fixed) in target.iter_mut().zip(self.source).zip(&plan.fixed) {
            *target = source & fixed;
        }
        self.write_cells(&plan.bodies[0].cells, 0, target, 0);
        self.write_bags(target);
    }

    /// Writes only the bags.
    pub(crate) fn write_bags(&mut self, target: &mut [u8]) {
        let plan = self.plan;
        self.write_bags_of(&plan.bodies[0], 0, target, 0);
    }

    /// Whether the renaming, which must be an exchange of vertices `a` and `b`, leaves everything
    /// outside of bags as it is.
    pub(crate) fn is_idle_outside_bags(&mut self, a: u32, b: u32) -> bool {
        let Relabelling {
            plan,
            source,
            image,
            ..
        } = *self;
        plan.bodies[0].cells.iter().all(|cell| {
            let moves = |axis: &Axis| axis.vertex == a || axis.vertex == b;
            if plan.fields(cell).is_empty() && !plan.axes(cell).iter().any(moves) {
                return true;
            }
            let mut raw = bits::get(source, cell.first_bit as usize, cell.n_bits);
            // If a zero cell replaces a cell that is not zero, the latter shows the difference.
            if raw == 0 {
                return true;
            }
            for field in plan.fields(cell) {
                let old = raw >> field.shift & field.mask;
                if let Some((segment, element)) = plan.decode(field, old) {
                    let vertex = self.names.vertex(segment, element);
                    let renamed = image[vertex as usize];
                    let renamed = self.names.element(plan, segment.domain, renamed);
                    let new = segment.first_raw + u64::from(renamed);
                    raw ^= (old ^ new) << field.shift;
                }
            }
            raw == bits::get(source, plan.moved_bit(cell, image), cell.n_bits)
        })
    }

    /// Adds the image of some cells to a target that is zero there.
    fn write_cells(&mut self, cells: &[Cell], from: usize, target: &mut [u8], to: usize) {
        let Relabelling {
            plan,
            source,
            image,
            ..
        } = *self;
        for cell in cells {
            let mut raw = bits::get(source, from + cell.first_bit as usize, cell.n_bits);
            if raw == 0 {
                continue;
            }
            let fields = match raw & cell.field_mask {
                0 => &[][..],
                _ => plan.fields(cell),
            };
            for field in fields {
                let old = raw >> field.shift & field.mask;
                if let Some((segment, element)) = plan.decode(field, old) {
                    let vertex = self.names.vertex(segment, element);
                    let new = segment.first_raw + u64::from(image[vertex as usize] - segment.base);
                    raw ^= (old ^ new) << field.shift;
                }
            }
            bits::add(target, to + plan.moved_bit(cell, image), cell.n_bits, raw);
        }
    }

    fn write_bags_of(&mut self, body: &Body, from: usize, target: &mut [u8], to: usize) {
        let Relabelling {
            plan,
            source,
            image,
            ..
        } = *self;
        for (cell, bag) in &body.bags {
            let from = from + cell.first_bit as usize;
            let to = to + plan.moved_bit(cell, image);
            bits::zero(target, to, cell.n_bits as usize);
            copy(source, from, target, to, bag.capacity as usize);
            let element = &plan.bodies[bag.body as usize];
            let mut n_present = 0;
            while n_present < bag.capacity && bits::get(source, from + n_present as usize, 1) == 1 {
                let offset = bag.slot_bit(n_present);
                self.write_cells(&element.cells, from + offset, target, to + offset);
                self.write_bags_of(element, from + offset, target, to + offset);
                n_present += 1;
            }
            sort_slots(target, to, bag, n_present, self.keys);
        }
    }
}

impl Bag {
    /// First bit of a slot, counted from the bag's first bit.
    pub(crate) fn slot_bit(&self, slot: u32) -> usize {
        self.capacity as usize + slot as usize * self.width as usize
    }
}

/// Sorts the first `n` slots of a bag by their bits.
fn sort_slots(bytes: &mut [u8], first: usize, bag: &Bag, n: u32, keys: &mut Vec<u64>) {
    if n < 2 {
        return;
    }
    let slot_bit = |slot: u32| first + bag.slot_bit(slot);
    if bag.width <= 64 {
        keys.clear();
        keys.extend((0..n).map(|slot| bits::get(bytes, slot_bit(slot), bag.width)));
        if keys.is_sorted() {
            return;
        }
        keys.sort_unstable();
        for (slot, &key) in keys.iter().enumerate() {
            bits::set(bytes, slot_bit(slot as u32), bag.width, key);
        }
        return;
    }
    let width = bag.width as usize;
    for slot in 1..n {
        let mut at = slot;
        while at > 0 && bits::compare(bytes, slot_bit(at - 1), slot_bit(at), width).is_gt() {
            exchange(bytes, slot_bit(at - 1), slot_bit(at), width);
            at -= 1;
        }
    }
}

/// Exchanges two bit ranges of the same width that do not overlap.
fn exchange(bytes: &mut [u8], a: usize, b: usize, n_bits: usize) {
    let mut done = 0;
    while done < n_bits {
        let n = 56.min(n_bits - done) as u32;
        let x = bits::get(bytes, a + done, n);
        let y = bits::get(bytes, b + done, n);
        bits::set(bytes, a + done, n, y);
        bits::set(bytes, b + done, n, x);
        done += n as usize;
    }
}
