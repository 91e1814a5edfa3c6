//! The canonical form where nothing relates one element to another: a sort.
//!
//! In many models a state says of each element only what stands below it and which places name it.
//! Both fit into one word, the element's *key*; a renaming moves keys about and changes none.
//! So the state with its elements in the order of their keys represents its orbit, and elements
//! with equal keys are the same in all respects: nothing is refined, hashed or tried.
//!
//! A state whose keys are in order already is left alone after one pass, which is the fate of a
//! large part of the successors of a canonical state.

use hadal_ir::bits;

use crate::plan::{Cell, Plan};

/// The low bits of a key say whose it is.
const VERTEX_BITS: u32 = 6;
const MAX_VERTICES: usize = 1 << VERTEX_BITS;
/// Values that may be elements are looked up in tables of at most this many entries.
const MAX_TABLE_LEN: u64 = 1 << 12;

/// Sorts the elements of states of one program.
#[derive(Clone, Debug)]
pub(crate) struct Sorting {
    /// First vertex and end of each domain.
    domains: Vec<(usize, usize)>,
    n_vertices: usize,
    strips: Vec<Strip>,
    pins: Vec<Pin>,
    /// By raw value, the vertex it stands for, or the number of vertices where it stands for none;
    /// one table after another.
    tables: Vec<u8>,
}

/// A place in the types that stands below each element of a domain.
#[derive(Clone, Copy, Debug)]
struct Strip {
    first_bit: usize,
    /// From one element to the next.
    stride: u32,
    width: u32,
    mask: u64,
    /// Where it begins in the key.
    key_shift: u32,
    base: usize,
    n: usize,
    /// Bits of the whole strip if it is without gaps and fits into a word, otherwise 0. A domain
    /// has two elements at least, so that the width is then half a word at most.
    span: u32,
}

/// A cell below no element whose fields may hold elements.
#[derive(Clone, Debug)]
struct Pin {
    first_bit: usize,
    n_bits: u32,
    fields: Vec<PinField>,
}

#[derive(Clone, Copy, Debug)]
struct PinField {
    shift: u32,
    mask: u64,
    /// Where its table begins.
    table: usize,
    /// The bit of the key that says that it names the element.
    key_bit: u64,
}

