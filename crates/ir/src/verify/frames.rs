//! The second stage: each function, startstate, rule, property and measure with its own locals.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::exprs::{Facts, Sort};
use super::{VerifyError, VerifyErrorKind};
use crate::ids::{ExprId, LocalId, TypeId};
use crate::program::{
    Frame, Function, Guard, LocalKind, Measure, Param, ParamDomain, ParamMode, Program,
};
use crate::stmt::{Stmt, StmtKind};
use crate::types::{Simple, SimpleKind, Type};
use crate::walk::{Mention, Reach, for_each_mention};

pub(super) fn check(program: &Program, errors: &mut Vec<VerifyError>) {
    let mut layouts = FxHashMap::default();
    let mut visit = |at: String,
                     frame: &Frame,
                     function: Option<usize>,
                     run: &mut dyn FnMut(&mut FrameCheck<'_>)| {
        run(&mut FrameCheck {
            program,
            errors,
            layouts: &mut layouts,
            frame,
            function,
            item: at.clone(),
            at,
            facts: FxHashMap::default(),
            binders: BTreeSet::new(),
            params: BTreeSet::new(),
            active: Vec::new(),
            bound: Some(BTreeSet::new()),
        });
    };
    for (number, function) in program.functions.iter().enumerate() {
        let at = format!("function f{number}");
        visit(at, &function.frame, Some(number), &mut |check| {
            check.function_item(function);
        });
    }
    for (number, start) in program.starts.iter().enumerate() {
        visit(
            format!("start {number}"),
            &start.frame,
            None,
            &mut |check| {
                check.find_binders(&[&start.body], None);
                check.param_items(&start.params);
                check.body(&start.body);
            },
        );
    }
    for (number, rule) in program.rules.iter().enumerate() {
        visit(format!("rule r{number}"), &rule.frame, None, &mut |check| {
            check.find_binders(&[&rule.guard.prologue, &rule.body], rule.guard.condition);
            check.param_items(&rule.params);
            check.guard(&rule.guard, "guard");
            check.body(&rule.body);
        });
    }
    for (number, property) in program.properties.iter().enumerate() {
        let at = format!("property p{number}");
        visit(at, &property.frame, None, &mut |check| {
            let Guard {
                prologue,
                condition,
            } = &property.condition;
            check.find_binders(&[prologue], *condition);
            check.param_items(&property.params);
            check.guard(&property.condition, "condition");
        });
    }
    for (number, measure) in program.measures.iter().enumerate() {
        let at = format!("measure {number}");
        visit(at, &measure.frame, None, &mut |check| {
            check.measure(measure);
        });
    }
}

/// The check of one item; the tables and errors are those of the whole program.
pub(super) struct FrameCheck<'a> {
    pub(super) program: &'a Program,
    errors: &'a mut Vec<VerifyError>,
    /// Answers about layouts so far: comparing types afresh each time could take exponentially
    /// long for types that share parts.
    layouts: &'a mut FxHashMap<(TypeId, TypeId), bool>,
    pub(super) frame: &'a Frame,
    /// The function whose frame it is.
    pub(super) function: Option<usize>,
    /// Path of the item, and of the part being checked.
    item: String,
    pub(super) at: String,
    /// What is known about expressions in this frame.
    pub(super) facts: FxHashMap<ExprId, Rc<Facts>>,
    /// Locals that some loop or quantifier of the frame runs over.
    pub(super) binders: BTreeSet<LocalId>,
    /// Locals that are parameters.
    pub(super) params: BTreeSet<LocalId>,
    /// Variables of the loops around the current statement, and parameters of rules.
    pub(super) active: Vec<LocalId>,
    /// References that are bound for sure; `None` where the current point cannot be reached.
    pub(super) bound: Option<BTreeSet<LocalId>>,
}

impl<'a> FrameCheck<'a> {
    pub(super) fn error(&mut self, kind: VerifyErrorKind, message: impl Into<String>) {
        self.errors.push(VerifyError {
            kind,
            at: self.at.clone(),
            message: message.into(),
        });
    }

    fn enter(&mut self, part: &str) {
        self.at = format!("{} {part}", self.item);
    }

