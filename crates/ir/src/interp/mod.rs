//! The reference interpreter, which is the meaning of a program.
//!
//! It walks the tree and uses one address space: the state in front, frames of locals behind it,
//! all packed alike, so that a reference is a bit address.
//! It favours clarity over speed; native code is compared with it.
//!
//! - `machine`: evaluates expressions and runs statements.
//! - `prepare`: offsets and orders computed once per program.
//! - `instances`: enumerates the parameters of rules.
//! - `generate`: the [`Expander`] on top.
//! - `order`: the [`OrderChecker`] on top, which tries the passes of loops in all orders.

mod arithmetic;
mod describe;
mod generate;
mod instances;
mod machine;
mod order;
mod prepare;

use std::sync::OnceLock;

use hadal_model::{Cursor, Expander, Flow, Model, Shape, Step, Stop, Stopped, Successors};

use crate::defined::Definedness;
use crate::program::Program;
use generate::Generator;
pub use order::{CheckedLoop, Item, MAX_PASSES, OrderChecker, OrderChecks};
use prepare::Prepared;

/// A program as a [`Model`], by interpretation.
///
/// The program must have passed [`verify`](crate::verify): the interpreter relies on it.
#[derive(Debug)]
pub struct Interpreter {
    prepared: Prepared,
    shape: Shape,
    limits: Limits,
    definedness: OnceLock<Definedness>,
}

/// How far a single evaluation may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rounds of one execution of a `while` loop.
    pub loop_rounds: u64,
    /// Nesting depth of calls.
    pub call_depth: u32,
    /// Bytes of the thread's stack that evaluation may use. Deeper calls are a call-limit fault,
    /// never a crash.
    pub stack_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            loop_rounds: 1_000_000,
            call_depth: 1000,
            // Less than the two megabytes that threads get unless they ask for more.
            stack_bytes: 1 << 20,
        }
    }
}

impl Interpreter {
    /// Prepares a verified program.
    pub fn new(program: Program, limits: Limits) -> Self {
        let prepared = Prepared::new(program);
        let shape = prepared.shape();
        Interpreter {
            prepared,
            shape,
            limits,
            definedness: OnceLock::new(),
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.prepared.program
    }

    /// The limits it runs under.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Fills `out` with the startstates; [`Flow::Stopped`] where that takes more than about
    /// `most_rounds` calls and rounds of loops.
    pub(crate) fn starts_within(&self, most_rounds: u64, out: &mut Successors) -> Flow {
        let never = Stop::new();
        let mut generator = Generator::new(&self.prepared, self.limits, &never);
        generator.machine.limit_rounds(most_rounds);
        generator.starts(Cursor::default(), out)
    }

    /// Which parts of the state always hold a value. Computed once, on the first call.
    pub fn definedness(&self) -> &Definedness {
        self.definedness.get_or_init(|| Definedness::of(self))
    }
}

impl Model for Interpreter {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        Box::new(Generator::new(&self.prepared, self.limits, stop))
    }

    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)> {
        describe::state(&self.prepared, state)
    }

    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step> {
        let found = self.reference_step(parent, index, &Stop::new());
        found.ok().flatten().map(|(step, _)| step)
    }

    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        Generator::new(&self.prepared, self.limits, stop).find_step(parent, index)
    }

    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        Generator::new(&self.prepared, self.limits, stop).describe_steps(parent, each)
    }
}
