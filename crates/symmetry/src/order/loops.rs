//! Loops: a body is walked to a fixpoint of the facts at its head, then the loop is decided.

use hadal_ir::{Domain, LocalId, LocalKind, SiteId};

use super::env::{HeldSlot, Value};
use super::label::Label;
use super::mentions::Changed;
use super::passes::{Decision, Kind, Passes};
use super::spot::{LoopNo, Spot, Step, Symbol, Update};
use super::walk::Walk;

/// Walks of a loop's body after which nothing new can reach its head.
pub(super) const MAX_ROUNDS: usize = 4;

impl<'p> Walk<'p> {
    /// Walks a loop and decides it. `changed` are the locals that the body assigns by name.
    pub(super) fn each_pass(
        &mut self,
        var: LocalId,
        domain: &'p Domain,
        kind: Kind,
        site: SiteId,
        changed: &Changed,
        mut body: impl FnMut(&mut Self),
    ) {
        let LocalKind::Value(var_ty) = self.current().frame.local(var).kind else {
            return;
        };
        let (is_plain, n_passes) = match domain {
            Domain::Type(ty) => {
                if !self.mentions.is_slot(self.current().item, var) {
                    self.same_values(*ty, var_ty, site);
                }
                let label = Label::of_type(self.types(), *ty);
                let simple = self.types().simple(*ty);
                (label.is_plain(), simple.map_or(0, |simple| simple.len()))
            }
            Domain::Span { .. } => (true, u64::MAX),
        };
        // To enclosing loops the variable is a local like any other.
        self.reset(var, site);
        let item = self.current().item;
        let is_over_slots = self.mentions.is_slot(item, var);
        let number = self.keys.len() as LoopNo;
        self.keys.push((item, var));
        self.open.push(Passes {
            number,
            key: (item, var),
            site,
            kind,
            n_passes,
            is_by_name: (!is_plain || is_over_slots) && n_passes > 1,
            is_over_slots,
            ..self.observer()
        });
        let own = Symbol::Element(number);
        let mut value = Value {
            symbol: own,
            is_defined: true,
            ..self.any(var_ty)
        };
        if is_over_slots {
            value.label = Label::slots();
            self.env.slots.insert(own, HeldSlot::new(None));
        }
        let frame = self.frame();
        self.havoc(changed);
        let mut head = self.env.clone();
        // Values that reach the head from an earlier pass need a second walk, held slots a third:
        // freed in one pass, filled in the next, used in the third.
        for _ in 0..MAX_ROUNDS {
            let before = head.clone();
            self.env = head.clone();
            let own_variable = self.whole(var).local_path();
            self.env.assigned.push(own_variable.into_iter().collect());
            self.env.values.insert((frame, var), value.clone());
            body(self);
            self.env.assigned.pop();
            self.env.values.remove(&(frame, var));
            head.join(&self.env);
            self.env = head;
            self.havoc(changed);
            head = std::mem::take(&mut self.env);
            if head == before {
                break;
            }
        }
        self.env = head;
        self.env.slots.remove(&own);
        self.env.values.remove(&(frame, var));
        let passes = self.open.pop().expect("the loop is open");
        self.close(&passes);
    }

    /// A record of what happens from here on, for a loop or for a single expression.
    pub(super) fn observer(&self) -> Passes {
        Passes {
            number: self.keys.len() as LoopNo,
            key: (self.current().item, LocalId::new(0)),
            site: SiteId::new(0),
            kind: Kind::For,
            frame: self.frame(),
            first_inner_frame: self.n_frames,
            first_inner_value: self.n_values,
            n_passes: 0,
            is_by_name: false,
            is_over_slots: false,
            accesses: Vec::new(),
            may_fault: None,
            may_abandon: None,
            covers: None,
            returns: Vec::new(),
            unknown: None,
        }
    }

    /// Decides a loop whose order is that of names.
    fn close(&mut self, passes: &Passes) {
        if !passes.is_by_name {
            return;
        }
        if passes.is_over_slots {
            self.refuse_insertions(passes);
        }
        let name = |spot: &Spot| self.name(spot);
        let Decision {
            reasons,
            last_values,
            shared,
            has_effects,
        } = passes.decide(&name);
        let around = self.open.iter().filter(|it| it.is_by_name);
        let around: Vec<_> = around.map(|it| it.key).collect();
        let facts = self.loops.entry(passes.key).or_default();
        facts.site = facts.site.or(Some(passes.site));
        facts.n_passes = facts.n_passes.max(passes.n_passes);
        facts.reasons.extend(reasons);
        facts.has_effects |= has_effects;
        facts.not_private.extend(shared);
        facts.around.extend(around);
        // A call that is not inlined may read what looks private.
        facts.is_blind |= passes.unknown.is_some();
        for path in last_values {
            if path.frame == passes.frame && self.follows_calls {
                facts.private.insert(path.local);
            }
            let loops = self.env.last_values.entry(path).or_default();
            loops.insert(passes.key);
        }
    }

    /// Rejects insertions into the multiset that a loop runs over: whether the loop meets the new
    /// element depends on the slot it gets.
    fn refuse_insertions(&mut self, passes: &Passes) {
        let own = Step::At(Symbol::Element(passes.number));
        let slots = passes.accesses.iter().map(|access| &access.spot);
        let slots: Vec<&Spot> = slots.filter(|spot| spot.path.contains(&own)).collect();
        for access in &passes.accesses {
            if access.update == Some(Update::Insert)
                && slots.iter().any(|slot| slot.meets(&access.spot))
            {
                let message = "this adds to the multiset that the loop runs over, so whether the loop meets the new \
                     element depends on the order of elements";
                self.breaks(access.site, message);
            }
        }
    }

    /// Drops the facts that the body of a loop may invalidate.
    pub(super) fn havoc(&mut self, changed: &Changed) {
        let current = self.frame();
        let frames = &self.frames;
        let mentions = self.mentions;
        self.env.values.retain(|(frame, local), _| {
            let activation = frames.iter().find(|it| it.number == *frame);
            let is_referred_to =
                activation.is_none_or(|it| mentions.is_referred_to(it.item, *local));
            let is_changed = *frame == current && changed.assigned.contains(local);
            !is_referred_to && !is_changed
        });
        for ((frame, local), spots) in &mut self.env.references {
            if *frame == current && changed.bound.contains(local) {
                let ty = spots[0].ty;
                *spots = vec![Spot::anywhere(ty)];
            }
        }
    }
}
