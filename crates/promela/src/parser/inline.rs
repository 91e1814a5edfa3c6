//! `inline` definitions and their calls, which are expanded token by token.

use std::sync::Arc;

use hadal_syntax::did_you_mean;
use rustc_hash::FxHashMap;

use super::Parser;
use crate::ast::{Name, Seq, StmtKind, VarRef};
use crate::text::{Expansion, Origin, Token, TokenSpan};
use crate::token::{Symbol, TokenKind};

/// Number of tokens that calls of `inline`s may produce in one model.
const MAX_INLINED: usize = 1_000_000;

/// A definition.
pub(super) struct Inline {
    name: Name,
    params: Vec<Arc<str>>,
    /// The tokens between the braces.
    body: std::ops::Range<usize>,
}

impl Parser {
    /// `inline name(a, b) { ... }`
    pub(super) fn inline_item(&mut self) {
        self.bump();
        let name = self.name("the name of the inline");
        let mut params = Vec::new();
        if self.expect(Symbol::LParen) && !self.eat(Symbol::RParen) {
            loop {
                params.push(self.name("the name of a parameter").text);
                if !self.eat(Symbol::Comma) {
                    break;
                }
            }
            self.expect(Symbol::RParen);
        }
        if !self.at(Symbol::LBrace) {
            self.expected("`{`");
            return;
        }
        let start = self.pos;
        self.skip_group(Symbol::LBrace, Symbol::RBrace);
        let is_closed = self.text.tokens[self.pos - 1].kind == TokenKind::Symbol(Symbol::RBrace);
        if !is_closed {
            let span = TokenSpan::new(start as u32, start as u32 + 1);
            self.error_at("this `{` is not closed", span);
        }
        let end = if is_closed { self.pos - 1 } else { self.pos };
        let inline = Inline {
            name: name.clone(),
            params,
            body: start + 1..end,
        };
        if let Some(old) = self.inlines.get(&name.text) {
            let error = self
                .text
                .error(format!("the inline `{name}` is defined twice"), name.span);
            let error = self
                .text
                .context(error, old.name.span, "it is defined here");
            self.report(error);
        }
        self.inlines.insert(name.text.clone(), Arc::new(inline));
    }

    /// Whether a call of an `inline` is next.
    pub(super) fn at_inline_call(&self) -> bool {
        self.peek() == TokenKind::Ident
            && self.nth_is(1, Symbol::LParen)
            && self.inlines.contains_key(&self.token().text)
    }

    /// A call of an `inline`; `target` gets what it returns.
    pub(super) fn inline_call(&mut self, target: Option<VarRef>) -> StmtKind {
        let start = self.pos;
        let name = self.bump_name();
        let arguments = self.inline_arguments();
        let Some(inline) = self.inlines.get(&name.text).cloned() else {
            return StmtKind::Error;
        };
        let call = self.since(start);
        if self.open_inlines.contains(&name.text) {
            self.error_at(format!("the inline `{name}` calls itself"), call);
            return StmtKind::Error;
        }
        if arguments.len() != inline.params.len() {
            let n = inline.params.len();
            let plural = if n == 1 { "" } else { "s" };
            let found = arguments.len();
            let error = self.text.error(
                format!("the inline `{name}` takes {n} argument{plural}, not {found}"),
                call,
            );
            let error = self
                .text
                .context(error, inline.name.span, "it is defined here");
            self.report(error);
            return StmtKind::Error;
        }
        let Some(region) = self.expand_inline(&inline, &arguments, call) else {
            return StmtKind::Error;
        };
        let outer = (self.pos, self.end);
        (self.pos, self.end) = (region.start, region.end);
        self.open_inlines.push(name.text.clone());
        self.return_targets.push(target);
        let stmts = self.nest(Self::stmts_to_end).unwrap_or_default();
        self.return_targets.pop();
        self.open_inlines.pop();
        let span = TokenSpan::new(region.start as u32, region.end as u32);
        (self.pos, self.end) = outer;
        self.panicking = false;
        StmtKind::Inline(name, Seq { stmts, span })
    }

