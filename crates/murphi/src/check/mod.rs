//! From the syntax tree to a program: names, types and constants are checked, and what is right is
//! lowered in the same walk.
//!
//! [`compile`] is total: whatever the text, it returns, with a program or with errors. What was
//! reported has the error type or is an error operand, which is not reported again; so one error
//! gives one message, and several errors are found in one run.
//!
//! The files, by subject: [`scope`] what names stand for; [`types`] what types are and which are
//! equal; `declarations` and `typexprs` what is declared; [`operand`] the results of checking
//! expressions; `constants`, `exprs`, `comparisons`, `places`, `calls`, `domains` and `multisets`
//! expressions; `stmts` statements; `functions` and `rules` what holds them; `outside`
//! expressions that are not in the text.

mod calls;
mod comparisons;
mod constants;
mod declarations;
mod domains;
mod exprs;
mod functions;
mod multisets;
mod operand;
mod outside;
mod places;
mod report;
mod rules;
mod scope;
mod stmts;
mod types;
mod typexprs;
mod unit;

use std::sync::Arc;

use hadal_ir::verify::MAX_EXPR_DEPTH;
use hadal_ir::walk::Mention;
use hadal_ir::{
    Arithmetic, Expr, ExprId, FileId, FunctionId, MapId, Measure, Program, Site, SiteId, TypeId,
};
use hadal_model::Stop;
use hadal_syntax::{Diagnostic, Diagnostics, Outside, OutsideRole, Source, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use self::functions::FunctionInfo;
use self::scope::Scopes;
use self::types::{Ty, TypeTable};
use self::unit::Unit;
use crate::ast::Item;
use crate::parser::parse_with;
use crate::{Dialect, ast};

/// How to read a model.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whose meaning it is given.
    pub dialect: Dialect,
    /// Constants to override, each with its new value as typed.
    pub constants: Vec<(String, String)>,
    /// Expressions from outside: texts of their own, whose bases lie behind the model's. With a goal
    /// the last property of the program is an invariant that it is false; a cost is among the
    /// measures of the program.
    pub outside: Outside<Source>,
}

/// The result of compiling a model.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The program; `None` if there is an error.
    pub program: Option<Program>,
    /// The estimates from outside, which refer to the program but are no part of it.
    pub estimates: Vec<Measure>,
    /// Errors and warnings, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    /// What is legal, but distinguishes the elements of a scalarset: errors under symmetry
    /// reduction, harmless without.
    pub symmetry_breaks: Vec<Diagnostic>,
    /// The global constants with their values, in the order of the source.
    pub constants: Vec<(String, String)>,
    /// A message for each override of a constant that the model does not have: errors without a
    /// place in the source.
    pub unused_overrides: Vec<String>,
}

/// Compiles a source to a program.
///
/// ```
/// use hadal_murphi::{Options, compile};
/// use hadal_syntax::Source;
///
/// let text = "const N: 3; var x: 0..N; startstate x := 0; end; rule x < N ==> x := x + 1; end;";
/// let source = Source::new("toy.m", text).unwrap();
/// let options = Options {
///     constants: vec![("N".to_owned(), "7".to_owned())],
///     ..Options::default()
/// };
/// let compiled = compile(&source, &options);
/// let program = compiled.program.unwrap();
/// assert_eq!(program.rules.len(), 1);
/// assert_eq!(compiled.constants, [("N".to_owned(), "7".to_owned())]);
/// ```
pub fn compile(source: &Source, options: &Options) -> Compiled {
    compile_until(source, options, &Stop::new()).expect("nobody raises the flag")
}

/// As [`compile`]; `None` soon after `stop` is raised.
pub fn compile_until(source: &Source, options: &Options, stop: &Stop) -> Option<Compiled> {
    let texts = &options.outside;
    let (parsed, outside) = parse_with(source, texts, options.dialect, stop);
    if stop.is_raised() {
        return None;
    }
    let mut checker = Checker::new(source, options, stop);
    checker.tree_is_whole = !parsed.diagnostics.iter().any(Diagnostic::is_error);
    checker.diagnostics.extend(parsed.diagnostics);
    checker.model(&parsed.model);
    checker.outside(texts, &outside);
    // What was checked after the flag was raised is not reported.
    (!stop.is_raised()).then(|| checker.finish())
}

