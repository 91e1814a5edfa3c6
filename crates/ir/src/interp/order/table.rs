//! Which loops are checked and what of the memory counts, by frame, for the machine to look up.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::super::prepare::{FrameLayout, Prepared};
use super::{Item, OrderChecks, slots};
use crate::ids::{LocalId, TypeId};
use crate::program::LocalKind;

/// What is known about the loops of a program.
#[derive(Debug)]
pub(in crate::interp) struct LoopTable {
    /// By number of the frame, then by local.
    frames: Vec<Vec<Variable>>,
    /// By position in [`OrderChecks::loops`].
    loops: Vec<LoopMemory>,
}

/// What is known about a local as the variable of loops.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::interp) struct Variable {
    /// The checked loop whose variable it is.
    pub(in crate::interp) checked: Option<u32>,
    /// Whether a slot of a multiset is found by it.
    pub(in crate::interp) is_slot: bool,
}

/// What of its own frame a checked loop may leave behind only in one way.
#[derive(Clone, Debug)]
pub(in crate::interp) struct LoopMemory {
    /// Whether a local is compared, by local.
    pub(in crate::interp) is_compared: Vec<bool>,
    /// The compared locals, in bytes from the beginning of the frame.
    pub(in crate::interp) ranges: Vec<Range<usize>>,
    /// Those that hold multisets, with their first bits in the frame.
    pub(in crate::interp) bags: Vec<(TypeId, usize)>,
}

impl LoopTable {
    pub(super) fn new(code: &Prepared, checks: &OrderChecks) -> Self {
        let mut frames: Vec<Vec<Variable>> = Vec::new();
        for item in items(code) {
            let layout = layout(code, item);
            let mut variables = vec![Variable::default(); layout.locals.len()];
            for local in slots::slot_locals(&code.program, item) {
                variables[local.index()].is_slot = true;
            }
            frames.push(variables);
        }
        let mut loops: Vec<LoopMemory> = Vec::new();
        for (number, checked) in checks.loops.iter().enumerate() {
            let layout = layout(code, checked.item);
            let mut private: FxHashSet<LocalId> = checked.private.iter().copied().collect();
            let variable = &mut frames[layout.number][checked.var.index()];
            // Where several entries name one variable, what is private to all of them is private.
            match variable.checked {
                Some(first) => {
                    let first = first as usize;
                    private.retain(|local| !loops[first].is_compared[local.index()]);
                    loops[first] = LoopMemory::new(code, layout, checked.var, &private);
                }
                None => variable.checked = Some(number as u32),
            }
            loops.push(LoopMemory::new(code, layout, checked.var, &private));
        }
        LoopTable { frames, loops }
    }

    pub(in crate::interp) fn n_loops(&self) -> usize {
        self.loops.len()
    }

    pub(in crate::interp) fn variable(&self, frame: &FrameLayout, local: LocalId) -> Variable {
        self.frames[frame.number][local.index()]
    }

    pub(in crate::interp) fn memory(&self, number: u32) -> &LoopMemory {
        &self.loops[number as usize]
    }
}

impl LoopMemory {
    fn new(
        code: &Prepared,
        layout: &FrameLayout,
        var: LocalId,
        private: &FxHashSet<LocalId>,
    ) -> Self {
        let types = &code.program.types;
        let mut memory = LoopMemory {
            is_compared: Vec::new(),
            ranges: Vec::new(),
            bags: Vec::new(),
        };
        for (index, slot) in layout.locals.iter().enumerate() {
            let local = LocalId::new(index);
            let is_compared = local != var && !private.contains(&local);
            memory.is_compared.push(is_compared);
            if !is_compared {
                continue;
            }
            let first = slot.offset / 8;
            let end = match layout.locals.get(index + 1) {
                Some(next) => next.offset / 8,
                None => layout.bytes,
            };
            match memory.ranges.last_mut() {
                Some(last) if last.end == first => last.end = end,
                _ => memory.ranges.push(first..end),
            }
            if let LocalKind::Value(ty) = slot.kind
                && types.has_multiset(ty)
            {
                memory.bags.push((ty, slot.offset));
            }
        }
        memory
    }
}

/// All items, in the order in which their frames are numbered.
fn items(code: &Prepared) -> impl Iterator<Item = Item> + use<> {
    let n_functions = code.function_frames.len();
    let (n_starts, n_rules) = (
        code.start_frames.len() as u32,
        code.rule_frames.len() as u32,
    );
    let n_properties = code.property_frames.len() as u32;
    let n_measures = code.measure_frames.len() as u32;
    let functions = (0..n_functions).map(|n| Item::Function(crate::ids::FunctionId::new(n)));
    functions
        .chain((0..n_starts).map(Item::Start))
        .chain((0..n_rules).map(Item::Rule))
        .chain((0..n_properties).map(Item::Property))
        .chain((0..n_measures).map(Item::Measure))
}

fn layout(code: &Prepared, item: Item) -> &FrameLayout {
    match item {
        Item::Function(function) => &code.function_frames[function.index()],
        Item::Rule(number) => &code.rule_frames[number as usize],
        Item::Start(number) => &code.start_frames[number as usize],
        Item::Property(number) => &code.property_frames[number as usize],
        Item::Measure(number) => &code.measure_frames[number as usize],
    }
}
