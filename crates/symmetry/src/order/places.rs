//! Places: what they stand for in one pass, and which multiset a slot belongs to.

use hadal_ir::walk::Mention;
use hadal_ir::{ExprId, LocalKind, Place, Projection, Root, SiteId, Type};

use super::env::{Bag, HeldSlot, Value};
use super::mentions::same_place;
use super::spot::{Base, Spot, Step, Symbol, Update};
use super::walk::Walk;

impl<'p> Walk<'p> {
    /// The places that a place may be. Evaluates its indices.
    pub(super) fn resolve(&mut self, place: &'p Place, site: SiteId) -> Vec<Spot> {
        let frame = self.frame();
        let mut spots = match &place.root {
            Root::Var(var) => vec![Spot {
                base: Base::Var(*var),
                path: Vec::new(),
                ty: self.program.var(*var).ty,
            }],
            Root::Local(local) => {
                let kind = self.current().frame.local(*local).kind;
                match kind {
                    LocalKind::Value(ty) => vec![Spot {
                        base: Base::Local(frame, *local),
                        path: Vec::new(),
                        ty,
                    }],
                    LocalKind::Ref(_) | LocalKind::ConstRef(_) => self.referred_to(*local, site),
                }
            }
            Root::Result {
                function,
                args,
                into,
                site,
            } => {
                self.call(*function, args, *site);
                let spot = Spot {
                    base: Base::Local(frame, *into),
                    path: Vec::new(),
                    ty: self.current().frame.local(*into).kind.ty(),
                };
                let spots = vec![spot];
                self.write(&spots, Update::Set(Symbol::Any), *site);
                spots
            }
        };
        for (depth, step) in place.path.iter().enumerate() {
            match step {
                Projection::Field(field) => {
                    for spot in &mut spots {
                        let Type::Record { fields } = self.types().get(spot.ty) else {
                            continue;
                        };
                        spot.ty = fields[*field as usize].ty;
                        if spot.base != Base::Anywhere {
                            spot.path.push(Step::Field(*field));
                        }
                    }
                }
                Projection::Index(index) => {
                    let index_site = self.program.expr_site(*index);
                    let site = if index_site.index() == 0 {
                        site
                    } else {
                        index_site
                    };
                    let value = self.value(*index);
                    let whole = Place {
                        root: place.root.clone(),
                        path: place.path[..depth].to_vec(),
                    };
                    spots = (spots.into_iter())
                        .map(|spot| self.element_at(spot, &whole, &value, site))
                        .collect();
                }
            }
        }
        spots
    }

    /// The part of a place at an index. `place` is how the place is written.
    pub(super) fn element_at(
        &mut self,
        mut spot: Spot,
        place: &Place,
        index: &Value,
        site: SiteId,
    ) -> Spot {
        let types = self.types();
        match types.get(spot.ty) {
            Type::Array { index: by, element } => {
                let own = self.any(*by);
                if !index.label.agrees(&own.label) {
                    self.breaks(
                        site,
                        "this index uses elements of a scalarset as something else",
                    );
                }
                let inside = match (index.range, own.range) {
                    (Some((lo, hi)), Some((first, last))) => first <= lo && hi <= last,
                    _ => false,
                };
                if !inside {
                    self.fault(site);
                }
                spot.ty = *element;
            }
            Type::Multiset { element, capacity } => {
                self.use_slot(&spot, place, index, site);
                let last = i128::from(*capacity) - 1;
                if !index.range.is_some_and(|(lo, hi)| 0 <= lo && hi <= last) {
                    self.fault(site);
                }
                spot.ty = *element;
            }
            _ => return spot,
        }
        if spot.base != Base::Anywhere {
            spot.path.push(Step::At(index.symbol));
        }
        spot
    }

    /// The number of a slot has a meaning for the multiset it was chosen from, and for no other.
    fn use_slot(&mut self, spot: &Spot, place: &Place, index: &Value, site: SiteId) {
        // Unreachable code proves nothing.
        if self.env.is_dead {
            return;
        }
        let (program, frame) = (self.program, self.frame());
        let is_own = match self.env.slots.get(&index.symbol) {
            Some(HeldSlot { bag: Some(bag), .. }) if bag.spot.is_certain() => bag.spot == *spot,
            // Where the multiset is found by computed indices, the same text finds it again until
            // what the indices read has changed.
            Some(HeldSlot { bag: Some(bag), .. }) => {
                bag.place.0 == frame && same_place(program, &bag.place.1, place) && !bag.has_changed
            }
            Some(HeldSlot { bag: None, .. }) => {
                let bag = self.bag(spot.clone(), place.clone());
                if let Some(slot) = self.env.slots.get_mut(&index.symbol) {
                    slot.bag = Some(bag);
                }
                true
            }
            None => false,
        };
        if !is_own {
            self.breaks(
                site,
                "this slot may be used on another multiset than the one it was chosen from; \
                 which element it holds there depends on the order of elements",
            );
        }
    }

    /// A multiset whose slots are held, and what finding it depends on.
    pub(super) fn bag(&self, spot: Spot, place: Place) -> Bag {
        let mut depends_on = Vec::new();
        if !spot.is_certain() {
            let mut pending: Vec<ExprId> = indices(&place).collect();
            while let Some(id) = pending.pop() {
                self.program
                    .expr(id)
                    .for_each_mention(&mut |mention| match mention {
                        Mention::Expr(id) => pending.push(id),
                        Mention::Var(var) => depends_on.push(Spot {
                            base: Base::Var(var),
                            path: Vec::new(),
                            ty: self.program.var(var).ty,
                        }),
                        Mention::Local(local) => {
                            depends_on.push(self.whole(local));
                            let kind = self.current().frame.local(local).kind;
                            if !matches!(kind, LocalKind::Value(_)) {
                                depends_on.extend(self.known_targets(local));
                            }
                        }
                        _ => {}
                    });
            }
        }
        // Calls may read anything.
        let has_call = matches!(place.root, Root::Result { .. })
            || indices(&place).any(|id| self.mentions.has_call(id));
        Bag {
            has_changed: has_call && !spot.is_certain(),
            spot,
            place: (self.frame(), place),
            depends_on,
        }
    }
}

/// The indices on the path to a place.
fn indices(place: &Place) -> impl Iterator<Item = ExprId> + '_ {
    place.path.iter().filter_map(|step| match step {
        Projection::Index(index) => Some(*index),
        Projection::Field(_) => None,
    })
}
