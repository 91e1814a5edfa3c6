//! Where in a key each position of a state lies, and in how many bits.
//!
//! Fields come in the order of positions, so keys compare as the lists of their ids do, whatever
//! the widths.

use super::dictionary::Dictionary;
use super::{KeyShape, MAX_ENTRIES, n_positions, position_mask};

/// One version of how keys are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    fields: Vec<Field>,
    n_bits: usize,
}

/// How a position is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By the id of its word.
    Ids,
    /// By those bits of its word that vary.
    Literal,
    /// By the id of its word and zeros; words without an id as an id of ones and bits that vary.
    Escaped,
}

/// The place of one position in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) form: Form,
    pub(super) id: Bits,
    pub(super) literal: Bits,
    /// The bits of a word that do not vary.
    pub(super) base: u64,
    pub(super) squeeze: Squeeze,
    /// How often bits were found to vary that did not before.
    pub(super) n_surprises: u8,
}

/// After this many surprises all bits of a position count as varying.
const MAX_SURPRISES: u8 = 3;

impl Layout {
    /// States unchanged.
    pub(super) fn plain(state_len: usize) -> Self {
        let n_positions = n_positions(state_len);
        let field = |position| Field::literal(0, position_mask(state_len, position));
        Self::of((0..n_positions).map(field).collect())
    }

    /// Before the first state: each position has one word.
    pub(super) fn constant(state_len: usize) -> Self {
        Self::of(vec![Field::ids(0); n_positions(state_len)])
    }

    /// Gives the fields their places.
    pub(super) fn of(mut fields: Vec<Field>) -> Self {
        let mut n_bits = 0;
        for field in &mut fields {
            for bits in [&mut field.id, &mut field.literal] {
                bits.begin = n_bits as u32;
                n_bits += bits.n_bits as usize;
            }
        }
        Layout { fields, n_bits }
    }

    /// A layout with room for all words of the dictionaries.
    pub(super) fn widened(
        &self,
        dictionaries: &[Dictionary],
        state_len: usize,
        headroom: Headroom,
    ) -> Self {
        let widen = |(position, (field, dictionary)): (usize, (&Field, &Dictionary))| {
            let all = position_mask(state_len, position);
            field.widened(dictionary, all, headroom)
        };
        let fields = self.fields.iter().zip(dictionaries);
        let mut fields: Vec<Field> = fields.enumerate().map(widen).collect();
        fill_up(&mut fields, dictionaries, headroom.unit_bits());
        Self::of(fields)
    }

    /// The layout with as few bits for ids as `headroom` allows.
    pub(super) fn narrowed(&self, dictionaries: &[Dictionary], headroom: Headroom) -> Self {
        let narrow = |(field, dictionary): (&Field, &Dictionary)| match field.form {
            Form::Ids => Field::ids(headroom.least_bits(dictionary.len())),
            Form::Literal | Form::Escaped => *field,
        };
        Self::of(self.fields.iter().zip(dictionaries).map(narrow).collect())
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub(super) fn n_bits(&self) -> usize {
        self.n_bits
    }

    pub(super) fn n_words(&self) -> usize {
        Self::words_for(self.n_bits)
    }

    /// Words of keys of `n_bits` bits.
    pub(super) fn words_for(n_bits: usize) -> usize {
        n_bits.div_ceil(64).max(1)
    }

    /// Shape of its keys, as layout of `version`.
    pub(super) fn shape(&self, version: u32) -> KeyShape {
        KeyShape {
            version,
            n_bits: self.n_bits,
            n_words: self.n_words(),
        }
    }

    pub(super) fn data_bytes(&self) -> u64 {
        (self.fields.capacity() * size_of::<Field>()) as u64
    }
}

impl Field {
    pub(super) fn ids(n_bits: u32) -> Self {
        Field {
            form: Form::Ids,
            id: Bits::new(n_bits),
            literal: Bits::new(0),
            base: 0,
            squeeze: Squeeze::default(),
            n_surprises: 0,
        }
    }

    pub(super) fn literal(base: u64, varying: u64) -> Self {
        Field {
            form: Form::Literal,
            id: Bits::new(0),
            literal: Bits::new(varying.count_ones()),
            base: base & !varying,
            squeeze: Squeeze::new(varying),
            n_surprises: 0,
        }
    }

