//! Declarations of constants, types and variables, global and local.

use hadal_ir::types::MAX_STATE_BITS;
use hadal_ir::verify::MAX_TYPE_PARTS;
use hadal_ir::{LocalKind, Place, Var, VarId};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::operand::{Access, Origin};
use super::scope::{Def, Object};
use super::types::Ty;
use crate::ast::{Decl, TypeDecl, TypeKind, VarDecl};

impl Checker<'_> {
    /// A declaration at the top level.
    pub(super) fn global(&mut self, decl: &Decl) {
        match decl {
            Decl::Const(decl) => self.const_decl(decl, true),
            Decl::Type(decl) => self.type_decl(decl),
            Decl::Var(decl) => self.global_vars(decl),
        }
    }

    /// Declarations inside a rule or function, in its scope.
    pub(super) fn locals(&mut self, decls: &[Decl]) {
        for decl in decls {
            match decl {
                Decl::Const(decl) => self.const_decl(decl, false),
                Decl::Type(decl) => self.type_decl(decl),
                Decl::Var(decl) => self.local_vars(decl),
            }
        }
    }

    fn type_decl(&mut self, decl: &TypeDecl) {
        let name = decl.names.first();
        let ty = self.type_expr_named(&decl.ty, name.map(|name| &*name.text));
        // A name for a name is the same type; anything else gets its name here.
        let is_new = !matches!(decl.ty.kind, TypeKind::Name(_) | TypeKind::Boolean);
        if is_new
            && ty != Ty::ERROR
            && let Some(name) = name
        {
            self.types.set_name(ty, name.text.clone(), name.span);
        }
        for name in &decl.names {
            self.declare(name, Def::Type(ty));
        }
    }

    fn global_vars(&mut self, decl: &VarDecl) {
        let ty = self.type_expr(&decl.ty);
        for name in &decl.names {
            let ir = self.types.ir(ty);
            self.check_parts(ty, name.span);
            let bits = self.program.types.bits(ir);
            let before = self.state_bits;
            let after = before.saturating_add(bits);
            if after > MAX_STATE_BITS && before <= MAX_STATE_BITS {
                self.report(
                    Diagnostic::error("the state is too large", name.span)
                        .label(format!("with `{name}` it has {} bits", shown_bits(after)))
                        .note(format!("a state can have {MAX_STATE_BITS} bits")),
                );
            }
            self.program.vars.push(Var {
                name: name.to_string(),
                ty: ir,
            });
            self.state_bits = after;
            let var = VarId::new(self.program.vars.len() - 1);
            let object = Object {
                place: Place::var(var),
                ty,
                access: Access::Writable,
                origin: Origin::State,
                expansion: None,
            };
            self.declare(name, def(object));
        }
    }

    /// Rejects types that no variable can have.
    pub(super) fn check_parts(&mut self, ty: Ty, span: Span) {
        let n_parts = self.types.n_parts(ty);
        if n_parts > MAX_TYPE_PARTS {
            let name = self.types.name(ty);
            self.report(
                Diagnostic::error(format!("`{name}` is too large for a variable"), span)
                    .note(format!("a variable can have {MAX_TYPE_PARTS} parts")),
            );
        }
    }

    fn local_vars(&mut self, decl: &VarDecl) {
        let ty = self.type_expr(&decl.ty);
        for name in &decl.names {
            let ir = self.types.ir(ty);
            self.charge_local(ty, name.span);
            let local = self.unit.add_local(name, LocalKind::Value(ir));
            let object = Object {
                place: Place::local(local),
                ty,
                access: Access::Writable,
                origin: Origin::Local,
                expansion: None,
            };
            self.declare(name, def(object));
        }
    }

    /// Counts the bits of a local that holds a value.
    pub(super) fn charge_local(&mut self, ty: Ty, span: Span) {
        self.check_parts(ty, span);
        let bits = self.program.types.bits(self.types.ir(ty));
        let before = self.unit.bits;
        let after = before.saturating_add(bits);
        self.unit.bits = after;
        if after > MAX_STATE_BITS && before <= MAX_STATE_BITS {
            self.report(
                Diagnostic::error("the local variables are too large", span)
                    .label(format!(
                        "with this one they have {} bits",
                        shown_bits(after)
                    ))
                    .note(format!("they can have {MAX_STATE_BITS} bits")),
            );
        }
    }
}

/// The definition of an object; of something reported, if its type was.
pub(super) fn def(object: Object) -> Def {
    match object.ty {
        Ty::ERROR => Def::Error,
        _ => Def::Object(object),
    }
}

/// A figure for people: sums stop at the largest one.
fn shown_bits(bits: u64) -> String {
    match bits {
        u64::MAX => "more than 2^64".to_owned(),
        bits => bits.to_string(),
    }
}
