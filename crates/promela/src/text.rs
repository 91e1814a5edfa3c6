//! The text of a model after macro expansion, and where each token of it was written.
//!
//! The tree addresses the expanded text, not the files: a [`TokenSpan`] is a range of tokens. That
//! keeps one fact in one place. A range of tokens always has a text to print, even if half of it
//! comes from a macro, and [`Text::place`] finds what to point at: the text that the user wrote,
//! and, behind it, the definitions that it was expanded from.
//!
//! The bodies of `inline`s are expanded in the same way: the parser appends a copy of their tokens
//! for each call, with an [`Expansion`] as the origin.

use std::sync::Arc;

use hadal_syntax::{Diagnostic, Sources, Span};

use crate::token::TokenKind;

/// A range of tokens of a [`Text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct TokenSpan {
    /// The first token.
    pub start: u32,
    /// The one after the last.
    pub end: u32,
}

impl TokenSpan {
    /// The tokens from `start` up to and without `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        TokenSpan { start, end }
    }

    /// The smallest range that covers both.
    pub fn to(self, other: TokenSpan) -> TokenSpan {
        TokenSpan::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// What a token was expanded from: nothing, or an [`Expansion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Origin(u32);

impl Origin {
    /// The token stands in a file as it is.
    pub const FILE: Origin = Origin(0);
}

/// A token of the expanded text.
#[derive(Debug, Clone)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its spelling.
    pub text: Arc<str>,
    /// Where it was written: in a file, or in the definition of a macro or `inline`.
    pub span: Span,
    /// What it was expanded from.
    pub origin: Origin,
    /// Whether it is the first of its line.
    pub starts_line: bool,
    /// Whether white space stands before it.
    pub spaced: bool,
}

/// One use of a macro or `inline`.
#[derive(Debug, Clone)]
pub struct Expansion {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is an `inline` rather than a macro.
    pub is_inline: bool,
    /// The use, arguments included.
    pub call: Span,
    /// The name where it is defined.
    pub definition: Span,
    /// What the use itself was expanded from.
    pub parent: Origin,
}

/// A `#line` directive: from here on, positions are reported as those of another file.
#[derive(Debug, Clone)]
pub struct LineMarker {
    /// Offset of the line after the directive.
    pub offset: u32,
    /// The number of that line.
    pub line: u32,
    /// The file that it belongs to; that of the directive if absent.
    pub file: Option<Arc<str>>,
}

/// The expanded text of a model.
#[derive(Debug, Clone)]
pub struct Text {
    /// The files, the one the user named first.
    pub sources: Sources,
    /// The tokens; the one of kind [`TokenKind::Eof`] ends the model, and expansions of `inline`s
    /// follow.
    pub tokens: Vec<Token>,
    /// The uses of macros and `inline`s; [`Origin`]s are numbers of them.
    pub expansions: Vec<Expansion>,
    /// The `#line` directives in the order of their offsets.
    pub markers: Vec<LineMarker>,
}

/// Where a range of tokens comes from.
#[derive(Debug, Clone)]
pub struct Place {
    /// What was written in a file outside all definitions.
    pub span: Span,
    /// The definitions that the first token came from, the outermost first: the name, whether it
    /// is an `inline`, and the tokens in its definition.
    pub definitions: Vec<(Arc<str>, bool, Span)>,
}

impl Text {
    /// Adds a use of a macro or `inline`.
    pub(crate) fn add_expansion(&mut self, expansion: Expansion) -> Origin {
        self.expansions.push(expansion);
        Origin(self.expansions.len() as u32)
    }

    /// What a token was expanded from.
    pub fn expansion(&self, origin: Origin) -> Option<&Expansion> {
        let idx = (origin.0 as usize).checked_sub(1)?;
        self.expansions.get(idx)
    }

    /// Where a token stands outside all definitions.
    pub fn outer_span(&self, token: &Token) -> Span {
        let mut span = token.span;
        let mut origin = token.origin;
        while let Some(expansion) = self.expansion(origin) {
            span = expansion.call;
            origin = expansion.parent;
        }
        span
    }

