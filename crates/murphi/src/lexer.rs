//! From text to tokens.
//!
//! The lexer is written by hand. What ends a string or a comment depends on the dialect, an
//! error must leave tokens that let the parser continue, and a run of foreign characters is one
//! error, not many: a table-driven lexer would hold little but calls back into such code.
//!
//! It takes time proportional to the text and never fails. Where a character belongs to no
//! token it leaves a [`TokenKind::Bad`], which the parser does not report again.

use hadal_model::Stop;
use hadal_syntax::{Diagnostic, Diagnostics, Source, Span};

use crate::Dialect;
use crate::dialect::StringEscapes;
use crate::parser::MAX_ERRORS;
use crate::token::{Token, TokenKind};

/// The tokens of a source, and what was wrong.
pub(crate) struct Lexed {
    /// At least one; the last, and only the last, is [`TokenKind::Eof`].
    pub(crate) tokens: Vec<Token>,
    pub(crate) diagnostics: Diagnostics,
    /// A comment or string swallowed the end of the file: what is then missing is not reported.
    pub(crate) truncated: bool,
}

/// Splits a source into tokens; those after a stop is requested are missing.
pub(crate) fn lex(source: &Source, dialect: Dialect, stop: &Stop) -> Lexed {
    let text = source.text();
    let mut lexer = Lexer {
        text,
        base: source.base(),
        rest: text,
        dialect,
        out: Lexed {
            tokens: Vec::with_capacity(text.len() / 4 + 1),
            diagnostics: Diagnostics::new(),
            truncated: false,
        },
    };
    while !stop.is_raised() && lexer.next_token() {}
    let end = lexer.offset();
    lexer.push(TokenKind::Eof, end);
    lexer.out
}

struct Lexer<'s> {
    text: &'s str,
    /// Offset of the first byte of the text.
    base: u32,
    /// What is still to be split, a suffix of the text.
    rest: &'s str,
    dialect: Dialect,
    out: Lexed,
}

/// The symbol that a text begins with, and its length: the longest, where one begins with
/// another.
fn ascii_symbol(text: &[u8]) -> Option<(usize, TokenKind)> {
    Some(match text {
        [b'=', b'=', b'>', ..] => (3, TokenKind::LongArrow),
        [b'&', b'&', ..] => (2, TokenKind::AmpAmp),
        [b'|', b'|', ..] => (2, TokenKind::PipePipe),
        [b'-', b'>', ..] => (2, TokenKind::Arrow),
        [b'=', b'=', ..] => (2, TokenKind::EqEq),
        [b'!', b'=', ..] => (2, TokenKind::Ne),
        [b'<', b'=', ..] => (2, TokenKind::Le),
        [b'<', b'<', ..] => (2, TokenKind::Shl),
        [b'>', b'=', ..] => (2, TokenKind::Ge),
        [b'>', b'>', ..] => (2, TokenKind::Shr),
        [b':', b'=', ..] => (2, TokenKind::Assign),
        [b'.', b'.', ..] => (2, TokenKind::DotDot),
        [first, ..] => (
            1,
            match first {
                b'+' => TokenKind::Plus,
                b'-' => TokenKind::Minus,
                b'*' => TokenKind::Star,
                b'/' => TokenKind::Slash,
                b'%' => TokenKind::Percent,
                b'!' => TokenKind::Bang,
                b'~' => TokenKind::Tilde,
                b'&' => TokenKind::Amp,
                b'|' => TokenKind::Pipe,
                b'^' => TokenKind::Caret,
                b'=' => TokenKind::Eq,
                b'<' => TokenKind::Lt,
                b'>' => TokenKind::Gt,
                b'?' => TokenKind::Question,
                b':' => TokenKind::Colon,
                b'.' => TokenKind::Dot,
                b',' => TokenKind::Comma,
                b';' => TokenKind::Semi,
                b'(' => TokenKind::LParen,
                b')' => TokenKind::RParen,
                b'[' => TokenKind::LBracket,
                b']' => TokenKind::RBracket,
                b'{' => TokenKind::LBrace,
                b'}' => TokenKind::RBrace,
                _ => return None,
            },
        ),
        [] => return None,
    })
}

