//! The result of checking an expression: a constant, a computed value, a place, or an error; and
//! the conversions to what the program needs.
//!
//! Constants stay numbers until they are needed, so that what was folded leaves nothing behind in
//! the program.

use hadal_ir::{Expr, ExprId, MapId, Place, Segment, ValueMap};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::scope::Slot;
use super::types::{Kind, Ty};
use crate::TypeEquivalence;

/// The result of checking an expression.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// Reported already.
    Error,
    /// The literal `undefined`.
    Undefined,
    /// A value known now.
    Const { value: i64, ty: Ty },
    /// A computed value of simple type.
    Value {
        expr: ExprId,
        ty: Ty,
        /// It may turn out to be undefined.
        lax: bool,
    },
    /// A place, of any type.
    Place(Lvalue),
    /// The index of an element of a multiset.
    Slot(Slot),
}

/// A place, and what may be done with it.
#[derive(Debug, Clone)]
pub(super) struct Lvalue {
    pub(super) place: Place,
    pub(super) ty: Ty,
    pub(super) access: Access,
    pub(super) origin: Origin,
}

/// Whether a place can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Writable,
    /// Not, for this reason and because of the declaration there.
    ReadOnly(ReadOnly, Span),
}

/// Why a place cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOnly {
    LoopVariable,
    RulesetParameter,
    Parameter,
    AliasOfValue,
    Result,
}

impl ReadOnly {
    /// What the thing is, with its article.
    pub(super) fn noun(self) -> &'static str {
        match self {
            ReadOnly::LoopVariable => "a loop variable",
            ReadOnly::RulesetParameter => "a parameter of a ruleset",
            ReadOnly::Parameter => "a parameter without `var`",
            ReadOnly::AliasOfValue => "an alias of a value",
            ReadOnly::Result => "the result of a function",
        }
    }
}

/// What is changed by a write to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The state.
    State,
    /// What the n-th parameter of the function refers to.
    Param(usize),
    /// Nothing that outlives the rule or function.
    Local,
}

/// How values of one type become values of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    /// As they are; the range may have to be checked.
    Same,
    /// By another numbering.
    Map,
    /// Not at all.
    None,
}

/// Whether undefined may be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undefined {
    PassedOn,
    Fault,
}

impl Operand {
    /// The type; an error type for what has none.
    pub(super) fn ty(&self) -> Ty {
        match self {
            Operand::Error | Operand::Undefined | Operand::Slot(_) => Ty::ERROR,
            Operand::Const { ty, .. } | Operand::Value { ty, .. } => *ty,
            Operand::Place(lvalue) => lvalue.ty,
        }
    }

