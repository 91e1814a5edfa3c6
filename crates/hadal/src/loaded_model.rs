//! A model that is ready to be searched.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use hadal_heuristics::Chosen;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::{Param, ParamDomain, Program, Rule, SimpleKind, UnionPart};
use hadal_jit::{Budget, Native};
use hadal_lts::GraphModel;
use hadal_model::{FaultKind, Model};
use hadal_search::{Outcome, Reason, Verdict, Violation, ViolationKind};
use hadal_steps::Steps;
use hadal_symmetry::Symmetric;
use hadal_symmetry::order::Order;
use hadal_syntax::Diagnostic;

use crate::claims::LoadedClaim;
use crate::directed;
use crate::goal_model::GoalModel;
use crate::graph_model::SharedGraph;
use crate::language::graph::{self, NotOpened, Opened};
use crate::language::{Naming, Problems, Statement};
use crate::load_limits::Loading;
use crate::named_model::{NamedModel, WholeModel};
use crate::order::{self, OrderReport};
use crate::{Engine, Error, ModelSource, Rejection, Symmetry};

/// A model, translated, verified and compiled; see [`ModelSource::load`].
pub struct LoadedModel {
    /// Where it comes from, with the texts of all its files.
    pub source: ModelSource,
    /// The model itself.
    pub model: Box<dyn Model>,
    /// What is suspect in its texts.
    pub warnings: Vec<Diagnostic>,
    /// The scalarsets that are reduced, e.g. `Proc(7): 5,040 permutations`.
    pub symmetry: Option<String>,
    /// How results of loops were found to be independent of the order of iterations; `None` where
    /// nothing is reduced.
    pub order: Option<OrderReport>,
    /// Rules, startstates, properties and functions that are interpreted although native code was
    /// asked for, because they are too large for it or for the memory that is left, e.g.
    /// `rule "grant"`.
    pub interpreted: Vec<String>,
    /// The estimate that directs the search, if one does.
    pub estimate: Option<Chosen>,
    /// Final values of the model's global constants.
    pub constants: Vec<(String, String)>,
    /// What the model asks about whole runs.
    pub claims: Vec<LoadedClaim>,
    /// What it has besides and was not asked for, by name.
    pub not_asked: Vec<String>,
    /// How states and steps are called, where that is not as in the program.
    pub(crate) naming: Option<Arc<dyn Naming>>,
    /// By rule, the positions of parameters that stand for elements which a reduction renames; empty
    /// where nothing is reduced.
    pub(crate) symmetric_parameters: Vec<Vec<usize>>,
    /// Whether a step may consist of several firings.
    pub(crate) has_compound_steps: bool,
    /// What its texts have that is executed, where that is not a rule for each.
    statements: Option<Vec<Statement>>,
    /// The source with more room for processes, where their number is a guess.
    wider: Option<ModelSource>,
    /// The graph, where the model is one.
    graph: Option<LoadedGraph>,
    /// Seconds to translate the texts.
    pub load_seconds: f64,
    /// Seconds to make it executable.
    pub compile_seconds: f64,
}

/// A model that is a graph.
struct LoadedGraph {
    model: Arc<GraphModel>,
    /// Memory that its cache may come to hold.
    cache_bytes: u64,
}

impl fmt::Debug for LoadedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("LoadedModel");
        out.field("name", &self.source.name());
        out.field("constants", &self.constants)
            .finish_non_exhaustive()
    }
}

impl LoadedModel {
    /// The model in which a rule of this name fires: the product with a claim, for a rule of that
    /// claim.
    pub fn model_of(&self, rule: &str) -> &dyn Model {
        let claim = self.claims.iter().find(|claim| claim.has_rule(rule));
        let product = claim.and_then(|claim| claim.product.as_deref());
        product.unwrap_or(&*self.model)
    }

    /// The same with nothing but the model that [`model_of`](Self::model_of) names, changed by `map`.
    pub(crate) fn map_model_of(
        self,
        rule: &str,
        map: impl FnOnce(Box<dyn Model>) -> Box<dyn Model>,
    ) -> Self {
        let mut claims = self.claims;
        let product = claims
            .iter_mut()
            .find(|claim| claim.has_rule(rule))
            .and_then(|claim| claim.product.take());
        LoadedModel {
            model: map(product.unwrap_or(self.model)),
            claims: Vec::new(),
            ..self
        }
    }