    /// Where a range of tokens comes from. An empty range lies after the token before it.
    pub fn place(&self, range: TokenSpan) -> Place {
        let idx = (range.start as usize).min(self.tokens.len() - 1);
        let first = &self.tokens[idx];
        if range.start >= range.end {
            let before = idx.checked_sub(1).map(|idx| &self.tokens[idx]);
            return Place {
                span: before.map_or(self.outer_span(first), |it| self.outer_span(it).after()),
                definitions: Vec::new(),
            };
        }
        let last = &self.tokens[(range.end as usize - 1).clamp(idx, self.tokens.len() - 1)];
        let (from, until) = (self.outer_span(first), self.outer_span(last));
        let same_file = self.sources.position(from.start).0 == self.sources.position(until.start).0;
        let mut definitions = Vec::new();
        let mut span = self.within(range, first);
        let mut origin = first.origin;
        while let Some(expansion) = self.expansion(origin) {
            definitions.push((expansion.name.clone(), expansion.is_inline, span));
            span = expansion.call;
            origin = expansion.parent;
        }
        definitions.reverse();
        Place {
            span: match same_file && from.start <= until.start {
                true => from.to(until),
                false => from,
            },
            definitions,
        }
    }

    /// The part of a range that was written in the same definition as its first token.
    fn within(&self, range: TokenSpan, first: &Token) -> Span {
        let tokens = &self.tokens[range.start as usize..];
        let n = (range.end - range.start) as usize;
        let last = tokens
            .iter()
            .take(n)
            .rfind(|token| token.origin == first.origin && token.span.start >= first.span.start);
        first.span.to(last.unwrap_or(first).span)
    }

    /// A position as `file:line:column`, as `#line` directives have it.
    pub fn describe(&self, offset: u32) -> String {
        let (file, line) = self.file_and_line(offset);
        let (_, position) = self.sources.position(offset);
        format!("{file}:{line}:{}", position.column)
    }

    /// The file and line of a position, as `#line` directives have them.
    pub(crate) fn file_and_line(&self, offset: u32) -> (String, u32) {
        self.reported_line(offset).unwrap_or_else(|| {
            let (file, position) = self.sources.position(offset);
            (self.sources.file(file).name().to_owned(), position.line)
        })
    }

    /// The file and line that a `#line` directive gives to a position.
    fn reported_line(&self, offset: u32) -> Option<(String, u32)> {
        let (file, position) = self.sources.position(offset);
        let end = self.markers.partition_point(|it| it.offset <= offset);
        let marker = self.markers[..end].last()?;
        let (marker_file, marker_position) = self.sources.position(marker.offset);
        if marker_file != file {
            return None;
        }
        let own_name = self.sources.file(file).name();
        let name = marker.file.as_deref().unwrap_or(own_name).to_owned();
        let line = marker
            .line
            .saturating_add(position.line - marker_position.line);
        Some((name, line))
    }

    /// An error at a range of tokens; a macro's is shown at its use and at its definition.
    pub fn error(&self, message: impl Into<String>, range: TokenSpan) -> Diagnostic {
        self.with_origin(range, |span| Diagnostic::error(message, span))
    }

    /// A warning at a range of tokens.
    pub fn warning(&self, message: impl Into<String>, range: TokenSpan) -> Diagnostic {
        self.with_origin(range, |span| Diagnostic::warning(message, span))
    }

    fn with_origin(&self, range: TokenSpan, make: impl FnOnce(Span) -> Diagnostic) -> Diagnostic {
        /// Definitions shown of a chain.
        const SHOWN_MAX: usize = 3;
        let place = self.place(range);
        let mut diagnostic = make(place.span);
        let n_skipped = place.definitions.len().saturating_sub(SHOWN_MAX);
        for (name, is_inline, span) in place.definitions.iter().skip(n_skipped) {
            let what = if *is_inline { "inline" } else { "macro" };
            diagnostic = diagnostic.context(*span, format!("in this {what}, `{name}`"));
        }
        if let Some((file, line)) = self.reported_line(place.span.start) {
            diagnostic = diagnostic.note(format!("`#line` calls this line {line} of {file}"));
        }
        diagnostic
    }

    /// Adds a place as context to a diagnostic.
    pub fn context(
        &self,
        diagnostic: Diagnostic,
        range: TokenSpan,
        text: impl Into<String>,
    ) -> Diagnostic {
        diagnostic.context(self.place(range).span, text)
    }
}
