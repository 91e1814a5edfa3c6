//! What directs the search of a model: an estimate, which is derived from the program when the model
//! is loaded.

use hadal_heuristics::{
    Chosen, Deadlocks, Derived, Parsed, Question, Request, TargetLeaf, Term, add_estimate,
};
use hadal_ir::interp::{Interpreter, Item, Limits};
use hadal_ir::{Measure, Program};
use hadal_model::MeasureKind;
use hadal_search::Deadlock;
use hadal_symmetry::order::{Order, Rejection};
use serde::{Deserialize, Serialize};

use crate::language::Naming;
use crate::{Error, ModelSource, names};

/// What a search is directed by, and toward what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directed {
    /// As the user names it.
    heuristic: String,
    /// What deadlocks the search looks for.
    #[serde(with = "names")]
    deadlock: Deadlock,
}

impl Directed {
    /// By a heuristic such as `auto` or `active,expr:EXPR`, in a search for such deadlocks.
    pub fn new(heuristic: &str, deadlock: Deadlock) -> Result<Self, Error> {
        let parsed = Parsed::new(heuristic).map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Directed {
            heuristic: parsed.text(),
            deadlock,
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

    /// The estimate of a graph, of which nothing is known but whether its goal holds: what it is called
    /// and why, and whether it is by the goal.
    pub(crate) fn of_graph(&self, has_goal: bool) -> Result<(Chosen, bool), Error> {
        let parsed = self.parsed()?;
        let formula = Term::Derived(Derived::Formula, None);
        let named = |name: &str, why: Option<&str>| Chosen {
            name: name.to_owned(),
            why: why.map(str::to_owned),
        };
        match &parsed.request {
            Request::Auto => {
                let why = "of a graph nothing is known that would lead anywhere";
                Ok((named("none", Some(why)), false))
            }
            Request::Maximum(terms) if *terms == [formula] && has_goal => {
                Ok((named(Derived::Formula.name(), None), true))
            }
            Request::Maximum(_) => Err(Error::Invalid(format!(
                "a graph has no heuristic `{}`: it is `auto`, or `formula` with a --goal",
                parsed.text()
            ))),
        }
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
            deadlocks: match self.deadlock {
                Deadlock::Off => Deadlocks::None,
                Deadlock::Stuck | Deadlock::EndStates => Deadlocks::Disabled,
                Deadlock::Stuttering => Deadlocks::Stuttering,
            },
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
