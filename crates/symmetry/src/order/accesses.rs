//! Reads and writes: recorded for every enclosing loop, with the life of held slots and of values
//! that outlive a loop.

use std::collections::HashSet;

use hadal_ir::{LocalId, Place, SiteId, Type, Types};

use super::mentions::place_mentions;
use super::passes::Reason;
use super::spot::{Access, Base, FrameNo, LocalPath, Spot, Step, Symbol, Update};
use super::walk::{Walk, selector};

impl<'p> Walk<'p> {
    /// Records a read.
    pub(super) fn read(&mut self, spot: &Spot, site: SiteId) {
        self.use_slots(spot, site);
        self.use_last_values(spot);
        let types = &self.program.types;
        for (depth, passes) in self.open.iter_mut().enumerate() {
            let assigned = self.env.assigned.get(depth);
            let is_assigned = || assigned.is_some_and(|it| is_assigned(types, it, spot));
            if let Base::Local(frame, _) = spot.base
                && (passes.owns_frame(frame) || is_assigned())
            {
                continue;
            }
            passes.add(Access {
                spot: spot.clone(),
                update: None,
                site,
                selector: selector(&self.singled_out, passes.number),
            });
        }
    }

    pub(super) fn read_all(&mut self, spots: &[Spot], site: SiteId) {
        for spot in spots {
            self.read(spot, site);
        }
    }

    /// Records a write to one of `spots`; a definite one if there is only one.
    pub(super) fn write(&mut self, spots: &[Spot], update: Update, site: SiteId) {
        let sets = update.sets();
        for spot in spots {
            self.use_slots(spot, site);
            self.change_slots(spot, update);
            if !sets {
                self.use_last_values(spot);
            }
            let types = &self.program.types;
            for (depth, passes) in self.open.iter_mut().enumerate() {
                let assigned = self.env.assigned.get(depth);
                if matches!(spot.base, Base::Local(frame, _) if passes.owns_frame(frame)) {
                    continue;
                }
                // An update of a local that this pass assigned gives a value of this pass alone.
                let is_own = !sets && assigned.is_some_and(|it| is_assigned(types, it, spot));
                let update = if is_own {
                    Update::Set(Symbol::Any)
                } else {
                    update
                };
                passes.add(Access {
                    spot: spot.clone(),
                    update: Some(update),
                    site,
                    selector: selector(&self.singled_out, passes.number),
                });
            }
            self.forget_value(spot);
            if let ([only], true) = (spots, sets)
                && only.is_by_fields()
                && let Some(path) = only.local_path()
            {
                self.env.last_values.retain(|other, _| !path.holds(other));
                for assigned in &mut self.env.assigned {
                    assigned.insert(path.clone());
                }
            }
        }
        self.env.facts.clear();
    }

    /// Binds a reference. To a loop this assigns the reference itself: what a pass dereferences must
    /// have been bound in the same pass.
    pub(super) fn bind(&mut self, local: LocalId, spots: Vec<Spot>, site: SiteId) {
        self.reset(local, site);
        self.env.references.insert((self.frame(), local), spots);
    }

    /// Records that a reference is bound again, or that a loop sets its variable.
    pub(super) fn reset(&mut self, local: LocalId, site: SiteId) {
        let frame = self.frame();
        let facts = std::mem::take(&mut self.env.facts);
        self.write(&[self.whole(local)], Update::Set(Symbol::Any), site);
        self.env.facts = facts;
        let program = self.program;
        let is_about_local = |place: &Place| place_mentions(program, place, local);
        (self.env.facts).retain(|(of, place)| *of != frame || !is_about_local(place));
    }

    /// The targets of a reference.
    pub(super) fn referred_to(&mut self, local: LocalId, site: SiteId) -> Vec<Spot> {
        let own = self.whole(local);
        self.read(&own, site);
        self.known_targets(local)
    }

    /// What is known of the targets of a reference; this is no read of it.
    pub(super) fn known_targets(&self, local: LocalId) -> Vec<Spot> {
        match self.env.references.get(&(self.frame(), local)) {
            Some(spots) => spots.clone(),
            None => vec![Spot::anywhere(self.whole(local).ty)],
        }
    }

