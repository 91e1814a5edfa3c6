//! Control graphs: the values that rules move a variable through, and how many steps that takes.
//!
//! A *control variable* is a variable of a simple type with names, such as the control point of a
//! process or the state of a cache, or an element or field of one; all elements of an array are
//! alike. A rule that asks for one value and stores another is an edge of its graph. What a rule
//! stores without asking, or stores where it cannot be followed, may come from any value and lead to
//! any.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hadal_ir::expr::{Arg, BinaryOp as Op, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, TypeId, VarId};
use hadal_ir::program::{ParamMode, Program, Segment, ValueMap};
use hadal_ir::stmt::{Stmt, StmtKind};
use hadal_ir::types::{Simple, SimpleKind, Type};
use hadal_ir::walk::{Mention, Reach, for_each_stmt};
use hadal_ir::{LocalId, MapId};
use rustc_hash::FxHashMap;

use crate::builder::Builder;
use crate::distance::is_of_state;

/// The greatest number of values of a control variable.
const MOST_VALUES: u64 = 1 << 12;

/// The control variables of a program, and how rules move them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ControlGraphs {
    graphs: FxHashMap<Variable, Graph>,
}

/// A variable of the state or part of one; all elements of an array are the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Variable {
    var: VarId,
    /// Fields, and `None` for an element.
    path: Vec<Option<u32>>,
}

/// The values of a control variable. The last node stands for undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Graph {
    ty: TypeId,
    lo: i64,
    /// What a cleared variable holds.
    cleared: i64,
    n_nodes: usize,
    edges: Vec<Edge>,
    /// Whether these are the control points of processes.
    is_process: bool,
}

/// A step from one value to another; `None` is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    from: Option<usize>,
    to: Option<usize>,
    cost: u32,
}

impl ControlGraphs {
    /// Of a verified program, where `processes` are the variables that hold processes: the first field
    /// of one is its control point, which is 0 where there is no process.
    pub(crate) fn of(program: &Program, processes: &[VarId]) -> Self {
        let mut graphs = FxHashMap::default();
        for (index, var) in program.vars.iter().enumerate() {
            let id = VarId::new(index);
            let variable = Variable {
                var: id,
                path: Vec::new(),
            };
            let is_process = processes.contains(&id);
            add_variables(program, var.ty, variable, is_process, &mut graphs);
        }
        let mut this = ControlGraphs { graphs };
        let least_cost = program.rules.iter().map(|rule| rule.cost).min();
        let least_cost = least_cost.unwrap_or(0);
        for rule in &program.rules {
            let mut walk = Walk::new(program, rule.cost);
            walk.bind(&rule.guard.prologue);
            walk.bind(&rule.body);
            if let Some(condition) = rule.guard.condition {
                walk.learn(condition);
            }
            walk.block(&rule.body, &mut this);
        }
        for function in &program.functions {
            let mut walk = Walk::new(program, least_cost);
            walk.bind(&function.body);
            walk.block(&function.body, &mut this);
        }
        // Functions in expressions may store through references; whose they are is not followed.
        for (expr, _) in &program.exprs {
            let Expr::Call { function, args } = expr else {
                continue;
            };
            let modes = &program.function(*function).params;
            for (mode, arg) in modes.iter().zip(args) {
                match (mode, arg) {
                    (ParamMode::Ref, Arg::Ref(place)) if is_of_state(place) => {
                        this.anything(place, least_cost);
                    }
                    (ParamMode::Ref, Arg::Ref(_)) => this.anything_anywhere(least_cost),
                    _ => {}
                }
            }
        }
        for graph in this.graphs.values_mut() {
            graph
                .edges
                .sort_unstable_by_key(|it| (it.from, it.to, it.cost));
            graph.edges.dedup();
        }
        this
    }

