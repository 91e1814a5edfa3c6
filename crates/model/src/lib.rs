//! The seam between what a model means and how its states are searched.
//!
//! A [`Model`] describes a finite transition system whose states are fixed-length byte strings.
//! Everything that searches (breadth-first in memory, on disk, over several machines) sees only
//! this crate; everything that gives meaning (the interpreter, native code, a symmetry wrapper, an
//! explicit graph, a Rust struct of yours) implements it.
//! There is no I/O here, no thread is started, and no other crate of the project is used.
//!
//! Work crosses the seam in blocks: an [`Expander`] takes many states at once and fills a flat
//! [`Successors`] buffer that never grows, so the cost of the virtual call vanishes and a state
//! with a million successors needs no more room than any other.
//!
//! A step is identified by the ordinal of its parent and the [index](Successors::index) of the
//! successor in the parent's expansion.
//! That is universal (atomic sequences, `choose` and symmetry need no labels of their own), it is
//! cheap to log, and it gives the one order in which every search discovers states, whatever the
//! number of threads.
//!
//! A step has a cost, 1 unless its expander [sets another](Successors::set_cost). A rule of Murphi
//! costs 1, a step of Promela the number of statements it executes. A search asks for
//! costs by [`Successors::with_costs`]; one by depth does not.
//! Several paths may lead from a state to a successor, which is delivered once:
//! [`Successors::with_multiplicities`] asks for their number.
//!
//! A model written in Rust is a [`Machine`] (`examples/rust_model.rs`), or implements the seam itself
//! (`examples/counters.rs`).

mod allowance;
mod drain;
mod fault;
mod first_steps;
mod machine;
mod shape;
mod states;
mod stop;
mod successors;

use std::ops::Range;
use std::sync::Arc;

pub use allowance::Allowance;
pub use drain::{Stopped, for_each_batch};
pub use fault::{Fault, FaultKind, Phase};
pub use first_steps::FirstSteps;
pub use machine::{Machine, MachineModel, StateBytes};
pub use shape::{
    BitRanges, Component, Goal, GoalKind, Measure, MeasureKind, Property, PropertyKind, Rule, Shape,
};
pub use states::{PAD_BYTES, States};
pub use stop::Stop;
pub use successors::{Columns, Cursor, Flow, Source, Successors, Weight};

/// A finite transition system over states of one fixed length.
pub trait Model: Sync {
    /// What a search needs to know before the first state: lengths, rules, properties.
    fn shape(&self) -> &Shape;

    /// A generator of successors for one thread; it owns its scratch memory.
    ///
    /// The generator must return [`Flow::Stopped`] soon after `stop` is raised, even from
    /// within an endless loop of the model.
    fn expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a>;

    /// A generator that runs what defines the model's meaning, for replaying counterexamples.
    ///
    /// Where [`expander`](Self::expander) is optimised, this is the slow reference.
    fn reference_expander<'a>(&'a self, stop: &'a Stop) -> Box<dyn Expander + 'a> {
        self.expander(stop)
    }

    /// The leaves of a state by name, in declaration order, for people: `x[1].y` and `undefined`.
    fn describe_state(&self, state: &[u8]) -> Vec<(String, String)>;

    /// Which rule, with which parameters, made successor `index` of `parent`; a startstate where
    /// there is no parent. `None` when there is no such successor.
    fn describe_step(&self, parent: Option<&[u8]>, index: u32) -> Option<Step>;

    /// Successor `index` of `parent` as the [reference](Self::reference_expander) makes it, and the
    /// step that makes it; a startstate where there is no parent. `None` when there is no such
    /// successor.
    ///
    /// Where a rule has very many instances, this is to evaluate those up to that one only.
    fn reference_step(
        &self,
        parent: Option<&[u8]>,
        index: u32,
        stop: &Stop,
    ) -> Result<Option<(Step, Vec<u8>)>, Stopped> {
        let mut expander = self.reference_expander(stop);
        let state = drain::successor(&mut *expander, self.shape(), parent, index)?;
        Ok(self.describe_step(parent, index).zip(state))
    }

