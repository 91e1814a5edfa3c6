//! Facts about locals and expressions that need no walk: found once per program.

use std::collections::{BTreeSet, HashSet};

use hadal_ir::interp::Item;
use hadal_ir::walk::{Mention, Reach, for_each_mention, for_each_stmt};
use hadal_ir::{
    Arg, Domain, Expr, ExprId, FunctionId, Guard, LocalId, Param, ParamDomain, Place, Program,
    Projection, PutItem, Quantifier, ReturnValue, Root, SiteId, Stmt, StmtKind,
};

use super::label::Label;

/// Facts about the locals of all items.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// Locals that something may refer to.
    referred_to: HashSet<(Item, LocalId)>,
    /// Variables of loops over the slots of a multiset.
    slots: HashSet<(Item, LocalId)>,
    /// All loops whose order depends on names, with their places and numbers of passes.
    pub(super) loops: Vec<NamedLoop>,
    /// The call graph.
    calls: HashSet<(Item, FunctionId)>,
    /// By expression, whether evaluating it calls a function.
    has_call: Vec<bool>,
    /// Items with loops in the order of names, slots that are held, or calls of such.
    by_name: HashSet<Item>,
}

/// A loop whose order depends on names.
#[derive(Clone, Debug)]
pub(super) struct NamedLoop {
    pub(super) key: (Item, LocalId),
    pub(super) site: SiteId,
    pub(super) n_passes: u64,
    /// The quantifier, if it is one.
    pub(super) quantifier: Option<Quantifier>,
}

impl Mentions {
    /// Collects the facts of all items.
    pub(super) fn of(program: &Program) -> Self {
        let mut mentions = Mentions::default();
        for (expr, _) in &program.exprs {
            let mut has_call = false;
            expr.for_each_mention(&mut |mention| match mention {
                Mention::Function(_) => has_call = true,
                // An expression refers only to earlier ones.
                Mention::Expr(id) => has_call |= mentions.has_call[id.index()],
                _ => {}
            });
            mentions.has_call.push(has_call);
        }
        for (number, function) in program.functions.iter().enumerate() {
            let item = Item::Function(FunctionId::new(number));
            mentions.item(program, item, &[], &[&function.body], None);
        }
        for (number, rule) in program.rules.iter().enumerate() {
            let item = Item::Rule(number as u32);
            let Guard {
                prologue,
                condition,
            } = &rule.guard;
            let blocks = [&prologue[..], &rule.body[..]];
            mentions.item(program, item, &rule.params, &blocks, *condition);
        }
        for (number, property) in program.properties.iter().enumerate() {
            let item = Item::Property(number as u32);
            let Guard {
                prologue,
                condition,
            } = &property.condition;
            mentions.item(program, item, &property.params, &[prologue], *condition);
        }
        for (number, measure) in program.measures.iter().enumerate() {
            let item = Item::Measure(number as u32);
            mentions.item(program, item, &[], &[&measure.body], Some(measure.value));
        }
        mentions.find_by_name();
        mentions
    }

    fn find_by_name(&mut self) {
        let loops = self.loops.iter().map(|named| named.key.0);
        self.by_name.extend(loops);
        let mut pending: Vec<Item> = self.by_name.iter().copied().collect();
        while let Some(item) = pending.pop() {
            for (caller, callee) in &self.calls {
                if Item::Function(*callee) == item && self.by_name.insert(*caller) {
                    pending.push(*caller);
                }
            }
        }
    }

    /// Whether the order of names can matter to an item at all.
    pub(super) fn is_by_name(&self, item: Item) -> bool {
        self.by_name.contains(&item)
    }

    /// Whether evaluating an expression calls a function.
    pub(super) fn has_call(&self, id: ExprId) -> bool {
        self.has_call[id.index()]
    }

    /// Whether something may refer to a local.
    pub(super) fn is_referred_to(&self, item: Item, local: LocalId) -> bool {
        self.referred_to.contains(&(item, local))
    }

    /// Whether a local runs over the slots of a multiset.
    pub(super) fn is_slot(&self, item: Item, local: LocalId) -> bool {
        self.slots.contains(&(item, local))
    }

