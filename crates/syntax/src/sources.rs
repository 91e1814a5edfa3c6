//! The files of a program, addressed by one range of offsets.
//!
//! Each file begins where the one before it ends, and one byte further, so that the end of a file
//! is not the beginning of the next. A span is thus two offsets, whatever the number of files, and
//! a front-end that reads one file ignores all of this.

use crate::{Position, Source, SourceError, Span};

/// The files that a program consists of, the one the user named first.
///
/// ```
/// use hadal_syntax::{Source, Sources};
///
/// let mut sources = Sources::new(Source::new("toy.pml", "#include \"toy.h\"\n").unwrap());
/// let header = sources.add(Source::new("toy.h", "byte x;\n").unwrap()).unwrap();
/// let start = sources.file(header).base() + 5;
/// assert_eq!(sources.describe(start), "toy.h:1:6");
/// ```
#[derive(Debug, Clone)]
pub struct Sources {
    /// In the order of their bases; never empty.
    files: Vec<Source>,
}

/// Number of a file among the [`Sources`] of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

impl FileId {
    /// The file that the user named.
    pub const ROOT: FileId = FileId(0);

    /// The id of the `index`-th file.
    pub const fn new(index: u32) -> Self {
        FileId(index)
    }

    /// The position of the file among its sources.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Sources {
    /// A program whose only file so far is `root`.
    pub fn new(root: Source) -> Self {
        Sources {
            files: vec![root.at_base(0)],
        }
    }

    /// Adds a file and gives it its base: text must be lexed after it is added, not before.
    pub fn add(&mut self, file: Source) -> Result<FileId, SourceError> {
        let base = u64::from(self.last().span().end) + 1;
        let end = base + file.text().len() as u64;
        if end > u64::from(u32::MAX) {
            return Err(SourceError::TooLargeTogether {
                name: file.name().to_owned(),
                len: end,
            });
        }
        self.files.push(file.at_base(base as u32));
        Ok(FileId(self.files.len() as u32 - 1))
    }

    /// The file that the user named.
    pub fn root(&self) -> &Source {
        &self.files[0]
    }

    /// A file by its id.
    ///
    /// # Panics
    /// Where there is no such file.
    pub fn file(&self, id: FileId) -> &Source {
        &self.files[id.index()]
    }

    /// The first file of this name.
    pub fn find(&self, name: &str) -> Option<FileId> {
        let at = self.files.iter().position(|file| file.name() == name)?;
        Some(FileId(at as u32))
    }

    /// The files in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Source> {
        self.files.iter()
    }

    /// The file that holds an offset, and the line and column there.
    pub fn position(&self, offset: u32) -> (FileId, Position) {
        let at = idx_at(&self.files, offset);
        (FileId(at as u32), self.files[at].position(offset))
    }

    /// An offset as `file:line:column`.
    pub fn describe(&self, offset: u32) -> String {
        let (file, position) = self.position(offset);
        format!("{}:{position}", self.file(file).name())
    }

    /// The text under a span; empty unless the span lies within one file.
    pub fn slice(&self, span: Span) -> &str {
        self.files[idx_at(&self.files, span.start)].slice(span)
    }

    fn last(&self) -> &Source {
        &self.files[self.files.len() - 1]
    }
}

impl AsRef<[Source]> for Sources {
    fn as_ref(&self) -> &[Source] {
        &self.files
    }
}

impl AsRef<[Source]> for Source {
    fn as_ref(&self) -> &[Source] {
        std::slice::from_ref(self)
    }
}

/// The index of the file that holds an offset, of `files` in the order of their bases.
pub(crate) fn idx_at(files: &[Source], offset: u32) -> usize {
    files
        .partition_point(|file| file.base() <= offset)
        .saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source::new(name, text).unwrap()
    }

    #[test]
    fn offsets_belong_to_their_files() {
        let mut sources = Sources::new(source("a", "x\ny"));
        let empty = sources.add(source("b", "")).unwrap();
        let last = sources.add(source("c", "z")).unwrap();
        let described: Vec<String> = (0..8).map(|offset| sources.describe(offset)).collect();
        assert_eq!(
            described,
            [
                "a:1:1", "a:1:2", "a:2:1", "a:2:2", "b:1:1", "c:1:1", "c:1:2", "c:1:2"
            ]
        );
        assert_eq!(sources.slice(Span::new(5, 6)), "z");
        assert_eq!(sources.slice(Span::new(2, 6)), "");
        assert_eq!(sources.slice(sources.file(empty).span()), "");
        assert_eq!(sources.find("c"), Some(last));
        assert_eq!(sources.find("d"), None);
        assert_eq!(sources.root().name(), "a");
        assert_eq!(sources.iter().count(), 3);
    }

    #[test]
    fn files_that_spans_cannot_address_are_rejected() {
        let mut sources = Sources::new(source("a", "xy"));
        sources.files[0] = source("a", "xy").at_base(u32::MAX - 6);
        assert!(sources.add(source("b", "123")).is_ok());
        let error = sources.add(source("c", "")).unwrap_err();
        assert!(matches!(error, SourceError::TooLargeTogether { .. }));
        assert!(error.to_string().starts_with("c: "), "{error}");
    }
}