    /// The value, if it is known now.
    pub(super) fn constant(&self) -> Option<i64> {
        match self {
            Operand::Const { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// A truth value known now.
    pub(super) fn truth(value: bool) -> Operand {
        Operand::Const {
            value: i64::from(value),
            ty: Ty::BOOLEAN,
        }
    }
}

impl Checker<'_> {
    /// The operand as an expression that yields a value or faults.
    pub(super) fn strict(&mut self, operand: Operand, span: Span) -> Option<ExprId> {
        match operand {
            Operand::Error => None,
            Operand::Undefined => {
                let message = "`undefined` is not a value to compute with";
                self.report(
                    Diagnostic::error(message, span)
                        .help("it can be assigned, or passed to a parameter without `var`"),
                );
                None
            }
            Operand::Slot(_) => {
                self.report(slot_misused(span));
                None
            }
            Operand::Const { value, ty } => Some(self.emit_constant(value, ty, span)),
            Operand::Value { expr, lax, .. } if lax => Some(self.emit(Expr::Defined(expr), span)),
            Operand::Value { expr, .. } => Some(expr),
            Operand::Place(lvalue) => {
                if lvalue.ty == Ty::ERROR {
                    return None;
                }
                if !self.types.is_simple(lvalue.ty) {
                    let found = self.types.described(lvalue.ty);
                    self.report(
                        Diagnostic::error("a simple value is needed here", span)
                            .label(format!("this is {found}")),
                    );
                    return None;
                }
                let read = self.emit(Expr::Read(lvalue.place), span);
                Some(self.emit(Expr::Defined(read), span))
            }
        }
    }

    /// The operand as an expression that yields a value or, where undefined may be passed on,
    /// undefined.
    pub(super) fn value(
        &mut self,
        operand: Operand,
        span: Span,
        undefined: Undefined,
    ) -> Option<ExprId> {
        match undefined {
            Undefined::PassedOn => self.lax(operand, span),
            Undefined::Fault => self.strict(operand, span),
        }
    }

    /// The operand as an expression that yields a value or undefined.
    fn lax(&mut self, operand: Operand, span: Span) -> Option<ExprId> {
        match operand {
            Operand::Undefined => Some(self.emit(Expr::Undefined, span)),
            Operand::Value {
                expr, lax: true, ..
            } => Some(expr),
            Operand::Place(lvalue) if lvalue.ty != Ty::ERROR && self.types.is_simple(lvalue.ty) => {
                Some(self.emit(Expr::Read(lvalue.place), span))
            }
            other => self.strict(other, span),
        }
    }

    /// A constant as an expression.
    pub(super) fn emit_constant(&mut self, value: i64, ty: Ty, span: Span) -> ExprId {
        let expr = match ty {
            Ty::BOOLEAN => Expr::Bool(value != 0),
            _ => Expr::Int(value),
        };
        let id = self.emit(expr, span);
        if value < 0 {
            self.negative_constants.push(id);
        }
        id
    }

    /// The operand as a value of a simple type, to be stored there. Whether it fits is known only
    /// when it runs, except for constants. `what` is the verb of the message, as in "cannot
    /// assign".
    pub(super) fn convert(
        &mut self,
        operand: Operand,
        span: Span,
        target: Ty,
        undefined: Undefined,
        what: &Purpose<'_>,
    ) -> Option<ExprId> {
        if matches!(operand, Operand::Error) || target == Ty::ERROR {
            return None;
        }
        if let Operand::Undefined = operand {
            if undefined == Undefined::PassedOn {
                return Some(self.emit(Expr::Undefined, span));
            }
            return self.strict(operand, span);
        }
        if let Operand::Slot(_) = operand {
            self.report(slot_misused(span));
            return None;
        }
        let from = operand.ty();
        if from == Ty::ERROR {
            return None;
        }
        let conversion = self.conversion(from, target);
        match conversion {
            Conversion::None => {
                self.report_mismatch(from, target, span, what);
                None
            }
            Conversion::Same => {
                if let Some(value) = operand.constant() {
                    self.check_fits(value, from, target, span);
                }
                self.value(operand, span, undefined)
            }
            Conversion::Map => {
                let map = self.union_map(from, target);
                if let Some(value) = operand.constant()
                    && let Some(image) = mapped(&self.program.map(map).segments, value)
                {
                    return Some(self.emit(Expr::Int(image), span));
                }
                let value = self.value(operand, span, undefined)?;
                Some(self.emit(Expr::Remap { value, map }, span))
            }
        }
    }

    /// Reports a constant that a type cannot hold.
    fn check_fits(&mut self, value: i64, from: Ty, target: Ty, span: Span) {
        let Some((lo, hi)) = self.types.bounds(target) else {
            return;
        };
        if (lo..=hi).contains(&value) {
            return;
        }
        let value = self.types.value_name(from, value);
        let target_name = self.types.name(target);
        let range = format!("{lo}..{hi}");
        let mut diagnostic = Diagnostic::error(format!("{value} is not in `{target_name}`"), span);
        if target_name != range {
            diagnostic = diagnostic.label(format!("`{target_name}` is {range}"));
        }
        self.report_certain_fault(diagnostic);
    }

    /// How values of `from` become values of `to`.
    pub(super) fn conversion(&self, from: Ty, to: Ty) -> Conversion {
        let types = &self.types;
        if types.is_number(from) && types.is_number(to) {
            return Conversion::Same;
        }
        if !types.is_simple(from) || !types.is_simple(to) {
            return Conversion::None;
        }
        if types.same(from, to) {
            return Conversion::Same;
        }
        let have_common = match (types.kind(from), types.kind(to)) {
            (Kind::Union(from), Kind::Union(to)) => {
                let mut members = to.members.iter();
                members.any(|&member| types.member(from, member).is_some())
            }
            (Kind::Union(union), _) => types.member(union, to).is_some(),
            (_, Kind::Union(union)) => types.member(union, from).is_some(),
            _ => false,
        };
        match have_common {
            true => Conversion::Map,
            false => Conversion::None,
        }
    }

    /// The map by which values of one type become values of another.
    fn union_map(&mut self, from: Ty, to: Ty) -> MapId {
        if let Some(&map) = self.maps.get(&(from, to)) {
            return map;
        }
        let types = &self.types;
        let segment = |lo: i64, hi: i64, to: i64| (lo <= hi).then_some(Segment { lo, hi, to });
        let segments = match (types.kind(from), types.kind(to)) {
            (Kind::Union(from), Kind::Union(to)) => to
                .members
                .iter()
                .filter_map(|&member| {
                    let (lo, hi) = types.member(from, member)?;
                    let (to, _) = types.member(to, member)?;
                    segment(lo, hi, to)
                })
                .collect(),
            (Kind::Union(union), _) => types
                .member(union, to)
                .and_then(|(lo, hi)| segment(lo, hi, 0))
                .into_iter()
                .collect(),
            (_, Kind::Union(union)) => types
                .member(union, from)
                .and_then(|(lo, hi)| segment(0, hi - lo, lo))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        };
        self.map(from, to, segments)
    }

    /// The map between two types.
    pub(super) fn map(&mut self, from: Ty, to: Ty, segments: Vec<Segment>) -> MapId {
        if let Some(&map) = self.maps.get(&(from, to)) {
            return map;
        }
        let map = MapId::new(self.program.maps.len());
        let from_ir = self.types.ir(from);
        self.program.maps.push(ValueMap {
            segments,
            from: from_ir,
        });
        self.maps.insert((from, to), map);
        map
    }

    /// Reports that a value of one type cannot be used as one of another.
    pub(super) fn report_mismatch(&mut self, from: Ty, to: Ty, span: Span, what: &Purpose<'_>) {
        let (found, wanted) = (self.types.name(from), self.types.name(to));
        let mut diagnostic =
            Diagnostic::error(format!("mismatched types: {} `{wanted}`", what.wants), span)
                .label(format!("this is {}", self.types.described(from)));
        if let Some((span, text)) = &what.context {
            diagnostic = diagnostic.context(*span, text.as_str());
        }
        if let Some(note) = what.note {
            diagnostic = diagnostic.note(note);
        }
        if found == wanted || (!self.types.is_simple(from) && !self.types.is_simple(to)) {
            for (ty, name) in [(from, &found), (to, &wanted)] {
                if let Some(span) = self.types.declaration(ty) {
                    diagnostic = diagnostic.context(span, format!("`{name}` is declared here"));
                }
            }
            diagnostic = diagnostic.note(match self.dialect.type_equivalence() {
                TypeEquivalence::Name => {
                    "in the dialect cmurphi every declaration makes a type of its own"
                }
                TypeEquivalence::NameThenStructure if self.types.declaration(to).is_some() => {
                    "a type with a name is the same only as itself"
                }
                _ => "two types are the same only if all their parts are",
            });
        } else if let (Kind::Scalarset { .. }, Kind::Scalarset { .. }) =
            (self.types.kind(from), self.types.kind(to))
        {
            diagnostic = diagnostic.note("values of two scalarsets never mix");
        } else if self.types.is_number(from) && to == Ty::BOOLEAN {
            diagnostic = diagnostic.help("compare it with a number, as in `x != 0`");
        }
        self.report(diagnostic);
    }
}

/// What a value is needed for, as the text of a message.
#[derive(Debug)]
pub(super) struct Purpose<'a> {
    /// The words before the type that is wanted.
    pub(super) wants: &'a str,
    /// What asks for that type, and where.
    pub(super) context: Option<(Span, String)>,
    /// A further note.
    pub(super) note: Option<&'static str>,
}

impl<'a> Purpose<'a> {
    /// A purpose that needs no explanation.
    pub(super) fn new(wants: &'a str) -> Self {
        Purpose {
            wants,
            context: None,
            note: None,
        }
    }
}

/// The image of a value.
fn mapped(segments: &[Segment], value: i64) -> Option<i64> {
    let segment = segments
        .iter()
        .find(|segment| (segment.lo..=segment.hi).contains(&value))?;
    Some(segment.to + (value - segment.lo))
}

fn slot_misused(span: Span) -> Diagnostic {
    Diagnostic::error("the index of an element of a multiset is not a value", span)
        .help("it can only be the index of its multiset, or be given to `multisetremove`")
}
