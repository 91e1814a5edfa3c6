//! Where a program's states hold anything that a renaming moves, as flat tables.
//!
//! The types are walked once per program.
//! The result is lists of [`Cell`]s: up to 64 adjacent bits that move together, with the
//! [`Field`]s among them that may hold elements; and bags.
//! Bits that no renaming moves hardly appear, so a state costs only what symmetry can change; and
//! where states are mostly undefined, most cells are zero and are skipped after one test.
//!
//! The elements of all scalarsets are numbered consecutively as *vertices*.
//! A cell knows the vertices it stands below and by how many bits each moves it, so its place
//! after a renaming is a short sum.
//! A place below the same element twice (`a[p][p]`) is a cell of its own kind with one vertex:
//! renamings keep the diagonal of a table apart from the rest.
//!
//! A scalarset that never serves as an index may be far larger than a state has room for values of
//! it. Its vertices are then numbered per state, for those elements that occur.

use std::collections::HashMap;

use hadal_ir::{ScalarsetId, Simple, SimpleKind, Type, TypeId, UnionPart, bits};
use hadal_model::PAD_BYTES;

use crate::action::Action;
use crate::hash;

/// What a cell can hold.
const MAX_CELL_BITS: usize = 64;

/// The flat layout of one program's states.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The scalarsets that occur in a state.
    pub(crate) domains: Vec<Domain>,
    /// Number of vertices.
    pub(crate) n_vertices: usize,
    /// Whether all domains serve as indices, so that vertices are elements.
    pub(crate) is_indexed: bool,
    /// The state comes first, then the elements of bags.
    pub(crate) bodies: Vec<Body>,
    /// How simple types encode elements.
    codings: Vec<Coding>,
    /// By cell, the vertices it stands below.
    pub(crate) axes: Vec<Axis>,
    /// By cell, the places in it that may hold elements.
    pub(crate) fields: Vec<Field>,
    /// A state with ones where no cell stands, padded like a state.
    pub(crate) fixed: Vec<u8>,
    /// A state with ones in cells and bags, padded: all that a renaming may change and all that
    /// the representative depends on.
    moving: Vec<u8>,
    /// The cells of the state that stand below one vertex alone, vertex by vertex, those of one kind
    /// in the same position for all vertices of a domain.
    own: Vec<Cell>,
    /// By vertex, where its own cells begin; one more for the end.
    own_begins: Vec<usize>,
}

/// A scalarset that occurs in a state.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Which scalarset it is.
    pub(crate) scalarset: ScalarsetId,
    /// Number of elements, at least 2.
    pub(crate) size: u32,
    /// The first of its vertices.
    pub(crate) base: u32,
    /// How many vertices it has: its size, or the places that can hold an element if those are
    /// fewer and it is not an index.
    pub(crate) n_vertices: u32,
    /// Whether it serves as an index. Then vertex and element are the same; otherwise vertices are
    /// assigned as elements occur.
    pub(crate) is_index: bool,
}

/// A place in the state, or in an element of a bag, with what moves below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// The cells, those below at most one vertex first. Bits that stay where they are and hold no
    /// elements are listed for elements of bags only, where they distinguish elements.
    pub(crate) cells: Vec<Cell>,
    /// Number of cells below at most one vertex.
    pub(crate) n_near: usize,
    /// Bags of elements that may move or be renamed.
    pub(crate) bags: Vec<(Cell, Bag)>,
}

/// Some bits of the state, and how they move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// First bit, counted from the first bit of the body.
    pub(crate) first_bit: u32,
    /// Number of bits: at most 64 except for bags.
    pub(crate) n_bits: u32,
    /// First bit after a renaming, but for what the axes add.
    origin: i64,
    /// Its axes, as a range of the plan's.
    first_axis: u32,
    end_axis: u32,
    /// Its axis where there is just one, which most cells have.
    pub(crate) only_axis: Option<Axis>,
    /// Its fields, as a range of the plan's.
    first_field: u32,
    end_field: u32,
    /// Ones for the bits of its fields.
    pub(crate) field_mask: u64,
    /// What kind of cell it is, as a hash. Renamings turn cells only into cells of their kind.
    pub(crate) kind: u64,
}

/// A value in a cell that may be an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// How many bits of the cell stand to its right.
    pub(crate) shift: u32,
    /// Ones for its bits, shifted to the right end.
    pub(crate) mask: u64,
    /// How it encodes elements: the first run of raw values, which most often is the only one.
    first: Segment,
    /// Where there are others, all of them.
    coding: Option<u32>,
    /// Which field of its cell it is, as a hash.
    pub(crate) kind: u64,
}

