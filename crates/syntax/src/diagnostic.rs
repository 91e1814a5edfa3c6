//! Messages of a front-end about a source, as plain data.
//!
//! The first primary label is the place of the diagnostic: the header of the rendered text shows
//! its line and column, and lists are sorted by it. Further labels point at context, such as a
//! construct that was opened and never closed.

use crate::Span;

/// One message about a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the source is unusable or merely suspect.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Places in the source; the first primary one is that of the diagnostic.
    pub labels: Vec<Label>,
    /// Facts that help to understand it.
    pub notes: Vec<String>,
    /// What to write instead.
    pub help: Option<String>,
}

/// How serious a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The source cannot be used.
    Error,
    /// The source can be used, but may not mean what its author thinks.
    Warning,
}

/// A place in the source with a text about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What to write beside it; may be empty.
    pub text: String,
    /// Whether this is the place of the error, rather than context.
    pub primary: bool,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(message: impl Into<String>, span: Span) -> Self {
        Diagnostic::new(Severity::Error, message.into(), span)
    }

    /// A warning at a place.
    pub fn warning(message: impl Into<String>, span: Span) -> Self {
        Diagnostic::new(Severity::Warning, message.into(), span)
    }

    fn new(severity: Severity, message: String, span: Span) -> Self {
        Diagnostic {
            severity,
            message,
            labels: vec![Label {
                span,
                text: String::new(),
                primary: true,
            }],
            notes: Vec::new(),
            help: None,
        }
    }

    /// Sets the text beside the place of the diagnostic.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(label) = self.labels.iter_mut().find(|label| label.primary) {
            label.text = text.into();
        }
        self
    }

    /// Adds a place as context.
    pub fn context(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
            primary: false,
        });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The place of the diagnostic; the start of the source if it has no label at all.
    pub fn span(&self) -> Span {
        let primary = self.labels.iter().find(|label| label.primary);
        primary
            .or(self.labels.first())
            .map(|label| label.span)
            .unwrap_or_default()
    }
}

/// Collects diagnostics and counts the errors.
///
/// A hostile file may hold an error in every byte, so a limited number is kept; the rest are
/// counted.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    n_errors: usize,
    n_warnings: usize,
}

impl Diagnostics {
    /// Number of diagnostics of each severity that are kept.
    const KEPT_MAX: usize = 1000;

    /// An empty collection.
    pub fn new() -> Self {
        Diagnostics::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.n_errors,
            Severity::Warning => &mut self.n_warnings,
        };
        *count += 1;
        if *count <= Self::KEPT_MAX {
            self.kept.push(diagnostic);
        }
    }

    /// Number of errors pushed, kept or not.
    pub fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// Number of warnings pushed, kept or not.
    pub fn n_warnings(&self) -> usize {
        self.n_warnings
    }

    /// Whether the source cannot be used.
    pub fn has_errors(&self) -> bool {
        self.n_errors > 0
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Those kept, in the order of [`push`](Self::push).
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Sorts them by their places. The sort is stable: two at one place keep their order.
    pub fn sort(&mut self) {
        self.kept.sort_by_key(|diagnostic| diagnostic.span().start);
    }

    /// Those kept, in the order of [`push`](Self::push).
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.kept
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        for diagnostic in iter {
            self.push(diagnostic);
        }
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        let mut diagnostics = Diagnostics::new();
        diagnostics.extend(iter);
        diagnostics
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_counts_all_and_keeps_many() {
        let mut all: Diagnostics = (0..5000)
            .rev()
            .map(|at| Diagnostic::error("bad", Span::new(at, at + 1)))
            .collect();
        all.push(Diagnostic::warning("odd", Span::new(0, 1)));
        assert_eq!((all.n_errors(), all.n_warnings()), (5000, 1));
        assert_eq!(all.iter().count(), Diagnostics::KEPT_MAX + 1);
        all.sort();
        assert!(all.iter().is_sorted_by_key(|d| d.span().start));
    }

    #[test]
    fn the_place_is_the_first_primary_label() {
        let diagnostic = Diagnostic::error("bad", Span::new(7, 8)).context(Span::new(1, 2), "see");
        assert_eq!(diagnostic.span(), Span::new(7, 8));
    }
}
