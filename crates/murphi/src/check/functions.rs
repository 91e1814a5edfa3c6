//! Functions and procedures: their signatures and bodies.

use std::sync::Arc;

use hadal_ir::{
    Expr as Ir, Field, Frame, Function as IrFunction, FunctionId, LocalKind, ParamMode, Place,
    ReturnValue, Stmt as IrStmt, StmtKind as IrStmtKind, Type,
};
use hadal_syntax::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::Checker;
use super::declarations::def;
use super::operand::{Access, Origin, ReadOnly};
use super::scope::{Def, Object};
use super::types::Ty;
use super::unit::{Effects, Returns};
use crate::ast::{Decl, ExternFunction, Function, Param, Stmt, StmtKind};

/// The signature and effects of a function.
#[derive(Debug)]
pub(super) struct FunctionInfo {
    pub(super) id: FunctionId,
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    pub(super) params: Arc<[ParamInfo]>,
    pub(super) result: Option<Ty>,
    pub(super) effects: Effects,
    /// Its body is being lowered, so that its effects are not known yet.
    pub(super) is_open: bool,
}

/// The signature of a parameter.
#[derive(Debug, Clone)]
pub(super) struct ParamInfo {
    pub(super) span: Span,
    pub(super) ty: Ty,
    pub(super) mode: ParamMode,
    /// For a reference to a simple value: what makes a place of an argument that is none.
    pub(super) boxing: Option<FunctionId>,
}

