//! Who acts: processes of Promela, values of the outermost parameters of Murphi's rules.

use hadal_ir::expr::{BinaryOp as Op, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, LocalId, VarId};
use hadal_ir::program::{ParamDomain, Program, Rule};

/// Agents of one kind, and the rules by which they act.
#[derive(Debug)]
pub(crate) struct Agents {
    /// What distinguishes them; `None` where there is one.
    pub(crate) domain: Option<ParamDomain>,
    /// The rules, by number. The first parameter of each is the agent, where there are several.
    pub(crate) rules: Vec<usize>,
    /// The variable that holds them, where they are processes.
    pub(crate) process: Option<VarId>,
}

impl Agents {
    /// All agents of a program; those of one kind are together. Rules that are never enabled in a
    /// state at rest are left out.
    pub(crate) fn of(program: &Program, has_processes: bool) -> Vec<Self> {
        let mut all: Vec<Agents> = Vec::new();
        for (number, rule) in program.rules.iter().enumerate() {
            if !may_be_enabled(program, rule) {
                continue;
            }
            let process = has_processes.then(|| process_of(program, rule)).flatten();
            let domain = rule.params.first().map(|param| param.domain.clone());
            let is_same = |agents: &&mut Agents| match (process, &domain) {
                (Some(_), _) => agents.process == process && agents.domain == domain,
                (None, Some(_)) => agents.process.is_none() && agents.domain == domain,
                // A rule without parameters acts for itself.
                (None, None) => false,
            };
            match all.iter_mut().find(is_same) {
                Some(agents) => agents.rules.push(number),
                None => all.push(Agents {
                    domain,
                    rules: vec![number],
                    process,
                }),
            }
        }
        all
    }
}

/// The variables that hold processes.
pub(crate) fn processes(agents: &[Agents]) -> Vec<VarId> {
    let mut processes: Vec<VarId> = agents.iter().filter_map(|it| it.process).collect();
    processes.sort_unstable();
    processes.dedup();
    processes
}

/// The parts of a rule's condition that must all be true.
pub(crate) fn conjuncts(program: &Program, condition: Option<ExprId>) -> Vec<ExprId> {
    let mut all = Vec::new();
    let mut pending: Vec<ExprId> = condition.into_iter().collect();
    while let Some(id) = pending.pop() {
        match program.expr(id) {
            Expr::And(parts) => pending.extend(parts.iter().rev()),
            _ => all.push(id),
        }
    }
    all
}

/// Whether a rule may be enabled where all registers are 0.
fn may_be_enabled(program: &Program, rule: &Rule) -> bool {
    let first_register = program.vars.len() - program.n_registers;
    let is_register = |id: ExprId| match program.expr(id) {
        Expr::Read(Place {
            root: Root::Var(var),
            path,
        }) => var.index() >= first_register && path.is_empty(),
        _ => false,
    };
    let is_false = |&id: &ExprId| match program.expr(id) {
        Expr::Binary(Op::Eq, left, right) => {
            let value = program.expr(*right);
            is_register(*left) && matches!(value, Expr::Int(value) if *value != 0)
        }
        _ => false,
    };
    let conjuncts = conjuncts(program, rule.guard.condition);
    !conjuncts.iter().any(is_false)
}

/// A control point that a rule asks for: the place that holds it, and its value.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) place: Place,
    /// The condition itself.
    pub(crate) condition: ExprId,
    pub(crate) value: i64,
}

/// The variable of the process that a rule moves.
fn process_of(program: &Program, rule: &Rule) -> Option<VarId> {
    let first = conjuncts(program, rule.guard.condition).first().copied()?;
    let point = point(program, first)?;
    let is_control_point = point.place.path.last() == Some(&Projection::Field(0));
    match point.place.root {
        Root::Var(var) if is_control_point => Some(var),
        _ => None,
    }
}

/// The control point that a condition asks for, if it is an equation with a constant.
pub(crate) fn point(program: &Program, condition: ExprId) -> Option<Point> {
    let Expr::Binary(Op::Eq | Op::Same, left, right) = program.expr(condition) else {
        return None;
    };
    let read = |id: ExprId| {
        let inner = match program.expr(id) {
            Expr::Defined(inner) => *inner,
            _ => id,
        };
        match program.expr(inner) {
            Expr::Read(place) => Some(place.clone()),
            _ => None,
        }
    };
    let constant = |id: ExprId| match program.expr(id) {
        Expr::Int(value) => Some(*value),
        Expr::Bool(value) => Some(i64::from(*value)),
        _ => None,
    };
    let (place, value) = match (read(*left), constant(*right)) {
        (Some(place), Some(value)) => (place, value),
        _ => (read(*right)?, constant(*left)?),
    };
    Some(Point {
        place,
        condition,
        value,
    })
}

/// The control point that a rule of an agent asks for: the first equation of a place that only the
/// agent distinguishes.
pub(crate) fn control_point(program: &Program, rule: &Rule) -> Option<Point> {
    let agent = rule.params.first().map(|param| param.local);
    let conjuncts = conjuncts(program, rule.guard.condition);
    let points = conjuncts.into_iter().filter_map(|it| point(program, it));
    let is_own = |point: &Point| {
        let mut indices = point.place.path.iter().filter_map(|step| match step {
            Projection::Index(index) => Some(*index),
            Projection::Field(_) => None,
        });
        let is_agent = |index: ExprId| match (local_read(program, index), agent) {
            (Some(local), Some(agent)) => local == agent,
            _ => matches!(program.expr(index), Expr::Int(_)),
        };
        matches!(point.place.root, Root::Var(_)) && indices.all(is_agent)
    };
    { points }.find(is_own)
}

fn local_read(program: &Program, id: ExprId) -> Option<LocalId> {
    match program.expr(id) {
        Expr::Defined(inner) => local_read(program, *inner),
        Expr::Read(Place {
            root: Root::Local(local),
            path,
        }) if path.is_empty() => Some(*local),
        _ => None,
    }
}
