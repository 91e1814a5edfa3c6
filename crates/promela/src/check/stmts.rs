//! Statements: the syntax tree of a process to the tree that its automaton is built of.
//!
//! `for` and `select` become the loops that SPIN makes of them, and a declaration after the first
//! statement becomes a step.

use std::sync::Arc;

use super::Checker;
use crate::ast::{self, BinaryOp, ExprKind, Stmt, StmtKind};
use crate::automaton::{Node, NodeKind};
use crate::print;
use crate::program::{
    Action, Conversion, Expr, Initial, Place, Printed, QueueOp, Scalar, VarId, Variable,
};
use crate::text::TokenSpan;

/// `select` over at most this many constants is one step.
const MAX_SELECT: i64 = 32;

impl Checker<'_> {
    /// The body of a process: declarations before the first statement are initialised with it.
    pub(super) fn process_body(&mut self, body: &ast::Seq) -> Vec<Node> {
        let is_decl = |stmt: &&Stmt| {
            matches!(
                stmt.kind,
                StmtKind::Decl(_) | StmtKind::Mtype(_) | StmtKind::Exclusive(_)
            ) && stmt.labels.is_empty()
        };
        let n_early = body.stmts.iter().take_while(is_decl).count();
        for stmt in &body.stmts[..n_early] {
            match &stmt.kind {
                StmtKind::Decl(decl) => {
                    for var in &decl.vars {
                        self.local(decl, var, false);
                    }
                }
                StmtKind::Exclusive(vars) => self.exclusive(vars),
                _ => {}
            }
        }
        let mut nodes = Vec::new();
        for stmt in &body.stmts[n_early..] {
            self.stmt(stmt, false, &mut nodes);
        }
        nodes
    }

    /// A sequence in a scope of its own.
    fn scoped(&mut self, seq: &ast::Seq) -> Vec<Node> {
        self.scopes.open();
        let nodes = self.stmts(&seq.stmts, false);
        self.scopes.close();
        nodes
    }

    fn stmts(&mut self, stmts: &[Stmt], is_option: bool) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (idx, stmt) in stmts.iter().enumerate() {
            if is_option && self.is_repeated_skip(stmts, idx) {
                continue;
            }
            self.stmt(stmt, is_option && idx == 0, &mut nodes);
        }
        nodes
    }

    /// Whether a statement of an option is a `skip` that directly follows another one, or output,
    /// and is not the last: SPIN does not count these as steps.
    fn is_repeated_skip(&self, stmts: &[Stmt], idx: usize) -> bool {
        let is_skip = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Expr(expr) if stmt.labels.is_empty() => self.is_literal_one(expr),
            _ => false,
        };
        let is_output = |stmt: &Stmt| {
            matches!(stmt.kind, StmtKind::Printf(..) | StmtKind::Printm(_))
                && stmt.labels.is_empty()
        };
        let follows = idx > 0 && (is_skip(&stmts[idx - 1]) || is_output(&stmts[idx - 1]));
        follows && idx + 1 < stmts.len() && is_skip(&stmts[idx])
    }

    /// Whether an expression is the number 1, or a name for it.
    fn is_literal_one(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(value) => *value == 1,
            ExprKind::Var(var) => {
                let name = &var.parts[0].name;
                let value = self.mtype_names.get(&name.text);
                self.scopes.find(name).is_none() && value.is_some_and(|it| it.1 == 1)
            }
            _ => false,
        }
    }

    /// The options of an `if` or `do`.
    fn options(&mut self, options: &[ast::Seq], span: TokenSpan) -> Vec<Vec<Node>> {
        let mut else_span = None;
        let mut io_span = None;
        for option in options {
            let Some(first) = option.stmts.first() else {
                continue;
            };
            match &first.kind {
                StmtKind::Else if else_span.is_some() => {
                    self.error("a second `else` in one selection", first.span);
                }
                StmtKind::Else => else_span = Some(first.span),
                StmtKind::Send(_) | StmtKind::Receive(_) => io_span = Some(first.span),
                StmtKind::Unless(..) => {
                    let warning = self
                        .text
                        .warning("an option that begins with `unless`", first.span)
                        .note("at the selection its escape comes before all options")
                        .help("put `unless` after the whole `fi` or `od`, or `skip ->` before it");
                    self.diagnostics.push(warning);
                }
                StmtKind::If(_) | StmtKind::Do(_) if !first.labels.is_empty() => {
                    let label = &first.labels[0];
                    let error = self
                        .text
                        .error(
                            "an option cannot begin with a labelled selection",
                            label.span,
                        )
                        .help("put the label in front of the outer `if` or `do`");
                    self.diagnostics.push(error);
                }
                _ => {}
            }
        }
        if let (Some(else_span), Some(io_span)) = (else_span, io_span) {
            let warning = self
                .text
                .warning("`else` beside a send or receive", else_span)
                .note("it is taken where the channel operation cannot be executed");
            let warning = self
                .text
                .context(warning, io_span, "this is a channel operation");
            self.diagnostics.push(warning);
        }
        if options.is_empty() {
            self.error("a selection needs an option", span);
        }
        // Only braces open a scope.
        options
            .iter()
            .map(|option| self.stmts(&option.stmts, true))
            .collect()
    }

    fn exclusive(&mut self, vars: &[ast::VarRef]) {
        for var in vars {
            let plain = ast::VarRef {
                parts: var
                    .parts
                    .iter()
                    .map(|part| ast::Part {
                        name: part.name.clone(),
                        index: part.index.clone(),
                    })
                    .collect(),
                span: var.span,
            };
            if self.scopes.find(&plain.parts[0].name).is_none() {
                self.channel_expr(&plain);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, is_guard: bool, out: &mut Vec<Node>) {
        self.labels.extend(stmt.labels.iter().cloned());
        let from = out.len();
        self.stmt_nodes(stmt, is_guard, out);
        if out.len() == from && !stmt.labels.is_empty() {
            let skip = Action::Cond(Expr::Const(1));
            out.push(basic(skip, "(1)", stmt.span));
        }
        let is_loop = matches!(
            stmt.kind,
            StmtKind::ForRange(..) | StmtKind::ForIn(..) | StmtKind::Select { .. }
        );
        let labelled = match is_loop && out.len() > from + 1 {
            // SPIN gives the label to the loop behind the assignment of the first value.
            true => {
                self.loop_labels.extend(stmt.labels.iter().cloned());
                out.last_mut()
            }
            false => out.get_mut(from),
        };
        if let Some(node) = labelled {
            let labels = stmt.labels.iter().map(|it| it.text.clone());
            node.labels.splice(0..0, labels);
        }
    }

    fn stmt_nodes(&mut self, stmt: &Stmt, is_guard: bool, out: &mut Vec<Node>) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            StmtKind::Decl(decl) => return self.late_decl(decl, out),
            StmtKind::Mtype(_) => return,
            StmtKind::Exclusive(vars) => return self.exclusive(vars),
            StmtKind::Goto(label) => {
                self.gotos.push(label.clone());
                NodeKind::Goto(label.text.clone())
            }
            StmtKind::Break => {
                if self.n_loops == 0 {
                    self.error("`break` outside a loop", span);
                }
                NodeKind::Break
            }
            StmtKind::If(options) => NodeKind::If(self.options(options, span)),
            StmtKind::Do(options) => {
                self.n_loops += 1;
                let options = self.options(options, span);
                self.n_loops -= 1;
                NodeKind::Do(options)
            }
            StmtKind::ForRange(var, lo, hi, body) => {
                return self.for_range(var, lo, hi, body, span, out);
            }
            StmtKind::ForIn(var, container, body) => {
                return self.for_in(var, container, body, span, out);
            }
            StmtKind::Select {
                var,
                lo,
                hi,
                is_literal,
            } => return self.select(var, (lo, hi), *is_literal, span, out),
            StmtKind::Atomic(body) => match self.in_dstep {
                true => NodeKind::Block(self.scoped(body)),
                false => NodeKind::Atomic(self.scoped(body)),
            },
            StmtKind::DStep(body) => {
                let outer = std::mem::replace(&mut self.in_dstep, true);
                let body = self.scoped(body);
                self.in_dstep = outer;
                match outer {
                    true => NodeKind::Block(body),
                    false => NodeKind::DStep(body),
                }
            }
            StmtKind::Block(body) | StmtKind::Inline(_, body) => NodeKind::Block(self.scoped(body)),
            StmtKind::Unless(body, escape) => {
                if self.in_dstep {
                    self.error("`unless` inside a `d_step`", span);
                }
                let body = self.unless_part(body);
                let escape = self.unless_part(escape);
                NodeKind::Unless(body, escape)
            }
            StmtKind::Else => {
                if !is_guard {
                    let error = self
                        .text
                        .error("`else` must be the first statement of an option", span);
                    self.diagnostics.push(error);
                }
                NodeKind::Basic(Action::Else, "else".into())
            }
            StmtKind::Error => return,
            _ => match self.action(stmt) {
                Some(action) => {
                    if self.in_claim && !matches!(action, Action::Cond(_) | Action::Assert(..)) {
                        self.error("a claim consists of conditions and assertions", span);
                    }
                    let text = match &action {
                        Action::Assert(_, text) => format!("assert({text})"),
                        _ => print::stmt(stmt),
                    };
                    NodeKind::Basic(action, text.into())
                }
                None => return,
            },
        };
        out.push(Node {
            labels: Vec::new(),
            kind,
            span,
        });
    }

    /// A side of `unless`: the statements of a block, or one statement.
    fn unless_part(&mut self, stmt: &Stmt) -> Vec<Node> {
        match &stmt.kind {
            StmtKind::Block(body) if stmt.labels.is_empty() => self.scoped(body),
            _ => {
                self.scopes.open();
                let mut nodes = Vec::new();
                self.stmt(stmt, false, &mut nodes);
                self.scopes.close();
                nodes
            }
        }
    }

    /// A basic statement.
    fn action(&mut self, stmt: &Stmt) -> Option<Action> {
        Some(match &stmt.kind {
            StmtKind::Expr(expr) => match &expr.kind {
                ExprKind::Run(name, args, priority) => {
                    Action::Run(self.run(name, args, priority)?, None)
                }
                _ => Action::Cond(self.expr(expr)),
            },
            StmtKind::Assign(var, value) if self.is_priority(var) => {
                self.uses_priorities = true;
                Action::AssignPriority(self.expr(value))
            }
            StmtKind::Assign(var, value) | StmtKind::Return(var, value) => {
                if let ExprKind::Run(name, args, priority) = &value.kind {
                    let run = self.run(name, args, priority);
                    let (place, _) = self.place(var)?;
                    return Some(Action::Run(run?, Some(place)));
                }
                let expr = self.expr(value);
                let (place, ty) = self.place(var)?;
                self.note_use(&place, -1);
                self.warn_truncation(ty, &expr, value.span);
                Action::Assign(place, expr)
            }
            StmtKind::Increment(var) => self.step(var, BinaryOp::Add, stmt.span)?,
            StmtKind::Decrement(var) => self.step(var, BinaryOp::Sub, stmt.span)?,
            StmtKind::Send(send) => Action::Send(self.send(send)),
            StmtKind::Receive(receive) => Action::Receive(self.receive(receive)),
            StmtKind::Assert(expr) => {
                let text = self.as_written(expr).unwrap_or_else(|| print::expr(expr));
                Action::Assert(self.expr(expr), text.into())
            }
            StmtKind::Printf(text, args) => Action::Print(self.printed(text, args, stmt.span)),
            StmtKind::Printm(expr) => {
                let value = self.expr(expr);
                let conversion = Conversion::Symbol(self.mtype_of(expr, &value));
                Action::Print(vec![Printed::Value(value, conversion)])
            }
            StmtKind::SetPriority(pid, value) => {
                self.uses_priorities = true;
                Action::SetPriority(self.expr(pid), self.expr(value))
            }
            _ => return None,
        })
    }

    /// What a `printf` prints. Widths and flags are taken and have no effect.
    fn printed(&mut self, format: &str, args: &[ast::Expr], span: TokenSpan) -> Vec<Printed> {
        let values: Vec<Expr> = args.iter().map(|it| self.expr(it)).collect();
        let mut given = args.iter().zip(values);
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut n_wanted = 0;
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            text.push_str(before);
            let is_flag = |c: char| c.is_ascii_digit() || "+-. l".contains(c);
            let letter = after.trim_start_matches(is_flag).chars().next();
            let end = match letter {
                Some(letter) => after.find(letter).map_or(0, |at| at + letter.len_utf8()),
                None => after.len(),
            };
            rest = &after[end..];
            let conversion = match letter {
                Some('%') => {
                    text.push('%');
                    continue;
                }
                Some('d' | 'i') => Some(Conversion::Decimal),
                Some('u') => Some(Conversion::Unsigned),
                Some('o') => Some(Conversion::Octal),
                Some('x') => Some(Conversion::Hexadecimal),
                Some('c') => Some(Conversion::Character),
                Some('e') => Some(Conversion::Symbol(0)),
                _ => None,
            };
            n_wanted += 1;
            let Some(conversion) = conversion else {
                let unknown = format!("%{}", &after[..end]);
                let message = format!("`{unknown}` prints no value of Promela");
                let warning = self
                    .text
                    .warning(message, span)
                    .help("use %d, %u, %x, %o, %c, or %e for the name of an `mtype`");
                self.diagnostics.push(warning);
                text.push_str(&unknown);
                given.next();
                continue;
            };
            if let Some((arg, value)) = given.next() {
                if !text.is_empty() {
                    parts.push(Printed::Text(std::mem::take(&mut text)));
                }
                let conversion = match conversion {
                    Conversion::Symbol(_) => Conversion::Symbol(self.mtype_of(arg, &value)),
                    other => other,
                };
                parts.push(Printed::Value(value, conversion));
            }
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Printed::Text(text));
        }
        if n_wanted != args.len() {
            let plural = if n_wanted == 1 { "" } else { "s" };
            let message = format!(
                "the format asks for {n_wanted} value{plural}, not {}",
                args.len()
            );
            self.warn(message, span);
        }
        parts
    }

    /// The set of an `mtype` that an expression is of; by default the one without a name.
    fn mtype_of(&self, expr: &ast::Expr, value: &Expr) -> usize {
        let ty = match value {
            Expr::Read(place) => match place.var {
                VarId::Global(var) => self.globals.get(var).map(|it| it.ty),
                VarId::Local(var) => self.locals.get(var).map(|it| it.ty),
                VarId::Scratch => None,
            },
            _ => None,
        };
        match (&expr.kind, ty) {
            (_, Some(Scalar::Mtype(set))) => set,
            (ExprKind::Var(var), None) => {
                let known = self.mtype_names.get(&var.parts[0].name.text);
                known.map_or(0, |&(set, _)| set)
            }
            _ => 0,
        }
    }

    /// The word `true` or `false` that a constant stands for.
    fn as_written(&self, expr: &ast::Expr) -> Option<String> {
        let ExprKind::Const(_) = expr.kind else {
            return None;
        };
        let tokens = expr.span.start as usize..expr.span.end as usize;
        let mut tokens = self.text.tokens.get(tokens)?.iter();
        // It may stand in parentheses.
        let word = tokens.find(|token| !matches!(&*token.text, "(" | ")"))?;
        let is_alone = tokens.all(|token| matches!(&*token.text, "(" | ")"));
        let is_word = matches!(&*word.text, "true" | "false");
        (is_word && is_alone).then(|| word.text.to_string())
    }

    fn is_priority(&self, var: &ast::VarRef) -> bool {
        let name = &var.parts[0].name;
        &**name == "_priority" && self.scopes.find(name).is_none()
    }

    /// `x++` or `x--`
    fn step(&mut self, var: &ast::VarRef, op: BinaryOp, span: TokenSpan) -> Option<Action> {
        let (place, _) = self.place(var)?;
        let value = add(place.clone(), op, span);
        Some(Action::Assign(place, value))
    }

    /// A declaration after the first statement: a step for each name.
    fn late_decl(&mut self, decl: &ast::Decl, out: &mut Vec<Node>) {
        for var in &decl.vars {
            let value = match &var.init {
                Some(ast::Init::Expr(value)) => Some(value.clone()),
                Some(ast::Init::List(values, _)) => values.first().cloned(),
                _ => None,
            };
            let is_run = matches!(value.as_ref().map(|it| &it.kind), Some(ExprKind::Run(..)));
            let expr = match &value {
                Some(value) if !is_run => self.expr(value),
                _ => Expr::Const(0),
            };
            self.local(decl, var, true);
            let whole = ast::VarRef {
                parts: vec![ast::Part {
                    name: var.name.clone(),
                    index: var.len.as_ref().map(|len| Box::new(zero(len.span))),
                }],
                span: var.name.span,
            };
            let is_struct = matches!(&decl.ty.kind, ast::TypeKind::Name(_));
            if is_struct {
                let text = print::decl(&ast::Decl {
                    vars: vec![var.clone()],
                    ..decl.clone()
                });
                out.push(basic(Action::Declare, &text, var.span));
                continue;
            }
            let Some((place, ty)) = self.place_of_decl(&whole) else {
                continue;
            };
            self.warn_truncation(ty, &expr, var.span);
            let text = format!(
                "{} = {}",
                print::var_ref(&whole),
                value.as_ref().map_or("0".to_owned(), print::expr)
            );
            let action = match value.as_ref().map(|it| &it.kind) {
                Some(ExprKind::Run(name, args, priority)) => match self.run(name, args, priority) {
                    Some(run) => Action::Run(run, Some(place)),
                    None => continue,
                },
                _ => Action::Assign(place, expr),
            };
            out.push(basic(action, &text, var.span));
        }
    }

    /// The place that a declaration resets, which is no assignment of a channel.
    fn place_of_decl(&mut self, var: &ast::VarRef) -> Option<(Place, Scalar)> {
        let in_claim = std::mem::replace(&mut self.in_claim, false);
        let place = self.declared_place(var);
        self.in_claim = in_claim;
        place
    }

    fn for_range(
        &mut self,
        var: &ast::VarRef,
        lo: &ast::Expr,
        hi: &ast::Expr,
        body: &ast::Seq,
        span: TokenSpan,
        out: &mut Vec<Node>,
    ) {
        let (lo_expr, hi_expr) = (self.expr(lo), self.expr(hi));
        let place = self.place(var);
        let body = self.loop_body(body);
        let Some((place, ty)) = place else {
            return;
        };
        self.warn_truncation(ty, &lo_expr, lo.span);
        if let Some(last) = self.constant_of(&hi_expr)
            && i64::from(last) >= ty.range().1
        {
            let message = "this loop does not end: its variable cannot exceed the last value";
            self.warn(message, hi.span);
        }
        let texts = LoopText {
            var: print::var_ref(var),
            lo: print::expr(lo),
            hi: print::expr(hi),
        };
        push_for(place, lo_expr, hi_expr, body, &texts, span, out);
    }

    fn loop_body(&mut self, body: &ast::Seq) -> Vec<Node> {
        self.n_loops += 1;
        let body = self.scoped(body);
        self.n_loops -= 1;
        body
    }

    /// `for (i in a)`, over the indices of an array or the messages of a channel.
    fn for_in(
        &mut self,
        var: &ast::VarRef,
        container: &ast::VarRef,
        body: &ast::Seq,
        span: TokenSpan,
        out: &mut Vec<Node>,
    ) {
        let symbol = self.scopes.find(&container.parts[0].name).cloned();
        let len = symbol.as_ref().and_then(|it| it.len);
        let len = match (&container.parts[..], len) {
            ([part], Some(len)) if part.index.is_none() => len,
            _ => return self.for_messages(var, container, body, span, out),
        };
        let place = self.place(var);
        let body = self.loop_body(body);
        let Some((place, _)) = place else {
            return;
        };
        let last = len as i32 - 1;
        let texts = LoopText {
            var: print::var_ref(var),
            lo: "0".to_owned(),
            hi: last.to_string(),
        };
        push_for(
            place,
            Expr::Const(0),
            Expr::Const(last),
            body,
            &texts,
            span,
            out,
        );
    }

    /// `for (m in q)`: each message is received and sent again, and a counter that SPIN declares
    /// tells the end.
    fn for_messages(
        &mut self,
        var: &ast::VarRef,
        chan: &ast::VarRef,
        body: &ast::Seq,
        span: TokenSpan,
        out: &mut Vec<Node>,
    ) {
        let receive = ast::Receive {
            chan: chan.clone(),
            random: false,
            keeps: false,
            args: vec![ast::ReceiveArg::Var(var.clone())],
        };
        let send = ast::Send {
            chan: chan.clone(),
            sorted: false,
            args: vec![ast::Expr {
                kind: ExprKind::Var(var.clone()),
                span: var.span,
                height: 2,
            }],
        };
        let texts = (print::receive(&receive), print::send(&send));
        let queue = self.channel_expr(chan);
        let (receive, send) = (self.receive(&receive), self.send(&send));
        let body = self.loop_body(body);
        self.locals.push(Variable {
            name: "for".into(),
            ty: Scalar::Int,
            dims: Vec::new(),
            dim_ends: Vec::new(),
            hidden: false,
            initial: Initial::Zero,
            span,
        });
        let counter = Place {
            var: VarId::Local(self.locals.len() - 1),
            indices: Vec::new(),
            span,
        };
        let len = Expr::Queue(QueueOp::Len, Box::new(queue), span);
        let condition = binary(BinaryOp::Lt, Expr::Read(counter.clone()), len, span);
        let reset = Action::Assign(counter.clone(), Expr::Const(0));
        out.push(basic(reset, "for = 0", span));
        let chan_text = print::var_ref(chan);
        let mut round = vec![
            basic(
                Action::Cond(condition),
                &format!("for < len({chan_text})"),
                span,
            ),
            basic(Action::Receive(receive), &texts.0, span),
            basic(Action::Send(send), &texts.1, span),
        ];
        round.extend(body);
        let step = Action::Assign(counter.clone(), add(counter, BinaryOp::Add, span));
        round.push(basic(step, "for++", span));
        let done = vec![
            basic(Action::Else, "else", span),
            node(NodeKind::Break, span),
        ];
        out.push(node(NodeKind::Do(vec![round, done]), span));
    }

    fn select(
        &mut self,
        var: &ast::VarRef,
        (lo, hi): (&ast::Expr, &ast::Expr),
        is_literal: bool,
        span: TokenSpan,
        out: &mut Vec<Node>,
    ) {
        let (lo_expr, hi_expr) = (self.expr(lo), self.expr(hi));
        let Some((place, _)) = self.place(var) else {
            return;
        };
        let text = print::var_ref(var);
        let assign = |value: Expr, value_text: &str| {
            let action = Action::Assign(place.clone(), value);
            basic(action, &format!("{text} = {value_text}"), span)
        };
        if let (ExprKind::Const(lo), ExprKind::Const(hi)) = (&lo.kind, &hi.kind)
            && is_literal
        {
            if lo > hi {
                self.error("the range of this `select` is empty", span);
                return;
            }
            if hi - lo <= MAX_SELECT {
                let options = (*lo..=*hi)
                    .map(|value| vec![assign(Expr::Const(value as i32), &value.to_string())])
                    .collect();
                out.push(node(NodeKind::If(options), span));
                return;
            }
        }
        out.push(assign(lo_expr, &print::expr(lo)));
        let below = binary(BinaryOp::Lt, Expr::Read(place.clone()), hi_expr, span);
        let condition = format!("{text} < {}", print::expr(hi));
        let step = Action::Assign(place.clone(), add(place.clone(), BinaryOp::Add, span));
        // The order shows in a `d_step`, where the first option that is executable is taken.
        let options = vec![
            vec![node(NodeKind::Break, span)],
            vec![
                basic(Action::Cond(below), &condition, span),
                basic(step, &format!("{text}++"), span),
            ],
        ];
        out.push(node(NodeKind::Do(options), span));
    }
}

