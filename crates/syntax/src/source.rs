//! Source text with byte offsets, and the way from an offset to a line and a column.
//!
//! Offsets are `u32`, which keeps spans at eight bytes; a file they cannot address is refused
//! when it is read. Bytes that are not UTF-8 become U+FFFD rather than an error, because
//! the models of the nineties have Latin-1 comments: it is for the lexer to complain where
//! such a character stands outside a comment.

use std::fmt;

/// A source file: a name to show, and its text.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    /// Offset of the first byte of every line; never empty.
    line_starts: Vec<u32>,
}

impl Source {
    /// Takes a text as it is. Fails only if spans could not address it.
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
        Ok(Source {
            name,
            text,
            line_starts,
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

    /// The whole text, without a byte order mark. Spans are offsets into it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span; empty if the span does not lie within the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// The line and column of a byte offset; the end of the text for an offset beyond it.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.clamp(offset);
        let line_idx = self.line_idx(offset);
        let start = self.line_starts[line_idx] as usize;
        Position {
            line: line_idx as u32 + 1,
            column: self.text[start..offset].chars().count() as u32 + 1,
        }
    }

    /// The number of lines; a text that ends in a newline has an empty last line.
    pub fn n_lines(&self) -> usize {
        self.line_starts.len()
    }

    /// The span of a line counted from 1, without its line ending. Lines that do not exist
    /// are empty and lie at the end of the text.
    pub fn line(&self, line: u32) -> Span {
        let len = self.text.len() as u32;
        let idx = (line as usize).saturating_sub(1);
        let Some(&start) = self.line_starts.get(idx) else {
            return Span::new(len, len);
        };
        let end = match self.line_starts.get(idx + 1) {
            Some(&next) => next - 1,
            None => len,
        };
        let text = &self.text[start as usize..end as usize];
        let text = text.strip_suffix('\r').unwrap_or(text);
        Span::new(start, start + text.len() as u32)
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

    fn line_idx(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|&start| start as usize <= offset)
            .saturating_sub(1)
    }

    /// The nearest character boundary at or before the offset.
    fn clamp(&self, offset: u32) -> usize {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// A half-open range of byte offsets into a source.
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
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::TooLarge { name, len } => write!(
                f,
                "{name}: the file has {len} bytes; source files must be smaller than 4 GiB"
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
    fn lines_have_no_line_ending() {
        let source = Source::new("t", "ab\r\n\ncd").unwrap();
        assert_eq!(source.n_lines(), 3);
        assert_eq!(source.slice(source.line(1)), "ab");
        assert_eq!(source.slice(source.line(2)), "");
        assert_eq!(source.slice(source.line(3)), "cd");
        assert_eq!(source.line(9), Span::new(7, 7));
    }

    #[test]
    fn bytes_are_decoded_without_mark_and_without_failure() {
        let source = Source::from_bytes("t", b"\xef\xbb\xbfa\xe9b".to_vec()).unwrap();
        assert_eq!(source.text(), "a\u{fffd}b");
    }
}