/// A vertex that a cell stands below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    /// The vertex.
    pub(crate) vertex: u32,
    /// How far in bits the cell moves for each step of the vertex.
    pub(crate) stride: u32,
}

/// The bag in a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bag {
    /// Number of slots.
    pub(crate) capacity: u32,
    /// Bits of a slot.
    pub(crate) width: u32,
    /// Index of the body of its elements.
    pub(crate) body: u32,
}

/// How a simple type encodes elements.
#[derive(Clone, Debug)]
struct Coding {
    segments: Vec<Segment>,
}

/// A run of raw values that encode the elements of a domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) first_raw: u64,
    n: u64,
    pub(crate) domain: u32,
    /// The first vertex of the domain.
    pub(crate) base: u32,
    /// Whether vertices of the domain are elements.
    pub(crate) is_index: bool,
}

/// A run of values of a simple type that a renaming treats alike.
struct Span {
    first: u64,
    n: u64,
    /// `None` where the values stay.
    scalarset: Option<ScalarsetId>,
}

impl Plan {
    /// Lays out what moves in the states that `action` acts on.
    pub(crate) fn new(action: &Action) -> Self {
        let mut plan = Plan {
            domains: Vec::new(),
            n_vertices: 0,
            is_indexed: true,
            bodies: vec![Body::default()],
            codings: Vec::new(),
            axes: Vec::new(),
            fields: Vec::new(),
            fixed: vec![0xff; action.state_len + PAD_BYTES],
            moving: vec![0; action.state_len + PAD_BYTES],
            own: Vec::new(),
            own_begins: vec![0],
        };
        let domain_of = plan.number_vertices(action);
        let mut builder = Builder {
            action,
            domain_of,
            codings: HashMap::new(),
            n_emissions: 0,
            run: Run::default(),
            plan,
        };
        let mut body = Body::default();
        for &(ty, first_bit) in &action.vars {
            builder.walk(ty, first_bit, &mut Vec::new(), true, &mut body);
        }
        builder.end_run(&[], true, &mut body);
        let mut plan = builder.plan;
        plan.sort_cells(&mut body);
        for cell in &body.cells {
            bits::zero(
                &mut plan.fixed,
                cell.first_bit as usize,
                cell.n_bits as usize,
            );
        }
        for (moving, fixed) in plan.moving.iter_mut().zip(&plan.fixed) {
            *moving = !fixed;
        }
        for (cell, _) in &body.bags {
            for bit in cell.first_bit..cell.first_bit + cell.n_bits {
                bits::set(&mut plan.moving, bit as usize, 1, 1);
            }
        }
        for vertex in 0..plan.n_vertices as u32 {
            let is_own = |cell: &&Cell| {
                let only = cell.only_axis;
                only.is_some_and(|axis| axis.vertex == vertex)
            };
            plan.own.extend(body.cells.iter().filter(is_own));
            plan.own_begins.push(plan.own.len());
        }
        plan.bodies[0] = body;
        plan
    }

    /// Whether two padded states agree in all that a renaming may change.
    pub(crate) fn agrees(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
        let mut words = self.moving.chunks_exact(8).zip(a.zip(b));
        words.all(|(moving, (a, b))| {
            let [moving, a, b] = [moving, a, b].map(|bytes| {
                let bytes = bytes.first_chunk().expect("a chunk has eight bytes");
                u64::from_ne_bytes(*bytes)
            });
            (a ^ b) & moving == 0
        })
    }

    /// Whether there is more in a state than cells below one vertex at most.
    pub(crate) fn has_rest(&self) -> bool {
        let state = &self.bodies[0];
        state.n_near < state.cells.len() || !state.bags.is_empty()
    }

    /// Whether what stands below two vertices of a domain alone is the same.
    pub(crate) fn own_equal(&self, state: &[u8], a: u32, b: u32) -> bool {
        let raw = |cell: &Cell| bits::get(state, cell.first_bit as usize, cell.n_bits);
        let mut pairs = self.own(a as usize).iter().zip(self.own(b as usize));
        pairs.all(|(a, b)| raw(a) == raw(b))
    }

    /// The cells that stand below a vertex alone.
    pub(crate) fn own(&self, vertex: usize) -> &[Cell] {
        &self.own[self.own_begins[vertex]..self.own_begins[vertex + 1]]
    }

