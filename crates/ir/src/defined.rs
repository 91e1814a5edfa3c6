//! Which parts of the state always hold a value.
//!
//! Nearly every conjunct of a guard reads the state and would fault on an undefined value, so
//! without this hardly anything could be moved outward. A leaf of the state (the elements of an
//! array count as one) is always defined if it is defined in every startstate, which is
//! established by running them, and no rule can make it undefined, which is a flow analysis:
//! values that may be undefined flow along assignments, copies, arguments, results and references,
//! whatever the order of statements.
//!
//! Native code uses it to decide where parts of guards are evaluated (it still checks what it
//! reads); the proof that quantifiers do not depend on the order of elements relies on it.

use crate::expr::{Arg, Expr, Place, Projection, Root};
use crate::ids::{ExprId, FunctionId, LocalId, TypeId, VarId};
use crate::interp::Interpreter;
use crate::layout::Layout;
use crate::program::{LocalKind, Param, ParamDomain, Program};
use crate::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::{Type, Types};
use crate::walk::{Mention, Reach};
use hadal_model::{Flow, Model, PAD_BYTES, Successors};

/// What may be undefined, by leaf; see [`Interpreter::definedness`].
#[derive(Debug)]
pub struct Definedness {
    nodes: Nodes,
    undefined: Vec<bool>,
}

/// The numbers of leaves: of variables, of locals by item, of results of functions.
#[derive(Debug)]
struct Nodes {
    /// Leaves of each type.
    n_leaves: Vec<usize>,
    vars: Vec<usize>,
    /// By number of the item, then by local.
    locals: Vec<Vec<usize>>,
    results: Vec<usize>,
    /// By leaf, whether its type is total.
    is_total: Vec<bool>,
    n: usize,
}

/// Startstates that are run to see what they leave undefined.
const MAX_STARTS: u64 = 1000;

/// Calls and rounds of loops for that: some tenths of a second.
const MAX_ROUNDS: u64 = 4 << 20;

impl Definedness {
    /// Analyses a verified program.
    pub(crate) fn of(interpreter: &Interpreter) -> Self {
        let program = interpreter.program();
        let nodes = Nodes::of(program);
        let mut flow = Walk {
            program,
            undefined: vec![false; nodes.n],
            nodes,
            edges: Vec::new(),
            reach: Reach::new(program),
            item: 0,
            in_scope: Vec::new(),
            is_start: false,
        };
        flow.seed_vars(interpreter);
        flow.items();
        flow.spread();
        Definedness {
            nodes: flow.nodes,
            undefined: flow.undefined,
        }
    }

    /// Whether a place of simple type, in the frame of an item, may hold no value. Items are
    /// numbered: functions, rules, startstates, properties, measures.
    pub fn may_be_undefined(&self, program: &Program, item: usize, place: &Place) -> bool {
        let (first, _) = self.nodes.place(program, item, place);
        self.undefined[first]
    }
}

impl Nodes {
    fn of(program: &Program) -> Self {
        let types = &program.types;
        let mut n_leaves: Vec<usize> = Vec::with_capacity(types.len());
        for number in 0..types.len() {
            let n = match types.get(TypeId::new(number)) {
                Type::Simple(_) => 1,
                Type::Array { element, .. } | Type::Multiset { element, .. } => {
                    n_leaves[element.index()]
                }
                Type::Record { fields } => {
                    fields.iter().map(|field| n_leaves[field.ty.index()]).sum()
                }
            };
            n_leaves.push(n);
        }
        let mut is_total = Vec::new();
        let mut take = |ty: TypeId| {
            let first = is_total.len();
            add_leaves(types, ty, &mut is_total);
            // At least one, so that even an empty record has a number of its own.
            is_total.resize(first + n_leaves[ty.index()].max(1), false);
            first
        };
        let vars = program.vars.iter().map(|var| take(var.ty)).collect();
        let functions = program.functions.iter().map(|item| &item.frame);
        let rules = program.rules.iter().map(|item| &item.frame);
        let starts = program.starts.iter().map(|item| &item.frame);
        let properties = program.properties.iter().map(|item| &item.frame);
        let measures = program.measures.iter().map(|item| &item.frame);
        let frames = functions.chain(rules).chain(starts);
        let frames = frames.chain(properties).chain(measures);
        let locals = frames
            .map(|frame| {
                frame
                    .locals
                    .iter()
                    .map(|local| take(local.kind.ty()))
                    .collect()
            })
            .collect();
        let results = program.functions.iter();
        let results = results
            .map(|function| function.result.map_or(0, &mut take))
            .collect();
        Nodes {
            n_leaves,
            vars,
            locals,
            results,
            n: is_total.len(),
            is_total,
        }
    }