    /// The functions that can be reached from `items`, those among them included.
    pub(super) fn functions_of(&self, items: &[Item]) -> BTreeSet<FunctionId> {
        let called = self
            .calls
            .iter()
            .filter(|(caller, _)| items.contains(caller));
        let own = items.iter().filter_map(|item| match item {
            Item::Function(id) => Some(*id),
            _ => None,
        });
        self.functions_from(&called.map(|(_, callee)| *callee).chain(own).collect())
    }

    /// The functions that can be reached from `functions`, these included.
    pub(super) fn functions_from(&self, functions: &BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
        let mut all = functions.clone();
        let mut pending: Vec<FunctionId> = functions.iter().copied().collect();
        while let Some(function) = pending.pop() {
            for (caller, callee) in &self.calls {
                if *caller == Item::Function(function) && all.insert(*callee) {
                    pending.push(*callee);
                }
            }
        }
        all
    }

    fn item(
        &mut self,
        program: &Program,
        item: Item,
        params: &[Param],
        blocks: &[&[Stmt]],
        condition: Option<ExprId>,
    ) {
        let mut exprs = Vec::new();
        let mut reach = Reach::new(program);
        let mut visit = |mention: Mention| {
            reach.visit(mention, &mut |inner| match inner {
                Mention::Expr(id) => exprs.push(id),
                Mention::Function(id) => {
                    self.calls.insert((item, id));
                }
                _ => {}
            });
        };
        for block in blocks {
            for_each_mention(block, &mut visit);
        }
        condition
            .map(Mention::Expr)
            .into_iter()
            .for_each(&mut visit);
        for param in params {
            if let ParamDomain::Slots { multiset, .. } = &param.domain {
                multiset.for_each_mention(&mut visit);
                self.by_name.insert(item);
            }
        }
        // Slots first: whether a loop runs over them is used below.
        for &id in &exprs {
            if let Expr::Present { slot, .. } = program.expr(id)
                && let Some(local) = local_of(program, *slot)
            {
                self.slots.insert((item, local));
            }
        }
        for id in exprs {
            self.expr(program, item, id);
        }
        for block in blocks {
            for_each_stmt(block, &mut |stmt| self.stmt(program, item, stmt));
        }
    }

    fn expr(&mut self, program: &Program, item: Item, id: ExprId) {
        let site = program.expr_site(id);
        match program.expr(id) {
            Expr::Quantified {
                quantifier,
                var,
                domain,
                ..
            } => self.named_loop(program, (item, *var), domain, site, Some(*quantifier)),
            Expr::Call { args, .. } => self.args(item, args),
            Expr::Read(place) | Expr::IsUndefined(place) => self.place(item, place),
            Expr::Present { multiset, .. } => self.place(item, multiset),
            Expr::SameBits(a, b) => {
                self.place(item, a);
                self.place(item, b);
            }
            _ => {}
        }
    }

    fn stmt(&mut self, program: &Program, item: Item, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { var, domain, .. } => {
                self.named_loop(program, (item, *var), domain, stmt.site, None);
            }
            StmtKind::Bind { place, .. } => {
                self.refer(item, place);
                self.place(item, place);
            }
            StmtKind::Call { args, .. } => self.args(item, args),
            StmtKind::Copy { to, from } => {
                self.place(item, to);
                self.place(item, from);
            }
            StmtKind::MultisetAdd { multiset, value } => {
                self.place(item, multiset);
                self.args(item, std::slice::from_ref(value));
            }
            StmtKind::Assign { place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Return(ReturnValue::Copy(place))
            | StmtKind::Put(PutItem::Place(place, _))
            | StmtKind::MultisetRemove {
                multiset: place, ..
            } => self.place(item, place),
            StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Return(ReturnValue::Nothing | ReturnValue::Value(_))
            | StmtKind::Assert { .. }
            | StmtKind::Error { .. }
            | StmtKind::Assume(_)
            | StmtKind::Cover { .. }
            | StmtKind::Put(PutItem::Text(_) | PutItem::Value(..) | PutItem::Number(..)) => {}
        }
    }

    fn args(&mut self, item: Item, args: &[Arg]) {
        for arg in args {
            match arg {
                Arg::Value(_) => {}
                Arg::Copy(place) => self.place(item, place),
                Arg::Ref(place) => {
                    self.refer(item, place);
                    self.place(item, place);
                }
            }
        }
    }

    fn place(&mut self, item: Item, place: &Place) {
        if let Root::Result { args, .. } = &place.root {
            self.args(item, args);
        }
    }