    /// Whether the two differ in their places alone.
    pub(super) fn is_like(&self, other: &Field) -> bool {
        let key = |field: &Field| {
            let Field { form, base, .. } = *field;
            let bits = (field.id.n_bits, field.squeeze.mask);
            (form, base, bits, field.n_surprises)
        };
        key(self) == key(other)
    }

    pub(super) fn has_ids(&self) -> bool {
        self.form != Form::Literal
    }

    /// Whether what is stored here for a word is the same number in `newer`, in as many bits or more.
    pub(super) fn has_same_bits(&self, newer: &Field) -> bool {
        match (self.form, newer.form) {
            (Form::Ids, Form::Ids) => self.id.n_bits <= newer.id.n_bits,
            (Form::Literal, Form::Literal) => {
                (self.base, self.squeeze) == (newer.base, newer.squeeze)
            }
            _ => false,
        }
    }

    fn widened(&self, dictionary: &Dictionary, all: u64, headroom: Headroom) -> Field {
        if self.form == Form::Ids && !dictionary.is_closed() {
            return Field::ids(headroom.bits(dictionary.len(), self.id.n_bits));
        }
        let was = self.squeeze.mask;
        let mut varying = was | dictionary.varying();
        let is_surprised = self.form != Form::Ids && varying != was;
        let n_surprises = self.n_surprises + u8::from(is_surprised);
        if n_surprises >= MAX_SURPRISES {
            varying = all;
        }
        let mut field = Field::literal(dictionary.base(), varying);
        field.n_surprises = n_surprises;
        if self.form == Form::Escaped || (self.form == Form::Ids && headroom.keeps_order()) {
            field.form = Form::Escaped;
            // One id more than there are, for words without one.
            field.id = Bits::new(bits_for(dictionary.len() + 1).max(self.id.n_bits));
        }
        field
    }

    /// The id and the literal bits of a word; `None` where they do not fit.
    #[inline]
    pub(super) fn parts(&self, word: u64, dictionary: &Dictionary) -> Option<(u64, u64)> {
        match self.form {
            Form::Ids => {
                let id = dictionary.find(word)?;
                self.id.fits(id).then_some((id, 0))
            }
            Form::Literal => Some((0, self.literal_part(word)?)),
            Form::Escaped => match dictionary.find(word) {
                Some(id) => (id < self.id.ones()).then_some((id, 0)),
                None => Some((self.id.ones(), self.literal_part(word)?)),
            },
        }
    }

    #[inline]
    fn literal_part(&self, word: u64) -> Option<u64> {
        let fits = word & !self.squeeze.mask == self.base;
        fits.then(|| self.squeeze.squeeze(word))
    }

    /// Replaces what a key has here by `word`; returns whether it fits.
    #[inline]
    pub(super) fn replace(&self, key: &mut [u64], word: u64, dictionary: &Dictionary) -> bool {
        if let (Form::Ids, Some((number, shift))) = (self.form, self.id.within_word()) {
            let id = dictionary.find(word).filter(|id| self.id.fits(*id));
            if let Some(id) = id {
                key[number] = key[number] & !(self.id.ones() << shift) | id << shift;
            }
            return id.is_some();
        }
        let Some((id, literal)) = self.parts(word, dictionary) else {
            return false;
        };
        self.id.add(key, id ^ self.id.get(key));
        self.literal.add(key, literal ^ self.literal.get(key));
        true
    }

