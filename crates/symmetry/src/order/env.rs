//! The facts that hold at one point of an item.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hadal_ir::interp::Item;
use hadal_ir::{LocalId, Place};

use super::label::Label;
use super::spot::{FrameNo, LocalPath, Spot, Symbol};

/// An abstract value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) symbol: Symbol,
    pub(super) label: Label,
    pub(super) is_defined: bool,
    /// Least and greatest integer, where known.
    pub(super) range: Option<(i128, i128)>,
}

impl Value {
    /// No value.
    pub(super) fn undefined() -> Self {
        Value {
            symbol: Symbol::Undefined,
            label: Label::none(),
            is_defined: false,
            range: None,
        }
    }
}

/// The facts at the point the walk has reached. A missing entry means that nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Env {
    /// Whether the point is unreachable.
    pub(super) is_dead: bool,
    /// The values of locals of simple type.
    pub(super) values: HashMap<(FrameNo, LocalId), Value>,
    /// The possible targets of references.
    pub(super) references: HashMap<(FrameNo, LocalId), Vec<Spot>>,
    /// For each enclosing loop, outermost first, the locals that the pass has definitely assigned.
    pub(super) assigned: Vec<HashSet<LocalPath>>,
    /// Locals whose value is that of the last pass of some loops.
    pub(super) last_values: BTreeMap<LocalPath, BTreeSet<(Item, LocalId)>>,
    /// Slots of multisets whose numbers are held by parameters or loop variables.
    pub(super) slots: HashMap<Symbol, HeldSlot>,
    /// Places that conditions have shown to be defined.
    pub(super) facts: Vec<(FrameNo, Place)>,
}

/// A slot of a multiset whose number is held by a parameter or loop variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldSlot {
    /// The multiset; `None` until the loop over it first uses the slot.
    pub(super) bag: Option<Bag>,
    /// Whether the slot may have been freed.
    pub(super) is_freed: bool,
    /// Whether the slot may hold another element by now; which one depends on the order of insertions.
    pub(super) is_stale: bool,
}

impl HeldSlot {
    /// A slot that holds its element.
    pub(super) fn new(bag: Option<Bag>) -> Self {
        HeldSlot {
            bag,
            is_freed: false,
            is_stale: false,
        }
    }
}

/// The multiset that a slot belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bag {
    pub(super) spot: Spot,
    /// How it is written, and in which activation.
    pub(super) place: (FrameNo, Place),
    /// What its indices read: once that changes, the same text denotes another multiset.
    pub(super) depends_on: Vec<Spot>,
    pub(super) has_changed: bool,
}

impl Env {
    /// Keeps what holds on both of two paths.
    pub(super) fn join(&mut self, other: &Env) {
        if other.is_dead {
            return;
        }
        if self.is_dead {
            *self = other.clone();
            return;
        }
        self.values
            .retain(|local, value| other.values.get(local) == Some(value));
        for (local, spots) in &mut self.references {
            match other.references.get(local) {
                Some(more) => {
                    spots.extend(
                        more.iter()
                            .filter(|it| !spots.contains(it))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                }
                None => spots.push(Spot::anywhere(spots[0].ty)),
            }
        }
        for (local, spots) in &other.references {
            if !self.references.contains_key(local) {
                let mut spots = spots.clone();
                spots.push(Spot::anywhere(spots[0].ty));
                self.references.insert(*local, spots);
            }
        }
        for (own, theirs) in self.assigned.iter_mut().zip(&other.assigned) {
            own.retain(|path| theirs.contains(path));
        }
        for (path, loops) in &other.last_values {
            self.last_values
                .entry(path.clone())
                .or_default()
                .extend(loops);
        }
        for (slot, theirs) in &other.slots {
            let own = self.slots.entry(*slot).or_insert_with(|| theirs.clone());
            own.is_freed |= theirs.is_freed;
            own.is_stale |= theirs.is_stale;
            match (&mut own.bag, &theirs.bag) {
                (Some(own), Some(theirs)) => own.has_changed |= theirs.has_changed,
                (own, theirs) => *own = own.take().or_else(|| theirs.clone()),
            }
        }
        self.facts.retain(|fact| other.facts.contains(fact));
    }

    /// Drops the facts about an activation and those it entered.
    pub(super) fn forget_frames_from(&mut self, first: FrameNo) {
        self.values.retain(|local, _| local.0 < first);
        self.references.retain(|local, _| local.0 < first);
        self.last_values.retain(|path, _| path.frame < first);
        self.facts.retain(|fact| fact.0 < first);
        for assigned in &mut self.assigned {
            assigned.retain(|path| path.frame < first);
        }
    }
}
