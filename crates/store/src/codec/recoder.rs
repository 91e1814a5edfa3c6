//! Keys of one layout as keys of another.

use std::sync::{Arc, RwLockReadGuard};

use super::layout::{Bits, Form, Layout};
use super::{Codec, Inner};

/// Turns keys of one version into keys of another, newer or older.
///
/// It blocks additions to the codec while it lives.
#[derive(Debug)]
pub struct Recoder<'a> {
    inner: RwLockReadGuard<'a, Inner>,
    from: Arc<Layout>,
    to: Arc<Layout>,
    moves: Vec<Move>,
    /// Positions whose bits change.
    changed: Vec<usize>,
}

/// Bits that a key of the other version has elsewhere. All fields between two that became wider
/// are one move, so a key takes a few moves however many positions there are.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: Bits,
    to: Bits,
}

impl Codec {
    /// A recoder between two versions.
    pub fn recoder(&self, from: u32, to: u32) -> Recoder<'_> {
        let inner = self.read();
        let (from, to) = (inner.layouts.get(from), inner.layouts.get(to));
        let (mut moves, mut changed) = (Vec::new(), Vec::new());
        for (position, (from, to)) in from.fields().iter().zip(to.fields()).enumerate() {
            if !from.has_same_bits(to) {
                changed.push(position);
                continue;
            }
            add_move(&mut moves, from.id, to.id);
            add_move(&mut moves, from.literal, to.literal);
        }
        Recoder {
            inner,
            from,
            to,
            moves,
            changed,
        }
    }
}

/// Adds a move from a field to one that is as wide or wider, to the last one if it continues that.
fn add_move(moves: &mut Vec<Move>, from: Bits, to: Bits) {
    if from.n_bits == 0 {
        return;
    }
    let to = to.lowest(from.n_bits);
    if let Some(last) = moves.last_mut()
        && let (Some(from), Some(to)) = (last.from.joined(from), last.to.joined(to))
    {
        *last = Move { from, to };
    } else {
        moves.push(Move { from, to });
    }
}

impl Recoder<'_> {
    /// Words of an input key.
    pub fn n_words_from(&self) -> usize {
        self.from.n_words()
    }

    /// Words of an output key.
    pub fn n_words_to(&self) -> usize {
        self.to.n_words()
    }

    /// Whether output keys have the order of input keys.
    pub fn keeps_order(&self) -> bool {
        let mut fields = self.from.fields().iter().zip(self.to.fields());
        fields.all(|(from, to)| (from.form == Form::Literal) == (to.form == Form::Literal))
    }

    /// Writes `key` in the other version to `made`. False where that cannot express it, so no key
    /// of that version is the same state; this never happens from an older to a newer one.
    pub fn recode(&self, key: &[u64], made: &mut [u64]) -> bool {
        made.fill(0);
        for Move { from, to } in &self.moves {
            to.add(made, from.get(key));
        }
        for &position in &self.changed {
            let (from, to) = (&self.from.fields()[position], &self.to.fields()[position]);
            let dictionary = &self.inner.dictionaries[position];
            let (id, literal) = (from.id.get(key), from.literal.get(key));
            let parts = if from.form == Form::Ids && to.form == Form::Ids {
                to.id.fits(id).then_some((id, 0))
            } else {
                to.parts(from.word_of(id, literal, dictionary), dictionary)
            };
            let Some((id, literal)) = parts else {
                return false;
            };
            to.id.add(made, id);
            to.literal.add(made, literal);
        }
        if self.inner.dictionaries.is_empty() {
            made.copy_from_slice(key);
        }
        true
    }
}
