//! Estimates that direct a search: how much a run from a state to a violation still costs, derived
//! from the program and added to it as a [measure](hadal_ir::Measure), which interpreter and native
//! code evaluate like a guard.
//!
//! - [`request`]: what the user asks for, from its text.
//! - [`active`], [`formula`], [`blocked`], [`hamming`]: the estimates.
//! - [`distance`], [`counts`]: conditions as numbers; [`safe`]: when they can be evaluated.
//! - [`control`]: the values that rules move variables through.
//! - [`agents`], [`rules`]: who acts, and loops over instances; [`stuttering`]: when a rule does nothing.
//! - [`builder`], [`copy`]: expressions and statements of the measure.
//!
//! A search uses an estimate whatever it is: only which run is found first depends on it. Whether it
//! is never too high is said where that is proved.

mod active;
mod agents;
mod blocked;
mod builder;
mod control;
mod copy;
mod counts;
mod distance;
mod formula;
mod hamming;
mod request;
mod rules;
mod safe;
mod stuttering;

use hadal_ir::stmt::Block;
use hadal_ir::{Measure, Program};
use hadal_model::MeasureKind;

use agents::Agents;
use builder::{Builder, Combine};
use control::ControlGraphs;
use copy::Copier;
use distance::{Distance, Measuring};
use formula::Aims;

pub use hamming::TargetLeaf;
pub use request::{Derived, Parsed, Request, RequestError, Term};

/// What counts as a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlocks {
    /// Nothing does.
    None,
    /// That no rule is enabled.
    Disabled,
    /// That no rule leads to another state.
    Stuttering,
}

/// What an estimate is derived for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What is asked for.
    pub parsed: &'a Parsed,
    /// The expressions in it, as measures of the program that are not added to it yet.
    pub expressions: &'a [Measure],
    /// The state that `hamming` aims at.
    pub target: Option<&'a [TargetLeaf]>,
    /// What deadlocks the search looks for.
    pub deadlocks: Deadlocks,
    /// Whether the first equation of each rule is about the control point of a process.
    pub has_processes: bool,
    /// Whether steps cost what rules say, and not what an expression does.
    pub own_costs: bool,
}

/// The estimate that was added to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What it is called; for `auto`, what was chosen.
    pub name: String,
    /// Why, where the user left the choice.
    pub why: Option<String>,
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    /// It needs an invariant, an assertion or a goal.
    #[error(
        "the heuristic `{}` needs an invariant, an assertion or a goal, and there is none: say what \
         to look for with --goal",
        .0.name()
    )]
    NoAim(Derived),
    /// It is to lead to the violation of a property that there is not.
    #[error(
        "the heuristic `{}:{name}` needs an invariant or assertion of that name; there are {}",
        derived.name(), known.join(", ")
    )]
    NoSuchAim {
        /// The estimate.
        derived: Derived,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// It needs a search for deadlocks.
    #[error(
        "the heuristic `{}` leads to deadlocks, which this search does not look for", .0.name()
    )]
    NoDeadlocks(Derived),
    /// It needs a state.
    #[error("the heuristic `hamming` needs a state to aim at: give it with --target FILE")]
    NoTarget,
}

/// Adds the estimate that is asked for to a verified program.
pub fn add_estimate(
    program: &mut Program,
    question: &Question<'_>,
) -> Result<Chosen, EstimateError> {
    let stutters = question.deadlocks == Deadlocks::Stuttering;
    let guards = stutters.then(|| stuttering::narrow(program));
    let derived = derive(program, question);
    if let Some(guards) = guards {
        guards.restore(program);
    }
    let (measure, chosen) = derived?;
    program.measures.push(measure);
    Ok(chosen)
}

/// The estimate, whose expressions are added to the program.
fn derive(
    program: &mut Program,
    question: &Question<'_>,
) -> Result<(Measure, Chosen), EstimateError> {
    let aims = Aims::of(program);
    let (terms, why) = match &question.parsed.request {
        Request::Maximum(terms) => (terms.clone(), None),
        Request::Auto => {
            let (terms, why) = choose(&aims, question);
            (terms, Some(why.to_owned()))
        }
    };
    let agents = Agents::of(program, question.has_processes);
    let control = ControlGraphs::of(program, &agents::processes(&agents));
    let aims = match &question.parsed.request {
        Request::Auto => aims.telling(program, &control),
        Request::Maximum(_) => aims,
    };
    let mut derivation = Derivation {
        question,
        aims,
        agents,
        control,
        builder: Builder::new(program),
        is_admissible: question.own_costs,
    };
    let mut body = Block::new();
    let distance = derivation.together(&mut body, &terms, Combine::Maximum, false)?;
    let Derivation {
        mut builder,
        is_admissible,
        ..
    } = derivation;
    let value = match distance {
        Distance::Zero => builder.int(0),
        Distance::Never => builder.int(builder.far),
        Distance::Number(number) => number,
    };
    let is_admissible = is_admissible && !builder.counts_quantities;
    let name = match &question.parsed.request {
        Request::Auto => Parsed {
            request: Request::Maximum(terms),
            expressions: Vec::new(),
        }
        .text(),
        Request::Maximum(_) => question.parsed.text(),
    };
    let name = match name.is_empty() {
        true => "none".to_owned(),
        false => name,
    };
    let (frame, site) = (builder.frame, builder.site);
    // A state whose guard or property faults is a violation itself. Expressions of the user are
    // expected to have a value.
    let is_zero_at_faults = question.expressions.is_empty();
    let measure = Measure {
        kind: MeasureKind::Estimate { is_admissible },
        name: name.clone(),
        frame,
        body,
        value,
        is_zero_at_faults,
        site,
    };
    Ok((measure, Chosen { name, why }))
}

