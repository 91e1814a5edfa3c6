//! The top level of a file; declarations, types and functions.

use hadal_syntax::Diagnostic;

use super::Parser;
use crate::ast::{
    ConstDecl, Decl, ExprKind, ExternFunction, Function, Item, Name, Param, TypeDecl, TypeExpr,
    TypeKind, VarDecl,
};
use crate::token::{TokenKind, word};

/// Which section a declaration stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Const,
    Type,
    Var,
}

impl Parser<'_> {
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            self.eat_semis();
            if self.at(TokenKind::Eof) {
                return items;
            }
            let before = self.pos;
            let was_wrong = self.has_new_errors();
            self.n_errors_before = self.diagnostics.n_errors();
            self.panicking = false;
            self.item(&mut items);
            if self.pos > before || self.at(TokenKind::Eof) {
                continue;
            }
            // What follows an item with an error may be the rest of that item, as when an `if`
            // is missing and its `end` closed the rule. It is not reported again.
            if !was_wrong {
                self.expected_item();
            }
            if !self.correct_word(|parser| parser.at_rule() || parser.at_item_word()) {
                self.skip_to_item();
            }
        }
    }

    /// Takes one item, or nothing if none begins here.
    fn item(&mut self, items: &mut Vec<Item>) {
        match self.peek() {
            TokenKind::Const | TokenKind::Type | TokenKind::Var => {
                let mut decls = Vec::new();
                self.section(false, &mut decls);
                items.extend(decls.into_iter().map(Item::Decl));
            }
            TokenKind::Function | TokenKind::Procedure => {
                items.push(Item::Function(self.function()));
            }
            TokenKind::End => self.stray_end(),
            TokenKind::Ident if self.at_word(word::EXTERNFUN) => {
                items.push(Item::Extern(self.extern_function()));
            }
            TokenKind::Ident if self.at_word(word::EXTERNPROC) => {
                items.push(Item::Extern(self.extern_function()));
            }
            TokenKind::Ident if self.at_word(word::PCTL) => {
                let start = self.span();
                self.skip_until(|_| false);
                items.push(Item::Pctl(self.since(start)));
            }
            _ if self.at_rule() => items.push(Item::Rule(self.rule())),
            _ => {}
        }
    }

    /// Goes to the next item; a `var` in parentheses is a parameter and not one.
    fn skip_to_item(&mut self) {
        let mut n_open = 0usize;
        loop {
            match self.peek() {
                TokenKind::LParen => n_open += 1,
                TokenKind::RParen => n_open = n_open.saturating_sub(1),
                _ => {}
            }
            self.bump();
            let is_param = n_open > 0 && self.at(TokenKind::Var);
            let is_item = self.at_item_word() || self.at(TokenKind::Invariant);
            if self.at(TokenKind::Eof) || (is_item && !is_param) {
                return;
            }
        }
    }

    fn expected_item(&mut self) {
        self.syntax_error(|parser| {
            let found = parser.found();
            let what = "a declaration or a rule";
            parser.with_guess(
                Diagnostic::error(format!("expected {what}, found {found}"), parser.place())
                    .label(format!("expected {what}")),
            )
        });
    }

    /// An `end` that closes nothing. After other errors it is most likely their consequence.
    fn stray_end(&mut self) {
        if !self.diagnostics.has_errors() && self.n_missing_ends == 0 {
            let span = self.span();
            let word = self.text().to_owned();
            let mut error = Diagnostic::error(format!("this `{word}` closes nothing"), span);
            if let Some((odd, at)) = self.odd_end {
                let (odd_word, text) = (odd.word, self.source.slice(at));
                error = error
                    .context(odd.span, format!("this `{odd_word}`..."))
                    .context(at, format!("...is closed by `{text}`"));
            }
            self.report(error);
        }
        self.bump();
    }

    /// Local declarations and the `begin` after them. Both may be missing.
    pub(super) fn local_decls(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        self.eat_semis();
        while self.at_any(&[TokenKind::Const, TokenKind::Type, TokenKind::Var]) {
            self.section(true, &mut decls);
        }
        self.eat(TokenKind::Begin);
        decls
    }

    /// `const`, `type` or `var`, and the declarations that follow it.
    ///
    /// A local section may stand before a statement without a `begin` between them, so it goes
    /// on only where a name is followed by `:` or `,`.
    fn section(&mut self, local: bool, decls: &mut Vec<Decl>) {
        let section = match self.peek() {
            TokenKind::Const => Section::Const,
            TokenKind::Type => Section::Type,
            _ => Section::Var,
        };
        self.bump();
        let mut first = true;
        loop {
            self.eat_semis();
            let declares = matches!(self.nth(1), TokenKind::Colon | TokenKind::Comma);
            let goes_on = match self.peek() {
                TokenKind::Ident if declares || local => declares || first,
                TokenKind::Ident => {
                    !self.at_rule() && !self.at_foreign_item() && self.guess().is_none()
                }
                // The name is missing.
                TokenKind::Colon => first,
                TokenKind::Else | TokenKind::End => false,
                // A reserved word where a name should be.
                kind => kind.is_keyword() && declares && !opens_section(kind),
            };
            if !goes_on {
                return;
            }
            first = false;
            self.panicking = false;
            decls.push(self.decl(section));
            if self.panicking {
                self.recover_decl();
            }
        }
    }

    fn at_foreign_item(&self) -> bool {
        self.at_word(word::EXTERNFUN) || self.at_word(word::EXTERNPROC) || self.at_word(word::PCTL)
    }

    /// After an error in a declaration, skips to the next one, or to the end of the section.
    fn recover_decl(&mut self) {
        self.skip_until(|parser| {
            let declares = parser.at(TokenKind::Ident) && parser.nth(1) == TokenKind::Colon;
            declares || parser.at_sync()
        });
        self.panicking = false;
    }

    fn decl(&mut self, section: Section) -> Decl {
        let start = self.span();
        let names = self.names("a name");
        self.expect(TokenKind::Colon);
        match section {
            Section::Const => {
                let value = self.expr();
                let span = self.since(start);
                Decl::Const(ConstDecl { names, value, span })
            }
            Section::Type => {
                let ty = self.type_expr();
                let span = self.since(start);
                Decl::Type(TypeDecl { names, ty, span })
            }
            Section::Var => {
                let ty = self.type_expr();
                let span = self.since(start);
                Decl::Var(VarDecl { names, ty, span })
            }
        }
    }

    /// `a, b, c`, with a comma after the last if one likes. At least one name, even if empty.
    fn names(&mut self, what: &str) -> Vec<Name> {
        let mut names = vec![self.declared_name(what)];
        while self.eat(TokenKind::Comma) {
            if self.at_any(&[TokenKind::Colon, TokenKind::RBrace]) {
                break;
            }
            names.push(self.declared_name(what));
        }
        names
    }

    /// A name that is declared here; a reserved word is accepted as one, and reported.
    fn declared_name(&mut self, what: &str) -> Name {
        let is_name_place = matches!(
            self.nth(1),
            TokenKind::Colon | TokenKind::Comma | TokenKind::RBrace
        );
        if self.peek().is_keyword() && is_name_place && !opens_section(self.peek()) {
            let text = self.text().to_owned();
            let span = self.span();
            self.report(
                Diagnostic::error(format!("`{text}` is a reserved word"), span)
                    .help("choose another name; the case of letters does not matter here"),
            );
            return self.bump_name();
        }
        self.declare(what)
    }

    pub(super) fn type_expr(&mut self) -> TypeExpr {
        let start = self.span();
        let kind = self.nest(Self::type_kind).unwrap_or(TypeKind::Error);
        TypeExpr {
            kind,
            span: self.since(start),
        }
    }

    fn type_kind(&mut self) -> TypeKind {
        let follows = self.nth(1);
        match self.peek() {
            TokenKind::Boolean => {
                self.bump();
                TypeKind::Boolean
            }
            TokenKind::Enum => self.enum_type(),
            TokenKind::Record => self.record_type(),
            TokenKind::Array => {
                self.bump();
                let open = self.span();
                self.expect(TokenKind::LBracket);
                let index = Box::new(self.type_expr());
                self.close(TokenKind::RBracket, open);
                self.expect(TokenKind::Of);
                let element = Box::new(self.type_expr());
                TypeKind::Array { index, element }
            }
            TokenKind::Scalarset => {
                self.bump();
                let open = self.span();
                self.expect(TokenKind::LParen);
                let size = Box::new(self.expr());
                self.close(TokenKind::RParen, open);
                TypeKind::Scalarset(size)
            }
            TokenKind::Union => self.union_type(),
            TokenKind::Ident if follows == TokenKind::LBracket && self.at_word(word::MULTISET) => {
                self.bump();
                let open = self.bump();
                let bound = Box::new(self.expr());
                self.close(TokenKind::RBracket, open);
                self.expect(TokenKind::Of);
                let element = Box::new(self.type_expr());
                TypeKind::Multiset { bound, element }
            }
            TokenKind::Ident if follows == TokenKind::LParen && self.at_word(word::REAL) => {
                self.bump();
                TypeKind::Real(self.args())
            }
            TokenKind::Ident if self.at_word(word::REAL) && !self.is_declared() => {
                self.bump();
                TypeKind::Real(Vec::new())
            }
            _ if self.at_expr() => self.name_or_range(),
            _ => {
                self.expected("a type");
                TypeKind::Error
            }
        }
    }

    fn name_or_range(&mut self) -> TypeKind {
        let lo = self.expr();
        if self.eat(TokenKind::DotDot) {
            let hi = Box::new(self.expr());
            let lo = Box::new(lo);
            return TypeKind::Range { lo, hi };
        }
        match lo.kind {
            ExprKind::Designator(designator) if designator.steps.is_empty() => {
                TypeKind::Name(designator.base)
            }
            // Reported already.
            ExprKind::Real(_) | ExprKind::Error => TypeKind::Error,
            _ => {
                self.expected("`..`");
                TypeKind::Error
            }
        }
    }

    fn enum_type(&mut self) -> TypeKind {
        self.bump();
        let open = self.span();
        self.expect(TokenKind::LBrace);
        let members = match self.at(TokenKind::RBrace) {
            true => Vec::new(),
            false => self.names("the name of a value"),
        };
        self.close(TokenKind::RBrace, open);
        TypeKind::Enum(members)
    }

    fn union_type(&mut self) -> TypeKind {
        self.bump();
        let open = self.span();
        self.expect(TokenKind::LBrace);
        let mut members = vec![self.type_expr()];
        while self.eat(TokenKind::Comma) && !self.at(TokenKind::RBrace) {
            members.push(self.type_expr());
        }
        self.close(TokenKind::RBrace, open);
        TypeKind::Union(members)
    }

    fn record_type(&mut self) -> TypeKind {
        let opener = self.open("record");
        let mut fields = Vec::new();
        loop {
            self.eat_semis();
            let declares = matches!(self.nth(1), TokenKind::Colon | TokenKind::Comma);
            let is_field = match self.peek() {
                TokenKind::Ident => true,
                TokenKind::End => false,
                kind => kind.is_keyword() && declares && !opens_section(kind),
            };
            if !is_field {
                break;
            }
            let start = self.span();
            let names = self.names("the name of a field");
            self.expect(TokenKind::Colon);
            let ty = self.type_expr();
            fields.push(VarDecl {
                names,
                ty,
                span: self.since(start),
            });
            if self.panicking {
                self.recover_decl();
            }
        }
        self.expect_end(opener);
        TypeKind::Record(fields)
    }

    fn function(&mut self) -> Function {
        let opener = self.open(match self.at(TokenKind::Function) {
            true => "function",
            false => "procedure",
        });
        let name = self.declare("the name of the function");
        let params = self.params();
        let result = self.eat(TokenKind::Colon).then(|| self.type_expr());
        if self.panicking {
            self.skip_until(Self::at_sync);
        }
        self.panicking = false;
        let decls = self.local_decls();
        let body = self.stmts();
        self.expect_end(opener);
        Function {
            name,
            params,
            result,
            decls,
            body,
            span: self.since(opener.span),
        }
    }

    fn extern_function(&mut self) -> ExternFunction {
        let start = self.bump();
        let name = self.declare("the name of the function");
        let params = self.params();
        let result = self.eat(TokenKind::Colon).then(|| self.type_expr());
        let header = self.eat_text();
        if self.panicking {
            self.skip_until(Self::at_sync);
        }
        ExternFunction {
            name,
            params,
            result,
            header,
            span: self.since(start),
        }
    }

    /// `(var a, b: t; c: u)`
    fn params(&mut self) -> Vec<Param> {
        let open = self.span();
        // An error in the name before does not matter to the parameters.
        self.panicking &= !self.at(TokenKind::LParen);
        let is_param = self.at(TokenKind::Var) || self.nth(1) == TokenKind::Colon;
        if !self.expect(TokenKind::LParen) && is_param {
            self.panicking = false;
        }
        let mut params = Vec::new();
        loop {
            self.eat_semis();
            if !self.at_any(&[TokenKind::Var, TokenKind::Ident]) || self.panicking {
                break;
            }
            let start = self.span();
            let by_reference = self.eat(TokenKind::Var);
            let names = self.names("the name of a parameter");
            self.expect(TokenKind::Colon);
            let ty = self.type_expr();
            params.push(Param {
                by_reference,
                names,
                ty,
                span: self.since(start),
            });
            if self.at(TokenKind::Comma) && !self.panicking {
                let span = self.bump();
                self.report(
                    Diagnostic::error("parameters of different types are separated by `;`", span)
                        .help("write `;` instead"),
                );
            }
        }
        if self.panicking {
            self.skip_until(|parser| {
                parser.at_any(&[TokenKind::RParen, TokenKind::Assign]) || parser.at_sync()
            });
            self.panicking = !self.eat(TokenKind::RParen);
        } else {
            self.close(TokenKind::RParen, open);
        }
        params
    }
}

/// Whether a word opens a section even before a colon: then a name is missing behind it.
fn opens_section(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Const | TokenKind::Type | TokenKind::Var)
}
