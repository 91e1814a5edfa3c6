//! Designators: names and the paths to their parts, and what may be done with them.

use hadal_ir::Projection;
use hadal_syntax::{Diagnostic, Span, did_you_mean};

use super::Checker;
use super::operand::{Access, Lvalue, Operand, Origin, Purpose, ReadOnly, Undefined};
use super::report::Wanted;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::ast::{Designator, Expr, Name, Step};

impl Checker<'_> {
    /// What a designator stands for.
    pub(super) fn designator(&mut self, designator: &Designator) -> Operand {
        let Some(base) = self.base(&designator.base) else {
            // Faults in an index should be found even if the name is unknown.
            for step in &designator.steps {
                if let Step::Index { index, .. } = step {
                    self.expr(index);
                }
            }
            return Operand::Error;
        };
        if designator.steps.is_empty() {
            return base;
        }
        let mut lvalue = match base {
            Operand::Place(lvalue) => lvalue,
            Operand::Error => return Operand::Error,
            other => {
                let name = &designator.base;
                let what = match &other {
                    Operand::Slot(_) => "the index of an element".to_owned(),
                    other => self.types.described(other.ty()),
                };
                self.report(
                    Diagnostic::error(format!("`{name}` has no parts"), name.span)
                        .label(format!("this is {what}")),
                );
                return Operand::Error;
            }
        };
        // The text of what has been passed so far, for messages.
        let mut passed = designator.base.span;
        for step in &designator.steps {
            let is_good = match step {
                Step::Field(name) => self.field(&mut lvalue, name, passed),
                Step::Index { index, .. } => self.index(&mut lvalue, index, passed),
            };
            if !is_good || lvalue.ty == Ty::ERROR {
                return Operand::Error;
            }
            passed = passed.to(match step {
                Step::Field(name) => name.span,
                Step::Index { span, .. } => *span,
            });
        }
        Operand::Place(lvalue)
    }

    /// What a name stands for when a value is wanted.
    fn base(&mut self, name: &Name) -> Option<Operand> {
        if &**name == "undefined" && self.scopes.look_up(name).is_none() {
            return Some(Operand::Undefined);
        }
        let (def, declared) = self.look_up(name, Wanted::Value);
        let wrong = match def {
            Def::Error => return None,
            Def::Const { value, ty } => return Some(Operand::Const { value, ty }),
            Def::Slot(slot) => return Some(Operand::Slot(slot)),
            Def::Object(object) => {
                if self.expands_aliases
                    && let Some(expansion) = object.expansion
                {
                    return Some(*expansion);
                }
                return Some(Operand::Place(Lvalue {
                    place: object.place,
                    ty: object.ty,
                    access: object.access,
                    origin: object.origin,
                }));
            }
            Def::Type(_) => "type",
            Def::Function(_) => "function",
        };
        let mut diagnostic =
            Diagnostic::error(format!("`{name}` is a {wrong}, not a value"), name.span)
                .context(declared, "declared here");
        if wrong == "function" {
            diagnostic = diagnostic.help(format!("call it: `{name}(...)`"));
        }
        self.report(diagnostic);
        None
    }

    fn field(&mut self, lvalue: &mut Lvalue, name: &Name, passed: Span) -> bool {
        let Kind::Record(record) = self.types.kind(lvalue.ty) else {
            let (text, ty) = (self.quote(passed), self.types.described(lvalue.ty));
            self.report(
                Diagnostic::error(format!("`{text}` has no fields"), name.span)
                    .context(passed, format!("this is {ty}, not a record")),
            );
            return false;
        };
        if let Some((idx, ty)) = record.field(name) {
            lvalue.place.path.push(Projection::Field(idx));
            lvalue.ty = ty;
            return true;
        }
        let record = record.clone();
        let ty = self.types.name(lvalue.ty);
        let mut diagnostic = Diagnostic::error(format!("`{ty}` has no field `{name}`"), name.span);
        if self.may_suggest() {
            let fields = record.fields.iter().map(|(field, _)| &**field);
            if let Some(near) = did_you_mean(name, fields.clone()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            } else if record.fields.len() <= 12 {
                let all: Vec<&str> = fields.collect();
                diagnostic = diagnostic.note(format!("its fields are {}", all.join(", ")));
            }
        }
        if let Some(span) = self.types.declaration(lvalue.ty) {
            diagnostic = diagnostic.context(span, "declared here");
        }
        self.report(diagnostic);
        false
    }

    fn index(&mut self, lvalue: &mut Lvalue, index: &Expr, passed: Span) -> bool {
        let operand = self.expr(index);
        let (slot, element) = match *self.types.kind(lvalue.ty) {
            Kind::Array { index: ty, element } => {
                let purpose = Purpose {
                    wants: "the index must be a",
                    context: Some((passed, "of this array".to_owned())),
                    note: None,
                };
                let slot = self.convert(operand, index.span, ty, Undefined::Fault, &purpose);
                (slot, element)
            }
            Kind::Multiset { element, .. } => (self.slot(operand, lvalue, index.span), element),
            _ => {
                let (text, ty) = (self.quote(passed), self.types.described(lvalue.ty));
                self.report(
                    Diagnostic::error(format!("`{text}` cannot be indexed"), index.span)
                        .context(passed, format!("this is {ty}, not an array")),
                );
                return false;
            }
        };
        let Some(slot) = slot else {
            return false;
        };
        lvalue.place.path.push(Projection::Index(slot));
        lvalue.ty = element;
        true
    }

    /// A designator that will be written; the write is recorded.
    pub(super) fn target(&mut self, designator: &Designator, cannot: &str) -> Option<Lvalue> {
        let operand = self.designator(designator);
        let message = format!("{cannot} `{}`", designator.base);
        self.writable(operand, &designator.base, designator.span, &message)
    }

    /// An operand that will be written; the write is recorded.
    pub(super) fn writable(
        &mut self,
        operand: Operand,
        base: &Name,
        span: Span,
        message: &str,
    ) -> Option<Lvalue> {
        let lvalue = match operand {
            Operand::Error => return None,
            Operand::Place(lvalue) => lvalue,
            Operand::Undefined | Operand::Const { .. } | Operand::Value { .. } => {
                self.report(Diagnostic::error(message, span).label("this is a constant"));
                return None;
            }
            Operand::Slot(_) => {
                let label = "this is the index of an element of a multiset";
                self.report(Diagnostic::error(message, span).label(label));
                return None;
            }
        };
        if let Access::ReadOnly(why, declared) = lvalue.access {
            self.report(
                Diagnostic::error(message, span)
                    .label(format!("this is {}", why.noun()))
                    .context(declared, "declared here"),
            );
            return None;
        }
        self.record_write(lvalue.origin, base, span);
        Some(lvalue)
    }

    /// Records that what `base` names is written.
    pub(super) fn record_write(&mut self, origin: Origin, base: &Name, span: Span) {
        match origin {
            Origin::Local => {}
            Origin::State => {
                let write = &mut self.unit.effects.write;
                write.get_or_insert_with(|| (base.to_string(), span));
            }
            Origin::Param(idx) => {
                if let Some(slot) = self.unit.effects.params.get_mut(idx) {
                    slot.get_or_insert(span);
                }
            }
        }
    }

    /// Whether a place is a variable or a part of one, rather than a value that was computed.
    pub(super) fn is_variable(&self, lvalue: &Lvalue) -> bool {
        !matches!(
            lvalue.access,
            Access::ReadOnly(ReadOnly::AliasOfValue | ReadOnly::Result, _)
        )
    }

    /// An operand that must be a whole aggregate of a type.
    pub(super) fn aggregate(
        &mut self,
        operand: Operand,
        span: Span,
        ty: Ty,
        purpose: &Purpose<'_>,
    ) -> Option<Lvalue> {
        match operand {
            Operand::Place(lvalue) if self.types.same(lvalue.ty, ty) => Some(lvalue),
            Operand::Undefined | Operand::Slot(_) => self.strict(operand, span).and(None),
            other => {
                let from = other.ty();
                if from != Ty::ERROR && ty != Ty::ERROR {
                    self.report_mismatch(from, ty, span, purpose);
                }
                None
            }
        }
    }
}