impl Sorting {
    /// A sorter for the states of a plan; `None` where keys cannot say all there is to say.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let state = &plan.bodies[0];
        let is_local = |cell: &Cell| match plan.axes(cell) {
            [] => true,
            [_] => plan.fields(cell).is_empty(),
            _ => false,
        };
        if !plan.is_indexed
            || plan.n_vertices > MAX_VERTICES
            || !state.bags.is_empty()
            || !state.cells.iter().all(is_local)
        {
            return None;
        }
        let mut sorting = Sorting {
            domains: Vec::new(),
            n_vertices: plan.n_vertices,
            strips: Vec::new(),
            pins: Vec::new(),
            tables: Vec::new(),
        };
        let mut n_key_bits = VERTEX_BITS;
        // What is declared first weighs most.
        for cell in state.cells.iter().rev() {
            match plan.axes(cell) {
                [] => sorting.add_pin(plan, cell, &mut n_key_bits)?,
                [axis, ..] => {
                    let mut domains = plan.domains.iter();
                    let Some(domain) = domains.find(|domain| domain.base == axis.vertex) else {
                        // The strip is added with the first vertex of the domain.
                        continue;
                    };
                    let (n, width, stride) = (domain.n_vertices, cell.n_bits, axis.stride);
                    sorting.strips.push(Strip {
                        first_bit: cell.first_bit as usize,
                        stride,
                        width,
                        mask: u64::MAX >> (64 - width),
                        key_shift: n_key_bits,
                        base: domain.base as usize,
                        n: n as usize,
                        span: match stride == width && n * width <= 64 {
                            true => n * width,
                            false => 0,
                        },
                    });
                    n_key_bits += width;
                }
            }
            if n_key_bits > 64 {
                return None;
            }
        }
        for domain in &plan.domains {
            let base = domain.base as usize;
            let end = base + domain.n_vertices as usize;
            sorting.domains.push((base, end));
        }
        Some(sorting)
    }

    fn add_pin(&mut self, plan: &Plan, cell: &Cell, n_key_bits: &mut u32) -> Option<()> {
        let mut fields = Vec::new();
        for field in plan.fields(cell) {
            if field.mask >= MAX_TABLE_LEN || *n_key_bits >= 64 {
                return None;
            }
            fields.push(PinField {
                shift: field.shift,
                mask: field.mask,
                table: self.tables.len(),
                key_bit: 1 << *n_key_bits,
            });
            *n_key_bits += 1;
            for raw in 0..=field.mask {
                let vertex = plan
                    .decode(field, raw)
                    .map(|(segment, element)| segment.base + element);
                self.tables
                    .push(vertex.unwrap_or(plan.n_vertices as u32) as u8);
            }
        }
        self.pins.push(Pin {
            first_bit: cell.first_bit as usize,
            n_bits: cell.n_bits,
            fields,
        });
        Some(())
    }

    /// Replaces the padded `state` by its representative and sets `image` to what each vertex
    /// became. Whether anything changed. The memory of `keys` is used.
    pub(crate) fn run(&self, state: &mut [u8], image: &mut Vec<u32>, keys: &mut Vec<u64>) -> bool {
        // One more for values that are not elements.
        keys.clear();
        keys.extend(0..=self.n_vertices as u64);
        self.read(state, keys);
        image.clear();
        image.extend(0..self.n_vertices as u32);
        let mut moves = false;
        for &(base, end) in &self.domains {
            moves |= sort(&mut keys[base..end]);
        }
        if !moves {
            return false;
        }
        for (position, key) in keys[..self.n_vertices].iter().enumerate() {
            image[*key as usize % MAX_VERTICES] = position as u32;
        }
        self.write(state, keys, image);
        true
    }

    fn read(&self, state: &[u8], keys: &mut [u64]) {
        for strip in &self.strips {
            let keys = &mut keys[strip.base..strip.base + strip.n];
            if strip.span > 0 {
                // The last element stands at the right end.
                let mut word = bits::get(state, strip.first_bit, strip.span);
                for key in keys.iter_mut().rev() {
                    *key |= (word & strip.mask) << strip.key_shift;
                    word >>= strip.width;
                }
            } else {
                let mut at = strip.first_bit;
                for key in keys {
                    *key |= bits::get(state, at, strip.width) << strip.key_shift;
                    at += strip.stride as usize;
                }
            }
        }
        for pin in &self.pins {
            let raw = bits::get(state, pin.first_bit, pin.n_bits);
            for field in &pin.fields {
                let raw = (raw >> field.shift & field.mask) as usize;
                keys[usize::from(self.tables[field.table + raw])] |= field.key_bit;
            }
        }
    }

    fn write(&self, state: &mut [u8], keys: &[u64], image: &[u32]) {
        for strip in &self.strips {
            let keys = &keys[strip.base..strip.base + strip.n];
            if strip.span > 0 {
                let mut word = 0u64;
                for key in keys {
                    word = word << strip.width | key >> strip.key_shift & strip.mask;
                }
                bits::set(state, strip.first_bit, strip.span, word);
            } else {
                let mut at = strip.first_bit;
                for key in keys {
                    bits::set(state, at, strip.width, key >> strip.key_shift);
                    at += strip.stride as usize;
                }
            }
        }
        for pin in &self.pins {
            let mut word = bits::get(state, pin.first_bit, pin.n_bits);
            for field in &pin.fields {
                let raw = word >> field.shift & field.mask;
                let vertex = usize::from(self.tables[field.table + raw as usize]);
                if let Some(&image) = image.get(vertex) {
                    let new = raw + u64::from(image) - vertex as u64;
                    word ^= (raw ^ new) << field.shift;
                }
            }
            bits::set(state, pin.first_bit, pin.n_bits, word);
        }
    }
}

/// Sorts by insertion, for there are few and they are nearly in order. Whether any key moved.
fn sort(keys: &mut [u64]) -> bool {
    let mut moved = false;
    for next in 1..keys.len() {
        let key = keys[next];
        let mut at = next;
        while at > 0 && keys[at - 1] > key {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = key;
        moved |= at < next;
    }
    moved
}
