//! Which bits of the state each function, rule, property and measure may read and write.
//!
//! All sets are upper bounds. A constant path gives exact bits, an index that is computed stands
//! for the whole array, and a reference for everything it is bound to anywhere in its frame.
//! Functions are summarised once, relative to what their reference parameters refer to, and the
//! summaries are applied at each call.
//!
//! A part of a multiset stands for the whole multiset, and a write to it is a read as well, since
//! the multiset is normalised after the step, which may move every slot.

use hadal_model::BitRanges;

use crate::expr::{Arg, By, Domain, Expr, Place, Projection, Root};
use crate::ids::{ExprId, FunctionId, LocalId, TypeId};
use crate::layout::Layout;
use crate::program::{Frame, Guard, Param, ParamDomain, ParamMode, Program};
use crate::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::{Type, Types};
use crate::walk::for_each_stmt;

/// The effects of every part of a verified program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// By function.
    pub functions: Vec<FunctionEffects>,
    /// By startstate.
    pub starts: Vec<StateEffects>,
    /// By rule; guards and parameter domains included.
    pub rules: Vec<StateEffects>,
    /// By property.
    pub properties: Vec<StateEffects>,
    /// By measure.
    pub measures: Vec<StateEffects>,
}

/// Bits of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateEffects {
    /// Bits that may be read.
    pub reads: BitRanges,
    /// Bits that may be written.
    pub writes: BitRanges,
}

/// What a call may do, whatever its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionEffects {
    /// Bits of the state, those reached through parameters not included.
    pub state: StateEffects,
    /// By parameter: the bits of what a reference parameter refers to, counted from its first bit.
    pub params: Vec<StateEffects>,
}

impl Effects {
    /// The effects of a program whose ids and places have been verified.
    pub fn of(program: &Program) -> Self {
        let layout = Layout::new(program);
        let mut effects = Effects::default();
        for function in &program.functions {
            let number = effects.functions.len();
            effects.functions.push(FunctionEffects {
                state: StateEffects::default(),
                params: vec![StateEffects::default(); function.params.len()],
            });
            // A function that calls itself needs its own sum; the sums only grow, within the bits
            // there are, so that this ends.
            loop {
                let mut walk = Walk::new(program, &layout, &effects.functions, &function.frame);
                walk.name_params(&function.params);
                walk.bind_all(&function.body, &[]);
                walk.block(&function.body);
                let sum = walk.sum;
                if sum == effects.functions[number] {
                    break;
                }
                effects.functions[number] = sum;
            }
        }
        let run = |frame: &Frame,
                   params: &[Param],
                   guard: Option<&Guard>,
                   body: &[Stmt],
                   value: Option<ExprId>| {
            let mut walk = Walk::new(program, &layout, &effects.functions, frame);
            walk.bind_all(body, guard.map_or(&[], |guard| &guard.prologue));
            walk.params(params);
            if let Some(guard) = guard {
                walk.block(&guard.prologue);
                if let Some(condition) = guard.condition {
                    walk.expr(condition);
                }
            }
            walk.block(body);
            if let Some(value) = value {
                walk.expr(value);
            }
            walk.sum.state
        };
        let starts = (program.starts.iter())
            .map(|start| run(&start.frame, &start.params, None, &start.body, None))
            .collect();
        let rules = (program.rules.iter())
            .map(|rule| {
                run(
                    &rule.frame,
                    &rule.params,
                    Some(&rule.guard),
                    &rule.body,
                    None,
                )
            })
            .collect();
        let properties = (program.properties.iter())
            .map(|item| run(&item.frame, &item.params, Some(&item.condition), &[], None))
            .collect();
        let measures = (program.measures.iter())
            .map(|item| run(&item.frame, &[], None, &item.body, Some(item.value)))
            .collect();
        Effects {
            starts,
            rules,
            properties,
            measures,
            ..effects
        }
    }
}

/// Bits a place may stand for, in one of the memories a function sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    base: Base,
    first: usize,
    n_bits: usize,
    /// Whether the place is exactly these bits, rather than some of them.
    exact: bool,
    /// Whether the bits are those of a multiset of which the place is a part.
    in_multiset: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    State,
    /// What a reference parameter refers to.
    Param(usize),
}

/// One walk over a frame.
struct Walk<'a> {
    program: &'a Program,
    layout: &'a Layout,
    functions: &'a [FunctionEffects],
    frame: &'a Frame,
    /// What each local may refer to; nothing for values, which are private.
    targets: Vec<Vec<Region>>,
    seen: Vec<bool>,
    sum: FunctionEffects,
}

