//! The checker: a syntax tree to a [`Program`].
//!
//! Declarations of the top level are resolved first, whatever their order; local names are
//! resolved in the order of the text, because an inner declaration hides an outer one from there
//! on. Every mistake is reported and the pass goes on with a plausible value, so that one run
//! shows them all. A program is returned only if there was no error.

mod decls;
mod exprs;
mod runs;
mod scope;
mod stmts;

use std::sync::Arc;

use hadal_syntax::{Diagnostic, Diagnostics, OutsideRole, Source};
use rustc_hash::FxHashMap;

use self::scope::{Scopes, Struct};
use crate::ast;
use crate::automaton::{Automaton, Built, MAX_EDGES, Node, PointId, build};
use crate::claims::problem_in;
use crate::parser::{Parsed, parse};
use crate::preprocess::{Options, Reader};
use crate::program::{
    ChannelType, Claim, Expr, Formula, MtypeSet, NamedFormula, OutsideExpr, Proctype, Program,
    Variable,
};
use crate::text::{Text, TokenSpan};

/// Number of processes, and of channels, that can exist at a time.
pub const MAX_INSTANCES: usize = 255;

/// The result of compiling a model.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The program, if there was no error.
    pub program: Option<Program>,
    /// The text that positions address.
    pub text: Text,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Preprocesses, parses and checks a model. It never fails.
pub fn compile(root: Source, options: &Options, read: &mut Reader<'_>) -> Compiled {
    let parsed = parse(root, options, read);
    check(parsed)
}

/// Checks a parsed model.
pub fn check(parsed: Parsed) -> Compiled {
    let Parsed {
        model,
        text,
        diagnostics,
    } = parsed;
    let mut diagnostics: Diagnostics = diagnostics.into_iter().collect();
    let parse_failed = diagnostics.has_errors();
    let mut checker = Checker {
        text: &text,
        diagnostics: Diagnostics::new(),
        mtypes: vec![MtypeSet {
            name: None,
            names: Vec::new(),
        }],
        mtype_names: FxHashMap::default(),
        structs: Vec::new(),
        struct_names: FxHashMap::default(),
        channels: Vec::new(),
        globals: Vec::new(),
        scopes: Scopes::default(),
        proctypes: FxHashMap::default(),
        params: Vec::new(),
        locals: Vec::new(),
        is_global_level: true,
        outlines: Vec::new(),
        remote_labels: Default::default(),
        written_chans: Default::default(),
        n_reads: Default::default(),
        used_chans: Vec::new(),
        uses_last: false,
        uses_priorities: false,
        labels: Vec::new(),
        gotos: Vec::new(),
        loop_labels: Vec::new(),
        n_loops: 0,
        in_claim: false,
        in_dstep: false,
    };
    let program = checker.model(&model);
    let found = std::mem::take(&mut checker.diagnostics);
    // What follows from text that could not be parsed would only distract.
    if !parse_failed {
        diagnostics.extend(found.into_vec());
    }
    diagnostics.sort();
    let has_errors = diagnostics.has_errors();
    let mut diagnostics = diagnostics.into_vec();
    // An argument of an `inline` may be wrong wherever it is used.
    diagnostics.dedup();
    Compiled {
        program: (!has_errors).then_some(program),
        text,
        diagnostics,
    }
}

struct Checker<'t> {
    text: &'t Text,
    diagnostics: Diagnostics,
    mtypes: Vec<MtypeSet>,
    /// Constants by name: the set and the value.
    mtype_names: FxHashMap<Arc<str>, (usize, u8)>,
    structs: Vec<Struct>,
    struct_names: FxHashMap<Arc<str>, usize>,
    channels: Vec<ChannelType>,
    globals: Vec<Variable>,
    scopes: Scopes,
    proctypes: FxHashMap<Arc<str>, usize>,
    /// Number of parameters of each process type, and its declaration.
    params: Vec<(usize, TokenSpan)>,
    /// The variables of the process type at hand.
    locals: Vec<Variable>,
    is_global_level: bool,
    /// What remote references may name, of each process type.
    outlines: Vec<Outline>,
    /// The labels that remote references name, with their process types.
    remote_labels: rustc_hash::FxHashSet<(usize, Arc<str>)>,
    /// Channel variables that get a value after their declaration.
    written_chans: rustc_hash::FxHashSet<(Option<usize>, usize)>,
    /// Number of uses of a global variable that may read it.
    n_reads: FxHashMap<usize, i32>,
    /// Uses of channel variables: process type, variable, and where.
    used_chans: Vec<(Option<usize>, usize, TokenSpan)>,
    uses_last: bool,
    uses_priorities: bool,
    /// Labels and jumps of the process type at hand.
    labels: Vec<ast::Name>,
    gotos: Vec<ast::Name>,
    /// Labels of loops that begin with an assignment.
    loop_labels: Vec<ast::Name>,
    n_loops: usize,
    in_claim: bool,
    in_dstep: bool,
}

