//! Statements: what they change, and which changes commute.

use hadal_ir::walk::{Mention, Reach};
use hadal_ir::{
    Arg, BinaryOp, Expr, ExprId, Place, PutItem, ReturnValue, SiteId, Stmt, StmtKind, Type, TypeId,
};

use super::env::Value;
use super::exprs::Truth;
use super::label::Label;
use super::loops::MAX_ROUNDS;
use super::mentions::{Changed, same_expr, same_place};
use super::passes::Kind;
use super::spot::{Base, LoopNo, Selector, Spot, Symbol, Update};
use super::walk::Walk;

impl<'p> Walk<'p> {
    /// Statements one after the other.
    pub(super) fn block(&mut self, block: &'p [Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        let site = stmt.site;
        if !self.charge() {
            return;
        }
        match &stmt.kind {
            StmtKind::Assign { place, value } => self.assign(place, *value, site),
            StmtKind::Copy { to, from } => {
                let from = self.resolve(from, site);
                let to = self.resolve(to, site);
                self.read_all(&from, site);
                if let [spot] = &to[..] {
                    self.same_types(&from, spot.ty, site);
                } else {
                    for spot in &to {
                        self.same_types(&from, spot.ty, site);
                    }
                }
                self.write(&to, Update::Set(Symbol::Any), site);
            }
            StmtKind::Clear(place) => {
                let spots = self.resolve(place, site);
                if let Some(spot) = spots.first()
                    && self.clears_elements(spot.ty)
                {
                    self.breaks(site, "this gives elements of a scalarset for values");
                }
                self.write(&spots, Update::Clear, site);
            }
            StmtKind::Undefine(place) => {
                let spots = self.resolve(place, site);
                self.write(&spots, Update::Undefine, site);
            }
            StmtKind::If { arms, otherwise } => {
                if let ([(condition, block)], []) = (&arms[..], &otherwise[..])
                    && self.extreme(*condition, block)
                {
                    return;
                }
                self.choice(arms, otherwise);
            }
            StmtKind::For { var, domain, body } => {
                self.domain(domain, site);
                let changed = Changed::by(body);
                self.each_pass(*var, domain, Kind::For, site, &changed, |walk| {
                    walk.block(body);
                });
            }
            StmtKind::While { condition, body } => self.repeat(*condition, body, site),
            StmtKind::Bind { local, place } => {
                let spots = self.resolve(place, site);
                let ty = self.current().frame.local(*local).kind.ty();
                self.same_types(&spots, ty, site);
                self.bind(*local, spots, site);
            }
            StmtKind::Call { function, args } => {
                self.call(*function, args, site);
            }
            StmtKind::Return(value) => self.returns(value, site),
            StmtKind::Assert { condition, .. } => {
                // False and failed are both faults.
                self.truth(*condition, Truth::FalseIsFault);
                self.fault(site);
            }
            StmtKind::Error { .. } => {
                self.fault(site);
                self.env.is_dead = true;
            }
            StmtKind::Assume(condition) => {
                self.value(*condition);
                self.abandon(site);
                self.learn(*condition, true);
            }
            StmtKind::Cover { condition, .. } => {
                self.value(*condition);
                self.cover(site);
            }
            StmtKind::Put(PutItem::Text(_)) => {}
            StmtKind::Put(PutItem::Value(value, _)) => {
                self.value(*value);
            }
            StmtKind::Put(PutItem::Place(place, _)) => {
                // Output is for people and has no effect on states; finding the place can fault.
                self.resolve(place, site);
            }
            StmtKind::MultisetAdd { multiset, value } => {
                match value {
                    Arg::Value(value) => {
                        let value = self.value(*value);
                        self.insert(multiset, Some(value), &[], site);
                    }
                    Arg::Copy(place) | Arg::Ref(place) => {
                        let spots = self.resolve(place, site);
                        self.read_all(&spots, site);
                        self.insert(multiset, None, &spots, site);
                    }
                };
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                let value = self.value(*slot);
                let bags = self.resolve(multiset, site);
                let spots: Vec<Spot> = (bags.into_iter())
                    .map(|bag| self.element_at(bag, multiset, &value, site))
                    .collect();
                self.write(&spots, Update::Remove, site);
            }
        }
    }

    fn insert(&mut self, multiset: &'p Place, value: Option<Value>, from: &[Spot], site: SiteId) {
        let bags = self.resolve(multiset, site);
        let element = bags.first().and_then(|bag| match self.types().get(bag.ty) {
            Type::Multiset { element, .. } => Some(*element),
            _ => None,
        });
        if let Some(element) = element {
            match value {
                Some(value) => {
                    self.stored(value, element, site);
                }
                None => self.same_types(from, element, site),
            }
        }
        // A full multiset is a fault, and how full it is is the same in every order.
        self.fault(site);
        self.write(&bags, Update::Insert, site);
    }

