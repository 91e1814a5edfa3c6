//! What the passes of one loop do, and whether their order matters.
//!
//! Passes are independent of their order if none of them reads or overwrites what another one
//! writes, but for updates that commute; and if no pass keeps another one from running: by a
//! `return`, by deciding a quantifier, by an `assume` that is false, or by a fault.

use std::collections::BTreeSet;

use hadal_ir::SiteId;
use hadal_ir::interp::Item;
use hadal_ir::{LocalId, Quantifier};

use super::spot::{Access, Base, FrameNo, LocalPath, LoopNo, Selector, Spot, Step, Symbol, Update};

/// A loop that is being walked.
#[derive(Debug)]
pub(super) struct Passes {
    pub(super) number: LoopNo,
    /// Its identity: the item that holds it, and its variable.
    pub(super) key: (Item, LocalId),
    pub(super) site: SiteId,
    pub(super) kind: Kind,
    /// The activation whose frame holds the loop.
    pub(super) frame: FrameNo,
    /// Activations from this number on were entered by a pass, and are its own.
    pub(super) first_inner_frame: FrameNo,
    /// Values from this number on arose in a pass, and may differ between passes.
    pub(super) first_inner_value: u32,
    pub(super) n_passes: u64,
    /// Whether passes run in the order of names.
    pub(super) is_by_name: bool,
    /// Whether it runs over the slots of a multiset.
    pub(super) is_over_slots: bool,
    pub(super) accesses: Vec<Access>,
    pub(super) may_fault: Option<SiteId>,
    pub(super) may_abandon: Option<SiteId>,
    pub(super) covers: Option<SiteId>,
    pub(super) returns: Vec<Exit>,
    /// A call that is not followed.
    pub(super) unknown: Option<SiteId>,
}

/// The kind of loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A statement.
    For,
    /// A quantifier; `hides_faults` where a fault means the same as the value that decides it.
    Quantifier {
        quantifier: Quantifier,
        hides_faults: bool,
    },
}

/// A `return` in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) value: Symbol,
    pub(super) site: SiteId,
    /// As of an [`Access`].
    pub(super) selector: Option<Selector>,
}

/// Why passes may depend on their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reason {
    /// Where.
    pub(crate) site: SiteId,
    /// What, as a clause with a pass for its subject.
    pub(crate) text: String,
}

/// The result for one loop in one context.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// Empty where the order makes no difference.
    pub(super) reasons: Vec<Reason>,
    /// Locals that are private to each pass; after the loop they hold the last pass's value.
    pub(super) last_values: Vec<LocalPath>,
    /// Locals of the frame of which a part is not private.
    pub(super) shared: BTreeSet<LocalId>,
    /// Whether passes change anything else.
    pub(super) has_effects: bool,
}

impl Passes {
    /// Whether a local of this activation is private to a pass.
    pub(super) fn owns_frame(&self, frame: FrameNo) -> bool {
        frame >= self.first_inner_frame
    }

    /// Adds an access, unless it is known. Values that differ between passes, other than the own
    /// element, are not distinguished, so that repeated walks reach a fixpoint.
    pub(super) fn add(&mut self, mut access: Access) {
        for step in &mut access.spot.path {
            if let Step::At(index) = step {
                *index = self.as_seen(*index);
            }
        }
        if let Some(Update::Set(value)) = &mut access.update {
            *value = self.as_seen(*value);
        }
        if !self.accesses.contains(&access) {
            self.accesses.push(access);
        }
    }

    fn as_seen(&self, symbol: Symbol) -> Symbol {
        match symbol {
            Symbol::Element(of) if of == self.number => symbol,
            _ if self.is_same_in_all_passes(symbol) => symbol,
            _ => Symbol::Any,
        }
    }