    /// Steps until `variable`, which reads `place`, is `value`.
    pub(crate) fn distance(
        &self,
        builder: &mut Builder<'_>,
        place: &Place,
        variable: ExprId,
        value: i64,
    ) -> Option<ExprId> {
        let graph = self.graphs.get(&Variable::of(place)?)?;
        let target = usize::try_from(value.checked_sub(graph.lo)?).ok()?;
        if target + 1 >= graph.n_nodes {
            return None;
        }
        let map = graph.map(builder.program, target, builder.far);
        let value = variable;
        Some(builder.expr(Expr::Remap { value, map }))
    }

    /// Whatever a place holds may become anything.
    fn anything(&mut self, place: &Place, cost: u32) {
        let Some(inside) = Variable::of(place) else {
            return;
        };
        let edge = Edge {
            from: None,
            to: None,
            cost,
        };
        for (variable, graph) in &mut self.graphs {
            if variable.var == inside.var && variable.path.starts_with(&inside.path) {
                graph.edges.push(edge);
            }
        }
    }
}

/// Adds the control variables inside `variable`, which has the type `ty` and may be part of one that
/// holds processes.
fn add_variables(
    program: &Program,
    ty: TypeId,
    variable: Variable,
    is_process: bool,
    graphs: &mut FxHashMap<Variable, Graph>,
) {
    let inner = |step: Option<u32>| {
        let mut inner = variable.clone();
        inner.path.push(step);
        inner
    };
    match program.types.get(ty) {
        Type::Simple(simple) => {
            let is_process = is_process && variable.path.last() == Some(&Some(0));
            if is_named(simple) || (is_process && simple.len() <= MOST_VALUES) {
                let graph = Graph {
                    ty,
                    lo: simple.lo,
                    cleared: simple.cleared().unwrap_or(simple.lo),
                    n_nodes: simple.len() as usize + 1,
                    edges: Vec::new(),
                    is_process,
                };
                graphs.insert(variable, graph);
            }
        }
        Type::Array { element, .. } => {
            add_variables(program, *element, inner(None), is_process, graphs);
        }
        Type::Record { fields } => {
            for (number, field) in (0..).zip(fields) {
                add_variables(program, field.ty, inner(Some(number)), is_process, graphs);
            }
        }
        // Its elements come and go.
        Type::Multiset { .. } => {}
    }
}

/// Whether the values have names that rules lead from one to the next.
fn is_named(simple: &Simple) -> bool {
    matches!(simple.kind, SimpleKind::Enum(_)) && simple.len() > 2 && simple.len() <= MOST_VALUES
}

impl Variable {
    fn of(place: &Place) -> Option<Self> {
        let Root::Var(var) = place.root else {
            return None;
        };
        let path = place.path.iter().map(|step| match step {
            Projection::Field(field) => Some(*field),
            Projection::Index(_) => None,
        });
        Some(Variable {
            var,
            path: path.collect(),
        })
    }
}

impl Graph {
    /// Adds the edges of a rule that stores `value` where one of `known` was.
    fn store(&mut self, known: Option<&[i64]>, value: Stored, cost: u32) {
        let to = match value {
            Stored::Value(value) => match self.node(value) {
                // A fault.
                None => return,
                to => to,
            },
            Stored::Cleared => self.node(self.cleared),
            Stored::Undefined => Some(self.n_nodes - 1),
            Stored::Anything => None,
        };
        // A process is moved by itself, from a point that is known, or made where none was.
        let no_process = [0];
        let is_made = self.is_process && matches!(value, Stored::Value(_));
        let known = known.or(is_made.then_some(&no_process[..]));
        match known {
            Some(values) => {
                let from = values.iter().filter_map(|&value| self.node(value));
                let from: Vec<usize> = from.collect();
                let edge = |from| Edge {
                    from: Some(from),
                    to,
                    cost,
                };
                self.edges.extend(from.into_iter().map(edge));
            }
            None => self.edges.push(Edge {
                from: None,
                to,
                cost,
            }),
        }
    }

