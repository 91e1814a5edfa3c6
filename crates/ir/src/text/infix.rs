//! Expressions and places as people would write them, for comments. Lossy and short.

use std::fmt::Write;

use crate::expr::{Arg, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
use crate::ids::{ExprId, FunctionId, LocalId, TypeId};
use crate::program::{Frame, Program};
use crate::types::Type;

/// Below this many levels an expression is cut short; it also keeps cyclic garbage finite.
const MAX_LEVELS: u32 = 6;

/// Renders for one frame.
pub(super) struct Infix<'a> {
    program: &'a Program,
    frame: &'a Frame,
}

impl<'a> Infix<'a> {
    pub(super) fn new(program: &'a Program, frame: &'a Frame) -> Self {
        Infix { program, frame }
    }

    /// An expression, cut where it gets deep.
    pub(super) fn expr(&self, id: ExprId) -> String {
        let mut out = String::new();
        self.write_expr(&mut out, id, 0);
        out
    }

    /// A place, by the names of variables and fields.
    pub(super) fn place(&self, place: &Place) -> String {
        let mut out = String::new();
        self.write_place(&mut out, place, 0);
        out
    }

    /// The name of a local.
    pub(super) fn local(&self, id: LocalId) -> String {
        match self.frame.locals.get(id.index()) {
            Some(local) if !local.name.is_empty() => local.name.clone(),
            _ => id.to_string(),
        }
    }

    /// A call.
    pub(super) fn call(&self, function: FunctionId, args: &[Arg]) -> String {
        let mut out = String::new();
        self.write_call(&mut out, function, args, 0);
        out
    }

    /// A domain, as after the name of the variable.
    pub(super) fn domain(&self, domain: &Domain) -> String {
        let mut out = String::new();
        self.write_domain(&mut out, domain, 0);
        out
    }

    fn write_expr(&self, out: &mut String, id: ExprId, level: u32) {
        let Some((expr, _)) = self.program.exprs.get(id.index()) else {
            let _ = write!(out, "{id}");
            return;
        };
        if level >= MAX_LEVELS {
            out.push_str("...");
            return;
        }
        let next = level + 1;
        match expr {
            Expr::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Expr::Bool(value) => {
                let _ = write!(out, "{value}");
            }
            Expr::Undefined => out.push_str("undefined"),
            Expr::Read(place) => self.write_place(out, place, next),
            // Nearly every read stands under one, so it would only hide the rest. An operand that
            // is not an earlier one is a defect, and could lead around in a circle.
            Expr::Defined(value) if *value < id => self.write_expr(out, *value, level),
            Expr::Defined(value) => {
                let _ = write!(out, "{value}");
            }
            Expr::Unary(op, value) => {
                out.push_str(match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                    UnaryOp::BitNot => "~",
                });
                self.write_expr(out, *value, next);
            }
            Expr::Binary(op, left, right) => {
                self.write_list(out, &[*left, *right], op.symbol(), level)
            }
            Expr::And(parts) => self.write_list(out, parts, "&", level),
            Expr::Or(parts) => self.write_list(out, parts, "|", level),
            Expr::Cond(condition, yes, no) => {
                out.push('(');
                self.write_expr(out, *condition, next);
                out.push_str(" ? ");
                self.write_expr(out, *yes, next);
                out.push_str(" : ");
                self.write_expr(out, *no, next);
                out.push(')');
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => {
                out.push_str(match quantifier {
                    Quantifier::Forall => "forall ",
                    Quantifier::Exists => "exists ",
                    Quantifier::Count => "count ",
                });
                out.push_str(&self.local(*var));
                self.write_domain(out, domain, next);
                out.push_str(" do ");
                self.write_expr(out, *body, next);
                out.push_str(" end");
            }
            Expr::IsUndefined(place) => {
                out.push_str("isundefined(");
                self.write_place(out, place, next);
                out.push(')');
            }
            Expr::SameBits(a, b) => {
                self.write_place(out, a, next);
                out.push_str(" == ");
                self.write_place(out, b, next);
            }
            Expr::Call { function, args } => self.write_call(out, *function, args, next),
            Expr::Remap { value, map } => {
                let _ = write!(out, "{map}(");
                self.write_expr(out, *value, next);
                out.push(')');
            }
            Expr::InRange { value, lo, hi } => {
                self.write_expr(out, *value, next);
                let _ = write!(out, " in {lo}..{hi}");
            }
            Expr::Present { multiset, slot } => {
                out.push_str("present(");
                self.write_place(out, multiset, next);
                out.push_str(", ");
                self.write_expr(out, *slot, next);
                out.push(')');
            }
        }
    }

