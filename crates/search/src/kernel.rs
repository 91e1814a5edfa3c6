//! The expansion kernel: from a block of states to its successors in canonical form, and from new
//! states to the verdicts on them. Every search goes through here.

use hadal_model::{Cursor, Expander, Failure, Flow, Remark, Shape, States, Successors, Unmeasured};

/// Successors of one block of states, a buffer at a time.
#[derive(Debug)]
pub struct Kernel {
    /// Where the expansion continues.
    cursor: Cursor,
    /// How the last call of the expander ended; `Full` before the first one.
    pub flow: Flow,
    /// Successors and facts about the sources.
    pub successors: Successors,
    /// What the expander noticed.
    pub remarks: Vec<Remark>,
}

impl Kernel {
    /// A kernel whose buffer takes `capacity` successors.
    pub fn new(shape: &Shape, capacity: usize) -> Self {
        Kernel {
            cursor: Cursor::default(),
            flow: Flow::Done,
            successors: Successors::new(shape, capacity),
            remarks: Vec::new(),
        }
    }

    /// A kernel whose buffer also takes the costs of steps.
    pub fn with_costs(shape: &Shape, capacity: usize) -> Self {
        Kernel {
            successors: Successors::with_costs(shape, capacity),
            ..Kernel::new(shape, 0)
        }
    }

    /// This kernel, whose buffer also takes the multiplicities of steps.
    pub fn with_multiplicities(self) -> Self {
        Kernel {
            successors: self.successors.with_multiplicities(),
            ..self
        }
    }

    /// Starts with a block of `n_sources` states.
    pub fn begin(&mut self, n_sources: usize) {
        self.cursor = Cursor::default();
        self.flow = Flow::Full(self.cursor);
        self.successors.reset(n_sources);
    }

    /// Whether the block has more successors.
    pub fn is_full(&self) -> bool {
        matches!(self.flow, Flow::Full(_))
    }

    /// Fills the buffer with the next successors, as the model makes them. `None` stands for the
    /// imaginary source of all startstates.
    pub fn expand(&mut self, expander: &mut dyn Expander, block: Option<States<'_>>) {
        if let Flow::Full(cursor) = self.flow {
            self.cursor = cursor;
            self.successors.drain();
        }
        self.flow = match block {
            None => expander.starts(self.cursor, &mut self.successors),
            Some(block) => expander.expand(block, self.cursor, &mut self.successors),
        };
        if self.flow == Flow::Stopped {
            // It may say why.
            self.remarks.append(&mut expander.take_remarks());
        }
    }

    /// Replaces what is in the buffer, successors of `block`, by the representatives.
    pub fn canonicalise(&mut self, expander: &mut dyn Expander, block: Option<States<'_>>) {
        match block {
            None => expander.canonicalise(self.successors.states_mut()),
            Some(block) => expander.canonicalise_successors(block, &mut self.successors),
        }
        self.remarks.append(&mut expander.take_remarks());
    }
}

impl Kernel {
    /// Replaces `values` by the measures of what is in the buffer, in canonical form.
    pub(crate) fn measure(
        &mut self,
        expander: &mut dyn Expander,
        values: &mut Vec<u32>,
    ) -> Result<(), Unmeasured> {
        values.clear();
        let states = self.successors.states();
        if !states.is_empty() && expander.measure(states, values)? == Flow::Stopped {
            self.flow = Flow::Stopped;
        }
        Ok(())
    }
}

/// What was found out about new states: properties that fail, goals that are reached.
#[derive(Debug)]
pub struct Verdicts {
    /// Properties that do not hold, by state and property.
    pub failures: Vec<Failure>,
    /// How many states reach each goal.
    pub goals: Vec<u64>,
    reached: Vec<u64>,
}

impl Verdicts {
    /// Nothing yet.
    pub fn new(shape: &Shape) -> Self {
        Verdicts {
            failures: Vec::new(),
            goals: vec![0; shape.goals.len()],
            reached: Vec::new(),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.failures.clear();
        self.goals.fill(0);
    }

    /// Evaluates properties and goals on `block`.
    pub fn find(&mut self, expander: &mut dyn Expander, shape: &Shape, block: States<'_>) -> Flow {
        self.clear();
        if block.is_empty() {
            return Flow::Done;
        }
        if expander.check(block, &mut self.failures) == Flow::Stopped {
            return Flow::Stopped;
        }
        if !shape.goals.is_empty() {
            let n_words = shape.goal_words();
            self.reached.clear();
            self.reached.resize(block.len() * n_words, 0);
            let flow = expander.reach_goals(block, &mut self.reached, &mut self.failures);
            if flow == Flow::Stopped {
                return Flow::Stopped;
            }
            for state in self.reached.chunks(n_words) {
                for (goal, count) in self.goals.iter_mut().enumerate() {
                    *count += (state[goal / 64] >> (goal % 64)) & 1;
                }
            }
            self.failures
                .sort_by_key(|failure| (failure.state, failure.property));
        }
        Flow::Done
    }
}
