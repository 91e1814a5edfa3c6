//! Diagnostics as text, in the look of rustc.
//!
//! The excerpt given to the drawing library is made here, from the lines that labels touch and
//! nothing else. That keeps the cost independent of the file's size, and the output safe: long
//! lines are cut around their labels, and control characters, which could drive a terminal, are
//! replaced by pictures. Lines and columns are those of the source, not of the excerpt.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer as Painter, Snippet};

use crate::{Diagnostic, Label, Severity, Source, Span};

/// Makes text of diagnostics.
#[derive(Debug, Clone)]
pub struct Renderer {
    coloured: bool,
}

impl Renderer {
    /// How many errors [`Renderer::render_all`] shows.
    pub const SHOWN_MAX: usize = 20;

    /// Text without colours.
    pub const fn plain() -> Self {
        Renderer { coloured: false }
    }

    /// Text with the escape sequences of a colour terminal.
    pub const fn coloured() -> Self {
        Renderer { coloured: true }
    }

    /// One diagnostic, without a newline at the end.
    pub fn render(&self, source: &Source, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(cleaned(&diagnostic.message));
        let mut group = Group::with_title(title);
        for (idx, excerpt) in excerpts(source, diagnostic).into_iter().enumerate() {
            // The library reckons the position from the excerpt, which is cut; give the true one.
            let position = source.position(excerpt.origin);
            let origin = Origin::path(cleaned(source.name()))
                .line(position.line as usize)
                .char_column(position.column as usize);
            if idx == 0 {
                group = group.element(origin);
            }
            let annotations = excerpt.marks.into_iter().map(|mark| {
                let kind = match mark.primary {
                    true => AnnotationKind::Primary,
                    false => AnnotationKind::Context,
                };
                let text = (!mark.text.is_empty()).then_some(mark.text);
                kind.span(mark.range).label(text)
            });
            group = group.element(
                Snippet::source(excerpt.text)
                    .line_start(excerpt.first_line as usize)
                    .annotations(annotations),
            );
        }
        for note in &diagnostic.notes {
            group = group.element(Level::NOTE.message(cleaned(note)));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(cleaned(help)));
        }
        let painter = match self.coloured {
            true => Painter::styled(),
            false => Painter::plain(),
        };
        painter.decor_style(DecorStyle::Ascii).render(&[group])
    }

    /// All diagnostics, each followed by an empty line: every warning that stands before the
    /// last error shown, the first [`Renderer::SHOWN_MAX`] errors, and a line that says how many
    /// more there are.
    pub fn render_all<'a, I>(&self, source: &Source, diagnostics: I) -> String
    where
        I: IntoIterator<Item = &'a Diagnostic>,
    {
        let mut out = String::new();
        let (mut n_errors, mut n_warnings) = (0usize, 0usize);
        for diagnostic in diagnostics {
            let count = match diagnostic.severity {
                Severity::Error => &mut n_errors,
                Severity::Warning => &mut n_warnings,
            };
            *count += 1;
            if *count <= Self::SHOWN_MAX {
                out.push_str(&self.render(source, diagnostic));
                out.push_str("\n\n");
            }
        }
        for (count, noun) in [(n_errors, "error"), (n_warnings, "warning")] {
            let more = count.saturating_sub(Self::SHOWN_MAX);
            if more > 0 {
                let plural = if more == 1 { "" } else { "s" };
                out.push_str(&format!("... and {more} more {noun}{plural}\n"));
            }
        }
        out
    }
}

/// A few neighbouring lines of the source, made fit to be shown.
struct Excerpt {
    text: String,
    first_line: u32,
    /// Where the first label stands in the source.
    origin: u32,
    marks: Vec<Mark>,
}

/// A label whose range is a part of the excerpt.
struct Mark {
    range: Range<usize>,
    text: String,
    primary: bool,
}

/// Labels that are no more lines apart than this share an excerpt; the library folds what lies
/// between them.
const GAP_LINES: u32 = 30;

/// Lines with more characters than this are cut.
const LINE_CHARS: usize = 160;

/// Characters that a cut leaves in front of the first label.
const LEAD_CHARS: usize = 40;

