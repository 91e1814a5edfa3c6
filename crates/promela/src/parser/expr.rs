//! Expressions, and what sends and receives consist of.

use hadal_syntax::Diagnostic;

use super::{MAX_HEIGHT, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, Part, QueueOp, Receive, ReceiveArg, UnaryOp, VarRef};
use crate::literal;
use crate::text::TokenSpan;
use crate::token::{Symbol, TokenKind, Word};

impl Parser {
    pub(super) fn expr(&mut self) -> Expr {
        self.binary(0)
    }

    /// A node; its height is bounded.
    pub(super) fn make(&mut self, kind: ExprKind, span: TokenSpan) -> Expr {
        let height = 1 + children_height(&kind);
        if height > MAX_HEIGHT {
            if !self.given_up {
                self.too_deep();
            }
            return Expr {
                kind: ExprKind::Error,
                span,
                height: 1,
            };
        }
        Expr { kind, span, height }
    }

    fn error_expr(&mut self) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span: self.place(),
            height: 1,
        }
    }

    fn binary(&mut self, level: u8) -> Expr {
        let left = self.unary();
        self.binary_from(left, level)
    }

    /// The rest of an expression whose first operand was parsed.
    pub(super) fn binary_from(&mut self, mut left: Expr, level: u8) -> Expr {
        while let Some(op) = self.binary_op() {
            let precedence = op.precedence();
            if precedence < level || self.panicking {
                break;
            }
            self.bump();
            let right = self.nest(|parser| parser.binary(precedence + 1));
            let right = right.unwrap_or_else(|| self.error_expr());
            let span = left.span.to(right.span);
            left = self.make(ExprKind::Binary(op, Box::new(left), Box::new(right)), span);
        }
        left
    }

    fn binary_op(&self) -> Option<BinaryOp> {
        let TokenKind::Symbol(symbol) = self.peek() else {
            return None;
        };
        Some(match symbol {
            Symbol::OrOr => BinaryOp::Or,
            Symbol::AndAnd => BinaryOp::And,
            Symbol::Or => BinaryOp::BitOr,
            Symbol::Caret => BinaryOp::BitXor,
            Symbol::And => BinaryOp::BitAnd,
            Symbol::Eq => BinaryOp::Eq,
            Symbol::Ne => BinaryOp::Ne,
            Symbol::Less => BinaryOp::Lt,
            Symbol::Le => BinaryOp::Le,
            Symbol::Greater => BinaryOp::Gt,
            Symbol::Ge => BinaryOp::Ge,
            Symbol::Shl => BinaryOp::Shl,
            Symbol::Shr => BinaryOp::Shr,
            Symbol::Plus => BinaryOp::Add,
            Symbol::Minus => BinaryOp::Sub,
            Symbol::Star => BinaryOp::Mul,
            Symbol::Slash => BinaryOp::Div,
            Symbol::Percent => BinaryOp::Rem,
            _ => return None,
        })
    }

    pub(super) fn unary(&mut self) -> Expr {
        let op = match self.peek() {
            TokenKind::Symbol(Symbol::Minus) => UnaryOp::Neg,
            TokenKind::Symbol(Symbol::Bang) => UnaryOp::Not,
            TokenKind::Symbol(Symbol::Tilde) => UnaryOp::Complement,
            TokenKind::Symbol(Symbol::BangBang) => {
                // Two negations, which the lexer takes for a sorted send.
                let start = self.pos;
                self.bump();
                let operand = self.nested_unary();
                let span = self.since(start);
                let inner = self.make_unary(UnaryOp::Not, operand, span);
                return self.make_unary(UnaryOp::Not, inner, span);
            }
            _ => return self.operand(),
        };
        let start = self.pos;
        self.bump();
        let operand = self.nested_unary();
        let span = self.since(start);
        self.make_unary(op, operand, span)
    }

    /// An operation with one operand, which some polls of channels must not be.
    fn make_unary(&mut self, op: UnaryOp, operand: Expr, span: TokenSpan) -> Expr {
        if let (UnaryOp::Not, ExprKind::Queue(queue_op, _)) = (op, &operand.kind)
            && let Some(negated) = queue_op.negated()
        {
            let (text, instead) = (queue_op.text(), negated.text());
            let error = self
                .text
                .error(format!("`{text}` cannot be negated"), span)
                .help(format!(
                    "write `{instead}(...)`, which is true where `{text}` is false"
                ));
            self.report(error);
        }
        self.make(ExprKind::Unary(op, Box::new(operand)), span)
    }

    fn nested_unary(&mut self) -> Expr {
        let operand = self.nest(Self::unary);
        operand.unwrap_or_else(|| self.error_expr())
    }

    /// A constant, a variable, a call or something in parentheses.
    pub(super) fn operand(&mut self) -> Expr {
        let start = self.pos;
        let kind = match self.peek() {
            TokenKind::Number => self.number(),
            TokenKind::Char => {
                let value = literal::character(&self.token().text);
                self.bump();
                ExprKind::Const(value.into())
            }
            TokenKind::Ident => return self.named(),
            TokenKind::Symbol(Symbol::LParen) => return self.parens(),
            TokenKind::Word(word) => match self.word_operand(word) {
                Some(kind) => kind,
                None => {
                    self.expected("an expression");
                    return self.error_expr();
                }
            },
            _ => {
                self.expected("an expression");
                return self.error_expr();
            }
        };
        let span = self.since(start);
        self.make(kind, span)
    }

    fn number(&mut self) -> ExprKind {
        let text = self.token().text.clone();
        let value = literal::number(&text);
        let span = self.here();
        self.bump();
        match value {
            Some(value) if i32::try_from(value).is_ok() || u32::try_from(value).is_ok() => {
                // As C does with what does not fit an `int`.
                ExprKind::Const((value as i32).into())
            }
            _ => {
                let shown: String = text.chars().take(40).collect();
                let error = self.text.error(format!("`{shown}` is not a number"), span);
                let mut note = "numbers are decimal and have at most 32 bits".to_owned();
                if let Some(value) = literal::c_number(&text) {
                    note += &format!("; write `{value}`");
                }
                self.report(error.note(note));
                ExprKind::Error
            }
        }
    }

    fn word_operand(&mut self, word: Word) -> Option<ExprKind> {
        Some(match word {
            Word::True | Word::Skip => {
                self.bump();
                ExprKind::Const(1)
            }
            Word::False => {
                self.bump();
                ExprKind::Const(0)
            }
            Word::Timeout => {
                self.bump();
                ExprKind::Timeout
            }
            Word::Len => self.queue(QueueOp::Len),
            Word::Empty => self.queue(QueueOp::Empty),
            Word::Nempty => self.queue(QueueOp::Nempty),
            Word::Full => self.queue(QueueOp::Full),
            Word::Nfull => self.queue(QueueOp::Nfull),
            Word::Enabled => ExprKind::Enabled(self.call_argument()),
            Word::PcValue => ExprKind::PcValue(self.call_argument()),
            Word::GetPriority => ExprKind::GetPriority(self.call_argument()),
            Word::Run => self.run(),
            Word::Init if self.nth_is(1, Symbol::LBracket) || self.nth_is(1, Symbol::At) => {
                return Some(self.named().kind);
            }
            Word::CExpr | Word::CCode => {
                self.embedded_c();
                ExprKind::Error
            }
            Word::Else => {
                let error = self.text.error("`else` is not an expression", self.here());
                let help = "`else` stands alone as the first statement of an option";
                self.report(error.help(help));
                self.bump();
                ExprKind::Error
            }
            _ => return None,
        })
    }

    /// `(e)` after a word.
    fn call_argument(&mut self) -> Box<Expr> {
        self.bump();
        self.expect(Symbol::LParen);
        let argument = self.nest(Self::expr);
        let argument = argument.unwrap_or_else(|| self.error_expr());
        self.expect(Symbol::RParen);
        Box::new(argument)
    }

    fn queue(&mut self, op: QueueOp) -> ExprKind {
        self.bump();
        self.expect(Symbol::LParen);
        let chan = self.var_ref();
        self.expect(Symbol::RParen);
        ExprKind::Queue(op, chan)
    }

    fn run(&mut self) -> ExprKind {
        self.bump();
        let name = self.name("the name of a process type");
        let mut args = Vec::new();
        if self.expect(Symbol::LParen) && !self.eat(Symbol::RParen) {
            args = self.expr_list();
            self.expect(Symbol::RParen);
        }
        let priority = self
            .eat_word(Word::Priority)
            .then(|| Box::new(self.operand()));
        ExprKind::Run(name, args, priority)
    }

    /// Expressions separated by commas, at least one.
    pub(super) fn expr_list(&mut self) -> Vec<Expr> {
        let mut list = Vec::new();
        loop {
            let item = self.nest(Self::expr);
            list.push(item.unwrap_or_else(|| self.error_expr()));
            if self.panicking || !self.eat(Symbol::Comma) {
                return list;
            }
        }
    }

    /// `(e)` or `(c -> e : f)`.
    fn parens(&mut self) -> Expr {
        let start = self.pos;
        self.bump();
        let inner = self.nest(Self::expr);
        let mut inner = inner.unwrap_or_else(|| self.error_expr());
        if self.eat(Symbol::Arrow) {
            let yes = self.nest(Self::expr);
            let yes = yes.unwrap_or_else(|| self.error_expr());
            self.expect(Symbol::Colon);
            let no = self.nest(Self::expr);
            let no = no.unwrap_or_else(|| self.error_expr());
            let span = self.since(start);
            let kind = ExprKind::Cond(Box::new(inner), Box::new(yes), Box::new(no));
            inner = self.make(kind, span);
        }
        if !self.eat(Symbol::RParen) {
            self.syntax_error(|parser| {
                let found = parser.found();
                let opened = TokenSpan::new(start as u32, start as u32 + 1);
                let error = parser
                    .text
                    .error(format!("expected `)`, found {found}"), parser.place())
                    .label("expected `)`");
                let error = match parser.habit("`)`") {
                    Some(help) => error.help(help),
                    None => error,
                };
                parser.text.context(error, opened, "this `(` is not closed")
            });
        }
        inner.span = self.since(start);
        inner
    }

    /// What begins with a name: a variable, a poll or a remote reference.
    fn named(&mut self) -> Expr {
        let start = self.pos;
        let var = self.var_ref();
        self.named_from(var, start)
    }

    /// The rest of an operand that begins with a variable.
    pub(super) fn named_from(&mut self, var: VarRef, start: usize) -> Expr {
        let is_poll = |parser: &Self, op| parser.at(op) && parser.nth_is(1, Symbol::LBracket);
        let kind = if is_poll(self, Symbol::Query) || is_poll(self, Symbol::QueryQuery) {
            let random = self.at(Symbol::QueryQuery);
            self.bump();
            self.bump();
            let args = self.receive_args();
            self.expect(Symbol::RBracket);
            ExprKind::Poll(Box::new(Receive {
                chan: var,
                random,
                keeps: true,
                args,
            }))
        } else if var.parts.len() == 1 && self.at(Symbol::At) {
            self.bump();
            let label = self.name("a label");
            let (name, pid) = split_part(var);
            ExprKind::RemoteLabel(name, pid, label)
        } else if self.at_remote_var(&var) {
            self.bump();
            let (name, pid) = split_part(var);
            ExprKind::RemoteVar(name, pid, self.var_ref())
        } else if &*var.parts[0].name == "np_" && var.parts.len() == 1 {
            ExprKind::Np
        } else {
            ExprKind::Var(var)
        };
        let span = self.since(start);
        self.make(kind, span)
    }

    fn at_remote_var(&self, var: &VarRef) -> bool {
        var.parts.len() == 1
            && self.at(Symbol::Colon)
            && self.nth(1) == TokenKind::Ident
            && self.proctypes.contains(&var.parts[0].name.text)
    }

    /// `a[i].b`
    pub(super) fn var_ref(&mut self) -> VarRef {
        let start = self.pos;
        let mut parts = Vec::new();
        loop {
            let name = match self.at_word(Word::Init) {
                true => self.bump_name(),
                false => self.name("a variable"),
            };
            if &*name == "STDIN" && parts.is_empty() {
                let error = stdin_error(self.text.error("`STDIN` is not supported", name.span));
                self.report(error);
            }
            let index = (!self.panicking && self.eat(Symbol::LBracket)).then(|| {
                let index = self.nest(Self::expr);
                let index = index.unwrap_or_else(|| self.error_expr());
                self.expect(Symbol::RBracket);
                Box::new(index)
            });
            parts.push(Part { name, index });
            // The height of a reference is that of its indices, so it needs no limit of its own.
            if self.panicking || !self.eat(Symbol::Dot) {
                let span = self.since(start);
                return VarRef { parts, span };
            }
        }
    }

    /// The arguments of a receive: `a, b` or `a(b, c)`.
    pub(super) fn receive_args(&mut self) -> Vec<ReceiveArg> {
        let mut args = vec![self.receive_arg()];
        if self.at(Symbol::LParen) && !self.token().starts_line && !self.panicking {
            self.bump();
            if self.eat(Symbol::RParen) {
                return args;
            }
            loop {
                args.push(self.receive_arg());
                if self.panicking || !self.eat(Symbol::Comma) {
                    break;
                }
            }
            self.expect(Symbol::RParen);
            return args;
        }
        while !self.panicking && self.eat(Symbol::Comma) {
            args.push(self.receive_arg());
        }
        args
    }

    fn receive_arg(&mut self) -> ReceiveArg {
        if self.at_word(Word::Eval) {
            return ReceiveArg::Eval(*self.call_argument());
        }
        match self.peek() {
            TokenKind::Ident => ReceiveArg::Var(self.var_ref()),
            TokenKind::Symbol(Symbol::Minus)
            | TokenKind::Number
            | TokenKind::Char
            | TokenKind::Word(Word::True | Word::False | Word::Skip) => {
                ReceiveArg::Const(self.unary())
            }
            TokenKind::Symbol(Symbol::LParen) => {
                let span = self.here();
                let expr = self.unary();
                let error = self
                    .text
                    .error(
                        "an argument of a receive is a variable, a constant or `eval`",
                        span,
                    )
                    .help("write `eval(...)` to match the value of an expression");
                self.report(error);
                ReceiveArg::Eval(expr)
            }
            _ => {
                self.expected("a variable, a constant or `eval(...)`");
                ReceiveArg::Const(self.error_expr())
            }
        }
    }
}

