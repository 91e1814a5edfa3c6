//! Macro expansion.
//!
//! Tokens are read from a stack of frames. A macro's body, with its arguments in place, is pushed
//! as a frame, and the macro is disabled until that frame is exhausted; a name that met its own
//! disabled macro is never expanded again. Arguments are expanded on their own first, unless they
//! are operands of `#` or `##`.

use std::sync::Arc;

use hadal_syntax::{Diagnostic, Span};

use super::scan::single;
use super::{MAX_EXPANDED, Preprocessor};
use crate::text::{Expansion, Origin, Token};
use crate::token::{Symbol, TokenKind};

/// Depth of calls in the arguments of calls.
const MAX_ARGUMENT_DEPTH: usize = 50;

/// Depth of macros whose bodies use macros.
const MAX_FRAMES: usize = 200;

/// A macro.
pub(super) struct Macro {
    /// Present for a function-like macro.
    pub(super) params: Option<Vec<Arc<str>>>,
    /// Whether the last parameter takes all arguments that are left.
    pub(super) is_variadic: bool,
    pub(super) body: Vec<Token>,
    /// The name in the directive.
    pub(super) definition: Span,
}

impl Macro {
    pub(super) fn is_same(&self, other: &Macro) -> bool {
        let texts = |tokens: &[Token]| tokens.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        self.params == other.params
            && self.is_variadic == other.is_variadic
            && texts(&self.body) == texts(&other.body)
    }

    /// The parameter that a token of the body names.
    fn param(&self, token: &Token) -> Option<usize> {
        let params = self.params.as_deref().unwrap_or_default();
        match token.kind {
            TokenKind::Ident => params.iter().position(|it| *it == token.text),
            _ => None,
        }
    }

    /// Whether a parameter takes all arguments that are left.
    fn takes_rest(&self, param: usize) -> bool {
        let n_params = self.params.as_ref().map_or(0, Vec::len);
        self.is_variadic && param + 1 == n_params
    }
}

/// A token that may be exempt from expansion.
#[derive(Clone)]
struct Item {
    token: Token,
    exempt: bool,
}

struct Frame {
    /// The macro that is disabled while the frame is read.
    name: Option<Arc<str>>,
    /// In reverse: the next one is the last.
    items: Vec<Item>,
}

impl Preprocessor<'_, '_> {
    /// Expands the macros in some tokens.
    pub(super) fn expand_all(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let has_macro = tokens
            .iter()
            .any(|it| it.kind == TokenKind::Ident && self.is_macro(&it.text));
        if !has_macro {
            return tokens;
        }
        let items = tokens.into_iter().map(|token| Item {
            token,
            exempt: false,
        });
        let expanded = self.expand(items.collect(), &[], 0);
        expanded.into_iter().map(|item| item.token).collect()
    }

    fn expand(&mut self, mut items: Vec<Item>, disabled: &[Arc<str>], depth: usize) -> Vec<Item> {
        items.reverse();
        let mut frames = vec![Frame { name: None, items }];
        let mut out = Vec::new();
        loop {
            while frames.last().is_some_and(|it| it.items.is_empty()) {
                frames.pop();
            }
            let Some(mut item) = frames.last_mut().and_then(|it| it.items.pop()) else {
                return out;
            };
            let name = &item.token.text;
            let found = match item.token.kind == TokenKind::Ident && !item.exempt {
                true => self.macros.get(name).cloned(),
                false => None,
            };
            let Some(found) = found.filter(|_| !self.overflowed) else {
                if item.token.kind == TokenKind::Ident
                    && !item.exempt
                    && let Some((kind, text)) = self.predefined(&item.token)
                {
                    (item.token.kind, item.token.text) = (kind, text);
                }
                out.push(item);
                continue;
            };
            let is_disabled =
                disabled.contains(name) || frames.iter().any(|it| it.name.as_ref() == Some(name));
            if is_disabled {
                item.exempt = true;
                out.push(item);
                continue;
            }
            if frames.len() >= MAX_FRAMES {
                self.overflow(item.token.span);
                out.push(item);
                continue;
            }
            let call = match &found.params {
                None => Some((Vec::new(), item.token.span)),
                Some(_) => match at_paren(&frames) {
                    false => None,
                    true => self.arguments(&mut frames, &item.token, &found),
                },
            };
            let Some((arguments, end)) = call else {
                out.push(item);
                continue;
            };
            let origin = self.text.add_expansion(Expansion {
                name: item.token.text.clone(),
                is_inline: false,
                call: match end.start >= item.token.span.start {
                    true => item.token.span.to(end),
                    false => item.token.span,
                },
                definition: found.definition,
                parent: item.token.origin,
            });
            let mut active: Vec<Arc<str>> = disabled.to_vec();
            active.extend(frames.iter().filter_map(|it| it.name.clone()));
            let mut body = self.substitute(&found, &arguments, origin, &active, depth);
            if let Some(first) = body.first_mut() {
                first.token.starts_line = item.token.starts_line;
                first.token.spaced = item.token.spaced;
            }
            self.n_expanded += body.len() + 1;
            if self.n_expanded > MAX_EXPANDED {
                self.overflow(item.token.span);
            }
            body.reverse();
            frames.push(Frame {
                name: Some(item.token.text.clone()),
                items: body,
            });
        }
    }