    fn assign(&mut self, place: &'p Place, value: ExprId, site: SiteId) {
        if self.accumulate(place, value, site) {
            return;
        }
        let value = self.value(value);
        let spots = self.resolve(place, site);
        let Some(ty) = spots.first().map(|spot| spot.ty) else {
            return;
        };
        let mut value = self.stored(value, ty, site);
        self.write(&spots, Update::Set(value.symbol), site);
        if let [spot] = &spots[..]
            && spot.path.is_empty()
            && let Base::Local(frame, local) = spot.base
        {
            self.settle(&mut value);
            self.env.values.insert((frame, local), value);
        }
    }

    /// Updates that commute, such as `x := x + e`. Whether the statement is one.
    fn accumulate(&mut self, place: &'p Place, value: ExprId, site: SiteId) -> bool {
        if self.mentions.has_call(value) || self.open.is_empty() {
            return false;
        }
        let program = self.program;
        let is_own = |id: ExprId| reads(program, id, place);
        match program.expr(value) {
            Expr::Binary(BinaryOp::Add, a, b) if is_own(*a) => {
                self.accumulate_sum(place, Update::Increase, *b, site)
            }
            Expr::Binary(BinaryOp::Add, a, b) if is_own(*b) => {
                self.accumulate_sum(place, Update::Increase, *a, site)
            }
            Expr::Binary(BinaryOp::Sub, a, b) if is_own(*a) => {
                self.accumulate_sum(place, Update::Decrease, *b, site)
            }
            Expr::Cond(condition, yes, no) => {
                let Some((compared, update)) = compared_with(program, *condition, place) else {
                    return false;
                };
                let is_compared = |id: ExprId| same_expr(program, id, compared);
                let update = match update {
                    _ if is_compared(*yes) && is_own(*no) => update,
                    Update::Max if is_own(*yes) && is_compared(*no) => Update::Min,
                    Update::Min if is_own(*yes) && is_compared(*no) => Update::Max,
                    _ => return false,
                };
                self.take_extreme(place, compared, update, site);
                true
            }
            Expr::Or(_) => self.accumulate_truth(place, value, Update::Or, site),
            Expr::And(_) => self.accumulate_truth(place, value, Update::And, site),
            _ => false,
        }
    }

    fn accumulate_sum(
        &mut self,
        place: &'p Place,
        update: Update,
        term: ExprId,
        site: SiteId,
    ) -> bool {
        let Some(update) = self.direction(update, term) else {
            return false;
        };
        let value = self.value(term);
        self.must_be_plain(&value, site);
        let spots = self.resolve(place, site);
        self.must_be_numbers(&spots, site);
        self.fault(site);
        self.write(&spots, update, site);
        true
    }

    fn accumulate_truth(
        &mut self,
        place: &'p Place,
        value: ExprId,
        update: Update,
        site: SiteId,
    ) -> bool {
        let program = self.program;
        let mut operands = Vec::new();
        flatten(program, value, update, &mut operands);
        let (others, is_own_last) = match &operands[..] {
            [own, others @ ..] if reads(program, *own, place) => (others, false),
            [others @ .., own] if reads(program, *own, place) => (others, true),
            _ => return false,
        };
        // Where the place decides first, the others are not evaluated, so whether one faults
        // depends on earlier passes. Where it comes last, so does whether it is read undefined.
        let depends_on_order = match is_own_last {
            true => !self.is_defined(place),
            false => others.iter().any(|other| self.can_fail(*other)),
        };
        if depends_on_order {
            return false;
        }
        for other in others {
            self.value(*other);
        }
        let spots = self.resolve(place, site);
        if !self.is_defined(place) {
            self.fault(site);
        }
        self.write(&spots, update, site);
        true
    }

    /// The direction of a sum whose terms all have one sign.
    ///
    /// Such a sum leaves its range in every order or in none, because its final value is the extreme
    /// one. That fails where arithmetic wraps around.
    fn direction(&mut self, update: Update, term: ExprId) -> Option<Update> {
        if self.program.arithmetic.wraps {
            return None;
        }
        let (lo, hi) = self.dry(|walk| walk.value(term)).range?;
        match (update, lo >= 0, hi <= 0) {
            (_, true, _) => Some(update),
            (Update::Increase, _, true) => Some(Update::Decrease),
            (Update::Decrease, _, true) => Some(Update::Increase),
            _ => None,
        }
    }