/// The one-character spellings beyond ASCII.
fn unicode_symbol(c: char) -> Option<TokenKind> {
    Some(match c {
        '∀' => TokenKind::Forall,
        '∃' => TokenKind::Exists,
        '≔' => TokenKind::Assign,
        '≥' => TokenKind::Ge,
        '≤' => TokenKind::Le,
        '≠' => TokenKind::Ne,
        '→' => TokenKind::Arrow,
        '⇒' => TokenKind::LongArrow,
        '¬' => TokenKind::Bang,
        '∧' => TokenKind::AmpAmp,
        '∨' => TokenKind::PipePipe,
        '÷' | '\u{2215}' => TokenKind::Slash,
        '\u{2212}' => TokenKind::Minus,
        '×' => TokenKind::Star,
        _ => return None,
    })
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'s> Lexer<'s> {
    /// Takes the next token, comment or run of spaces; false at the end of the text.
    fn next_token(&mut self) -> bool {
        let start = self.offset();
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        match first {
            c if is_space(c) => {
                self.take_while(is_space);
            }
            'a'..='z' | 'A'..='Z' => {
                let word = self.take_while(is_word);
                self.push(TokenKind::keyword(word).unwrap_or(TokenKind::Ident), start);
            }
            '_' => {
                self.take_while(is_word);
                self.push(TokenKind::Ident, start);
                self.error(start, |span| {
                    Diagnostic::error("a name must begin with a letter", span)
                        .help("drop the `_` at its beginning")
                });
            }
            '0'..='9' => self.number(start),
            '"' => self.string(start, &['"']),
            '“' | '”' => self.string(start, &['“', '”']),
            _ if self.rest.starts_with("--") => {
                self.take_while(|c| c != '\n');
            }
            _ if self.rest.starts_with("/*") => self.block_comment(start),
            _ => self.symbol(start),
        }
        true
    }

    /// `0..3` is three tokens: a point belongs to a number only if a digit follows it.
    fn number(&mut self, start: u32) {
        let hex = self
            .rest
            .strip_prefix("0x")
            .or(self.rest.strip_prefix("0X"));
        if hex.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_hexdigit())) {
            self.take(2);
            self.take_while(|c| c.is_ascii_hexdigit());
            return self.push(TokenKind::Int, start);
        }
        self.take_while(|c| c.is_ascii_digit());
        let fraction = self.rest.strip_prefix('.');
        if fraction.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            self.take(1);
            self.take_while(|c| c.is_ascii_digit());
            return self.push(TokenKind::Real, start);
        }
        self.push(TokenKind::Int, start);
    }

    fn string(&mut self, start: u32, closing: &[char]) {
        let opening = self.rest.chars().next().map_or(1, char::len_utf8);
        let escapes = self.dialect.string_escapes() != StringEscapes::None;
        let mut escaped = false;
        for (at, c) in self.rest[opening..].char_indices() {
            let at = opening + at;
            if c == '\n' && !self.dialect.multiline_strings() {
                let len = self.rest[..at].trim_end_matches('\r').len();
                self.take(len);
                self.push(TokenKind::Str, start);
                return self.unterminated_string(start);
            }
            if closing.contains(&c) && !escaped {
                self.take(at + c.len_utf8());
                return self.push(TokenKind::Str, start);
            }
            escaped = escapes && c == '\\' && !escaped;
        }
        self.take(self.rest.len());
        self.push(TokenKind::Str, start);
        self.out.truncated = true;
        self.unterminated_string(start);
    }

    fn unterminated_string(&mut self, start: u32) {
        let is_backslash = self.text[..self.offset() as usize].ends_with("\\\"");
        let dialect = self.dialect;
        // The string may be the rest of the file: point at its first character only.
        let quote = Span::new(start, start + 1);
        self.error(start, |_| {
            let error =
                Diagnostic::error("this string is never closed", quote).label("it is opened here");
            match is_backslash {
                true => error.note(format!(
                    "in the dialect `{dialect}`, `\\\"` is a quote inside the string"
                )),
                false => error,
            }
        });
    }

    fn block_comment(&mut self, start: u32) {
        match self.rest[2..].find("*/") {
            Some(at) => self.take(at + 4),
            None => {
                self.take(self.rest.len());
                if !self.dialect.open_comment_at_end() {
                    self.out.truncated = true;
                    let opening = Span::new(start, start + 2);
                    self.error(start, |_| {
                        Diagnostic::error("this comment is never closed", opening)
                            .label("it is opened here")
                            .help("end it with `*/`")
                    });
                }
            }
        }
    }

    fn symbol(&mut self, start: u32) {
        match self.symbol_here() {
            Some((len, kind)) => {
                let is_short_arrow = self.rest.starts_with("=>");
                if is_short_arrow {
                    // Valid in no dialect; it is read as what was probably meant.
                    self.take("=>".len());
                    self.push(TokenKind::LongArrow, start);
                    self.error(start, |span| {
                        Diagnostic::error("`=>` is no operator", span).help(
                            "`==>` separates a guard from its rule; `->` implies; `>=` compares",
                        )
                    });
                    return;
                }
                self.take(len);
                self.push(kind, start);
            }
            None => self.foreign(start),
        }
    }

    fn symbol_here(&self) -> Option<(usize, TokenKind)> {
        let c = self.rest.chars().next()?;
        match c.is_ascii() {
            true => ascii_symbol(self.rest.as_bytes()),
            false => unicode_symbol(c).map(|kind| (c.len_utf8(), kind)),
        }
    }

    /// A run of characters that begin no token.
    fn foreign(&mut self, start: u32) {
        let Some(first) = self.rest.chars().next() else {
            return;
        };
        self.take(first.len_utf8());
        while let Some(c) = self.rest.chars().next() {
            let begins_token = is_space(c)
                || is_word(c)
                || matches!(c, '"' | '“' | '”')
                || self.symbol_here().is_some();
            if begins_token {
                break;
            }
            self.take(c.len_utf8());
        }
        self.push(TokenKind::Bad, start);
        self.error(start, |span| {
            let error = |what: String| Diagnostic::error(what, span);
            match first {
                '\u{fffd}' => error("this is not UTF-8 text".to_owned())
                    .note("outside of comments and strings, only UTF-8 is allowed"),
                '\u{a0}' => {
                    error("unexpected no-break space".to_owned()).help("use an ordinary space")
                }
                '\'' | '‘' | '’' => error(format!("unexpected character `{first}`"))
                    .help("strings are written in double quotes"),
                c if c.is_control() || c.is_whitespace() => {
                    error(format!("unexpected character U+{:04X}", u32::from(c)))
                }
                c if c.is_alphabetic() => error(format!("unexpected character `{c}`"))
                    .note("names are made of the letters a to z, digits and `_`"),
                c => error(format!("unexpected character `{c}`")),
            }
        });
    }

    fn offset(&self) -> u32 {
        // Offsets of a source are smaller than 4 Gi.
        self.base + (self.text.len() - self.rest.len()) as u32
    }

    fn take(&mut self, len: usize) {
        self.rest = &self.rest[len..];
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let len = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }

    fn push(&mut self, kind: TokenKind, start: u32) {
        let span = Span::new(start, self.offset());
        self.out.tokens.push(Token { kind, span });
    }

    fn error(&mut self, start: u32, make: impl FnOnce(Span) -> Diagnostic) {
        if self.out.diagnostics.n_errors() < MAX_ERRORS {
            let span = Span::new(start, self.offset());
            self.out.diagnostics.push(make(span));
        }
    }
}