/// The state of the walk.
struct Checker<'a> {
    source: &'a Source,
    /// The number of that source among the files of the program.
    file: FileId,
    /// What is checked is an expression from outside, in which elements of scalarsets have names.
    role: Option<OutsideRole>,
    dialect: Dialect,
    /// Once it is raised, the rest of the tree is skipped.
    stop: &'a Stop,
    sites: FxHashMap<u32, SiteId>,
    program: Program,
    estimates: Vec<Measure>,
    /// How deep each expression of the program is.
    expr_depths: Vec<u32>,
    types: TypeTable,
    /// The maps between unions and their members that were needed so far.
    maps: FxHashMap<(Ty, Ty), MapId>,
    scopes: Scopes,
    functions: Vec<FunctionInfo>,
    /// Some function so far writes what it does not declare.
    some_function_writes: bool,
    /// The functions that put a simple value into a record, by its type.
    boxings: FxHashMap<TypeId, FunctionId>,
    /// Parameters and aliases around the current rule.
    around: rules::Around,
    /// The current rule, property, startstate or function.
    unit: Unit,
    /// Bits of the state variables so far.
    state_bits: u64,
    /// What constants to override.
    overrides: FxHashMap<&'a str, &'a str>,
    constants: Vec<(String, String)>,
    constant_names: Vec<Arc<str>>,
    /// The least and the greatest number that the text names: rumur computes in the narrowest type
    /// that has them.
    numbers: (i64, i64),
    /// Some loop has bounds that are computed: rumur then takes its widest type.
    has_computed_bounds: bool,
    /// Operands that stand for "all bits" of rumur's type.
    bit_masks: Vec<ExprId>,
    /// Negative constants, which are others in an unsigned type.
    negative_constants: Vec<ExprId>,
    /// What is checked must be known now.
    in_constant: bool,
    /// Number of enclosing statements.
    stmt_depth: u32,
    /// Whether too many of them were reported.
    is_too_deep: bool,
    /// Number of enclosing constructs that are known never to run. A certain fault in there is no
    /// error: other values of a constant may need that text.
    dead: u32,
    /// Aliases are replaced by what they stand for.
    expands_aliases: bool,
    /// Diagnostics are dropped: this text was checked before.
    muted: bool,
    /// The parser reported no error.
    tree_is_whole: bool,
    diagnostics: Diagnostics,
    symmetry_breaks: Diagnostics,
    unknown_names: FxHashSet<Arc<str>>,
    n_suggestions: usize,
    n_scalarsets: usize,
    n_union_values: usize,
    counts: rules::Counts,
}

impl<'a> Checker<'a> {
    fn new(source: &'a Source, options: &'a Options, stop: &'a Stop) -> Self {
        let dialect = options.dialect;
        let mut program = Program::new(source.name());
        let types = TypeTable::new(dialect.type_equivalence(), &mut program.types);
        let overrides = options.constants.iter();
        Checker {
            source,
            file: FileId(0),
            role: None,
            dialect,
            stop,
            sites: FxHashMap::default(),
            program,
            estimates: Vec::new(),
            expr_depths: Vec::new(),
            types,
            maps: FxHashMap::default(),
            scopes: Scopes::default(),
            functions: Vec::new(),
            some_function_writes: false,
            boxings: FxHashMap::default(),
            around: rules::Around::default(),
            unit: Unit::default(),
            state_bits: 0,
            overrides: overrides.map(|(name, value)| (&**name, &**value)).collect(),
            constants: Vec::new(),
            constant_names: Vec::new(),
            numbers: (0, 1),
            has_computed_bounds: false,
            bit_masks: Vec::new(),
            negative_constants: Vec::new(),
            in_constant: false,
            stmt_depth: 0,
            is_too_deep: false,
            dead: 0,
            expands_aliases: false,
            muted: false,
            tree_is_whole: true,
            diagnostics: Diagnostics::new(),
            symmetry_breaks: Diagnostics::new(),
            unknown_names: FxHashSet::default(),
            n_suggestions: 0,
            n_scalarsets: 0,
            n_union_values: 0,
            counts: rules::Counts::default(),
        }
    }

