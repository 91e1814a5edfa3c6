//! Evaluates expressions and runs statements over one packed memory.
//!
//! Memory is the state followed by the frames of locals, innermost last. An address is a bit
//! offset into it. A simple value is read as an integer, or as [`UNDEFINED`], which no arithmetic
//! produces.

mod calls;
mod exprs;
mod order;
mod places;
mod stmts;

use hadal_model::{FaultKind, PAD_BYTES, Stop};

use super::Limits;
use super::prepare::{FrameLayout, Parts, Prepared};
use crate::bits;
use crate::expr::Place;
use crate::ids::{FunctionId, LocalId, SiteId, TypeId};
use crate::program::Frame;
pub(super) use order::OrderState;

/// Stands for undefined where a value is expected.
pub(super) const UNDEFINED: i64 = i64::MIN;

/// Why an evaluation ended early.
#[derive(Debug)]
pub(super) enum Halt {
    /// Something is wrong with the model.
    Fault(Box<RawFault>),
    /// An assumption was false: the step does not count.
    Abandoned,
    /// The run is to stop.
    Stopped,
}

/// A fault, before it is known which rule it belongs to.
#[derive(Debug)]
pub(super) struct RawFault {
    pub(super) kind: FaultKind,
    pub(super) message: String,
    pub(super) site: SiteId,
    /// Whether the evaluation went on.
    pub(super) goes_on: bool,
}

/// Whether a block ran to its end.
#[derive(PartialEq, Eq)]
enum Ended {
    Normally,
    ByReturn,
}

pub(super) struct Machine<'p> {
    code: &'p Prepared,
    limits: Limits,
    stop: &'p Stop,
    memory: Vec<u8>,
    current: Activation<'p>,
    /// The value of the last `return`, if it was simple.
    returned: i64,
    /// Loop rounds since the stop flag was last polled.
    rounds: u32,
    /// How often it may still be polled; the next time stops the evaluation.
    polls_left: u64,
    /// Address of a variable at the bottom of the stack, to know how deep we are.
    stack_bottom: usize,
    /// Output of `put`, where it is kept.
    pub(super) output: Option<String>,
    /// Cover points hit since the list was last emptied.
    pub(super) covered: Vec<u32>,
    /// Assertions that failed and let the body continue, since the list was last emptied.
    pub(super) reported: Vec<RawFault>,
    /// Where the passes of loops are tried in all orders: which loops, and what that needs.
    pub(super) order: Option<Box<OrderState>>,
}

/// The function (or rule, property, startstate) that is running.
#[derive(Clone, Copy)]
struct Activation<'p> {
    frame: &'p FrameLayout,
    names: &'p Frame,
    /// First bit of its frame.
    frame_bit: usize,
    /// First byte behind its frame.
    top: usize,
    /// How many calls it is inside of.
    call_depth: u32,
    /// The function; `None` in a rule, property or startstate.
    function: Option<FunctionId>,
    /// Where an aggregate result is to go.
    return_bit: usize,
}

const ROUNDS_PER_POLL: u64 = 4096;

static NO_FRAME: FrameLayout = FrameLayout {
    locals: Vec::new(),
    bytes: 0,
    number: 0,
};
static NO_NAMES: Frame = Frame { locals: Vec::new() };

impl<'p> Machine<'p> {
    pub(super) fn new(code: &'p Prepared, limits: Limits, stop: &'p Stop) -> Self {
        let state_bytes = code.layout.state_len + PAD_BYTES;
        Machine {
            code,
            limits,
            stop,
            memory: vec![0; state_bytes + 256],
            current: Activation {
                frame: &NO_FRAME,
                names: &NO_NAMES,
                frame_bit: state_bytes * 8,
                top: state_bytes,
                call_depth: 0,
                function: None,
                return_bit: 0,
            },
            returned: UNDEFINED,
            rounds: 0,
            polls_left: u64::MAX,
            stack_bottom: 0,
            output: None,
            covered: Vec::new(),
            reported: Vec::new(),
            order: None,
        }
    }

    /// Records the position of the stack; called on entry from outside.
    pub(super) fn enter(&mut self) {
        self.stack_bottom = stack_address();
    }

    /// Clears the output, covers and reports of earlier firings.
    pub(super) fn forget_effects(&mut self) {
        self.covered.clear();
        self.reported.clear();
        if let Some(output) = &mut self.output {
            output.clear();
        }
    }