impl Checker<'_> {
    /// C++ has no place in a model that others should be able to check.
    pub(super) fn extern_function(&mut self, function: &ExternFunction) {
        let message = format!("external function `{}` is not supported", function.name);
        self.report(
            Diagnostic::error(message, function.name.span)
                .help("write it in the language of the model"),
        );
        self.declare(&function.name, Def::Error);
    }

    /// A function or procedure.
    pub(super) fn function(&mut self, function: &Function) {
        let outer = std::mem::take(&mut self.unit);
        self.scopes.push();
        let number = self.signature(function);
        let returns = match self.functions[number].result {
            Some(ty) => {
                let span = function
                    .result
                    .as_ref()
                    .map_or(function.name.span, |ty| ty.span);
                Returns::Value(ty, span)
            }
            None => Returns::Nothing,
        };
        self.unit.returns = returns;
        self.locals(&function.decls);
        let body = self.block(&function.body);
        for param in &function.params {
            for name in &param.names {
                self.warn_unused(name, "parameter", None);
            }
        }
        if function.result.is_some() && !self.unit.has_end && self.tree_is_whole {
            let message = format!("function `{}` never returns a value", function.name);
            self.report(
                Diagnostic::warning(message, function.name.span)
                    .note("to reach the end of a function is a fault"),
            );
        }
        self.scopes.pop();
        let unit = std::mem::replace(&mut self.unit, outer);
        let info = &mut self.functions[number];
        info.is_open = false;
        info.effects = unit.effects;
        self.some_function_writes |=
            info.effects.write.is_some() || info.effects.params.iter().any(Option::is_some);
        let lowered = &mut self.program.functions[info.id.index()];
        lowered.frame = unit.frame;
        lowered.body = body;
    }

    /// Declares a function and its parameters; what follows may call it.
    fn signature(&mut self, function: &Function) -> usize {
        let is_reference =
            self.dialect.value_parameters_are_references() && self.may_write(function);
        let mut params = Vec::new();
        for param in &function.params {
            let ty = self.type_expr(&param.ty);
            let mode = match (param.by_reference, is_reference) {
                (true, _) => ParamMode::Ref,
                (false, true) => ParamMode::ConstRef,
                (false, false) => ParamMode::Value,
            };
            self.params(param, ty, mode, &mut params);
        }
        let result = function.result.as_ref().map(|ty| self.type_expr(ty));
        if let (Some(ty), Some(expr)) = (result, &function.result) {
            self.charge_local(ty, expr.span);
        }
        let site = self.site(function.name.span);
        let id = FunctionId::new(self.program.functions.len());
        self.program.functions.push(IrFunction {
            name: function.name.to_string(),
            params: params.iter().map(|param: &ParamInfo| param.mode).collect(),
            result: result.map(|ty| self.types.ir(self.returned(ty))),
            frame: self.unit.frame.clone(),
            body: Vec::new(),
            site,
        });
        self.unit.effects.params = vec![None; params.len()];
        self.functions.push(FunctionInfo {
            id,
            name: function.name.text.clone(),
            span: function.name.span,
            effects: self.unit.effects.clone(),
            params: params.into(),
            result,
            is_open: true,
        });
        let number = self.functions.len() - 1;
        let name = &function.name;
        let declared = self
            .scopes
            .declare_global(&name.text, Def::Function(number), name.span);
        if let Err(earlier) = declared {
            self.report(
                Diagnostic::error(format!("`{name}` is declared twice"), name.span)
                    .label("declared again here")
                    .context(earlier, "first declared here"),
            );
        }
        number
    }

    /// The type of the values that a function returns, given that of its result.
    pub(super) fn returned(&self, ty: Ty) -> Ty {
        match self.dialect.returns_unchecked() && self.types.is_number(ty) {
            true => Ty::INTEGER,
            false => ty,
        }
    }

    fn params(&mut self, param: &Param, ty: Ty, mode: ParamMode, params: &mut Vec<ParamInfo>) {
        let ir = self.types.ir(ty);
        let kind = match mode {
            ParamMode::Value => LocalKind::Value(ir),
            ParamMode::Ref => LocalKind::Ref(ir),
            ParamMode::ConstRef => LocalKind::ConstRef(ir),
        };
        for name in &param.names {
            self.charge_local(ty, name.span);
            let local = self.unit.add_local(name, kind);
            let (access, origin) = match mode {
                ParamMode::Ref => (Access::Writable, Origin::Param(params.len())),
                _ => (
                    Access::ReadOnly(ReadOnly::Parameter, name.span),
                    Origin::Local,
                ),
            };
            let object = Object {
                place: Place::local(local),
                ty,
                access,
                origin,
                expansion: None,
            };
            self.declare(name, def(object));
            let boxing =
                (mode == ParamMode::ConstRef && self.types.is_simple(ty)).then(|| self.boxing(ty));
            params.push(ParamInfo {
                span: name.span,
                ty,
                mode,
                boxing,
            });
        }
    }

    /// The function that puts a simple value into a record, so that a place of it can be passed.
    fn boxing(&mut self, ty: Ty) -> FunctionId {
        let ir = self.types.ir(ty);
        if let Some(&function) = self.boxings.get(&ir) {
            return function;
        }
        let record = self.program.types.add(Type::Record {
            fields: vec![Field {
                name: "value".to_owned(),
                ty: ir,
            }],
        });
        let mut frame = Frame::default();
        let value = frame.add("value", LocalKind::Value(ir));
        let result = frame.add("result", LocalKind::Value(record));
        let nowhere = Span::default();
        let read = self.emit(Ir::Read(Place::local(value)), nowhere);
        let site = self.site(nowhere);
        let body = [
            IrStmtKind::Assign {
                place: Place::local(result).field(0),
                value: read,
            },
            IrStmtKind::Return(ReturnValue::Copy(Place::local(result))),
        ];
        let function = FunctionId::new(self.program.functions.len());
        self.program.functions.push(IrFunction {
            name: format!("value of {}", self.types.name(ty)),
            params: vec![ParamMode::Value],
            result: Some(record),
            frame,
            body: body.map(|kind| IrStmt { kind, site }).into(),
            site,
        });
        self.boxings.insert(ir, function);
        function
    }

    /// Whether a function may write something that it did not declare, judged by its text.
    /// If not, a reference cannot be distinguished from a copy.
    fn may_write(&self, function: &Function) -> bool {
        let mut own: FxHashSet<&str> = FxHashSet::default();
        for decl in &function.decls {
            if let Decl::Var(decl) = decl {
                own.extend(decl.names.iter().map(|name| &**name));
            }
        }
        let mut may_write = false;
        for_each_stmt(&function.body, &mut |stmt| {
            may_write |= match &stmt.kind {
                StmtKind::Assign {
                    target: written, ..
                }
                | StmtKind::Clear(written)
                | StmtKind::Undefine(written)
                | StmtKind::MultisetAdd {
                    multiset: written, ..
                }
                | StmtKind::MultisetRemove {
                    multiset: written, ..
                }
                | StmtKind::MultisetRemovePred {
                    multiset: written, ..
                } => !own.contains(&*written.base),
                StmtKind::Call { .. } => true,
                _ => false,
            };
        });
        may_write || self.some_function_writes
    }
}

/// Calls `visit` with every statement, those inside others included.
pub(super) fn for_each_stmt<'a>(stmts: &'a [Stmt], visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in stmts {
        visit(stmt);
        match &stmt.kind {
            StmtKind::If {
                branches,
                otherwise,
            } => {
                for branch in branches {
                    for_each_stmt(&branch.body, visit);
                }
                for_each_stmt(otherwise.as_deref().unwrap_or(&[]), visit);
            }
            StmtKind::Switch {
                cases, otherwise, ..
            } => {
                for case in cases {
                    for_each_stmt(&case.body, visit);
                }
                for_each_stmt(otherwise.as_deref().unwrap_or(&[]), visit);
            }
            StmtKind::For { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::Alias { body, .. } => for_each_stmt(body, visit),
            _ => {}
        }
    }
}