    /// Decides whether the passes can run in any order. `name` gives the display name of a place.
    pub(super) fn decide(&self, name: &dyn Fn(&Spot) -> String) -> Decision {
        let mut decision = Decision::default();
        let mut reasons = BTreeSet::new();
        let mut last_values = BTreeSet::new();
        for write in &self.accesses {
            let Some(update) = write.update else {
                continue;
            };
            let mut is_read = None;
            let mut is_overwritten = None;
            for other in &self.accesses {
                let is_one_pass = write.selector.is_some() && write.selector == other.selector;
                if is_one_pass
                    || !write.spot.meets_across(&other.spot, self.number)
                    || self.is_beside_insertion(write, other)
                {
                    continue;
                }
                match other.update {
                    None => is_read = is_read.or(Some(other)),
                    Some(theirs) if !self.commute(update, theirs) => {
                        is_overwritten = is_overwritten.or(Some(other));
                    }
                    Some(_) => {}
                }
            }
            // A local that is assigned before it is used is each pass's own. One of a caller is
            // so only if no pass can return to the caller.
            let local = write.spot.local_path();
            if let (None, Some(other), Some(path)) = (is_read, is_overwritten, &local)
                && update.sets()
                && other.update.is_some_and(Update::sets)
                && (path.frame == self.frame || self.returns.is_empty())
            {
                last_values.insert(path.clone());
                continue;
            }
            if let Some(path) = local.filter(|path| path.frame == self.frame) {
                decision.shared.insert(path.local);
            }
            decision.has_effects = true;
            let place = name(&write.spot);
            if let Some(read) = is_read {
                reasons.insert(Reason {
                    site: write.site,
                    text: format!(
                        "changes `{place}`, and another one reads `{}`",
                        name(&read.spot)
                    ),
                });
            } else if let Some(other) = is_overwritten {
                let theirs = name(&other.spot);
                let text = match theirs == place {
                    true => format!("changes `{place}`, and the last one to do so wins"),
                    false => format!("changes `{place}`, which may be `{theirs}` of another one"),
                };
                reasons.insert(Reason {
                    site: write.site,
                    text,
                });
            }
        }
        if let Some(site) = self.covers {
            decision.has_effects = true;
            if self.ends_early() {
                let text = "may count for a `cover` that another one keeps from being reached";
                reasons.insert(Reason {
                    site,
                    text: text.to_owned(),
                });
            }
        }
        self.decide_endings(decision.has_effects, &mut reasons);
        if let Some(site) = self.unknown {
            decision.has_effects = true;
            let text = "calls a function that calls itself".to_owned();
            reasons.insert(Reason { site, text });
        }
        decision.reasons = reasons.into_iter().collect();
        decision.last_values = last_values.into_iter().collect();
        decision
    }

    /// Whether a pass can keep later ones from running, other than by a fault.
    fn ends_early(&self) -> bool {
        let is_quantifier = matches!(
            self.kind,
            Kind::Quantifier {
                quantifier: Quantifier::Forall | Quantifier::Exists,
                ..
            }
        );
        is_quantifier || !self.returns.is_empty()
    }

    fn decide_endings(&self, has_effects: bool, reasons: &mut BTreeSet<Reason>) {
        let mut add = |site: SiteId, text: &str| {
            let text = text.to_owned();
            reasons.insert(Reason { site, text });
        };
        if let (Some(site), Some(_)) = (self.may_abandon, self.may_fault) {
            add(site, "may be abandoned by `assume` where another one fails");
        }
        if let (true, Some(site)) = (self.ends_early(), self.may_abandon) {
            add(site, "may be abandoned by `assume`, or not be reached");
        }
        if let Kind::Quantifier {
            quantifier: Quantifier::Forall | Quantifier::Exists,
            hides_faults,
        } = self.kind
        {
            if has_effects {
                add(
                    self.site,
                    "has effects, and is not reached once the value is known",
                );
            }
            if let (false, Some(site)) = (hides_faults, self.may_fault) {
                add(
                    site,
                    "may fail here, or not be reached once the value is known",
                );
            }
        }
        let Some(&first) = self.returns.first() else {
            return;
        };
        if has_effects {
            add(
                first.site,
                "may return, and so keep others from having their effects",
            );
        }
        let is_one_pass = |exit: &Exit| exit.selector.is_some() && exit.selector == first.selector;
        let is_same =
            |exit: &Exit| exit.value == first.value && self.is_same_in_all_passes(exit.value);
        let mut returns = self.returns.iter();
        if !returns.clone().all(is_one_pass)
            && let Some(other) = returns.find(|exit| !is_same(exit))
        {
            add(
                other.site,
                "returns a value that may be another one than others'",
            );
        }
        if let Some(site) = self.may_fault {
            add(site, "may fail here, or not be reached after a `return`");
        }
    }

    /// Whether the two updates of one place, in two passes, give the same in any order.
    fn commute(&self, a: Update, b: Update) -> bool {
        match (a, b) {
            (Update::Set(a), Update::Set(b)) => a == b && self.is_same_in_all_passes(a),
            (Update::Set(Symbol::Undefined), Update::Undefine)
            | (Update::Undefine, Update::Set(Symbol::Undefined)) => true,
            _ => a == b,
        }
    }

    /// Whether a value is the same one in all passes.
    pub(super) fn is_same_in_all_passes(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Const(_) | Symbol::Undefined => true,
            Symbol::Element(of) => of < self.number,
            Symbol::Fixed(number) => number < self.first_inner_value,
            Symbol::Any => false,
        }
    }

    /// Whether one of the accesses adds to a multiset and the other one is to a slot of it that
    /// is held: adding changes no slot in use, and slots that were freed while they are held are
    /// not reused, which is ensured elsewhere. Freeing the slot is different: it makes room.
    fn is_beside_insertion(&self, a: &Access, b: &Access) -> bool {
        let is_held = |insertion: &Access, other: &Access| {
            insertion.update == Some(Update::Insert)
                && other.update != Some(Update::Remove)
                && other.spot.base != Base::Anywhere
                && insertion.spot.base != Base::Anywhere
                && matches!(
                    other.spot.path.get(insertion.spot.path.len()),
                    Some(Step::At(Symbol::Fixed(number))) if *number < self.first_inner_value
                )
        };
        is_held(a, b) || is_held(b, a)
    }
}
