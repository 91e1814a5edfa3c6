//! The dialects of Murphi, and every place where the same text has two meanings.
//!
//! All dialects accept the union of the languages of the two existing tools; a dialect
//! decides only what a text means where those tools disagree. Each difference has a
//! method with its name, so that no other module compares dialects.

use std::fmt;
use std::str::FromStr;

/// Whose meaning a model is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// The meaning we recommend: copy semantics, 64-bit arithmetic, no surprises.
    #[default]
    Hadal,
    /// As CMurphi 5.4.9 does.
    Cmurphi,
    /// As rumur does.
    Rumur,
}

impl Dialect {
    /// Every dialect, in the order they are documented.
    pub const ALL: [Dialect; 3] = [Dialect::Hadal, Dialect::Cmurphi, Dialect::Rumur];

    /// The name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Hadal => "hadal",
            Dialect::Cmurphi => "cmurphi",
            Dialect::Rumur => "rumur",
        }
    }

    /// `010` is eight rather than ten, and `09` is an error.
    pub const fn octal_literals(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// A literal that the other tool would read otherwise deserves a warning. Only our own
    /// dialect warns: naming another one is a decision for its reading.
    pub const fn warns_of_leading_zero(self) -> bool {
        matches!(self, Dialect::Hadal)
    }

    /// What a backslash means inside a string.
    pub const fn string_escapes(self) -> StringEscapes {
        match self {
            Dialect::Hadal => StringEscapes::Few,
            Dialect::Cmurphi => StringEscapes::None,
            Dialect::Rumur => StringEscapes::C,
        }
    }

    /// A string may contain line breaks.
    pub const fn multiline_strings(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// A block comment may lack its end; it then reaches to the end of the file.
    pub const fn open_comment_at_end(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// `x := y` copies an undefined simple value instead of being a fault.
    pub const fn assignment_copies_undefined(self) -> bool {
        !matches!(self, Dialect::Rumur)
    }

    /// `return y` returns an undefined simple value instead of faulting.
    pub const fn return_copies_undefined(self) -> bool {
        !matches!(self, Dialect::Rumur)
    }

    /// An undefined element of a scalarset is a value to `=`, `!=`, `switch` and `? :`: equal to
    /// itself and to no element, instead of being a fault.
    pub const fn compares_undefined_elements(self) -> bool {
        matches!(self, Dialect::Cmurphi)
    }

    /// `for i := 5 to 3` without a step counts down instead of running zero times.
    pub const fn loops_count_down(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// A parameter without `var` is a reference that sees later changes of its argument.
    pub const fn value_parameters_are_references(self) -> bool {
        matches!(self, Dialect::Cmurphi)
    }

    /// Arithmetic wraps at 32 bits instead of being a fault beyond 64 bits.
    pub const fn arithmetic_wraps(self) -> bool {
        matches!(self, Dialect::Cmurphi)
    }

    /// Integers are as wide as the numbers of the text ask for, and unsigned if it names no
    /// negative one; other constants are computed when the model runs.
    pub const fn sizes_integers_by_text(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// A function may return a number outside the range of its result.
    pub const fn returns_unchecked(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// A constant expression may have calls in a product with 0.
    pub const fn multiplies_calls_away(self) -> bool {
        matches!(self, Dialect::Rumur)
    }

    /// How two types are compared.
    pub const fn type_equivalence(self) -> TypeEquivalence {
        match self {
            Dialect::Hadal => TypeEquivalence::NameThenStructure,
            Dialect::Cmurphi => TypeEquivalence::Name,
            Dialect::Rumur => TypeEquivalence::Structure,
        }
    }

    /// Rounds of a `while` loop before it is a fault, unless the user sets a limit; `None` is
    /// without limit.
    pub const fn while_limit(self) -> Option<u64> {
        match self {
            Dialect::Hadal => Some(1_000_000),
            Dialect::Cmurphi => Some(1000),
            Dialect::Rumur => None,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Dialect::ALL.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// What a backslash means inside a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringEscapes {
    /// It is an ordinary character.
    None,
    /// `\"`, `\\` and `\n` are escapes; before any other character it stands for itself.
    /// Models written for either tool then read as their authors meant them.
    Few,
    /// Those of C that name one character, and `\` before any other character is dropped.
    C,
}

/// How two types are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeEquivalence {
    /// Equal if they come from the same declaration.
    Name,
    /// Equal if they have the same shape.
    Structure,
    /// Declared types by name, anonymous ones by shape; two scalarsets never mix.
    NameThenStructure,
}

/// A dialect was asked for by a name that none has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDialect(pub String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown dialect `{}`; the dialects are hadal, cmurphi and rumur",
            self.0
        )
    }
}

impl std::error::Error for UnknownDialect {}