    /// The first leaf of a place and its type.
    fn place(&self, program: &Program, item: usize, place: &Place) -> (usize, TypeId) {
        let frame = frame_of(program, item);
        let (mut first, mut ty) = match &place.root {
            Root::Var(var) => (self.vars[var.index()], program.var(*var).ty),
            Root::Local(local) | Root::Result { into: local, .. } => (
                self.locals[item][local.index()],
                frame.local(*local).kind.ty(),
            ),
        };
        for step in &place.path {
            match (step, program.types.get(ty)) {
                (Projection::Field(field), Type::Record { fields }) => {
                    let before = &fields[..*field as usize];
                    first += before
                        .iter()
                        .map(|field| self.n_leaves[field.ty.index()])
                        .sum::<usize>();
                    ty = fields[*field as usize].ty;
                }
                (Projection::Index(_), Type::Array { element, .. })
                | (Projection::Index(_), Type::Multiset { element, .. }) => ty = *element,
                _ => unreachable!("verified: paths fit their types"),
            }
        }
        (first, ty)
    }
}

/// Appends for each leaf of a type, arrays and multisets having those of one element, whether it is
/// total.
fn add_leaves(types: &Types, ty: TypeId, is_total: &mut Vec<bool>) {
    match types.get(ty) {
        Type::Simple(simple) => is_total.push(simple.is_total),
        Type::Array { element, .. } | Type::Multiset { element, .. } => {
            add_leaves(types, *element, is_total);
        }
        Type::Record { fields } => {
            for field in fields {
                add_leaves(types, field.ty, is_total);
            }
        }
    }
}

fn frame_of(program: &Program, item: usize) -> &crate::program::Frame {
    let n_functions = program.functions.len();
    let n_rules = n_functions + program.rules.len();
    let n_starts = n_rules + program.starts.len();
    let n_properties = n_starts + program.properties.len();
    if item < n_functions {
        &program.functions[item].frame
    } else if item < n_rules {
        &program.rules[item - n_functions].frame
    } else if item < n_starts {
        &program.starts[item - n_rules].frame
    } else if item < n_properties {
        &program.properties[item - n_starts].frame
    } else {
        &program.measures[item - n_properties].frame
    }
}

/// Where a value comes from.
enum From {
    /// It is there for sure.
    Defined,
    Undefined,
    Leaf(usize),
}

struct Walk<'p> {
    program: &'p Program,
    nodes: Nodes,
    undefined: Vec<bool>,
    /// What is undefined on the left may be on the right.
    edges: Vec<(usize, usize)>,
    reach: Reach<'p>,
    item: usize,
    /// Parameters and loop variables that have a value here.
    in_scope: Vec<LocalId>,
    /// Whether the item is a startstate, whose effect on variables has been seen already.
    is_start: bool,
}

impl<'p> Walk<'p> {
    /// Marks what startstates leave undefined, and everything inside multisets.
    fn seed_vars(&mut self, interpreter: &Interpreter) {
        let program = self.program;
        let layout = Layout::new(program);
        for (number, var) in program.vars.iter().enumerate() {
            let first = self.nodes.vars[number];
            self.seed_multisets(var.ty, first, false);
        }
        let Some(states) = start_states(interpreter) else {
            for (number, var) in program.vars.iter().enumerate() {
                self.mark(self.nodes.vars[number], var.ty);
            }
            return;
        };
        let len = layout.state_len;
        for state in states.chunks(len + PAD_BYTES) {
            for (number, var) in program.vars.iter().enumerate() {
                let at = layout.var(VarId::new(number));
                self.seed_leaves(var.ty, self.nodes.vars[number], state, at);
            }
        }
    }