    /// The statements of its texts that no rule has executed, where rules have fired this often;
    /// `None` for a language whose rules are its statements.
    pub fn never_executed(&self, fired_by_rule: &[u64]) -> Option<Vec<&Statement>> {
        let has_fired = |rule: &u32| fired_by_rule[*rule as usize] > 0;
        let statements = self.statements.as_ref()?.iter();
        let never = statements.filter(|statement| !statement.rules.iter().any(has_fired));
        Some(never.collect())
    }

    /// The source to start over with, if a search with this `outcome` met more processes than
    /// states of this model have room for.
    pub fn wider(&self, outcome: &Outcome) -> Option<&ModelSource> {
        let wider = self.wider.as_ref()?;
        outcome.violations.iter().any(is_limit).then_some(wider)
    }

    /// Drops what a search that was stopped found out about the room for processes, where that is a
    /// guess: it is not started over, and the model does nothing wrong.
    pub(crate) fn drop_guesses(&self, outcome: &mut Outcome) {
        let was_stopped = !matches!(
            outcome.reason,
            None | Some(Reason::Bound | Reason::Unchecked | Reason::Liveness)
        );
        if self.wider(outcome).is_none() || !was_stopped {
            return;
        }
        outcome.violations.retain(|violation| !is_limit(violation));
        outcome.verdict = match outcome.violations.is_empty() {
            true => Verdict::Incomplete,
            false => Verdict::Violated,
        };
    }

    /// The graph, where the model is one.
    pub fn graph(&self) -> Option<&Arc<GraphModel>> {
        self.graph.as_ref().map(|graph| &graph.model)
    }

    /// Why the model could not be read in the middle of a search, if it is a graph and that was so.
    /// Whatever the search has found is then not to be trusted.
    pub fn failure(&self) -> Option<Error> {
        let error = self.graph()?.failure()?;
        Some(Error::Graph {
            name: self.source.name().to_owned(),
            error: error.to_string(),
        })
    }

