//! Typed indices. Each prints with a prefix, which is also its spelling in the text form.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the `index`-th element.
            pub fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("a program has fewer than 2^32 elements of a kind"))
            }

            /// The position of the element in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A type.
    TypeId, "t");
id!(
    /// A scalarset: a type whose elements are interchangeable.
    ScalarsetId, "s");
id!(
    /// A state variable.
    VarId, "v");
id!(
    /// A local of the enclosing rule, property, startstate or function.
    LocalId, "l");
id!(
    /// An expression.
    ExprId, "e");
id!(
    /// A function or procedure.
    FunctionId, "f");
id!(
    /// A mapping between value numberings (unions and their members).
    MapId, "m");
id!(
    /// A position in the source text.
    SiteId, "@");
id!(
    /// A source file.
    FileId, "#");