    fn model(&mut self, model: &ast::Model) {
        self.scopes.push();
        for item in &model.items {
            match item {
                Item::Decl(decl) => self.global(decl),
                Item::Function(function) => self.function(function),
                Item::Extern(function) => self.extern_function(function),
                Item::Rule(rule) => self.rule(rule),
                Item::Pctl(span) => self.report(
                    Diagnostic::error("probabilistic properties are not supported", *span)
                        .label("a `pctl` section"),
                ),
            }
        }
        if self.program.starts.is_empty() && self.counts.starts == 0 && self.tree_is_whole {
            let end = Span::new(model.span.end, model.span.end);
            self.report(
                Diagnostic::error("the model has no startstate", end)
                    .help("without one no state is reached and nothing can be verified"),
            );
        }
        if self.counts.rules == 0 && self.tree_is_whole {
            let end = Span::new(model.span.end, model.span.end);
            self.report(Diagnostic::warning("the model has no rules", end));
        }
    }

    fn finish(mut self) -> Compiled {
        let unused_overrides = self.unused_overrides();
        self.program.arithmetic = self.arithmetic();
        self.settle_constants();
        self.diagnostics.sort();
        self.symmetry_breaks.sort();
        let is_good = !self.diagnostics.has_errors() && unused_overrides.is_empty();
        Compiled {
            program: is_good.then_some(self.program),
            estimates: self.estimates,
            diagnostics: self.diagnostics.into_vec(),
            symmetry_breaks: self.symmetry_breaks.into_vec(),
            constants: self.constants,
            unused_overrides,
        }
    }

    /// How integers behave when the model runs.
    fn arithmetic(&self) -> Arithmetic {
        if self.dialect.arithmetic_wraps() {
            return constants::WRAPPING;
        }
        if !self.dialect.sizes_integers_by_text() || self.has_computed_bounds {
            return Arithmetic::default();
        }
        // rumur's types are the *fast* ones of C, of which only the narrowest has 8 bits.
        let (least, greatest) = self.numbers;
        let wide = Arithmetic::default();
        let (min, max) = match (least < 0, greatest) {
            (true, ..=127) if least >= -128 => (-128, 127),
            (true, _) => (wide.min, wide.max),
            (false, ..=255) => (0, 255),
            (false, _) => (0, wide.max),
        };
        Arithmetic { min, max, ..wide }
    }

    /// Sets the operands that stand for "all bits" and negative constants: only now is the width
    /// known.
    fn settle_constants(&mut self) {
        let arithmetic = self.program.arithmetic;
        if !arithmetic.is_unsigned() {
            return;
        }
        for mask in std::mem::take(&mut self.bit_masks) {
            self.program.exprs[mask.index()].0 = Expr::Int(arithmetic.max);
        }
        for constant in std::mem::take(&mut self.negative_constants) {
            if let Expr::Int(value) = &mut self.program.exprs[constant.index()].0 {
                *value &= arithmetic.max;
            }
        }
    }

    /// The site of the beginning of a text.
    fn site(&mut self, span: Span) -> SiteId {
        if let Some(&site) = self.sites.get(&span.start) {
            return site;
        }
        let position = self.source.position(span.start);
        let site = self.program.add_site(Site {
            file: self.file,
            line: position.line,
            column: position.column,
            used_at: None,
        });
        self.sites.insert(span.start, site);
        site
    }

    /// Adds an expression to the program.
    fn emit(&mut self, expr: Expr, span: Span) -> ExprId {
        let mut depth = 1;
        expr.for_each_mention(&mut |mention| {
            if let Mention::Expr(operand) = mention {
                depth = depth.max(self.expr_depths[operand.index()] + 1);
            }
        });
        // Walks over expressions may recurse. The first that is too deep is reported, not those
        // around it.
        if depth == MAX_EXPR_DEPTH + 1 {
            let message = "this expression is too long, or nested too deep";
            self.report(Diagnostic::error(message, span));
        }
        self.expr_depths.push(depth);
        let site = self.site(span);
        self.program.add_expr(expr, site)
    }
}
