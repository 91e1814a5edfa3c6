//! The fast path to a representative, for states whose cells concern one element each, or an
//! element and those it points to.
//!
//! Where no cell stands below two elements, an element is characterised by the cells below it and
//! the cells that name it. These fit into one word, the element's *record*.
//! Without the pointers, values that name other elements, the record is the element's *key*; a
//! renaming permutes keys and changes none. So the state with its elements sorted by their keys
//! represents its orbit, provided that elements with equal keys are the same in all respects.
//! Without pointers they are. Otherwise `ties` distinguishes elements with equal keys by what they
//! point to and what points to them; states with ties that remain take the slow path. Whether one
//! does is the same for a whole orbit, so no orbit gets two representatives.
//!
//! A state whose keys are sorted already is unchanged after one pass; that holds for a large part
//! of the successors of a canonical state.

use std::ops::Range;

use hadal_ir::bits;

use crate::plan::{Cell, Field, Plan};
use crate::rotation::Rotation;
use crate::ties::Ties;

/// The low bits of a key are its vertex.
const VERTEX_BITS: u32 = 6;
pub(crate) const MAX_VERTICES: usize = 1 << VERTEX_BITS;
pub(crate) const VERTEX_MASK: u64 = MAX_VERTICES as u64 - 1;
/// Values that may be elements are looked up in tables of at most this many entries.
const MAX_TABLE_LEN: u64 = 1 << 12;

/// Sorts the elements of states of one program.
#[derive(Clone, Debug)]
pub(crate) struct Sorting {
    pub(crate) domains: Vec<SortedDomain>,
    pub(crate) n_vertices: usize,
    strips: Vec<Strip>,
    pins: Vec<Pin>,
    /// By domain, the pointers in its records.
    links: Vec<Link>,
    /// By raw value, the vertex it stands for, or the number of vertices where it stands for none;
    /// one table after another.
    pub(crate) tables: Vec<u8>,
}

/// The elements of one scalarset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortedDomain {
    /// First vertex and end.
    pub(crate) base: usize,
    pub(crate) end: usize,
    /// The bits of its records that make the keys.
    key_mask: u64,
    /// Its links, as a range.
    first_link: usize,
    end_link: usize,
}

/// A place in the types that stands below each element of a domain.
#[derive(Clone, Copy, Debug)]
struct Strip {
    first_bit: usize,
    /// From one element to the next.
    stride: u32,
    width: u32,
    mask: u64,
    /// Where it begins in the record.
    shift: u32,
    base: usize,
    n: usize,
    /// Bits of the whole strip if it is without gaps and fits into a word, otherwise 0. A domain
    /// has two elements at least, so that the width is then half a word at most.
    span: u32,
    /// What to multiply the number of a bit of a word by, to divide it by the width after a shift
    /// by `RECIPROCAL_BITS`.
    reciprocal: u32,
    /// Whether pointers stand in it.
    has_links: bool,
}

/// Enough to divide what is below 64 by what is at most 32 without error.
const RECIPROCAL_BITS: u32 = 12;

/// A value in a record that may name an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) shift: u32,
    pub(crate) mask: u64,
    /// Where its table begins.
    pub(crate) table: usize,
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
    link: Link,
    /// The bit of the record that is set if it names the element.
    key_bit: u64,
}

/// The result for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sorted {
    /// It is its own representative.
    Same,
    /// It was replaced.
    Changed,
    /// Elements are tied in a way that takes a search.
    Tied,
}

/// Memory that one thread reuses from state to state. One entry more than there are vertices
/// stands for values that are not elements.
#[derive(Clone, Debug)]
pub(crate) struct SortMemory {
    /// The state that others are compared with.
    source: Reading,
    /// The current state.
    state: Reading,
    /// By position, a key and its vertex.
    keys: [u64; MAX_VERTICES],
    /// By vertex, how far it moves.
    deltas: [u64; MAX_VERTICES + 1],
    ties: Ties,
}

