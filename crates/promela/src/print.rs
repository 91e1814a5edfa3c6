//! Trees as text: the form that traces and tests show.
//!
//! The text is canonical, with few parentheses; macros and `inline`s are expanded in it, as they
//! are in the tree. A whole model that is printed parses to an equal tree.

use std::fmt::Write;

use crate::ast::{
    Decl, Expr, ExprKind, Formula, FormulaOp, Init, Item, Model, Mtype, Prefix, Proctype, Receive,
    ReceiveArg, Send, Seq, Stmt, StmtKind, Var, VarRef,
};

/// An expression on one line.
pub fn expr(expr: &Expr) -> String {
    let mut out = String::new();
    push_expr(&mut out, expr, 0);
    out
}

/// A variable, element or field.
pub fn var_ref(var: &VarRef) -> String {
    let mut out = String::new();
    push_var_ref(&mut out, var);
    out
}

/// A send statement.
pub fn send(send: &Send) -> String {
    let op = if send.sorted { "!!" } else { "!" };
    format!("{}{op}{}", var_ref(&send.chan), list(&send.args, expr))
}

/// A receive statement.
pub fn receive(receive: &Receive) -> String {
    let args = list(&receive.args, receive_arg);
    let (chan, op) = (var_ref(&receive.chan), receive_op(receive));
    match receive.keeps {
        true => format!("{chan}{op}<{args}>"),
        false => format!("{chan}{op}{args}"),
    }
}

/// A statement on one line, without labels.
pub fn stmt(stmt: &Stmt) -> String {
    match &stmt.kind {
        StmtKind::Decl(it) => decl(it),
        StmtKind::Mtype(it) => mtype(it),
        StmtKind::Exclusive(vars) => format!("xr {}", list(vars, var_ref)),
        StmtKind::Expr(it) => expr(it),
        StmtKind::Else => "else".to_owned(),
        StmtKind::Assign(var, value) => format!("{} = {}", var_ref(var), expr(value)),
        StmtKind::Increment(var) => format!("{}++", var_ref(var)),
        StmtKind::Decrement(var) => format!("{}--", var_ref(var)),
        StmtKind::Send(it) => send(it),
        StmtKind::Receive(it) => receive(it),
        StmtKind::Assert(it) => format!("assert({})", expr(it)),
        StmtKind::Printf(text, args) => {
            let mut out = format!("printf({}", quoted(text));
            for arg in args {
                let _ = write!(out, ", {}", expr(arg));
            }
            out + ")"
        }
        StmtKind::Printm(it) => format!("printm({})", expr(it)),
        StmtKind::Goto(label) => format!("goto {label}"),
        StmtKind::Break => "break".to_owned(),
        StmtKind::Return(var, value) => format!("{} = {}", var_ref(var), expr(value)),
        StmtKind::SetPriority(pid, value) => {
            format!("set_priority({}, {})", expr(pid), expr(value))
        }
        StmtKind::If(options) => format!("if {} fi", options_text(options)),
        StmtKind::Do(options) => format!("do {} od", options_text(options)),
        StmtKind::ForRange(var, lo, hi, body) => format!(
            "for ({} : {} .. {}) {}",
            var_ref(var),
            expr(lo),
            expr(hi),
            block(body)
        ),
        StmtKind::ForIn(var, array, body) => {
            format!(
                "for ({} in {}) {}",
                var_ref(var),
                var_ref(array),
                block(body)
            )
        }
        StmtKind::Select { var, lo, hi, .. } => {
            format!("select ({} : {} .. {})", var_ref(var), expr(lo), expr(hi))
        }
        StmtKind::Atomic(body) => format!("atomic {}", block(body)),
        StmtKind::DStep(body) => format!("d_step {}", block(body)),
        StmtKind::Block(body) | StmtKind::Inline(_, body) => block(body),
        StmtKind::Unless(body, escape) => {
            format!("{} unless {}", labelled(body), labelled(escape))
        }
        StmtKind::Error => "<error>".to_owned(),
    }
}