impl<'a> Walk<'a> {
    fn new(
        program: &'a Program,
        layout: &'a Layout,
        functions: &'a [FunctionEffects],
        frame: &'a Frame,
    ) -> Self {
        Walk {
            program,
            layout,
            functions,
            frame,
            targets: vec![Vec::new(); frame.locals.len()],
            seen: vec![false; program.exprs.len()],
            sum: FunctionEffects::default(),
        }
    }

    /// Lets reference parameters stand for what will be passed.
    fn name_params(&mut self, params: &[ParamMode]) {
        self.sum.params = vec![StateEffects::default(); params.len()];
        for (number, mode) in params.iter().enumerate() {
            if *mode != ParamMode::Value {
                let ty = self.frame.locals[number].kind.ty();
                let n_bits = self.types().bits(ty) as usize;
                self.targets[number].push(Region {
                    base: Base::Param(number),
                    first: 0,
                    n_bits,
                    exact: true,
                    in_multiset: false,
                });
            }
        }
    }

    /// Finds what references may refer to, whatever the order of statements.
    fn bind_all(&mut self, body: &[Stmt], prologue: &[Stmt]) {
        let mut binds: Vec<(LocalId, &Place)> = Vec::new();
        for block in [prologue, body] {
            for_each_stmt(block, &mut |stmt| {
                if let StmtKind::Bind { local, place } = &stmt.kind {
                    binds.push((*local, place));
                }
            });
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (local, place) in &binds {
                for region in self.regions(place) {
                    let targets = &mut self.targets[local.index()];
                    if !targets.contains(&region) {
                        targets.push(region);
                        changed = true;
                    }
                }
            }
        }
    }

