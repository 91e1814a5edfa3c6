//! A hash table of cells, in buckets of up to [`SLOTS`].
//!
//! A cell belongs to its *home*, the bucket that its first bits point to; it lies there or, where
//! that is full, in the first bucket behind it that is not. Nothing is ever removed from a bucket,
//! so a lookup ends at the first one with a free slot, and an insertion moves nothing. Homes are in
//! the order of cells: growing is one pass over both tables from front to end.
//!
//! A bucket is the *tags* of its cells, a byte of each; their number; and the rest of each cell. A
//! lookup compares all tags at once and then, mostly, a single cell. That is two cache lines, but
//! neither lookup nor insertion depends on how long cells are.

use super::table::{Added, Sampling, Size, Table};
use crate::Placing;
use crate::bits::equal_bytes;
use crate::prefetch::prefetch;

/// The cells of one partition, or of one of its generations.
#[derive(Debug)]
pub(super) struct Buckets {
    placing: Placing,
    /// All buckets, and [`SLACK_BYTES`] so that whole words can be read.
    bytes: Vec<u8>,
    size: Size,
    /// Bytes of a bucket.
    bucket_len: usize,
    n_taken: usize,
}

/// Cells in a bucket: enough that few overflow where 19 of 20 slots are taken.
const SLOTS: usize = 16;
/// Tags and number of the cells of a bucket.
const HEAD_BYTES: usize = SLOTS + 1;
const SLACK_BYTES: usize = 8;

/// Where a cell is.
enum Found {
    There,
    /// It is not there; the first free slot for it, which may be behind the last bucket.
    Free {
        bucket: usize,
        slot: usize,
    },
}

impl Table for Buckets {
    const SLOTS: usize = SLOTS;

    fn new(placing: Placing, size: Size) -> Self {
        Buckets {
            placing,
            bytes: vec![0; Self::bytes_for(placing, size)],
            size,
            bucket_len: bucket_len(placing, size.n_slots),
            n_taken: 0,
        }
    }

    fn bytes_for(placing: Placing, size: Size) -> usize {
        match size.n_homes {
            0 => 0,
            n => (n + size.n_spare) * bucket_len(placing, size.n_slots) + SLACK_BYTES,
        }
    }

    fn fitting(placing: Placing, bytes: usize, fill: usize) -> Size {
        let bytes = bytes.saturating_sub(SLACK_BYTES);
        let n_buckets = bytes / bucket_len(placing, SLOTS);
        let n_spare = (n_buckets / 4).min(4);
        let (n_homes, n_slots) = match n_buckets {
            // One that is smaller.
            0 => (1, bytes.saturating_sub(HEAD_BYTES) / placing.body_len()),
            n => (n - n_spare, SLOTS),
        };
        if n_slots == 0 {
            return Size::NONE;
        }
        Size {
            n_homes,
            n_spare,
            n_slots,
            room: (n_homes * n_slots * fill / 1000).max(1),
        }
    }

    fn size(&self) -> Size {
        self.size
    }

    fn len(&self) -> usize {
        self.n_taken
    }

    fn data_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    #[inline]
    fn prefetch(&self, first_word: u64) {
        prefetch(&self.bytes, self.home(first_word) * self.bucket_len);
    }

    #[inline]
    fn add_unless<const N: usize>(
        &mut self,
        cell: [u64; N],
        is_elsewhere: impl FnOnce() -> bool,
    ) -> Added {
        let mut free = None;
        if self.size.n_homes > 0 {
            match self.seek(cell) {
                Found::There => return Added::Known,
                Found::Free { bucket, slot } => {
                    let has_room = self.n_taken < self.size.room && bucket < self.n_buckets();
                    free = has_room.then_some((bucket, slot));
                }
            }
        }
        if is_elsewhere() {
            return Added::Known;
        }
        match free {
            Some((bucket, slot)) => {
                self.put(bucket, slot, cell);
                Added::New
            }
            None => Added::Full,
        }
    }

    fn contains<const N: usize>(&self, cell: [u64; N]) -> bool {
        self.size.n_homes > 0 && matches!(self.seek(cell), Found::There)
    }

    fn fill_from<const N: usize>(&mut self, other: &Buckets) -> bool {
        // All that the loop needs is in registers: most of the time of a growing set is spent here.
        let (placing, body_len) = (self.placing, self.placing.body_len());
        let (bucket_len, n_slots, n_buckets) =
            (self.bucket_len, self.size.n_slots, self.n_buckets());
        let n_homes = self.size.n_homes as u128;
        let to = &mut self.bytes[..];
        for at in (0..other.n_buckets()).map(|bucket| bucket * other.bucket_len) {
            let from = &other.bytes[at..];
            let (tags, n) = (&from[..SLOTS], usize::from(from[SLOTS]));
            for (slot, &tag) in tags[..n].iter().enumerate() {
                let body = placing.load_raw::<N>(&from[HEAD_BYTES + slot * body_len..]);
                let first = u128::from(placing.first_word(body, tag));
                let mut bucket = ((first * n_homes) >> 64) as usize;
                loop {
                    if bucket == n_buckets {
                        return false;
                    }
                    let to = &mut to[bucket * bucket_len..];
                    let n = usize::from(to[SLOTS]);
                    if n < n_slots {
                        to[n] = tag;
                        to[SLOTS] = n as u8 + 1;
                        placing.store_raw(&mut to[HEAD_BYTES + n * body_len..], body);
                        break;
                    }
                    bucket += 1;
                }
            }
        }
        self.n_taken = other.n_taken;
        true
    }

