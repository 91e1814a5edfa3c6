//! The top level, and declarations.

use super::Parser;
use crate::ast::{
    Active, ChanInit, Decl, Init, Item, Ltl, Mtype, Never, Prefix, Proctype, Trace, Type, TypeKind,
    Typedef, Var,
};
use crate::text::TokenSpan;
use crate::token::{Symbol, TokenKind, Word};

impl Parser {
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            while self.eat(Symbol::Semi) {}
            if self.peek() == TokenKind::Eof {
                return items;
            }
            let before = self.pos;
            self.panicking = false;
            items.extend(self.item());
            if self.panicking {
                self.skip_until(|parser| parser.at(Symbol::Semi) || parser.at_item_word());
            }
            if self.pos == before {
                self.bump();
            }
        }
    }

    /// Whether the next token can only begin something at the top level.
    pub(super) fn at_item_word(&self) -> bool {
        let TokenKind::Word(word) = self.peek() else {
            return false;
        };
        matches!(
            word,
            Word::Active
                | Word::Proctype
                | Word::DProctype
                | Word::Init
                | Word::Never
                | Word::Ltl
                | Word::Trace
                | Word::Notrace
                | Word::Typedef
                | Word::Inline
        )
    }

    fn item(&mut self) -> Option<Item> {
        let TokenKind::Word(word) = self.peek() else {
            if self.peek() == TokenKind::Ident && self.nth(1) == TokenKind::Ident {
                return self.item_of_names();
            }
            self.expected("a declaration or a process");
            return None;
        };
        match word {
            Word::Active | Word::Proctype | Word::DProctype | Word::Init => {
                Some(Item::Proctype(Box::new(self.proctype())))
            }
            Word::Never => {
                let span = self.here();
                self.bump();
                let name = (self.peek() == TokenKind::Ident).then(|| self.bump_name());
                let body = self.body("never");
                Some(Item::Never(Never { name, body, span }))
            }
            Word::Trace | Word::Notrace => {
                let span = self.here();
                self.bump();
                let body = self.body("trace");
                let negated = word == Word::Notrace;
                Some(Item::Trace(Trace {
                    negated,
                    body,
                    span,
                }))
            }
            Word::Ltl => {
                let start = self.pos;
                self.bump();
                let name = (self.peek() == TokenKind::Ident).then(|| self.bump_name());
                self.expect(Symbol::LBrace);
                let formula = self.formula();
                if !self.eat(Symbol::RBrace) {
                    self.expected("`}` after the formula");
                    let at_end = |parser: &Self| parser.at(Symbol::RBrace) || parser.at_item_word();
                    self.skip_until(at_end);
                    self.eat(Symbol::RBrace);
                    self.panicking = false;
                }
                let span = self.since(start);
                Some(Item::Ltl(Ltl {
                    name,
                    formula,
                    span,
                }))
            }
            Word::Typedef => Some(Item::Typedef(self.typedef())),
            Word::Inline => {
                self.inline_item();
                None
            }
            Word::CCode | Word::CDecl | Word::CExpr | Word::CState | Word::CTrack => {
                self.embedded_c();
                None
            }
            _ if self.at_mtype_set() => Some(Item::Mtype(self.mtype_set())),
            _ if self.at_decl() => Some(Item::Decl(self.decl())),
            _ => {
                self.expected("a declaration or a process");
                None
            }
        }
    }

    /// What begins with two names: variables of a `typedef`, or a misspelt word.
    fn item_of_names(&mut self) -> Option<Item> {
        let is_decl = matches!(
            self.nth(2),
            TokenKind::Symbol(Symbol::Semi | Symbol::Comma | Symbol::LBracket | Symbol::Assign)
                | TokenKind::Eof
        );
        if is_decl || self.misspelt().is_none() {
            return Some(Item::Decl(self.decl()));
        }
        self.expected("a declaration or a process");
        self.bump();
        self.panicking = true;
        None
    }

    /// Whether a declaration of variables is next.
    pub(super) fn at_decl(&self) -> bool {
        match self.peek() {
            TokenKind::Word(word) => matches!(
                word,
                Word::Bit
                    | Word::Bool
                    | Word::Byte
                    | Word::Pid
                    | Word::Short
                    | Word::Int
                    | Word::Unsigned
                    | Word::Mtype
                    | Word::Chan
                    | Word::Hidden
                    | Word::Show
                    | Word::Local
            ),
            TokenKind::Ident => self.nth(1) == TokenKind::Ident,
            _ => false,
        }
    }

    /// Whether a set of constants is next: `mtype = {` or `mtype:name = {`.
    pub(super) fn at_mtype_set(&self) -> bool {
        let after = match self.nth_is(1, Symbol::Colon) {
            true => 3,
            false => 1,
        };
        self.at_word(Word::Mtype)
            && (self.nth_is(after, Symbol::LBrace)
                || self.nth_is(after, Symbol::Assign) && self.nth_is(after + 1, Symbol::LBrace))
    }

    pub(super) fn mtype_set(&mut self) -> Mtype {
        let start = self.pos;
        self.bump();
        let set = self
            .eat(Symbol::Colon)
            .then(|| self.name("the name of the set"));
        self.eat(Symbol::Assign);
        self.expect(Symbol::LBrace);
        let mut names = Vec::new();
        while !self.at(Symbol::RBrace) && !self.panicking {
            names.push(self.name("the name of a constant"));
            if !self.eat(Symbol::Comma) && self.peek() != TokenKind::Ident {
                break;
            }
        }
        self.close_brace();
        Mtype {
            set,
            names,
            span: self.since(start),
        }
    }

    /// Takes `}`; if it is not there, looks for it on the way to the next item.
    fn close_brace(&mut self) {
        if self.eat(Symbol::RBrace) {
            return;
        }
        self.expected("`}`");
        self.skip_until(|parser| {
            parser.at(Symbol::RBrace) || parser.at(Symbol::Semi) || parser.at_item_word()
        });
        if self.eat(Symbol::RBrace) {
            self.panicking = false;
        }
    }

    fn typedef(&mut self) -> Typedef {
        let start = self.pos;
        self.bump();
        let name = self.name("the name of the type");
        self.expect(Symbol::LBrace);
        let mut fields = Vec::new();
        loop {
            while self.eat(Symbol::Semi) {}
            if !self.at_decl() || self.panicking {
                break;
            }
            fields.push(self.decl());
        }
        self.close_brace();
        Typedef {
            name,
            fields,
            span: self.since(start),
        }
    }

    /// Some names of one type, without the separator.
    pub(super) fn decl(&mut self) -> Decl {
        let start = self.pos;
        let prefix = match self.peek() {
            TokenKind::Word(Word::Hidden) => Some(Prefix::Hidden),
            TokenKind::Word(Word::Show) => Some(Prefix::Show),
            TokenKind::Word(Word::Local) => Some(Prefix::Local),
            _ => None,
        };
        if prefix.is_some() {
            self.bump();
        }
        let ty = self.ty();
        let mut vars = Vec::new();
        while !self.panicking {
            vars.push(self.var());
            if !self.eat(Symbol::Comma) {
                break;
            }
        }
        Decl {
            prefix,
            ty,
            vars,
            span: self.since(start),
        }
    }

    fn ty(&mut self) -> Type {
        let start = self.pos;
        let kind = match self.peek() {
            TokenKind::Word(Word::Bit | Word::Bool) => TypeKind::Bit,
            TokenKind::Word(Word::Byte) => TypeKind::Byte,
            TokenKind::Word(Word::Pid) => TypeKind::Pid,
            TokenKind::Word(Word::Short) => TypeKind::Short,
            TokenKind::Word(Word::Int) => TypeKind::Int,
            TokenKind::Word(Word::Unsigned) => TypeKind::Unsigned,
            TokenKind::Word(Word::Chan) => TypeKind::Chan,
            TokenKind::Word(Word::Mtype) if self.nth_is(1, Symbol::Colon) => {
                self.bump();
                self.bump();
                let name = self.name("the name of a set of constants");
                return Type {
                    kind: TypeKind::Mtype(Some(name)),
                    span: self.since(start),
                };
            }
            TokenKind::Word(Word::Mtype) => TypeKind::Mtype(None),
            TokenKind::Ident => {
                let name = self.bump_name();
                return Type {
                    kind: TypeKind::Name(name),
                    span: self.since(start),
                };
            }
            _ => {
                self.expected("a type");
                return Type {
                    kind: TypeKind::Byte,
                    span: self.here(),
                };
            }
        };
        self.bump();
        Type {
            kind,
            span: self.since(start),
        }
    }

    fn var(&mut self) -> Var {
        let start = self.pos;
        let name = self.name("the name of a variable");
        let width = self.eat(Symbol::Colon).then(|| self.operand());
        let len = self.eat(Symbol::LBracket).then(|| {
            let len = self.expr();
            self.expect(Symbol::RBracket);
            len
        });
        let init = self.eat(Symbol::Assign).then(|| self.init());
        Var {
            name,
            width,
            len,
            init,
            span: self.since(start),
        }
    }

    fn init(&mut self) -> Init {
        let start = self.pos;
        if self.eat(Symbol::LBracket) {
            let capacity = self.expr();
            self.expect(Symbol::RBracket);
            if !self.eat_word(Word::Of) {
                self.expected("`of`");
            }
            self.expect(Symbol::LBrace);
            let mut fields = Vec::new();
            while !self.panicking {
                fields.push(self.ty());
                if !self.eat(Symbol::Comma) {
                    break;
                }
            }
            self.close_brace();
            return Init::Chan(ChanInit {
                capacity,
                fields,
                span: self.since(start),
            });
        }
        if self.eat(Symbol::LBrace) {
            let mut values = Vec::new();
            while !self.panicking && !self.at(Symbol::RBrace) {
                values.push(self.expr());
                if !self.eat(Symbol::Comma) {
                    break;
                }
            }
            self.close_brace();
            return Init::List(values, self.since(start));
        }
        Init::Expr(self.expr())
    }

    fn proctype(&mut self) -> Proctype {
        let start = self.pos;
        let mut active = None;
        if self.eat_word(Word::Active) {
            let count = self.eat(Symbol::LBracket).then(|| {
                let count = self.expr();
                self.expect(Symbol::RBracket);
                count
            });
            active = Some(Active {
                count,
                span: self.since(start),
            });
        }
        let is_init = self.at_word(Word::Init);
        let deterministic = self.at_word(Word::DProctype);
        let name = if is_init {
            active.get_or_insert(Active {
                count: None,
                span: self.here(),
            });
            self.bump_name()
        } else {
            if !self.eat_word(Word::Proctype) && !self.eat_word(Word::DProctype) {
                self.expected("`proctype`");
                if self.peek() == TokenKind::Ident && self.nth(1) == TokenKind::Ident {
                    self.bump();
                    self.panicking = false;
                }
            }
            self.name("the name of the process type")
        };
        let mut params = Vec::new();
        if !is_init && self.expect(Symbol::LParen) {
            loop {
                while self.eat(Symbol::Semi) || self.eat(Symbol::Comma) {}
                if !self.at_decl() || self.panicking {
                    break;
                }
                params.push(self.param());
            }
            self.expect(Symbol::RParen);
        }
        let priority = self.eat_word(Word::Priority).then(|| self.operand());
        let provided = self.eat_word(Word::Provided).then(|| {
            self.expect(Symbol::LParen);
            let condition = self.expr();
            self.expect(Symbol::RParen);
            condition
        });
        let span = self.since(start);
        let body = self.body(if is_init { "init" } else { "proctype" });
        Proctype {
            name,
            is_init,
            deterministic,
            active,
            params,
            priority,
            provided,
            body,
            span,
        }
    }

    /// Parameters of one type: a comma may be followed by another type.
    fn param(&mut self) -> Decl {
        let start = self.pos;
        let ty = self.ty();
        let mut vars = Vec::new();
        while !self.panicking {
            vars.push(self.var());
            let goes_on = self.at(Symbol::Comma)
                && self.nth(1) == TokenKind::Ident
                && self.nth(2) != TokenKind::Ident;
            if !goes_on {
                break;
            }
            self.bump();
        }
        Decl {
            prefix: None,
            ty,
            vars,
            span: self.since(start),
        }
    }

    /// The braces of a process or claim.
    fn body(&mut self, what: &'static str) -> crate::ast::Seq {
        if !self.at(Symbol::LBrace) {
            self.expected("`{`");
            self.skip_until(|parser| {
                parser.at(Symbol::LBrace) || parser.at(Symbol::RBrace) || parser.at_item_word()
            });
        }
        if !self.at(Symbol::LBrace) {
            self.eat(Symbol::RBrace);
            let span = TokenSpan::new(self.pos as u32, self.pos as u32);
            return crate::ast::Seq {
                stmts: Vec::new(),
                span,
            };
        }
        self.panicking = false;
        self.block(what)
    }
}
