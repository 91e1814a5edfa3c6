//! Statements: what they change, and which changes commute.

use hadal_ir::{Arg, ExprId, Place, PutItem, ReturnValue, SiteId, Stmt, StmtKind, Type, TypeId};

use super::env::Value;
use super::exprs::Truth;
use super::label::Label;
use super::loops::MAX_ROUNDS;
use super::mentions::Changed;
use super::passes::Kind;
use super::spot::{Base, Spot, Symbol, Update};
use super::walk::Walk;

impl<'p> Walk<'p> {
    /// A sequence of statements.
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
                for spot in &to {
                    self.same_types(&from, spot.ty, site);
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
                self.same_places(&spots, ty, site);
                self.bind(*local, spots, site);
            }
            StmtKind::Call { function, args } => {
                self.call(*function, args, site);
            }
            StmtKind::Return(value) => self.returns(value, site),
            StmtKind::Assert { condition, .. } => {
                // A false condition and one that cannot be evaluated are both faults.
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
            StmtKind::Put(PutItem::Value(value, _) | PutItem::Number(value, _)) => {
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