    /// Memory that the model may come to hold while it is searched.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.graph.as_ref().map_or(0, |graph| graph.cache_bytes)
    }

    /// A model that is a graph.
    fn of_graph(mut source: ModelSource, loading: &Loading) -> Result<Self, Error> {
        let started = Instant::now();
        let opened = graph::open(&mut source, loading.memory(), &loading.stop);
        loading.check()?;
        let Opened { model, cache_bytes } = opened.map_err(|error| match error {
            NotOpened::Problems(problems) => reject(&source, problems),
            NotOpened::Error(error) => error,
        })?;
        let directed = source.directed.as_ref();
        let has_goal = source.goal_text().is_some();
        let estimate = directed.map(|directed| directed.of_graph(has_goal));
        let estimate = estimate.transpose()?;
        let model = match &estimate {
            Some((chosen, by_goal)) => model.estimating(&chosen.name, *by_goal),
            None => model,
        };
        let model = Arc::new(model);
        Ok(LoadedModel {
            source,
            model: Box::new(SharedGraph(model.clone())),
            warnings: Vec::new(),
            symmetry: None,
            order: None,
            interpreted: Vec::new(),
            estimate: estimate.map(|(chosen, _)| chosen),
            constants: Vec::new(),
            claims: Vec::new(),
            not_asked: Vec::new(),
            naming: None,
            symmetric_parameters: Vec::new(),
            has_compound_steps: false,
            statements: None,
            wider: None,
            graph: Some(LoadedGraph { model, cache_bytes }),
            load_seconds: started.elapsed().as_secs_f64(),
            compile_seconds: 0.0,
        })
    }

    pub(crate) fn new(mut source: ModelSource, loading: &Loading) -> Result<Self, Error> {
        source.options.check(source.language)?;
        if source.language.is_graph() {
            return Self::of_graph(source, loading);
        }
        let started = Instant::now();
        if let Some(directed) = &source.directed {
            let expressions = directed.expressions()?;
            source = source.estimate_expressions(expressions);
        }
        let translated =
            source
                .language
                .translate(&mut source.sources, &source.options, &loading.stop);
        loading.check()?;
        let mut translation = match translated {
            Ok(translation) => translation,
            Err(problems) => return Err(reject(&source, problems)),
        };
        let has_goal = source.goal_text().is_some();
        if has_goal {
            let last = translation.program.properties.len().checked_sub(1);
            let no_goal = || Error::Internal("the translated model has no goal".to_owned());
            // What estimates call is called by conditions, as what goals call is.
            let measures = &mut translation.program.measures;
            let n_measures = measures.len();
            measures.extend(translation.estimates.iter().cloned());
            translation.program.seek(last.ok_or_else(no_goal)?);
            translation.program.measures.truncate(n_measures);
            translation.claims.clear();
            translation.not_asked.clear();
        }
        let reduces = source.symmetry == Symmetry::Full;
        if reduces && !translation.symmetry_breaks.is_empty() {
            let (warnings, breaks) = (translation.warnings, translation.symmetry_breaks);
            return Err(reject_for(&source, warnings, breaks));
        }
        let mut program = translation.program;
        verify(&program)?;
        let limits = limits(translation.loop_limit, source.call_limit);
        if reduces {
            let rejections = directed::asymmetries(&program, &translation.estimates, limits);
            if !rejections.is_empty() {
                let errors = order::diagnostics(&source.sources, &program, &rejections);
                return Err(reject_for(&source, translation.warnings, errors));
            }
        }
        let estimate = match &source.directed {
            Some(directed) => {
                let (estimates, naming) = (&translation.estimates, translation.naming.as_deref());
                let chosen = directed.add_to(&mut program, estimates, &source, naming)?;
                verify(&program)?;
                Some(chosen)
            }
            None => None,
        };
        let products = translation
            .claims
            .iter()
            .filter_map(|it| it.product.as_ref());
        products
            .into_iter()
            .try_for_each(|product| verify(&product.program))?;
        loading.check()?;
        let load_seconds = started.elapsed().as_secs_f64();

        let started = Instant::now();
        // The analysis of order knows single firings only.
        let reduces = reduces
            && program.n_registers == 0
            && program.types.scalarsets.iter().any(|set| set.size > 1);
        let kept = reduces.then(|| program.clone());
        let has_compound_steps = program.n_registers > 0;
        loading.check()?;
        let interpreter = Interpreter::new(program, limits);
        loading.check()?;
        let order = match reduces {
            true => Order::of(&interpreter),
            false => Order::default(),
        };
        loading.check()?;
        if !order.rejections.is_empty() {
            let program = interpreter.program();
            let errors = order::diagnostics(&source.sources, program, &order.rejections);
            return Err(reject_for(&source, translation.warnings, errors));
        }
        let report = OrderReport::of(&order, interpreter.program(), &source.sources);
        let mut interpreted = Vec::new();
        let naming = translation.naming.clone();
        let engine = source.engine;
        let model = executable(interpreter, naming, engine, loading, &mut interpreted)?;
        let (mut claims, mut properties) = (Vec::new(), Vec::new());
        for claim in translation.claims {
            let product = match claim.product {
                Some(product) => {
                    let interpreter = Interpreter::new(product.program, limits);
                    let naming = Some(product.naming.clone());
                    let model = executable(interpreter, naming, engine, loading, &mut Vec::new())?;
                    let whole = WholeModel::new(model, product.naming, Vec::new());
                    Some(Box::new(whole) as Box<dyn Model>)
                }
                None => None,
            };
            claims.push(LoadedClaim {
                name: claim.property.name.clone(),
                property: model.shape().properties.len() + properties.len(),
                open: claim.open,
                product,
            });
            properties.push(claim.property);
        }
        let model = match translation.naming.clone() {
            Some(naming) => Box::new(WholeModel::new(model, naming, properties)),
            None => model,
        };
        let wider = translation.wider.map(|(name, value)| {
            let mut wider = source.clone();
            wider.options.replace(name, value);
            wider
        });
        let mut loaded = LoadedModel {
            source,
            claims,
            not_asked: translation.not_asked,
            naming: translation.naming,
            symmetric_parameters: kept.as_ref().map(symmetric_parameters).unwrap_or_default(),
            has_compound_steps,
            statements: translation.statements,
            wider,
            graph: None,
            model,
            warnings: translation.warnings,
            symmetry: None,
            order: None,
            interpreted,
            estimate,
            constants: translation.constants,
            load_seconds,
            compile_seconds: 0.0,
        };
        if let Some(program) = kept {
            let symmetric = Symmetric::new(loaded.model, &program, limits, &order);
            let symmetric = symmetric.map_err(|_| {
                Error::Internal("a model that was accepted cannot be reduced".to_owned())
            })?;
            loaded.symmetry = Some(symmetric.canonicaliser().describe().to_string());
            loaded.order = Some(report.counting(symmetric.checked_states()));
            loaded.model = Box::new(symmetric);
        }
        if has_goal {
            loaded.model = Box::new(GoalModel::new(loaded.model));
        }
        loading.check()?;
        loaded.compile_seconds = started.elapsed().as_secs_f64();
        Ok(loaded)
    }
}

