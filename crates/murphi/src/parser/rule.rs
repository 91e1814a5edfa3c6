//! Rules, start states and properties, and the constructs that group them.

use hadal_syntax::Diagnostic;

use super::{DO, Opener, Parser};
use crate::ast::{Priority, PropertyKind, Rule, RuleKind};
use crate::token::{TokenKind, word};

/// What stands between the name of a rule and its body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    None,
    Present,
    /// There is one, but no `==>` after it.
    WithoutArrow,
}

impl Parser<'_> {
    /// Whether a rule begins here. A word that only rumur or only CMurphi reserves is a name if
    /// it is declared here.
    pub(super) fn at_rule(&self) -> bool {
        let declares = matches!(self.nth(1), TokenKind::Colon | TokenKind::Comma);
        match self.peek() {
            TokenKind::Rule
            | TokenKind::Startstate
            | TokenKind::Invariant
            | TokenKind::Assert
            | TokenKind::Ruleset
            | TokenKind::Alias => true,
            TokenKind::Ident if self.at_word(word::CHOOSE) => self.nth(1) == TokenKind::Ident,
            TokenKind::Ident => self.property_word().is_some() && !declares,
            _ => false,
        }
    }

    pub(super) fn rule(&mut self) -> Rule {
        let start = self.span();
        self.n_errors_before = self.diagnostics.n_errors();
        let kind = self.nest(Self::rule_kind).unwrap_or(RuleKind::Error);
        Rule {
            kind,
            span: self.since(start),
        }
    }

    fn rule_kind(&mut self) -> RuleKind {
        match self.peek() {
            TokenKind::Rule => self.simple_rule(),
            TokenKind::Startstate => {
                let opener = self.open("startstate");
                let name = self.eat_text();
                let decls = self.local_decls();
                let body = self.stmts();
                self.expect_end(opener);
                RuleKind::Startstate { name, decls, body }
            }
            TokenKind::Invariant | TokenKind::Assert => {
                self.bump();
                self.property(PropertyKind::Invariant)
            }
            TokenKind::Ruleset => {
                let opener = self.open("ruleset");
                let quantifiers = self.quantifiers();
                self.expect_header_end(DO);
                let rules = self.rules(opener);
                RuleKind::Ruleset { quantifiers, rules }
            }
            TokenKind::Alias => {
                let (opener, aliases) = self.alias_header();
                let rules = self.rules(opener);
                RuleKind::Alias { aliases, rules }
            }
            _ if self.at_word(word::CHOOSE) => {
                let opener = self.open("choose");
                let name = self.declare("a name for the element");
                self.expect(TokenKind::Colon);
                let multiset = self.designator();
                self.expect_header_end(DO);
                let rules = self.rules(opener);
                RuleKind::Choose {
                    name,
                    multiset,
                    rules,
                }
            }
            _ => match self.property_word() {
                Some(kind) => {
                    self.bump();
                    self.property(kind)
                }
                None => {
                    self.expected("a rule");
                    RuleKind::Error
                }
            },
        }
    }

    /// The rules of a group, and the word that closes it.
    fn rules(&mut self, opener: Opener) -> Vec<Rule> {
        let mut rules = Vec::new();
        loop {
            self.eat_semis();
            self.panicking = false;
            if self.at_rule() {
                rules.push(self.rule());
                continue;
            }
            // A function or a global declaration here means that the `end` is missing.
            if self.at_end_word() || self.at(TokenKind::Eof) || self.at_item_word() {
                self.expect_end(opener);
                return rules;
            }
            self.syntax_error(|parser| {
                let found = parser.found();
                let what = "a rule or `end`";
                parser.with_guess(
                    Diagnostic::error(format!("expected {what}, found {found}"), parser.place())
                        .label(format!("expected {what}"))
                        .context(opener.span, format!("inside this `{}`", opener.word)),
                )
            });
            if self.correct_word(Self::at_rule) {
                continue;
            }
            self.bump();
            self.skip_until(|parser| {
                parser.at_any(&[TokenKind::End, TokenKind::Invariant]) || parser.at_item_word()
            });
        }
    }

    /// What follows `invariant` and the like; the message may stand on either side.
    fn property(&mut self, kind: PropertyKind) -> RuleKind {
        let before = self.eat_text();
        let condition = self.expr();
        let message = before.or_else(|| self.eat_text());
        if self.panicking {
            self.skip_until(Self::at_sync);
        }
        RuleKind::Property {
            kind,
            message,
            condition,
        }
    }

    fn simple_rule(&mut self) -> RuleKind {
        let opener = self.open("rule");
        let priority = self.priority();
        let name = self.eat_text();
        let ahead = self.guard_ahead();
        let guard = (ahead != Guard::None).then(|| {
            let guard = self.expr();
            if ahead == Guard::WithoutArrow && !self.at(TokenKind::LongArrow) {
                self.syntax_error(|parser| {
                    let place = parser.prev_span().after();
                    Diagnostic::error("expected `==>` between the guard and the body", place)
                        .label("write `==>` here")
                });
            } else if !self.at(TokenKind::LongArrow) {
                self.expected("`==>`");
            }
            // The arrow or the body is known to be ahead; nothing between is of use.
            let ends = [TokenKind::LongArrow, TokenKind::Begin];
            self.skip_until(|parser| parser.at_any(&ends));
            self.eat(TokenKind::LongArrow);
            self.panicking = false;
            guard
        });
        let decls = self.local_decls();
        let body = self.stmts();
        self.expect_end(opener);
        RuleKind::Simple {
            priority,
            name,
            guard,
            decls,
            body,
        }
    }

    /// A number before the name. A guard may begin with a number, too, but then an operator
    /// follows it.
    fn priority(&mut self) -> Option<Priority> {
        if !self.at(TokenKind::Int) || self.operator_follows() {
            return None;
        }
        let span = self.span();
        let value = self.int();
        Some(Priority { value, span })
    }

    /// Whether the rule has a guard.
    ///
    /// Without `begin`, a guard and a first statement may start alike, and only a `==>`
    /// distinguishes them. So this looks for it, up to a token that no guard has. The next rule
    /// ends the search at the latest, so no token is scanned for two rules.
    fn guard_ahead(&self) -> Guard {
        let mut n_quantified = 0usize;
        let mut in_header = false;
        for (n, token) in self.tokens[self.pos..].iter().enumerate() {
            match token.kind {
                TokenKind::LongArrow => return Guard::Present,
                TokenKind::Begin if n > 0 => return Guard::WithoutArrow,
                TokenKind::Forall | TokenKind::Exists => {
                    n_quantified += 1;
                    in_header = true;
                }
                TokenKind::Do => in_header = false,
                TokenKind::End if n_quantified > 0 => {
                    n_quantified -= 1;
                    in_header = false;
                }
                TokenKind::Semi | TokenKind::Assign if in_header => {}
                TokenKind::Semi
                | TokenKind::Assign
                | TokenKind::Begin
                | TokenKind::End
                | TokenKind::Else
                | TokenKind::Elsif
                | TokenKind::Case
                | TokenKind::Then
                | TokenKind::Alias
                | TokenKind::Assert
                | TokenKind::Clear
                | TokenKind::Error
                | TokenKind::For
                | TokenKind::If
                | TokenKind::Invariant
                | TokenKind::Put
                | TokenKind::Return
                | TokenKind::Switch
                | TokenKind::Undefine
                | TokenKind::While
                | TokenKind::Const
                | TokenKind::Type
                | TokenKind::Var
                | TokenKind::Function
                | TokenKind::Procedure
                | TokenKind::Rule
                | TokenKind::Ruleset
                | TokenKind::Startstate
                | TokenKind::Eof => return Guard::None,
                _ => {}
            }
        }
        Guard::None
    }
}