    /// A whole local; for a reference, the reference itself rather than its target.
    pub(super) fn whole(&self, local: LocalId) -> Spot {
        Spot {
            base: Base::Local(self.frame(), local),
            path: Vec::new(),
            ty: self.current().frame.local(local).kind.ty(),
        }
    }

    pub(super) fn forget_value(&mut self, spot: &Spot) {
        match spot.base {
            Base::Var(_) => {}
            Base::Local(frame, local) => {
                self.env.values.remove(&(frame, local));
            }
            Base::Anywhere => {
                let held = std::mem::take(&mut self.env.values);
                // Loop variables and parameters cannot be referred to.
                let keeps = |key: &(FrameNo, LocalId)| {
                    let activation = self.frames.iter().find(|it| it.number == key.0);
                    activation.is_some_and(|it| !self.mentions.is_referred_to(it.item, key.1))
                };
                self.env.values = held.into_iter().filter(|(key, _)| keeps(key)).collect();
            }
        }
    }

    /// Where the value read is that of a loop's last pass, the loop depends on its order.
    pub(super) fn use_last_values(&mut self, spot: &Spot) {
        let mut used = Vec::new();
        for (path, loops) in &self.env.last_values {
            let is_used = match (spot.base, spot.local_path()) {
                (Base::Anywhere, _) => true,
                (_, Some(own)) => own.meets(path),
                _ => false,
            };
            if is_used {
                used.extend(loops.iter().map(|key| (*key, path.local)));
            }
        }
        for (key, local) in used {
            let name = self.name(spot);
            let facts = self.loops.entry(key).or_default();
            facts.not_private.insert(local);
            if let Some(site) = facts.site {
                facts.reasons.insert(Reason {
                    site,
                    text: format!(
                        "sets `{name}`, which is read after the loop: the last iteration wins"
                    ),
                });
            }
            facts.has_effects = true;
        }
    }

    /// Rejects the use of a held slot that was freed and filled again.
    fn use_slots(&mut self, spot: &Spot, site: SiteId) {
        let stale = spot.path.iter().any(|step| match step {
            Step::At(index) => self.env.slots.get(index).is_some_and(|slot| slot.is_stale),
            Step::Field(_) => false,
        });
        if stale {
            self.breaks(
                site,
                "this slot of the multiset was freed and may hold a new element by now; \
                 which one depends on the order of elements",
            );
        }
    }

    /// Tracks whether held slots are freed and filled again.
    fn change_slots(&mut self, spot: &Spot, update: Update) {
        if self.env.slots.is_empty() {
            return;
        }
        for slot in self.env.slots.values_mut() {
            let Some(bag) = &mut slot.bag else { continue };
            bag.has_changed |= bag.depends_on.iter().any(|read| read.meets(spot));
            let bag = &bag.spot;
            if !bag.meets(spot) {
                continue;
            }
            // Writing to a part of a slot changes neither which slots are free nor their order.
            let is_inside = spot.base == bag.base && spot.path.len() > bag.path.len();
            match update {
                Update::Insert if !is_inside => slot.is_stale |= slot.is_freed,
                Update::Remove => slot.is_freed = true,
                _ if is_inside => {}
                Update::Undefine | Update::Clear => slot.is_freed = true,
                _ => {
                    slot.is_freed = true;
                    slot.is_stale = true;
                }
            }
        }
    }
}

/// Whether this pass has assigned every part of the place.
fn is_assigned(types: &Types, assigned: &HashSet<LocalPath>, spot: &Spot) -> bool {
    let Some(path) = spot.local_path() else {
        return false;
    };
    if assigned.is_empty() {
        return false;
    }
    let is_part = assigned.iter().any(|whole| whole.holds(&path));
    if is_part || !spot.is_by_fields() {
        return is_part;
    }
    // A record is assigned when all its fields are.
    match types.get(spot.ty) {
        Type::Record { fields } => fields.iter().enumerate().all(|(number, field)| {
            let mut part = spot.clone();
            part.path.push(Step::Field(number as u32));
            part.ty = field.ty;
            is_assigned(types, assigned, &part)
        }),
        _ => false,
    }
}
