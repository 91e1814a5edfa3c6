//! How large the parts of a program are, and which of them get no native code.
//!
//! The code generator takes time and memory in proportion to a function, about two kibibytes and
//! twenty microseconds for each node of the intermediate representation, and it cannot be
//! interrupted. So a part that is too large for it, or for the memory that is left, is left to the
//! interpreter, as a state that faults is: native code returns as soon as it gets there.

use hadal_ir::ids::ExprId;
use hadal_ir::program::{Guard, Program};
use hadal_ir::stmt::Stmt;
use hadal_ir::walk::{Mention, for_each_stmt};

use crate::unit::Item;

/// How much of a part of the program gets native code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    /// The guard of a rule; its body is left to the interpreter.
    Guard,
    Nothing,
}

/// Limits on the code generator.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Nodes of the largest part that gets native code.
    pub most_nodes: u64,
    /// Bytes that the code generator may still take, now.
    pub room: &'a (dyn Fn() -> u64 + Sync),
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} nodes", self.most_nodes)
    }
}

impl Budget<'_> {
    /// Nodes of the largest part that gets native code, unless told otherwise: some 200 MiB and two
    /// seconds. The largest rule of a protocol written by hand has some thousands.
    pub const MOST_NODES: u64 = 100_000;

    /// Memory of the machine does not matter.
    pub const UNLIMITED: Budget<'static> = Budget {
        most_nodes: Self::MOST_NODES,
        room: &|| u64::MAX,
    };

    /// How much of a part is generated, beside `claimed` bytes that others are about to take.
    pub(crate) fn extent(&self, item: Item, size: ItemSize, claimed: u64) -> Extent {
        if self.fits(size.total(), claimed) {
            Extent::All
        } else if matches!(item, Item::Rule(_)) && self.fits(size.condition, claimed) {
            Extent::Guard
        } else {
            Extent::Nothing
        }
    }

    /// Whether a function of `n_nodes` nodes may be generated beside `claimed` bytes that others
    /// are about to take.
    fn fits(&self, n_nodes: u64, claimed: u64) -> bool {
        n_nodes <= self.most_nodes
            && (n_nodes <= SMALL_NODES
                || bytes_for(n_nodes) <= (self.room)().saturating_sub(claimed))
    }
}

/// What a node takes at the peak. Measured: 1.7 to 2.2 KiB.
const BYTES_PER_NODE: u64 = 2560;

/// A part of up to this many nodes is not worth asking the system about memory.
const SMALL_NODES: u64 = 400;

/// What the code generator needs for a function of `n_nodes` nodes.
pub(crate) fn bytes_for(n_nodes: u64) -> u64 {
    n_nodes.saturating_mul(BYTES_PER_NODE)
}

/// Nodes of expressions and statements, counted as often as they are lowered.
#[derive(Debug)]
pub(crate) struct Sizes<'p> {
    program: &'p Program,
    exprs: Vec<u64>,
}

/// Nodes of a part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemSize {
    /// A guard, condition or value, with what is computed for it where that is no body.
    pub(crate) condition: u64,
    pub(crate) body: u64,
}

impl ItemSize {
    pub(crate) fn total(self) -> u64 {
        self.condition.saturating_add(self.body)
    }
}

impl<'p> Sizes<'p> {
    pub(crate) fn of(program: &'p Program) -> Self {
        let mut exprs: Vec<u64> = Vec::with_capacity(program.exprs.len());
        for (expr, _) in &program.exprs {
            let mut size = 1u64;
            expr.for_each_mention(&mut |mention| {
                if let Mention::Expr(id) = mention {
                    // Verified: operands come first.
                    size = size.saturating_add(exprs.get(id.index()).copied().unwrap_or(1));
                }
            });
            exprs.push(size);
        }
        Sizes { program, exprs }
    }

    pub(crate) fn item(&self, item: Item) -> ItemSize {
        let program = self.program;
        let (condition, body): (u64, &[Stmt]) = match item {
            Item::Function(index) => (0, &program.functions[index].body),
            Item::Rule(index) => {
                let rule = &program.rules[index];
                (self.guard(&rule.guard), &rule.body)
            }
            Item::Start(index) => (0, &program.starts[index].body),
            Item::Property(index) => (self.guard(&program.properties[index].condition), &[]),
            Item::Measure(index) => {
                let measure = &program.measures[index];
                (self.expr(measure.value), &measure.body)
            }
        };
        ItemSize {
            condition,
            body: self.block(body),
        }
    }

    fn guard(&self, guard: &Guard) -> u64 {
        let condition = guard.condition.map_or(0, |id| self.expr(id));
        self.block(&guard.prologue).saturating_add(condition)
    }

    fn block(&self, block: &[Stmt]) -> u64 {
        let mut size = 0u64;
        for_each_stmt(block, &mut |stmt| {
            size = size.saturating_add(1);
            stmt.for_each_mention(&mut |mention| {
                if let Mention::Expr(id) = mention {
                    size = size.saturating_add(self.expr(id));
                }
            });
        });
        size
    }

    fn expr(&self, id: ExprId) -> u64 {
        self.exprs.get(id.index()).copied().unwrap_or(1)
    }
}