    /// Whether evaluating an expression may fail.
    fn can_fail(&mut self, id: ExprId) -> bool {
        let open = std::mem::take(&mut self.open);
        let env = self.env.clone();
        self.env.assigned = vec![Default::default()];
        self.open.push(self.observer());
        self.value(id);
        let can_fail = self.open.iter().any(|passes| passes.may_fault.is_some());
        self.open = open;
        self.env = env;
        can_fail
    }

    /// Evaluates without recording accesses.
    fn dry(&mut self, evaluate: impl FnOnce(&mut Self) -> Value) -> Value {
        let open = std::mem::take(&mut self.open);
        let env = self.env.clone();
        let value = evaluate(self);
        self.open = open;
        self.env = env;
        value
    }

    /// `if e > x then x := e end`: the largest (or smallest) of all, in any order. Conditions in
    /// front of the comparison select the passes that take part.
    fn extreme(&mut self, condition: ExprId, block: &'p [Stmt]) -> bool {
        let program = self.program;
        let [
            Stmt {
                kind: StmtKind::Assign { place, value },
                site,
            },
        ] = block
        else {
            return false;
        };
        let (filters, comparison) = match program.expr(condition) {
            Expr::And(parts) => match parts.split_last() {
                Some((last, filters)) => (filters, *last),
                None => return false,
            },
            _ => (&[][..], condition),
        };
        let Some((compared, update)) = compared_with(program, comparison, place) else {
            return false;
        };
        let is_value = same_expr(program, compared, *value) || strips(program, compared, *value);
        if !is_value || self.mentions.has_call(condition) || self.open.is_empty() {
            return false;
        }
        let facts = self.env.facts.clone();
        for filter in filters {
            self.value(*filter);
            self.learn(*filter, true);
        }
        self.take_extreme(place, compared, update, *site);
        self.keep_facts(&facts);
        true
    }

    fn take_extreme(&mut self, place: &'p Place, value: ExprId, update: Update, site: SiteId) {
        let value = self.value(value);
        self.must_be_plain(&value, site);
        let spots = self.resolve(place, site);
        self.must_be_numbers(&spots, site);
        self.fault(site);
        self.write(&spots, update, site);
    }

    /// Places that are computed with must not hold elements.
    fn must_be_numbers(&mut self, spots: &[Spot], site: SiteId) {
        let types = self.types();
        let is_plain = |spot: &Spot| Label::of_type(types, spot.ty).is_plain();
        if !spots.iter().all(is_plain) {
            self.breaks(site, "this computes with elements of a scalarset");
        }
    }

    fn choice(&mut self, arms: &'p [(ExprId, Vec<Stmt>)], otherwise: &'p [Stmt]) {
        let facts = self.env.facts.clone();
        let mut after: Option<super::env::Env> = None;
        let mut join = |env: super::env::Env| match &mut after {
            Some(after) => after.join(&env),
            None => after = Some(env),
        };
        for (condition, block) in arms {
            self.value(*condition);
            let before = self.env.clone();
            self.learn(*condition, true);
            let n_singled_out = self.singled_out.len();
            self.single_out(*condition);
            self.block(block);
            self.singled_out.truncate(n_singled_out);
            join(std::mem::replace(&mut self.env, before));
            self.learn(*condition, false);
        }
        self.block(otherwise);
        join(std::mem::take(&mut self.env));
        self.env = after.unwrap_or_default();
        self.keep_facts(&facts);
    }

    /// Notes the loops whose element a condition compares with a value that is the same in all
    /// passes: it can be true in one pass at most.
    fn single_out(&mut self, condition: ExprId) {
        let program = self.program;
        match program.expr(condition) {
            Expr::And(parts) => parts.iter().for_each(|part| self.single_out(*part)),
            Expr::Binary(BinaryOp::Eq, a, b) => {
                for (own, other) in [(*a, *b), (*b, *a)] {
                    if self.mentions.has_call(own) {
                        continue;
                    }
                    let Symbol::Element(number) = self.dry(|walk| walk.value(own)).symbol else {
                        continue;
                    };
                    if let Some(selector) = self.selector(number, other) {
                        self.singled_out.push((number, selector));
                    }
                }
            }
            _ => {}
        }
    }

