//! The layouts of a codec by version.
//!
//! Keys of older versions are rare, but they exist until their runs are merged. A wide state has
//! thousands of fields and may come to have hundreds of layouts, so its older ones are packed and
//! exist as a whole only while someone uses them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::KeyShape;
use super::layout::{Bits, Field, Form, Layout};
use crate::varint::{read_varint, write_varint};

/// All layouts so far.
#[derive(Debug)]
pub(super) struct Versions {
    all: Vec<Version>,
    /// Whether older ones are packed.
    packs: bool,
}

#[derive(Debug)]
enum Version {
    Whole(Arc<Layout>),
    Packed(Packed),
    /// No one has keys of it.
    Forgotten,
}

#[derive(Debug)]
struct Packed {
    bytes: Box<[u8]>,
    n_bits: usize,
    in_use: Mutex<Weak<Layout>>,
}

const FORGOTTEN: &str = "no one has keys of a version that was forgotten";

impl Versions {
    /// With the first layout. Older ones are packed if they have more than `most_whole` fields.
    pub(super) fn new(first: Layout, most_whole: usize) -> Self {
        Versions {
            packs: first.fields().len() > most_whole,
            all: vec![Version::Whole(Arc::new(first))],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of the newest.
    pub(super) fn newest_version(&self) -> u32 {
        self.all.len() as u32 - 1
    }

    pub(super) fn newest(&self) -> &Arc<Layout> {
        match self.all.last() {
            Some(Version::Whole(layout)) => layout,
            _ => unreachable!("the newest layout is whole"),
        }
    }

    /// Whether the newest is there; the log of a codec may lack it.
    pub(super) fn has_newest(&self) -> bool {
        matches!(self.all.last(), Some(Version::Whole(_)))
    }

    /// The layout of a version that was not forgotten.
    pub(super) fn get(&self, version: u32) -> Arc<Layout> {
        self.find(version as usize).expect(FORGOTTEN)
    }

    /// The layout of a version, if it was not forgotten.
    pub(super) fn find(&self, version: usize) -> Option<Arc<Layout>> {
        match &self.all[version] {
            Version::Whole(layout) => Some(Arc::clone(layout)),
            Version::Packed(packed) => Some(packed.unpacked()),
            Version::Forgotten => None,
        }
    }

    /// The shape of the keys of a version that was not forgotten.
    pub(super) fn shape(&self, version: u32) -> KeyShape {
        let n_bits = match &self.all[version as usize] {
            Version::Whole(layout) => layout.n_bits(),
            Version::Packed(packed) => packed.n_bits,
            Version::Forgotten => unreachable!("{FORGOTTEN}"),
        };
        KeyShape {
            version,
            n_bits,
            n_words: Layout::words_for(n_bits),
        }
    }

    /// Adds a layout, the newest from now on.
    pub(super) fn push(&mut self, layout: Layout) {
        if self.packs
            && let Some(last) = self.all.last_mut()
            && let Version::Whole(layout) = last
        {
            *last = Version::Packed(Packed::new(layout));
        }
        self.all.push(Version::Whole(Arc::new(layout)));
    }

    /// Adds a version whose layout is not known.
    pub(super) fn push_forgotten(&mut self) {
        self.all.push(Version::Forgotten);
    }

    /// Forgets all but the newest.
    pub(super) fn forget_older(&mut self) {
        let n_older = self.all.len() - 1;
        let older = self.all[..n_older].iter_mut();
        older.for_each(|version| *version = Version::Forgotten);
    }

    /// Memory held, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        let bytes = |version: &Version| match version {
            Version::Whole(layout) => layout.data_bytes(),
            Version::Packed(packed) => packed.data_bytes(),
            Version::Forgotten => 0,
        };
        self.all.iter().map(bytes).sum()
    }
}

impl Packed {
    fn new(layout: &Arc<Layout>) -> Self {
        Packed {
            bytes: pack(layout.fields()),
            n_bits: layout.n_bits(),
            in_use: Mutex::new(Arc::downgrade(layout)),
        }
    }

    fn unpacked(&self) -> Arc<Layout> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.upgrade().unwrap_or_else(|| {
            let layout = Arc::new(Layout::of(unpack(&self.bytes)));
            *in_use = Arc::downgrade(&layout);
            layout
        })
    }

    fn data_bytes(&self) -> u64 {
        let in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = in_use.upgrade().map_or(0, |layout| layout.data_bytes());
        self.bytes.len() as u64 + whole
    }
}

/// Equal fields that follow each other as one: their number, the form and the bits of the id; then,
/// where there are literal bits, surprises, the bits that do not vary and those that do.
pub(super) fn pack(fields: &[Field]) -> Box<[u8]> {
    let mut bytes = Vec::new();
    for alike in fields.chunk_by(Field::is_like) {
        let field = &alike[0];
        write_varint(&mut bytes, alike.len() as u64);
        bytes.extend_from_slice(&[field.form as u8, field.id.n_bits as u8]);
        if field.form != Form::Ids {
            bytes.push(field.n_surprises);
            bytes.extend_from_slice(&field.base.to_le_bytes());
            bytes.extend_from_slice(&field.squeeze.mask.to_le_bytes());
        }
    }
    bytes.into()
}

pub(super) fn unpack(mut bytes: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (n, field) = unpack_one(&mut bytes).expect("it was packed here");
        fields.extend(std::iter::repeat_n(field, n as usize));
    }
    fields.shrink_to_fit();
    fields
}

fn unpack_one(bytes: &mut &[u8]) -> Option<(u64, Field)> {
    let n = read_varint(bytes)?;
    let ([form, id_bits], rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    let form = [Form::Ids, Form::Literal, Form::Escaped][*form as usize];
    let id_bits = u32::from(*id_bits);
    if form == Form::Ids {
        return Some((n, Field::ids(id_bits)));
    }
    let (n_surprises, rest) = bytes.split_first()?;
    let (base, rest) = rest.split_first_chunk()?;
    let (varying, rest) = rest.split_first_chunk()?;
    *bytes = rest;
    let mut field = Field::literal(u64::from_le_bytes(*base), u64::from_le_bytes(*varying));
    field.form = form;
    field.id = Bits::new(id_bits);
    field.n_surprises = *n_surprises;
    Some((n, field))
}
