//! Adds expressions and statements to a program.
//!
//! Constants are folded where that is cheap: guards are conjunctions of many parts, most of which
//! are known.

use std::fmt;
use std::sync::Arc;

use hadal_ir::Program as Ir;
use hadal_ir::expr::{Arg, BinaryOp, By, Domain, Expr, Place, Quantifier, UnaryOp};
use hadal_ir::ids::{ExprId, FunctionId, LocalId, SiteId, TypeId};
use hadal_ir::program::{Arithmetic, Frame, LocalKind, Site};
use hadal_ir::stmt::{Stmt, StmtKind};
use hadal_ir::types::{Simple, SimpleKind, Type};
use rustc_hash::FxHashMap;

use crate::program::{MtypeSet, Scalar};
use crate::text::{Text, TokenSpan};

/// A line of the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Line {
    number: u32,
    /// The file, if it is not the one that the user named.
    file: Option<Arc<str>>,
}

impl Line {
    /// Its name, for the n-th of several things there, from 0 on.
    pub(super) fn nth(&self, n: u32) -> String {
        let number = self.number;
        let nth = if n == 0 {
            String::new()
        } else {
            format!(".{n}")
        };
        match &self.file {
            None => format!("line {number}{nth}"),
            Some(file) => format!("line {number}{nth} of {file}"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.nth(0))
    }
}

/// A program under construction, and the position in the text that is being lowered.
pub(super) struct Builder<'t> {
    pub(super) ir: Ir,
    text: &'t Text,
    mtypes: &'t [MtypeSet],
    site: SiteId,
    sites: FxHashMap<TokenSpan, SiteId>,
    scalars: FxHashMap<Scalar, TypeId>,
    ranges: FxHashMap<(i64, i64), TypeId>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t Text, mtypes: &'t [MtypeSet]) -> Self {
        let files = text.sources.iter();
        let mut names = files.map(|file| file.name().to_owned());
        let mut ir = Ir::new(names.next().unwrap_or_default());
        for name in names {
            ir.add_file(name);
        }
        // Those of C's `int`.
        ir.arithmetic = Arithmetic {
            min: i32::MIN.into(),
            max: i32::MAX.into(),
            wraps: true,
        };
        Builder {
            ir,
            text,
            mtypes,
            site: SiteId::new(0),
            sites: FxHashMap::default(),
            scalars: FxHashMap::default(),
            ranges: FxHashMap::default(),
        }
    }

    pub(super) fn finish(self) -> Ir {
        self.ir
    }

    /// From now on everything stands here in the text.
    pub(super) fn set_site(&mut self, span: TokenSpan) -> SiteId {
        self.site = match self.sites.get(&span) {
            Some(site) => *site,
            None => self.add_site(span),
        };
        self.sites.insert(span, self.site);
        self.site
    }

    /// The uses of macros come first: each site names the one where its text was used.
    fn add_site(&mut self, span: TokenSpan) -> SiteId {
        let place = self.text.place(span);
        let definitions = place.definitions.iter().map(|(_, _, span)| *span);
        let mut used_at = None;
        for span in std::iter::once(place.span).chain(definitions) {
            let (file, position) = self.text.sources.position(span.start);
            used_at = Some(self.ir.add_site(Site {
                file: hadal_ir::ids::FileId::new(file.index()),
                line: position.line,
                column: position.column,
                used_at,
            }));
        }
        used_at.unwrap_or(SiteId::new(0))
    }

    /// The line of a place in the text.
    pub(super) fn line(&self, span: TokenSpan) -> Line {
        let place = self.text.place(span);
        let (file, position) = self.text.sources.position(place.span.start);
        let is_included = file != hadal_syntax::FileId::ROOT;
        Line {
            number: position.line,
            file: is_included.then(|| self.text.sources.file(file).name().into()),
        }
    }

    /// From now on everything stands where it did before.
    pub(super) fn return_to(&mut self, site: SiteId) {
        self.site = site;
    }

    pub(super) fn site(&self) -> SiteId {
        self.site
    }

    /// The type of a variable.
    pub(super) fn scalar(&mut self, scalar: Scalar) -> TypeId {
        if let Some(known) = self.scalars.get(&scalar) {
            return *known;
        }
        let (lo, hi) = scalar.range();
        // What has 32 bits is a C `int` wherever it is used.
        let (lo, hi) = match hi > i32::MAX.into() {
            true => (i32::MIN.into(), i32::MAX.into()),
            false => (lo, hi),
        };
        let ty = match self.symbols(scalar) {
            Some(names) => self.add_type(Type::Simple(Simple {
                lo,
                hi,
                kind: SimpleKind::Enum(names),
                is_total: true,
            })),
            None => self.range(lo, hi),
        };
        self.scalars.insert(scalar, ty);
        ty
    }

    /// The names of the values of an `mtype`.
    fn symbols(&self, scalar: Scalar) -> Option<Vec<String>> {
        let Scalar::Mtype(set) = scalar else {
            return None;
        };
        let mut names: Vec<String> = (0..=u8::MAX).map(|value| value.to_string()).collect();
        for (name, value) in &self.mtypes.get(set)?.names {
            names[usize::from(*value)] = name.to_string();
        }
        Some(names)
    }

    /// The type of the integers from `lo` to `hi`, 0 among them.
    pub(super) fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        let types = &mut self.ir.types;
        *self
            .ranges
            .entry((lo, hi))
            .or_insert_with(|| types.add(Type::Simple(Simple::range(lo, hi).total())))
    }

    /// Adds a type.
    pub(super) fn add_type(&mut self, ty: Type) -> TypeId {
        self.ir.types.add(ty)
    }

    /// An array of `n` elements counted from 0.
    pub(super) fn array(&mut self, n: u32, element: TypeId) -> TypeId {
        let index = self.range(0, i64::from(n.max(1)) - 1);
        self.add_type(Type::Array { index, element })
    }

    pub(super) fn expr(&mut self, expr: Expr) -> ExprId {
        self.ir.add_expr(expr, self.site)
    }

    pub(super) fn int(&mut self, value: i64) -> ExprId {
        self.expr(Expr::Int(value))
    }

    pub(super) fn truth(&mut self, value: bool) -> ExprId {
        self.expr(Expr::Bool(value))
    }

    pub(super) fn read(&mut self, place: Place) -> ExprId {
        self.expr(Expr::Read(place))
    }

    pub(super) fn local(&mut self, local: LocalId) -> ExprId {
        self.read(Place::local(local))
    }

    /// The value of an expression that is a literal.
    pub(super) fn known_int(&self, id: ExprId) -> Option<i64> {
        match self.ir.expr(id) {
            Expr::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn known_truth(&self, id: ExprId) -> Option<bool> {
        match self.ir.expr(id) {
            Expr::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let known = self.known_int(a).zip(self.known_int(b));
        match (op, known) {
            (BinaryOp::Eq, Some((a, b))) => self.truth(a == b),
            (BinaryOp::Ne, Some((a, b))) => self.truth(a != b),
            (BinaryOp::Lt, Some((a, b))) => self.truth(a < b),
            (BinaryOp::Le, Some((a, b))) => self.truth(a <= b),
            (BinaryOp::Gt, Some((a, b))) => self.truth(a > b),
            (BinaryOp::Ge, Some((a, b))) => self.truth(a >= b),
            (BinaryOp::Add, Some((a, b))) => self.int((a as i32).wrapping_add(b as i32).into()),
            (BinaryOp::Sub, Some((a, b))) => self.int((a as i32).wrapping_sub(b as i32).into()),
            (BinaryOp::BitAnd, Some((a, b))) => self.int(a & b),
            _ => self.expr(Expr::Binary(op, a, b)),
        }
    }

    /// `a = value`
    pub(super) fn equals(&mut self, a: ExprId, value: i64) -> ExprId {
        let value = self.int(value);
        self.binary(BinaryOp::Eq, a, value)
    }

    /// `a + value`
    pub(super) fn plus(&mut self, a: ExprId, value: i64) -> ExprId {
        if value == 0 {
            return a;
        }
        let value = self.int(value);
        self.binary(BinaryOp::Add, a, value)
    }

    pub(super) fn not(&mut self, a: ExprId) -> ExprId {
        match self.known_truth(a) {
            Some(value) => self.truth(!value),
            None => self.expr(Expr::Unary(UnaryOp::Not, a)),
        }
    }

    pub(super) fn and(&mut self, parts: Vec<ExprId>) -> ExprId {
        self.join(parts, true)
    }

    pub(super) fn or(&mut self, parts: Vec<ExprId>) -> ExprId {
        self.join(parts, false)
    }

    /// A conjunction, or a disjunction, whose parts that are `neutral` are left out. What decides it
    /// ends it, since parts are evaluated in order.
    fn join(&mut self, parts: Vec<ExprId>, neutral: bool) -> ExprId {
        let mut left = Vec::new();
        for part in parts {
            match self.known_truth(part) {
                Some(value) if value == neutral => {}
                Some(_) => {
                    left.push(part);
                    break;
                }
                None => left.push(part),
            }
        }
        match left[..] {
            [] => self.truth(neutral),
            [only] => only,
            [first, ..] if self.known_truth(first).is_some() => first,
            _ if neutral => self.expr(Expr::And(left)),
            _ => self.expr(Expr::Or(left)),
        }
    }

    pub(super) fn cond(&mut self, condition: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        match self.known_truth(condition) {
            Some(true) => yes,
            Some(false) => no,
            None => self.expr(Expr::Cond(condition, yes, no)),
        }
    }

    pub(super) fn in_range(&mut self, value: ExprId, lo: i64, hi: i64) -> ExprId {
        match self.known_int(value) {
            Some(value) => self.truth((lo..=hi).contains(&value)),
            None => self.expr(Expr::InRange { value, lo, hi }),
        }
    }

    /// Whether, or for how many, of the integers `0..n` a condition holds.
    pub(super) fn quantified(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        n: u32,
        body: ExprId,
    ) -> ExprId {
        let domain = self.upto(n);
        self.expr(Expr::Quantified {
            quantifier,
            var,
            domain,
            body,
        })
    }

    /// The integers `0..n`.
    pub(super) fn upto(&mut self, n: u32) -> Domain {
        Domain::Span {
            from: self.int(0),
            to: self.int(i64::from(n) - 1),
            by: By::Constant(1),
        }
    }

    pub(super) fn call(&mut self, function: FunctionId, args: Vec<ExprId>) -> ExprId {
        let args = args.into_iter().map(Arg::Value).collect();
        self.expr(Expr::Call { function, args })
    }

    pub(super) fn stmt(&self, kind: StmtKind) -> Stmt {
        Stmt {
            kind,
            site: self.site,
        }
    }

    pub(super) fn assign(&self, place: Place, value: ExprId) -> Stmt {
        self.stmt(StmtKind::Assign { place, value })
    }

    /// A local that runs over the integers `0..n`.
    pub(super) fn counter(&mut self, frame: &mut Frame, name: &str, n: u32) -> LocalId {
        let ty = self.range(0, i64::from(n.max(1)) - 1);
        frame.add(name, LocalKind::Value(ty))
    }

    /// A local for any value.
    pub(super) fn value_local(&mut self, frame: &mut Frame, name: &str) -> LocalId {
        let ty = self.range(i32::MIN.into(), i32::MAX.into());
        frame.add(name, LocalKind::Value(ty))
    }
}
