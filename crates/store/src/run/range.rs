//! Parts of the space of keys.

/// The keys from `from` on and before `to`; `None` is no bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyRange<'a> {
    /// The least key of the range.
    pub from: Option<&'a [u64]>,
    /// The first key behind the range.
    pub to: Option<&'a [u64]>,
}

impl KeyRange<'_> {
    /// All keys.
    pub const ALL: KeyRange<'static> = KeyRange {
        from: None,
        to: None,
    };

    /// Whether the range starts after `key`.
    pub fn starts_after(&self, key: &[u64]) -> bool {
        self.from.is_some_and(|from| key < from)
    }

    /// Whether the range ends before `key`.
    pub fn ends_before(&self, key: &[u64]) -> bool {
        self.to.is_some_and(|to| key >= to)
    }
}
