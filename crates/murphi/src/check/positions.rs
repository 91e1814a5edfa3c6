//! From byte offsets to lines and columns, for every site of a program.
//!
//! A program has a site for almost every word of its text. Counting the characters of a line each
//! time would be quadratic for a file that is one long line, so the number of characters before
//! every block of bytes is counted once.

use hadal_ir::Site;

/// Bytes between two marks.
const BLOCK_BYTES: usize = 128;

/// The way from offsets to sites.
#[derive(Debug)]
pub(super) struct Positions<'a> {
    text: &'a str,
    /// Offset of the first byte of every line.
    line_starts: Vec<usize>,
    /// Characters that begin before each block.
    chars_before: Vec<usize>,
}

impl<'a> Positions<'a> {
    /// Looks at the whole text once.
    pub(super) fn new(text: &'a str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let line_starts = std::iter::once(0)
            .chain(newlines.map(|(at, _)| at + 1))
            .collect();
        let mut chars_before = vec![0];
        let mut n_chars = 0;
        for block in text.as_bytes().chunks(BLOCK_BYTES) {
            n_chars += block.iter().filter(|&&b| begins_char(b)).count();
            chars_before.push(n_chars);
        }
        Positions {
            text,
            line_starts,
            chars_before,
        }
    }

    /// The line and column of an offset.
    pub(super) fn site(&self, offset: u32) -> Site {
        let offset = (offset as usize).min(self.text.len());
        let line_idx = self.line_starts.partition_point(|&start| start <= offset) - 1;
        let column = self.n_chars(offset) - self.n_chars(self.line_starts[line_idx]) + 1;
        Site {
            line: line_idx as u32 + 1,
            column: column as u32,
        }
    }

    /// Characters that begin before an offset.
    fn n_chars(&self, offset: usize) -> usize {
        let block = offset / BLOCK_BYTES;
        let rest = &self.text.as_bytes()[block * BLOCK_BYTES..offset];
        self.chars_before[block] + rest.iter().filter(|&&b| begins_char(b)).count()
    }
}

/// Whether a byte of UTF-8 is the first of a character.
fn begins_char(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

#[cfg(test)]
mod tests {
    use hadal_syntax::Source;

    use super::Positions;

    #[test]
    fn positions_are_those_of_the_source() {
        let text = "é×x\n".repeat(50) + &"añb".repeat(200) + "\n\nz";
        let source = Source::new("t", text.as_str()).unwrap();
        let positions = Positions::new(&text);
        for (offset, _) in text.char_indices() {
            let expected = source.position(offset as u32);
            let site = positions.site(offset as u32);
            assert_eq!((site.line, site.column), (expected.line, expected.column));
        }
    }
}
