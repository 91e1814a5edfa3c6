//! Statements.

use hadal_syntax::Diagnostic;

use super::{DO, Opener, Parser};
use crate::ast::{Alias, Branch, Case, PropertyKind, Stmt, StmtKind};
use crate::token::{TokenKind, word};

impl Parser<'_> {
    /// Statements, up to a word that closes or divides the construct around them.
    pub(super) fn stmts(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        loop {
            self.eat_semis();
            if self.at_block_end() {
                return stmts;
            }
            let before = self.pos;
            self.panicking = false;
            if self.has_new_errors() && self.skip_stray_part() {
                continue;
            }
            stmts.push(self.stmt());
            if !self.panicking {
                self.expect_separator();
            }
            if self.panicking {
                self.skip_until(Self::at_sync);
                self.panicking = false;
            }
            if self.pos == before && !self.at_block_end() {
                self.bump();
            }
        }
    }

    /// Skips a part of an `if` or `switch` whose beginning could not be parsed, up to its
    /// statements.
    fn skip_stray_part(&mut self) -> bool {
        let header_end = match self.peek() {
            TokenKind::Else => None,
            TokenKind::Elsif => Some(TokenKind::Then),
            TokenKind::Case => Some(TokenKind::Colon),
            _ => return false,
        };
        self.bump();
        if let Some(kind) = header_end {
            self.skip_until(|parser| parser.at(kind) || parser.at_sync());
            self.eat(kind);
        }
        true
    }

    /// Takes a `;` between two statements, if one is needed.
    fn expect_separator(&mut self) {
        if self.at(TokenKind::Semi) || self.at_block_end() {
            return;
        }
        if self.at(TokenKind::Ident) || self.at_statement_word() {
            let place = self.prev_span().after();
            self.syntax_error(|_| {
                Diagnostic::error("expected `;` between two statements", place)
                    .label("write `;` here")
            });
            self.panicking = false;
        } else if !self.at_stray_part() || !self.has_new_errors() {
            self.expected("`;` or `end`");
        }
    }

    fn at_stray_part(&self) -> bool {
        self.at_any(&[TokenKind::Else, TokenKind::Elsif, TokenKind::Case])
    }

    /// Whether no statement can follow in the current list.
    fn at_block_end(&self) -> bool {
        match self.peek() {
            TokenKind::End | TokenKind::Eof => true,
            TokenKind::Elsif => self.n_open_ifs > 0,
            TokenKind::Case => self.n_open_switches > 0,
            TokenKind::Else => self.n_open_ifs + self.n_open_switches > 0,
            TokenKind::Ident => {
                let assigns = matches!(
                    self.nth(1),
                    TokenKind::Assign | TokenKind::Dot | TokenKind::LBracket | TokenKind::LParen
                );
                self.at_end_word() && !assigns
            }
            _ => self.at_item_word(),
        }
    }

    /// Whether the next token can only begin a statement (or a rule).
    pub(super) fn at_statement_word(&self) -> bool {
        self.at_any(&[
            TokenKind::Alias,
            TokenKind::Assert,
            TokenKind::Clear,
            TokenKind::Error,
            TokenKind::For,
            TokenKind::If,
            TokenKind::Invariant,
            TokenKind::Put,
            TokenKind::Return,
            TokenKind::Switch,
            TokenKind::Undefine,
            TokenKind::While,
        ])
    }

    fn stmt(&mut self) -> Stmt {
        let start = self.span();
        let kind = self.nest(Self::stmt_kind).unwrap_or(StmtKind::Missing);
        Stmt {
            kind,
            span: self.since(start),
        }
    }

    fn stmt_kind(&mut self) -> StmtKind {
        match self.peek() {
            TokenKind::Ident => self.named_stmt(),
            TokenKind::If => self.if_stmt(),
            TokenKind::Switch => self.switch_stmt(),
            TokenKind::For => {
                let opener = self.open("for");
                let quantifiers = self.quantifiers();
                self.expect_header_end(DO);
                let body = self.stmts();
                self.expect_end(opener);
                StmtKind::For { quantifiers, body }
            }
            TokenKind::While => {
                let opener = self.open("while");
                let condition = self.expr();
                self.expect_header_end(DO);
                let body = self.stmts();
                self.expect_end(opener);
                StmtKind::While { condition, body }
            }
            TokenKind::Alias => {
                let (opener, aliases) = self.alias_header();
                let body = self.stmts();
                self.expect_end(opener);
                StmtKind::Alias { aliases, body }
            }
            TokenKind::Return => {
                self.bump();
                StmtKind::Return(self.at_expr().then(|| self.expr()))
            }
            TokenKind::Error => {
                self.bump();
                match self.eat_text() {
                    Some(text) => StmtKind::Error(text),
                    None => {
                        self.expected("a string");
                        StmtKind::Missing
                    }
                }
            }
            TokenKind::Assert | TokenKind::Invariant => {
                self.bump();
                self.property_stmt(PropertyKind::Invariant)
            }
            TokenKind::Put => {
                self.bump();
                match self.eat_text() {
                    Some(text) => StmtKind::PutText(text),
                    None => StmtKind::Put(self.expr()),
                }
            }
            TokenKind::Clear => {
                self.bump();
                StmtKind::Clear(self.designator())
            }
            TokenKind::Undefine => {
                self.bump();
                StmtKind::Undefine(self.designator())
            }
            _ => {
                self.expected("a statement");
                StmtKind::Missing
            }
        }
    }

    /// What begins with a name: an assignment, a call, or a word that only one tool reserves.
    fn named_stmt(&mut self) -> StmtKind {
        let after = self.nth(1);
        if let Some(kind) = self.property_word() {
            let is_name = match after {
                TokenKind::Assign | TokenKind::Dot | TokenKind::LBracket | TokenKind::Semi => true,
                TokenKind::LParen => self.is_declared(),
                _ => false,
            };
            if !is_name {
                let span = self.bump();
                if kind == PropertyKind::Liveness {
                    self.report(
                        Diagnostic::error("`liveness` is not a statement", span)
                            .note("it is a property of all runs, and stands among the rules"),
                    );
                }
                return self.property_stmt(kind);
            }
        }
        if after == TokenKind::LParen {
            return self.call_stmt();
        }
        let is_target = matches!(
            after,
            TokenKind::Assign
                | TokenKind::Dot
                | TokenKind::LBracket
                | TokenKind::Eq
                | TokenKind::EqEq
        );
        if !is_target && self.guess().is_some() {
            self.syntax_error(|parser| {
                let found = parser.found();
                parser.with_guess(
                    Diagnostic::error(
                        format!("expected a statement, found {found}"),
                        parser.span(),
                    )
                    .label("expected a statement"),
                )
            });
            if self.correct_word(Self::at_statement_word) {
                return self.stmt_kind();
            }
        }
        let target = self.designator();
        match self.peek() {
            TokenKind::Assign => {
                self.bump();
            }
            TokenKind::Eq | TokenKind::EqEq => {
                self.syntax_error(|parser| {
                    let found = parser.found();
                    Diagnostic::error(format!("expected `:=`, found {found}"), parser.span())
                        .label("expected `:=`")
                        .help("`:=` assigns; `=` compares")
                });
                self.bump();
            }
            _ => {
                self.expected(match target.steps.is_empty() {
                    true => "`:=` or `(`",
                    false => "`:=`",
                });
                return StmtKind::Missing;
            }
        }
        let value = self.expr();
        StmtKind::Assign { target, value }
    }

    fn call_stmt(&mut self) -> StmtKind {
        if !self.is_declared() {
            if self.at_word(word::MULTISETADD) || self.at_word(word::MULTISETREMOVE) {
                let is_add = self.at_word(word::MULTISETADD);
                self.bump();
                let open = self.bump();
                let value = self.expr();
                self.expect(TokenKind::Comma);
                let multiset = self.designator();
                self.close(TokenKind::RParen, open);
                return match is_add {
                    true => StmtKind::MultisetAdd {
                        element: value,
                        multiset,
                    },
                    false => StmtKind::MultisetRemove {
                        index: value,
                        multiset,
                    },
                };
            }
            if self.at_word(word::MULTISETREMOVEPRED) {
                self.bump();
                let (name, multiset, condition) = self.multiset_predicate();
                return StmtKind::MultisetRemovePred {
                    name,
                    multiset,
                    condition,
                };
            }
        }
        let callee = self.bump_name();
        let args = self.args();
        StmtKind::Call { callee, args }
    }

    /// The property that a word of rumur's begins, if it is one.
    pub(super) fn property_word(&self) -> Option<PropertyKind> {
        let words = [
            (word::ASSUME, PropertyKind::Assume),
            (word::COVER, PropertyKind::Cover),
            (word::LIVENESS, PropertyKind::Liveness),
        ];
        let found = words.into_iter().find(|(word, _)| self.at_word(word));
        found.map(|(_, kind)| kind)
    }

    /// What follows `assert` and the like; the message may stand on either side.
    fn property_stmt(&mut self, kind: PropertyKind) -> StmtKind {
        let before = self.eat_text();
        let condition = self.expr();
        let message = before.or_else(|| self.eat_text());
        StmtKind::Property {
            kind,
            message,
            condition,
        }
    }

    fn if_stmt(&mut self) -> StmtKind {
        let opener = self.open("if");
        self.n_open_ifs += 1;
        let mut branches = vec![self.branch(opener)];
        while self.at(TokenKind::Elsif) {
            let opener = self.open("elsif");
            branches.push(self.branch(opener));
        }
        let otherwise = self.at(TokenKind::Else).then(|| {
            let span = self.bump();
            if self.at(TokenKind::If) && self.else_if.is_none() {
                self.else_if = Some(span.to(self.span()));
            }
            self.stmts()
        });
        while self.at_any(&[TokenKind::Else, TokenKind::Elsif]) {
            self.after_else();
            if self.eat(TokenKind::Elsif) {
                self.expr();
                self.expect_header_end(&[TokenKind::Then]);
            } else {
                self.bump();
            }
            self.stmts();
        }
        self.n_open_ifs -= 1;
        self.expect_end(opener);
        StmtKind::If {
            branches,
            otherwise,
        }
    }

    /// Reports a part of an `if` or `switch` that stands behind its `else`.
    fn after_else(&mut self) {
        self.syntax_error(|parser| {
            let found = parser.text();
            Diagnostic::error(format!("`{found}` after `else`"), parser.span())
                .help("`else` comes once, and last; or is an `end` missing above?")
        });
        self.panicking = false;
    }

    fn branch(&mut self, opener: Opener) -> Branch {
        let condition = self.expr();
        self.expect_header_end(&[TokenKind::Then]);
        let body = self.stmts();
        Branch {
            condition,
            body,
            span: self.since(opener.span),
        }
    }

    fn switch_stmt(&mut self) -> StmtKind {
        let opener = self.open("switch");
        let subject = self.expr();
        if !self.at_any(&[TokenKind::Case, TokenKind::Else, TokenKind::End]) {
            self.expected("`case`");
            let parts = [TokenKind::Case, TokenKind::Else, TokenKind::End];
            self.skip_until(|parser| parser.at_any(&parts) || parser.at_item_word());
        }
        self.panicking = false;
        self.n_open_switches += 1;
        let mut cases = Vec::new();
        while self.at(TokenKind::Case) {
            let start = self.bump();
            let labels = self.expr_list();
            self.expect_header_end(&[TokenKind::Colon]);
            let body = self.stmts();
            cases.push(Case {
                labels,
                body,
                span: self.since(start),
            });
        }
        let otherwise = self.eat(TokenKind::Else).then(|| self.stmts());
        while self.at_any(&[TokenKind::Else, TokenKind::Case]) {
            self.after_else();
            if self.eat(TokenKind::Case) {
                self.expr_list();
                self.expect_header_end(&[TokenKind::Colon]);
            } else {
                self.bump();
            }
            self.stmts();
        }
        self.n_open_switches -= 1;
        self.expect_end(opener);
        StmtKind::Switch {
            subject,
            cases,
            otherwise,
        }
    }

    /// `alias a: x; b: y do`, in front of statements or rules.
    pub(super) fn alias_header(&mut self) -> (Opener, Vec<Alias>) {
        let opener = self.open("alias");
        let mut aliases = Vec::new();
        loop {
            let start = self.span();
            let name = self.declare("a name for the alias");
            self.expect(TokenKind::Colon);
            let value = self.expr();
            aliases.push(Alias {
                name,
                value,
                span: self.since(start),
            });
            if self.at(TokenKind::Comma) && !self.panicking {
                let span = self.bump();
                self.report(Diagnostic::error("aliases are separated by `;`", span));
            }
            self.eat_semis();
            if !self.at(TokenKind::Ident) || self.nth(1) != TokenKind::Colon || self.panicking {
                break;
            }
        }
        self.expect_header_end(DO);
        (opener, aliases)
    }
}