/// What suits a search, and why.
fn choose(aims: &Aims, question: &Question<'_>) -> (Vec<Term>, &'static str) {
    let sum = |derived| vec![Term::Sum(vec![Term::Derived(derived, None)])];
    match (aims.is_empty(), question.deadlocks != Deadlocks::None) {
        (false, true) => (
            sum(Derived::Formula),
            "it leads to violated invariants and assertions; `active` or `blocked` leads to \
             deadlocks",
        ),
        (false, false) => (sum(Derived::Formula), "it leads to what is looked for"),
        (true, true) => (
            vec![Term::Derived(Derived::Active, None)],
            "there is nothing to be violated but deadlocks",
        ),
        (true, false) => (Vec::new(), "there is nothing to look for"),
    }
}

/// An estimate on its way.
struct Derivation<'p, 'a> {
    question: &'a Question<'a>,
    aims: Aims,
    agents: Vec<Agents>,
    control: ControlGraphs,
    builder: Builder<'p>,
    /// Whether all terms so far are never too high.
    is_admissible: bool,
}

impl Derivation<'_, '_> {
    /// Several terms as one; what is derived `in_sum` adds up its parts.
    fn together(
        &mut self,
        block: &mut Block,
        terms: &[Term],
        combine: Combine,
        in_sum: bool,
    ) -> Result<Distance, EstimateError> {
        let mut distances = Vec::new();
        for term in terms {
            let distance = self.term(block, term, in_sum)?;
            // An expression of the user may be larger than numbers that are put together.
            distances.push(match distance {
                Distance::Number(number) if terms.len() > 1 => {
                    Distance::Number(self.builder.limited(number))
                }
                distance => distance,
            });
        }
        Ok(self.builder.combined(block, combine, &distances))
    }

    fn term(
        &mut self,
        block: &mut Block,
        term: &Term,
        in_sum: bool,
    ) -> Result<Distance, EstimateError> {
        let (derived, name) = match term {
            Term::Sum(terms) => {
                self.is_admissible = false;
                return self.together(block, terms, Combine::Sum, true);
            }
            Term::Expression(number) => {
                self.is_admissible = false;
                return Ok(self.expression(block, *number));
            }
            Term::Derived(derived, name) => (*derived, name),
        };
        let question = self.question;
        let measuring = Measuring {
            conjunction: match in_sum {
                true => Combine::Sum,
                false => Combine::Maximum,
            },
            control: &self.control,
            only_control: derived == Derived::Control,
        };
        match derived {
            Derived::Active | Derived::Blocked if question.deadlocks == Deadlocks::None => {
                Err(EstimateError::NoDeadlocks(derived))
            }
            Derived::Formula | Derived::Control if self.aims.is_empty() => {
                Err(EstimateError::NoAim(derived))
            }
            Derived::Active => {
                self.is_admissible = false;
                Ok(self.builder.active(block, &self.agents))
            }
            Derived::Blocked => {
                self.is_admissible = false;
                Ok(self.builder.blocked(block, &self.control, &self.agents))
            }
            Derived::Formula | Derived::Control => match name {
                None => Ok(self.builder.formula(block, measuring, &self.aims)),
                Some(name) => {
                    let named = self.aims.named(self.builder.program, name);
                    let aims = named.map_err(|known| EstimateError::NoSuchAim {
                        derived,
                        name: name.clone(),
                        known,
                    })?;
                    // Another invariant may be violated by a cheaper run.
                    self.is_admissible &= aims.invariants == self.aims.invariants;
                    Ok(self.builder.formula(block, measuring, &aims))
                }
            },
            Derived::Hamming => {
                self.is_admissible = false;
                let target = question.target.ok_or(EstimateError::NoTarget)?;
                Ok(self.builder.hamming(block, target))
            }
        }
    }

    /// An expression of the user. A value that is negative or too large is reported when it is stored
    /// or returned.
    fn expression(&mut self, block: &mut Block, number: usize) -> Distance {
        let measure = &self.question.expressions[number];
        let mut copier = Copier::new(&measure.frame);
        let builder = &mut self.builder;
        let body = copier.block(builder.program, &mut builder.frame, &measure.body);
        block.extend(body);
        Distance::Number(builder.copied(&mut copier, measure.value))
    }
}
