//! From tokens to the syntax tree: recursive descent, with precedence climbing for expressions.
//!
//! The parser never fails. After an error it reports nothing until it has found a place to resume
//! (the next statement, declaration or rule), so that one error is one message; and it never
//! reports one token twice. Whatever the input, it takes time proportional to the
//! text: lookahead is bounded by the next rule, and there is no backtracking.
//!
//! Recursion is bounded by [`MAX_NESTING`], and so is the height of the tree. A file that
//! goes deeper is given up at that point.
//!
//! This module holds the cursor over the tokens and the rules for recovery; the grammar is in
//! the modules below it, by subject.

mod decl;
mod expr;
mod rule;
mod stmt;

use std::sync::Arc;

use hadal_model::Stop;
use hadal_syntax::{Diagnostic, Diagnostics, Outside, Source, Span, did_you_mean};
use rustc_hash::FxHashSet;

use crate::lexer::{Lexed, lex};
use crate::token::{KEYWORDS, Token, TokenKind};
use crate::{Dialect, ast, literal};

/// How deep constructs may be nested in one another. An operand and a pair of parentheses
/// count one each.
pub(crate) const MAX_NESTING: usize = 400;

/// After this number of errors the rest of a file is skipped.
pub(crate) const MAX_ERRORS: usize = 100;

/// The result of parsing a source.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The tree, with error nodes where the text could not be parsed.
    pub model: ast::Model,
    /// Errors and warnings, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether there was an error, so that the tree is not the whole model.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses a source. It never fails: where the text cannot be parsed, the tree has error
/// nodes and there is a diagnostic.
pub fn parse(source: &Source, dialect: Dialect) -> Parsed {
    parse_until(source, dialect, &Stop::new())
}

/// As [`parse`], but the rest of the text is skipped once `stop` is raised.
pub(crate) fn parse_until(source: &Source, dialect: Dialect, stop: &Stop) -> Parsed {
    parse_with(source, &Outside::default(), dialect, stop).0
}

/// As [`parse_until`], and the expressions that the texts from `outside` consist of, in which the
/// names of the model are known. What is wrong with them is among the diagnostics of the model.
pub(crate) fn parse_with(
    source: &Source,
    outside: &Outside<Source>,
    dialect: Dialect,
    stop: &Stop,
) -> (Parsed, Outside<ast::Expr>) {
    let mut parser = Parser::new(source, dialect, stop);
    let items = parser.items();
    let Parser {
        mut diagnostics,
        names,
        declared,
        ..
    } = parser;
    let exprs = outside.as_ref().map(|_, text| {
        let mut parser = Parser {
            names: names.clone(),
            declared: declared.clone(),
            ..Parser::new(text, dialect, stop)
        };
        let expr = parser.whole_expr();
        diagnostics.extend(parser.diagnostics.into_vec());
        expr
    });
    diagnostics.sort();
    let parsed = Parsed {
        model: ast::Model {
            items,
            span: source.span(),
        },
        diagnostics: diagnostics.into_vec(),
    };
    (parsed, exprs)
}

struct Parser<'s> {
    source: &'s Source,
    dialect: Dialect,
    stop: &'s Stop,
    /// Ends in [`TokenKind::Eof`], and `pos` never goes beyond it.
    tokens: Vec<Token>,
    pos: usize,

    diagnostics: Diagnostics,
    /// The lexer lost the end of the file, and reported it.
    truncated: bool,
    /// An error was reported and no place to resume has been found yet.
    panicking: bool,
    /// The token that was last reported.
    last_error: Option<usize>,
    /// The rest of the file is skipped.
    given_up: bool,
    /// Number of errors before the last item or rule.
    n_errors_before: usize,
    n_missing_ends: usize,
    /// The first construct that was closed by the word of another: legal, but a hint when an
    /// `end` is missing further down.
    odd_end: Option<(Opener, Span)>,
    /// The first `else if`, which needs two `end`s: the same sort of hint.
    else_if: Option<Span>,

    /// The number of active calls of `nest`.
    depth: usize,
    /// The height of the tree made so far in the innermost call of `nest`.
    height: usize,
    n_open_ifs: usize,
    n_open_switches: usize,

    /// The spellings seen, so that equal names share their text.
    names: FxHashSet<Arc<str>>,
    /// The names declared so far, whatever their scope; it decides whether a word that only one
    /// tool reserves is meant as a name.
    declared: FxHashSet<Arc<str>>,
}

/// `do`, for which `:` may stand.
const DO: &[TokenKind] = &[TokenKind::Do, TokenKind::Colon];

/// The word that opened a construct.
#[derive(Debug, Clone, Copy)]
struct Opener {
    word: &'static str,
    span: Span,
}

impl<'s> Parser<'s> {
    /// A parser at the beginning of a source.
    fn new(source: &'s Source, dialect: Dialect, stop: &'s Stop) -> Self {
        let Lexed {
            tokens,
            diagnostics,
            truncated,
        } = lex(source, dialect, stop);
        Parser {
            source,
            dialect,
            stop,
            tokens,
            pos: 0,
            diagnostics,
            truncated,
            panicking: false,
            last_error: None,
            given_up: false,
            n_errors_before: 0,
            n_missing_ends: 0,
            odd_end: None,
            else_if: None,
            depth: 0,
            height: 0,
            n_open_ifs: 0,
            n_open_switches: 0,
            names: FxHashSet::default(),
            declared: FxHashSet::default(),
        }
    }
}

