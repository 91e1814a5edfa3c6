//! `hamming`: how many variables have other values than in a given state.

use hadal_ir::expr::{BinaryOp as Op, Domain, Expr, Place, Projection, Root};
use hadal_ir::ids::{ExprId, TypeId};
use hadal_ir::leaves::Leaf;
use hadal_ir::program::{Frame, LocalKind, Program};
use hadal_ir::stmt::{Block, Stmt, StmtKind};
use hadal_ir::types::{SimpleKind, Type};

use crate::builder::{Builder, Combine};
use crate::distance::Distance;

/// A leaf of states, and the value it has in the target; `None` is undefined.
pub type TargetLeaf = (Leaf, Option<i64>);

/// Terms of one expression, so that trees stay flat.
const MOST_TERMS: usize = 64;

impl Builder<'_> {
    /// How many of `target` have other values, divided by what one unit of cost can change.
    pub(crate) fn hamming(&mut self, block: &mut Block, target: &[TargetLeaf]) -> Distance {
        let most = most_changed(self.program).clamp(1, target.len().max(1) as u64);
        let total = self.new_number();
        self.assign_int(block, total, 0);
        for leaves in target.chunks(MOST_TERMS) {
            let terms: Vec<ExprId> = leaves
                .iter()
                .filter_map(|leaf| self.differs(leaf))
                .collect();
            let (zero, one) = (self.int(0), self.int(1));
            let mut sum = zero;
            for differs in terms {
                let term = self.cond(differs, one, zero);
                sum = self.binary(Op::Add, sum, term);
            }
            self.accumulate(block, Combine::Sum, total, sum);
        }
        let n = self.read(total);
        let value = match most {
            1 => n,
            _ => {
                let (round, most) = (self.int(most as i64 - 1), self.int(most as i64));
                let sum = self.binary(Op::Add, n, round);
                self.binary(Op::Div, sum, most)
            }
        };
        Distance::Number(value)
    }

    /// Whether a leaf has another value.
    fn differs(&mut self, (leaf, value): &TargetLeaf) -> Option<ExprId> {
        let place = self.program.place_of(leaf, self.site);
        let simple = self.program.types.simple(leaf.ty)?;
        let (is_total, is_truth) = (simple.is_total, simple.kind == SimpleKind::Boolean);
        let value = match *value {
            None if is_total => return None,
            None => {
                let is_undefined = self.expr(Expr::IsUndefined(place));
                return Some(self.not(is_undefined));
            }
            Some(value) if is_truth => self.truth(value != 0),
            Some(value) => self.int(value),
        };
        let read = self.expr(Expr::Read(place));
        let is_same = self.binary(Op::Same, read, value);
        Some(self.not(is_same))
    }
}

/// How many variables one unit of cost can change at most.
fn most_changed(program: &Program) -> u64 {
    // Functions call themselves and earlier ones only.
    let mut functions: Vec<Option<u64>> = Vec::new();
    for function in &program.functions {
        let body = Body {
            program,
            frame: &function.frame,
            functions: &functions,
        };
        let changed = body.changed(&function.body);
        functions.push(changed);
    }
    let (mut by_cost, mut free) = (1, 0);
    for rule in &program.rules {
        let body = Body {
            program,
            frame: &rule.frame,
            functions: &functions,
        };
        let changed = body.changed(&rule.body).unwrap_or(u64::MAX / 2);
        match rule.cost {
            0 => free = free.max(changed),
            cost => by_cost = by_cost.max(changed.div_ceil(u64::from(cost))),
        }
    }
    by_cost + free
}

/// A body of a rule or function, in which leaves of the state are changed.
#[derive(Clone, Copy)]
struct Body<'p> {
    program: &'p Program,
    frame: &'p Frame,
    /// What the functions that it may call change, by number; nothing is known of recursion.
    functions: &'p [Option<u64>],
}

impl Body<'_> {
    /// How many leaves a block can change at most, if that is known. What functions in expressions
    /// change does not count.
    fn changed(self, block: &[Stmt]) -> Option<u64> {
        let mut sum = 0u64;
        for stmt in block {
            sum = sum.saturating_add(self.changed_by(stmt)?);
        }
        Some(sum)
    }

    fn changed_by(self, stmt: &Stmt) -> Option<u64> {
        let program = self.program;
        Some(match &stmt.kind {
            StmtKind::Assign { place, .. } => u64::from(self.is_kept(place)),
            StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
                if self.is_kept(place) =>
            {
                leaves_of(program, place)?
            }
            StmtKind::If { arms, otherwise } => {
                let mut most = self.changed(otherwise)?;
                for (_, arm) in arms {
                    most = most.max(self.changed(arm)?);
                }
                most
            }
            StmtKind::For { domain, body, .. } => {
                let n = match domain {
                    Domain::Type(ty) => program.types.simple(*ty)?.len(),
                    Domain::Span { from, to, .. } => {
                        let bound = |id: &ExprId| match program.expr(*id) {
                            Expr::Int(value) => Some(*value),
                            _ => None,
                        };
                        bound(to)?.abs_diff(bound(from)?).saturating_add(1)
                    }
                };
                n.saturating_mul(self.changed(body)?)
            }
            StmtKind::Call { function, .. } => {
                self.functions.get(function.index()).copied().flatten()?
            }
            StmtKind::While { .. }
            | StmtKind::MultisetAdd { .. }
            | StmtKind::MultisetRemove { .. } => return None,
            _ => 0,
        })
    }

    /// Whether a place may belong to the state. A reference may.
    fn is_kept(self, place: &Place) -> bool {
        match place.root {
            Root::Var(_) => true,
            Root::Local(local) => !matches!(self.frame.local(local).kind, LocalKind::Value(_)),
            Root::Result { .. } => false,
        }
    }
}

fn leaves_of(program: &Program, place: &Place) -> Option<u64> {
    let Root::Var(var) = place.root else {
        return None;
    };
    let mut ty = program.var(var).ty;
    for step in &place.path {
        ty = match (program.types.get(ty), step) {
            (Type::Record { fields }, Projection::Field(field)) => fields.get(*field as usize)?.ty,
            (Type::Array { element, .. }, Projection::Index(_)) => *element,
            _ => return None,
        };
    }
    count_leaves(program, ty)
}

fn count_leaves(program: &Program, ty: TypeId) -> Option<u64> {
    match program.types.get(ty) {
        Type::Simple(_) => Some(1),
        Type::Array { index, element } => {
            let n = program.types.simple(*index)?.len();
            Some(n.saturating_mul(count_leaves(program, *element)?))
        }
        Type::Record { fields } => fields.iter().try_fold(0u64, |sum, field| {
            Some(sum.saturating_add(count_leaves(program, field.ty)?))
        }),
        Type::Multiset { .. } => None,
    }
}