    pub(super) fn stop_raised(&self) -> bool {
        self.stop.is_raised()
    }

    /// Whether a slot of a multiset, which there is, holds an element.
    pub(super) fn slot_present(&mut self, multiset: &'p Place, slot: i64) -> Result<bool, Halt> {
        let (at, _) = self.resolve(multiset)?;
        Ok(bits::get(&self.memory, at + slot as usize, 1) == 1)
    }

    pub(super) fn state(&self) -> &[u8] {
        &self.memory[..self.code.layout.state_len]
    }

    pub(super) fn load_state(&mut self, state: &[u8]) {
        self.memory[..state.len()].copy_from_slice(state);
    }

    pub(super) fn clear_state(&mut self) {
        self.memory[..self.code.layout.state_len].fill(0);
    }

    pub(super) fn normalise_bags(&mut self) {
        for &(ty, first_bit) in &self.code.bags {
            let types = &self.code.program.types;
            types.normalise_multisets(&mut self.memory, ty, first_bit);
        }
    }

    /// Makes `frame` the only frame, all locals undefined.
    pub(super) fn open_frame(&mut self, frame: &'p FrameLayout, names: &'p Frame) {
        let base = self.code.layout.state_len + PAD_BYTES;
        self.current = Activation {
            frame,
            names,
            frame_bit: base * 8,
            top: base + frame.bytes,
            call_depth: 0,
            function: None,
            return_bit: 0,
        };
        self.reserve();
        self.memory[base..base + frame.bytes].fill(0);
    }

    /// Sets a value local, which can hold the value.
    pub(super) fn set_local(&mut self, local: LocalId, value: i64) {
        let slot = self.current.frame.slot(local);
        self.store(self.current.frame_bit + slot.offset, slot.kind.ty(), value);
    }

    fn reserve(&mut self) {
        let needed = self.current.top + PAD_BYTES;
        if self.memory.len() < needed {
            self.memory.resize(needed.next_power_of_two(), 0);
        }
    }

    #[inline]
    fn load(&self, at: usize, ty: TypeId) -> i64 {
        let Parts::Simple {
            lo, bits, is_total, ..
        } = self.code.parts[ty.index()]
        else {
            return UNDEFINED;
        };
        match (bits::get(&self.memory, at, bits), is_total) {
            (0, false) => UNDEFINED,
            (raw, false) => (raw as i64).wrapping_add(lo).wrapping_sub(1),
            (0, true) => 0,
            (raw, true) if lo < 0 => (raw << (64 - bits)) as i64 >> (64 - bits),
            (raw, true) => raw as i64,
        }
    }

    /// Stores a value that the type can hold, or undefined.
    fn store(&mut self, at: usize, ty: TypeId, value: i64) {
        let Parts::Simple {
            lo, bits, is_total, ..
        } = self.code.parts[ty.index()]
        else {
            return;
        };
        let raw = match value {
            UNDEFINED => 0,
            value if is_total => value as u64,
            value => value.wrapping_sub(lo).wrapping_add(1) as u64,
        };
        bits::set(&mut self.memory, at, bits, raw);
    }

    fn fault<T>(&self, kind: FaultKind, message: String, site: SiteId) -> Result<T, Halt> {
        Err(Halt::Fault(Box::new(RawFault {
            kind,
            message,
            site,
            goes_on: false,
        })))
    }

    /// Stops after about this number of calls and rounds of loops.
    pub(super) fn limit_rounds(&mut self, most: u64) {
        self.polls_left = most / ROUNDS_PER_POLL;
    }

    /// Counts a round of a loop and polls the stop flag now and then.
    fn poll(&mut self) -> Result<(), Halt> {
        self.rounds += 1;
        if u64::from(self.rounds) >= ROUNDS_PER_POLL {
            self.rounds = 0;
            if self.stop.is_raised() || self.polls_left == 0 {
                return Err(Halt::Stopped);
            }
            self.polls_left -= 1;
        }
        Ok(())
    }

    /// Whether a value that may be undefined can be held by a simple type.
    fn fits(&self, ty: TypeId, value: i64) -> bool {
        match self.code.parts[ty.index()] {
            Parts::Simple {
                lo, hi, is_total, ..
            } => (value == UNDEFINED && !is_total) || (lo <= value && value <= hi),
            _ => false,
        }
    }
}

/// About where the stack is.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0u8;
    &raw const here as usize
}