struct LoopText {
    var: String,
    lo: String,
    hi: String,
}

/// `x = lo; do :: x <= hi -> body; x++ :: else -> break od`
fn push_for(
    place: Place,
    lo: Expr,
    hi: Expr,
    body: Vec<Node>,
    texts: &LoopText,
    span: TokenSpan,
    out: &mut Vec<Node>,
) {
    let LoopText {
        var,
        lo: lo_text,
        hi: hi_text,
    } = texts;
    let first = Action::Assign(place.clone(), lo);
    out.push(basic(first, &format!("{var} = {lo_text}"), span));
    let condition = binary(BinaryOp::Le, Expr::Read(place.clone()), hi, span);
    let mut round = vec![basic(
        Action::Cond(condition),
        &format!("{var} <= {hi_text}"),
        span,
    )];
    round.extend(body);
    let step = Action::Assign(place.clone(), add(place, BinaryOp::Add, span));
    round.push(basic(step, &format!("{var}++"), span));
    let done = vec![
        basic(Action::Else, "else", span),
        node(NodeKind::Break, span),
    ];
    out.push(node(NodeKind::Do(vec![round, done]), span));
}

fn node(kind: NodeKind, span: TokenSpan) -> Node {
    Node {
        labels: Vec::new(),
        kind,
        span,
    }
}

fn basic(action: Action, text: &str, span: TokenSpan) -> Node {
    let text: Arc<str> = text.into();
    node(NodeKind::Basic(action, text), span)
}

fn binary(op: BinaryOp, left: Expr, right: Expr, span: TokenSpan) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right), span)
}

fn add(place: Place, op: BinaryOp, span: TokenSpan) -> Expr {
    binary(op, Expr::Read(place), Expr::Const(1), span)
}

fn zero(span: TokenSpan) -> ast::Expr {
    ast::Expr {
        kind: ExprKind::Const(0),
        span,
        height: 1,
    }
}
