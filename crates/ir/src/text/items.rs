//! Lists read from the front, word by word, and ids with their prefixes.

use std::str::FromStr;

use super::TextError;
use super::sexpr::{Kind, Sexpr};
use crate::ids::{ExprId, FileId, FunctionId, LocalId, MapId, ScalarsetId, SiteId, TypeId, VarId};

pub(super) type Result<T, E = TextError> = std::result::Result<T, E>;

/// The rest of a list, taken from the front.
pub(super) struct Items<'a> {
    list: &'a Sexpr,
    rest: std::slice::Iter<'a, Sexpr>,
}

impl<'a> Items<'a> {
    pub(super) fn of(list: &'a Sexpr) -> Result<Self> {
        match &list.kind {
            Kind::List(items) => Ok(Items {
                list,
                rest: items.iter(),
            }),
            _ => Err(list.error("a list is expected here")),
        }
    }

    pub(super) fn next_if_any(&mut self) -> Option<&'a Sexpr> {
        self.rest.next()
    }

    pub(super) fn next(&mut self) -> Result<&'a Sexpr> {
        let list = self.list;
        self.rest
            .next()
            .ok_or_else(|| list.error("something is missing in this list"))
    }

    pub(super) fn list(&mut self) -> Result<Items<'a>> {
        Items::of(self.next()?)
    }

    /// The next list, which must begin with `name`.
    pub(super) fn named(&mut self, name: &str) -> Result<Items<'a>> {
        let mut items = self.list()?;
        items.keyword(name)?;
        Ok(items)
    }

    /// The next list if it begins with `name`.
    pub(super) fn named_if(&mut self, name: &str) -> Option<Items<'a>> {
        let mut items = Items::of(self.rest.clone().next()?).ok()?;
        items.keyword(name).ok()?;
        self.rest.next();
        Some(items)
    }

    pub(super) fn word(&mut self) -> Result<&'a str> {
        word(self.next()?)
    }

    pub(super) fn keyword(&mut self, expected: &str) -> Result<()> {
        let item = self.next()?;
        if word(item)? == expected {
            Ok(())
        } else {
            Err(item.error(format!("`{expected}` is expected here")))
        }
    }

    /// Whether the next item is this word; if so, it is taken.
    pub(super) fn keyword_if(&mut self, expected: &str) -> bool {
        let next = self.rest.clone().next();
        let is_next = next.is_some_and(|item| word(item).is_ok_and(|found| found == expected));
        if is_next {
            self.rest.next();
        }
        is_next
    }

    pub(super) fn text(&mut self) -> Result<String> {
        text(self.next()?)
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Result<T> {
        let item = self.next()?;
        word(item)?
            .parse()
            .map_err(|_| item.error("a number is expected here, or it is too large"))
    }

    pub(super) fn id<T: Id>(&mut self) -> Result<T> {
        id(self.next()?)
    }

    /// An id that must be the next free one of its table.
    pub(super) fn new_id<T: Id>(&mut self, table_len: usize) -> Result<()> {
        let item = self.next()?;
        let found: T = id(item)?;
        if found.number() as usize == table_len {
            Ok(())
        } else {
            let message = format!("{}{table_len} comes next here", T::PREFIX);
            Err(item.error(message))
        }
    }

    pub(super) fn end(mut self) -> Result<()> {
        match self.rest.next() {
            None => Ok(()),
            Some(item) => Err(item.error("nothing more is expected in this list")),
        }
    }

    /// Reads all that is left with `read`.
    pub(super) fn all<T>(mut self, mut read: impl FnMut(&'a Sexpr) -> Result<T>) -> Result<Vec<T>> {
        let mut found = Vec::new();
        while let Some(item) = self.next_if_any() {
            found.push(read(item)?);
        }
        Ok(found)
    }
}

/// An id with its prefix.
pub(super) trait Id: Sized {
    const PREFIX: &'static str;
    fn from_number(number: u32) -> Self;
    fn number(&self) -> u32;
}

macro_rules! ids {
    ($($name:ident $prefix:literal),*) => {$(
        impl Id for $name {
            const PREFIX: &'static str = $prefix;
            fn from_number(number: u32) -> Self { $name(number) }
            fn number(&self) -> u32 { self.0 }
        }
    )*};
}

/// The number of a cover point, which has no id type of its own.
pub(super) struct CoverId(pub(super) u32);

ids!(TypeId "t", ScalarsetId "s", VarId "v", LocalId "l", ExprId "e", FunctionId "f", MapId "m",
    SiteId "@", FileId "#", CoverId "c");

pub(super) fn word(item: &Sexpr) -> Result<&str> {
    match &item.kind {
        Kind::Word(word) => Ok(word),
        _ => Err(item.error("a word is expected here")),
    }
}

pub(super) fn text(item: &Sexpr) -> Result<String> {
    match &item.kind {
        Kind::Text(text) => Ok(text.clone()),
        _ => Err(item.error("a string is expected here")),
    }
}

pub(super) fn id<T: Id>(item: &Sexpr) -> Result<T> {
    let error = || {
        let message = format!("an id such as `{}0` is expected here", T::PREFIX);
        item.error(message)
    };
    id_word(word(item)?).ok_or_else(error)
}

pub(super) fn id_word<T: Id>(word: &str) -> Option<T> {
    let number = word.strip_prefix(T::PREFIX)?.parse().ok()?;
    Some(T::from_number(number))
}