fn stdin_error(error: Diagnostic) -> Diagnostic {
    error
        .note("a verification explores all runs, and input from a terminal has no place in one")
        .help("model the input as a channel that a process fills with every possible value")
}

fn split_part(var: VarRef) -> (crate::ast::Name, Option<Box<Expr>>) {
    let span = var.span;
    match var.parts.into_iter().next() {
        Some(part) => (part.name, part.index),
        None => (
            crate::ast::Name {
                text: "".into(),
                span,
            },
            None,
        ),
    }
}

/// The height of the highest child of a node.
fn children_height(kind: &ExprKind) -> u32 {
    let var = |var: &VarRef| {
        let indices = var.parts.iter().filter_map(|it| it.index.as_ref());
        indices.map(|it| it.height).max().unwrap_or(0)
    };
    let receive = |receive: &Receive| {
        let args = receive.args.iter().map(|arg| match arg {
            ReceiveArg::Var(it) => var(it),
            ReceiveArg::Eval(it) | ReceiveArg::Const(it) => it.height,
        });
        args.max().unwrap_or(0).max(var(&receive.chan))
    };
    let opt = |it: &Option<Box<Expr>>| it.as_ref().map_or(0, |it| it.height);
    match kind {
        ExprKind::Const(_) | ExprKind::Timeout | ExprKind::Np | ExprKind::Error => 0,
        ExprKind::Var(it) | ExprKind::Queue(_, it) => var(it),
        ExprKind::Unary(_, it)
        | ExprKind::Enabled(it)
        | ExprKind::PcValue(it)
        | ExprKind::GetPriority(it) => it.height,
        ExprKind::Binary(_, left, right) => left.height.max(right.height),
        ExprKind::Cond(a, b, c) => a.height.max(b.height).max(c.height),
        ExprKind::Poll(it) => receive(it),
        ExprKind::Run(_, args, priority) => {
            let args = args.iter().map(|it| it.height).max();
            args.unwrap_or(0).max(opt(priority))
        }
        ExprKind::RemoteLabel(_, pid, _) => opt(pid),
        ExprKind::RemoteVar(_, pid, it) => opt(pid).max(var(it)),
    }
}
