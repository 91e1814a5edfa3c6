//! `formula` and `control`: how far a state is from violating an invariant or an assertion.
//!
//! An invariant is violated where its condition is false for some instance, an assertion where it is
//! false, its rule is enabled and its body comes to it.

use hadal_ir::expr::Expr;
use hadal_ir::ids::ExprId;
use hadal_ir::program::PropertyKind;
use hadal_ir::stmt::{Block, Stmt, StmtKind};
use hadal_ir::verify::GuardTest;
use hadal_ir::walk::for_each_stmt;
use hadal_ir::{LocalId, Program, Property};
use hadal_model::FaultKind;

use crate::builder::{Builder, Combine};
use crate::control::ControlGraphs;
use crate::copy::Copier;
use crate::distance::{Distance, Measuring};

/// What a search may be directed at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aims {
    /// Invariants, by number among the properties.
    pub(crate) invariants: Vec<usize>,
    /// Assertions and error statements in the bodies of rules.
    pub(crate) assertions: Vec<Assertion>,
}

/// An assertion in the body of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assertion {
    /// The number of the rule.
    rule: usize,
    /// Conditions of the arms that lead to it, and whether they are true there.
    way: Vec<(ExprId, bool)>,
    /// What fails where it is false; `None` fails always, as far as an estimate can tell.
    condition: Option<ExprId>,
    /// What it says.
    message: String,
}

impl Aims {
    /// What the properties and rules of a program ask for.
    pub(crate) fn of(program: &Program) -> Self {
        let is_invariant = |property: &Property| property.kind == PropertyKind::Invariant;
        let properties = program.properties.iter().enumerate();
        let invariants = properties.filter(|(_, it)| is_invariant(it));
        let mut assertions: Vec<Assertion> = Vec::new();
        let guards = GuardTest::new(program);
        for (number, rule) in program.rules.iter().enumerate() {
            let n_before = assertions.len();
            add_assertions(number, &rule.body, &mut Vec::new(), &mut assertions);
            // What a body may call, an estimate may not: it changes nothing.
            let is_readable = |id: &ExprId| guards.passes(&rule.frame, *id);
            for assertion in &mut assertions[n_before..] {
                assertion
                    .way
                    .retain(|(condition, _)| is_readable(condition));
                assertion.condition = assertion.condition.filter(is_readable);
            }
        }
        Aims {
            invariants: invariants.map(|(number, _)| number).collect(),
            assertions,
        }
    }

    /// Those of a name, or the names that there are.
    pub(crate) fn named(&self, program: &Program, name: &str) -> Result<Self, Vec<String>> {
        let of_invariant = |number: &usize| &program.properties[*number].name;
        let invariants = self.invariants.iter().copied();
        let named = Aims {
            invariants: invariants.filter(|it| of_invariant(it) == name).collect(),
            assertions: {
                let assertions = self.assertions.iter().filter(|it| it.message == name);
                assertions.cloned().collect()
            },
        };
        if !named.is_empty() {
            return Ok(named);
        }
        let invariants = self.invariants.iter().map(of_invariant);
        let assertions = self.assertions.iter().map(|it| &it.message);
        let mut known: Vec<String> = invariants
            .chain(assertions)
            .map(|name| format!("`{name}`"))
            .collect();
        known.sort_unstable();
        known.dedup();
        Err(known)
    }