    fn overflow(&mut self, span: Span) {
        if !std::mem::replace(&mut self.overflowed, true) {
            let error = Diagnostic::error("macros expand to too much text", span).note(format!(
                "at most {MAX_EXPANDED} tokens may come from macros"
            ));
            self.diagnostics.push(error);
        }
    }

    /// The arguments of a call whose `(` is next, and the span of its `)`.
    fn arguments(
        &mut self,
        frames: &mut Vec<Frame>,
        name: &Token,
        found: &Macro,
    ) -> Option<(Vec<Vec<Item>>, Span)> {
        let mut arguments = vec![Vec::new()];
        let mut depth = 0usize;
        loop {
            while frames.last().is_some_and(|it| it.items.is_empty()) {
                frames.pop();
            }
            let Some(item) = frames.last_mut().and_then(|it| it.items.pop()) else {
                let message = format!("the call of the macro `{}` is not closed", name.text);
                self.error(message, name.span);
                return None;
            };
            let span = item.token.span;
            match item.token.kind {
                TokenKind::Symbol(Symbol::LParen) => {
                    depth += 1;
                    if depth == 1 {
                        continue;
                    }
                }
                TokenKind::Symbol(Symbol::RParen) => {
                    depth -= 1;
                    if depth == 0 {
                        return Some((self.check_arguments(arguments, name, found), span));
                    }
                }
                TokenKind::Symbol(Symbol::Comma)
                    if depth == 1 && !found.takes_rest(arguments.len() - 1) =>
                {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(item);
            }
        }
    }

    /// As many arguments as there are parameters.
    fn check_arguments(
        &mut self,
        mut arguments: Vec<Vec<Item>>,
        name: &Token,
        found: &Macro,
    ) -> Vec<Vec<Item>> {
        let n_params = found.params.as_ref().map_or(0, Vec::len);
        if n_params == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        // Those that `...` stands for may be left out, with the comma before them.
        let n_least = n_params - usize::from(found.is_variadic);
        if (n_least..=n_params).contains(&arguments.len()) {
            arguments.resize(n_params, Vec::new());
            return arguments;
        }
        let plural = if n_least == 1 { "" } else { "s" };
        let at_least = if found.is_variadic { "at least " } else { "" };
        let (text, n) = (&name.text, arguments.len());
        let message =
            format!("the macro `{text}` takes {at_least}{n_least} argument{plural}, not {n}");
        let error = Diagnostic::error(message, name.span);
        let error = error.context(found.definition, "it is defined here");
        self.diagnostics.push(error);
        // The missing arguments are empty, so that what follows still parses.
        arguments.resize(n_params, Vec::new());
        arguments
    }

    /// The body of a macro with its arguments in place.
    fn substitute(
        &mut self,
        found: &Macro,
        arguments: &[Vec<Item>],
        origin: Origin,
        disabled: &[Arc<str>],
        depth: usize,
    ) -> Vec<Item> {
        let param = |token: &Token| found.param(token);
        let is = |token: Option<&Token>, symbol| {
            token.is_some_and(|it| it.kind == TokenKind::Symbol(symbol))
        };
        let own = |token: &Token| Item {
            token: Token {
                origin,
                starts_line: false,
                ..token.clone()
            },
            exempt: false,
        };
        let mut expanded: Vec<Option<Vec<Item>>> = vec![None; arguments.len()];
        let mut out: Vec<Item> = Vec::new();
        let mut at = 0;
        while let Some(token) = found.body.get(at) {
            let next = found.body.get(at + 1);
            if is(Some(token), Symbol::HashHash)
                && is(
                    at.checked_sub(1).and_then(|at| found.body.get(at)),
                    Symbol::Comma,
                )
                && let Some(idx) = next.and_then(param).filter(|&it| found.takes_rest(it))
            {
                // What `cpp` does with `, ## __VA_ARGS__`: the comma goes if nothing follows it.
                match arguments[idx].is_empty() {
                    true => {
                        out.pop();
                    }
                    false => out.extend(arguments[idx].iter().cloned()),
                }
                at += 2;
            } else if is(Some(token), Symbol::HashHash) && at > 0 && next.is_some() {
                let right = next.map_or(Vec::new(), |token| match param(token) {
                    Some(idx) => arguments[idx].clone(),
                    None => vec![own(token)],
                });
                self.paste(&mut out, right, own(token));
                at += 2;
            } else if is(Some(token), Symbol::Hash)
                && let Some(idx) = next.and_then(param)
            {
                let text = quoted(&arguments[idx]);
                let mut item = own(token);
                item.token.kind = TokenKind::Str;
                item.token.text = self.interner.get(&text);
                out.push(item);
                at += 2;
            } else if let Some(idx) = param(token) {
                if is(next, Symbol::HashHash) {
                    out.extend(arguments[idx].iter().cloned());
                } else {
                    if expanded[idx].is_none() {
                        expanded[idx] = Some(match depth < MAX_ARGUMENT_DEPTH {
                            true => self.expand(arguments[idx].clone(), disabled, depth + 1),
                            false => {
                                self.overflow(token.span);
                                Vec::new()
                            }
                        });
                    }
                    let argument = expanded[idx].as_deref().unwrap_or_default();
                    let from = out.len();
                    out.extend(argument.iter().cloned());
                    if let Some(first) = out.get_mut(from) {
                        first.token.spaced = token.spaced;
                    }
                }
                at += 1;
            } else {
                out.push(own(token));
                at += 1;
            }
            if out.len() > MAX_EXPANDED {
                self.overflow(token.span);
                return Vec::new();
            }
        }
        out
    }

    /// Pastes the last token and the first of `right` into one.
    fn paste(&mut self, out: &mut Vec<Item>, right: Vec<Item>, operator: Item) {
        let mut right = right.into_iter();
        let Some(first) = right.next() else {
            return;
        };
        let Some(left) = out.pop() else {
            out.push(first);
            out.extend(right);
            return;
        };
        let text = format!("{}{}", left.token.text, first.token.text);
        match single(&text) {
            Some(kind) => out.push(Item {
                token: Token {
                    kind,
                    text: self.interner.get(&text),
                    spaced: left.token.spaced,
                    ..operator.token
                },
                exempt: false,
            }),
            None => {
                let message = format!("pasting gives `{text}`, which is not one token");
                self.error(message, operator.token.span);
                out.push(left);
                out.push(first);
            }
        }
        out.extend(right);
    }
}

/// Whether the next token of the innermost frame that is not exhausted is `(`.
fn at_paren(frames: &[Frame]) -> bool {
    let next = frames.iter().rev().find_map(|frame| frame.items.last());
    next.is_some_and(|it| it.token.kind == TokenKind::Symbol(Symbol::LParen))
}

/// The text of an argument as a string.
fn quoted(items: &[Item]) -> String {
    let mut text = String::from("\"");
    for (idx, item) in items.iter().enumerate() {
        if idx > 0 && item.token.spaced {
            text.push(' ');
        }
        for c in item.token.text.chars() {
            let is_string = matches!(item.token.kind, TokenKind::Str | TokenKind::Char);
            if is_string && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    text
}
