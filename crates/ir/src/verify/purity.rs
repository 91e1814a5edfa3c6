//! The third stage: guards, properties, measures and domains of parameters do not write the state,
//! even through the functions they call, and reach no `assume` or `cover` statement and no assertion
//! that goes on.

use super::{VerifyError, VerifyErrorKind};
use crate::effects::Effects;
use crate::expr::{Arg, Expr, Place, Root};
use crate::ids::{ExprId, FunctionId};
use crate::program::{Frame, Guard, LocalKind, Param, ParamDomain, Program};
use crate::stmt::{Stmt, StmtKind};
use crate::walk::{Mention, Reach, for_each_mention, for_each_stmt};

pub(super) fn check(program: &Program, errors: &mut Vec<VerifyError>) {
    let calls = GuardTest::new(program);
    let mut check = Purity {
        calls: &calls,
        errors,
    };
    for (number, start) in program.starts.iter().enumerate() {
        let at = format!("start {number}");
        check.item(&at, &start.frame, &start.params, &[], None);
    }
    for (number, rule) in program.rules.iter().enumerate() {
        let at = format!("rule r{number} guard");
        check.guarded(&at, &rule.frame, &rule.params, &rule.guard);
    }
    for (number, property) in program.properties.iter().enumerate() {
        let at = format!("property p{number}");
        check.guarded(&at, &property.frame, &property.params, &property.condition);
    }
    for (number, measure) in program.measures.iter().enumerate() {
        let at = format!("measure {number}");
        check.item(&at, &measure.frame, &[], &measure.body, Some(measure.value));
    }
}

/// Tells whether an expression of a body could stand in a guard: neither it nor what it calls writes
/// the state or does what only bodies do.
pub struct GuardTest<'a> {
    program: &'a Program,
    effects: Effects,
    /// Functions that may run an `assume` or `cover` statement or an assertion that goes on.
    assumes: Vec<bool>,
}

impl<'a> GuardTest<'a> {
    /// For expressions of a program whose ids and places have been verified.
    pub fn new(program: &'a Program) -> Self {
        GuardTest {
            program,
            effects: Effects::of(program),
            assumes: functions_with_assumptions(program),
        }
    }

    /// Whether `id`, which stands in `frame`, could.
    pub fn passes(&self, frame: &Frame, id: ExprId) -> bool {
        let mut errors = Vec::new();
        let mut check = Purity {
            calls: self,
            errors: &mut errors,
        };
        check.item("", frame, &[], &[], Some(id));
        errors.is_empty()
    }
}

struct Purity<'a> {
    calls: &'a GuardTest<'a>,
    errors: &'a mut Vec<VerifyError>,
}

impl Purity<'_> {
    fn guarded(&mut self, at: &str, frame: &Frame, params: &[Param], guard: &Guard) {
        self.item(at, frame, params, &guard.prologue, guard.condition);
    }

    /// Checks what is evaluated in a frame: the domains of parameters, statements that only compute
    /// locals, and an expression.
    fn item(
        &mut self,
        at: &str,
        frame: &Frame,
        params: &[Param],
        block: &[Stmt],
        value: Option<ExprId>,
    ) {
        let program = self.calls.program;
        let mut reach = Reach::new(program);
        let mut exprs = Vec::new();
        let mut visit = |mention: Mention| {
            reach.visit(mention, &mut |inner| {
                if let Mention::Expr(id) = inner {
                    exprs.push(id);
                }
            });
        };
        for param in params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                multiset.for_each_mention(&mut visit);
            }
        }
        for_each_mention(block, &mut visit);
        value.map(Mention::Expr).into_iter().for_each(&mut visit);
        for_each_stmt(block, &mut |stmt| {
            each_place(stmt, &mut |place| self.place(place, frame, at));
        });
        for id in exprs {
            self.expr(program.expr(id), frame, at);
        }
    }

    fn expr(&mut self, expr: &Expr, frame: &Frame, at: &str) {
        match expr {
            Expr::Read(place) | Expr::IsUndefined(place) => self.place(place, frame, at),
            Expr::Present { multiset, .. } => self.place(multiset, frame, at),
            Expr::SameBits(a, b) => {
                self.place(a, frame, at);
                self.place(b, frame, at);
            }
            Expr::Call { function, args } => self.call(*function, args, frame, at),
            _ => {}
        }
    }

    fn place(&mut self, place: &Place, frame: &Frame, at: &str) {
        if let Root::Result { function, args, .. } = &place.root {
            self.call(*function, args, frame, at);
        }
    }

    fn call(&mut self, function: FunctionId, args: &[Arg], frame: &Frame, at: &str) {
        let effects = &self.calls.effects.functions[function.index()];
        let through_args = args.iter().zip(&effects.params).any(|(arg, param)| {
            !param.writes.is_empty()
                && match arg {
                    Arg::Ref(place) => match place.root {
                        Root::Var(_) => true,
                        // A reference of a guard hardly ever refers to anything but the state.
                        Root::Local(id) => !matches!(frame.local(id).kind, LocalKind::Value(_)),
                        Root::Result { .. } => false,
                    },
                    Arg::Value(_) | Arg::Copy(_) => false,
                }
        });
        if through_args || !effects.state.writes.is_empty() {
            let message = format!("{function} may write the state and is called from here");
            self.error(VerifyErrorKind::Impure, at, message);
        }
        if self.calls.assumes[function.index()] {
            let message = format!("{function} may do what only bodies do and is called from here");
            self.error(VerifyErrorKind::Assume, at, message);
        }
        for arg in args {
            if let Arg::Copy(place) | Arg::Ref(place) = arg {
                self.place(place, frame, at);
            }
        }
    }

    fn error(&mut self, kind: VerifyErrorKind, at: &str, message: String) {
        self.errors.push(VerifyError {
            kind,
            at: at.to_owned(),
            message,
        });
    }
}

/// Calls `visit` with the places that a statement holds itself, one that only computes locals.
fn each_place(stmt: &Stmt, visit: &mut dyn FnMut(&Place)) {
    match &stmt.kind {
        StmtKind::Assign { place, .. }
        | StmtKind::Bind { place, .. }
        | StmtKind::Clear(place)
        | StmtKind::Undefine(place) => visit(place),
        StmtKind::Copy { to, from } => {
            visit(to);
            visit(from);
        }
        _ => {}
    }
}

/// By function, whether a call may reach an `assume` or `cover` statement or an assertion that
/// goes on.
fn functions_with_assumptions(program: &Program) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        let mut assumes = false;
        for_each_stmt(&function.body, &mut |stmt| {
            assumes |= matches!(
                stmt.kind,
                StmtKind::Assume(_)
                    | StmtKind::Cover { .. }
                    | StmtKind::Assert { goes_on: true, .. }
            );
        });
        let mut reach = Reach::new(program);
        for_each_mention(&function.body, &mut |mention| {
            reach.visit(mention, &mut |inner| {
                if let Mention::Function(callee) = inner {
                    // Callees come earlier; a call of itself adds nothing.
                    assumes |= found.get(callee.index()).copied().unwrap_or(false);
                }
            });
        });
        found.push(assumes);
    }
    found
}