/// A whole model, a line for each statement of the top level.
pub fn model(model: &Model) -> String {
    let mut out = String::new();
    for item in &model.items {
        match item {
            Item::Decl(it) => out += &(decl(it) + ";\n"),
            Item::Mtype(it) => out += &(mtype(it) + ";\n"),
            Item::Typedef(it) => {
                let fields: Vec<String> = it.fields.iter().map(decl).collect();
                let _ = writeln!(out, "typedef {} {{ {} }};", it.name, fields.join("; "));
            }
            Item::Proctype(it) => {
                out += &proctype_header(it);
                push_body(&mut out, &it.body);
            }
            Item::Never(it) => {
                let name = it.name.as_ref().map(|it| format!(" {it}"));
                let _ = write!(out, "never{} ", name.unwrap_or_default());
                push_body(&mut out, &it.body);
            }
            Item::Trace(it) => {
                out += if it.negated { "notrace " } else { "trace " };
                push_body(&mut out, &it.body);
            }
            Item::Ltl(it) => {
                let name = it.name.as_ref().map(|it| format!(" {it}"));
                let text = formula(&it.formula);
                let _ = writeln!(out, "ltl{} {{ {text} }}", name.unwrap_or_default());
            }
        }
    }
    out
}

/// A formula, with parentheses around each binary operator.
pub fn formula(it: &Formula) -> String {
    match it {
        Formula::Atom(it) => format!("({})", expr(it)),
        Formula::Not(it) => match formula(it) {
            // Not the operator `!!`.
            inner if inner.starts_with('!') => format!("! {inner}"),
            inner => format!("!{inner}"),
        },
        Formula::Next(it) => format!("X {}", formula(it)),
        Formula::Always(it) => format!("[] {}", formula(it)),
        Formula::Eventually(it) => format!("<> {}", formula(it)),
        Formula::Binary(op, left, right) => {
            let op = match op {
                FormulaOp::And => "&&",
                FormulaOp::Or => "||",
                FormulaOp::Implies => "->",
                FormulaOp::Iff => "<->",
                FormulaOp::Until => "U",
                FormulaOp::WeakUntil => "W",
                FormulaOp::Release => "V",
            };
            format!("({} {op} {})", formula(left), formula(right))
        }
    }
}

fn proctype_header(it: &Proctype) -> String {
    let mut out = String::new();
    if let Some(active) = it.active.as_ref().filter(|_| !it.is_init) {
        out += "active ";
        if let Some(count) = &active.count {
            let _ = write!(out, "[{}] ", expr(count));
        }
    }
    if it.is_init {
        out += "init ";
    } else {
        let word = if it.deterministic {
            "D_proctype"
        } else {
            "proctype"
        };
        let params: Vec<String> = it.params.iter().map(decl).collect();
        let _ = write!(out, "{word} {}({}) ", it.name, params.join("; "));
    }
    if let Some(priority) = &it.priority {
        let _ = write!(out, "priority {} ", expr(priority));
    }
    if let Some(provided) = &it.provided {
        let _ = write!(out, "provided ({}) ", expr(provided));
    }
    out
}

fn push_body(out: &mut String, body: &Seq) {
    out.push_str("{\n");
    for stmt in &body.stmts {
        let _ = writeln!(out, "  {};", labelled(stmt));
    }
    out.push_str("}\n");
}

fn labelled(it: &Stmt) -> String {
    let mut out = String::new();
    for label in &it.labels {
        let _ = write!(out, "{label}: ");
    }
    out + &stmt(it)
}

fn options_text(options: &[Seq]) -> String {
    let option = |seq: &Seq| format!(":: {}", seq_text(seq));
    options.iter().map(option).collect::<Vec<_>>().join(" ")
}

fn seq_text(seq: &Seq) -> String {
    seq.stmts
        .iter()
        .map(labelled)
        .collect::<Vec<_>>()
        .join("; ")
}

fn block(seq: &Seq) -> String {
    format!("{{ {} }}", seq_text(seq))
}

/// A declaration on one line.
pub fn decl(it: &Decl) -> String {
    let prefix = match it.prefix {
        None => "",
        Some(Prefix::Hidden) => "hidden ",
        Some(Prefix::Show) => "show ",
        Some(Prefix::Local) => "local ",
    };
    format!("{prefix}{} {}", it.ty.kind.text(), list(&it.vars, var))
}

fn var(it: &Var) -> String {
    let mut out = it.name.to_string();
    if let Some(width) = &it.width {
        let _ = write!(out, " : {}", expr(width));
    }
    if let Some(len) = &it.len {
        let _ = write!(out, "[{}]", expr(len));
    }
    match &it.init {
        None => {}
        Some(Init::Expr(value)) => {
            let _ = write!(out, " = {}", expr(value));
        }
        Some(Init::List(values, _)) => {
            let _ = write!(out, " = {{ {} }}", list(values, expr));
        }
        Some(Init::Chan(chan)) => {
            let types: Vec<String> = chan.fields.iter().map(|it| it.kind.text()).collect();
            let capacity = expr(&chan.capacity);
            let _ = write!(out, " = [{capacity}] of {{ {} }}", types.join(", "));
        }
    }
    out
}