    /// Writes the words that `keys` have here to `bytes`, one every `stride` bytes, in order: a
    /// word may reach into the place of the next.
    pub(super) fn decode_column<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u64]>,
        dictionary: &Dictionary,
        bytes: &mut [u8],
        stride: usize,
    ) {
        let write = |bytes: &mut [u8], at: usize, word: u64| {
            bytes[at..at + 8].copy_from_slice(&word.to_be_bytes());
        };
        let keys = keys.zip((0..).step_by(stride));
        if let (Form::Ids, Some((number, shift))) = (self.form, self.id.within_word()) {
            let ones = self.id.ones();
            for (key, at) in keys {
                write(bytes, at, dictionary.word(key[number] >> shift & ones));
            }
        } else {
            for (key, at) in keys {
                write(bytes, at, self.word(key, dictionary));
            }
        }
    }

    /// The word that a key has here.
    #[inline]
    pub(super) fn word(&self, key: &[u64], dictionary: &Dictionary) -> u64 {
        self.word_of(self.id.get(key), self.literal.get(key), dictionary)
    }

    #[inline]
    pub(super) fn word_of(&self, id: u64, literal: u64, dictionary: &Dictionary) -> u64 {
        let is_literal = match self.form {
            Form::Ids => false,
            Form::Literal => true,
            Form::Escaped => id == self.id.ones(),
        };
        if is_literal {
            self.base | self.squeeze.spread(literal)
        } else {
            dictionary.word(id)
        }
    }
}

/// Bits that distinguish `n` values.
fn bits_for(n: usize) -> u32 {
    n.next_power_of_two().ilog2()
}

/// How much wider than needed fields of ids become.
///
/// Each version costs a pass over all keys in memory, so there should be few; but every bit counts
/// where there are many keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// The keys take a small part of the memory there is. Words that occur late, at positions that
    /// did not vary before, find room, too.
    Ample,
    /// There is memory for keys of another version beside those there are.
    Roomy,
    /// Memory is short.
    Tight,
    /// As `Tight`, and recoded keys are in the same order as they were, for there are some on disk,
    /// where they keep their versions. A position with too many words keeps its ids.
    Ordered,
}

/// With more positions, those that have not varied get no bits in advance.
const FEW_POSITIONS: usize = 64;

impl Headroom {
    /// Whether recoded keys are in the same order as before.
    pub(super) fn keeps_order(self) -> bool {
        self == Headroom::Ordered
    }

    /// Bits for `n_entries` ids, where a field has `n_bits` now; a position that has not varied
    /// takes none.
    fn bits(self, n_entries: usize, n_bits: u32) -> u32 {
        // Fields that are nearly full are widened with the one that has to be.
        if n_bits >= self.least_bits(n_entries) {
            return n_bits;
        }
        let spare_bits = if self == Headroom::Ample { 2 } else { 1 };
        (bits_for(n_entries) + spare_bits).clamp(n_bits, MAX_ID_BITS)
    }

    /// Bits with which a field of `n_entries` ids is not nearly full.
    fn least_bits(self, n_entries: usize) -> u32 {
        let n_bits = match self {
            _ if n_entries <= 1 => 0,
            Headroom::Ample | Headroom::Roomy => bits_for(2 * n_entries),
            Headroom::Tight | Headroom::Ordered => bits_for((4 * n_entries).div_ceil(3)),
        };
        n_bits.min(MAX_ID_BITS)
    }

    /// Keys are filled up to a multiple of this many bits.
    fn unit_bits(self) -> usize {
        match self {
            Headroom::Ample => 32,
            // They take whole bytes anyway.
            Headroom::Roomy => 8,
            Headroom::Tight | Headroom::Ordered => 1,
        }
    }
}

/// Gives the bits that fill up the last unit of keys to those fields of ids that have least room.
fn fill_up(fields: &mut [Field], dictionaries: &[Dictionary], unit_bits: usize) {
    let n_bits = |field: &Field| (field.id.n_bits + field.literal.n_bits) as usize;
    let n_used: usize = fields.iter().map(n_bits).sum();
    // In a large unit there are bits for positions that have not varied yet.
    let least = match unit_bits > 8 && fields.len() <= FEW_POSITIONS {
        true => 1,
        false => 2,
    };
    for _ in n_used..n_used.next_multiple_of(unit_bits) {
        let fullness = |(field, dictionary): &(&mut Field, &Dictionary)| {
            (dictionary.len() << 20) >> field.id.n_bits
        };
        let fields = fields.iter_mut().zip(dictionaries);
        let growing = fields.filter(|(field, it)| {
            field.form == Form::Ids
                && !it.is_closed()
                && it.len() >= least
                && field.id.n_bits < MAX_ID_BITS
        });
        let Some((field, _)) = growing.max_by_key(fullness) else {
            return;
        };
        field.id.n_bits += 1;
    }
}