    fn refer(&mut self, item: Item, place: &Place) {
        if let Root::Local(local) = place.root {
            self.referred_to.insert((item, local));
        }
    }

    fn named_loop(
        &mut self,
        program: &Program,
        key: (Item, LocalId),
        domain: &Domain,
        site: SiteId,
        quantifier: Option<Quantifier>,
    ) {
        let (is_plain, n_passes) = match domain {
            Domain::Type(ty) => {
                let n_passes = program.types.simple(*ty).map_or(0, |simple| simple.len());
                (Label::of_type(&program.types, *ty).is_plain(), n_passes)
            }
            Domain::Span { .. } => (true, u64::MAX),
        };
        if (!is_plain || self.slots.contains(&key)) && n_passes > 1 {
            self.loops.push(NamedLoop {
                key,
                site,
                n_passes,
                quantifier,
            });
        }
    }
}

/// The local that an expression reads as a whole, if that is all it does.
pub(super) fn local_of(program: &Program, id: ExprId) -> Option<LocalId> {
    match program.expr(id) {
        Expr::Defined(inner) => local_of(program, *inner),
        Expr::Read(Place {
            root: Root::Local(local),
            path,
        }) if path.is_empty() => Some(*local),
        _ => None,
    }
}

/// Whether finding a place reads a local.
pub(super) fn place_mentions(program: &Program, place: &Place, local: LocalId) -> bool {
    let mut is_mentioned = false;
    let mut reach = Reach::new(program);
    place.for_each_mention(&mut |mention| {
        reach.visit(mention, &mut |inner| {
            is_mentioned |= inner == Mention::Local(local);
        });
    });
    is_mentioned
}

/// The locals that statements change by name.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Values that are assigned, and what references refer to.
    pub(super) assigned: BTreeSet<LocalId>,
    /// References that are bound.
    pub(super) bound: BTreeSet<LocalId>,
}

impl Changed {
    /// The locals that a block changes.
    pub(super) fn by(block: &[Stmt]) -> Self {
        let mut changed = Changed::default();
        for_each_stmt(block, &mut |stmt| match &stmt.kind {
            StmtKind::Assign { place, .. }
            | StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::MultisetAdd {
                multiset: place, ..
            }
            | StmtKind::MultisetRemove {
                multiset: place, ..
            } => {
                if let Root::Local(local) = place.root {
                    changed.assigned.insert(local);
                }
            }
            StmtKind::Bind { local, .. } => {
                changed.bound.insert(*local);
            }
            StmtKind::For { var, .. } => {
                changed.assigned.insert(*var);
            }
            _ => {}
        });
        changed
    }
}

/// Whether two expressions are written alike, and so have the same value at one point.
pub(super) fn same_expr(program: &Program, a: ExprId, b: ExprId) -> bool {
    let same = |a: &ExprId, b: &ExprId| same_expr(program, *a, *b);
    a == b
        || match (program.expr(a), program.expr(b)) {
            (Expr::Int(a), Expr::Int(b)) => a == b,
            (Expr::Bool(a), Expr::Bool(b)) => a == b,
            (Expr::Read(a), Expr::Read(b)) => same_place(program, a, b),
            (Expr::Defined(a), Expr::Defined(b)) => same(a, b),
            (Expr::Unary(op, a), Expr::Unary(other, b)) => op == other && same(a, b),
            (Expr::Binary(op, a, b), Expr::Binary(other, c, d)) => {
                op == other && same(a, c) && same(b, d)
            }
            (Expr::Remap { value, map }, Expr::Remap { value: v, map: m }) => {
                map == m && same(value, v)
            }
            _ => false,
        }
}

/// Whether two places are written alike, and so are the same at one point.
pub(super) fn same_place(program: &Program, a: &Place, b: &Place) -> bool {
    let same_root = match (&a.root, &b.root) {
        (Root::Var(a), Root::Var(b)) => a == b,
        (Root::Local(a), Root::Local(b)) => a == b,
        _ => false,
    };
    same_root
        && a.path.len() == b.path.len()
        && a.path.iter().zip(&b.path).all(|steps| match steps {
            (Projection::Field(a), Projection::Field(b)) => a == b,
            (Projection::Index(a), Projection::Index(b)) => same_expr(program, *a, *b),
            _ => false,
        })
}
