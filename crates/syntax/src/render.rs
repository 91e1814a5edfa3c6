//! Diagnostics as text, in the style of rustc.
//!
//! The excerpt for the drawing library is built here, from the lines that labels touch only. That
//! keeps the cost independent of the file's size, and the output safe: long lines are cut around
//! their labels, and control characters, which could control a terminal, are replaced by pictures.
//! Lines and columns are those of the source, not of the excerpt.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer as Painter, Snippet};

use crate::sources::idx_at;
use crate::{Diagnostic, Label, Severity, Source, Span};

/// Renders diagnostics as text.
#[derive(Debug, Clone)]
pub struct Renderer {
    coloured: bool,
}

impl Renderer {
    /// Number of errors, and of warnings, that [`Renderer::render_all`] shows.
    pub const SHOWN_MAX: usize = 20;

    /// Text without colours.
    pub const fn plain() -> Self {
        Renderer { coloured: false }
    }

    /// Text with the escape sequences of a colour terminal.
    pub const fn coloured() -> Self {
        Renderer { coloured: true }
    }

    /// One diagnostic, without a newline at the end. `sources` is the file or the
    /// [`Sources`](crate::Sources) that its labels point into.
    pub fn render<S>(&self, sources: &S, diagnostic: &Diagnostic) -> String
    where
        S: AsRef<[Source]> + ?Sized,
    {
        self.render_in(sources.as_ref(), diagnostic)
    }

    fn render_in(&self, files: &[Source], diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(cleaned(&diagnostic.message));
        let mut group = Group::with_title(title);
        let mut places = Vec::new();
        for (idx, excerpt) in excerpts(files, diagnostic).into_iter().enumerate() {
            let position = excerpt.file.position(excerpt.origin);
            places.push(format!("{}:{position}", cleaned(excerpt.file.name())));
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
                    .path(format!("{PLACE}{idx}{PLACE}"))
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
        let painted = painter.decor_style(DecorStyle::Ascii).render(&[group]);
        with_places(&painted, &places)
    }

    /// All diagnostics, each followed by an empty line: the first [`Renderer::SHOWN_MAX`] errors
    /// and as many warnings, and the number of those left out.
    pub fn render_all<'a, S, I>(&self, sources: &S, diagnostics: I) -> String
    where
        S: AsRef<[Source]> + ?Sized,
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
                out.push_str(&self.render(sources, diagnostic));
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

/// Encloses an excerpt's number in place of its file name. No rendered text contains it, since
/// [`push_visible`] replaces it.
const PLACE: char = '\u{e000}';

/// Inserts the true positions into a rendered text. The library computes lines and columns from
/// the excerpt, in which tabs are wide and long lines are cut.
fn with_places(painted: &str, places: &[String]) -> String {
    let mut parts = painted.split(PLACE);
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(idx), Some(rest)) = (parts.next(), parts.next()) {
        let place = idx.parse().ok().and_then(|idx: usize| places.get(idx));
        out.push_str(place.map_or("", String::as_str));
        out.push_str(rest.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit()));
    }
    out
}

/// A few neighbouring lines of a file, made safe to show.
struct Excerpt<'a> {
    file: &'a Source,
    text: String,
    first_line: u32,
    /// Offset of the first label.
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
fn excerpts<'a>(files: &'a [Source], diagnostic: &Diagnostic) -> Vec<Excerpt<'a>> {
    let mut labels: Vec<&Label> = diagnostic.labels.iter().collect();
    labels.sort_by_key(|label| label.span.start);
    let place = diagnostic.span();
    let mut excerpts: Vec<(bool, Excerpt)> = Vec::new();
    for in_file in labels.chunk_by(|a, b| file_idx(files, a) == file_idx(files, b)) {
        let Some(file) = in_file
            .first()
            .and_then(|it| files.get(file_idx(files, it)))
        else {
            continue;
        };
        let line = |label: &&'_ Label| file.position(label.span.start).line;
        let lines: Vec<(u32, &Label)> = in_file.iter().map(|it| (line(it), *it)).collect();
        for chunk in lines.chunk_by(|(before, _), (after, _)| after - before <= GAP_LINES) {
            let holds_place = chunk.iter().any(|(_, label)| label.span == place);
            excerpts.push((holds_place, excerpt(file, chunk, place)));
        }
    }
    excerpts.sort_by_key(|(holds_place, _)| !holds_place);
    excerpts.into_iter().map(|(_, excerpt)| excerpt).collect()
}