/// The excerpts that show the labels, the one with the place of the diagnostic first.
fn excerpts(source: &Source, diagnostic: &Diagnostic) -> Vec<Excerpt> {
    let mut lines: Vec<(u32, &Label)> = diagnostic
        .labels
        .iter()
        .map(|label| (source.position(label.span.start).line, label))
        .collect();
    lines.sort_by_key(|(line, label)| (*line, label.span.start));
    let place = diagnostic.span();
    let mut excerpts: Vec<(bool, Excerpt)> = lines
        .chunk_by(|(before, _), (after, _)| after - before <= GAP_LINES)
        .map(|chunk| {
            let holds_place = chunk.iter().any(|(_, label)| label.span == place);
            (holds_place, excerpt(source, chunk, place))
        })
        .collect();
    excerpts.sort_by_key(|(holds_place, _)| !holds_place);
    excerpts.into_iter().map(|(_, excerpt)| excerpt).collect()
}

fn excerpt(source: &Source, labels: &[(u32, &Label)], place: Span) -> Excerpt {
    let (first, last) = match (labels.first(), labels.last()) {
        (Some(first), Some(last)) => (first.0, last.0),
        _ => (1, 1),
    };
    let origin = match labels.iter().any(|(_, label)| label.span == place) {
        true => place.start,
        false => labels.first().map_or(0, |(_, label)| label.span.start),
    };
    let mut text = String::new();
    let mut marks = Vec::new();
    for line in first..=last {
        let here: Vec<&Label> = labels
            .iter()
            .filter(|(at, _)| *at == line)
            .map(|(_, label)| *label)
            .collect();
        if line > first {
            text.push('\n');
        }
        push_line(source, source.line(line), &here, &mut text, &mut marks);
    }
    Excerpt {
        text,
        first_line: first,
        origin,
        marks,
    }
}

/// Appends one line, cut and cleaned, and its labels with their ranges in the excerpt. A label
/// that runs past its first line is shown on that line only.
fn push_line(
    source: &Source,
    line: Span,
    labels: &[&Label],
    text: &mut String,
    marks: &mut Vec<Mark>,
) {
    let whole = source.slice(line);
    let focus = labels.iter().map(|label| label.span.start).min();
    let focus = (focus.unwrap_or(line.start).saturating_sub(line.start) as usize).min(whole.len());
    let window = window(whole, focus);

    let marks_from = marks.len();
    for label in labels {
        marks.push(Mark {
            range: 0..0,
            text: cleaned(&label.text),
            primary: label.primary,
        });
    }
    if window.start > 0 {
        text.push_str("...");
    }
    let opening = text.len();
    let mut set_ends = |text: &str, offset: u32| {
        for (mark, label) in marks[marks_from..].iter_mut().zip(labels) {
            if offset <= label.span.start {
                mark.range.start = text.len();
            }
            if offset <= label.span.end.max(label.span.start) {
                mark.range.end = text.len();
            }
        }
    };
    set_ends(text, line.start + window.start as u32);
    for (at, c) in whole[window.clone()].char_indices() {
        push_visible(c, text);
        let after = window.start + at + c.len_utf8();
        set_ends(text, line.start + after as u32);
    }
    debug_assert!(opening <= text.len());
    if window.end < whole.len() {
        text.push_str("...");
    }
}

/// The part of a line to show: all of it, or some characters around the focus.
fn window(line: &str, focus: usize) -> Range<usize> {
    let is_short = line.len() <= LINE_CHARS || line.chars().nth(LINE_CHARS).is_none();
    if is_short {
        return 0..line.len();
    }
    let mut focus = focus;
    while !line.is_char_boundary(focus) {
        focus -= 1;
    }
    let lead = line[..focus].char_indices().rev().take(LEAD_CHARS).last();
    let start = lead.map_or(focus, |(at, _)| at);
    let end = line[start..]
        .char_indices()
        .nth(LINE_CHARS)
        .map_or(line.len(), |(at, _)| start + at);
    start..end
}

/// A text in which nothing can drive a terminal or start a new line.
fn cleaned(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(c, &mut out);
    }
    out
}

fn push_visible(c: char, out: &mut String) {
    match c {
        '\t' => out.push_str("    "),
        // The control pictures stand in the order of the control characters.
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        // C1 controls, zero-width and direction marks would hide or reorder what is shown.
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => out.push('\u{fffd}'),
        _ => out.push(c),
    }
}