/// The cursor.
impl Parser<'_> {
    fn peek(&self) -> TokenKind {
        self.tokens[self.pos].kind
    }

    fn nth(&self, n: usize) -> TokenKind {
        let token = self.tokens.get(self.pos + n);
        token.map_or(TokenKind::Eof, |token| token.kind)
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.peek() == kind
    }

    fn at_any(&self, kinds: &[TokenKind]) -> bool {
        kinds.contains(&self.peek())
    }

    /// Whether the next token is this word, which is not a reserved one; case does not matter.
    fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Ident) && self.text().eq_ignore_ascii_case(word)
    }

    /// Whether a name with the spelling of the next token was declared above.
    fn is_declared(&self) -> bool {
        self.declared.contains(self.text())
    }

    fn text(&self) -> &str {
        self.source.slice(self.span())
    }

    fn span(&self) -> Span {
        self.tokens[self.pos].span
    }

    fn prev_span(&self) -> Span {
        self.tokens[self.pos.saturating_sub(1)].span
    }

    /// From the start of a construct to the last token taken.
    fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.prev_span().end.max(start.start))
    }

    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        if self.stop.is_raised() {
            self.give_up();
        }
        span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_semis(&mut self) {
        while self.eat(TokenKind::Semi) {}
    }

    fn open(&mut self, word: &'static str) -> Opener {
        let span = self.bump();
        Opener { word, span }
    }

    /// Takes the next token, whatever it is, as a name.
    fn bump_name(&mut self) -> ast::Name {
        let text = self.text();
        let text = match self.names.get(text) {
            Some(text) => text.clone(),
            None => {
                let text: Arc<str> = text.into();
                self.names.insert(text.clone());
                text
            }
        };
        ast::Name {
            text,
            span: self.bump(),
        }
    }

    fn bump_text(&mut self) -> ast::Text {
        ast::Text {
            value: literal::string_value(self.text(), self.dialect).into(),
            span: self.bump(),
        }
    }

    fn eat_text(&mut self) -> Option<ast::Text> {
        self.at(TokenKind::Str).then(|| self.bump_text())
    }

    /// A name that is declared here. Without one, an empty name.
    fn declare(&mut self, what: &str) -> ast::Name {
        if self.at(TokenKind::Ident) {
            let name = self.bump_name();
            self.declared.insert(name.text.clone());
            return name;
        }
        self.expected(what);
        ast::Name {
            text: "".into(),
            span: self.prev_span().after(),
        }
    }
}

