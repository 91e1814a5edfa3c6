//! Writing out a state under an assignment of elements to vertices, by the plan.

use hadal_ir::bits;

use crate::action::copy;
use crate::names::Names;
use crate::plan::{Bag, Plan};

impl Plan {
    /// Writes to `target` the state `source` in which vertex `v` is renamed to the element that
    /// vertex `image[v]` stands for in its domain, counted from the domain's base.
    ///
    /// `target` must hold `source` already where no renaming moves anything. Both are padded.
    pub(crate) fn relabel(
        &self,
        source: &[u8],
        target: &mut [u8],
        image: &[u32],
        names: &mut Names,
        keys: &mut Vec<u64>,
    ) {
        self.relabel_body(0, source, 0, target, 0, image, names, keys);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a recursion over two places at once"
    )]
    fn relabel_body(
        &self,
        body: usize,
        source: &[u8],
        from: usize,
        target: &mut [u8],
        to: usize,
        image: &[u32],
        names: &mut Names,
        keys: &mut Vec<u64>,
    ) {
        let body = &self.bodies[body];
        for cell in body.columns.iter().chain(&body.tables) {
            let raw = bits::get(source, from + cell.first_bit as usize, cell.n_bits);
            bits::set(target, to + self.moved_bit(cell, image), cell.n_bits, raw);
        }
        for cell in &body.pointers {
            let mut raw = bits::get(source, from + cell.first_bit as usize, cell.n_bits);
            if let Some((domain, element, first_raw)) = self.decode(cell.detail, raw) {
                let vertex = names.vertex(self, domain, element);
                let base = self.domains[domain as usize].base;
                raw = first_raw + u64::from(image[vertex as usize] - base);
            }
            bits::set(target, to + self.moved_bit(cell, image), cell.n_bits, raw);
        }
        for (cell, bag) in &body.bags {
            let from = from + cell.first_bit as usize;
            let to = to + self.moved_bit(cell, image);
            copy(source, from, target, to, cell.n_bits as usize);
            let mut n_present = 0;
            while n_present < bag.capacity && bits::get(source, from + n_present as usize, 1) == 1 {
                let offset = bag.slot_bit(n_present);
                let (from, to) = (from + offset, to + offset);
                self.relabel_body(
                    bag.body as usize,
                    source,
                    from,
                    target,
                    to,
                    image,
                    names,
                    keys,
                );
                n_present += 1;
            }
            sort_slots(target, to, bag, n_present, keys);
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