/// What was read of a state.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// By vertex.
    records: [u64; MAX_VERTICES + 1],
    /// By strip that fits into a word, its bits. A strip takes a bit of a record at least.
    strips: [u64; 64],
    /// By pin, its bits. The same is true of pins.
    pins: [u64; 64],
}

impl Default for SortMemory {
    fn default() -> Self {
        let reading = Reading {
            records: [0; MAX_VERTICES + 1],
            strips: [0; 64],
            pins: [0; 64],
        };
        SortMemory {
            source: reading,
            state: reading,
            keys: [0; MAX_VERTICES],
            deltas: [0; MAX_VERTICES + 1],
            ties: Ties::default(),
        }
    }
}

impl SortMemory {
    /// The images of `n` vertices after a state was replaced.
    pub(crate) fn image(&self, n: usize) -> impl Iterator<Item = u32> {
        let deltas = self.deltas[..n].iter().enumerate();
        deltas.map(|(vertex, delta)| (vertex as u64).wrapping_add(*delta) as u32)
    }
}

impl Sorting {
    /// A sorter for the states of a plan; `None` where records cannot hold everything.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let state = &plan.bodies[0];
        if !plan.is_indexed
            || plan.n_vertices > MAX_VERTICES
            || !state.bags.is_empty()
            || state.cells.iter().any(|cell| plan.axes(cell).len() > 1)
        {
            return None;
        }
        let mut sorting = Sorting {
            domains: Vec::new(),
            n_vertices: plan.n_vertices,
            strips: Vec::new(),
            pins: Vec::new(),
            links: Vec::new(),
            tables: Vec::new(),
        };
        // By domain.
        let mut links = vec![Vec::new(); plan.domains.len()];
        let mut n_bits = VERTEX_BITS;
        // What is declared first weighs most.
        for cell in state.cells.iter().rev() {
            let [axis] = plan.axes(cell) else {
                sorting.add_pin(plan, cell, &mut n_bits)?;
                continue;
            };
            let mut domains = plan.domains.iter();
            let Some(number) = domains.position(|domain| domain.base == axis.vertex) else {
                // The strip is added with the first vertex of the domain.
                continue;
            };
            let domain = &plan.domains[number];
            let (n, width, stride) = (domain.n_vertices, cell.n_bits, axis.stride);
            if n_bits + width > 64 {
                return None;
            }
            sorting.strips.push(Strip {
                first_bit: cell.first_bit as usize,
                stride,
                width,
                mask: u64::MAX >> (64 - width),
                shift: n_bits,
                base: domain.base as usize,
                n: n as usize,
                span: match stride == width && n * width <= 64 {
                    true => n * width,
                    false => 0,
                },
                reciprocal: (1 << RECIPROCAL_BITS) / width + 1,
                has_links: !plan.fields(cell).is_empty(),
            });
            for field in plan.fields(cell) {
                let table = sorting.add_table(plan, field)?;
                links[number].push(Link {
                    shift: n_bits + field.shift,
                    mask: field.mask,
                    table,
                });
            }
            n_bits += width;
        }
        for (domain, links) in plan.domains.iter().zip(links) {
            let base = domain.base as usize;
            let pointers = links.iter().map(|link| link.mask << link.shift);
            sorting.domains.push(SortedDomain {
                base,
                end: base + domain.n_vertices as usize,
                key_mask: !pointers.sum::<u64>(),
                first_link: sorting.links.len(),
                end_link: sorting.links.len() + links.len(),
            });
            sorting.links.extend(links);
        }
        Some(sorting)
    }

    fn add_pin(&mut self, plan: &Plan, cell: &Cell, n_bits: &mut u32) -> Option<()> {
        let mut fields = Vec::new();
        for field in plan.fields(cell) {
            if *n_bits >= 64 {
                return None;
            }
            fields.push(PinField {
                link: Link {
                    shift: field.shift,
                    mask: field.mask,
                    table: self.add_table(plan, field)?,
                },
                key_bit: 1 << *n_bits,
            });
            *n_bits += 1;
        }
        self.pins.push(Pin {
            first_bit: cell.first_bit as usize,
            n_bits: cell.n_bits,
            fields,
        });
        Some(())
    }

    /// Adds what the raw values of a field stand for.
    fn add_table(&mut self, plan: &Plan, field: &Field) -> Option<usize> {
        if field.mask >= MAX_TABLE_LEN {
            return None;
        }
        let vertices = (0..=field.mask).map(|raw| {
            let element = plan.decode(field, raw);
            let vertex = element.map(|(segment, element)| segment.base + element);
            vertex.unwrap_or(plan.n_vertices as u32) as u8
        });
        let vertices: Vec<u8> = vertices.collect();
        // Fields of one type share a table, which then stays in the nearest cache.
        let mut known = self.tables.windows(vertices.len());
        Some(
            known
                .position(|known| known == vertices)
                .unwrap_or_else(|| {
                    self.tables.extend(&vertices);
                    self.tables.len() - vertices.len()
                }),
        )
    }

    /// The pointers in the records of a domain.
    pub(crate) fn links(&self, domain: &SortedDomain) -> &[Link] {
        &self.links[domain.first_link..domain.end_link]
    }

    /// Replaces the state at the beginning of `state`, which is padded, by its representative.
    pub(crate) fn run(&self, state: &mut [u8], memory: &mut SortMemory) -> Sorted {
        self.read(state, &mut memory.state);
        self.arrange(state, memory)
    }

    /// Sets the representative at the beginning of `source`, which is padded, as the one that later
    /// states are compared with.
    pub(crate) fn set_source(&self, source: &[u8], memory: &mut SortMemory) {
        self.read(source, &mut memory.source);
    }

    /// Does what [`run`](Self::run) does, for a successor of the source: it costs only what has
    /// changed.
    pub(crate) fn run_successor(&self, state: &mut [u8], memory: &mut SortMemory) -> Sorted {
        // Loops of known length are unrolled.
        match (&self.domains[..], self.n_vertices) {
            ([_], 2) => self.run_few::<2>(state, memory),
            ([_], 3) => self.run_few::<3>(state, memory),
            ([_], 4) => self.run_few::<4>(state, memory),
            ([_], 5) => self.run_few::<5>(state, memory),
            ([_], 6) => self.run_few::<6>(state, memory),
            ([_], 7) => self.run_few::<7>(state, memory),
            ([_], 8) => self.run_few::<8>(state, memory),
            _ => match self.read_changes::<0>(state, &memory.source, &mut memory.state) {
                true => self.arrange(state, memory),
                // All that a renaming can change is as it was in a representative.
                false => Sorted::Same,
            },
        }
    }

    /// Does what [`run_successor`](Self::run_successor) does where there is one domain, of `N`
    /// elements.
    fn run_few<const N: usize>(&self, state: &mut [u8], memory: &mut SortMemory) -> Sorted {
        if !self.read_changes::<N>(state, &memory.source, &mut memory.state) {
            return Sorted::Same;
        }
        let has_links = !self.links.is_empty();
        let key_mask = self.domains[0].key_mask;
        let records: [u64; N] = *memory.state.records.first_chunk().expect("N is small");
        let keys = records.map(|record| record & key_mask);
        // Most often keys are sorted, and often all different.
        let (mut is_clear, mut is_sorted) = (true, true);
        for i in 1..N {
            is_clear &= keys[i - 1] | VERTEX_MASK < keys[i];
            is_sorted &= keys[i - 1] < keys[i];
        }
        if is_clear || is_sorted && !has_links {
            return Sorted::Same;
        }
        // No two keys are equal, since they contain their vertex.
        let mut positions = [0; N];
        for i in 1..N {
            for j in 0..i {
                let is_after = usize::from(keys[j] > keys[i]);
                positions[j] += is_after;
                positions[i] += 1 - is_after;
            }
        }
        if has_links {
            for i in 0..N {
                memory.keys[positions[i] % MAX_VERTICES] = keys[i];
            }
            let sorted = &memory.keys[..N];
            if sorted
                .windows(2)
                .any(|pair| pair[0] ^ pair[1] <= VERTEX_MASK)
            {
                let records = &memory.state.records;
                if !memory.ties.settle(self, records, &mut memory.keys) {
                    return Sorted::Tied;
                }
                for (position, key) in memory.keys[..N].iter().enumerate() {
                    positions[(key & VERTEX_MASK) as usize % N] = position;
                }
            }
        }
        let mut packed = 0u64;
        for i in 0..N {
            packed |= (positions[i] as u64) << (4 * i);
            memory.deltas[i] = (positions[i] as u64).wrapping_sub(i as u64);
            memory.keys[positions[i] % MAX_VERTICES] = records[i];
        }
        memory.deltas[N] = 0;
        let Some(rotation) = Rotation::of_packed(packed, N as u32) else {
            return Sorted::Same;
        };
        self.write::<N>(state, rotation, memory);
        Sorted::Changed
    }

    /// Replaces a state that has been read.
    fn arrange(&self, state: &mut [u8], memory: &mut SortMemory) -> Sorted {
        let records = &memory.state.records;
        let (mut moves, mut is_tied) = (false, false);
        for domain in &self.domains {
            let keys = &mut memory.keys[domain.base..domain.end];
            let records = &records[domain.base..domain.end];
            for (key, record) in keys.iter_mut().zip(records) {
                *key = record & domain.key_mask;
            }
            moves |= sort(keys);
            is_tied |= keys.windows(2).any(|pair| pair[0] ^ pair[1] <= VERTEX_MASK);
        }
        if is_tied && !self.links.is_empty() {
            if !memory.ties.settle(self, records, &mut memory.keys) {
                return Sorted::Tied;
            }
            let mut keys = memory.keys[..self.n_vertices].iter().enumerate();
            moves = keys.any(|(position, key)| key & VERTEX_MASK != position as u64);
        }
        if !moves {
            return Sorted::Same;
        }
        memory.deltas[self.n_vertices] = 0;
        for (position, key) in memory.keys[..self.n_vertices].iter_mut().enumerate() {
            let vertex = (*key & VERTEX_MASK) as usize;
            memory.deltas[vertex] = (position as u64).wrapping_sub(vertex as u64);
            *key = records[vertex];
        }
        self.write::<0>(state, None, memory);
        Sorted::Changed
    }

    fn read(&self, state: &[u8], reading: &mut Reading) {
        let Reading {
            records,
            strips,
            pins,
        } = reading;
        for (vertex, record) in records[..self.n_vertices].iter_mut().enumerate() {
            *record = vertex as u64;
        }
        for (strip, kept) in self.strips.iter().zip(strips) {
            let records = &mut records[strip.base..strip.base + strip.n];
            if strip.span > 0 {
                // The last element stands at the right end.
                let mut word = bits::get(state, strip.first_bit, strip.span);
                *kept = word;
                for record in records.iter_mut().rev() {
                    *record |= (word & strip.mask) << strip.shift;
                    word >>= strip.width;
                }
            } else {
                let mut at = strip.first_bit;
                for record in records {
                    *record |= bits::get(state, at, strip.width) << strip.shift;
                    at += strip.stride as usize;
                }
            }
        }
        for (pin, kept) in self.pins.iter().zip(pins) {
            let word = bits::get(state, pin.first_bit, pin.n_bits);
            *kept = word;
            for PinField { link, key_bit } in &pin.fields {
                records[self.target(link, word)] |= key_bit;
            }
        }
    }

    /// Does what [`read`](Self::read) does for a state that differs little from one that has been
    /// read. Whether it differs. `N` is the number of elements where there is one domain and that
    /// is known, otherwise 0.
    #[inline]
    fn read_changes<const N: usize>(
        &self,
        state: &[u8],
        source: &Reading,
        reading: &mut Reading,
    ) -> bool {
        let mut differs = false;
        let records = &mut reading.records;
        let n = if N > 0 { N } else { self.n_vertices };
        for (record, known) in records[..n].iter_mut().zip(&source.records) {
            *record = *known;
        }
        let kept = reading.strips.iter_mut().zip(&source.strips);
        for (strip, (kept, known)) in self.strips.iter().zip(kept) {
            let records = &mut records[strip.elements::<N>()];
            if strip.span > 0 {
                let word = bits::get(state, strip.first_bit, strip.span);
                *kept = word;
                let mut changes = word ^ known;
                differs |= changes != 0;
                while changes != 0 {
                    let numerator = changes.trailing_zeros() * strip.reciprocal;
                    let from_right = numerator >> RECIPROCAL_BITS;
                    let at = from_right * strip.width;
                    let change = changes >> at & strip.mask;
                    let last = records.len() - 1;
                    records[last - from_right as usize] ^= change << strip.shift;
                    changes ^= change << at;
                }
            } else {
                let mut at = strip.first_bit;
                for record in records {
                    let change = bits::get(state, at, strip.width) ^ *record >> strip.shift;
                    let change = change & strip.mask;
                    differs |= change != 0;
                    *record ^= change << strip.shift;
                    at += strip.stride as usize;
                }
            }
        }
        let kept = reading.pins.iter_mut().zip(&source.pins);
        for (pin, (kept, &known)) in self.pins.iter().zip(kept) {
            let word = bits::get(state, pin.first_bit, pin.n_bits);
            *kept = word;
            if word == known {
                continue;
            }
            differs = true;
            for PinField { link, key_bit } in &pin.fields {
                if (word ^ known) >> link.shift & link.mask != 0 {
                    records[self.target(link, known)] ^= key_bit;
                    records[self.target(link, word)] ^= key_bit;
                }
            }
        }
        differs
    }

    /// The vertex that a link names, or the number of vertices.
    #[inline]
    pub(crate) fn target(&self, link: &Link, word: u64) -> usize {
        let raw = (word >> link.shift & link.mask) as usize;
        usize::from(self.tables[link.table + raw])
    }

    /// Writes the records, which are sorted and not yet renamed in the memory of the keys; by the
    /// rotation, if any.
    #[inline]
    fn write<const N: usize>(
        &self,
        state: &mut [u8],
        rotation: Option<Rotation>,
        memory: &mut SortMemory,
    ) {
        let SortMemory {
            state: reading,
            keys,
            deltas,
            ..
        } = memory;
        // Elements of a domain are numbered in values as they are in vertices.
        let renamed = |link: &Link, word: u64| {
            word.wrapping_add(deltas[self.target(link, word)] << link.shift)
        };
        for domain in &self.domains {
            let links = self.links(domain);
            if links.is_empty() {
                continue;
            }
            let n = if N > 0 { N } else { domain.end - domain.base };
            for link in links {
                for record in &mut keys[domain.base..domain.base + n] {
                    *record = renamed(link, *record);
                }
            }
        }
        for (strip, &word) in self.strips.iter().zip(&reading.strips) {
            let records = &keys[strip.elements::<N>()];
            if strip.span == 0 {
                let mut at = strip.first_bit;
                for record in records {
                    bits::set(state, at, strip.width, record >> strip.shift);
                    at += strip.stride as usize;
                }
                continue;
            }
            let new = match &rotation {
                Some(rotation) if !strip.has_links => rotation.of_fields(word, strip.width),
                _ => records.iter().fold(0, |word, record| {
                    word << strip.width | record >> strip.shift & strip.mask
                }),
            };
            if new != word {
                bits::set(state, strip.first_bit, strip.span, new);
            }
        }
        for (pin, &word) in self.pins.iter().zip(&reading.pins) {
            let mut new = word;
            for field in &pin.fields {
                new = renamed(&field.link, new);
            }
            if new != word {
                bits::set(state, pin.first_bit, pin.n_bits, new);
            }
        }
    }
}

impl Strip {
    /// The vertices it stands below. `N` is their number where that is known, otherwise 0.
    #[inline]
    fn elements<const N: usize>(&self) -> Range<usize> {
        match N {
            0 => self.base..self.base + self.n,
            _ => 0..N,
        }
    }
}

/// Insertion sort, since there are few and they are nearly sorted. Returns whether any key moved.
#[inline]
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