/// Errors, and how to continue after them.
impl Parser<'_> {
    /// Reports something that parses and yet is wrong; the parser continues.
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.given_up {
            return;
        }
        self.diagnostics.push(diagnostic);
        if self.diagnostics.n_errors() >= MAX_ERRORS {
            self.give_up();
        }
    }

    /// Whether something is wrong with the current item or rule, or with the last one.
    fn has_new_errors(&self) -> bool {
        self.diagnostics.n_errors() > self.n_errors_before
    }

    /// Reports that the next token does not fit.
    fn syntax_error(&mut self, make: impl FnOnce(&Self) -> Diagnostic) {
        let is_known = self.panicking
            || self.last_error == Some(self.pos)
            || self.at(TokenKind::Bad)
            || (self.truncated && self.at(TokenKind::Eof));
        self.panicking = true;
        self.last_error = Some(self.pos);
        if !is_known {
            let diagnostic = make(self);
            self.report(diagnostic);
        }
    }

    /// Reports that something else than the next token was expected.
    fn expected(&mut self, what: &str) {
        self.syntax_error(|parser| {
            let found = parser.found();
            Diagnostic::error(format!("expected {what}, found {found}"), parser.place())
                .label(format!("expected {what}"))
        });
    }

    fn expect(&mut self, kind: TokenKind) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(kind.describe());
        }
        found
    }

    /// Where to point when the next token does not fit: at it, or after the last one if the
    /// file ends.
    fn place(&self) -> Span {
        match self.at(TokenKind::Eof) && self.pos > 0 {
            true => self.prev_span().after(),
            false => self.span(),
        }
    }

    /// The next token, as text for a message.
    fn found(&self) -> String {
        const SHOWN_CHARS: usize = 40;
        let kind = self.peek();
        if !matches!(kind, TokenKind::Ident) && !kind.is_keyword() {
            return kind.describe().to_owned();
        }
        let text = self.text();
        let dots = if text.len() > SHOWN_CHARS { "..." } else { "" };
        let shown = &text[..text.len().min(SHOWN_CHARS)];
        match kind.is_keyword() {
            true => format!("the reserved word `{shown}`"),
            false => format!("`{shown}{dots}`"),
        }
    }

    /// The reserved word that the next token is much like, if it is a name.
    fn guess(&self) -> Option<&'static str> {
        let others = ["assume", "cover", "liveness", "choose"];
        let words = KEYWORDS.iter().copied().chain(others);
        match self.at(TokenKind::Ident) {
            true => did_you_mean(self.text(), words),
            false => None,
        }
    }

    /// If the next token is much like a reserved word that fits here, accepts it as that word, so
    /// that what follows parses. Called after the error was reported.
    fn correct_word(&mut self, fits: impl Fn(&Self) -> bool) -> bool {
        let Some(kind) = self.guess().and_then(TokenKind::keyword) else {
            return false;
        };
        let before = std::mem::replace(&mut self.tokens[self.pos].kind, kind);
        if !fits(self) {
            self.tokens[self.pos].kind = before;
            return false;
        }
        self.panicking = false;
        true
    }

    fn with_guess(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.guess() {
            Some(word) => diagnostic.help(format!("did you mean `{word}`?")),
            None => diagnostic,
        }
    }

    /// Takes the word that closes a construct.
    fn expect_end(&mut self, opener: Opener) {
        if self.at_end_word() {
            let word = self.text();
            let own = word.get(3..).unwrap_or("");
            let is_odd = !own.is_empty() && !own.eq_ignore_ascii_case(opener.word);
            if is_odd && self.odd_end.is_none() {
                self.odd_end = Some((opener, self.span()));
            }
            self.bump();
            return;
        }
        self.n_missing_ends += 1;
        self.syntax_error(|parser| {
            let found = parser.found();
            let word = opener.word;
            let error = Diagnostic::error(
                format!("expected `end` of this `{word}`, found {found}"),
                parser.place(),
            )
            .label("expected `end`")
            .context(opener.span, format!("this `{word}` is not closed"));
            let error = match parser.else_if {
                Some(span) => error
                    .context(span, "this opens a second `if`, with an `end` of its own")
                    .help("write `elsif` for one `if` with several conditions"),
                None => error,
            };
            match parser.odd_end {
                Some((odd, at)) if odd.span != opener.span => {
                    let odd_word = odd.word;
                    let text = parser.source.slice(at);
                    error
                        .context(odd.span, format!("but this `{odd_word}`..."))
                        .context(at, format!("...is closed by `{text}`"))
                }
                _ => error,
            }
        });
    }

    fn at_end_word(&self) -> bool {
        self.at(TokenKind::End)
            || (self.at_word(crate::token::word::ENDCHOOSE) && !self.is_declared())
    }

    /// Takes the token that ends a header such as `then` or `do`. If it is not there, it is
    /// looked for up to the next place where a statement could begin or end.
    fn expect_header_end(&mut self, kinds: &[TokenKind]) {
        let Some(&first) = kinds.first() else {
            return;
        };
        if !self.at_any(kinds) {
            self.expected(first.describe());
            self.skip_until(|parser| parser.at(first) || parser.at_sync());
        }
        if self.at_any(kinds) {
            self.bump();
            self.panicking = false;
        }
    }

    fn skip_until(&mut self, stop: impl Fn(&Self) -> bool) {
        while !self.at(TokenKind::Eof) && !stop(self) {
            self.bump();
        }
    }

    /// Whether a statement or an item begins or ends here, judged by one token.
    fn at_sync(&self) -> bool {
        self.at(TokenKind::Semi)
            || self.at_statement_word()
            || self.at_item_word()
            || self.at_any(&[
                TokenKind::End,
                TokenKind::Else,
                TokenKind::Elsif,
                TokenKind::Case,
                TokenKind::Begin,
                TokenKind::Eof,
            ])
    }

    /// Whether the next token can only begin something at the top level or a local section.
    fn at_item_word(&self) -> bool {
        self.at_any(&[
            TokenKind::Const,
            TokenKind::Type,
            TokenKind::Var,
            TokenKind::Function,
            TokenKind::Procedure,
            TokenKind::Rule,
            TokenKind::Ruleset,
            TokenKind::Startstate,
        ])
    }

    /// Gives up on the rest of the file.
    fn give_up(&mut self) {
        self.given_up = true;
        self.pos = self.tokens.len() - 1;
    }

    /// Runs a part of the parser one level deeper. Returns `None`, and gives up on the file, if
    /// that is too deep.
    fn nest<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_NESTING {
            self.too_deep();
            return None;
        }
        let outer = std::mem::take(&mut self.height);
        self.depth += 1;
        let made = part(self);
        self.depth -= 1;
        self.grow();
        self.height = self.height.max(outer);
        Some(made)
    }

    /// Records that a node was put around what the innermost call of `nest` has built so far.
    fn grow(&mut self) {
        self.height += 1;
        if self.height > MAX_NESTING && !self.given_up {
            self.too_deep();
        }
    }

    fn too_deep(&mut self) {
        if self.given_up {
            return;
        }
        let span = self.span();
        self.report(
            Diagnostic::error("this is nested too deeply", span)
                .note(format!("at most {MAX_NESTING} levels are supported"))
                .note("the rest of the file was skipped"),
        );
        self.give_up();
    }
}
