//! What may be looked for in a graph: a state by its number, or by the labels of its edges.

use crate::Error;
use crate::hlts::Walker;

/// A condition on a state of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The number of the state relates so to another one.
    State(Relation, u64),
    /// Some edge with this label leaves the state.
    Enabled(u32),
    /// The condition does not hold.
    Not(Box<Goal>),
    /// All hold.
    All(Vec<Goal>),
    /// At least one holds.
    Any(Vec<Goal>),
}

/// How the number of a state relates to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Relation {
    fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::Less => left < right,
            Relation::AtMost => left <= right,
            Relation::Greater => left > right,
            Relation::AtLeast => left >= right,
        }
    }
}

/// Labels of the edges of one state, read once however often a goal asks.
#[derive(Debug, Default)]
pub(crate) struct LabelsThere {
    state: Option<u64>,
    /// Each once, in ascending order.
    labels: Vec<u32>,
}

impl LabelsThere {
    fn read(&mut self, state: u64, walker: &mut Walker<'_>) -> Result<&[u32], Error> {
        if self.state != Some(state) {
            self.state = None;
            self.labels.clear();
            let mut place = walker.first(state)?;
            let mut n_sorted = 0;
            while let Some(edge) = walker.next(state, &mut place)? {
                self.labels.push(edge.label);
                // Edges may be many more than labels.
                if self.labels.len() >= 2 * n_sorted + 1024 {
                    self.settle();
                    n_sorted = self.labels.len();
                }
            }
            self.settle();
            self.state = Some(state);
        }
        Ok(&self.labels)
    }

    fn settle(&mut self) {
        self.labels.sort_unstable();
        self.labels.dedup();
    }
}

impl Goal {
    /// Whether it holds in a state.
    pub(crate) fn holds(
        &self,
        state: u64,
        walker: &mut Walker<'_>,
        labels: &mut LabelsThere,
    ) -> Result<bool, Error> {
        match self {
            Goal::State(comparison, number) => Ok(comparison.holds(state, *number)),
            Goal::Enabled(label) => Ok(labels.read(state, walker)?.binary_search(label).is_ok()),
            Goal::Not(inner) => Ok(!inner.holds(state, walker, labels)?),
            Goal::All(parts) => {
                for part in parts {
                    if !part.holds(state, walker, labels)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Goal::Any(parts) => {
                for part in parts {
                    if part.holds(state, walker, labels)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}
