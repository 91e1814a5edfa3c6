//! Values with a name: on a command line, in the run record and in what a resumable run keeps.

use hadal_search::{Deadlock, StoreKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that is known by a name.
pub trait Named: Copy + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The name of this one.
    fn name(self) -> &'static str;

    /// The value of this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

impl Named for Deadlock {
    const ALL: &'static [Self] = &[
        Deadlock::Stuttering,
        Deadlock::Stuck,
        Deadlock::EndStates,
        Deadlock::Off,
    ];

    fn name(self) -> &'static str {
        self.name()
    }
}

impl Named for StoreKind {
    const ALL: &'static [Self] = &[
        StoreKind::Exact,
        StoreKind::Hash40,
        StoreKind::Hash64,
        StoreKind::Hash96,
        StoreKind::Hash128,
    ];

    fn name(self) -> &'static str {
        self.name()
    }
}

/// Serialises a named value as its name, for `#[serde(with = "names")]`.
pub(crate) fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.name().serialize(to)
}

/// The reverse of [`serialize`].
pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    let unknown = || serde::de::Error::custom(format!("unknown value `{name}`"));
    T::from_name(&name).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Symmetry};

    fn names_are_unique<T: Named + PartialEq + std::fmt::Debug>() {
        for &value in T::ALL {
            assert_eq!(T::from_name(value.name()), Some(value));
        }
        assert_eq!(T::from_name(""), None);
    }

    #[test]
    fn a_value_is_known_by_its_name() {
        names_are_unique::<Deadlock>();
        names_are_unique::<StoreKind>();
        names_are_unique::<Symmetry>();
        names_are_unique::<Engine>();
    }
}
