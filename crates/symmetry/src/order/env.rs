//! What is known at one point of an item.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hadal_ir::{LocalId, Place};

use super::label::Label;
use super::spot::{FrameNo, LocalPath, LoopNo, Spot, What};

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) what: What,
    pub(super) label: Label,
    pub(super) is_defined: bool,
    /// Least and greatest integer, where known.
    pub(super) range: Option<(i128, i128)>,
}

/// What is known where the walk has come to. What is not known is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Env {
    /// Whether the point cannot be reached.
    pub(super) is_dead: bool,
    /// What locals of simple type hold.
    pub(super) values: HashMap<(FrameNo, LocalId), Value>,
    /// What references refer to.
    pub(super) references: HashMap<(FrameNo, LocalId), Vec<Spot>>,
    /// For each loop around this point, what the pass has assigned for certain.
    pub(super) assigned: Vec<HashSet<LocalPath>>,
    /// Locals that hold something of the last pass of a loop.
    pub(super) left_over: BTreeMap<LocalPath, BTreeSet<LoopNo>>,
    /// Slots of multisets that are held: by parameters and by loops over them.
    pub(super) slots: HashMap<What, HeldSlot>,
    /// Places that hold a value, as conditions have shown.
    pub(super) facts: Vec<(FrameNo, Place)>,
}

/// A slot of a multiset whose number a parameter or loop variable holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldSlot {
    /// The multiset; `None` before a loop has shown it.
    pub(super) bag: Option<Bag>,
    /// Whether it may have been freed since.
    pub(super) is_freed: bool,
    /// Whether another element may have come into it since: which one is a matter of order.
    pub(super) is_stale: bool,
}

impl HeldSlot {
    /// A slot that is in use.
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
    /// As it is written, and in which activation.
    pub(super) place: (FrameNo, Place),
    /// What finding it reads: where that has changed, the same words mean another multiset.
    pub(super) depends_on: Vec<Spot>,
    pub(super) has_changed: bool,
}

impl Env {
    /// What is known where two ways meet.
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
        for (path, loops) in &other.left_over {
            self.left_over
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

    /// Forgets an activation and those inside it.
    pub(super) fn forget_frames_from(&mut self, first: FrameNo) {
        self.values.retain(|local, _| local.0 < first);
        self.references.retain(|local, _| local.0 < first);
        self.left_over.retain(|path, _| path.frame < first);
        self.facts.retain(|fact| fact.0 < first);
        for assigned in &mut self.assigned {
            assigned.retain(|path| path.frame < first);
        }
    }
}