    /// The tokens of each argument of a call whose `(` is next.
    fn inline_arguments(&mut self) -> Vec<Vec<Token>> {
        self.bump();
        let mut arguments = Vec::new();
        let mut current: Vec<Token> = Vec::new();
        let mut depth = 0usize;
        loop {
            match self.peek() {
                TokenKind::Eof => {
                    self.expected("`)`");
                    break;
                }
                TokenKind::Symbol(Symbol::RParen) if depth == 0 => {
                    self.bump();
                    break;
                }
                TokenKind::Symbol(Symbol::Comma) if depth == 0 => {
                    arguments.push(std::mem::take(&mut current));
                    self.bump();
                    continue;
                }
                TokenKind::Symbol(Symbol::LParen | Symbol::LBracket | Symbol::LBrace) => depth += 1,
                TokenKind::Symbol(Symbol::RParen | Symbol::RBracket | Symbol::RBrace) => {
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            current.push(self.token().clone());
            self.bump();
        }
        if !current.is_empty() || !arguments.is_empty() {
            arguments.push(current);
        }
        arguments
    }

    /// Appends a copy of the body with the arguments in place, and a token that ends it.
    fn expand_inline(
        &mut self,
        inline: &Inline,
        arguments: &[Vec<Token>],
        call: TokenSpan,
    ) -> Option<std::ops::Range<usize>> {
        let first = self.text.tokens[call.start as usize].clone();
        let definition = self.text.tokens[inline.name.span.start as usize].span;
        let last = &self.text.tokens[call.end as usize - 1];
        let span = match last.origin == first.origin && last.span.start >= first.span.start {
            true => first.span.to(last.span),
            false => first.span,
        };
        let origin = self.text.add_expansion(Expansion {
            name: inline.name.text.clone(),
            is_inline: true,
            call: span,
            definition,
            parent: first.origin,
        });
        let start = self.text.tokens.len();
        let mut known = FxHashMap::default();
        for at in inline.body.clone() {
            let token = &self.text.tokens[at];
            let param = match token.kind {
                TokenKind::Ident => inline.params.iter().position(|it| *it == token.text),
                _ => None,
            };
            match param {
                Some(idx) => {
                    let starts_line = token.starts_line;
                    let from = self.text.tokens.len();
                    self.text.tokens.extend(arguments[idx].iter().cloned());
                    for (n, token) in self.text.tokens[from..].iter_mut().enumerate() {
                        token.starts_line = starts_line && n == 0;
                    }
                }
                None => {
                    let mut token = token.clone();
                    token.origin = self.rebased(token.origin, origin, &mut known);
                    self.text.tokens.push(token);
                }
            }
            if self.n_inlined + (self.text.tokens.len() - start) > MAX_INLINED {
                let error = self.text.error("inlines expand to too much text", call);
                let note = format!("at most {MAX_INLINED} tokens may come from inlines");
                self.report(error.note(note));
                self.given_up = true;
                return None;
            }
        }
        self.n_inlined += self.text.tokens.len() - start;
        let end = self.text.tokens.len();
        self.text.tokens.push(Token {
            kind: TokenKind::Eof,
            text: "".into(),
            origin,
            starts_line: true,
            spaced: true,
            span: definition,
        });
        Some(start..end)
    }

    /// The origin of a token of a body: that of the call, behind the macros used in the body.
    fn rebased(
        &mut self,
        origin: Origin,
        call: Origin,
        known: &mut FxHashMap<Origin, Origin>,
    ) -> Origin {
        let mut chain = Vec::new();
        let mut at = origin;
        let mut base = call;
        while let Some(expansion) = self.text.expansion(at) {
            if let Some(&done) = known.get(&at) {
                base = done;
                break;
            }
            chain.push(at);
            at = expansion.parent;
        }
        for old in chain.into_iter().rev() {
            if let Some(expansion) = self.text.expansion(old).cloned() {
                base = self.text.add_expansion(Expansion {
                    parent: base,
                    ..expansion
                });
                known.insert(old, base);
            }
        }
        base
    }

    /// Reports a call of something that is no `inline`, and skips it.
    pub(super) fn unknown_call(&mut self) -> StmtKind {
        let text = self.token().text.clone();
        let names: Vec<Arc<str>> = self.inlines.keys().cloned().collect();
        let words = [
            "assert",
            "printf",
            "printm",
            "set_priority",
            "for",
            "select",
            "run",
        ];
        let candidates = names.iter().map(|it| &**it).chain(words);
        let guess = did_you_mean(&text, candidates).map(str::to_owned);
        let is_process = self.proctypes.contains(&text);
        self.syntax_error(|parser| {
            let error = parser
                .text
                .error(format!("there is no inline `{text}`"), parser.here());
            match guess {
                _ if is_process => {
                    error.help(format!("to start a process write `run {text}(...)`"))
                }
                Some(guess) => error.help(format!("did you mean `{guess}`?")),
                None if &*text == "while" => {
                    error.help("write `do :: condition -> ... :: else -> break od`")
                }
                None => error.note("an inline must be defined before it is used"),
            }
        });
        self.bump();
        self.skip_group(Symbol::LParen, Symbol::RParen);
        // What looks like the body of a loop.
        if self.at(Symbol::LBrace) {
            self.skip_group(Symbol::LBrace, Symbol::RBrace);
        }
        self.panicking = false;
        StmtKind::Error
    }
}
