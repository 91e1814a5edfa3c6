//! Expressions, quantifiers and designators.
//!
//! Two things here are unlike most languages: `!` is looser than comparison, so that `!x = y`
//! is `!(x = y)`, and comparisons, `->` and `? :` do not associate at all.

use hadal_syntax::{Diagnostic, Span};

use super::Parser;
use crate::ast::{
    BinaryOp, Designator, Domain, Expr, ExprKind, Link, Name, QuantifiedKind, Quantifier, Step,
    UnaryOp,
};
use crate::literal::{self, BadInt};
use crate::token::{TokenKind, word};

/// How tightly an operator binds; the greater, the tighter.
type Level = u8;

const LOOSEST: Level = 0;
const COMPARISON: Level = 7;

fn binary_op(kind: TokenKind) -> Option<(BinaryOp, Level)> {
    Some(match kind {
        TokenKind::Arrow => (BinaryOp::Implies, LOOSEST),
        TokenKind::PipePipe => (BinaryOp::OrOr, 1),
        TokenKind::AmpAmp => (BinaryOp::AndAnd, 2),
        TokenKind::Pipe => (BinaryOp::Or, 3),
        TokenKind::Caret => (BinaryOp::Xor, 4),
        TokenKind::Amp => (BinaryOp::And, 5),
        // Level 6 is the operand of `&`, which `!` may begin.
        TokenKind::Eq | TokenKind::EqEq => (BinaryOp::Eq, COMPARISON),
        TokenKind::Ne => (BinaryOp::Ne, COMPARISON),
        TokenKind::Lt => (BinaryOp::Lt, COMPARISON),
        TokenKind::Le => (BinaryOp::Le, COMPARISON),
        TokenKind::Gt => (BinaryOp::Gt, COMPARISON),
        TokenKind::Ge => (BinaryOp::Ge, COMPARISON),
        TokenKind::Shl => (BinaryOp::Shl, 8),
        TokenKind::Shr => (BinaryOp::Shr, 8),
        TokenKind::Plus => (BinaryOp::Add, 9),
        TokenKind::Minus => (BinaryOp::Sub, 9),
        TokenKind::Star => (BinaryOp::Mul, 10),
        TokenKind::Slash => (BinaryOp::Div, 10),
        TokenKind::Percent => (BinaryOp::Mod, 10),
        _ => return None,
    })
}

fn is_chainable(op: BinaryOp) -> bool {
    op != BinaryOp::Implies && !op.is_comparison()
}

fn error_expr(span: Span) -> Expr {
    Expr {
        kind: ExprKind::Error,
        span,
    }
}

