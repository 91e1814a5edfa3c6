//! Process automata: what a process type does, as SPIN sees it.
//!
//! A process is at a [`Point`]. Each [`Edge`] of the point carries one basic statement and leads to
//! another point. Everything that the text nests is gone: what an `if` or `do` offers are the
//! edges of one point.
//!
//! The points are those of SPIN, because they are a part of the state and so decide its counts:
//!
//! - A basic statement has a point with one edge. `if` and `do` have a point of their own with the
//!   edges of the first statements of their options. A block, an `atomic`, the call of an `inline`
//!   and an `unless` with a label have a point of their own, too, with the edges of their first
//!   statement: a loop at the start of a block is entered at the point of the block and repeated
//!   at its own.
//! - `goto`, `break` and the end of a selection are no steps of their own: an edge leads past them,
//!   see below. As the first statement of an option or block they are edges, with
//!   [`Action::Goto`].
//! - A jump with a label that a remote reference names, or that begins with `end`, `progress` or
//!   `accept`, is a step, so that a process can be there.
//! - A jump that stands in an `atomic` is passed only if its target is inside as well and is not the
//!   last statement. Otherwise the jump is an edge. It is always executable and control is kept, so
//!   that it shows only where control is lost between the two: after a rendezvous, and in an
//!   `unless`.
//! - The last point, [`Automaton::end`], has no edges. A process there is terminated, and is removed
//!   if it has the highest pid.
//!
//! The order of edges matters, for [`Action::Else`] and in a `d_step`. Escapes come first, see
//! [`Edge::escape`]; `else` is the last of its selection.
//!
//! The points inside a `d_step` are points of the automaton, too, but no process ever rests there:
//! see [`Action::DStep`].

use std::sync::Arc;

use crate::program::Action;
use crate::text::TokenSpan;

mod build;
mod graph;

pub(crate) use build::{Built, MAX_EDGES, Node, NodeKind, build};
pub(crate) use graph::Graph;

/// Number of a point in its automaton.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointId(pub u32);

impl PointId {
    /// The position among the points.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a process type or never claim does.
#[derive(Debug, Clone)]
pub struct Automaton {
    /// The points that can be reached.
    pub points: Vec<Point>,
    /// Where a process begins.
    pub start: PointId,
    /// Where it is terminated; always a point, even if it cannot be reached.
    pub end: PointId,
    /// The labels and their points, for remote references. A label whose point no process can be
    /// at has none.
    pub labels: Vec<(Arc<str>, Option<PointId>)>,
    /// Statements that are at no point that can be reached, with their texts.
    pub unreachable: Vec<(TokenSpan, Arc<str>)>,
}

impl Automaton {
    /// A point.
    pub fn point(&self, id: PointId) -> &Point {
        &self.points[id.index()]
    }

    /// The point of a label.
    pub fn label(&self, name: &str) -> Option<PointId> {
        let found = self.labels.iter().find(|(label, _)| &**label == name);
        found.and_then(|(_, point)| *point)
    }
}

/// A place where a process can be.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// What it can do here, escapes first.
    pub edges: Vec<Edge>,
    /// Whether a label that begins with `end` is here, so that a process may stay forever.
    pub is_end: bool,
    /// Whether a label that begins with `progress` is here.
    pub is_progress: bool,
    /// Whether a label that begins with `accept` is here.
    pub is_accept: bool,
    /// Whether it lies inside a `d_step`.
    pub in_dstep: bool,
    /// The statement that the point stands before.
    pub span: TokenSpan,
}

/// A step.
#[derive(Debug, Clone)]
pub struct Edge {
    /// The statement.
    pub action: Action,
    /// Where it leads.
    pub target: PointId,
    /// Whether the step stays inside an `atomic`: the process then keeps control as long as an
    /// edge of the target is executable.
    pub keeps_control: bool,
    /// Whether this is a jump behind a statement of an `atomic`, which is an edge only because it
    /// leaves that: it costs nothing.
    pub is_free: bool,
    /// The `unless` whose escape this is. If an edge of an escape is executable, then only edges
    /// of that same escape are, and no edge listed after them. Outer escapes come before inner
    /// ones.
    pub escape: Option<u32>,
    /// The statement as text, after expansion of macros and `inline`s.
    pub text: Arc<str>,
    /// Where it was written.
    pub span: TokenSpan,
}
