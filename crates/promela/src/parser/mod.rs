//! The parser: tokens to a syntax tree, by recursive descent.
//!
//! It never fails. Where the text cannot be parsed there is an error node and a diagnostic, and
//! parsing resumes at the next separator, option or closing word. Depth is bounded by
//! `MAX_NESTING` and `MAX_HEIGHT`, so that neither the parser nor a later pass can overflow
//! its stack.

mod decl;
mod expr;
mod inline;
mod ltl;
mod stmt;

use std::ops::Range;
use std::sync::Arc;

use hadal_syntax::{Diagnostic, Diagnostics, Source, did_you_mean};
use rustc_hash::{FxHashMap, FxHashSet};

use self::inline::Inline;
use crate::ast::{Expr, ExprKind, Model, Name, VarRef};
use crate::preprocess::{Options, Preprocessed, Reader, preprocess};
use crate::text::{Text, Token, TokenSpan};
use crate::token::{Symbol, TokenKind, Word};

/// Depth of statements, parentheses and calls of `inline`s within each other.
pub(crate) const MAX_NESTING: usize = 200;

/// Height of the tree of an expression.
pub(crate) const MAX_HEIGHT: u32 = 600;

/// After this number of errors the rest of a model is skipped.
const MAX_ERRORS: usize = 100;

/// The result of parsing a model.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The tree, with error nodes where the text could not be parsed.
    pub model: Model,
    /// The text that the tree addresses.
    pub text: Text,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether there was an error, so that the tree is not the whole model.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Preprocesses and parses a model. It never fails.
pub fn parse(root: Source, options: &Options, read: &mut Reader<'_>) -> Parsed {
    let Preprocessed {
        text,
        n_model_tokens,
        outside,
        diagnostics,
    } = preprocess(root, options, read);
    let is = |token: &Token, kind| token.kind == kind;
    let proctypes = text
        .tokens
        .windows(2)
        .filter(|pair| {
            is(&pair[0], TokenKind::Word(Word::Proctype))
                || is(&pair[0], TokenKind::Word(Word::DProctype))
        })
        .map(|pair| pair[1].text.clone())
        .chain(["init".into()])
        .collect();
    let end = n_model_tokens - 1;
    let mut parser = Parser {
        text,
        pos: 0,
        end,
        diagnostics,
        panicking: false,
        open_selections: 0,
        last_error: None,
        given_up: false,
        depth: 0,
        proctypes,
        inlines: FxHashMap::default(),
        open_inlines: Vec::new(),
        return_targets: Vec::new(),
        n_inlined: 0,
    };
    let items = parser.items();
    let outside = outside.map(|_, tokens| parser.whole_expr(tokens));
    let Parser {
        text,
        mut diagnostics,
        ..
    } = parser;
    diagnostics.sort();
    Parsed {
        model: Model { items, outside },
        text,
        diagnostics: diagnostics.into_vec(),
    }
}

struct Parser {
    text: Text,
    pos: usize,
    /// The token that ends the region that is parsed: the model, or the body of an `inline`.
    end: usize,
    diagnostics: Diagnostics,
    /// An error was reported and no place to resume has been found yet.
    panicking: bool,
    /// Selections and loops around the next token, within the same inline.
    open_selections: usize,
    /// The token that was last reported.
    last_error: Option<usize>,
    /// The rest of the model is skipped.
    given_up: bool,
    depth: usize,
    /// The names of all process types, which tell a remote reference from other uses of `:`.
    proctypes: FxHashSet<Arc<str>>,
    inlines: FxHashMap<Arc<str>, Arc<Inline>>,
    /// The calls that are being expanded.
    open_inlines: Vec<Arc<str>>,
    /// What `return` assigns to, of each of these calls.
    return_targets: Vec<Option<VarRef>>,
    /// Number of tokens that calls of `inline`s have produced.
    n_inlined: usize,
}

impl Parser {
    /// The expression that a range of tokens consists of.
    fn whole_expr(&mut self, tokens: Range<usize>) -> Expr {
        (self.pos, self.end) = (tokens.start, tokens.end);
        self.panicking = false;
        if tokens.is_empty() {
            // Not where the token before ends, which is the model's.
            let end = TokenSpan::new(tokens.end as u32, tokens.end as u32 + 1);
            let message = "expected an expression, found the end of the file";
            let error = self.text.error(message, end);
            self.report(error);
            return self.no_expr();
        }
        let expr = self.nest(Self::expr);
        if self.peek() != TokenKind::Eof {
            self.expected("the end of the expression");
        }
        expr.unwrap_or_else(|| self.no_expr())
    }

    fn no_expr(&self) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span: self.here(),
            height: 1,
        }
    }
}

