//! What directs the search of a model: an estimate, which is derived from the program when the model
//! is loaded.

use hadal_heuristics::{Chosen, Parsed, Question, add_estimate};
use hadal_ir::interp::{Interpreter, Item, Limits};
use hadal_ir::{Measure, Program};
use hadal_model::MeasureKind;
use hadal_symmetry::order::{Order, Rejection};
use serde::{Deserialize, Serialize};

use crate::{Error, ModelSource};

/// What a search is directed by, and toward what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directed {
    /// As the user names it.
    heuristic: String,
    /// Whether the search looks for deadlocks.
    deadlocks: bool,
}

impl Directed {
    /// By a heuristic such as `auto` or `active,expr:EXPR`; `deadlocks` says whether the search looks
    /// for them.
    pub fn new(heuristic: &str, deadlocks: bool) -> Result<Self, Error> {
        let parsed = Parsed::new(heuristic).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Directed {
            heuristic: parsed.text(),
            deadlocks,
        })
    }

    fn parsed(&self) -> Result<Parsed, Error> {
        Parsed::new(&self.heuristic).map_err(|error| Error::Invalid(error.to_string()))
    }

    /// The expressions in the heuristic.
    pub(crate) fn expressions(&self) -> Result<Vec<String>, Error> {
        Ok(self.parsed()?.expressions)
    }

    /// Adds the estimate to the program of `source`.
    pub(crate) fn add_to(
        &self,
        program: &mut Program,
        expressions: &[Measure],
        source: &ModelSource,
    ) -> Result<Chosen, Error> {
        let question = Question {
            parsed: &self.parsed()?,
            expressions,
            target: None,
            deadlocks: self.deadlocks,
            has_processes: source.language.has_processes(),
            own_costs: source.cost_text().is_none(),
        };
        add_estimate(program, &question).map_err(|error| Error::Invalid(error.to_string()))
    }
}

/// Why expressions of the user, which have values of one state, may have others at the states that
/// differ from it by a renaming of interchangeable elements.
pub(crate) fn asymmetries(
    program: &Program,
    expressions: &[Measure],
    limits: Limits,
) -> Vec<Rejection> {
    let costs = program.measures.iter();
    let costs = costs.filter(|measure| measure.kind == MeasureKind::Cost);
    let all = expressions.iter().chain(costs);
    let rejections = all.flat_map(|measure| {
        let mut alone = program.clone();
        alone.measures = vec![measure.clone()];
        let interpreter = Interpreter::new(alone, limits);
        let found = Order::of_expression(&interpreter, Item::Measure(0));
        found.err().unwrap_or_default()
    });
    rejections.collect()
}