    fn types(&self) -> &'a Types {
        &self.program.types
    }

    /// The bits a place may stand for; evaluating it is not counted here.
    fn regions(&self, place: &Place) -> Vec<Region> {
        let (roots, root_ty) = match &place.root {
            Root::Var(id) => {
                let ty = self.program.var(*id).ty;
                let region = Region {
                    base: Base::State,
                    first: self.layout.var(*id),
                    n_bits: self.types().bits(ty) as usize,
                    exact: true,
                    in_multiset: false,
                };
                (vec![region], ty)
            }
            Root::Local(id) => {
                let local = self.frame.local(*id);
                (self.targets[id.index()].clone(), local.kind.ty())
            }
            Root::Result { .. } => return Vec::new(),
        };
        let project = |root: Region| {
            let (mut region, mut ty) = (root, root_ty);
            for step in &place.path {
                ty = self.project(&mut region, ty, step);
            }
            region
        };
        roots.into_iter().map(project).collect()
    }

    /// Narrows a region to a part where that is known; returns the part's type.
    fn project(&self, region: &mut Region, ty: TypeId, step: &Projection) -> TypeId {
        let types = self.types();
        match (types.get(ty), step) {
            (Type::Record { fields }, Projection::Field(n)) => {
                let field = fields[*n as usize].ty;
                if region.exact {
                    region.first += types.field_offset(ty, *n as usize);
                    region.n_bits = types.bits(field) as usize;
                }
                field
            }
            (Type::Array { index, element }, Projection::Index(id)) => {
                if region.exact {
                    let position = types.simple(*index).and_then(|simple| {
                        let value = self.constant(*id)?;
                        simple
                            .contains(value)
                            .then(|| value.wrapping_sub(simple.lo) as usize)
                    });
                    match position {
                        Some(position) => {
                            let width = types.bits(*element) as usize;
                            region.first += position * width;
                            region.n_bits = width;
                        }
                        None => region.exact = false,
                    }
                }
                *element
            }
            (Type::Multiset { element, .. }, _) => {
                region.exact = false;
                region.in_multiset = true;
                *element
            }
            _ => {
                region.exact = false;
                ty
            }
        }
    }

    fn constant(&self, id: ExprId) -> Option<i64> {
        match self.program.expr(id) {
            Expr::Int(value) => Some(*value),
            Expr::Bool(value) => Some(i64::from(*value)),
            Expr::Defined(inner) => self.constant(*inner),
            _ => None,
        }
    }

    fn add(&mut self, region: Region, bits: &BitRanges, write: bool) {
        let effects = match region.base {
            Base::State => &mut self.sum.state,
            Base::Param(number) => &mut self.sum.params[number],
        };
        for (first, end) in bits.iter() {
            let (first, end) = if region.exact {
                (region.first + first, region.first + end)
            } else {
                (region.first, region.first + region.n_bits)
            };
            if write {
                effects.writes.insert(first, end);
            }
            if !write || region.in_multiset {
                effects.reads.insert(first, end);
            }
        }
    }

    /// Counts an access to a place, and the evaluation of its root and indices.
    fn access(&mut self, place: &Place, write: bool) {
        self.steps(place);
        for region in self.regions(place) {
            let mut whole = BitRanges::new();
            whole.insert(0, region.n_bits);
            self.add(region, &whole, write);
        }
    }

    fn read(&mut self, place: &Place) {
        self.access(place, false);
    }

    /// A write to a multiset or to what may hold one depends on nothing, but changes of the bag
    /// itself depend on what is in it.
    fn change_multiset(&mut self, place: &Place) {
        self.access(place, true);
        self.access(place, false);
    }

    /// Counts what finding a place evaluates.
    fn steps(&mut self, place: &Place) {
        if let Root::Result { function, args, .. } = &place.root {
            self.call(*function, args);
        }
        for step in &place.path {
            if let Projection::Index(index) = step {
                self.expr(*index);
            }
        }
    }

    fn call(&mut self, id: FunctionId, args: &[Arg]) {
        // The function being summed up is the last one there and holds the sum so far.
        let functions = self.functions;
        let callee = &functions[id.index()];
        self.sum.state.reads.extend(&callee.state.reads);
        self.sum.state.writes.extend(&callee.state.writes);
        for (arg, param) in args.iter().zip(&callee.params) {
            match arg {
                Arg::Value(value) => self.expr(*value),
                Arg::Copy(place) => self.read(place),
                Arg::Ref(place) => {
                    self.steps(place);
                    for region in self.regions(place) {
                        self.add(region, &param.reads, false);
                        self.add(region, &param.writes, true);
                    }
                }
            }
        }
    }

    fn domain(&mut self, domain: &Domain) {
        if let Domain::Span { from, to, by } = domain {
            self.expr(*from);
            self.expr(*to);
            if let By::Step(step) = by {
                self.expr(*step);
            }
        }
    }

    fn expr(&mut self, id: ExprId) {
        if std::mem::replace(&mut self.seen[id.index()], true) {
            return;
        }
        let program = self.program;
        match program.expr(id) {
            Expr::Int(_) | Expr::Bool(_) | Expr::Undefined => {}
            Expr::Read(place) | Expr::IsUndefined(place) => self.read(place),
            Expr::Defined(value) | Expr::Unary(_, value) => self.expr(*value),
            Expr::Remap { value, .. } | Expr::InRange { value, .. } => self.expr(*value),
            Expr::Binary(_, left, right) => {
                self.expr(*left);
                self.expr(*right);
            }
            Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| self.expr(*part)),
            Expr::Cond(condition, yes, no) => {
                self.expr(*condition);
                self.expr(*yes);
                self.expr(*no);
            }
            Expr::Quantified { domain, body, .. } => {
                self.domain(domain);
                self.expr(*body);
            }
            Expr::SameBits(a, b) => {
                self.read(a);
                self.read(b);
            }
            Expr::Call { function, args } => self.call(*function, args),
            Expr::Present { multiset, slot } => {
                self.read(multiset);
                self.expr(*slot);
            }
        }
    }

    fn params(&mut self, params: &[Param]) {
        for param in params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                self.read(multiset);
            }
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
            stmt.for_each_block(&mut |inner| self.block(inner));
        }
    }

    /// Counts a statement without the blocks inside it.
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                self.expr(*value);
                self.access(place, true);
            }
            StmtKind::Copy { to, from } => {
                self.read(from);
                self.access(to, true);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) => self.access(place, true),
            StmtKind::If { arms, .. } => arms.iter().for_each(|(condition, _)| {
                self.expr(*condition);
            }),
            StmtKind::For { domain, .. } => self.domain(domain),
            StmtKind::While { condition, .. }
            | StmtKind::Assert { condition, .. }
            | StmtKind::Assume(condition)
            | StmtKind::Cover { condition, .. } => self.expr(*condition),
            StmtKind::Bind { place, .. } => self.steps(place),
            StmtKind::Call { function, args } => self.call(*function, args),
            StmtKind::Return(ReturnValue::Nothing) | StmtKind::Error { .. } => {}
            StmtKind::Return(ReturnValue::Value(value)) => self.expr(*value),
            StmtKind::Return(ReturnValue::Copy(place)) => self.read(place),
            StmtKind::Put(PutItem::Text(_)) => {}
            StmtKind::Put(PutItem::Value(value, _) | PutItem::Number(value, _)) => {
                self.expr(*value)
            }
            StmtKind::Put(PutItem::Place(place, _)) => self.read(place),
            StmtKind::MultisetAdd { multiset, value } => {
                match value {
                    Arg::Value(value) => self.expr(*value),
                    Arg::Copy(place) | Arg::Ref(place) => self.read(place),
                }
                self.change_multiset(multiset);
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                self.expr(*slot);
                self.change_multiset(multiset);
            }
        }
    }
}

#[cfg(test)]
mod tests;