/// Whether states had no room for one more process.
fn is_limit(violation: &Violation) -> bool {
    violation.kind == ViolationKind::Fault(FaultKind::ProcessLimit)
}

/// By rule, the positions of parameters whose values are names of interchangeable elements, or slots,
/// whose elements depend on such names.
fn symmetric_parameters(program: &Program) -> Vec<Vec<usize>> {
    let is_symmetric = |param: &Param| match &param.domain {
        ParamDomain::Type(of_type) => match program.types.simple(*of_type).map(|it| &it.kind) {
            Some(SimpleKind::Scalarset(_)) => true,
            Some(SimpleKind::Union(parts)) => parts
                .iter()
                .any(|part| matches!(part, UnionPart::Scalarset(_))),
            _ => false,
        },
        ParamDomain::Span { .. } => false,
        ParamDomain::Slots { .. } => true,
    };
    let of_rule = |rule: &Rule| {
        let params = rule.params.iter().enumerate();
        let symmetric = params.filter(|(_, param)| is_symmetric(param));
        symmetric.map(|(position, _)| position).collect()
    };
    program.rules.iter().map(of_rule).collect()
}

fn verify(program: &Program) -> Result<(), Error> {
    hadal_ir::verify::verify(program).map_err(|errors| {
        let first = errors.first().map_or(String::new(), ToString::to_string);
        Error::Internal(format!(
            "the translated model is malformed ({first}); please report this with the model"
        ))
    })
}

/// A model that an engine executes; `interpreted` gets what is too large for native code.
fn executable(
    interpreter: Interpreter,
    naming: Option<Arc<dyn Naming>>,
    engine: Engine,
    loading: &Loading,
    interpreted: &mut Vec<String>,
) -> Result<Box<dyn Model>, Error> {
    let model: Box<dyn Model> = match engine {
        Engine::Native => {
            let native = compile(interpreter, loading)?;
            interpreted.extend_from_slice(native.left_out());
            Box::new(native)
        }
        Engine::Interpreter => Box::new(interpreter),
    };
    let model: Box<dyn Model> = match naming {
        Some(naming) => Box::new(NamedModel {
            inner: model,
            naming,
        }),
        None => model,
    };
    // Only a model with registers has steps of several firings.
    Ok(match model.shape().register_bits {
        0 => model,
        _ => Box::new(Steps::new(model)),
    })
}

/// Native code for a program, as far as there is memory for it.
fn compile(interpreter: Interpreter, loading: &Loading) -> Result<Native, Error> {
    let budget = Budget {
        most_nodes: Budget::MOST_NODES,
        room: &|| loading.room(),
    };
    // A thread of the compiler takes its whole stack at once.
    loading.require_space(Native::COMPILER_STACK as u64)?;
    let native = Native::within(interpreter, budget, &loading.stop);
    loading.check()?;
    native.map_err(|error| match error {
        hadal_jit::Error::Thread(error) => Error::Thread(error),
        error => Error::Invalid(error.to_string()),
    })
}

/// Stack of a worker for each level of recursion. Generous: a level takes one frame for each level
/// of nesting of the expressions around the call.
const STACK_BYTES_PER_CALL: usize = 64 << 10;

/// What a thread's stack holds besides calls of the model.
const STACK_RESERVE_BYTES: usize = 4 << 20;

/// The limits of evaluation, with a stack that suffices for them.
fn limits(loop_limit: Option<u64>, call_limit: u32) -> Limits {
    Limits {
        loop_rounds: loop_limit.unwrap_or(u64::MAX),
        call_depth: call_limit,
        stack_bytes: (call_limit as usize * STACK_BYTES_PER_CALL).clamp(16 << 20, 4 << 30),
    }
}

/// Stack of a thread that expands states of a model with this limit on recursion. For the program.
#[doc(hidden)]
pub fn stack_bytes(call_limit: u32) -> usize {
    limits(None, call_limit).stack_bytes + STACK_RESERVE_BYTES
}

/// Rejects a model that was translated.
fn reject_for(source: &ModelSource, warnings: Vec<Diagnostic>, errors: Vec<Diagnostic>) -> Error {
    Error::Rejected(Box::new(Rejection {
        sources: source.sources.clone(),
        warnings,
        diagnostics: errors,
        messages: Vec::new(),
    }))
}

fn reject(source: &ModelSource, problems: Problems) -> Error {
    Error::Rejected(Box::new(Rejection {
        sources: source.sources.clone(),
        warnings: Vec::new(),
        diagnostics: problems.diagnostics,
        messages: problems.messages,
    }))
}