/// What remote references may name in a process type.
struct Outline {
    labels: Vec<Arc<str>>,
    locals: Vec<Variable>,
}

impl Checker<'_> {
    fn error(&mut self, message: impl Into<String>, span: TokenSpan) {
        let error = self.text.error(message, span);
        self.diagnostics.push(error);
    }

    fn warn(&mut self, message: impl Into<String>, span: TokenSpan) {
        let warning = self.text.warning(message, span);
        self.diagnostics.push(warning);
    }

    fn model(&mut self, model: &ast::Model) -> Program {
        self.mtypes_of(model);
        self.proctype_names(model);
        for item in &model.items {
            match item {
                ast::Item::Typedef(it) => self.typedef(it),
                ast::Item::Decl(it) => {
                    self.globals(it);
                }
                _ => {}
            }
        }
        self.is_global_level = false;
        self.outlines = self.outlines_of(model);
        let mut proctypes = Vec::new();
        let mut initial = Vec::new();
        let mut claims = Vec::new();
        let mut formulas = Vec::new();
        let mut traces = Vec::new();
        for item in &model.items {
            match item {
                ast::Item::Proctype(it) => {
                    let idx = proctypes.len();
                    let n = self.n_active(it);
                    initial.extend(std::iter::repeat_n(idx, n));
                    proctypes.push(self.proctype(it, idx));
                }
                ast::Item::Never(it) => claims.push(self.never(it)),
                ast::Item::Ltl(it) => {
                    // No local name is visible.
                    self.begin_process(None);
                    self.in_claim = true;
                    let formula = self.formula(&it.formula);
                    self.in_claim = false;
                    formulas.push(NamedFormula {
                        name: it.name.as_ref().map(|it| it.text.clone()),
                        formula,
                        span: it.span,
                    });
                }
                ast::Item::Trace(it) => traces.push(it.span),
                _ => {}
            }
        }
        let outside = model.outside.as_ref();
        let outside = outside.map(|role, expr| self.outside(role, expr));
        if initial.is_empty() {
            let error = self
                .text
                .error("the model has no process", TokenSpan::new(0, 1))
                .help("declare `init { ... }` or an `active proctype`");
            self.diagnostics.push(error);
        }
        if initial.len() > MAX_INSTANCES {
            let message = format!("more than {MAX_INSTANCES} processes in the initial state");
            self.error(message, TokenSpan::new(0, 1));
        }
        for (idx, variable) in self.globals.iter_mut().enumerate() {
            // What is read must be known in each state; an index may be an error.
            let is_read = self.n_reads.get(&idx).is_some_and(|n| *n != 0);
            variable.hidden &= !is_read && variable.dims.is_empty();
        }
        let program = Program {
            mtypes: std::mem::take(&mut self.mtypes),
            globals: std::mem::take(&mut self.globals),
            channels: std::mem::take(&mut self.channels),
            proctypes,
            initial,
            claims,
            formulas,
            traces,
            outside,
            uses_last: self.uses_last,
            uses_priorities: self.uses_priorities,
        };
        self.uninitialised_channels(&program);
        // With errors there are no automata.
        let is_sound = !self.diagnostics.iter().any(|it| it.is_error());
        let unbounded = match is_sound {
            true => runs::unbounded(&program.proctypes),
            false => Vec::new(),
        };
        for span in unbounded {
            let warning = self
                .text
                .warning("this starts processes without bound", span)
                .note(format!("a state has at most {MAX_INSTANCES} processes"))
                .help("put a condition in front of it, such as `_nr_pr < 10`");
            self.diagnostics.push(warning);
        }
        program
    }

    /// The labels and variables of all process types, found by checking them once: a remote
    /// reference may name something that is declared further down.
    fn outlines_of(&mut self, model: &ast::Model) -> Vec<Outline> {
        let diagnostics = self.diagnostics.clone();
        let n_channels = self.channels.len();
        let mut outlines = Vec::new();
        for item in &model.items {
            match item {
                ast::Item::Proctype(it) => {
                    let proctype = self.proctype(it, outlines.len());
                    outlines.push(Outline {
                        labels: self.labels.iter().map(|it| it.text.clone()).collect(),
                        locals: proctype.locals,
                    });
                }
                ast::Item::Never(it) => {
                    self.never(it);
                }
                ast::Item::Ltl(it) => {
                    self.begin_process(None);
                    self.formula(&it.formula);
                }
                _ => {}
            }
        }
        let outside = model.outside.as_ref();
        outside.map(|role, expr| self.outside(role, expr));
        self.diagnostics = diagnostics;
        self.channels.truncate(n_channels);
        self.used_chans.clear();
        outlines
    }

    fn proctype_names(&mut self, model: &ast::Model) {
        for item in &model.items {
            let ast::Item::Proctype(it) = item else {
                continue;
            };
            let idx = self.params.len();
            let n_params = it.params.iter().map(|decl| decl.vars.len()).sum();
            self.params.push((n_params, it.name.span));
            if let Some(&old) = self.proctypes.get(&it.name.text) {
                let message = format!("the process type `{}` is declared twice", it.name);
                let error = self.text.error(message, it.name.span);
                let old = self.params[old].1;
                let error = self.text.context(error, old, "it is declared here");
                self.diagnostics.push(error);
            } else {
                self.proctypes.insert(it.name.text.clone(), idx);
            }
        }
    }

    /// Number of instances in the initial state.
    fn n_active(&mut self, it: &ast::Proctype) -> usize {
        let Some(active) = &it.active else {
            return 0;
        };
        let Some(count) = &active.count else {
            return 1;
        };
        let value = self.constant(count, "the number of processes");
        match value {
            1..=255 => value as usize,
            _ => {
                let message = format!("the number of processes must be 1 to {MAX_INSTANCES}");
                self.error(message, count.span);
                1
            }
        }
    }

    fn proctype(&mut self, it: &ast::Proctype, idx: usize) -> Proctype {
        self.begin_process(Some(idx));
        for decl in &it.params {
            self.params(decl);
        }
        let n_params = self.locals.len();
        let priority = it.priority.as_ref().map_or(1, |priority| {
            self.uses_priorities = true;
            match self.constant(priority, "a priority") {
                value @ 1..=255 => value as u8,
                _ => {
                    self.error("a priority must be 1 to 255", priority.span);
                    1
                }
            }
        });
        let provided = it.provided.as_ref().map(|it| self.expr(it));
        let automaton = self.body(&it.body);
        Proctype {
            name: it.name.text.clone(),
            locals: std::mem::take(&mut self.locals),
            n_params,
            priority,
            provided,
            automaton,
            span: it.span,
        }
    }

    fn never(&mut self, it: &ast::Never) -> Claim {
        self.begin_process(None);
        self.in_claim = true;
        let automaton = self.body(&it.body);
        self.in_claim = false;
        Claim {
            name: it.name.as_ref().map(|it| it.text.clone()),
            locals: std::mem::take(&mut self.locals),
            automaton,
            span: it.span,
        }
    }

    /// An expression from outside. As in a claim, no local name is visible but by a remote reference.
    fn outside(&mut self, role: OutsideRole, expr: &ast::Expr) -> OutsideExpr {
        self.begin_process(None);
        self.in_claim = true;
        let checked = self.expr(expr);
        self.in_claim = false;
        if let Some(problem) = problem_in(&checked) {
            let message = match role {
                OutsideRole::Goal => "this is no question about a state",
                OutsideRole::Cost | OutsideRole::Estimate(_) => "this is no number of a state",
            };
            let error = self.text.error(message, expr.span);
            self.diagnostics.push(error.note(problem));
        }
        if let Expr::Const(value @ ..0) = checked
            && role != OutsideRole::Goal
        {
            let message = format!("{} must not be negative", role.any());
            let error = self.text.error(message, expr.span);
            self.diagnostics
                .push(error.label(format!("this is {value}")));
        }
        OutsideExpr {
            expr: checked,
            span: expr.span,
        }
    }

    fn begin_process(&mut self, idx: Option<usize>) {
        self.scopes.begin_process(idx);
        self.locals.clear();
        self.labels.clear();
        self.gotos.clear();
        self.loop_labels.clear();
        self.n_loops = 0;
    }

    fn body(&mut self, body: &ast::Seq) -> Automaton {
        let nodes: Vec<Node> = self.process_body(body);
        self.check_labels();
        if self.diagnostics.has_errors() {
            // A jump may have no target.
            return Automaton {
                points: Vec::new(),
                start: PointId(0),
                end: PointId(0),
                labels: self
                    .labels
                    .iter()
                    .map(|it| (it.text.clone(), None))
                    .collect(),
                unreachable: Vec::new(),
            };
        }
        let end = TokenSpan::new(body.span.end.saturating_sub(1), body.span.end);
        let Built {
            automaton,
            crossings,
            empty_loops,
            double_elses,
            too_large,
        } = build(nodes, end, |label| match self.scopes.proctype() {
            Some(idx) => self.remote_labels.contains(&(idx, label.clone())),
            None => false,
        });
        for span in crossings {
            self.error("a jump into or out of a `d_step`", span);
        }
        if let Some(span) = too_large {
            let error = self
                .text
                .error(format!("a process with more than {MAX_EDGES} steps"), span)
                .note("the first statements of an escape are steps at each point inside `unless`")
                .help("let the escape begin with one condition, and its selection follow");
            self.diagnostics.push(error);
        }
        for (first, second) in double_elses {
            let error = self
                .text
                .error("a second `else` at one control point", second)
                .help("put `skip ->` in front of the inner selection");
            let error = self.text.context(error, first, "this is the first one");
            self.diagnostics.push(error);
        }
        for span in empty_loops {
            self.warn("this jump leads to itself", span);
        }
        // One of several in a row says it all.
        if let Some((span, _)) = automaton.unreachable.first() {
            self.warn("this statement can never be reached", *span);
        }
        automaton
    }

    fn check_labels(&mut self) {
        let mut known: FxHashMap<Arc<str>, TokenSpan> = FxHashMap::default();
        for label in std::mem::take(&mut self.labels) {
            if let Some(&old) = known.get(&label.text) {
                let message = format!("the label `{label}` is declared twice");
                let error = self.text.error(message, label.span);
                let error = self.text.context(error, old, "it is declared here");
                self.diagnostics.push(error);
            }
            known.insert(label.text.clone(), label.span);
            self.labels.push(label);
        }
        let loop_labels = std::mem::take(&mut self.loop_labels);
        for goto in std::mem::take(&mut self.gotos) {
            if let Some(label) = loop_labels.iter().find(|it| it.text == goto.text) {
                let warning = self
                    .text
                    .warning("this jump skips the first assignment of a loop", goto.span)
                    .help("put the loop in braces, behind the label");
                let warning = self.text.context(
                    warning,
                    label.span,
                    "the label belongs to the loop behind the assignment, as in SPIN",
                );
                self.diagnostics.push(warning);
            }
            if known.contains_key(&goto.text) {
                continue;
            }
            let error = self
                .text
                .error(format!("there is no label `{goto}`"), goto.span);
            let guess = hadal_syntax::did_you_mean(&goto, known.keys().map(|it| &**it));
            self.diagnostics.push(match guess {
                Some(guess) => error.help(format!("did you mean `{guess}`?")),
                None => error.note("a label is a label of the same process"),
            });
        }
    }

    fn uninitialised_channels(&mut self, program: &Program) {
        let mut reported = rustc_hash::FxHashSet::default();
        for (proctype, var, span) in std::mem::take(&mut self.used_chans) {
            let variable = match proctype {
                None => &program.globals[var],
                Some(idx) => &program.proctypes[idx].locals[var],
            };
            let is_set = !matches!(variable.initial, crate::program::Initial::Zero)
                || self.written_chans.contains(&(proctype, var));
            if is_set || !reported.insert((proctype, var)) {
                continue;
            }
            let message = format!("the channel `{}` is never initialised", variable.name);
            let warning = self
                .text
                .warning(message, span)
                .help("declare it with `= [capacity] of { types }`");
            let warning = self
                .text
                .context(warning, variable.span, "it is declared here");
            self.diagnostics.push(warning);
        }
    }

    fn formula(&mut self, it: &ast::Formula) -> Formula {
        match it {
            ast::Formula::Atom(it) => Formula::Atom(self.expr(it), crate::print::expr(it).into()),
            ast::Formula::Not(it) => Formula::Not(Box::new(self.formula(it))),
            ast::Formula::Next(it) => Formula::Next(Box::new(self.formula(it))),
            ast::Formula::Always(it) => Formula::Always(Box::new(self.formula(it))),
            ast::Formula::Eventually(it) => Formula::Eventually(Box::new(self.formula(it))),
            ast::Formula::Binary(op, left, right) => Formula::Binary(
                *op,
                Box::new(self.formula(left)),
                Box::new(self.formula(right)),
            ),
        }
    }
}
