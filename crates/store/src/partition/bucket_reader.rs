//! Reads the keys of a bucket from buffers and spills, in the order of generation within each, some
//! at a time: a bucket may be larger than memory.

use std::cmp::Ordering;
use std::ops::Range;

use super::spill::Stripes;
use super::{KeyList, LastKey, PartitionBuffer};
use crate::Error;
use crate::tiers::Layouts;

/// Keys in buckets, in memory and in spills.
pub(super) trait Bucketed {
    /// Calls `each` with the buffers that have keys of a bucket.
    fn each_chain(
        &self,
        bucket: usize,
        each: &mut dyn FnMut(&PartitionBuffer) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// What each spill has of a row of buckets.
    fn stripes(&self, row: Range<usize>) -> Vec<Stripes>;

    /// Number of keys in a bucket.
    fn n_keys(&self, bucket: usize) -> u64;
}

/// How keys are decoded.
#[derive(Clone, Copy)]
pub(super) struct Decoding<'a> {
    pub(super) layouts: Layouts<'a>,
    /// Ordinals are less than this, if there is a bound.
    pub(super) n_candidates: Option<u64>,
}

impl Decoding<'_> {
    /// Appends all keys of a bucket to `list`, some at a time, and calls `each` after each time.
    /// `stripes` are about to read this bucket.
    pub(super) fn read(
        &self,
        bucketed: &dyn Bucketed,
        bucket: usize,
        stripes: &mut [Stripes],
        list: &mut KeyList,
        each: &mut dyn FnMut(&mut KeyList) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let shape = self.layouts.newest();
        bucketed.each_chain(bucket, &mut |buffer| {
            let mut result = Ok(());
            let chain = buffer.take(bucket, shape, list, |list| {
                if result.is_ok() {
                    result = each(list);
                }
            });
            chain.expect("keys are what was partitioned");
            result
        })?;
        for stripes in stripes {
            let name = stripes.file_name().to_owned();
            let damaged = || Error::Damaged {
                file: name.clone(),
                offset: 0,
                what: "a bucket is not what was written".to_owned(),
            };
            let mut pieces = PieceDecoder::new(self, std::mem::take(&mut list.undecoded));
            stripes.read_next(|bytes| {
                pieces.bytes.extend_from_slice(bytes);
                while pieces.decode_some(list).ok_or_else(damaged)? {
                    each(list)?;
                }
                Ok(())
            })?;
            if !pieces.is_done() {
                return Err(damaged());
            }
            list.undecoded = pieces.bytes;
        }
        Ok(())
    }
}

/// Decodes the pieces of a bucket in a spill, as their bytes arrive.
struct PieceDecoder<'a> {
    decoding: &'a Decoding<'a>,
    /// Bytes that are not decoded yet.
    bytes: Vec<u8>,
    piece: Option<Piece>,
}

/// A piece under way.
struct Piece {
    version: u32,
    /// Bytes and keys to come.
    n_bytes: u64,
    n_keys: u32,
    last: LastKey,
}

/// In front of a piece: number of bytes, number of keys, version of the layout.
const HEAD_BYTES: usize = 16;

impl<'a> PieceDecoder<'a> {
    /// With an empty buffer.
    fn new(decoding: &'a Decoding<'a>, bytes: Vec<u8>) -> Self {
        PieceDecoder {
            decoding,
            bytes,
            piece: None,
        }
    }

    /// Whether no piece is incomplete.
    fn is_done(&self) -> bool {
        self.bytes.is_empty() && self.piece.is_none()
    }

    /// Appends the keys of one piece to `list`, as many as there are bytes of. False if there are
    /// too few; `None` if the bytes are no piece.
    fn decode_some(&mut self, list: &mut KeyList) -> Option<bool> {
        let mut from = 0;
        if self.piece.is_none() {
            let Some(head) = self.bytes.first_chunk::<HEAD_BYTES>() else {
                return Some(false);
            };
            self.piece = Some(self.begin_piece(head)?);
            from = HEAD_BYTES;
        }
        let piece = self.piece.as_mut()?;
        let rest = &self.bytes[from..];
        let is_end = rest.len() as u64 >= piece.n_bytes;
        let here = match is_end {
            true => &rest[..piece.n_bytes as usize],
            false => rest,
        };
        let n_before = list.ordinals.len();
        let newest = self.decoding.layouts.newest();
        let n_read = match piece.version == newest.version {
            true => list.append_whole(here, is_end, &mut piece.last)?,
            false => self.decoding.recode(piece, here, is_end, list)?,
        };
        let ordinals = &list.ordinals[n_before..];
        if let Some(n_candidates) = self.decoding.n_candidates
            && !ordinals.iter().all(|&ordinal| ordinal < n_candidates)
        {
            return None;
        }
        piece.n_keys = piece
            .n_keys
            .checked_sub(u32::try_from(ordinals.len()).ok()?)?;
        piece.n_bytes -= n_read as u64;
        let has_keys = !ordinals.is_empty();
        if is_end {
            if (piece.n_bytes, piece.n_keys) != (0, 0) {
                return None;
            }
            self.piece = None;
        }
        self.bytes.drain(..from + n_read);
        Some(has_keys || is_end)
    }

    fn begin_piece(&self, head: &[u8; HEAD_BYTES]) -> Option<Piece> {
        let (n_bytes, rest) = head.split_first_chunk()?;
        let (n_keys, version) = rest.split_first_chunk()?;
        let version = u32::from_le_bytes(version.try_into().ok()?);
        let layouts = &self.decoding.layouts;
        let newest = layouts.newest();
        let shape = match version.cmp(&newest.version) {
            Ordering::Less => layouts.of_version(version),
            // Not by its version: where hashes are stored, only the newest layout is theirs.
            Ordering::Equal => newest,
            Ordering::Greater => return None,
        };
        Some(Piece {
            version,
            n_bytes: u64::from_le_bytes(*n_bytes),
            n_keys: u32::from_le_bytes(*n_keys),
            last: LastKey::none(shape),
        })
    }
}

impl Decoding<'_> {
    /// Appends keys of an older layout in the newest one; returns how many bytes were read.
    fn recode(
        &self,
        piece: &mut Piece,
        bytes: &[u8],
        is_end: bool,
        list: &mut KeyList,
    ) -> Option<usize> {
        let newest = self.layouts.newest();
        let shape = self.layouts.of_version(piece.version);
        let mut older = KeyList::default();
        let n_read = older.append_whole(bytes, is_end, &mut piece.last)?;
        list.ordinals.append(&mut older.ordinals);
        let recoder = self.layouts.recoder(piece.version, newest.version);
        for key in older.keys.chunks_exact(shape.n_words) {
            let end = list.keys.len();
            list.keys.resize(end + newest.n_words, 0);
            if !recoder.recode(key, &mut list.keys[end..]) {
                return None;
            }
        }
        Some(n_read)
    }
}