fn file_idx(files: &[Source], label: &Label) -> usize {
    idx_at(files, label.span.start)
}

fn excerpt<'a>(source: &'a Source, labels: &[(u32, &Label)], place: Span) -> Excerpt<'a> {
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
        file: source,
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

/// A text in which nothing can control a terminal or start a new line.
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
        | '\u{feff}'
        | PLACE => out.push('\u{fffd}'),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::Sources;

    /// Renders an error at the first occurrence of a text, with a label.
    fn check(text: &str, at: &str, expected: Expect) {
        let source = Source::new("a.m", text).unwrap();
        let start = text.find(at).unwrap() as u32;
        let span = Span::new(start, start + at.len() as u32);
        let diagnostic = Diagnostic::error("bad", span).label("here");
        expected.assert_eq(&Renderer::plain().render(&source, &diagnostic));
    }

    #[test]
    fn an_excerpt_with_a_label() {
        check(
            "var x: 0..3;\nrule y := 1; end;\n",
            "y",
            expect![[r#"
            error: bad
             --> a.m:2:6
              |
            2 | rule y := 1; end;
              |      ^ here"#]],
        );
    }

    #[test]
    fn the_empty_file() {
        check(
            "",
            "",
            expect![[r#"
            error: bad
             --> a.m:1:1
              |
            1 |
              | ^ here"#]],
        );
    }

    #[test]
    fn the_end_of_the_file() {
        let source = Source::new("a.m", "rule\n").unwrap();
        let diagnostic = Diagnostic::error("bad", Span::new(5, 5));
        expect![[r#"
            error: bad
             --> a.m:2:1
              |
            2 |
              | ^"#]]
        .assert_eq(&Renderer::plain().render(&source, &diagnostic));
    }

    #[test]
    fn carriage_returns_and_tabs() {
        check(
            "a\r\n\t\tb c\r\nd",
            "b",
            expect![[r#"
            error: bad
             --> a.m:2:3
              |
            2 |         b c
              |         ^ here"#]],
        );
        check(
            "a\tb\tc",
            "c",
            expect![[r#"
            error: bad
             --> a.m:1:5
              |
            1 | a    b    c
              |           ^ here"#]],
        );
    }

    #[test]
    fn long_lines_are_cut() {
        let line = format!("{}@@{}", "é".repeat(500), "y".repeat(10_000));
        check(
            &line,
            "@@",
            expect![[r#"
            error: bad
             --> a.m:1:501
              |
            1 | ...éééééééééééééééééééééééééééééééééééééééé@@yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
              |                                            ^^ here"#]],
        );
        let line = format!("@@{}", "y".repeat(10_000));
        check(
            &line,
            &line,
            expect![[r#"
            error: bad
             --> a.m:1:1
              |
            1 | @@yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here"#]],
        );
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        check(
            "a \x1b[31m\0\x7f\u{202e}\u{e000}0\u{e000} b",
            "b",
            expect![[r#"
                error: bad
                 --> a.m:1:15
                  |
                1 | a ␛[31m␀␡��0� b
                  |               ^ here"#]],
        );
        let source = Source::new("a\x1b\n.m", "x").unwrap();
        let diagnostic = Diagnostic::error("bad \x07\nthing", Span::new(0, 1));
        expect![[r#"
            error: bad ␇␊thing
             --> a␛␊.m:1:1
              |
            1 | x
              | ^"#]]
        .assert_eq(&Renderer::plain().render(&source, &diagnostic));
    }

    #[test]
    fn a_label_of_many_lines_is_shown_on_its_first() {
        check(
            "if x then\n  y\nend",
            "if x then\n  y\nend",
            expect![[r#"
            error: bad
             --> a.m:1:1
              |
            1 | if x then
              | ^^^^^^^^^ here"#]],
        );
    }

    #[test]
    fn labels_near_and_far() {
        let text = format!("rule\n  if x\n{}end\n", "  y := 1;\n".repeat(100));
        let source = Source::new("a.m", text.as_str()).unwrap();
        let end = text.find("end").unwrap() as u32;
        let diagnostic = Diagnostic::warning("odd", Span::new(end, end + 3))
            .label("this")
            .context(Span::new(7, 9), "that")
            .context(Span::new(end, end + 1), "also this")
            .note("a fact")
            .help("some advice");
        expect![[r#"
            warning: odd
               --> a.m:103:1
                |
            103 | end
                | -^^
                | |
                | this
                | also this
                |
               ::: a.m:2:3
                |
              2 |   if x
                |   -- that
                |
                = note: a fact
                = help: some advice"#]]
        .assert_eq(&Renderer::plain().render(&source, &diagnostic));
    }

    #[test]
    fn labels_in_several_files() {
        let mut sources =
            Sources::new(Source::new("a.pml", "#include \"b.h\"\nrun P();\n").unwrap());
        let header = Source::new("b.h", "byte x;\nproctype P(byte n) { skip }\n").unwrap();
        let header = sources.add(header).unwrap();
        let base = sources.file(header).base();
        let call = Span::new(15, 22);
        let declared = Span::new(base + 19, base + 25);
        assert_eq!(
            (sources.slice(call), sources.slice(declared)),
            ("run P()", "byte n")
        );
        let diagnostic = Diagnostic::error("an argument is missing", call)
            .label("called here")
            .context(declared, "declared here");
        expect![[r#"
            error: an argument is missing
             --> a.pml:2:1
              |
            2 | run P();
              | ^^^^^^^ called here
              |
             ::: b.h:2:12
              |
            2 | proctype P(byte n) { skip }
              |            ------ declared here"#]]
        .assert_eq(&Renderer::plain().render(&sources, &diagnostic));
        let diagnostic = Diagnostic::warning("unused parameter `n`", declared);
        expect![[r#"
            warning: unused parameter `n`
             --> b.h:2:12
              |
            2 | proctype P(byte n) { skip }
              |            ^^^^^^"#]]
        .assert_eq(&Renderer::plain().render(&sources, &diagnostic));
    }

    #[test]
    fn without_a_file_the_message_is_left() {
        let none: [Source; 0] = [];
        let diagnostic = Diagnostic::error("bad", Span::new(3, 4));
        expect!["error: bad"].assert_eq(&Renderer::plain().render(&none, &diagnostic));
    }

    #[test]
    fn spans_out_of_bounds_do_no_harm() {
        let source = Source::new("a.m", "é").unwrap();
        for (start, end) in [
            (0, 99),
            (1, 1),
            (1, 2),
            (7, 3),
            (50, 60),
            (u32::MAX, u32::MAX),
        ] {
            let diagnostic = Diagnostic::error("bad", Span::new(start, end));
            assert!(
                Renderer::plain()
                    .render(&source, &diagnostic)
                    .contains("bad")
            );
        }
        let mut bare = Diagnostic::error("bare", Span::default());
        bare.labels.clear();
        expect!["error: bare"].assert_eq(&Renderer::plain().render(&source, &bare));
    }

    #[test]
    fn the_number_of_diagnostics_is_limited() {
        let source = Source::new("a.m", "x").unwrap();
        let many = vec![Diagnostic::error("bad", Span::new(0, 1)); 23];
        let text = Renderer::plain().render_all(&source, &many);
        assert_eq!(text.matches("error: bad").count(), Renderer::SHOWN_MAX);
        assert!(text.ends_with("... and 3 more errors\n"));
    }

    #[test]
    fn colours_only_on_request() {
        let source = Source::new("a.m", "x").unwrap();
        let diagnostic = Diagnostic::error("bad", Span::new(0, 1));
        let coloured = Renderer::coloured().render(&source, &diagnostic);
        assert!(coloured.contains("a.m:1:1") && coloured.contains('\x1b'));
        assert!(
            !Renderer::plain()
                .render(&source, &diagnostic)
                .contains('\x1b')
        );
    }
}