    /// The node of a value.
    fn node(&self, value: i64) -> Option<usize> {
        let node = usize::try_from(value.checked_sub(self.lo)?).ok()?;
        (node + 1 < self.n_nodes).then_some(node)
    }

    /// The least costs of ways from each node to `target`.
    fn costs_to(&self, target: usize) -> Vec<Option<u64>> {
        let n = self.n_nodes;
        let mut into: Vec<Vec<(usize, u32)>> = vec![Vec::new(); n];
        // The cheapest steps from anywhere, by where they lead.
        let mut from_any: Vec<Option<u32>> = vec![None; n];
        for edge in &self.edges {
            let targets = match edge.to {
                Some(to) => to..to + 1,
                None => 0..n,
            };
            for to in targets {
                match edge.from {
                    Some(from) => into[to].push((from, edge.cost)),
                    None => {
                        let cost = from_any[to].map_or(edge.cost, |it| it.min(edge.cost));
                        from_any[to] = Some(cost);
                    }
                }
            }
        }
        let mut costs = vec![None; n];
        let mut open = BinaryHeap::from([Reverse((0u64, target))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if costs[node].is_some() {
                continue;
            }
            costs[node] = Some(cost);
            let sources = into[node].iter().copied();
            let any = from_any[node].into_iter();
            let any = any.flat_map(|step| (0..n).map(move |source| (source, step)));
            for (source, step) in sources.chain(any) {
                if costs[source].is_none() {
                    open.push(Reverse((cost + u64::from(step), source)));
                }
            }
        }
        costs
    }

    /// The costs of ways to `target`, by value.
    fn map(&self, program: &mut Program, target: usize, far: i64) -> MapId {
        let costs = self.costs_to(target);
        let mut segments: Vec<Segment> = Vec::new();
        for (node, cost) in costs[..self.n_nodes - 1].iter().enumerate() {
            let value = self.lo + node as i64;
            let to = cost.map_or(far, |cost| far.min(cost as i64));
            segments.push(Segment {
                lo: value,
                hi: value,
                to,
            });
        }
        program.maps.push(ValueMap {
            segments,
            from: self.ty,
        });
        MapId::new(program.maps.len() - 1)
    }
}

/// A walk over the body of a rule or function.
struct Walk<'p> {
    program: &'p Program,
    cost: u32,
    /// What references refer to, where that is always the same.
    bound: FxHashMap<LocalId, Option<Place>>,
    /// Values that places are known to have, most recent last; `None` is none of them any more.
    known: Vec<(Place, Vec<i64>)>,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program, cost: u32) -> Self {
        Walk {
            program,
            cost,
            bound: FxHashMap::default(),
            known: Vec::new(),
        }
    }

    /// Notes what references are bound to.
    fn bind(&mut self, block: &[Stmt]) {
        for_each_stmt(block, &mut |stmt| {
            if let StmtKind::Bind { local, place } = &stmt.kind {
                let once = self.bound.insert(*local, Some(place.clone())).is_none();
                if !once {
                    self.bound.insert(*local, None);
                }
            }
        });
    }

    /// A place without references, as far as they are known.
    fn resolved(&self, place: &Place) -> Option<Place> {
        let mut place = place.clone();
        // References are bound to earlier ones; a cycle would not end.
        for _ in 0..=self.bound.len() {
            let Root::Local(local) = place.root else {
                break;
            };
            let Some(bound) = self.bound.get(&local) else {
                break;
            };
            let mut whole = bound.clone()?;
            whole.path.append(&mut place.path);
            place = whole;
        }
        Some(place)
    }

    /// What is known where a condition is true.
    fn learn(&mut self, condition: ExprId) {
        match self.program.expr(condition) {
            Expr::And(parts) => parts.iter().for_each(|&part| self.learn(part)),
            _ => {
                if let Some(known) = self.values(condition) {
                    self.known.push(known);
                }
            }
        }
    }

    /// The values of one place of which some must be there for a condition to be true.
    fn values(&self, condition: ExprId) -> Option<(Place, Vec<i64>)> {
        match self.program.expr(condition) {
            Expr::Binary(Op::Eq | Op::Same, left, right) => {
                let (place, value) = match (self.place(*left), self.value(*right)) {
                    (Some(place), Some(value)) => (place, value),
                    _ => (self.place(*right)?, self.value(*left)?),
                };
                Some((place, vec![value]))
            }
            Expr::Or(parts) => {
                let mut parts = parts.iter().map(|&part| self.values(part));
                let (place, mut values) = parts.next()??;
                for part in parts {
                    let (other, more) = part?;
                    if !self.are_equal(&place, &other) {
                        return None;
                    }
                    values.extend(more);
                }
                Some((place, values))
            }
            _ => None,
        }
    }

    fn place(&self, id: ExprId) -> Option<Place> {
        match self.program.expr(id) {
            Expr::Defined(inner) => self.place(*inner),
            Expr::Read(place) => self.resolved(place),
            _ => None,
        }
    }

    fn value(&self, id: ExprId) -> Option<i64> {
        match self.program.expr(id) {
            Expr::Int(value) => Some(*value),
            Expr::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    fn block(&mut self, block: &[Stmt], graphs: &mut ControlGraphs) {
        for stmt in block {
            self.stmt(stmt, graphs);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, graphs: &mut ControlGraphs) {
        // A function may store whatever it names itself.
        let mut reach = Reach::new(self.program);
        let mut calls = false;
        stmt.for_each_mention(&mut |mention| {
            reach.visit(mention, &mut |it| {
                calls |= matches!(it, Mention::Function(_));
            });
        });
        if calls {
            self.known.clear();
        }
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                let value = match self.program.expr(*value) {
                    Expr::Undefined => Stored::Undefined,
                    _ => self.value(*value).map_or(Stored::Anything, Stored::Value),
                };
                self.store(place, value, graphs);
            }
            StmtKind::Clear(place) => self.store(place, Stored::Cleared, graphs),
            StmtKind::Undefine(place) => self.store(place, Stored::Undefined, graphs),
            StmtKind::Copy { to, .. } => self.store(to, Stored::Anything, graphs),
            StmtKind::If { arms, otherwise } => {
                let before = self.known.clone();
                for (condition, block) in arms {
                    self.known.clone_from(&before);
                    self.learn(*condition);
                    self.block(block, graphs);
                }
                self.known.clone_from(&before);
                self.block(otherwise, graphs);
                // What the arms store is not known behind them.
                self.known = before;
                let mut stored = Vec::new();
                for block in arms.iter().map(|(_, block)| block).chain([otherwise]) {
                    note_stores(block, &mut stored);
                }
                stored.iter().for_each(|place| self.forget(place));
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => {
                // An iteration may have stored something before this one.
                let mut stored = Vec::new();
                note_stores(body, &mut stored);
                stored.iter().for_each(|place| self.forget(place));
                self.block(body, graphs);
                stored.iter().for_each(|place| self.forget(place));
            }
            StmtKind::Call { function, args } => {
                let modes = &self.program.function(*function).params;
                for (mode, arg) in modes.iter().zip(args) {
                    if let (ParamMode::Ref, Arg::Ref(place)) = (mode, arg) {
                        self.store(place, Stored::Anything, graphs);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the edges of a store.
    fn store(&mut self, place: &Place, value: Stored, graphs: &mut ControlGraphs) {
        let Some(place) = self.resolved(place) else {
            // A reference to one of several places.
            self.known.clear();
            return graphs.anything_anywhere(self.cost);
        };
        if let Some(inside) = Variable::of(&place) {
            let known = self.known.iter().rev();
            let known = { known }.find(|(other, _)| self.are_equal(&place, other));
            for (variable, graph) in &mut graphs.graphs {
                if variable.var == inside.var && variable.path.starts_with(&inside.path) {
                    let is_whole = variable.path.len() == inside.path.len();
                    let known = known.filter(|_| is_whole);
                    graph.store(known.map(|(_, values)| &values[..]), value, self.cost);
                }
            }
        }
        // What one firing stores is not known later in it: an edge is a firing.
        self.forget(&place);
    }

    /// Forgets what is known of places that may be the same as `place` or hold it.
    fn forget(&mut self, place: &Place) {
        let resolved = self.resolved(place);
        let Some(place) = resolved else {
            return self.known.clear();
        };
        self.known.retain(|(other, _)| other.root != place.root);
        // An index that was stored selects another element.
        let local = match place.root {
            Root::Local(local) => Some(local),
            _ => None,
        };
        let program = self.program;
        self.known.retain(|(other, _)| {
            !other.path.iter().any(|step| match step {
                Projection::Index(index) => {
                    let mut uses = false;
                    let mention = Mention::Expr(*index);
                    Reach::new(program).visit(mention, &mut |mention| {
                        uses |= match mention {
                            Mention::Local(used) => Some(used) == local,
                            Mention::Var(used) => Root::Var(used) == place.root,
                            _ => false,
                        };
                    });
                    uses
                }
                Projection::Field(_) => false,
            })
        });
    }

    /// Whether two places are the same one in every state.
    fn are_equal(&self, a: &Place, b: &Place) -> bool {
        let same_step = |(a, b): (&Projection, &Projection)| match (a, b) {
            (Projection::Field(a), Projection::Field(b)) => a == b,
            (Projection::Index(a), Projection::Index(b)) => self.are_same(*a, *b),
            _ => false,
        };
        a.root == b.root
            && a.path.len() == b.path.len()
            && a.path.iter().zip(&b.path).all(same_step)
    }

    /// Whether two expressions are written alike.
    fn are_same(&self, a: ExprId, b: ExprId) -> bool {
        let strip = |id: ExprId| match self.program.expr(id) {
            Expr::Defined(inner) => *inner,
            _ => id,
        };
        let (a, b) = (strip(a), strip(b));
        if a == b {
            return true;
        }
        match (self.program.expr(a), self.program.expr(b)) {
            (Expr::Read(a), Expr::Read(b)) => match (self.resolved(a), self.resolved(b)) {
                (Some(a), Some(b)) => self.are_equal(&a, &b),
                _ => false,
            },
            (Expr::Binary(op, a1, a2), Expr::Binary(other, b1, b2)) => {
                op == other && self.are_same(*a1, *b1) && self.are_same(*a2, *b2)
            }
            (Expr::Int(a), Expr::Int(b)) => a == b,
            _ => false,
        }
    }
}

/// What a statement stores in a control variable.
#[derive(Clone, Copy)]
enum Stored {
    Value(i64),
    Cleared,
    Undefined,
    Anything,
}

/// Appends the places that a block stores to.
fn note_stores(block: &[Stmt], stored: &mut Vec<Place>) {
    for_each_stmt(block, &mut |stmt| match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Clear(place) | StmtKind::Undefine(place) => {
            stored.push(place.clone());
        }
        StmtKind::Copy { to, .. } => stored.push(to.clone()),
        StmtKind::Call { args, .. } => {
            for arg in args {
                if let Arg::Ref(place) = arg {
                    stored.push(place.clone());
                }
            }
        }
        StmtKind::For { var, .. } => stored.push(Place::local(*var)),
        _ => {}
    });
}

impl ControlGraphs {
    /// Whatever there is may become anything.
    fn anything_anywhere(&mut self, cost: u32) {
        let edge = Edge {
            from: None,
            to: None,
            cost,
        };
        for graph in self.graphs.values_mut() {
            graph.edges.push(edge);
        }
    }
}
