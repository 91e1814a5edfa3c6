//! The integer expressions of `#if` and `#elif`.

use hadal_syntax::Span;

use super::Preprocessor;
use crate::text::Token;
use crate::token::{Symbol, TokenKind};

/// Depth of parentheses and operators.
const MAX_DEPTH: usize = 100;

impl Preprocessor<'_, '_> {
    /// The condition of `#if`; an error counts as false.
    pub(super) fn integer_condition(&mut self, span: Span, tokens: Vec<Token>) -> bool {
        let tokens = self.resolve_defined(tokens);
        let tokens = self.expand_all(tokens);
        let mut parser = Condition {
            tokens: &tokens,
            at: 0,
            error: None,
        };
        let value = parser.ternary(0);
        if parser.at < tokens.len() && parser.error.is_none() {
            parser.error = Some("unexpected text after the condition");
        }
        match parser.error {
            None => value != 0,
            Some(message) => {
                self.error(format!("invalid condition: {message}"), span);
                false
            }
        }
    }

    /// Replaces `defined X` and `defined(X)` by 1 or 0.
    fn resolve_defined(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut at = 0;
        let is = |at: usize, symbol| {
            tokens
                .get(at)
                .is_some_and(|it: &Token| it.kind == TokenKind::Symbol(symbol))
        };
        while at < tokens.len() {
            let token = &tokens[at];
            if &*token.text != "defined" {
                out.push(token.clone());
                at += 1;
                continue;
            }
            let in_parens = is(at + 1, Symbol::LParen) && is(at + 3, Symbol::RParen);
            let name = tokens.get(at + 1 + usize::from(in_parens));
            let is_defined = name.is_some_and(|it| self.is_macro(&it.text));
            out.push(Token {
                kind: TokenKind::Number,
                text: self.interner.get(if is_defined { "1" } else { "0" }),
                ..token.clone()
            });
            at += if in_parens { 4 } else { 2 };
        }
        out
    }
}

struct Condition<'t> {
    tokens: &'t [Token],
    at: usize,
    error: Option<&'static str>,
}

impl Condition<'_> {
    fn fail(&mut self, message: &'static str) -> i64 {
        self.error.get_or_insert(message);
        self.at = self.tokens.len();
        0
    }

    fn symbol(&self) -> Option<Symbol> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn eat(&mut self, symbol: Symbol) -> bool {
        let found = self.symbol() == Some(symbol);
        self.at += usize::from(found);
        found
    }

    fn ternary(&mut self, depth: usize) -> i64 {
        let condition = self.binary(0, depth);
        if !self.eat(Symbol::Query) {
            return condition;
        }
        if depth > MAX_DEPTH {
            return self.fail("it is nested too deeply");
        }
        let yes = self.ternary(depth + 1);
        if !self.eat(Symbol::Colon) {
            return self.fail("expected `:`");
        }
        let no = self.ternary(depth + 1);
        if condition != 0 { yes } else { no }
    }

    fn binary(&mut self, level: u8, depth: usize) -> i64 {
        let mut left = self.unary(depth);
        while let Some((symbol, precedence)) = self.symbol().and_then(|it| Some((it, rank(it)?))) {
            if precedence < level {
                break;
            }
            self.at += 1;
            let right = self.binary(precedence + 1, depth);
            left = self.apply(symbol, left, right);
        }
        left
    }

    fn apply(&mut self, symbol: Symbol, a: i64, b: i64) -> i64 {
        match symbol {
            Symbol::OrOr => i64::from(a != 0 || b != 0),
            Symbol::AndAnd => i64::from(a != 0 && b != 0),
            Symbol::Or => a | b,
            Symbol::Caret => a ^ b,
            Symbol::And => a & b,
            Symbol::Eq => i64::from(a == b),
            Symbol::Ne => i64::from(a != b),
            Symbol::Less => i64::from(a < b),
            Symbol::Le => i64::from(a <= b),
            Symbol::Greater => i64::from(a > b),
            Symbol::Ge => i64::from(a >= b),
            Symbol::Shl => a.wrapping_shl(b as u32),
            Symbol::Shr => a.wrapping_shr(b as u32),
            Symbol::Plus => a.wrapping_add(b),
            Symbol::Minus => a.wrapping_sub(b),
            Symbol::Star => a.wrapping_mul(b),
            _ if b == 0 => self.fail("division by zero"),
            Symbol::Slash => a.wrapping_div(b),
            _ => a.wrapping_rem(b),
        }
    }

    fn unary(&mut self, depth: usize) -> i64 {
        if depth > MAX_DEPTH {
            return self.fail("it is nested too deeply");
        }
        let Some(token) = self.tokens.get(self.at) else {
            return self.fail("an operand is missing");
        };
        self.at += 1;
        match token.kind {
            TokenKind::Number => crate::literal::c_number(&token.text)
                .unwrap_or_else(|| self.fail("a number is out of range")),
            TokenKind::Char => crate::literal::character(&token.text).into(),
            TokenKind::Ident => 0,
            TokenKind::Symbol(Symbol::Bang) => i64::from(self.unary(depth + 1) == 0),
            TokenKind::Symbol(Symbol::BangBang) => i64::from(self.unary(depth + 1) != 0),
            TokenKind::Symbol(Symbol::Tilde) => !self.unary(depth + 1),
            TokenKind::Symbol(Symbol::Minus) => self.unary(depth + 1).wrapping_neg(),
            TokenKind::Symbol(Symbol::Plus) => self.unary(depth + 1),
            TokenKind::Symbol(Symbol::LParen) => {
                let value = self.ternary(depth + 1);
                if !self.eat(Symbol::RParen) {
                    return self.fail("expected `)`");
                }
                value
            }
            _ => self.fail("expected an operand"),
        }
    }
}

/// The precedence of a binary operator.
fn rank(symbol: Symbol) -> Option<u8> {
    Some(match symbol {
        Symbol::OrOr => 0,
        Symbol::AndAnd => 1,
        Symbol::Or => 2,
        Symbol::Caret => 3,
        Symbol::And => 4,
        Symbol::Eq | Symbol::Ne => 5,
        Symbol::Less | Symbol::Le | Symbol::Greater | Symbol::Ge => 6,
        Symbol::Shl | Symbol::Shr => 7,
        Symbol::Plus | Symbol::Minus => 8,
        Symbol::Star | Symbol::Slash | Symbol::Percent => 9,
        _ => return None,
    })
}