/// Bits for as many ids as there may be, and one that no word has.
pub(super) const MAX_ID_BITS: u32 = MAX_ENTRIES.ilog2() + 1;

/// Consecutive bits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    begin: u32,
    pub(super) n_bits: u32,
}

impl Bits {
    pub(super) fn new(n_bits: u32) -> Self {
        Bits { begin: 0, n_bits }
    }

    /// The lowest `n_bits` of them.
    pub(super) fn lowest(self, n_bits: u32) -> Self {
        Bits {
            begin: self.begin + self.n_bits - n_bits,
            n_bits,
        }
    }

    /// These bits and `next`, where that follows them and both fit a number.
    pub(super) fn joined(self, next: Bits) -> Option<Self> {
        let n_bits = self.n_bits + next.n_bits;
        let is_next = next.begin == self.begin + self.n_bits;
        (is_next && n_bits <= 64).then_some(Bits { n_bits, ..self })
    }

    #[inline]
    pub(super) fn fits(&self, value: u64) -> bool {
        self.n_bits == 64 || value >> self.n_bits == 0
    }

    /// The largest value.
    #[inline]
    pub(super) fn ones(&self) -> u64 {
        match self.n_bits {
            0 => 0,
            n => u64::MAX >> (64 - n),
        }
    }

    #[inline]
    pub(super) fn get(&self, key: &[u64]) -> u64 {
        if self.n_bits == 0 {
            return 0;
        }
        let (word, at) = (self.begin as usize / 64, self.begin % 64);
        let high = (key[word] << at) >> (64 - self.n_bits);
        match (at + self.n_bits).checked_sub(64) {
            None | Some(0) => high,
            Some(n_low) => high | (key[word + 1] >> (64 - n_low)),
        }
    }

    /// Where the bits lie within one word of a key: its number, and the bits behind them there.
    pub(super) fn within_word(&self) -> Option<(usize, u32)> {
        let end = self.begin % 64 + self.n_bits;
        (self.n_bits > 0 && end <= 64).then(|| (self.begin as usize / 64, 64 - end))
    }

    /// Adds `value` to the bits, without carry: sets bits that are zero, or turns one value into
    /// another by the difference of both.
    #[inline]
    pub(super) fn add(&self, key: &mut [u64], value: u64) {
        if self.n_bits == 0 {
            return;
        }
        let (word, at) = (self.begin as usize / 64, self.begin % 64);
        match (at + self.n_bits).checked_sub(64) {
            None | Some(0) => key[word] ^= value << (64 - at - self.n_bits),
            Some(n_low) => {
                key[word] ^= value >> n_low;
                key[word + 1] ^= value << (64 - n_low);
            }
        }
    }
}

/// Brings the bits under a mask together, in order, and back: six steps for any mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Squeeze {
    pub(super) mask: u64,
    /// The bits that step `i` moves by 2 to the power `i`.
    moves: [u64; 6],
}

impl Squeeze {
    pub(super) fn new(mask: u64) -> Self {
        let mut moves = [0; 6];
        let mut left = mask;
        // Bits that have an odd number of zeros to their right that are not yet gone.
        let mut zeros = !mask << 1;
        for (step, moved) in moves.iter_mut().enumerate() {
            let mut parity = zeros;
            for shift in [1, 2, 4, 8, 16, 32] {
                parity ^= parity << shift;
            }
            *moved = parity & left;
            left = (left ^ *moved) | (*moved >> (1 << step));
            zeros &= !parity;
        }
        Squeeze { mask, moves }
    }

    #[inline]
    pub(super) fn squeeze(&self, word: u64) -> u64 {
        let mut word = word & self.mask;
        for (step, moves) in self.moves.iter().enumerate() {
            let moved = word & moves;
            word = (word ^ moved) | (moved >> (1 << step));
        }
        word
    }

    #[inline]
    pub(super) fn spread(&self, mut word: u64) -> u64 {
        for (step, moves) in self.moves.iter().enumerate().rev() {
            let moved = word << (1 << step);
            word = (word & !moves) | (moved & moves);
        }
        word & self.mask
    }
}