    /// Whether two types have the same bits with the same meaning.
    pub(super) fn same_layout(&mut self, a: TypeId, b: TypeId) -> bool {
        if a == b {
            return true;
        }
        if let Some(&known) = self.layouts.get(&(a, b)) {
            return known;
        }
        let types = &self.program.types;
        let same = match (types.get(a), types.get(b)) {
            (Type::Simple(a), Type::Simple(b)) => a.same_layout(b),
            (
                Type::Array { index, element },
                Type::Array {
                    index: other_index,
                    element: other_element,
                },
            ) => {
                let n = types.simple(*index).map(Simple::len);
                let other_n = types.simple(*other_index).map(Simple::len);
                n == other_n && self.same_layout(*element, *other_element)
            }
            (Type::Record { fields }, Type::Record { fields: others }) => {
                fields.len() == others.len()
                    && fields
                        .iter()
                        .zip(others)
                        .all(|(a, b)| self.same_layout(a.ty, b.ty))
            }
            (
                Type::Multiset { capacity, element },
                Type::Multiset {
                    capacity: other_capacity,
                    element: other_element,
                },
            ) => capacity == other_capacity && self.same_layout(*element, *other_element),
            _ => false,
        };
        self.layouts.insert((a, b), same);
        same
    }

    /// The local behind an id, or an error.
    pub(super) fn local(&mut self, id: LocalId) -> Option<LocalKind> {
        let local = self.frame.locals.get(id.index());
        if local.is_none() {
            self.error(
                VerifyErrorKind::Reference,
                format!("there is no local {id}"),
            );
        }
        local.map(|local| local.kind)
    }

