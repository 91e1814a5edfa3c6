//! Statements.
//!
//! Writing to a part of an element of a multiset of the state, by its slot or through a reference,
//! is an index fault where the slot is free: the element was removed before.

use hadal_model::FaultKind;

use crate::expr::{Arg, Domain, Place};
use crate::ids::{ExprId, FunctionId, LocalId, SiteId};

/// Statements one after the other.
pub type Block = Vec<Stmt>;

/// A statement and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands in the text; faults of the statement itself point there.
    pub site: SiteId,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// Stores a value or, unless its type is total, undefined in a place of simple type. The value is evaluated before the
    /// indices of the place. A range fault where the place cannot hold it.
    Assign {
        /// Where to.
        place: Place,
        /// May be undefined.
        value: ExprId,
    },
    /// Copies an aggregate between places of the same layout, undefined parts included. Both places
    /// are found, `from` first, before anything is copied.
    Copy {
        /// Where to.
        to: Place,
        /// Where from.
        from: Place,
    },
    /// Sets every leaf to its least value, or to 0 where its type is total, and empties multisets.
    Clear(Place),
    /// Sets every leaf to undefined and empties multisets. No leaf may be of a total type.
    Undefine(Place),
    /// Runs the block of the first true condition, or `otherwise`.
    If {
        /// Conditions with their blocks.
        arms: Vec<(ExprId, Block)>,
        /// Where no condition is true.
        otherwise: Block,
    },
    /// Runs the body for each value of the domain, which is evaluated once.
    For {
        /// Holds the value; must not be assigned in the body.
        var: LocalId,
        /// The values.
        domain: Domain,
        /// The body.
        body: Block,
    },
    /// Runs the body while the condition is true; a loop-limit fault after too many rounds.
    While {
        /// The condition.
        condition: ExprId,
        /// The body.
        body: Block,
    },
    /// Makes a reference local refer to a place; indices are evaluated now.
    Bind {
        /// The reference.
        local: LocalId,
        /// What it refers to from now on.
        place: Place,
    },
    /// Calls a procedure, or a function whose result is not wanted.
    Call {
        /// The function.
        function: FunctionId,
        /// One per parameter.
        args: Vec<Arg>,
    },
    /// Leaves the function or the body of the rule.
    Return(ReturnValue),
    /// An assertion fault where the condition is false.
    Assert {
        /// The condition.
        condition: ExprId,
        /// The message.
        message: String,
        /// Whether the body continues all the same: the fault is reported once the body has run
        /// to its end, which counts as any other firing. Bodies only.
        goes_on: bool,
    },
    /// A fault.
    Error {
        /// Its class.
        kind: FaultKind,
        /// The message.
        message: String,
    },
    /// Abandons the firing where the condition is false, as if the guard had been false.
    Assume(ExprId),
    /// Counts a hit of a cover point where the condition is true.
    Cover {
        /// Index into the program's cover points.
        point: u32,
        /// The condition.
        condition: ExprId,
    },
    /// Prints, when a trace is replayed.
    Put(PutItem),
    /// Adds an element in the first free slot; a multiset-full fault where there is none. A simple
    /// element is evaluated, an aggregate one found, before the multiset is.
    MultisetAdd {
        /// The multiset.
        multiset: Place,
        /// The element.
        value: Arg,
    },
    /// Frees a slot.
    MultisetRemove {
        /// The multiset.
        multiset: Place,
        /// The slot, counted from 0; an index fault where there is none, or it is free already.
        slot: ExprId,
    },
}

/// The value of a `return`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReturnValue {
    /// Nothing: from a rule, a startstate or a procedure.
    Nothing,
    /// A simple value; may be undefined. A range fault where the result type cannot hold it.
    Value(ExprId),
    /// An aggregate.
    Copy(Place),
}

/// How an integer is printed; those that need it are 32 bits of two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Decimal, without a sign.
    Unsigned,
    /// To the base 8.
    Octal,
    /// To the base 16.
    Hexadecimal,
    /// The character with this code; the lowest 8 bits count.
    Character,
}

impl Notation {
    /// All of them.
    pub const ALL: [Notation; 4] = [
        Notation::Unsigned,
        Notation::Octal,
        Notation::Hexadecimal,
        Notation::Character,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Notation::Unsigned => "unsigned",
            Notation::Octal => "octal",
            Notation::Hexadecimal => "hexadecimal",
            Notation::Character => "character",
        }
    }

    /// A value in this notation.
    pub fn text(self, value: i64) -> String {
        let value = value as u32;
        match self {
            Notation::Unsigned => value.to_string(),
            Notation::Octal => format!("{value:o}"),
            Notation::Hexadecimal => format!("{value:x}"),
            Notation::Character => char::from(value as u8).to_string(),
        }
    }
}

/// What a `put` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutItem {
    /// A text.
    Text(String),
    /// A value, with the type that names it.
    Value(ExprId, crate::ids::TypeId),
    /// An integer in another notation than decimal with a sign.
    Number(ExprId, Notation),
    /// The leaves of a place, each as `name:value`; the text is the place's name.
    Place(Place, String),
}
