//! One source file: its text by byte offsets, and the line and column of an offset.
//!
//! Offsets are `u32`, which keeps spans at eight bytes; a file that they cannot address is
//! rejected. They count from the file's [base](Source::base), so that a span names its file within
//! its [`Sources`](crate::Sources); the base of a file on its own is 0.
//! Bytes that are not UTF-8 become U+FFFD rather than an error, because the models of the nineties
//! have Latin-1 comments: the lexer reports such a character outside a comment.

use std::fmt;

/// A source file: a name to show, and its text.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    base: u32,
    /// Position in the text of the first byte of every line; never empty.
    line_starts: Vec<u32>,
    /// Number of characters that begin before each block of [`BLOCK_BYTES`] bytes. Without it, the
    /// column of every word of a file that is one long line would take quadratic time.
    chars_before: Vec<u32>,
}

const BLOCK_BYTES: usize = 128;

impl Source {
    /// Takes a text as it is, without a byte order mark. Fails only if spans cannot address it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self, SourceError> {
        let name = name.into();
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        if u32::try_from(text.len()).is_err() {
            return Err(SourceError::TooLarge {
                name,
                len: text.len() as u64,
            });
        }
        let newlines = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at as u32 + 1))
            .collect();
        let mut chars_before = vec![0];
        let mut n_chars = 0;
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            n_chars += count_chars(block);
            chars_before.push(n_chars);
        }
        Ok(Source {
            name,
            text,
            base: 0,
            line_starts,
            chars_before,
        })
    }

    /// Decodes the bytes of a file: a byte order mark is dropped, and what is not UTF-8 is
    /// replaced by U+FFFD.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Source::new(name, text)
    }

    /// The name to show in messages, as a rule the path given by the user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Offset of the first byte of the text.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The same file at another base. The caller ensures that its offsets fit.
    pub(crate) fn at_base(self, base: u32) -> Self {
        Source { base, ..self }
    }

    /// The span of the whole text.
    pub fn span(&self) -> Span {
        self.span_of(0, self.text.len())
    }

    /// The text under a span; empty unless the span lies within this file.
    pub fn slice(&self, span: Span) -> &str {
        let position = |offset: u32| Some(offset.checked_sub(self.base)? as usize);
        let range = position(span.start).zip(position(span.end));
        range
            .and_then(|(start, end)| self.text.get(start..end))
            .unwrap_or("")
    }

    /// The line and column of an offset; of the nearest end of the text for one outside it.
    pub fn position(&self, offset: u32) -> Position {
        let at = self.clamp(offset);
        let line_idx = self.line_starts.partition_point(|&start| start <= at) - 1;
        let column = self.n_chars(at) - self.n_chars(self.line_starts[line_idx]) + 1;
        Position {
            line: line_idx as u32 + 1,
            column,
        }
    }

    /// The number of lines; a text that ends in a newline has an empty last line.
    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }

    /// The span of a line counted from 1, without its line ending. Lines that do not exist
    /// are empty and lie at the end of the text.
    pub fn line(&self, line: u32) -> Span {
        let len = self.text.len();
        let idx = (line as usize).saturating_sub(1);
        let Some(&start) = self.line_starts.get(idx) else {
            return self.span_of(len, len);
        };
        let start = start as usize;
        let end = match self.line_starts.get(idx + 1) {
            Some(&next) => next as usize - 1,
            None => len,
        };
        let text = &self.text[start..end];
        let text = text.strip_suffix('\r').unwrap_or(text);
        self.span_of(start, start + text.len())
    }

    /// The word, number or single character at a line and column, both counted from 1 and the
    /// column in characters; empty behind the end of the line.
    pub fn word_at(&self, line: u32, column: u32) -> Span {
        let whole = self.line(line);
        let text = self.slice(whole);
        let mut chars = text.char_indices().skip(column.saturating_sub(1) as usize);
        let Some((start, first)) = chars.next() else {
            return whole.after();
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match is_word(first) {
            true => chars
                .find(|(_, c)| !is_word(*c))
                .map_or(text.len(), |(end, _)| end),
            false => start + first.len_utf8(),
        };
        Span::new(whole.start + start as u32, whole.start + end as u32)
    }

    /// The span of a range of the text.
    fn span_of(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start as u32, self.base + end as u32)
    }

    /// The position in the text of the nearest character boundary at or before the offset.
    fn clamp(&self, offset: u32) -> u32 {
        let at = offset.saturating_sub(self.base) as usize;
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at as u32
    }

    /// Number of characters that begin before a position in the text.
    fn n_chars(&self, at: u32) -> u32 {
        let at = at as usize;
        let block = at / BLOCK_BYTES;
        let rest = &self.text.as_bytes()[block * BLOCK_BYTES..at];
        self.chars_before[block] + count_chars(rest)
    }
}

