//! Statements.

use super::Parser;
use crate::ast::{Receive, Send, Seq, Stmt, StmtKind, VarRef};
use crate::literal;
use crate::text::TokenSpan;
use crate::token::{Symbol, TokenKind, Word};

impl Parser {
    /// `{ ... }`, whose opening brace is next.
    pub(super) fn block(&mut self, what: &'static str) -> Seq {
        let start = self.pos;
        self.bump();
        let mut stmts = Vec::new();
        loop {
            let part = self.nest(Self::stmts);
            stmts.extend(part.unwrap_or_default());
            if self.eat(Symbol::RBrace) {
                break;
            }
            // Inside an option it belongs to the selection around, and the block is not closed.
            if self.at_stray() && self.open_selections == 0 {
                self.stray();
                continue;
            }
            let opened = TokenSpan::new(start as u32, start as u32 + 1);
            self.syntax_error(|parser| {
                let found = parser.found();
                let error = parser
                    .text
                    .error(format!("expected `}}`, found {found}"), parser.place())
                    .label("expected `}`");
                let text = match what {
                    "block" => "this `{` is not closed".to_owned(),
                    what => format!("the `{{` of this `{what}` is not closed"),
                };
                parser.text.context(error, opened, text)
            });
            self.panicking = false;
            break;
        }
        Seq {
            stmts,
            span: self.since(start),
        }
    }

    /// Whether a word is next that closes or divides a construct that is not open.
    fn at_stray(&self) -> bool {
        self.at(Symbol::ColonColon) || self.at_word(Word::Fi) || self.at_word(Word::Od)
    }

    fn stray(&mut self) {
        self.syntax_error(|parser| {
            let (word, opener) = match parser.peek() {
                TokenKind::Word(Word::Fi) => ("fi", "`if`"),
                TokenKind::Word(Word::Od) => ("od", "`do`"),
                _ => ("::", "`if` or `do`"),
            };
            parser.text.error(
                format!("`{word}` without an {opener} that is open").replace("an `do`", "a `do`"),
                parser.here(),
            )
        });
        self.panicking = false;
        self.bump();
    }