    fn sort_cells(&self, body: &mut Body) {
        let is_far = |cell: &Cell| self.axes(cell).len() > 1;
        body.cells.sort_by_key(is_far);
        body.n_near = body.cells.iter().filter(|cell| !is_far(cell)).count();
    }

    /// The fields of a cell.
    #[inline]
    pub(crate) fn fields(&self, cell: &Cell) -> &[Field] {
        &self.fields[cell.first_field as usize..cell.end_field as usize]
    }

    /// The vertices a cell stands below.
    pub(crate) fn axes(&self, cell: &Cell) -> &[Axis] {
        &self.axes[cell.first_axis as usize..cell.end_axis as usize]
    }

    /// Where a cell stands after a renaming, counted like its first bit.
    #[inline]
    pub(crate) fn moved_bit(&self, cell: &Cell, image: &[u32]) -> usize {
        let shift = |axis: &Axis| i64::from(axis.stride) * i64::from(image[axis.vertex as usize]);
        let shift = match &cell.only_axis {
            Some(axis) => shift(axis),
            None => self.axes(cell).iter().map(shift).sum(),
        };
        (cell.origin + shift) as usize
    }

    /// The element that the raw value of a field encodes, and the segment it is in.
    #[inline]
    pub(crate) fn decode<'a>(&'a self, field: &'a Field, raw: u64) -> Option<(&'a Segment, u32)> {
        let number = raw.wrapping_sub(field.first.first_raw);
        if number < field.first.n {
            return Some((&field.first, number as u32));
        }
        let segments = self.codings[field.coding? as usize].segments.iter();
        segments
            .map(|segment| (segment, raw.wrapping_sub(segment.first_raw)))
            .find(|(segment, number)| *number < segment.n)
            .map(|(segment, number)| (segment, number as u32))
    }

    /// Gives each scalarset that occurs its vertices; returns the domains by scalarset.
    fn number_vertices(&mut self, action: &Action) -> Vec<Option<u32>> {
        let n = action.types.scalarsets.len();
        let mut usage = vec![Usage::default(); n];
        for &(ty, _) in &action.vars {
            count_usage(action, ty, 1, &mut usage);
        }
        let mut domain_of = vec![None; n];
        for (id, usage) in usage.iter().enumerate() {
            let size = action.types.scalarsets[id].size;
            if size < 2 || (!usage.is_index && usage.n_places == 0) {
                continue;
            }
            let n_vertices = match usage.is_index {
                true => size,
                false => u32::try_from(usage.n_places).map_or(size, |places| places.min(size)),
            };
            domain_of[id] = Some(self.domains.len() as u32);
            self.domains.push(Domain {
                scalarset: ScalarsetId::new(id),
                size,
                base: self.n_vertices as u32,
                n_vertices,
                is_index: usage.is_index,
            });
            self.n_vertices += n_vertices as usize;
            self.is_indexed &= usage.is_index;
        }
        domain_of
    }
}

/// How a scalarset is used in a state.
#[derive(Clone, Default)]
struct Usage {
    is_index: bool,
    /// Places that can hold one of its elements.
    n_places: u64,
}

fn count_usage(action: &Action, ty: TypeId, n_copies: u64, usage: &mut [Usage]) {
    if !action.moves(ty) {
        return;
    }
    match action.types.get(ty) {
        Type::Simple(simple) => {
            for span in spans(action, simple) {
                if let Some(id) = span.scalarset {
                    let usage = &mut usage[id.index()];
                    usage.n_places = usage.n_places.saturating_add(n_copies);
                }
            }
        }
        Type::Array { index, element } => {
            let Some(simple) = action.types.simple(*index) else {
                return;
            };
            for span in spans(action, simple) {
                if let Some(id) = span.scalarset {
                    usage[id.index()].is_index = true;
                }
            }
            count_usage(
                action,
                *element,
                n_copies.saturating_mul(simple.len()),
                usage,
            );
        }
        Type::Record { fields } => {
            for field in fields {
                count_usage(action, field.ty, n_copies, usage);
            }
        }
        Type::Multiset { capacity, element } => {
            let n_copies = n_copies.saturating_mul(u64::from(*capacity));
            count_usage(action, *element, n_copies, usage);
        }
    }
}