/// Number of characters that begin in some bytes of UTF-8.
fn count_chars(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32
}

/// A half-open range of byte offsets into a source, or into one file of several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to and without `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// The empty span right after this one: the place where something is missing.
    pub const fn after(self) -> Span {
        Span::new(self.end, self.end)
    }

    /// Whether no byte is covered.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A place as people count: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1; a tab is one character.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a file cannot be a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError {
    /// The text is longer than a span can address.
    TooLarge {
        /// The name of the file.
        name: String,
        /// Its length in bytes, after decoding.
        len: u64,
    },
    /// The text and those of the files before it are longer than a span can address.
    TooLargeTogether {
        /// The name of the file.
        name: String,
        /// The length of all files in bytes, after decoding.
        len: u64,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::TooLarge { name, len } => write!(
                f,
                "{name}: the file has {len} bytes; source files must be smaller than 4 GiB"
            ),
            SourceError::TooLargeTogether { name, len } => write!(
                f,
                "{name}: this file and those before it have {len} bytes; \
                 all files of a model together must be smaller than 4 GiB"
            ),
        }
    }
}

impl std::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str, offset: u32) -> String {
        Source::new("t", text).unwrap().position(offset).to_string()
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(position("", 0), "1:1");
        assert_eq!(position("ab\ncd", 4), "2:2");
        assert_eq!(position("é×\tx", 5), "1:4");
        assert_eq!(position("a\r\nb", 3), "2:1");
        assert_eq!(position("a\n", 99), "2:1");
    }

    #[test]
    fn an_offset_inside_a_character_is_its_start() {
        assert_eq!(position("aé", 2), "1:2");
    }

    #[test]
    fn columns_of_long_lines() {
        let text = "é×x\n".repeat(50) + &"añb".repeat(200) + "\n\nz";
        let source = Source::new("t", text.as_str()).unwrap();
        let mut expected = Position { line: 1, column: 1 };
        for (offset, c) in text.char_indices() {
            assert_eq!(source.position(offset as u32), expected);
            match c {
                '\n' => {
                    expected = Position {
                        line: expected.line + 1,
                        column: 1,
                    }
                }
                _ => expected.column += 1,
            }
        }
    }

    #[test]
    fn lines_have_no_line_ending() {
        let source = Source::new("t", "ab\r\n\ncd").unwrap();
        assert_eq!(source.n_lines(), 3);
        assert_eq!(source.slice(source.line(1)), "ab");
        assert_eq!(source.slice(source.line(2)), "");
        assert_eq!(source.slice(source.line(3)), "cd");
        assert_eq!(source.line(9), Span::new(7, 7));
    }

    #[test]
    fn offsets_count_from_the_base() {
        let source = Source::new("t", "ab\ncd").unwrap().at_base(100);
        assert_eq!(source.span(), Span::new(100, 105));
        assert_eq!(source.line(2), Span::new(103, 105));
        assert_eq!(source.slice(source.line(2)), "cd");
        assert_eq!(source.slice(Span::new(0, 2)), "");
        assert_eq!(source.position(104).to_string(), "2:2");
        assert_eq!(source.position(7).to_string(), "1:1");
        assert_eq!(source.word_at(2, 1), Span::new(103, 105));
    }

    #[test]
    fn bytes_are_decoded_without_mark_and_without_failure() {
        let source = Source::from_bytes("t", b"\xef\xbb\xbfa\xe9b".to_vec()).unwrap();
        assert_eq!(source.text(), "a\u{fffd}b");
    }
}