    /// A value that is the same in all passes of a loop: by its symbol; or, for an expression over
    /// state variables alone, by its text, as long as no pass writes these variables, which is
    /// decided with all other reads.
    fn selector(&mut self, number: LoopNo, id: ExprId) -> Option<Selector> {
        if self.mentions.has_call(id) {
            return None;
        }
        let symbol = self.dry(|walk| walk.value(id)).symbol;
        let passes = self.open.iter().find(|passes| passes.number == number)?;
        if passes.is_same_in_all_passes(symbol) {
            return Some(Selector::Symbol(symbol));
        }
        let program = self.program;
        let mut has_local = false;
        Reach::new(program).visit(Mention::Expr(id), &mut |mention| {
            has_local |= matches!(mention, Mention::Local(_));
        });
        if has_local {
            return None;
        }
        let known = self.selectors.iter();
        let known = known.copied().find(|it| same_expr(program, *it, id));
        Some(Selector::Text(known.unwrap_or_else(|| {
            self.selectors.push(id);
            id
        })))
    }

    fn repeat(&mut self, condition: ExprId, body: &'p [Stmt], site: SiteId) {
        // Too many rounds are a fault.
        self.fault(site);
        let changed = Changed::by(body);
        self.havoc(&changed);
        self.env.facts.clear();
        let mut head = self.env.clone();
        for _ in 0..MAX_ROUNDS {
            let before = head.clone();
            self.env = head.clone();
            self.value(condition);
            self.block(body);
            head.join(&self.env);
            self.env = head;
            self.havoc(&changed);
            head = std::mem::take(&mut self.env);
            if head == before {
                break;
            }
        }
        self.env = head;
        self.value(condition);
    }

    fn returns(&mut self, value: &'p ReturnValue, site: SiteId) {
        let value = match value {
            ReturnValue::Nothing => None,
            ReturnValue::Value(value) => {
                let value = self.value(*value);
                Some(match self.result_type() {
                    Some(ty) => self.stored(value, ty, site),
                    None => value,
                })
            }
            ReturnValue::Copy(place) => {
                let spots = self.resolve(place, site);
                self.read_all(&spots, site);
                if let Some(ty) = self.result_type() {
                    self.same_types(&spots, ty, site);
                }
                spots.first().map(|spot| self.any(spot.ty))
            }
        };
        self.return_here(value, site);
    }

    fn result_type(&self) -> Option<TypeId> {
        match self.current().item {
            hadal_ir::interp::Item::Function(id) => self.program.function(id).result,
            _ => None,
        }
    }

    /// Whether the least value of some leaf is an element.
    fn clears_elements(&self, ty: TypeId) -> bool {
        let types = self.types();
        match types.get(ty) {
            Type::Simple(simple) => {
                let label = Label::of_type(types, ty);
                !simple.is_empty() && label.is_element(simple.lo)
            }
            Type::Array { element, .. } => self.clears_elements(*element),
            Type::Record { fields } => fields.iter().any(|field| self.clears_elements(field.ty)),
            // It becomes empty.
            Type::Multiset { .. } => false,
        }
    }
}

/// The operands of nested `Or`s or `And`s, in order.
fn flatten(program: &hadal_ir::Program, id: ExprId, update: Update, operands: &mut Vec<ExprId>) {
    match (program.expr(id), update) {
        (Expr::Or(parts), Update::Or) | (Expr::And(parts), Update::And) => {
            for part in parts {
                flatten(program, *part, update, operands);
            }
        }
        _ => operands.push(id),
    }
}

/// What a comparison compares a place with, and what the place becomes where it takes that value
/// if the comparison holds.
fn compared_with(
    program: &hadal_ir::Program,
    comparison: ExprId,
    place: &Place,
) -> Option<(ExprId, Update)> {
    let Expr::Binary(op, a, b) = program.expr(comparison) else {
        return None;
    };
    let is_own = |id: ExprId| reads(program, id, place);
    match op {
        BinaryOp::Gt | BinaryOp::Ge if is_own(*b) => Some((*a, Update::Max)),
        BinaryOp::Lt | BinaryOp::Le if is_own(*b) => Some((*a, Update::Min)),
        BinaryOp::Gt | BinaryOp::Ge if is_own(*a) => Some((*b, Update::Min)),
        BinaryOp::Lt | BinaryOp::Le if is_own(*a) => Some((*b, Update::Max)),
        _ => None,
    }
}

/// Whether an expression is the content of a place.
fn reads(program: &hadal_ir::Program, id: ExprId, place: &Place) -> bool {
    match program.expr(id) {
        Expr::Defined(inner) => reads(program, *inner, place),
        Expr::Read(read) => same_place(program, read, place),
        _ => false,
    }
}

/// Whether `a` is `b`, made sure that it is defined.
fn strips(program: &hadal_ir::Program, a: ExprId, b: ExprId) -> bool {
    matches!(program.expr(a), Expr::Defined(inner) if same_expr(program, *inner, b))
}