    fn seed_multisets(&mut self, ty: TypeId, first: usize, inside: bool) {
        match self.program.types.get(ty) {
            Type::Simple(_) => self.undefined[first] |= inside,
            Type::Array { element, .. } => self.seed_multisets(*element, first, inside),
            Type::Multiset { element, .. } => self.seed_multisets(*element, first, true),
            Type::Record { fields } => {
                let mut first = first;
                for field in fields {
                    self.seed_multisets(field.ty, first, inside);
                    first += self.nodes.n_leaves[field.ty.index()];
                }
            }
        }
    }

    fn seed_leaves(&mut self, ty: TypeId, first: usize, state: &[u8], at: usize) {
        let types = &self.program.types;
        match types.get(ty) {
            Type::Simple(_) => {
                self.undefined[first] |= types.leaf_value(state, ty, at).is_none();
            }
            Type::Array { index, element } => {
                let n = types.simple(*index).map_or(0, |simple| simple.len()) as usize;
                let stride = types.bits(*element) as usize;
                for position in 0..n {
                    self.seed_leaves(*element, first, state, at + position * stride);
                }
            }
            Type::Multiset { .. } => {}
            Type::Record { fields } => {
                let (mut first, mut at) = (first, at);
                for field in fields {
                    self.seed_leaves(field.ty, first, state, at);
                    first += self.nodes.n_leaves[field.ty.index()];
                    at += types.bits(field.ty) as usize;
                }
            }
        }
    }

    fn mark(&mut self, first: usize, ty: TypeId) {
        let n = self.nodes.n_leaves[ty.index()];
        self.undefined[first..first + n].fill(true);
    }

    fn items(&mut self) {
        let program = self.program;
        for (number, function) in program.functions.iter().enumerate() {
            self.begin(number, &[], function.params.len());
            self.block(&function.body);
        }
        let mut item = program.functions.len();
        for rule in &program.rules {
            self.begin(item, &rule.params, 0);
            self.block(&rule.guard.prologue);
            if let Some(condition) = rule.guard.condition {
                self.mentions(Mention::Expr(condition));
            }
            self.block(&rule.body);
            item += 1;
        }
        for start in &program.starts {
            self.begin(item, &start.params, 0);
            self.is_start = true;
            self.block(&start.body);
            self.is_start = false;
            item += 1;
        }
        for property in &program.properties {
            self.begin(item, &property.params, 0);
            self.block(&property.condition.prologue);
            if let Some(condition) = property.condition.condition {
                self.mentions(Mention::Expr(condition));
            }
            item += 1;
        }
        for measure in &program.measures {
            self.begin(item, &[], 0);
            self.block(&measure.body);
            self.mentions(Mention::Expr(measure.value));
            item += 1;
        }
    }