    fn sample<const N: usize>(&mut self, other: &Buckets, n: usize) {
        let mut sampling = Sampling::new(n, other.n_taken);
        other.for_each::<N>(|cell| {
            if sampling.takes_next() {
                self.put_home(cell);
            }
        });
    }

    #[inline]
    fn add_distinct<const N: usize>(&mut self, cell: [u64; N]) -> bool {
        self.n_taken < self.size.room && self.put_home(cell)
    }

    #[inline]
    fn for_each<const N: usize>(&self, mut each: impl FnMut([u64; N])) {
        for at in (0..self.n_buckets()).map(|bucket| bucket * self.bucket_len) {
            for slot in 0..self.n_in_bucket(at) {
                each(self.cell(at, slot, self.bytes[at + slot]));
            }
        }
    }

    fn clear(&mut self) {
        for bucket in 0..self.n_buckets() {
            self.bytes[bucket * self.bucket_len + SLOTS] = 0;
        }
        self.n_taken = 0;
    }
}

impl Buckets {
    /// Where a cell is, or would be.
    #[inline]
    fn seek<const N: usize>(&self, wanted: [u64; N]) -> Found {
        let tag = self.placing.tag(wanted[0]);
        let mut bucket = self.home(wanted[0]);
        while bucket < self.n_buckets() {
            let at = bucket * self.bucket_len;
            let mut matches = self.matches(at, tag);
            while matches != 0 {
                let slot = matches.trailing_zeros() as usize;
                if self.cell::<N>(at, slot, tag) == wanted {
                    return Found::There;
                }
                matches &= matches - 1;
            }
            let n = self.n_in_bucket(at);
            if n < self.size.n_slots {
                return Found::Free { bucket, slot: n };
            }
            bucket += 1;
        }
        Found::Free { bucket, slot: 0 }
    }

    /// The slots of the bucket at `at` whose tag is `tag`, a bit each.
    #[inline]
    fn matches(&self, at: usize, tag: u8) -> u32 {
        let head = self.bytes[at..].first_chunk::<HEAD_BYTES>();
        let head = head.expect("a bucket has a head");
        let (tags, n) = head.split_at(SLOTS);
        let tags = tags.first_chunk::<SLOTS>().expect("a tag for each slot");
        // Slots that are free have some tag as well.
        equal_bytes(tags, tag) & ((1 << n[0]) - 1)
    }

    /// Number of buckets, if there are homes.
    #[inline]
    fn n_buckets(&self) -> usize {
        self.size.n_homes + self.size.n_spare
    }

    #[inline]
    fn n_in_bucket(&self, at: usize) -> usize {
        usize::from(self.bytes[at + SLOTS])
    }

    /// Puts a cell into a free slot, the first one of its bucket.
    #[inline]
    fn put<const N: usize>(&mut self, bucket: usize, slot: usize, cell: [u64; N]) {
        let at = bucket * self.bucket_len;
        let body = at + self.place_in_bucket(slot);
        self.placing.store_body(&mut self.bytes[body..], cell);
        self.bytes[at + slot] = self.placing.tag(cell[0]);
        self.bytes[at + SLOTS] = slot as u8 + 1;
        self.n_taken += 1;
    }

    /// Puts a cell into the first free slot from its home on. Returns whether there is one.
    #[inline]
    fn put_home<const N: usize>(&mut self, cell: [u64; N]) -> bool {
        let mut bucket = self.home(cell[0]);
        while bucket < self.n_buckets() {
            let n = self.n_in_bucket(bucket * self.bucket_len);
            if n < self.size.n_slots {
                self.put(bucket, n, cell);
                return true;
            }
            bucket += 1;
        }
        false
    }

    /// The bucket where a cell belongs: its first word, scaled to the number of homes.
    #[inline]
    fn home(&self, first_word: u64) -> usize {
        ((u128::from(first_word) * self.size.n_homes as u128) >> 64) as usize
    }

    /// The cell in a slot of the bucket at `at`, which has this tag.
    #[inline]
    fn cell<const N: usize>(&self, at: usize, slot: usize, tag: u8) -> [u64; N] {
        let body = at + self.place_in_bucket(slot);
        self.placing.load_body(&self.bytes[body..], tag)
    }

    /// Where in a bucket the cell of a slot lies, but for its tag.
    #[inline]
    fn place_in_bucket(&self, slot: usize) -> usize {
        HEAD_BYTES + slot * self.placing.body_len()
    }
}

/// Bytes of a bucket of `n_slots`.
fn bucket_len(placing: Placing, n_slots: usize) -> usize {
    HEAD_BYTES + n_slots * placing.body_len()
}