/// The values of a simple type, numbered from 0, by what a renaming does to them.
fn spans(action: &Action, simple: &Simple) -> Vec<Span> {
    let element_span = |id: ScalarsetId, first: u64| {
        let size = action.types.scalarsets[id.index()].size;
        Span {
            first,
            n: u64::from(size),
            scalarset: (size > 1).then_some(id),
        }
    };
    match &simple.kind {
        SimpleKind::Scalarset(id) => vec![element_span(*id, 0)],
        SimpleKind::Union(parts) => {
            let mut first = 0;
            let mut spans = Vec::with_capacity(parts.len());
            for part in parts {
                let span = match part {
                    UnionPart::Scalarset(id) => element_span(*id, first),
                    UnionPart::Enum(members) => Span {
                        first,
                        n: members.len() as u64,
                        scalarset: None,
                    },
                };
                first += span.n;
                spans.push(span);
            }
            spans
        }
        SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => vec![Span {
            first: 0,
            n: simple.len(),
            scalarset: None,
        }],
    }
}

/// An array index on the path to a place.
#[derive(Clone, Copy)]
struct Dimension {
    domain: u32,
    stride: u32,
}

struct Builder<'a> {
    action: &'a Action,
    /// By scalarset.
    domain_of: Vec<Option<u32>>,
    /// By type.
    codings: HashMap<TypeId, u32>,
    /// Cells that come from one place in the types share an emission.
    n_emissions: u64,
    /// The current run, to which adjacent bits are added.
    run: Run,
    plan: Plan,
}

/// Adjacent bits that will be one cell, or several where they are too many for one.
#[derive(Default)]
struct Run {
    first: usize,
    n_bits: usize,
    /// First bit, width and coding of the fields.
    fields: Vec<(usize, usize, u32)>,
}

#[derive(Clone, Copy)]
enum Content {
    Plain,
    Bag(Bag),
}

impl Run {
    /// The first bit after it.
    fn end(&self) -> usize {
        self.first + self.n_bits
    }
}