    /// Starts an item: its locals are undefined at first, but for parameters.
    fn begin(&mut self, item: usize, params: &'p [Param], n_params: usize) {
        self.item = item;
        self.in_scope = params.iter().map(|param| param.local).collect();
        // Locals differ between frames, so shared expressions are walked again.
        self.reach = Reach::new(self.program);
        for param in params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                multiset.for_each_mention(&mut |mention| self.mentions(mention));
                self.place_calls(multiset);
            }
        }
        let frame = frame_of(self.program, item);
        for (number, local) in frame.locals.iter().enumerate() {
            let is_param = number < n_params || self.in_scope.contains(&LocalId::new(number));
            if let (LocalKind::Value(ty), false) = (local.kind, is_param) {
                self.mark(self.nodes.locals[item][number], ty);
            }
        }
    }

    fn block(&mut self, block: &'p [Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        stmt.for_each_mention(&mut |mention| self.mentions(mention));
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                for from in self.sources(*value) {
                    self.flow_to_place(from, place);
                }
                self.place_calls(place);
            }
            StmtKind::Copy { to, from } => {
                self.place_calls(from);
                if !self.is_seen_start(to) {
                    let (to, ty) = self.place(to);
                    let (from, _) = self.place(from);
                    self.connect(from, to, ty);
                }
            }
            StmtKind::Undefine(place) if !self.is_seen_start(place) => {
                let (first, ty) = self.place(place);
                self.mark(first, ty);
            }
            StmtKind::Clear(place) if !self.is_seen_start(place) => {
                // A type without values stays undefined.
                let (first, ty) = self.place(place);
                self.mark_empty(first, ty);
            }
            StmtKind::Undefine(_) | StmtKind::Clear(_) => {}
            StmtKind::For { var, body, .. } => {
                self.in_scope.push(*var);
                self.block(body);
                self.in_scope.pop();
            }
            StmtKind::If { .. } | StmtKind::While { .. } => {
                stmt.for_each_block(&mut |block| self.block(block));
            }
            StmtKind::Bind { local, place } => {
                self.place_calls(place);
                let (to, ty) = self.place(place);
                let reference = self.nodes.locals[self.item][local.index()];
                self.connect(to, reference, ty);
                self.connect(reference, to, ty);
            }
            StmtKind::Call { function, args } => self.call(*function, args),
            StmtKind::Return(ReturnValue::Value(value)) => {
                let to = self.nodes.results[self.item];
                for from in self.sources(*value) {
                    self.flow(from, to);
                }
            }
            StmtKind::Return(ReturnValue::Copy(place)) => {
                self.place_calls(place);
                let (from, ty) = self.place(place);
                let to = self.nodes.results[self.item];
                self.connect(from, to, ty);
            }
            // Elements of multisets count as undefined whatever is added.
            StmtKind::MultisetAdd {
                value: Arg::Copy(place) | Arg::Ref(place),
                ..
            } => self.place_calls(place),
            StmtKind::Put(PutItem::Place(place, _)) => self.place_calls(place),
            _ => {}
        }
    }

    /// Whether a startstate writes a variable by its name.
    fn is_seen_start(&self, place: &Place) -> bool {
        self.is_start && matches!(place.root, Root::Var(_))
    }

    fn place(&self, place: &Place) -> (usize, TypeId) {
        self.nodes.place(self.program, self.item, place)
    }

    fn mark_empty(&mut self, first: usize, ty: TypeId) {
        match self.program.types.get(ty) {
            Type::Simple(simple) => self.undefined[first] |= simple.cleared().is_none(),
            Type::Array { element, .. } | Type::Multiset { element, .. } => {
                self.mark_empty(first, *element);
            }
            Type::Record { fields } => {
                let mut first = first;
                for field in fields {
                    self.mark_empty(first, field.ty);
                    first += self.nodes.n_leaves[field.ty.index()];
                }
            }
        }
    }

    /// Where the value of an expression may come from.
    fn sources(&self, id: ExprId) -> Vec<From> {
        let from = match self.program.expr(id) {
            Expr::Undefined => From::Undefined,
            Expr::Read(place) => match place.root {
                Root::Local(local) if place.path.is_empty() && self.in_scope.contains(&local) => {
                    From::Defined
                }
                _ => From::Leaf(self.place(place).0),
            },
            Expr::Remap { value, .. } => return self.sources(*value),
            Expr::Cond(_, yes, no) => {
                let mut sources = self.sources(*yes);
                sources.extend(self.sources(*no));
                return sources;
            }
            Expr::Call { function, .. } => From::Leaf(self.nodes.results[function.index()]),
            _ => From::Defined,
        };
        vec![from]
    }

    fn flow_to_place(&mut self, from: From, place: &Place) {
        if !self.is_seen_start(place) {
            let (to, _) = self.place(place);
            self.flow(from, to);
        }
    }

    fn flow(&mut self, from: From, to: usize) {
        match from {
            From::Defined => {}
            From::Undefined => self.undefined[to] = true,
            From::Leaf(from) => self.edges.push((from, to)),
        }
    }

    fn connect(&mut self, from: usize, to: usize, ty: TypeId) {
        for leaf in 0..self.nodes.n_leaves[ty.index()] {
            self.edges.push((from + leaf, to + leaf));
        }
    }

    /// Follows the calls inside what is mentioned.
    fn mentions(&mut self, mention: Mention) {
        let mut found = Vec::new();
        self.reach.visit(mention, &mut |inner| {
            if let Mention::Expr(id) = inner {
                found.push(id);
            }
        });
        let program = self.program;
        for id in found {
            match program.expr(id) {
                Expr::Call { function, args } => self.call(*function, args),
                Expr::Read(place) | Expr::IsUndefined(place) => self.place_calls(place),
                Expr::Present { multiset, .. } => self.place_calls(multiset),
                Expr::SameBits(a, b) => {
                    self.place_calls(a);
                    self.place_calls(b);
                }
                _ => {}
            }
        }
    }

    /// Follows the call that a place begins with.
    fn place_calls(&mut self, place: &'p Place) {
        if let Root::Result {
            function,
            args,
            into,
            ..
        } = &place.root
        {
            self.call(*function, args);
            if let Some(ty) = self.program.function(*function).result {
                let into = self.nodes.locals[self.item][into.index()];
                self.connect(self.nodes.results[function.index()], into, ty);
            }
        }
    }

    fn call(&mut self, function: FunctionId, args: &'p [Arg]) {
        for (number, arg) in args.iter().enumerate() {
            let param = self.nodes.locals[function.index()][number];
            match arg {
                Arg::Value(value) => {
                    for from in self.sources(*value) {
                        self.flow(from, param);
                    }
                }
                Arg::Copy(place) => {
                    self.place_calls(place);
                    let (from, ty) = self.place(place);
                    self.connect(from, param, ty);
                }
                Arg::Ref(place) => {
                    self.place_calls(place);
                    let (to, ty) = self.place(place);
                    self.connect(to, param, ty);
                    self.connect(param, to, ty);
                }
            }
        }
    }

    /// Carries marks along the edges. What is of a total type is never marked.
    fn spread(&mut self) {
        for (mark, is_total) in self.undefined.iter_mut().zip(&self.nodes.is_total) {
            *mark &= !is_total;
        }
        let mut targets: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.n];
        for &(from, to) in &self.edges {
            targets[from].push(to);
        }
        let mut pending: Vec<usize> = (0..self.nodes.n)
            .filter(|&node| self.undefined[node])
            .collect();
        while let Some(node) = pending.pop() {
            for &to in &targets[node] {
                if !self.nodes.is_total[to] && !std::mem::replace(&mut self.undefined[to], true) {
                    pending.push(to);
                }
            }
        }
    }
}

/// All startstates, each with padding, if there are few and none faults.
fn start_states(interpreter: &Interpreter) -> Option<Vec<u8>> {
    let program = interpreter.program();
    let n_starts = program.starts.iter().fold(0u64, |sum, start| {
        let n = start.params.iter().fold(1u64, |product, param| {
            product.saturating_mul(param.domain.n_values(&program.types))
        });
        sum.saturating_add(n)
    });
    if n_starts > MAX_STARTS {
        return None;
    }
    let mut out = Successors::new(interpreter.shape(), n_starts as usize + 1);
    out.reset(1);
    // Long loops are left to the search.
    let flow = interpreter.starts_within(MAX_ROUNDS, &mut out);
    if flow != Flow::Done || !out.sources()[0].faults.is_empty() {
        return None;
    }
    let mut states = Vec::new();
    for state in out.states().iter() {
        states.extend_from_slice(state);
        states.resize(states.len() + PAD_BYTES, 0);
    }
    Some(states)
}