fn mtype(it: &Mtype) -> String {
    let set = it.set.as_ref().map(|it| format!(":{it}"));
    let names: Vec<&str> = it.names.iter().map(|it| &**it).collect();
    format!(
        "mtype{} = {{ {} }}",
        set.unwrap_or_default(),
        names.join(", ")
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\x0c' => out.push_str("\\f"),
            '\0' => out.push_str("\\0"),
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

fn receive_op(receive: &Receive) -> &'static str {
    if receive.random { "??" } else { "?" }
}

fn receive_arg(arg: &ReceiveArg) -> String {
    match arg {
        ReceiveArg::Var(var) => var_ref(var),
        ReceiveArg::Eval(it) => format!("eval({})", expr(it)),
        ReceiveArg::Const(it) => expr(it),
    }
}

fn push_var_ref(out: &mut String, var: &VarRef) {
    for (idx, part) in var.parts.iter().enumerate() {
        if idx > 0 {
            out.push('.');
        }
        out.push_str(&part.name);
        if let Some(index) = &part.index {
            out.push('[');
            push_expr(out, index, 0);
            out.push(']');
        }
    }
}

/// Precedence of an operand of a unary operator.
const UNARY: u8 = 10;

fn push_expr(out: &mut String, it: &Expr, level: u8) {
    match &it.kind {
        ExprKind::Const(value) if *value < 0 && level > 0 => {
            let _ = write!(out, "({value})");
        }
        ExprKind::Const(value) => {
            let _ = write!(out, "{value}");
        }
        ExprKind::Var(var) => push_var_ref(out, var),
        ExprKind::Unary(op, operand) => {
            out.push_str(op.text());
            // Two minus signs would be a decrement.
            if matches!(operand.kind, ExprKind::Unary(..)) {
                out.push('(');
                push_expr(out, operand, 0);
                out.push(')');
            } else {
                push_expr(out, operand, UNARY);
            }
        }
        ExprKind::Binary(op, left, right) => {
            let own = op.precedence();
            let parens = own < level;
            if parens {
                out.push('(');
            }
            push_expr(out, left, own);
            let _ = write!(out, " {} ", op.text());
            push_expr(out, right, own + 1);
            if parens {
                out.push(')');
            }
        }
        ExprKind::Cond(condition, yes, no) => {
            out.push('(');
            push_expr(out, condition, 0);
            out.push_str(" -> ");
            push_expr(out, yes, 0);
            out.push_str(" : ");
            push_expr(out, no, 0);
            out.push(')');
        }
        ExprKind::Queue(op, chan) => {
            let _ = write!(out, "{}({})", op.text(), var_ref(chan));
        }
        ExprKind::Poll(poll) => {
            let args = list(&poll.args, receive_arg);
            let (chan, op) = (var_ref(&poll.chan), receive_op(poll));
            let _ = write!(out, "{chan}{op}[{args}]");
        }
        ExprKind::Run(name, args, priority) => {
            let parens = level > 0;
            if parens {
                out.push('(');
            }
            let _ = write!(out, "run {name}({})", list(args, expr));
            if let Some(priority) = priority {
                out.push_str(" priority ");
                push_expr(out, priority, UNARY);
            }
            if parens {
                out.push(')');
            }
        }
        ExprKind::Timeout => out.push_str("timeout"),
        ExprKind::Np => out.push_str("np_"),
        ExprKind::Enabled(it) => {
            let _ = write!(out, "enabled({})", expr(it));
        }
        ExprKind::PcValue(it) => {
            let _ = write!(out, "pc_value({})", expr(it));
        }
        ExprKind::GetPriority(it) => {
            let _ = write!(out, "get_priority({})", expr(it));
        }
        ExprKind::RemoteLabel(name, pid, label) => {
            let pid = pid.as_ref().map(|it| format!("[{}]", expr(it)));
            let _ = write!(out, "{name}{}@{label}", pid.unwrap_or_default());
        }
        ExprKind::RemoteVar(name, pid, var) => {
            let pid = pid.as_ref().map(|it| format!("[{}]", expr(it)));
            let _ = write!(out, "{name}{}:{}", pid.unwrap_or_default(), var_ref(var));
        }
        ExprKind::Error => out.push_str("<error>"),
    }
}