    /// The steps that make the successors of `parent`, in their order, as
    /// [`describe_step`](Self::describe_step) describes each.
    ///
    /// A model that finds a step by making those before it should make all of them once here.
    fn describe_steps(
        &self,
        parent: &[u8],
        stop: &Stop,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), Stopped> {
        for index in 0.. {
            match self.reference_step(Some(parent), index, stop)? {
                Some((step, _)) => each(step),
                None => break,
            }
        }
        Ok(())
    }
}

/// One thread's access to a [`Model`].
pub trait Expander: Send {
    /// Writes the startstates from `from` on, as successors of a single imaginary source.
    fn starts(&mut self, from: Cursor, out: &mut Successors) -> Flow;

    /// Writes the successors of `block` from `from` on.
    ///
    /// Successors of one state come in one fixed order, and states in the order of the block.
    /// A fault ends its firing only: other instances of rules still fire, so that which successors
    /// a state has does not depend on the order of instances.
    /// A step that costs more than 1 is followed by [`Successors::set_cost`]; its cost depends on
    /// nothing but the source and the index.
    /// After [`Flow::Full`] the caller takes what is in `out`, calls [`Successors::drain`] and
    /// continues from the cursor with the same block.
    fn expand(&mut self, block: States<'_>, from: Cursor, out: &mut Successors) -> Flow;

    /// Writes the micro steps of sources at rest, where `block` and `out` hold states without
    /// [registers](Shape::register_bits), and moves those of a source to `left` unless they are its
    /// steps: all lead to states at rest, which differ. What happened is counted for both. Sources in
    /// `left` are counted from the beginning of `range`.
    ///
    /// Takes as many sources of `range` as it can, which have not been expanded before, and
    /// returns where the next one is: one that has no room in `out`, or that only
    /// [`expand`](Self::expand) can do. Of that one there is no trace.
    ///
    /// `None` where this expander does not know how.
    fn expand_at_rest(
        &mut self,
        block: States<'_>,
        range: Range<usize>,
        out: &mut Successors,
        left: &mut FirstSteps,
    ) -> Option<Result<usize, Stopped>> {
        let _ = (block, range, out, left);
        None
    }

    /// Replaces each state of `states` (densely packed) by the representative of its class.
    ///
    /// The identity unless a reduction wraps the model.
    fn canonicalise(&mut self, states: &mut [u8]) {
        let _ = states;
    }

    /// Does what [`canonicalise`](Self::canonicalise) does to all of `out`, the successors that
    /// this model generated for `block`, whose states are representatives.
    ///
    /// A step changes little of a state; parts that it does not change need no second look.
    fn canonicalise_successors(&mut self, block: States<'_>, out: &mut Successors) {
        let _ = block;
        self.canonicalise(out.states_mut());
    }

    /// Does what [`canonicalise`](Self::canonicalise) does, and reports how goals are renamed.
    ///
    /// A representative stands for states that are alike but for the names of interchangeable
    /// elements. A goal about one of these elements ("*this* process eats") is therefore another
    /// goal after the step to the representative, and following goals along steps needs to know
    /// which. `images` holds it: for each state, in order, a number for each of
    /// [`Shape::goals`], such that the state reaches goal `g`, now or later, if and only
    /// if its representative reaches goal `images[state * n_goals + g]`. For each state this is a
    /// permutation of the goals that stays within the instances of a property.
    ///
    /// `images` is cleared first. It stays empty if every goal of every state keeps its number, as
    /// is always the case unless a reduction wraps the model.
    ///
    /// Only liveness needs this, once for every successor of every state; discovering states does
    /// not.
    fn canonicalise_with_goals(&mut self, states: &mut [u8], images: &mut Vec<u32>) {
        images.clear();
        self.canonicalise(states);
    }

    /// Evaluates the invariants on each state and appends what fails, in order of state and
    /// property. A property that cannot be evaluated fails with the fault.
    fn check(&mut self, block: States<'_>, failures: &mut Vec<Failure>) -> Flow;

    /// Evaluates every [`Goal`] of the shape on each state.
    ///
    /// `reached` holds `shape.goal_words()` words a state, a bit a goal; the caller passes it
    /// zeroed. Called only for models that have goals.
    ///
    /// Where a reduction wraps the model, a goal of the kind [`GoalKind::CoverState`] is reached by
    /// a representative if any state of its class reaches it, since that state is reachable too.
    /// Goals of the kind [`GoalKind::Liveness`] are evaluated on the representative alone;
    /// [`canonicalise_with_goals`](Self::canonicalise_with_goals) relates them to the rest of the
    /// class.
    fn reach_goals(
        &mut self,
        block: States<'_>,
        reached: &mut [u64],
        failures: &mut Vec<Failure>,
    ) -> Flow {
        let _ = (block, reached, failures);
        Flow::Done
    }

    /// Evaluates every [`Measure`] of the shape on each state and appends the values: those of the
    /// first state in the order of the shape, then those of the next one. Called only for models that
    /// have measures; states are representatives.
    ///
    /// What a state cannot be assigned a number for ends the search: the first such state is
    /// returned, and what was appended has no meaning then.
    fn measure(&mut self, block: States<'_>, values: &mut Vec<u32>) -> Result<Flow, Unmeasured> {
        let _ = (block, values);
        Ok(Flow::Done)
    }

    /// Sets what this expander may hold: [`Shape::expander_bytes`] of its own, and what it borrows of
    /// `more`. One that needs more to continue calls [`Stop::raise_for_memory`] and returns
    /// [`Flow::Stopped`].
    fn limit_memory(&mut self, more: Arc<Allowance>) {
        let _ = more;
    }

    /// Takes what this expander noticed besides states (for example a symmetry
    /// break found by a sampled check, or an expensive canonical form).
    fn take_remarks(&mut self) -> Vec<Remark> {
        Vec::new()
    }
}

/// A property that does not hold in a state, or could not be evaluated there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Position of the state in the block.
    pub state: u32,
    /// Index into [`Shape::properties`].
    pub property: u32,
    /// The parameters of the instance that fails, by name.
    pub parameters: Vec<(String, String)>,
    /// Why it could not be evaluated; `None` if it is false.
    pub fault: Option<Box<Fault>>,
}

/// A state without a number: its measure faults, or is negative or too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// Position of the state in the block.
    pub state: u32,
    /// Index into [`Shape::measures`].
    pub measure: u32,
    /// Why, as a sentence without a full stop.
    pub message: String,
}

