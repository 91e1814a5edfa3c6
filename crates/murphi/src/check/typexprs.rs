//! Types as they are written, made into types.

use std::sync::Arc;

use hadal_ir::verify::MAX_TYPE_DEPTH;
use hadal_syntax::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Checker;
use super::report::Wanted;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::ast::{Expr, Name, TypeExpr, TypeKind, VarDecl};

/// Values of all unions of a model together; each has its name, so they cost memory.
const UNION_VALUES_MAX: usize = 1 << 22;

impl Checker<'_> {
    /// A type without a name of its own.
    pub(super) fn type_expr(&mut self, expr: &TypeExpr) -> Ty {
        self.type_expr_named(expr, None)
    }

    /// A type that a declaration gives a name to.
    pub(super) fn type_expr_named(&mut self, expr: &TypeExpr, name: Option<&str>) -> Ty {
        let ty = match &expr.kind {
            TypeKind::Boolean => Ty::BOOLEAN,
            TypeKind::Name(name) => self.named_type(name),
            TypeKind::Range { lo, hi } => self.range_type(lo, hi, expr.span),
            TypeKind::Enum(members) => self.enum_type(members),
            TypeKind::Record(fields) => self.record_type(fields),
            TypeKind::Array { index, element } => self.array_type(index, element),
            TypeKind::Scalarset(size) => self.scalarset_type(size, name),
            TypeKind::Union(members) => self.union_type(members, expr.span),
            TypeKind::Multiset { bound, element } => self.multiset_type(bound, element),
            TypeKind::Real(_) => {
                self.report(Diagnostic::error("real types are not supported", expr.span));
                Ty::ERROR
            }
            TypeKind::Error => Ty::ERROR,
        };
        if self.types.depth(ty) > MAX_TYPE_DEPTH {
            let message = format!("types are nested more than {MAX_TYPE_DEPTH} deep");
            self.report(Diagnostic::error(message, expr.span));
            return Ty::ERROR;
        }
        ty
    }

    fn named_type(&mut self, name: &Name) -> Ty {
        let (def, declared) = self.look_up(name, Wanted::Type);
        match def {
            Def::Type(ty) => ty,
            Def::Error => Ty::ERROR,
            _ => {
                self.report(
                    Diagnostic::error(format!("`{name}` is not a type"), name.span)
                        .context(declared, "declared here"),
                );
                Ty::ERROR
            }
        }
    }

    fn range_type(&mut self, lo: &Expr, hi: &Expr, span: Span) -> Ty {
        let least = self.constant_number(lo, "the bound of a range");
        let greatest = self.constant_number(hi, "the bound of a range");
        let (Some(least), Some(greatest)) = (least, greatest) else {
            return Ty::ERROR;
        };
        if greatest < least {
            self.report(
                Diagnostic::error(format!("the range {least}..{greatest} is empty"), span)
                    .label("the upper bound is less than the lower one"),
            );
            return Ty::ERROR;
        }
        // Undefined needs a value of its own, and values have at most 63 bits.
        let n_values = i128::from(greatest) - i128::from(least) + 1;
        if n_values >= 1 << 63 {
            let message = format!("the range {least}..{greatest} has too many values");
            self.report(Diagnostic::error(message, span).note("a type can have 2^63 - 1 values"));
            return Ty::ERROR;
        }
        self.number(least);
        self.number(greatest);
        self.types.range(&mut self.program.types, least, greatest)
    }

    fn enum_type(&mut self, members: &[Name]) -> Ty {
        self.number(members.len() as i64);
        let names: Vec<Arc<str>> = members.iter().map(|name| name.text.clone()).collect();
        let ty = self.types.enumeration(&mut self.program.types, names);
        for (idx, name) in members.iter().enumerate() {
            let value = idx as i64;
            self.declare(name, Def::Const { value, ty });
        }
        ty
    }

    fn record_type(&mut self, decls: &[VarDecl]) -> Ty {
        let mut fields = Vec::new();
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for decl in decls {
            let ty = self.type_expr(&decl.ty);
            for name in &decl.names {
                if let Some(&earlier) = seen.get(&**name) {
                    self.report(
                        Diagnostic::error(format!("two fields are named `{name}`"), name.span)
                            .label("declared again here")
                            .context(earlier, "first declared here"),
                    );
                    continue;
                }
                seen.insert(name, name.span);
                fields.push((name.text.clone(), ty));
            }
        }
        self.types.record(&mut self.program.types, fields)
    }

    fn array_type(&mut self, index: &TypeExpr, element: &TypeExpr) -> Ty {
        let index_ty = self.type_expr(index);
        let element_ty = self.type_expr(element);
        if !self.types.is_simple(index_ty) {
            let found = self.types.described(index_ty);
            self.report(
                Diagnostic::error("the index of an array must be of a simple type", index.span)
                    .label(format!("this is {found}")),
            );
            return Ty::ERROR;
        }
        if self.types.bounds(index_ty).is_some_and(|(lo, hi)| hi < lo) {
            let message = "the index type of an array has no value";
            self.report(Diagnostic::error(message, index.span));
            return Ty::ERROR;
        }
        if index_ty == Ty::ERROR || element_ty == Ty::ERROR {
            return Ty::ERROR;
        }
        self.types
            .array(&mut self.program.types, index_ty, element_ty)
    }

    fn scalarset_type(&mut self, size: &Expr, name: Option<&str>) -> Ty {
        let Some(value) = self.constant_number(size, "the size of a scalarset") else {
            return Ty::ERROR;
        };
        let size = match u32::try_from(value) {
            Ok(size) if size > 0 => size,
            _ => {
                let message = format!("a scalarset cannot have {value} elements");
                self.report(Diagnostic::error(message, size.span));
                return Ty::ERROR;
            }
        };
        self.n_scalarsets += 1;
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("scalarset{}", self.n_scalarsets),
        };
        self.types.scalarset(&mut self.program.types, &name, size)
    }

    fn union_type(&mut self, members: &[TypeExpr], span: Span) -> Ty {
        let mut tys: Vec<Ty> = Vec::new();
        let mut classes = FxHashSet::default();
        let mut is_good = true;
        for member in members {
            let ty = self.type_expr(member);
            let n_values = match self.types.kind(ty) {
                Kind::Enum(_) | Kind::Scalarset { .. } => self.types.n_values(ty).unwrap_or(0),
                Kind::Error => {
                    is_good = false;
                    continue;
                }
                _ => {
                    let found = self.types.described(ty);
                    self.report(
                        Diagnostic::error(
                            "the members of a union are enumerations and scalarsets",
                            member.span,
                        )
                        .label(format!("this is {found}")),
                    );
                    is_good = false;
                    continue;
                }
            };
            if !classes.insert(self.types.class_of(ty)) {
                let message = "this type is a member of the union already";
                self.report(Diagnostic::error(message, member.span));
                is_good = false;
                continue;
            }
            if let Kind::Enum(_) = self.types.kind(ty) {
                self.n_union_values += n_values as usize;
            }
            tys.push(ty);
        }
        if is_good && tys.len() < 2 {
            self.report(Diagnostic::error("a union needs two members or more", span));
            is_good = false;
        }
        if is_good && self.n_union_values > UNION_VALUES_MAX {
            self.report(Diagnostic::error(
                "the unions of this model have too many values",
                span,
            ));
            is_good = false;
        }
        match is_good {
            true => self.types.union(&mut self.program.types, tys),
            false => Ty::ERROR,
        }
    }

    fn multiset_type(&mut self, bound: &Expr, element: &TypeExpr) -> Ty {
        let capacity = self.constant_number(bound, "the bound of a multiset");
        let element = self.type_expr(element);
        let Some(value) = capacity else {
            return Ty::ERROR;
        };
        let capacity = match u32::try_from(value) {
            Ok(capacity) if capacity > 0 => capacity,
            _ => {
                let message = format!("a multiset cannot have room for {value} elements");
                self.report(Diagnostic::error(message, bound.span));
                return Ty::ERROR;
            }
        };
        if element == Ty::ERROR {
            return Ty::ERROR;
        }
        self.types
            .multiset(&mut self.program.types, capacity, element)
    }
}