    /// The simple type of a value local, or an error.
    pub(super) fn simple_value_local(&mut self, id: LocalId) -> Option<&'a Simple> {
        match self.local(id)? {
            LocalKind::Value(ty) if self.program.types.simple(ty).is_some() => {
                self.program.types.simple(ty)
            }
            _ => {
                let message = format!("{id} runs over values but is no local of simple type");
                self.error(VerifyErrorKind::Place, message);
                None
            }
        }
    }

    /// A variable must hold every value of the type it runs over.
    pub(super) fn type_domain(&mut self, var: LocalId, ty: TypeId) {
        let Some(domain) = self.program.types.simple(ty) else {
            let message = format!("the domain {ty} is not a simple type");
            self.error(VerifyErrorKind::Type, message);
            return;
        };
        let Some(simple) = self.simple_value_local(var) else {
            return;
        };
        let holds = domain.is_empty() || simple.contains(domain.lo) && simple.contains(domain.hi);
        if !holds {
            let message = format!("{var} cannot hold the values of {ty}");
            self.error(VerifyErrorKind::Type, message);
        } else if Sort::of(simple) != Sort::of(domain) {
            let message = format!("{var} and the values of {ty} are of different sorts");
            self.error(VerifyErrorKind::Sort, message);
        }
    }

    /// A variable of a span must be an integer that can hold the first and last value.
    pub(super) fn integer_domain(&mut self, var: LocalId, lo: i64, hi: i64) {
        let Some(simple) = self.simple_value_local(var) else {
            return;
        };
        if simple.kind != SimpleKind::Range {
            let message = format!("{var} runs over integers but is none");
            self.error(VerifyErrorKind::Sort, message);
        } else if lo <= hi && !(simple.contains(lo) && simple.contains(hi)) {
            let message = format!("{var} cannot hold {lo}..{hi}");
            self.error(VerifyErrorKind::Type, message);
        }
    }

    fn function_item(&mut self, function: &Function) {
        if function.params.len() > function.frame.locals.len() {
            let message = "there are fewer locals than parameters";
            self.error(VerifyErrorKind::Call, message);
            return;
        }
        let locals = function.frame.locals.iter().map(|local| local.kind);
        for (number, (mode, kind)) in function.params.iter().zip(locals).enumerate() {
            let fits = matches!(
                (mode, kind),
                (ParamMode::Value, LocalKind::Value(_))
                    | (ParamMode::Ref, LocalKind::Ref(_))
                    | (ParamMode::ConstRef, LocalKind::ConstRef(_))
            );
            if !fits {
                let message = format!("l{number} does not hold what parameter {number} passes");
                self.error(VerifyErrorKind::Call, message);
            }
            self.params.insert(LocalId::new(number));
        }
        self.bound = Some(self.params.clone());
        self.find_binders(&[&function.body], None);
        self.enter("body");
        self.block(&function.body);
    }

    fn param_items(&mut self, params: &[Param]) {
        self.enter("params");
        let mut instances = Some(1u64);
        for param in params {
            if !self.params.insert(param.local) {
                let message = format!("{} is a parameter twice", param.local);
                self.error(VerifyErrorKind::Place, message);
            }
            let n = match &param.domain {
                ParamDomain::Type(ty) => {
                    self.type_domain(param.local, *ty);
                    self.program.types.simple(*ty).map_or(0, Simple::len)
                }
                ParamDomain::Span { from, to, by } => self.span_param(param.local, *from, *to, *by),
                ParamDomain::Slots { multiset, capacity } => {
                    let earlier: Vec<LocalId> = self.active.clone();
                    self.slots_param(multiset, *capacity, &earlier);
                    self.integer_domain(param.local, 0, i64::from(*capacity) - 1);
                    u64::from(*capacity)
                }
            };
            instances = instances.and_then(|product| product.checked_mul(n));
            self.active.push(param.local);
        }
        if instances.is_none() {
            let message = "the instances cannot be numbered with 64 bits";
            self.error(VerifyErrorKind::Limit, message);
        }
    }

    /// Checks a span parameter and returns the number of its values.
    fn span_param(&mut self, var: LocalId, from: i64, to: i64, by: i64) -> u64 {
        if by == 0 {
            self.error(VerifyErrorKind::Type, "a span has a step of 0");
            return 1;
        }
        let distance = (i128::from(to) - i128::from(from)) * i128::from(by.signum());
        if distance < 0 {
            self.integer_domain(var, 0, -1);
            return 0;
        }
        let steps = distance / i128::from(by).abs();
        // The last value lies between the bounds, so it is a 64-bit integer again.
        let last = (i128::from(from) + steps * i128::from(by)) as i64;
        self.integer_domain(var, from.min(last), from.max(last));
        u64::try_from(steps + 1).unwrap_or(u64::MAX)
    }

    fn guard(&mut self, guard: &Guard, part: &str) {
        self.enter(part);
        self.bound = Some(BTreeSet::new());
        for stmt in &guard.prologue {
            let allowed = match &stmt.kind {
                StmtKind::Bind { .. } => true,
                StmtKind::Assign { place, .. } => self.is_own(place),
                _ => false,
            };
            if allowed {
                self.stmt(stmt);
            } else {
                let message = "a prologue may only bind references and assign to locals";
                self.error(VerifyErrorKind::Impure, message);
            }
        }
        if let Some(condition) = guard.condition {
            self.defined(condition, Sort::Bool);
        }
    }

    fn body(&mut self, body: &[Stmt]) {
        self.enter("body");
        self.bound = Some(BTreeSet::new());
        self.block(body);
    }

    fn measure(&mut self, measure: &Measure) {
        self.find_binders(&[&measure.body], Some(measure.value));
        self.body(&measure.body);
        self.computes(&measure.body);
        self.enter("value");
        self.defined(measure.value, Sort::Int);
    }

    /// Checks that statements do nothing but compute locals.
    fn computes(&mut self, block: &[Stmt]) {
        for stmt in block {
            let is_allowed = match &stmt.kind {
                StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::While { .. }
                | StmtKind::Bind { .. } => true,
                StmtKind::Assign { place, .. }
                | StmtKind::Copy { to: place, .. }
                | StmtKind::Clear(place)
                | StmtKind::Undefine(place) => self.is_own(place),
                _ => false,
            };
            if !is_allowed {
                let message = "a measure may only compute locals";
                self.error(VerifyErrorKind::Impure, message);
            }
            stmt.for_each_block(&mut |inner| self.computes(inner));
        }
    }

    /// Collects what loops and quantifiers of the item run over, wherever they stand.
    fn find_binders(&mut self, blocks: &[&[Stmt]], condition: Option<ExprId>) {
        let program = self.program;
        let mut reach = Reach::new(program);
        let mut binders = std::mem::take(&mut self.binders);
        let mut visit = |mention: Mention| {
            reach.visit(mention, &mut |inner| {
                if let Mention::Expr(id) = inner
                    && let crate::expr::Expr::Quantified { var, .. } = program.expr(id)
                {
                    binders.insert(*var);
                }
            });
        };
        for block in blocks {
            for_each_mention(block, &mut visit);
        }
        condition
            .map(Mention::Expr)
            .into_iter()
            .for_each(&mut visit);
        for block in blocks {
            crate::walk::for_each_stmt(block, &mut |stmt| {
                if let StmtKind::For { var, .. } = &stmt.kind {
                    binders.insert(*var);
                }
            });
        }
        self.binders = binders;
    }
}