/// A step of a run, in the model's own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Name of the rule or startstate.
    pub rule: String,
    /// Its parameters, by name, in order.
    pub parameters: Vec<(String, String)>,
    /// What the step printed (`put`), a line each.
    pub output: Vec<String>,
    /// The steps it consists of, where there are several. Rule and parameters are then those of
    /// the first one, and the output is that of all.
    pub inner: Vec<Step>,
}

/// Something a person should know that is not a violation of the model's properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The model treats elements differently that it declares interchangeable, so a reduction
    /// built on that declaration is not sound and no verdict may be given.
    BrokenSymmetry {
        /// The rule (or property) that distinguishes the elements.
        rule: String,
        /// What was seen, as a sentence.
        message: String,
    },
    /// The startstates are not closed under renaming of interchangeable elements, so goals of
    /// single elements cannot be decided by representatives.
    AsymmetricStarts {
        /// What was seen, as a sentence.
        message: String,
    },
    /// A step passes through more states than the expander has memory for, or than it follows, so
    /// that the search stops.
    LargeStep {
        /// Where its first rule stands, as `file:line:column`.
        at: String,
        /// States that it had passed through by then.
        n_states: u64,
        /// The memory that it needed for them; 0 where that was not what ended the search.
        bytes: u64,
    },
    /// A canonical form was found only by a long search.
    ExpensiveCanonicalForm {
        /// Number of candidate arrangements that the worst state needed.
        candidates: u64,
    },
}