/// The cursor.
impl Parser {
    fn peek(&self) -> TokenKind {
        match self.given_up {
            true => TokenKind::Eof,
            false => self.text.tokens[self.pos].kind,
        }
    }

    fn nth(&self, n: usize) -> TokenKind {
        match self.pos + n <= self.end && !self.given_up {
            true => self.text.tokens[self.pos + n].kind,
            false => TokenKind::Eof,
        }
    }

    fn at(&self, symbol: Symbol) -> bool {
        self.peek() == TokenKind::Symbol(symbol)
    }

    fn at_word(&self, word: Word) -> bool {
        self.peek() == TokenKind::Word(word)
    }

    fn nth_is(&self, n: usize, symbol: Symbol) -> bool {
        self.nth(n) == TokenKind::Symbol(symbol)
    }

    /// Whether a number is next, and a symbol behind it.
    fn at_number_before(&self, symbol: Symbol) -> bool {
        self.peek() == TokenKind::Number && self.nth_is(1, symbol)
    }

    fn token(&self) -> &Token {
        &self.text.tokens[self.pos]
    }

    fn here(&self) -> TokenSpan {
        TokenSpan::new(self.pos as u32, self.pos as u32 + 1)
    }

    /// From the start of a construct to the last token taken.
    fn since(&self, start: usize) -> TokenSpan {
        TokenSpan::new(start as u32, self.pos.max(start) as u32)
    }

    fn bump(&mut self) {
        if self.pos < self.end && !self.given_up {
            self.pos += 1;
        }
    }

    fn eat(&mut self, symbol: Symbol) -> bool {
        let found = self.at(symbol);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: Word) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the next token, whatever it is, as a name.
    fn bump_name(&mut self) -> Name {
        let name = Name {
            text: self.token().text.clone(),
            span: self.here(),
        };
        self.bump();
        name
    }

    /// A name; without one, an empty name and an error.
    fn name(&mut self, what: &str) -> Name {
        if self.peek() == TokenKind::Ident {
            return self.bump_name();
        }
        let is_word = matches!(self.peek(), TokenKind::Word(_));
        self.expected(what);
        if is_word {
            // A reserved word in the place of a name: what follows can be parsed.
            self.panicking = false;
            return self.bump_name();
        }
        Name {
            text: "".into(),
            span: TokenSpan::new(self.pos as u32, self.pos as u32),
        }
    }
}

const QUERY: TokenKind = TokenKind::Symbol(Symbol::Query);

fn is_arithmetic(symbol: Symbol) -> bool {
    matches!(
        symbol,
        Symbol::Plus | Symbol::Minus | Symbol::Star | Symbol::Slash | Symbol::Percent
    ) || matches!(
        symbol,
        Symbol::And | Symbol::Or | Symbol::Caret | Symbol::Shl | Symbol::Shr
    )
}