impl Parser<'_> {
    /// Whether an expression may begin here.
    pub(super) fn at_expr(&self) -> bool {
        self.at_any(&[
            TokenKind::Ident,
            TokenKind::Int,
            TokenKind::Real,
            TokenKind::True,
            TokenKind::False,
            TokenKind::LParen,
            TokenKind::Bang,
            TokenKind::Minus,
            TokenKind::Plus,
            TokenKind::Tilde,
            TokenKind::Forall,
            TokenKind::Exists,
            TokenKind::IsUndefined,
            TokenKind::IsMember,
        ])
    }

    /// Whether an operator between two operands stands after the next token.
    pub(super) fn operator_follows(&self) -> bool {
        let after = self.nth(1);
        binary_op(after).is_some() || matches!(after, TokenKind::Question | TokenKind::LongArrow)
    }

    pub(super) fn expr(&mut self) -> Expr {
        let start = self.span();
        self.nest(Self::conditional)
            .unwrap_or_else(|| error_expr(start))
    }

    /// An expression that is the whole text.
    pub(super) fn whole_expr(&mut self) -> Expr {
        let expr = self.expr();
        if !self.at(TokenKind::Eof) {
            self.expected("the end of the expression");
        }
        expr
    }

    fn conditional(&mut self) -> Expr {
        let start = self.span();
        let condition = self.binary(LOOSEST);
        if !self.eat(TokenKind::Question) {
            return condition;
        }
        let then = self.expr();
        self.expect(TokenKind::Colon);
        let otherwise = self.operand(LOOSEST);
        self.grow();
        let expr = Expr {
            kind: ExprKind::Conditional {
                condition: Box::new(condition),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            },
            span: self.since(start),
        };
        if self.at(TokenKind::Question) && !self.panicking {
            let span = self.span();
            self.report(
                Diagnostic::error("`? :` cannot be chained", span)
                    .help("put the inner one in parentheses"),
            );
            while self.eat(TokenKind::Question) {
                self.expr();
                self.expect(TokenKind::Colon);
                self.operand(LOOSEST);
            }
            return error_expr(self.since(start));
        }
        expr
    }

    /// An operand on the right of an operator.
    fn operand(&mut self, level: Level) -> Expr {
        let start = self.span();
        self.nest(|parser| parser.binary(level))
            .unwrap_or_else(|| error_expr(start))
    }

    /// Operators of this level and tighter ones.
    fn binary(&mut self, level: Level) -> Expr {
        let start = self.span();
        let mut lhs = self.prefix();
        while let Some((op, op_level)) = binary_op(self.peek()) {
            if op_level < level {
                break;
            }
            lhs = match is_chainable(op) {
                true => self.chain(lhs, op_level, start),
                false => self.non_associative(lhs, op, op_level, start),
            };
            self.grow();
        }
        lhs
    }

    /// The rest of `lhs + a - b …`. As a list, for such chains may be thousands of terms long.
    fn chain(&mut self, lhs: Expr, level: Level, start: Span) -> Expr {
        let mut rest = Vec::new();
        while let Some((op, _)) = binary_op(self.peek()).filter(|(_, at)| *at == level) {
            let op_span = self.bump();
            let operand = self.operand(level + 1);
            rest.push(Link {
                op,
                op_span,
                operand,
            });
        }
        Expr {
            kind: ExprKind::Chain {
                first: Box::new(lhs),
                rest,
            },
            span: self.since(start),
        }
    }

    fn non_associative(&mut self, lhs: Expr, op: BinaryOp, level: Level, start: Span) -> Expr {
        let op_span = self.bump();
        let rhs = self.operand(level + 1);
        let expr = Expr {
            kind: ExprKind::Binary {
                op,
                op_span,
                lhs: Box::new(lhs),
                rhs: Box::new(rhs),
            },
            span: self.since(start),
        };
        let same_level = |kind| binary_op(kind).is_some_and(|(_, at)| at == level);
        if same_level(self.peek()) && !self.panicking {
            let error = match op.is_comparison() {
                true => Diagnostic::error("comparison operators cannot be chained", self.span())
                    .help("compare two at a time and join them with `&`, or use parentheses"),
                false => Diagnostic::error("`->` cannot be chained", self.span())
                    .help("use parentheses to say which implication comes first"),
            };
            self.report(error.context(op_span, "after this one"));
            while same_level(self.peek()) {
                self.bump();
                self.operand(level + 1);
            }
            return error_expr(self.since(start));
        }
        expr
    }

    fn prefix(&mut self) -> Expr {
        let op = match self.peek() {
            TokenKind::Bang => UnaryOp::Not,
            TokenKind::Minus => UnaryOp::Neg,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Tilde => UnaryOp::BitNot,
            _ => return self.primary(),
        };
        let start = self.bump();
        let operand = match op {
            UnaryOp::Not => self.operand(COMPARISON),
            _ => self.nest(Self::prefix).unwrap_or_else(|| error_expr(start)),
        };
        Expr {
            kind: ExprKind::Unary {
                op,
                operand: Box::new(operand),
            },
            span: self.since(start),
        }
    }

    fn primary(&mut self) -> Expr {
        let start = self.span();
        let kind = match self.peek() {
            TokenKind::Int => ExprKind::Int(self.int()),
            TokenKind::Real => self.real(),
            TokenKind::True | TokenKind::False => {
                let value = self.at(TokenKind::True);
                self.bump();
                ExprKind::Bool(value)
            }
            TokenKind::LParen => {
                self.bump();
                let inner = self.expr();
                self.close(TokenKind::RParen, start);
                inner.kind
            }
            TokenKind::Forall => self.quantified(QuantifiedKind::Forall),
            TokenKind::Exists => self.quantified(QuantifiedKind::Exists),
            TokenKind::IsUndefined => {
                self.bump();
                self.expect(TokenKind::LParen);
                let value = self.expr();
                self.expect(TokenKind::RParen);
                ExprKind::IsUndefined(Box::new(value))
            }
            TokenKind::IsMember => {
                self.bump();
                self.expect(TokenKind::LParen);
                let value = self.expr();
                self.expect(TokenKind::Comma);
                let ty = self.type_expr();
                self.expect(TokenKind::RParen);
                ExprKind::IsMember {
                    value: Box::new(value),
                    ty: Box::new(ty),
                }
            }
            TokenKind::Ident => self.named(),
            _ => {
                self.expected("an expression");
                return error_expr(start);
            }
        };
        Expr {
            kind,
            span: self.since(start),
        }
    }

    /// What begins with a name: a designator, a call, or a word that only one tool reserves.
    fn named(&mut self) -> ExprKind {
        let after = self.nth(1);
        if after == TokenKind::LParen {
            let binds = self.nth(2) == TokenKind::Ident && self.nth(3) == TokenKind::Colon;
            if binds && self.at_word(word::MULTISETCOUNT) {
                self.bump();
                let (name, multiset, condition) = self.multiset_predicate();
                return ExprKind::MultisetCount {
                    name,
                    multiset: Box::new(multiset),
                    condition: Box::new(condition),
                };
            }
            let callee = self.bump_name();
            let args = self.args();
            if self.at_any(&[TokenKind::Dot, TokenKind::LBracket]) {
                self.syntax_error(|parser| {
                    Diagnostic::error(
                        "a part of a function's result cannot be taken",
                        parser.span(),
                    )
                    .help("store the result in a local variable first")
                });
            }
            return ExprKind::Call { callee, args };
        }
        let has_steps = matches!(after, TokenKind::Dot | TokenKind::LBracket);
        if self.at_word(word::UNDEFINED) && !has_steps && !self.is_declared() {
            self.bump();
            return ExprKind::Undefined;
        }
        ExprKind::Designator(self.designator())
    }

    /// A variable or a part of one.
    pub(super) fn designator(&mut self) -> Designator {
        let start = self.span();
        let base = match self.at(TokenKind::Ident) {
            true => self.bump_name(),
            false => {
                self.expected("the name of a variable");
                Name {
                    text: "".into(),
                    span: self.prev_span().after(),
                }
            }
        };
        let mut steps = Vec::new();
        loop {
            match self.peek() {
                TokenKind::Dot => {
                    self.bump();
                    match self.at(TokenKind::Ident) {
                        true => steps.push(Step::Field(self.bump_name())),
                        false => self.expected("the name of a field"),
                    }
                }
                TokenKind::LBracket => {
                    let open = self.bump();
                    let index = Box::new(self.expr());
                    self.close(TokenKind::RBracket, open);
                    steps.push(Step::Index {
                        index,
                        span: self.since(open),
                    });
                }
                _ => break,
            }
        }
        Designator {
            base,
            steps,
            span: self.since(start),
        }
    }

    /// `(a, b, c)`, with a comma after the last if one likes.
    pub(super) fn args(&mut self) -> Vec<Expr> {
        let open = self.span();
        self.expect(TokenKind::LParen);
        let args = match self.at_expr() {
            true => self.expr_list(),
            false => Vec::new(),
        };
        self.close(TokenKind::RParen, open);
        args
    }

    /// `a, b, c`, with a comma after the last if one likes.
    pub(super) fn expr_list(&mut self) -> Vec<Expr> {
        let mut list = vec![self.expr()];
        while self.eat(TokenKind::Comma) && self.at_expr() {
            list.push(self.expr());
        }
        list
    }

    /// `(i: m, condition)`
    pub(super) fn multiset_predicate(&mut self) -> (Name, Designator, Expr) {
        self.expect(TokenKind::LParen);
        let name = self.declare("a name for the elements");
        self.expect(TokenKind::Colon);
        let multiset = self.designator();
        self.expect(TokenKind::Comma);
        let condition = self.expr();
        self.expect(TokenKind::RParen);
        (name, multiset, condition)
    }

    fn quantified(&mut self, kind: QuantifiedKind) -> ExprKind {
        let opener = self.open(match kind {
            QuantifiedKind::Forall => "forall",
            QuantifiedKind::Exists => "exists",
        });
        let quantifiers = self.quantifiers();
        if !self.eat(TokenKind::Do) && !self.eat(TokenKind::Colon) {
            self.expected("`do`");
        }
        let body = Box::new(self.expr());
        if self.panicking {
            self.skip_quantified();
        } else {
            self.expect_end(opener);
        }
        ExprKind::Quantified {
            kind,
            quantifiers,
            body,
        }
    }

    /// After an error inside a quantified expression, skips its `end`, which would otherwise end
    /// something else.
    fn skip_quantified(&mut self) {
        let mut n_open = 1usize;
        while n_open > 0 {
            match self.peek() {
                TokenKind::Forall | TokenKind::Exists => n_open += 1,
                TokenKind::End => n_open -= 1,
                TokenKind::LongArrow | TokenKind::Then => return,
                _ if self.at_sync() => return,
                _ => {}
            }
            self.bump();
        }
    }

    /// `i: t; j := 0 to 3`
    pub(super) fn quantifiers(&mut self) -> Vec<Quantifier> {
        let mut list = vec![self.quantifier()];
        while self.at(TokenKind::Semi) {
            self.eat_semis();
            if !self.at(TokenKind::Ident) {
                break;
            }
            list.push(self.quantifier());
        }
        list
    }

    fn quantifier(&mut self) -> Quantifier {
        let start = self.span();
        let name = self.declare("a name to quantify over");
        let domain = if self.eat(TokenKind::Assign) {
            let from = Box::new(self.expr());
            self.expect(TokenKind::To);
            let to = Box::new(self.expr());
            let by = self.eat(TokenKind::By).then(|| Box::new(self.expr()));
            Domain::Range { from, to, by }
        } else {
            if !self.eat(TokenKind::Colon) {
                self.expected("`:` or `:=`");
            }
            Domain::Type(self.type_expr())
        };
        Quantifier {
            name,
            domain,
            span: self.since(start),
        }
    }

    /// Takes a closing bracket.
    pub(super) fn close(&mut self, kind: TokenKind, open: Span) {
        if !self.eat(kind) {
            self.syntax_error(|parser| {
                let (what, found) = (kind.describe(), parser.found());
                Diagnostic::error(format!("expected {what}, found {found}"), parser.place())
                    .label(format!("expected {what}"))
                    .context(Span::new(open.start, open.start + 1), "opened here")
            });
        }
    }

    pub(super) fn int(&mut self) -> i64 {
        let text = self.text();
        let value = literal::int_value(text, self.dialect);
        let is_ambiguous = self.dialect.warns_of_leading_zero() && literal::is_ambiguous_int(text);
        let span = self.bump();
        let value = value.and_then(|value| i64::try_from(value).map_err(|_| BadInt::TooLarge));
        if is_ambiguous && value.is_ok() {
            self.report(
                Diagnostic::warning("this number is decimal in spite of its leading zero", span)
                    .note("CMurphi reads it so, too, but rumur takes it as octal")
                    .help("drop the leading zero"),
            );
        }
        value.unwrap_or_else(|bad| {
            self.report(match bad {
                BadInt::TooLarge => Diagnostic::error("this number is too large", span)
                    .note("numbers have 64 bits: the largest is 9223372036854775807"),
                BadInt::NotOctal => Diagnostic::error("this octal number has a digit 8 or 9", span)
                    .note("in the dialect `rumur`, a leading zero makes a number octal"),
            });
            0
        })
    }

    fn real(&mut self) -> ExprKind {
        let text = self.text().into();
        let span = self.bump();
        self.report(
            Diagnostic::error("numbers of type `real` are not supported", span)
                .help("scale the quantity and use an integer subrange"),
        );
        ExprKind::Real(text)
    }
}