impl Builder<'_> {
    fn walk(
        &mut self,
        ty: TypeId,
        at: usize,
        dimensions: &mut Vec<Dimension>,
        is_state: bool,
        body: &mut Body,
    ) {
        let action = self.action;
        let width = action.types.bits(ty) as usize;
        if width == 0 {
            return;
        }
        if !action.moves(ty) {
            let mut done = 0;
            while done < width {
                // Plain bits are cut where a cell is full; values that may be elements are not.
                let room = match self.run.end() == at + done {
                    true => MAX_CELL_BITS - self.run.n_bits,
                    false => 0,
                };
                let n = (width - done).min(if room == 0 { MAX_CELL_BITS } else { room });
                self.extend_run(at + done, n, dimensions, is_state, body);
                done += n;
            }
            return;
        }
        match action.types.get(ty) {
            Type::Simple(simple) => {
                let coding = self.coding(ty, simple);
                self.extend_run(at, width, dimensions, is_state, body);
                self.run.fields.push((at, width, coding));
            }
            Type::Array { index, element } => {
                let Some(simple) = action.types.simple(*index) else {
                    return;
                };
                let stride = action.types.bits(*element) as usize;
                for span in spans(action, simple) {
                    let first = at + span.first as usize * stride;
                    let domain = span.scalarset.and_then(|id| self.domain_of[id.index()]);
                    let Some(domain) = domain else {
                        for position in 0..span.n as usize {
                            let at = first + position * stride;
                            self.walk(*element, at, dimensions, is_state, body);
                        }
                        continue;
                    };
                    self.end_run(dimensions, is_state, body);
                    dimensions.push(Dimension {
                        domain,
                        stride: stride as u32,
                    });
                    self.walk(*element, first, dimensions, is_state, body);
                    self.end_run(dimensions, is_state, body);
                    dimensions.pop();
                }
            }
            Type::Record { fields } => {
                let mut at = at;
                for field in fields {
                    self.walk(field.ty, at, dimensions, is_state, body);
                    at += action.types.bits(field.ty) as usize;
                }
            }
            Type::Multiset { capacity, element } => {
                self.end_run(dimensions, is_state, body);
                let mut slot = Body::default();
                self.walk(*element, 0, &mut Vec::new(), false, &mut slot);
                self.end_run(&[], false, &mut slot);
                self.plan.sort_cells(&mut slot);
                self.plan.bodies.push(slot);
                let bag = Bag {
                    capacity: *capacity,
                    width: action.types.bits(*element) as u32,
                    body: self.plan.bodies.len() as u32 - 1,
                };
                self.emit(at, width, Content::Bag(bag), &[], dimensions, body);
            }
        }
    }

    /// Adds bits to the run, or begins another one with them.
    fn extend_run(
        &mut self,
        at: usize,
        width: usize,
        dimensions: &[Dimension],
        is_state: bool,
        body: &mut Body,
    ) {
        if self.run.end() != at || self.run.n_bits + width > MAX_CELL_BITS {
            self.end_run(dimensions, is_state, body);
            self.run.first = at;
        }
        self.run.n_bits += width;
    }

    /// Emits the current run.
    fn end_run(&mut self, dimensions: &[Dimension], is_state: bool, body: &mut Body) {
        let Run {
            first,
            n_bits,
            fields,
        } = std::mem::take(&mut self.run);
        // No renaming moves or changes bits of the state that stand below nothing.
        let is_idle = dimensions.is_empty() && is_state && fields.is_empty();
        if n_bits > 0 && !is_idle {
            self.emit(first, n_bits, Content::Plain, &fields, dimensions, body);
        }
    }

    fn coding(&mut self, ty: TypeId, simple: &Simple) -> u32 {
        if let Some(&coding) = self.codings.get(&ty) {
            return coding;
        }
        let mut segments = Vec::new();
        for span in spans(self.action, simple) {
            if let Some(domain) = span.scalarset.and_then(|id| self.domain_of[id.index()]) {
                let Domain { base, is_index, .. } = self.plan.domains[domain as usize];
                segments.push(Segment {
                    first_raw: span.first + 1,
                    n: span.n,
                    domain,
                    base,
                    is_index,
                });
            }
        }
        let coding = self.plan.codings.len() as u32;
        self.plan.codings.push(Coding { segments });
        self.codings.insert(ty, coding);
        coding
    }

    /// Adds the cells of one place in the types, one for each choice of indices.
    fn emit(
        &mut self,
        at: usize,
        width: usize,
        content: Content,
        fields: &[(usize, usize, u32)],
        dimensions: &[Dimension],
        body: &mut Body,
    ) {
        let emission = self.n_emissions;
        self.n_emissions += 1;
        let first_field = self.plan.fields.len();
        for (position, &(first, n_bits, coding)) in fields.iter().enumerate() {
            let segments = &self.plan.codings[coding as usize].segments;
            self.plan.fields.push(Field {
                shift: (at + width - first - n_bits) as u32,
                mask: u64::MAX >> (64 - n_bits),
                first: segments[0],
                coding: (segments.len() > 1).then_some(coding),
                kind: hash::mix(position as u64, 3),
            });
        }
        let fields = self.plan.fields[first_field..].iter();
        let field_mask = fields.map(|field| field.mask << field.shift).sum();
        let domains: Vec<Domain> = dimensions
            .iter()
            .map(|dimension| self.plan.domains[dimension.domain as usize].clone())
            .collect();
        let mut origin = at as i64;
        for (dimension, domain) in dimensions.iter().zip(&domains) {
            origin -= i64::from(dimension.stride) * i64::from(domain.base);
        }
        let mut vertices: Vec<u32> = domains.iter().map(|domain| domain.base).collect();
        loop {
            let first_axis = self.plan.axes.len();
            let mut kind = hash::mix(emission, 1);
            let mut first_bit = origin;
            for (dimension, &vertex) in dimensions.iter().zip(&vertices) {
                first_bit += i64::from(dimension.stride) * i64::from(vertex);
                let axes = &mut self.plan.axes[first_axis..];
                match axes.iter_mut().position(|axis| axis.vertex == vertex) {
                    Some(position) => {
                        axes[position].stride += dimension.stride;
                        kind = hash::mix(kind, position as u64 + 2);
                    }
                    None => {
                        self.plan.axes.push(Axis {
                            vertex,
                            stride: dimension.stride,
                        });
                        kind = hash::mix(kind, 1);
                    }
                }
            }
            let cell = Cell {
                first_bit: first_bit as u32,
                n_bits: width as u32,
                origin,
                first_axis: first_axis as u32,
                end_axis: self.plan.axes.len() as u32,
                only_axis: match &self.plan.axes[first_axis..] {
                    [axis] => Some(*axis),
                    _ => None,
                },
                first_field: first_field as u32,
                end_field: self.plan.fields.len() as u32,
                field_mask,
                kind,
            };
            match content {
                Content::Plain => body.cells.push(cell),
                Content::Bag(bag) => body.bags.push((cell, bag)),
            }
            // The next choice of indices, the last one fastest.
            let mut position = vertices.len();
            loop {
                if position == 0 {
                    return;
                }
                position -= 1;
                let domain = &domains[position];
                vertices[position] += 1;
                if vertices[position] < domain.base + domain.n_vertices {
                    break;
                }
                vertices[position] = domain.base;
            }
        }
    }
}
