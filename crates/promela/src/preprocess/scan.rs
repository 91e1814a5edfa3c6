//! From a file to tokens, before directives and macros.
//!
//! It takes time proportional to the text and never fails. What is no token becomes a
//! [`TokenKind::Bad`] with a message, which is reported only if the token is not skipped by a
//! conditional: what `#if 0` encloses may be any text.

use std::sync::Arc;

use hadal_syntax::{Source, Span};
use rustc_hash::FxHashSet;

use crate::text::{Origin, Token};
use crate::token::{Symbol, TokenKind};

/// Equal spellings share their text.
#[derive(Default)]
pub(super) struct Interner {
    texts: FxHashSet<Arc<str>>,
}

impl Interner {
    pub(super) fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }
}

/// A token of a file, or why there is none.
#[derive(Clone)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) error: Option<&'static str>,
}

/// The tokens of a file, without its end. The flag reports a comment that is not closed.
pub(super) struct Scanned {
    pub(super) lexemes: Vec<Lexeme>,
    pub(super) open_comment: Option<Span>,
}

/// Splits a file into tokens.
pub(super) fn scan(source: &Source, interner: &mut Interner) -> Scanned {
    scan_text(source.text(), source.base(), interner)
}

/// Splits a text that begins at an offset into tokens.
pub(super) fn scan_text(text: &str, base: u32, interner: &mut Interner) -> Scanned {
    let mut out = Scanned {
        lexemes: Vec::with_capacity(text.len() / 5 + 1),
        open_comment: None,
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut starts_line = true;
    let mut spaced = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => {
                starts_line = true;
                spaced = true;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => {
                spaced = true;
                at += 1;
                continue;
            }
            b'\\' if text[at + 1..].starts_with('\n') || text[at + 1..].starts_with("\r\n") => {
                spaced = true;
                at += if bytes[at + 1] == b'\r' { 3 } else { 2 };
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                spaced = true;
                match text[at + 2..].find("*/") {
                    Some(len) => at += len + 4,
                    None => {
                        out.open_comment = Some(span_at(base, at, at + 2));
                        at = text.len();
                    }
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                spaced = true;
                at += line_comment_len(&text[at..]);
                continue;
            }
            _ => {}
        }
        let (len, kind, error) = lexeme(&text[at..]);
        let end = at + len;
        out.lexemes.push(Lexeme {
            token: Token {
                kind,
                text: interner.get(&text[at..end]),
                span: span_at(base, at, end),
                origin: Origin::FILE,
                starts_line,
                spaced,
            },
            error,
        });
        starts_line = false;
        spaced = false;
        at = end;
    }
    out
}

fn span_at(base: u32, start: usize, end: usize) -> Span {
    Span::new(base + start as u32, base + end as u32)
}

/// The length of a comment up to the end of its line; a backslash continues the line.
fn line_comment_len(text: &str) -> usize {
    let mut at = 0;
    loop {
        let Some(len) = text[at..].find('\n') else {
            return text.len();
        };
        at += len;
        let line = text[..at].strip_suffix('\r').unwrap_or(&text[..at]);
        if !line.ends_with('\\') {
            return at;
        }
        at += 1;
    }
}

/// The token that a text begins with; the text is not empty and begins with no white space.
fn lexeme(text: &str) -> (usize, TokenKind, Option<&'static str>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word_len = || text.find(|c| !is_word(c)).unwrap_or(text.len());
    match text.as_bytes()[0] {
        b'0'..=b'9' => (word_len(), TokenKind::Number, None),
        byte if is_word(char::from(byte)) => (word_len(), TokenKind::Ident, None),
        b'"' => match quoted_len(text, b'"') {
            Some(len) => (len, TokenKind::Str, None),
            None => {
                let len = text.find('\n').unwrap_or(text.len());
                (len, TokenKind::Bad, Some("this string is not closed"))
            }
        },
        b'\'' => match char_len(text) {
            Some(len) => (len, TokenKind::Char, None),
            None => (1, TokenKind::Bad, Some("this is not a character constant")),
        },
        _ => match Symbol::prefix_of(text) {
            Some(symbol) => (symbol.text().len(), TokenKind::Symbol(symbol), None),
            None => {
                let is_foreign = |c: char| !c.is_ascii() || c.is_ascii_control();
                let foreign = text.find(|c: char| !is_foreign(c) || c == '\n');
                let first_len = text.chars().next().map_or(1, char::len_utf8);
                let len = foreign.unwrap_or(text.len()).max(first_len);
                let message = "this character has no meaning in Promela";
                (len, TokenKind::Bad, Some(message))
            }
        },
    }
}

/// The length of a string with its quotes, if it ends on its line.
fn quoted_len(text: &str, quote: u8) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\n' => return None,
            b'\\' => {
                bytes.next();
            }
            _ if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn char_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(1)? {
        b'\\' => (bytes.get(3) == Some(&b'\'') && bytes.get(2)?.is_ascii_graphic()).then_some(4),
        b'\n' | b'\'' => None,
        _ => (bytes.get(2) == Some(&b'\'')).then_some(3),
    }
}

/// The single token that a text consists of.
pub(super) fn single(text: &str) -> Option<TokenKind> {
    if text.is_empty() || text.starts_with(char::is_whitespace) || text.starts_with("//") {
        return None;
    }
    let (len, kind, error) = lexeme(text);
    (len == text.len() && error.is_none()).then_some(kind)
}
