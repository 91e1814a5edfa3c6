//! The state of a codec, as bytes that are appended to a log.
//!
//! A record is a byte for its kind, then numbers, least significant byte first.
//! Words: position and first id and number of words (four bytes each), then the words (eight each).
//! Layout: number of fields (four bytes), then for each its form, the bits of its id, its number of
//! surprises (a byte each), the bits that do not vary and those that do (eight each).
//! Forgotten: nothing more; a version without a layout, for no key has it.

use super::layout::{Bits, Field, Form, Layout, MAX_ID_BITS};
use super::{Codec, UNPOISONED};

const WORDS: u8 = 1;
const LAYOUT: u8 = 2;
const FORGOTTEN: u8 = 3;

/// How much of a codec has been written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    n_words: Vec<usize>,
    n_layouts: usize,
}

/// A log that no codec wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log of a codec is damaged at byte {offset}: {what}")]
pub struct Damaged {
    /// Where in the bytes given.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl Codec {
    /// Appends to `bytes` what was added to the codec since `mark`, and advances the mark.
    pub fn write_since(&self, mark: &mut Mark, bytes: &mut Vec<u8>) {
        let inner = self.read();
        mark.n_words.resize(inner.dictionaries.len(), 0);
        for (position, dictionary) in inner.dictionaries.iter().enumerate() {
            let from = mark.n_words[position].min(dictionary.len());
            let words = &dictionary.words()[from..];
            if !words.is_empty() {
                bytes.push(WORDS);
                for number in [position, from, words.len()] {
                    bytes.extend_from_slice(&(number as u32).to_le_bytes());
                }
                bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                mark.n_words[position] = dictionary.len();
            }
        }
        // Every codec begins with its first layout.
        for version in mark.n_layouts.max(1)..inner.layouts.len() {
            match inner.layouts.find(version) {
                None => bytes.push(FORGOTTEN),
                Some(layout) => write_layout(&layout, bytes),
            }
        }
        mark.n_layouts = inner.layouts.len();
    }

    /// Reads the output of [`write_since`](Self::write_since) into a codec that is as the other was
    /// at the mark.
    pub fn read_log(&self, bytes: &[u8]) -> Result<(), Damaged> {
        let inner = &mut *self.inner.write().expect(UNPOISONED);
        let mut log = Log { bytes, at: 0 };
        while log.at < bytes.len() {
            match log.take::<1>()?[0] {
                WORDS => {
                    let [position, first, n] = [log.number()?, log.number()?, log.number()?];
                    let Some(dictionary) = inner.dictionaries.get_mut(position) else {
                        return Err(log.damaged("there is no such position"));
                    };
                    if first != dictionary.len() {
                        return Err(log.damaged("ids are missing"));
                    }
                    for _ in 0..n {
                        let word = log.word()?;
                        if dictionary.find(word).is_some() {
                            return Err(log.damaged("a word has two ids"));
                        }
                        dictionary.add(word);
                    }
                }
                LAYOUT => {
                    let layout = read_layout(&mut log, inner.dictionaries.len())?;
                    for (field, dictionary) in layout.fields().iter().zip(&mut inner.dictionaries) {
                        if field.form != Form::Ids {
                            dictionary.close(field.base, field.squeeze.mask);
                        }
                    }
                    inner.layouts.push(layout);
                }
                FORGOTTEN => inner.layouts.push_forgotten(),
                _ => return Err(log.damaged("there is no such record")),
            }
        }
        if !inner.layouts.has_newest() {
            return Err(log.damaged("the newest layout is missing"));
        }
        inner.update_dictionary_bytes();
        Ok(())
    }
}

fn write_layout(layout: &Layout, bytes: &mut Vec<u8>) {
    bytes.push(LAYOUT);
    bytes.extend_from_slice(&(layout.fields().len() as u32).to_le_bytes());
    for field in layout.fields() {
        let form = match field.form {
            Form::Ids => 0,
            Form::Literal => 1,
            Form::Escaped => 2,
        };
        bytes.extend_from_slice(&[form, field.id.n_bits as u8, field.n_surprises]);
        bytes.extend_from_slice(&field.base.to_le_bytes());
        bytes.extend_from_slice(&field.squeeze.mask.to_le_bytes());
    }
}

fn read_layout(log: &mut Log<'_>, n_fields: usize) -> Result<Layout, Damaged> {
    if log.number()? != n_fields {
        return Err(log.damaged("a layout has other positions"));
    }
    let mut fields = Vec::with_capacity(n_fields);
    for _ in 0..n_fields {
        let [form, id_bits, n_surprises] = log.take()?;
        let (base, varying) = (log.word()?, log.word()?);
        if u32::from(id_bits) > MAX_ID_BITS || base & varying != 0 {
            return Err(log.damaged("no field is like this"));
        }
        let mut field = Field::literal(base, varying);
        field.form = match form {
            0 => Form::Ids,
            1 => Form::Literal,
            2 => Form::Escaped,
            _ => return Err(log.damaged("there is no such form")),
        };
        field.id = Bits::new(u32::from(id_bits));
        field.n_surprises = n_surprises;
        // What has ids only has nothing else, and the other way round.
        let is_whole = match field.form {
            Form::Ids => field.is_like(&Field::ids(field.id.n_bits)),
            Form::Literal => id_bits == 0,
            Form::Escaped => true,
        };
        if !is_whole {
            return Err(log.damaged("no field is like this"));
        }
        fields.push(field);
    }
    Ok(Layout::of(fields))
}

struct Log<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Log<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let Some(bytes) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(self.damaged("it ends within a record"));
        };
        self.at += N;
        Ok(*bytes)
    }

    fn number(&mut self) -> Result<usize, Damaged> {
        Ok(u32::from_le_bytes(self.take()?) as usize)
    }

    fn word(&mut self) -> Result<u64, Damaged> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn damaged(&self, what: &'static str) -> Damaged {
        let offset = self.at;
        Damaged { offset, what }
    }
}
