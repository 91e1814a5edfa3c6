//! Numbers of states and blocks in arrays: four bytes each while they suffice, eight beyond.

/// An unsigned integer that arrays hold.
pub(crate) trait Word: Copy + Ord + Send + Sync + std::fmt::Debug + 'static {
    /// The greatest one; never a number of something.
    const MAX: Self;

    /// The number, which fits.
    fn new(number: u64) -> Self;

    /// The number.
    fn get(self) -> u64;

    /// The number as an index.
    fn at(self) -> usize {
        self.get() as usize
    }
}

impl Word for u32 {
    const MAX: Self = u32::MAX;

    #[inline]
    fn new(number: u64) -> Self {
        debug_assert!(number <= u64::from(u32::MAX));
        number as u32
    }

    #[inline]
    fn get(self) -> u64 {
        u64::from(self)
    }
}

impl Word for u64 {
    const MAX: Self = u64::MAX;

    #[inline]
    fn new(number: u64) -> Self {
        number
    }

    #[inline]
    fn get(self) -> u64 {
        self
    }
}

/// Most states whose numbers, and those of blocks while they are found, fit four bytes. Shards of a
/// table are not equally full, so a little is left.
pub(crate) const MOST_NARROW: u64 = (1 << 32) - (1 << 28);
