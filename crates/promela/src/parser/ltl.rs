//! Formulas of linear temporal logic.
//!
//! From loosest to tightest: `->` and `<->`, `||`, `&&`, the prefixes `[]` and `<>`, `U W V`, `X`,
//! and then expressions and `!`.

use super::Parser;
use crate::ast::{ExprKind, Formula, FormulaOp, UnaryOp};
use crate::token::{Symbol, TokenKind};

/// The level of the operands of `[]` and `<>`.
const UNTIL: u8 = 3;

/// The level of the operands of `X`.
const NEXT: u8 = 4;

impl Parser {
    pub(super) fn formula(&mut self) -> Formula {
        let formula = self.nest(|parser| parser.formula_level(0, 0));
        formula.unwrap_or_else(error_formula)
    }

    /// A formula of operators of at least a level; `chain` is the height of the chain so far.
    fn formula_level(&mut self, level: u8, chain: usize) -> Formula {
        let mut left = self.formula_prefix();
        let mut n = chain;
        while let Some((op, own, n_tokens)) = self.formula_op() {
            if own < level || self.panicking {
                break;
            }
            n += 1;
            if n > super::MAX_NESTING {
                self.too_deep();
                break;
            }
            for _ in 0..n_tokens {
                self.bump();
            }
            let right = self.nest(|parser| parser.formula_level(own + 1, n));
            let right = right.unwrap_or_else(error_formula);
            left = Formula::Binary(op, Box::new(left), Box::new(right));
        }
        left
    }

    /// The next binary operator, its level and its number of tokens.
    fn formula_op(&self) -> Option<(FormulaOp, u8, usize)> {
        Some(match self.peek() {
            TokenKind::Symbol(Symbol::Arrow) => (FormulaOp::Implies, 0, 1),
            TokenKind::Symbol(Symbol::Less) if self.nth_is(1, Symbol::Arrow) => {
                (FormulaOp::Iff, 0, 2)
            }
            TokenKind::Symbol(Symbol::OrOr | Symbol::LogicalOr) => (FormulaOp::Or, 1, 1),
            TokenKind::Symbol(Symbol::AndAnd | Symbol::LogicalAnd) => (FormulaOp::And, 2, 1),
            TokenKind::Ident => match &*self.token().text {
                "implies" => (FormulaOp::Implies, 0, 1),
                "equivalent" => (FormulaOp::Iff, 0, 1),
                "U" | "until" | "stronguntil" => (FormulaOp::Until, UNTIL, 1),
                "W" | "weakuntil" => (FormulaOp::WeakUntil, UNTIL, 1),
                "V" | "release" => (FormulaOp::Release, UNTIL, 1),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn formula_prefix(&mut self) -> Formula {
        let word = match self.peek() {
            TokenKind::Ident => &*self.token().text,
            _ => "",
        };
        let is_always =
            word == "always" || self.at(Symbol::LBracket) && self.nth_is(1, Symbol::RBracket);
        let is_eventually =
            word == "eventually" || self.at(Symbol::Less) && self.nth_is(1, Symbol::Greater);
        let n_tokens = if word.is_empty() { 2 } else { 1 };
        if is_always || is_eventually {
            for _ in 0..n_tokens {
                self.bump();
            }
            let operand = self.nested_formula(UNTIL);
            return match is_always {
                true => Formula::Always(operand),
                false => Formula::Eventually(operand),
            };
        }
        if self.at_next() {
            self.bump();
            return Formula::Next(self.nested_formula(NEXT));
        }
        self.formula_operand()
    }

    /// Whether `X` is next as an operator, rather than as the name of a variable.
    fn at_next(&self) -> bool {
        let is_word =
            self.peek() == TokenKind::Ident && matches!(&*self.token().text, "X" | "next");
        let starts_operand = match self.nth(1) {
            TokenKind::Symbol(Symbol::Less) => self.nth_is(2, Symbol::Greater),
            TokenKind::Symbol(Symbol::LBracket) => self.nth_is(2, Symbol::RBracket),
            TokenKind::Symbol(Symbol::LParen | Symbol::Bang) => true,
            TokenKind::Symbol(_) | TokenKind::Eof => false,
            _ => true,
        };
        is_word && starts_operand
    }

    fn nested_formula(&mut self, level: u8) -> Box<Formula> {
        let operand = self.nest(|parser| parser.formula_level(level, 0));
        Box::new(operand.unwrap_or_else(error_formula))
    }

    /// An expression, a negation, or a formula in parentheses.
    fn formula_operand(&mut self) -> Formula {
        let start = self.pos;
        let operand = if self.eat(Symbol::Bang) {
            let inner = self.nest(Self::formula_primary);
            match inner.unwrap_or_else(error_formula) {
                Formula::Atom(expr) => {
                    let span = self.since(start);
                    let kind = ExprKind::Unary(UnaryOp::Not, Box::new(expr));
                    Formula::Atom(self.make(kind, span))
                }
                inner => Formula::Not(Box::new(inner)),
            }
        } else {
            self.formula_primary()
        };
        match operand {
            Formula::Atom(expr) if !self.at_iff() => {
                // Above `&&`: the logical operators belong to the formula.
                let level = crate::ast::BinaryOp::BitOr.precedence();
                Formula::Atom(self.binary_from(expr, level))
            }
            other => other,
        }
    }

    fn at_iff(&self) -> bool {
        self.at(Symbol::Less) && self.nth_is(1, Symbol::Arrow)
    }

    fn formula_primary(&mut self) -> Formula {
        if self.at(Symbol::LParen) {
            let start = self.pos;
            self.bump();
            let inner = self.formula();
            self.expect(Symbol::RParen);
            return match inner {
                Formula::Atom(mut expr) => {
                    expr.span = self.since(start);
                    Formula::Atom(expr)
                }
                other => other,
            };
        }
        let is_prefix = self.at(Symbol::Bang)
            || self.at(Symbol::LBracket) && self.nth_is(1, Symbol::RBracket)
            || self.at(Symbol::Less) && self.nth_is(1, Symbol::Greater)
            || self.peek() == TokenKind::Ident
                && matches!(&*self.token().text, "always" | "eventually")
            || self.at_next();
        if is_prefix {
            let formula = self.nest(Self::formula_prefix);
            return formula.unwrap_or_else(error_formula);
        }
        Formula::Atom(self.unary())
    }
}

fn error_formula() -> Formula {
    Formula::Atom(crate::ast::Expr {
        kind: ExprKind::Error,
        span: crate::text::TokenSpan::default(),
        height: 1,
    })
}
