//! Abstract places, and whether two passes of a loop can access the same one.

use hadal_ir::{ExprId, LocalId, SiteId, TypeId, VarId};

/// A loop, numbered in the order in which the walk enters loops.
pub(super) type LoopNo = u32;
/// An activation of an item, numbered likewise.
pub(super) type FrameNo = u32;

/// An abstract integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Symbol {
    /// This integer.
    Const(i64),
    /// No value.
    Undefined,
    /// The current element (or slot) of a loop.
    Element(LoopNo),
    /// Some value that does not change, numbered in the order of appearance.
    Fixed(u32),
    /// Any value.
    Any,
}

/// A place: a variable or local, and the path to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) base: Base,
    pub(super) path: Vec<Step>,
    pub(super) ty: TypeId,
}

/// Where a place begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Base {
    Var(VarId),
    Local(FrameNo, LocalId),
    /// A reference that may lead anywhere.
    Anywhere,
}

/// A step from an aggregate to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Field(u32),
    At(Symbol),
}

impl Spot {
    /// The place that could be any.
    pub(super) fn anywhere(ty: TypeId) -> Self {
        Spot {
            base: Base::Anywhere,
            path: Vec::new(),
            ty,
        }
    }

    /// Whether two places can have a bit in common.
    pub(super) fn meets(&self, other: &Spot) -> bool {
        self.meets_unless(other, |_, _| false)
    }

    /// Whether this place in one pass of a loop and `other` in another pass of it can have a bit
    /// in common. Indexed by the loop's own element, they are apart.
    pub(super) fn meets_across(&self, other: &Spot, of: LoopNo) -> bool {
        let own = Symbol::Element(of);
        self.meets_unless(other, |a, b| a == own && b == own)
    }

    fn meets_unless(&self, other: &Spot, is_apart: impl Fn(Symbol, Symbol) -> bool) -> bool {
        if self.base == Base::Anywhere || other.base == Base::Anywhere {
            return true;
        }
        if self.base != other.base {
            return false;
        }
        for steps in self.path.iter().zip(&other.path) {
            match steps {
                (Step::Field(a), Step::Field(b)) if a != b => return false,
                (Step::At(Symbol::Const(a)), Step::At(Symbol::Const(b))) if a != b => return false,
                (Step::At(a), Step::At(b)) if is_apart(*a, *b) => return false,
                _ => {}
            }
        }
        true
    }

    /// Whether this denotes one place whatever the variables hold.
    pub(super) fn is_certain(&self) -> bool {
        self.base != Base::Anywhere && !self.path.contains(&Step::At(Symbol::Any))
    }

    /// The local and the fields that lead to the place, as far as fields do.
    pub(super) fn local_path(&self) -> Option<LocalPath> {
        let Base::Local(frame, local) = self.base else {
            return None;
        };
        let fields = self.path.iter().map_while(|step| match step {
            Step::Field(field) => Some(*field),
            Step::At(_) => None,
        });
        Some(LocalPath {
            frame,
            local,
            fields: fields.collect(),
        })
    }

    /// Whether fields alone lead to the place.
    pub(super) fn is_by_fields(&self) -> bool {
        self.path.iter().all(|step| matches!(step, Step::Field(_)))
    }
}

/// A local, or a field of a field of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LocalPath {
    pub(super) frame: FrameNo,
    pub(super) local: LocalId,
    pub(super) fields: Vec<u32>,
}

impl LocalPath {
    /// Whether `other` is this or a part of it.
    pub(super) fn holds(&self, other: &LocalPath) -> bool {
        (self.frame, self.local) == (other.frame, other.local)
            && other.fields.starts_with(&self.fields)
    }

    /// Whether the two have a part in common.
    pub(super) fn meets(&self, other: &LocalPath) -> bool {
        self.holds(other) || other.holds(self)
    }
}

/// One access of a pass to a place that other passes can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) spot: Spot,
    /// How it is written; `None` for a read.
    pub(super) update: Option<Update>,
    pub(super) site: SiteId,
    /// What the loop's element is compared with around it: all accesses with the same one happen in
    /// one pass at most.
    pub(super) selector: Option<Selector>,
}

/// A value that is the same in all passes of a loop. Passes whose element equals it are one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// By what is known of it.
    Symbol(Symbol),
    /// An expression over state variables, the first of those written alike.
    Text(ExprId),
}

/// How a place is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// It gets a value, whatever it held.
    Set(Symbol),
    /// All of it becomes undefined.
    Undefine,
    /// All of it gets its least values.
    Clear,
    /// A slot of a multiset is freed.
    Remove,
    /// A number that is not negative is added.
    Increase,
    /// A number that is not negative is subtracted.
    Decrease,
    /// It becomes true where something else is.
    Or,
    /// It becomes false where something else is.
    And,
    /// It becomes the larger of itself and something else.
    Max,
    /// It becomes the smaller of itself and something else.
    Min,
    /// An element is added to a multiset.
    Insert,
}

impl Update {
    /// Whether the old content does not matter.
    pub(super) fn sets(self) -> bool {
        matches!(self, Update::Set(_) | Update::Undefine | Update::Clear)
    }
}