    fn write_list(&self, out: &mut String, parts: &[ExprId], sign: &str, level: u32) {
        if level > 0 {
            out.push('(');
        }
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                let _ = write!(out, " {sign} ");
            }
            self.write_expr(out, *part, level + 1);
        }
        if level > 0 {
            out.push(')');
        }
    }

    fn write_call(&self, out: &mut String, function: FunctionId, args: &[Arg], level: u32) {
        match self.program.functions.get(function.index()) {
            Some(function) => out.push_str(&function.name),
            None => {
                let _ = write!(out, "{function}");
            }
        }
        out.push('(');
        for (position, arg) in args.iter().enumerate() {
            if position > 0 {
                out.push_str(", ");
            }
            match arg {
                Arg::Value(value) => self.write_expr(out, *value, level + 1),
                Arg::Copy(place) => self.write_place(out, place, level + 1),
                Arg::Ref(place) => {
                    out.push('&');
                    self.write_place(out, place, level + 1);
                }
            }
        }
        out.push(')');
    }

    fn write_domain(&self, out: &mut String, domain: &Domain, level: u32) {
        match domain {
            Domain::Type(ty) => {
                let _ = write!(out, ": {ty}");
            }
            Domain::Span { from, to, by } => {
                out.push_str(" := ");
                self.write_expr(out, *from, level + 1);
                out.push_str(" to ");
                self.write_expr(out, *to, level + 1);
                match by {
                    By::Constant(1) => {}
                    By::Constant(step) => {
                        let _ = write!(out, " by {step}");
                    }
                    By::Toward => out.push_str(" toward"),
                    By::Step(step) => {
                        out.push_str(" by ");
                        self.write_expr(out, *step, level + 1);
                    }
                }
            }
        }
    }

    fn write_place(&self, out: &mut String, place: &Place, level: u32) {
        if level >= MAX_LEVELS {
            out.push_str("...");
            return;
        }
        // Field names need the type; where it is not known, numbers do.
        let mut ty: Option<TypeId> = match &place.root {
            Root::Var(id) => {
                let var = self.program.vars.get(id.index());
                match var {
                    Some(var) => out.push_str(&var.name),
                    None => {
                        let _ = write!(out, "{id}");
                    }
                }
                var.map(|var| var.ty)
            }
            Root::Local(id) => {
                out.push_str(&self.local(*id));
                let local = self.frame.locals.get(id.index());
                local.map(|local| local.kind.ty())
            }
            Root::Result { function, args, .. } => {
                self.write_call(out, *function, args, level);
                let function = self.program.functions.get(function.index());
                function.and_then(|function| function.result)
            }
        };
        for step in &place.path {
            let above = ty
                .filter(|ty| ty.index() < self.program.types.len())
                .map(|ty| self.program.types.get(ty));
            ty = match (step, above) {
                (Projection::Field(n), Some(Type::Record { fields })) => {
                    let field = fields.get(*n as usize);
                    match field {
                        Some(field) => {
                            let _ = write!(out, ".{}", field.name);
                        }
                        None => {
                            let _ = write!(out, ".{n}");
                        }
                    }
                    field.map(|field| field.ty)
                }
                (Projection::Field(n), _) => {
                    let _ = write!(out, ".{n}");
                    None
                }
                (Projection::Index(index), above) => {
                    out.push('[');
                    self.write_expr(out, *index, level + 1);
                    out.push(']');
                    match above {
                        Some(Type::Array { element, .. } | Type::Multiset { element, .. }) => {
                            Some(*element)
                        }
                        _ => None,
                    }
                }
            };
        }
    }
}
