//! Calls: arguments against parameters, and the side effects of a call.

use hadal_ir::{Arg, Expr as Ir, LocalKind, ParamMode, Place, Root, Segment, StmtKind};
use hadal_syntax::{Diagnostic, Span};

use super::Checker;
use super::functions::ParamInfo;
use super::operand::{Access, Lvalue, Operand, Origin, Purpose, ReadOnly, Undefined};
use super::report::Wanted;
use super::scope::Def;
use super::types::{Kind, Ty};
use crate::Dialect;
use crate::ast::{Expr, ExprKind, Name};

impl Checker<'_> {
    /// A call whose result is used.
    pub(super) fn call_expr(&mut self, callee: &Name, args: &[Expr], span: Span) -> Operand {
        let Some((number, args)) = self.call(callee, args, span) else {
            return Operand::Error;
        };
        let info = &self.functions[number];
        let Some(ty) = info.result else {
            let declared = info.span;
            self.report(
                Diagnostic::error(format!("`{callee}` returns no value"), span)
                    .context(declared, "declared as a procedure here"),
            );
            return Operand::Error;
        };
        let function = info.id;
        if ty == Ty::ERROR {
            return Operand::Error;
        }
        if self.types.is_simple(ty) {
            let expr = self.emit(Ir::Call { function, args }, span);
            return Operand::Value {
                expr,
                ty: self.returned(ty),
                lax: true,
            };
        }
        self.charge_local(ty, span);
        let kind = LocalKind::Value(self.types.ir(ty));
        let into = self.unit.add_local(callee, kind);
        let root = Root::Result {
            function,
            args,
            into,
            site: self.site(span),
        };
        Operand::Place(Lvalue {
            place: Place {
                root,
                path: Vec::new(),
            },
            ty,
            access: Access::ReadOnly(ReadOnly::Result, span),
            origin: Origin::Local,
        })
    }

    /// A call as a statement; a result is dropped.
    pub(super) fn call_stmt(
        &mut self,
        callee: &Name,
        args: &[Expr],
        span: Span,
    ) -> Option<StmtKind> {
        let (number, args) = self.call(callee, args, span)?;
        let function = self.functions[number].id;
        Some(StmtKind::Call { function, args })
    }

    fn call(&mut self, callee: &Name, args: &[Expr], span: Span) -> Option<(usize, Vec<Arg>)> {
        let (def, declared) = self.look_up(callee, Wanted::Function);
        let number = match def {
            Def::Function(number) => number,
            other => {
                if !matches!(other, Def::Error) {
                    self.report(
                        Diagnostic::error(format!("`{callee}` is not a function"), callee.span)
                            .context(declared, "declared here"),
                    );
                }
                for arg in args {
                    self.expr(arg);
                }
                return None;
            }
        };
        let params = self.functions[number].params.clone();
        if params.len() != args.len() {
            let plural = if params.len() == 1 { "" } else { "s" };
            let message = format!(
                "`{callee}` takes {} argument{plural}, not {}",
                params.len(),
                args.len()
            );
            self.report(Diagnostic::error(message, span).context(declared, "declared here"));
            for arg in args {
                self.expr(arg);
            }
            return None;
        }
        let mut lowered = Some(Vec::with_capacity(args.len()));
        for (idx, (arg, param)) in args.iter().zip(params.iter()).enumerate() {
            let value = self.arg(arg, param, (number, idx));
            match (&mut lowered, value) {
                (Some(lowered), Some(value)) => lowered.push(value),
                _ => lowered = None,
            }
        }
        self.take_effects(number, callee, span);
        Some((number, lowered?))
    }

    fn arg(&mut self, arg: &Expr, param: &ParamInfo, number: (usize, usize)) -> Option<Arg> {
        let operand = self.expr(arg);
        if param.ty == Ty::ERROR {
            return None;
        }
        let wanted = self.types.described(param.ty);
        let purpose = Purpose {
            wants: "the argument must be a",
            context: Some((param.span, format!("the parameter is {wanted}"))),
            note: (param.mode == ParamMode::Ref)
                .then_some("a `var` parameter needs a variable of exactly its type"),
        };
        match param.mode {
            ParamMode::Ref => self.reference_arg(operand, arg, param, &purpose, number),
            ParamMode::Value => {
                // A copy of the very same type keeps what is undefined; so does any in our own
                // dialect.
                let needs_value = self.dialect == Dialect::Cmurphi
                    && matches!(&operand, Operand::Place(lvalue) if lvalue.ty != param.ty);
                if needs_value && self.types.is_simple(param.ty) {
                    let undefined = Undefined::Fault;
                    let value = self.convert(operand, arg.span, param.ty, undefined, &purpose)?;
                    return Some(Arg::Value(value));
                }
                self.value_arg(operand, arg.span, param.ty, &purpose)
            }
            ParamMode::ConstRef => self.constant_arg(operand, arg.span, param, &purpose),
        }
    }

    /// An argument for a `var` parameter.
    fn reference_arg(
        &mut self,
        operand: Operand,
        arg: &Expr,
        param: &ParamInfo,
        purpose: &Purpose<'_>,
        (number, idx): (usize, usize),
    ) -> Option<Arg> {
        if matches!(operand, Operand::Error) {
            return None;
        }
        let ExprKind::Designator(designator) = &arg.kind else {
            self.report(
                Diagnostic::error("a `var` parameter needs a variable", arg.span)
                    .label("this is a value")
                    .context(param.span, "the parameter"),
            );
            return None;
        };
        let base = &designator.base;
        let from = operand.ty();
        if from != Ty::ERROR && !self.is_exactly(from, param.ty) {
            self.report_mismatch(from, param.ty, arg.span, purpose);
            return None;
        }
        // The callee is still being lowered and may yet write it.
        let callee = &self.functions[number];
        let writes = callee.is_open || callee.effects.params[idx].is_some();
        let write = callee.effects.params[idx];
        let callee_name = callee.name.clone();
        if let (Some(what), Operand::Place(lvalue)) = (self.unit.pure, &operand)
            && lvalue.origin == Origin::State
            && writes
        {
            let message = format!("{what} calls `{callee_name}`, which writes `{base}`");
            let mut diagnostic = Diagnostic::error(message, arg.span);
            if let Some(write) = write {
                diagnostic = diagnostic.context(write, "written here");
            }
            self.report(
                diagnostic.note("only the body of a rule or startstate may change the state"),
            );
            return None;
        }
        let recorded = self.unit.effects.clone();
        let message = format!("cannot pass `{base}` to a `var` parameter");
        let lvalue = self.writable(operand, base, arg.span, &message);
        if !writes {
            self.unit.effects = recorded;
        }
        Some(Arg::Ref(lvalue?.place))
    }

    /// An argument for a parameter that is implemented as a reference.
    fn constant_arg(
        &mut self,
        operand: Operand,
        span: Span,
        param: &ParamInfo,
        purpose: &Purpose<'_>,
    ) -> Option<Arg> {
        if !self.types.is_simple(param.ty) {
            let lvalue = self.aggregate(operand, span, param.ty, purpose)?;
            return Some(Arg::Ref(lvalue.place));
        }
        if let Operand::Place(lvalue) = &operand
            && self.is_exactly(lvalue.ty, param.ty)
        {
            return Some(Arg::Ref(lvalue.place.clone()));
        }
        let undefined = match operand {
            Operand::Undefined => Undefined::PassedOn,
            _ => Undefined::Fault,
        };
        let value = self.convert(operand, span, param.ty, undefined, purpose)?;
        // Checked before the call, whose own message would name the function that boxes.
        let value = match *self.types.kind(param.ty) {
            Kind::Range { lo, hi } => {
                let segments = vec![Segment { lo, hi, to: lo }];
                let map = self.map(Ty::INTEGER, param.ty, segments);
                self.emit(Ir::Remap { value, map }, span)
            }
            _ => value,
        };
        let boxing = param.boxing?;
        let result = self.program.functions[boxing.index()].result?;
        let into = self.unit.add_local("argument", LocalKind::Value(result));
        let root = Root::Result {
            function: boxing,
            args: vec![Arg::Value(value)],
            into,
            site: self.site(span),
        };
        let place = Place {
            root,
            path: Vec::new(),
        };
        Some(Arg::Ref(place.field(0)))
    }

    /// Whether a variable of one type can be given for a `var` parameter of another.
    fn is_exactly(&self, a: Ty, b: Ty) -> bool {
        let both_ranges = matches!(
            (self.types.kind(a), self.types.kind(b)),
            (Kind::Range { .. }, Kind::Range { .. })
        );
        if both_ranges && self.dialect == Dialect::Cmurphi {
            return a == b;
        }
        self.types.same(a, b)
    }

    /// What the callee does is done here.
    fn take_effects(&mut self, number: usize, callee: &Name, span: Span) {
        let info = &self.functions[number];
        let (write, special) = (info.effects.write.clone(), info.effects.special);
        if let Some(what) = self.unit.pure {
            if let Some((variable, written)) = &write {
                let message = format!("{what} calls `{callee}`, which writes `{variable}`");
                self.report(
                    Diagnostic::error(message, span)
                        .context(*written, format!("`{variable}` is written here"))
                        .note("only the body of a rule or startstate may change the state"),
                );
            }
            if let Some((word, place)) = special {
                let message = format!("{what} calls `{callee}`, which has a statement `{word}`");
                self.report(
                    Diagnostic::error(message, span)
                        .context(place, "here")
                        .note(format!("`{word}` is a statement for bodies of rules")),
                );
            }
        }
        let effects = &mut self.unit.effects;
        effects.write = effects.write.take().or(write);
        effects.special = effects.special.or(special);
    }
}