    /// Those whose distance has more than two values, if there are any: one that is always one step
    /// away would hide how far the others are.
    pub(crate) fn telling(self, program: &Program, control: &ControlGraphs) -> Self {
        let measuring = Measuring {
            conjunction: Combine::Sum,
            control,
            only_control: false,
        };
        let tells = |alone: Aims| {
            let mut program = program.clone();
            let mut builder = Builder::new(&mut program);
            builder.formula(&mut Block::new(), measuring, &alone);
            builder.n_terms > 1
        };
        let invariants = self.invariants.iter().copied();
        let assertions = self.assertions.iter();
        let telling = Aims {
            invariants: invariants
                .filter(|&number| {
                    tells(Aims {
                        invariants: vec![number],
                        assertions: Vec::new(),
                    })
                })
                .collect(),
            assertions: assertions
                .filter(|&assertion| {
                    tells(Aims {
                        invariants: Vec::new(),
                        assertions: vec![assertion.clone()],
                    })
                })
                .cloned()
                .collect(),
        };
        match telling.is_empty() {
            true => self,
            false => telling,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.invariants.is_empty() && self.assertions.is_empty()
    }
}

/// Adds the assertions of a block. A condition behind a statement is taken for what it is before it:
/// this is an estimate.
fn add_assertions(
    rule: usize,
    block: &[Stmt],
    way: &mut Vec<(ExprId, bool)>,
    assertions: &mut Vec<Assertion>,
) {
    for stmt in block {
        let mut add = |condition, message: &String| {
            assertions.push(Assertion {
                rule,
                way: way.clone(),
                condition,
                message: message.clone(),
            });
        };
        match &stmt.kind {
            StmtKind::Assert {
                condition, message, ..
            } => add(Some(*condition), message),
            StmtKind::Error {
                kind: FaultKind::Error,
                message,
            } => add(None, message),
            StmtKind::If { arms, otherwise } => {
                let n_before = way.len();
                for (condition, block) in arms {
                    way.push((*condition, true));
                    add_assertions(rule, block, way, assertions);
                    way.pop();
                    way.push((*condition, false));
                }
                add_assertions(rule, otherwise, way, assertions);
                way.truncate(n_before);
            }
            // What an iteration asserts is about its own values.
            _ => {}
        }
    }
}

impl Builder<'_> {
    /// The distance to the nearest of some aims.
    pub(crate) fn formula(
        &mut self,
        block: &mut Block,
        measuring: Measuring<'_>,
        aims: &Aims,
    ) -> Distance {
        let least = self.new_number();
        let far = self.far;
        self.assign_int(block, least, far);
        for &number in &aims.invariants {
            let property = self.program.properties[number].clone();
            let mut copier = Copier::new(&property.frame);
            self.for_instances(
                block,
                &mut copier,
                &property.params,
                &mut |this, copier, inner| {
                    let prologue = &property.condition.prologue;
                    let prologue = copier.block(this.program, &mut this.frame, prologue);
                    inner.extend(prologue);
                    let distance = match property.condition.condition {
                        Some(condition) => {
                            let condition = this.copied(copier, condition);
                            this.distance(inner, measuring, condition, false)
                        }
                        None => Distance::Never,
                    };
                    this.take_least(inner, least, distance);
                },
            );
        }
        for assertion in &aims.assertions {
            self.for_rule(block, assertion.rule, None, &mut |this, copier, inner| {
                let locals = written_locals(this.program, assertion.rule);
                let guard = this.program.rules[assertion.rule].guard.condition;
                let guard = guard.map(|condition| (condition, true));
                let failing = assertion.condition.map(|condition| (condition, false));
                let parts = guard.into_iter().chain(assertion.way.iter().copied());
                let parts: Vec<(ExprId, bool)> = parts.chain(failing).collect();
                let mut distances = Vec::new();
                for (position, (part, wanted)) in parts.into_iter().enumerate() {
                    // What the body computes first is not known.
                    let is_guard = position == 0 && guard.is_some();
                    if !is_guard && mentions(this.program, part, &locals) {
                        continue;
                    }
                    let part = this.copied(copier, part);
                    distances.push(this.distance(inner, measuring, part, wanted));
                }
                let distance = this.combined(inner, measuring.conjunction, &distances);
                this.take_least(inner, least, distance);
            });
        }
        Distance::Number(self.read(least))
    }

    /// Lowers `least` to a distance, if that is less.
    pub(crate) fn take_least(&mut self, block: &mut Block, least: LocalId, distance: Distance) {
        let number = match distance {
            Distance::Zero => self.int(0),
            Distance::Never => return,
            Distance::Number(number) => number,
        };
        self.accumulate(block, Combine::Minimum, least, number);
    }
}

/// The locals that the body of a rule writes.
fn written_locals(program: &Program, rule: usize) -> Vec<LocalId> {
    use hadal_ir::expr::{Arg, Root};
    let mut locals = Vec::new();
    for_each_stmt(&program.rules[rule].body, &mut |stmt| {
        let mut add = |root: &Root| {
            if let Root::Local(local) = root {
                locals.push(*local);
            }
        };
        match &stmt.kind {
            StmtKind::Assign { place, .. } | StmtKind::Clear(place) | StmtKind::Undefine(place) => {
                add(&place.root);
            }
            StmtKind::Copy { to, .. } => add(&to.root),
            StmtKind::Bind { local, .. } | StmtKind::For { var: local, .. } => locals.push(*local),
            StmtKind::Call { args, .. } => {
                for arg in args {
                    if let Arg::Ref(place) = arg {
                        add(&place.root);
                    }
                }
            }
            _ => {}
        }
    });
    locals
}

/// Whether an expression mentions one of some locals that it does not bind itself.
fn mentions(program: &Program, id: ExprId, locals: &[LocalId]) -> bool {
    use hadal_ir::walk::{Mention, Reach};
    let mut found = false;
    let mut own = Vec::new();
    Reach::new(program).visit(Mention::Expr(id), &mut |mention| {
        if let Mention::Expr(id) = mention
            && let Expr::Quantified { var, .. } = program.expr(id)
        {
            own.push(*var);
        }
    });
    Reach::new(program).visit(Mention::Expr(id), &mut |mention| {
        if let Mention::Local(local) = mention {
            found |= locals.contains(&local) && !own.contains(&local);
        }
    });
    found
}
