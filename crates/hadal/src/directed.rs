//! What directs the search of a model: an estimate, which is derived from the program when the model
//! is loaded.

use hadal_heuristics::{Chosen, Derived, Parsed, Question, TargetLeaf, add_estimate};
use hadal_ir::interp::{Interpreter, Item, Limits};
use hadal_ir::{Measure, Program};
use hadal_model::MeasureKind;
use hadal_symmetry::order::{Order, Rejection};
use serde::{Deserialize, Serialize};

use crate::language::Naming;
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

    /// Whether the estimate depends on a state that is given.
    pub fn needs_target(&self) -> bool {
        self.parsed()
            .is_ok_and(|parsed| parsed.mentions(Derived::Hamming))
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
        naming: Option<&dyn Naming>,
    ) -> Result<Chosen, Error> {
        let target = source.target_text()?;
        let target = target.map(|text| text.resolve(program, naming));
        let target: Option<Vec<TargetLeaf>> = target.transpose()?.map(|target| {
            let leaves = target.leaves.into_iter();
            leaves.map(|it| (it.leaf, it.value)).collect()
        });
        let question = Question {
            parsed: &self.parsed()?,
            expressions,
            target: target.as_deref(),
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