    /// All statements of the body of an `inline`.
    pub(super) fn stmts_to_end(&mut self) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.open_selections);
        let mut stmts = self.stmts();
        while self.peek() != TokenKind::Eof {
            let before = self.pos;
            if self.at_stray() {
                self.stray();
            } else {
                self.expected("a statement");
                self.panicking = false;
                self.bump();
            }
            stmts.extend(self.stmts());
            if self.pos == before {
                self.bump();
            }
        }
        self.open_selections = outer;
        stmts
    }

    /// Statements, up to a token that closes or divides the construct around them.
    pub(super) fn stmts(&mut self) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        loop {
            while self.eat(Symbol::Semi) || self.eat(Symbol::Arrow) {}
            if self.at_seq_end() {
                return stmts;
            }
            let before = self.pos;
            self.panicking = false;
            let stmt = self.nest(Self::stmt);
            stmts.extend(stmt);
            if !self.panicking {
                self.expect_separator();
            }
            if self.panicking {
                self.skip_until(Self::at_sync);
                self.panicking = false;
            }
            if self.pos == before && !self.at_seq_end() {
                self.bump();
            }
        }
    }

    fn at_seq_end(&self) -> bool {
        self.at(Symbol::RBrace)
            || self.at_stray()
            || self.peek() == TokenKind::Eof
            || self.at_item_word()
    }

    /// Whether a statement begins or ends here, judged by one token.
    fn at_sync(&self) -> bool {
        self.at(Symbol::Semi) || self.at(Symbol::Arrow) || self.at_seq_end() || self.at_compound()
    }

    fn at_compound(&self) -> bool {
        matches!(
            self.peek(),
            TokenKind::Word(
                Word::If
                    | Word::Do
                    | Word::Atomic
                    | Word::DStep
                    | Word::For
                    | Word::Select
                    | Word::Goto
                    | Word::Break
                    | Word::Assert
                    | Word::Printf
            )
        )
    }

    /// Takes the separator between two statements, where one is needed: a line that ends, and
    /// what closes a construct, imply it.
    fn expect_separator(&mut self) {
        if self.at(Symbol::Semi) || self.at(Symbol::Arrow) || self.at_seq_end() {
            return;
        }
        let before = self.text.tokens[self.pos.saturating_sub(1)].kind;
        let is_closed = matches!(
            before,
            TokenKind::Symbol(Symbol::RBrace) | TokenKind::Word(Word::Fi | Word::Od)
        );
        if is_closed || self.token().starts_line {
            return;
        }
        let starts_stmt = matches!(self.peek(), TokenKind::Ident | TokenKind::Word(_));
        match starts_stmt {
            true => {
                let place = TokenSpan::new(self.pos as u32, self.pos as u32);
                self.syntax_error(|parser| {
                    parser
                        .text
                        .error("expected `;` between two statements", place)
                        .label("write `;` here")
                });
                self.panicking = false;
            }
            false => self.expected("`;`"),
        }
    }

    /// A statement with its labels, and what may escape from it.
    fn stmt(&mut self) -> Stmt {
        let mut labels = Vec::new();
        while self.peek() == TokenKind::Ident && self.nth_is(1, Symbol::Colon) {
            labels.push(self.bump_name());
            self.bump();
        }
        let start = self.pos;
        if !labels.is_empty() && (self.at_seq_end() || self.at(Symbol::Semi)) {
            // A label at the end of a block names an empty statement.
            let span = TokenSpan::new(start as u32 - 1, start as u32);
            let kind = StmtKind::Expr(self.make(crate::ast::ExprKind::Const(1), span));
            return Stmt { labels, kind, span };
        }
        let kind = self.stmt_kind();
        let span = self.since(start);
        let mut stmt = Stmt { labels, kind, span };
        while !self.panicking && self.at_unless() {
            while self.eat(Symbol::Semi) {}
            self.bump();
            let escape = self.nest(Self::stmt_without_unless);
            let labels = std::mem::take(&mut stmt.labels);
            let span = self.since(start);
            let escape = escape.unwrap_or(Stmt {
                labels: Vec::new(),
                kind: StmtKind::Error,
                span,
            });
            stmt = Stmt {
                labels,
                kind: StmtKind::Unless(Box::new(stmt), Box::new(escape)),
                span,
            };
            if self.depth + self.unless_height(&stmt) > super::MAX_NESTING {
                self.too_deep();
            }
        }
        stmt
    }

    fn at_unless(&self) -> bool {
        self.at_word(Word::Unless)
    }

    fn unless_height(&self, stmt: &Stmt) -> usize {
        let mut height = 0;
        let mut at = stmt;
        while let StmtKind::Unless(body, _) = &at.kind {
            height += 1;
            at = body;
        }
        height
    }

    fn stmt_without_unless(&mut self) -> Stmt {
        let mut labels = Vec::new();
        while self.peek() == TokenKind::Ident && self.nth_is(1, Symbol::Colon) {
            labels.push(self.bump_name());
            self.bump();
        }
        let start = self.pos;
        let kind = self.stmt_kind();
        let span = self.since(start);
        Stmt { labels, kind, span }
    }

    fn stmt_kind(&mut self) -> StmtKind {
        match self.peek() {
            TokenKind::Ident => self.named_stmt(),
            TokenKind::Symbol(Symbol::LBrace) => StmtKind::Block(self.block("block")),
            TokenKind::Word(word) => self.word_stmt(word),
            _ => StmtKind::Expr(self.expr()),
        }
    }

    fn word_stmt(&mut self, word: Word) -> StmtKind {
        match word {
            Word::If => StmtKind::If(self.options("if", Word::Fi)),
            Word::Do => StmtKind::Do(self.options("do", Word::Od)),
            Word::Atomic | Word::DStep => {
                self.bump();
                if !self.at(Symbol::LBrace) {
                    self.expected("`{`");
                    return StmtKind::Error;
                }
                match word {
                    Word::Atomic => StmtKind::Atomic(self.block("atomic")),
                    _ => StmtKind::DStep(self.block("d_step")),
                }
            }
            Word::For => self.for_stmt(),
            Word::Select => {
                self.bump();
                self.expect(Symbol::LParen);
                let var = self.var_ref();
                self.expect(Symbol::Colon);
                let lo_is_number = self.at_number_before(Symbol::DotDot);
                let lo = self.expr();
                self.expect(Symbol::DotDot);
                let hi_is_number = self.at_number_before(Symbol::RParen);
                let hi = self.expr();
                self.expect(Symbol::RParen);
                StmtKind::Select {
                    var,
                    lo,
                    hi,
                    is_literal: lo_is_number && hi_is_number && self.open_inlines.is_empty(),
                }
            }
            Word::Else => {
                self.bump();
                StmtKind::Else
            }
            Word::Goto => {
                self.bump();
                StmtKind::Goto(self.name("a label"))
            }
            Word::Break => {
                self.bump();
                StmtKind::Break
            }
            Word::Assert => {
                self.bump();
                StmtKind::Assert(self.expr())
            }
            Word::Printf => self.printf(),
            Word::Printm => {
                self.bump();
                self.expect(Symbol::LParen);
                let value = self.expr();
                self.expect(Symbol::RParen);
                StmtKind::Printm(value)
            }
            Word::SetPriority => {
                self.bump();
                self.expect(Symbol::LParen);
                let pid = self.expr();
                self.expect(Symbol::Comma);
                let value = self.expr();
                self.expect(Symbol::RParen);
                StmtKind::SetPriority(pid, value)
            }
            Word::Return => self.return_stmt(),
            Word::Xr | Word::Xs => {
                self.bump();
                let mut vars = vec![self.var_ref()];
                while !self.panicking && self.eat(Symbol::Comma) {
                    vars.push(self.var_ref());
                }
                StmtKind::Exclusive(vars)
            }
            Word::CCode | Word::CDecl | Word::CState | Word::CTrack => {
                self.embedded_c();
                StmtKind::Error
            }
            _ if self.at_mtype_set() => StmtKind::Mtype(self.mtype_set()),
            _ if self.at_decl() => StmtKind::Decl(self.decl()),
            Word::Unless => {
                self.expected("a statement before `unless`");
                StmtKind::Error
            }
            _ => StmtKind::Expr(self.expr()),
        }
    }

    fn return_stmt(&mut self) -> StmtKind {
        let span = self.here();
        self.bump();
        let value = self.expr();
        match self.return_targets.last().cloned() {
            Some(Some(target)) => StmtKind::Return(target, value),
            Some(None) => StmtKind::Expr(value),
            None => {
                let error = self.text.error("`return` outside an inline", span);
                let note = "`return` gives an inline a value: `x = name(...)`";
                self.report(error.note(note));
                StmtKind::Error
            }
        }
    }

    fn printf(&mut self) -> StmtKind {
        self.bump();
        self.expect(Symbol::LParen);
        if self.peek() != TokenKind::Str {
            self.expected("a string");
            return StmtKind::Error;
        }
        let mut text = String::new();
        while self.peek() == TokenKind::Str {
            text += &literal::string(&self.token().text);
            self.bump();
        }
        let args = match self.eat(Symbol::Comma) {
            true => self.expr_list(),
            false => Vec::new(),
        };
        self.expect(Symbol::RParen);
        StmtKind::Printf(text.into(), args)
    }

    fn for_stmt(&mut self) -> StmtKind {
        self.bump();
        self.expect(Symbol::LParen);
        let var = self.var_ref();
        if self.eat_word(Word::In) {
            let array = self.var_ref();
            self.expect(Symbol::RParen);
            return StmtKind::ForIn(var, array, self.for_body());
        }
        if self.at(Symbol::Assign) {
            self.expected("`:`");
            let ends = [Symbol::RParen, Symbol::LBrace, Symbol::RBrace];
            self.skip_until(|parser| ends.iter().any(|it| parser.at(*it)));
            self.eat(Symbol::RParen);
            self.panicking = false;
            self.for_body();
            return StmtKind::Error;
        }
        self.expect(Symbol::Colon);
        let lo = self.expr();
        self.expect(Symbol::DotDot);
        let hi = self.expr();
        self.expect(Symbol::RParen);
        StmtKind::ForRange(var, lo, hi, self.for_body())
    }

    fn for_body(&mut self) -> Seq {
        if self.panicking {
            self.skip_until(|parser| parser.at(Symbol::LBrace) || parser.at_sync());
            self.panicking = !self.at(Symbol::LBrace);
        }
        if !self.at(Symbol::LBrace) {
            self.expected("`{`");
            return Seq::default();
        }
        self.block("for")
    }

    /// `:: ... :: ...` and the word that closes them.
    fn options(&mut self, opener: &'static str, closer: Word) -> Vec<Seq> {
        let start = self.pos;
        let opened = self.here();
        self.bump();
        let mut options = Vec::new();
        if !self.at(Symbol::ColonColon) {
            self.expected("`::`");
            if self.skip_branches() {
                return options;
            }
            self.skip_until(|parser| parser.at_seq_end());
            self.panicking = false;
        }
        while self.at(Symbol::ColonColon) {
            self.bump();
            let from = self.pos;
            self.open_selections += 1;
            let stmts = self.nest(Self::stmts).unwrap_or_default();
            self.open_selections -= 1;
            if stmts.is_empty() && !self.given_up {
                let span = TokenSpan::new(from as u32 - 1, from as u32);
                let error = self
                    .text
                    .error("this option has no statement", span)
                    .help("write `skip` for an option that does nothing");
                self.report(error);
            }
            let span = self.since(from);
            options.push(Seq { stmts, span });
        }
        if self.eat_word(closer) {
            return options;
        }
        let other = match closer {
            Word::Fi => Word::Od,
            _ => Word::Fi,
        };
        let is_swapped = self.at_word(other);
        self.syntax_error(|parser| {
            let word = closer.text();
            let found = parser.found();
            let error = parser
                .text
                .error(format!("expected `{word}`, found {found}"), parser.place())
                .label(format!("expected `{word}`"));
            let text = format!("this `{opener}` is not closed");
            parser.text.context(error, opened, text)
        });
        if is_swapped && self.closes_here(start, other) {
            self.bump();
        }
        self.panicking = false;
        options
    }

    /// Skips what is written as in C, `(x) { ... } else { ... }`, where an option was expected;
    /// whether it is.
    fn skip_branches(&mut self) -> bool {
        if !self.at(Symbol::LParen) {
            return false;
        }
        self.skip_group(Symbol::LParen, Symbol::RParen);
        let is_branch = self.at(Symbol::LBrace);
        while self.at(Symbol::LBrace) {
            self.skip_group(Symbol::LBrace, Symbol::RBrace);
            self.eat_word(Word::Else);
        }
        if is_branch {
            self.panicking = false;
        }
        is_branch
    }

    /// Whether a closing word of the other kind was meant for the construct that began at `start`:
    /// if none of that kind is open around it.
    fn closes_here(&self, start: usize, closer: Word) -> bool {
        let opener = match closer {
            Word::Fi => Word::If,
            _ => Word::Do,
        };
        const LOOKED_AT: usize = 2_000;
        let mut depth = 0i32;
        for token in self.text.tokens[..start].iter().rev().take(LOOKED_AT) {
            match token.kind {
                TokenKind::Word(word) if word == closer => depth += 1,
                TokenKind::Word(word) if word == opener => depth -= 1,
                TokenKind::Word(Word::Proctype | Word::Init | Word::Never) => break,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
        }
        true
    }

    /// What begins with a name: an assignment, a send, a receive, a call, a declaration or a
    /// condition.
    fn named_stmt(&mut self) -> StmtKind {
        if self.at_inline_call() {
            return self.inline_call(None);
        }
        if self.nth_is(1, Symbol::LParen) {
            return self.unknown_call();
        }
        if self.nth(1) == TokenKind::Ident {
            let on_one_line = !self.text.tokens[self.pos + 1].starts_line;
            if on_one_line {
                return StmtKind::Decl(self.decl());
            }
        }
        if self.nth_is(1, Symbol::LBrace) && self.misspelt().is_some() {
            self.expected("a statement");
            self.bump();
            self.panicking = false;
            return StmtKind::Block(self.block("block"));
        }
        let start = self.pos;
        let var = self.var_ref();
        if self.panicking {
            return StmtKind::Error;
        }
        let TokenKind::Symbol(symbol) = self.peek() else {
            return self.condition(var, start);
        };
        match symbol {
            Symbol::Assign => {
                self.bump();
                if self.at_inline_call() {
                    return self.inline_call(Some(var));
                }
                StmtKind::Assign(var, self.expr())
            }
            Symbol::PlusPlus => {
                self.bump();
                StmtKind::Increment(var)
            }
            Symbol::MinusMinus => {
                self.bump();
                StmtKind::Decrement(var)
            }
            Symbol::Bang | Symbol::BangBang => {
                self.bump();
                let args = self.send_args();
                StmtKind::Send(Send {
                    chan: var,
                    sorted: symbol == Symbol::BangBang,
                    args,
                })
            }
            Symbol::Query | Symbol::QueryQuery if !self.nth_is(1, Symbol::LBracket) => {
                self.bump();
                let keeps = self.eat(Symbol::Less);
                let args = self.receive_args();
                if keeps {
                    self.expect(Symbol::Greater);
                }
                StmtKind::Receive(Receive {
                    chan: var,
                    random: symbol == Symbol::QueryQuery,
                    keeps,
                    args,
                })
            }
            _ => self.condition(var, start),
        }
    }

    fn condition(&mut self, var: VarRef, start: usize) -> StmtKind {
        let first = self.named_from(var, start);
        StmtKind::Expr(self.binary_from(first, 0))
    }

    /// `e, f` or `e(f, g)`
    fn send_args(&mut self) -> Vec<crate::ast::Expr> {
        let first = self.expr();
        let mut args = vec![first];
        if self.at(Symbol::LParen) && !self.token().starts_line && !self.panicking {
            self.bump();
            if !self.eat(Symbol::RParen) {
                args.extend(self.expr_list());
                self.expect(Symbol::RParen);
            }
        } else if !self.panicking && self.eat(Symbol::Comma) {
            args.extend(self.expr_list());
        }
        args
    }
}