/// Errors, and how to continue after them.
impl Parser {
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.given_up {
            return;
        }
        self.diagnostics.push(diagnostic);
        if self.diagnostics.n_errors() >= MAX_ERRORS {
            self.given_up = true;
        }
    }

    /// Reports an error at a range of tokens that parses and yet is wrong.
    fn error_at(&mut self, message: impl Into<String>, span: TokenSpan) {
        let error = self.text.error(message, span);
        self.report(error);
    }

    /// Reports that the next token does not fit.
    fn syntax_error(&mut self, make: impl FnOnce(&Self) -> Diagnostic) {
        let is_known =
            self.panicking || self.last_error == Some(self.pos) || self.peek() == TokenKind::Bad;
        self.panicking = true;
        self.last_error = Some(self.pos);
        if !is_known {
            let diagnostic = make(self);
            self.report(diagnostic);
        }
    }

    fn expected(&mut self, what: &str) {
        self.syntax_error(|parser| {
            let found = parser.found();
            let error = parser
                .text
                .error(format!("expected {what}, found {found}"), parser.place());
            let error = error.label(format!("expected {what}"));
            match (parser.habit(what), parser.misspelt()) {
                (Some(help), _) => error.help(help),
                (None, Some(word)) => error.help(format!("did you mean `{word}`?")),
                (None, None) => error,
            }
        });
    }

    /// What to write, where something stands in the place of `what` that other languages have.
    fn habit(&self, what: &str) -> Option<String> {
        let TokenKind::Symbol(next) = self.peek() else {
            return None;
        };
        let before = |n: usize| {
            let at = self.pos.checked_sub(n);
            at.map(|at| self.text.tokens[at].kind)
        };
        let help = match (next, before(1)) {
            (Symbol::Assign, Some(TokenKind::Symbol(op))) if is_arithmetic(op) => {
                let op = op.text();
                return Some(format!("there is no `{op}=`: write `x = x {op} ...`"));
            }
            (Symbol::Greater, Some(TokenKind::Symbol(Symbol::Assign))) => {
                "`=>` is no operator: `>=` compares, `->` separates statements"
            }
            (Symbol::Less, Some(TokenKind::Symbol(Symbol::Assign))) => {
                "`=<` is no operator: write `<=`"
            }
            (Symbol::Assign, _) if what == "`:`" => "write `for (i : 0 .. 9) { ... }`",
            (Symbol::Assign, _) if what == "`)`" => "`=` assigns; write `==` to compare",
            (Symbol::PlusPlus | Symbol::MinusMinus, _) if what == "an expression" => {
                "`x++` is a statement of its own, with the variable in front"
            }
            (Symbol::LParen, Some(TokenKind::Word(Word::Init))) => "`init` has no parameters",
            (Symbol::LParen, _) if what == "`::`" => {
                "every option begins with `::`: `if :: x == 0 -> ... :: else -> ... fi`"
            }
            (op, _) if what == "`;`" && is_arithmetic(op) && before(2) == Some(QUERY) => {
                "a receive takes variables and constants; to match a value write `eval(...)`"
            }
            _ => return None,
        };
        Some(help.to_owned())
    }

    fn expect(&mut self, symbol: Symbol) -> bool {
        let found = self.eat(symbol);
        if !found {
            self.expected(&format!("`{}`", symbol.text()));
        }
        found
    }

    /// Where to point when the next token does not fit: at it, or after the last one if the text
    /// ends.
    fn place(&self) -> TokenSpan {
        match self.peek() == TokenKind::Eof && self.pos > 0 {
            true => TokenSpan::new(self.pos as u32, self.pos as u32),
            false => self.here(),
        }
    }

    /// The next token, as text for a message.
    fn found(&self) -> String {
        const SHOWN_CHARS: usize = 40;
        let kind = self.peek();
        let text = &self.token().text;
        match kind {
            TokenKind::Ident | TokenKind::Number => {
                let dots = if text.len() > SHOWN_CHARS { "..." } else { "" };
                format!("`{}{dots}`", &text[..text.len().min(SHOWN_CHARS)])
            }
            TokenKind::Word(_) => format!("the reserved word `{text}`"),
            TokenKind::Eof if !self.open_inlines.is_empty() => "the end of the inline".to_owned(),
            _ => kind.describe(),
        }
    }

    /// The reserved word that the next token is much like, if it is a name.
    fn misspelt(&self) -> Option<&'static str> {
        match self.peek() == TokenKind::Ident {
            true => did_you_mean(&self.token().text, Word::ALL.iter().map(|it| it.text())),
            false => None,
        }
    }

    fn skip_until(&mut self, stop: impl Fn(&Self) -> bool) {
        while self.peek() != TokenKind::Eof && !stop(self) {
            self.bump();
        }
    }

    /// Skips a balanced group whose opening token is next; stops before its end if it has none.
    fn skip_group(&mut self, open: Symbol, close: Symbol) {
        let mut depth = 0usize;
        loop {
            if self.peek() == TokenKind::Eof {
                return;
            }
            if self.at(open) {
                depth += 1;
            } else if self.at(close) {
                depth = depth.saturating_sub(1);
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// Runs a part of the parser one level deeper. Returns `None`, and gives up on the model, if
    /// that is too deep.
    fn nest<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_NESTING {
            self.too_deep();
            return None;
        }
        self.depth += 1;
        let made = part(self);
        self.depth -= 1;
        Some(made)
    }

    fn too_deep(&mut self) {
        let error = self.text.error("this is nested too deeply", self.here());
        self.report(error.note("the rest of the model was skipped"));
        self.given_up = true;
    }

    /// Reports embedded C, and skips it.
    fn embedded_c(&mut self) {
        let start = self.pos;
        let word = self.token().text.clone();
        self.bump();
        while matches!(self.peek(), TokenKind::Str) || self.at(Symbol::LBracket) {
            match self.at(Symbol::LBracket) {
                true => self.skip_group(Symbol::LBracket, Symbol::RBracket),
                false => self.bump(),
            }
        }
        if self.at(Symbol::LBrace) {
            self.skip_group(Symbol::LBrace, Symbol::RBrace);
        }
        let span = TokenSpan::new(start as u32, start as u32 + 1);
        let error = self
            .text
            .error(format!("embedded C is not supported: `{word}`"), span)
            .note("C code could change anything, so a state would not be known by its variables")
            .help("write the computation in Promela, in a `d_step` if it is one step");
        self.report(error);
    }
}
