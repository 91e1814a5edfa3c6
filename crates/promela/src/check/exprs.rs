//! Expressions, places and messages.

use std::sync::Arc;

use super::Checker;
use super::scope::{FieldType, Symbol};
use crate::ast::{self, BinaryOp, ExprKind};
use crate::program::{Expr, Match, Place, Receive, Scalar, Send, VarId, apply_binary, apply_unary};
use crate::text::TokenSpan;

/// What a reference names.
enum Resolved {
    /// A scalar.
    Place(Place, Scalar),
    /// A whole structure, or a whole array: its scalars in order.
    Whole(Vec<(Place, Scalar)>),
    /// A constant.
    Const(i32),
    /// One of the predefined names.
    Special(Expr),
}

impl Checker<'_> {
    /// An expression; with an error, 0.
    pub(super) fn expr(&mut self, it: &ast::Expr) -> Expr {
        match &it.kind {
            ExprKind::Const(value) => Expr::Const(*value as i32),
            ExprKind::Var(var) => self.read(var),
            ExprKind::Unary(op, operand) => {
                let operand = self.expr(operand);
                match operand {
                    Expr::Const(value) => Expr::Const(apply_unary(*op, value)),
                    operand => Expr::Unary(*op, Box::new(operand)),
                }
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(left), self.expr(right));
                self.binary(*op, left, right, it.span)
            }
            ExprKind::Cond(condition, yes, no) => {
                let condition = self.expr(condition);
                let (yes, no) = (self.expr(yes), self.expr(no));
                match condition {
                    Expr::Const(0) => no,
                    Expr::Const(_) => yes,
                    condition => Expr::Cond(Box::new(condition), Box::new(yes), Box::new(no)),
                }
            }
            ExprKind::Queue(op, chan) => {
                let channel = self.channel_expr(chan);
                Expr::Queue(*op, Box::new(channel), it.span)
            }
            ExprKind::Poll(poll) => Expr::Poll(Box::new(self.receive_or_poll(poll, true))),
            ExprKind::Run(name, ..) => {
                let error = self
                    .text
                    .error("`run` cannot be a part of an expression", name.span)
                    .help("write `run P(...)` as a statement, or `x = run P(...)`");
                self.diagnostics.push(error);
                Expr::Const(0)
            }
            ExprKind::Timeout => Expr::Timeout,
            ExprKind::Np => {
                if !self.in_claim {
                    self.error("`np_` can be used in a claim only", it.span);
                }
                Expr::Np
            }
            ExprKind::Enabled(pid) => {
                if !self.in_claim {
                    self.error("`enabled` can be used in a claim only", it.span);
                }
                Expr::Enabled(Box::new(self.expr(pid)))
            }
            ExprKind::PcValue(pid) => Expr::PcValue(Box::new(self.expr(pid))),
            ExprKind::GetPriority(pid) => {
                self.uses_priorities = true;
                Expr::GetPriority(Box::new(self.expr(pid)))
            }
            ExprKind::RemoteLabel(name, pid, label) => self.remote_label(name, pid, label),
            ExprKind::RemoteVar(name, pid, var) => self.remote_var(name, pid, var),
            ExprKind::Error => Expr::Const(0),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr, span: TokenSpan) -> Expr {
        if let (Expr::Const(a), Expr::Const(b)) = (&left, &right) {
            match apply_binary(op, *a, *b) {
                Some(value) => return Expr::Const(value),
                // An error where it is executed, which may be never.
                None => self.warn("this divides by zero", span),
            }
        }
        Expr::Binary(op, Box::new(left), Box::new(right), span)
    }

    /// The value of an expression that must be constant; 0 with an error.
    pub(super) fn constant(&mut self, it: &ast::Expr, what: &str) -> i32 {
        let n_errors = self.diagnostics.n_errors();
        let expr = self.expr(it);
        match self.constant_of(&expr) {
            Some(value) => value,
            None => {
                if self.diagnostics.n_errors() == n_errors {
                    self.not_constant(&expr, what, it.span);
                }
                1
            }
        }
    }

    /// Reports an expression that must be constant and is not.
    pub(super) fn not_constant(&mut self, expr: &Expr, what: &str, span: TokenSpan) {
        let is_division = |it: &Expr| match it {
            Expr::Binary(op, a, b, _) => {
                let operands = self.constant_of(a).zip(self.constant_of(b));
                operands.is_some_and(|(a, b)| apply_binary(*op, a, b).is_none())
            }
            _ => false,
        };
        let message = match expr.any(&is_division) {
            true => format!("{what} divides by zero"),
            false => format!("{what} must be constant"),
        };
        self.error(message, span);
    }

    pub(super) fn constant_of(&self, expr: &Expr) -> Option<i32> {
        match expr {
            Expr::Const(value) => Some(*value),
            _ => None,
        }
    }

    fn read(&mut self, var: &ast::VarRef) -> Expr {
        match self.resolve(var) {
            Some(Resolved::Place(place, _)) => {
                if place.var == VarId::Scratch {
                    self.error("`_` can be written only", var.span);
                    return Expr::Const(0);
                }
                Expr::Read(place)
            }
            Some(Resolved::Const(value)) => Expr::Const(value),
            Some(Resolved::Special(expr)) => expr,
            Some(Resolved::Whole(_)) => {
                let text = crate::print::var_ref(var);
                let message = format!("`{text}` is not a scalar");
                let error = self.text.error(message, var.span);
                self.diagnostics
                    .push(error.help("name an element with `[...]`, or a field with `.`"));
                Expr::Const(0)
            }
            None => Expr::Const(0),
        }
    }

    /// Something that is assigned.
    pub(super) fn place(&mut self, var: &ast::VarRef) -> Option<(Place, Scalar)> {
        let (place, ty) = self.declared_place(var)?;
        if ty == Scalar::Chan {
            self.note_chan(&place, true);
        }
        Some((place, ty))
    }

    /// Something that can be assigned.
    pub(super) fn declared_place(&mut self, var: &ast::VarRef) -> Option<(Place, Scalar)> {
        match self.resolve(var)? {
            Resolved::Place(place, ty) => {
                if self.in_claim && place.var != VarId::Scratch {
                    self.error("a claim cannot change a variable", var.span);
                }
                Some((place, ty))
            }
            Resolved::Whole(_) => {
                let error = self
                    .text
                    .error(
                        "a structure or array cannot be assigned as a whole",
                        var.span,
                    )
                    .help("assign its elements one by one");
                self.diagnostics.push(error);
                None
            }
            Resolved::Const(_) | Resolved::Special(_) => {
                let text = crate::print::var_ref(var);
                self.error(format!("`{text}` cannot be assigned"), var.span);
                None
            }
        }
    }

    /// Records that a channel variable is used or gets a value.
    fn note_chan(&mut self, place: &Place, is_written: bool) {
        let key = match place.var {
            VarId::Global(idx) => (None, idx),
            VarId::Local(idx) => match self.scopes.proctype() {
                Some(proctype) => (Some(proctype), idx),
                None => return,
            },
            VarId::Scratch => return,
        };
        match is_written {
            true => {
                self.written_chans.insert(key);
            }
            false => self.used_chans.push((key.0, key.1, place.span)),
        }
    }

    /// An expression that names a channel.
    pub(super) fn channel_expr(&mut self, var: &ast::VarRef) -> Expr {
        let text = || crate::print::var_ref(var);
        match self.resolve(var) {
            Some(Resolved::Place(place, ty)) => {
                match ty {
                    Scalar::Chan => self.note_chan(&place, false),
                    // It may hold the number of one.
                    Scalar::Byte | Scalar::Int | Scalar::Short => {
                        let message = format!("`{}` is not declared as a `chan`", text());
                        self.warn(message, var.span);
                    }
                    _ => self.error(format!("`{}` is not a channel", text()), var.span),
                }
                Expr::Read(place)
            }
            Some(_) => {
                self.error(format!("`{}` is not a channel", text()), var.span);
                Expr::Const(0)
            }
            None => Expr::Const(0),
        }
    }

    fn resolve(&mut self, var: &ast::VarRef) -> Option<Resolved> {
        let first = &var.parts[0];
        if first.name.is_empty() {
            return None;
        }
        let Some(symbol) = self.scopes.find(&first.name).cloned() else {
            return self.resolve_other(var);
        };
        let resolved = self.resolve_in(&symbol, var);
        match &resolved {
            Some(Resolved::Place(place, _)) => self.note_use(place, 1),
            Some(Resolved::Whole(places)) => {
                places.iter().for_each(|(place, _)| self.note_use(place, 1));
            }
            _ => {}
        }
        resolved
    }

    /// Records that a global variable is used, or, with -1, that a use was a store only.
    pub(super) fn note_use(&mut self, place: &Place, n: i32) {
        if let VarId::Global(idx) = place.var {
            *self.n_reads.entry(idx).or_default() += n;
        }
    }

    fn resolve_in(&mut self, symbol: &Symbol, var: &ast::VarRef) -> Option<Resolved> {
        let mut ty = symbol.ty;
        let mut path = String::new();
        let mut indices = Vec::new();
        let mut len = symbol.len;
        for (n, part) in var.parts.iter().enumerate() {
            if n > 0 {
                let FieldType::Struct(idx) = ty else {
                    let message = format!("`{}` has no fields", var.parts[n - 1].name);
                    self.error(message, part.name.span);
                    return None;
                };
                let fields = &self.structs[idx].fields;
                let Some(field) = fields.iter().find(|it| it.name == part.name.text) else {
                    let names = fields.iter().map(|it| &*it.name);
                    let guess = hadal_syntax::did_you_mean(&part.name, names);
                    let guess = guess.map(|it| format!("did you mean `{it}`?"));
                    let message = format!("there is no field `{}`", part.name);
                    let error = self.text.error(message, part.name.span);
                    self.diagnostics.push(match guess {
                        Some(guess) => error.help(guess),
                        None => error,
                    });
                    return None;
                };
                ty = field.ty;
                len = field.len;
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&part.name);
            }
            let is_last = n + 1 == var.parts.len();
            match (&part.index, len) {
                (Some(index), Some(len)) => {
                    let expr = self.expr(index);
                    if let Some(value) = self.constant_of(&expr)
                        && !(0..i64::from(len)).contains(&value.into())
                    {
                        let message = format!("the index {value} is outside of 0 to {}", len - 1);
                        self.error(message, index.span);
                    }
                    indices.push(expr);
                }
                // SPIN takes a variable for an array of one element.
                (Some(index), None) => {
                    let expr = self.expr(index);
                    if self.constant_of(&expr) != Some(0) {
                        let message = format!("`{}` is not an array", part.name);
                        self.error(message, index.span);
                    }
                }
                (None, Some(len)) if is_last => {
                    let mut whole = Vec::new();
                    for idx in 0..len {
                        let mut indices = indices.clone();
                        indices.push(Expr::Const(idx as i32));
                        self.whole(symbol, ty, &path, &indices, var.span, &mut whole);
                    }
                    return Some(Resolved::Whole(whole));
                }
                (None, Some(_)) => {
                    let message = format!("`{}` needs an index", part.name);
                    self.error(message, part.name.span);
                    return None;
                }
                (None, None) => {}
            }
        }
        match ty {
            FieldType::Scalar(scalar) => {
                let leaf = *symbol.leaves.get(&path)?;
                Some(Resolved::Place(
                    Place {
                        var: match symbol.is_global {
                            true => VarId::Global(leaf),
                            false => VarId::Local(leaf),
                        },
                        indices,
                        span: var.span,
                    },
                    scalar,
                ))
            }
            FieldType::Struct(_) => {
                let mut whole = Vec::new();
                self.whole(symbol, ty, &path, &indices, var.span, &mut whole);
                Some(Resolved::Whole(whole))
            }
        }
    }

    /// The scalars of a part of a variable.
    fn whole(
        &self,
        symbol: &Symbol,
        ty: FieldType,
        path: &str,
        indices: &[Expr],
        span: TokenSpan,
        out: &mut Vec<(Place, Scalar)>,
    ) {
        const MAX_PLACES: usize = 2_000;
        if out.len() > MAX_PLACES {
            return;
        }
        let idx = match ty {
            FieldType::Scalar(scalar) => {
                if let Some(&leaf) = symbol.leaves.get(path) {
                    let var = match symbol.is_global {
                        true => VarId::Global(leaf),
                        false => VarId::Local(leaf),
                    };
                    let indices = indices.to_vec();
                    out.push((Place { var, indices, span }, scalar));
                }
                return;
            }
            FieldType::Struct(idx) => idx,
        };
        for field in &self.structs[idx].fields {
            let path = match path.is_empty() {
                true => field.name.to_string(),
                false => format!("{path}.{}", field.name),
            };
            match field.len {
                None => self.whole(symbol, field.ty, &path, indices, span, out),
                Some(len) => {
                    for idx in 0..len {
                        let mut indices = indices.to_vec();
                        indices.push(Expr::Const(idx as i32));
                        self.whole(symbol, field.ty, &path, &indices, span, out);
                    }
                }
            }
        }
    }

    /// A name that is no variable: predefined, or a constant.
    fn resolve_other(&mut self, var: &ast::VarRef) -> Option<Resolved> {
        let name = &var.parts[0].name;
        let special = match &**name {
            "_" => {
                return Some(Resolved::Place(
                    Place {
                        var: VarId::Scratch,
                        indices: Vec::new(),
                        span: var.span,
                    },
                    Scalar::Int,
                ));
            }
            "_pid" => Some(Expr::Pid),
            "_nr_pr" => Some(Expr::NrPr),
            "_last" => {
                self.uses_last = true;
                Some(Expr::Last)
            }
            "_priority" => {
                self.uses_priorities = true;
                Some(Expr::Priority)
            }
            _ => None,
        };
        if let Some(special) = special {
            return Some(Resolved::Special(special));
        }
        if let Some(&(_, value)) = self.mtype_names.get(&name.text) {
            return Some(Resolved::Const(value.into()));
        }
        let known = self
            .scopes
            .names()
            .chain(self.mtype_names.keys().map(|it| &**it));
        let predefined = [
            "_pid", "_nr_pr", "_last", "timeout", "skip", "true", "false",
        ];
        let words = ["else", "break", "goto", "atomic", "d_step", "assert"];
        let guess = hadal_syntax::did_you_mean(name, known.chain(predefined).chain(words));
        let guess = guess.map(str::to_owned);
        let error = self
            .text
            .error(format!("`{name}` is not declared"), name.span);
        self.diagnostics.push(match guess {
            Some(guess) => error.help(format!("did you mean `{guess}`?")),
            None => error,
        });
        None
    }

    fn proctype_named(&mut self, name: &ast::Name) -> Option<usize> {
        if let Some(&idx) = self.proctypes.get(&name.text) {
            return Some(idx);
        }
        let guess = hadal_syntax::did_you_mean(name, self.proctypes.keys().map(|it| &**it));
        let guess = guess.map(str::to_owned);
        let message = format!("there is no process type `{name}`");
        let error = self.text.error(message, name.span);
        self.diagnostics.push(match guess {
            Some(guess) => error.help(format!("did you mean `{guess}`?")),
            None => error,
        });
        None
    }

    fn remote_label(
        &mut self,
        name: &ast::Name,
        pid: &Option<Box<ast::Expr>>,
        label: &ast::Name,
    ) -> Expr {
        let pid = pid.as_ref().map(|it| Box::new(self.expr(it)));
        let Some(proctype) = self.proctype_named(name) else {
            return Expr::Const(0);
        };
        self.remote_labels.insert((proctype, label.text.clone()));
        if let Some(outline) = self.outlines.get(proctype)
            && !outline.labels.contains(&label.text)
        {
            let names = outline.labels.iter().map(|it| &**it);
            let guess = hadal_syntax::did_you_mean(label, names).map(str::to_owned);
            let error = self
                .text
                .error(format!("`{name}` has no label `{label}`"), label.span);
            self.diagnostics.push(match guess {
                Some(guess) => error.help(format!("did you mean `{guess}`?")),
                None => error,
            });
        }
        Expr::RemoteLabel {
            proctype,
            pid,
            label: label.text.clone(),
        }
    }

    fn remote_var(
        &mut self,
        name: &ast::Name,
        pid: &Option<Box<ast::Expr>>,
        var: &ast::VarRef,
    ) -> Expr {
        let pid = pid.as_ref().map(|it| Box::new(self.expr(it)));
        let Some(proctype) = self.proctype_named(name) else {
            return Expr::Const(0);
        };
        let path: Vec<&str> = var.parts.iter().map(|it| &*it.name).collect();
        let path: Arc<str> = path.join(".").into();
        let mut indices = Vec::new();
        for index in var.parts.iter().filter_map(|it| it.index.as_ref()) {
            indices.push(self.expr(index));
        }
        let Some(outline) = self.outlines.get(proctype) else {
            return Expr::Const(0);
        };
        let found = outline.locals.iter().position(|it| it.name == path);
        let n_dims = found.map(|idx| outline.locals[idx].dims.len());
        match (found, n_dims) {
            (Some(var_idx), Some(n)) if n == indices.len() => Expr::RemoteVar {
                proctype,
                pid,
                var: var_idx,
                indices,
                span: var.span,
            },
            (Some(_), Some(n)) => {
                let message = format!("`{path}` has {n} dimensions, not {}", indices.len());
                self.error(message, var.span);
                Expr::Const(0)
            }
            _ => {
                let message = format!("`{name}` has no variable `{path}`");
                self.error(message, var.span);
                Expr::Const(0)
            }
        }
    }

    pub(super) fn send(&mut self, it: &ast::Send) -> Send {
        let chan = self.channel_expr(&it.chan);
        let (mut args, mut spans) = (Vec::new(), Vec::new());
        for arg in &it.args {
            let whole = match &arg.kind {
                ExprKind::Var(var) => self.resolve(var),
                _ => None,
            };
            match whole {
                Some(Resolved::Whole(places)) => {
                    args.extend(places.into_iter().map(|(place, _)| Expr::Read(place)));
                }
                Some(Resolved::Place(place, ty)) if place.var != VarId::Scratch => {
                    if ty == Scalar::Chan {
                        self.note_chan(&place, false);
                    }
                    args.push(Expr::Read(place));
                }
                Some(Resolved::Const(value)) => args.push(Expr::Const(value)),
                Some(Resolved::Special(expr)) => args.push(expr),
                _ if matches!(&arg.kind, ExprKind::Var(_)) && whole.is_none() => {
                    args.push(Expr::Const(0));
                }
                _ => args.push(self.expr(arg)),
            }
            spans.resize(args.len(), arg.span);
        }
        self.check_arity(&it.chan, args.len(), false);
        let fields = self.fields_of(&it.chan).unwrap_or_default();
        for ((arg, field), span) in args.iter().zip(fields).zip(spans) {
            self.warn_truncation(field, arg, span);
        }
        Send {
            chan,
            sorted: it.sorted,
            args,
            span: it.chan.span,
        }
    }

    pub(super) fn receive(&mut self, it: &ast::Receive) -> Receive {
        // One that leaves the message where it is may look at its first fields only, as in SPIN.
        self.receive_or_poll(it, it.keeps)
    }

    fn receive_or_poll(&mut self, it: &ast::Receive, may_be_fewer: bool) -> Receive {
        let chan = self.channel_expr(&it.chan);
        let fields = self.fields_of(&it.chan).unwrap_or_default();
        let mut args = Vec::new();
        for arg in &it.args {
            match arg {
                ast::ReceiveArg::Eval(value) | ast::ReceiveArg::Const(value) => {
                    let expr = self.expr(value);
                    let field = fields.get(args.len());
                    if let (Some(constant), Some(field)) = (self.constant_of(&expr), field)
                        && field.truncate(constant) != constant
                        && *field != Scalar::Unsigned(32)
                    {
                        let (least, greatest) = field.range();
                        let message = format!(
                            "{constant} is no value of this field, which is {least} to {greatest}, \
                             so no message matches"
                        );
                        self.warn(message, value.span);
                    }
                    args.push(Match::Equal(expr));
                }
                ast::ReceiveArg::Var(var) => match self.resolve(var) {
                    Some(Resolved::Place(place, ty)) => {
                        if ty == Scalar::Chan {
                            self.note_chan(&place, true);
                        }
                        self.note_use(&place, -1);
                        args.push(match place.var {
                            VarId::Scratch => Match::Any,
                            _ => Match::Assign(place),
                        });
                    }
                    Some(Resolved::Whole(places)) => {
                        args.extend(places.into_iter().map(|(place, _)| Match::Assign(place)));
                    }
                    Some(Resolved::Const(value)) => args.push(Match::Equal(Expr::Const(value))),
                    Some(Resolved::Special(expr)) => args.push(Match::Equal(expr)),
                    None => args.push(Match::Any),
                },
            }
        }
        self.check_arity(&it.chan, args.len(), may_be_fewer);
        Receive {
            chan,
            random: it.random,
            keeps: it.keeps,
            args,
            span: it.chan.span,
        }
    }

    /// The types of the fields of a channel that is named by its declaration.
    fn fields_of(&self, chan: &ast::VarRef) -> Option<Vec<Scalar>> {
        let symbol = self.scopes.find(&chan.parts[0].name)?;
        let path: Vec<&str> = chan.parts.iter().skip(1).map(|it| &*it.name).collect();
        let &leaf = symbol.leaves.get(&path.join("."))?;
        let variables = match symbol.is_global {
            true => &self.globals,
            false => &self.locals,
        };
        match variables.get(leaf)?.initial {
            crate::program::Initial::Channel(ty) => Some(self.channels[ty].fields.clone()),
            _ => None,
        }
    }

    /// Compares the number of fields with the declaration of a channel, if it is known.
    fn check_arity(&mut self, chan: &ast::VarRef, n: usize, may_be_fewer: bool) {
        let Some(fields) = self.fields_of(chan) else {
            return;
        };
        let n_fields = fields.len();
        if n > n_fields || n < n_fields && !may_be_fewer {
            let plural = |n| if n == 1 { "" } else { "s" };
            let message = format!(
                "{n} argument{} for a message of {n_fields} field{}",
                plural(n),
                plural(n_fields)
            );
            self.error(message, chan.span);
        }
    }

    /// `run P(e)`
    pub(super) fn run(
        &mut self,
        name: &ast::Name,
        args: &[ast::Expr],
        priority: &Option<Box<ast::Expr>>,
    ) -> Option<crate::program::Run> {
        if self.in_claim {
            self.error("a claim cannot start a process", name.span);
        }
        let spans: Vec<TokenSpan> = args.iter().map(|arg| arg.span).collect();
        let args: Vec<Expr> = args
            .iter()
            .map(|arg| {
                if let ExprKind::Var(var) = &arg.kind
                    && let Some(Resolved::Place(place, Scalar::Chan)) = self.resolve(var)
                {
                    self.note_chan(&place, false);
                    return Expr::Read(place);
                }
                self.expr(arg)
            })
            .collect();
        let priority = priority.as_ref().and_then(|it| {
            self.uses_priorities = true;
            let value = self.expr(it);
            match self.constant_of(&value) {
                // SPIN takes it for none.
                Some(0) => return None,
                Some(1..=255) | None => {}
                Some(_) => self.error("a priority must be 1 to 255", it.span),
            }
            Some(value)
        });
        let proctype = self.proctype_named(name)?;
        let n_params = self.params[proctype].0;
        if args.len() != n_params {
            let plural = if n_params == 1 { "" } else { "s" };
            let message = format!(
                "`{name}` takes {n_params} argument{plural}, not {}",
                args.len()
            );
            let error = self.text.error(message, name.span);
            let declared = self.params[proctype].1;
            let error = self.text.context(error, declared, "it is declared here");
            self.diagnostics.push(error);
            return None;
        }
        let params = self.outlines.get(proctype);
        let params = params.map_or(&[][..], |outline| &outline.locals);
        let params: Vec<Scalar> = params.iter().take(n_params).map(|it| it.ty).collect();
        for ((arg, param), span) in args.iter().zip(params).zip(spans) {
            self.warn_truncation(param, arg, span);
        }
        Some(crate::program::Run {
            proctype,
            args,
            priority,
        })
    }
}
