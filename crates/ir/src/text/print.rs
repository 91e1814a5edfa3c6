//! From program to text.

use std::fmt::{Display, Write};

use hadal_model::{FaultKind, MeasureKind};

use super::infix::Infix;
use crate::expr::{Arg, BinaryOp, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
use crate::program::{
    Frame, Guard, LocalKind, Measure, Param, ParamDomain, ParamMode, Program, PropertyKind,
};
use crate::stmt::{PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::{SimpleKind, Type, UnionPart};

/// Comments longer than this are cut; the text they explain is complete anyway.
const MAX_COMMENT_CHARS: usize = 100;

/// The program as text that [`parse`](super::parse) reads back to an equal program.
pub fn print(program: &Program) -> String {
    let mut printer = Printer {
        program,
        out: String::new(),
    };
    printer.program();
    printer.out
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
}

impl Printer<'_> {
    fn program(&mut self) {
        let program = self.program;
        let arithmetic = &program.arithmetic;
        self.line(0, format_args!("(program"));
        for (id, name) in program.files.iter().enumerate() {
            self.line(1, format_args!("(file #{id} {})", quoted(name)));
        }
        self.line(
            1,
            format_args!(
                "(arithmetic {} {} {})",
                arithmetic.min,
                arithmetic.max,
                if arithmetic.wraps { "wraps" } else { "checked" }
            ),
        );
        for (id, site) in program.sites.iter().enumerate() {
            let used_at = site.used_at.map(|site| format!(" {site}"));
            let used_at = used_at.unwrap_or_default();
            let (file, line, column) = (site.file, site.line, site.column);
            self.line(
                1,
                format_args!("(site @{id} {file} {line} {column}{used_at})"),
            );
        }
        for (id, set) in program.types.scalarsets.iter().enumerate() {
            self.line(
                1,
                format_args!("(scalarset s{id} {} {})", quoted(&set.name), set.size),
            );
        }
        for id in 0..program.types.len() {
            let ty = type_text(program.types.get(crate::ids::TypeId::new(id)));
            self.line(1, format_args!("(type t{id} {ty})"));
        }
        for (id, map) in program.maps.iter().enumerate() {
            let segments: String = map
                .segments
                .iter()
                .map(|segment| format!(" ({} {} {})", segment.lo, segment.hi, segment.to))
                .collect();
            self.line(1, format_args!("(map m{id} {}{segments})", map.from));
        }
        for (id, point) in program.cover_points.iter().enumerate() {
            self.line(
                1,
                format_args!("(cover c{id} {} {})", quoted(&point.name), point.site),
            );
        }
        for (id, var) in program.vars.iter().enumerate() {
            self.line(
                1,
                format_args!("(var v{id} {} {})", quoted(&var.name), var.ty),
            );
        }
        if program.n_registers > 0 {
            self.line(1, format_args!("(registers {})", program.n_registers));
        }
        for (id, (expr, site)) in program.exprs.iter().enumerate() {
            self.line(1, format_args!("(expr e{id} {site} {})", expr_text(expr)));
        }
        for (id, function) in program.functions.iter().enumerate() {
            self.line(
                1,
                format_args!(
                    "(function f{id} {} {}",
                    quoted(&function.name),
                    function.site
                ),
            );
            let params: String = function
                .params
                .iter()
                .map(|mode| match mode {
                    ParamMode::Value => " value",
                    ParamMode::Ref => " ref",
                    ParamMode::ConstRef => " const",
                })
                .collect();
            self.line(2, format_args!("(params{params})"));
            match function.result {
                Some(ty) => self.line(2, format_args!("(result {ty})")),
                None => self.line(2, format_args!("(result)")),
            }
            self.locals(&function.frame);
            self.block(2, "(body", &function.body, "))", &function.frame);
        }
        for start in &program.starts {
            self.line(
                1,
                format_args!("(start {} {}", quoted(&start.name), start.site),
            );
            self.params(&start.params);
            self.locals(&start.frame);
            self.block(2, "(body", &start.body, "))", &start.frame);
        }
        for rule in &program.rules {
            self.line(
                1,
                format_args!("(rule {} {}", quoted(&rule.name), rule.site),
            );
            self.line(2, format_args!("(priority {})", rule.priority));
            if rule.cost != 1 {
                self.line(2, format_args!("(cost {})", rule.cost));
            }
            self.params(&rule.params);
            self.locals(&rule.frame);
            self.guard(&rule.guard, ")", &rule.frame);
            self.block(2, "(body", &rule.body, "))", &rule.frame);
        }
        for property in &program.properties {
            let kind = match property.kind {
                PropertyKind::Invariant => "invariant",
                PropertyKind::Assume => "assume",
                PropertyKind::Cover => "cover",
                PropertyKind::Liveness => "liveness",
                PropertyKind::End => "end",
            };
            self.line(
                1,
                format_args!(
                    "(property {kind} {} {}",
                    quoted(&property.name),
                    property.site
                ),
            );
            self.params(&property.params);
            self.locals(&property.frame);
            self.guard(&property.condition, "))", &property.frame);
        }
        for measure in &program.measures {
            self.measure(measure);
        }
        self.line(0, format_args!(")"));
    }

    fn measure(&mut self, measure: &Measure) {
        let kind = match measure.kind {
            MeasureKind::Estimate {
                is_admissible: true,
            } => "estimate admissible",
            MeasureKind::Estimate {
                is_admissible: false,
            } => "estimate inadmissible",
            MeasureKind::Cost => "cost",
        };
        let at_faults = match measure.is_zero_at_faults {
            true => " zero-at-faults",
            false => "",
        };
        let (name, site) = (quoted(&measure.name), measure.site);
        self.line(1, format_args!("(measure {kind} {name} {site}{at_faults}"));
        self.locals(&measure.frame);
        self.block(2, "(body", &measure.body, ")", &measure.frame);
        let comment = Infix::new(self.program, &measure.frame).expr(measure.value);
        self.line_with(2, format_args!("(value {}))", measure.value), &comment);
    }

    fn line(&mut self, depth: usize, text: impl Display) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * depth);
    }

    fn line_with(&mut self, depth: usize, text: impl Display, comment: &str) {
        // A name may hold anything, a line break too, and that would end the comment.
        let clean: String = comment
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(MAX_COMMENT_CHARS)
            .collect();
        let dots = if clean.len() < comment.len() {
            "..."
        } else {
            ""
        };
        let _ = writeln!(self.out, "{:1$}{text} ; {clean}{dots}", "", 2 * depth);
    }

    fn params(&mut self, params: &[Param]) {
        let text: String = params
            .iter()
            .map(|Param { local, domain }| match domain {
                ParamDomain::Type(ty) => format!(" ({local} (type {ty}))"),
                ParamDomain::Span { from, to, by } => format!(" ({local} (span {from} {to} {by}))"),
                ParamDomain::Slots { multiset, capacity } => {
                    format!(" ({local} (slots {} {capacity}))", place_text(multiset))
                }
            })
            .collect();
        self.line(2, format_args!("(params{text})"));
    }

    fn locals(&mut self, frame: &Frame) {
        let mut text = String::from("(locals");
        for (id, local) in frame.locals.iter().enumerate() {
            let (kind, ty) = match local.kind {
                LocalKind::Value(ty) => ("value", ty),
                LocalKind::Ref(ty) => ("ref", ty),
                LocalKind::ConstRef(ty) => ("const", ty),
            };
            let _ = write!(text, " (l{id} {} {kind} {ty})", quoted(&local.name));
        }
        self.line(2, format_args!("{text})"));
    }

    fn guard(&mut self, guard: &Guard, close: &str, frame: &Frame) {
        self.block(2, "(prologue", &guard.prologue, ")", frame);
        match guard.condition {
            Some(condition) => {
                let comment = Infix::new(self.program, frame).expr(condition);
                self.line_with(2, format_args!("(condition {condition}{close}"), &comment);
            }
            None => self.line(2, format_args!("(condition{close}")),
        }
    }

    /// A block as a list; `close` comes right after the last statement. It stands on its own line
    /// where the block has statements, for their comments run to the end of theirs.
    fn block(&mut self, depth: usize, open: &str, block: &[Stmt], close: &str, frame: &Frame) {
        if block.is_empty() {
            self.line(depth, format_args!("{open}{close}"));
            return;
        }
        self.line(depth, open);
        for stmt in block {
            self.stmt(depth + 1, stmt, frame);
        }
        self.line(depth, close);
    }

    fn stmt(&mut self, depth: usize, stmt: &Stmt, frame: &Frame) {
        let infix = Infix::new(self.program, frame);
        let site = stmt.site;
        let (text, comment) = match &stmt.kind {
            StmtKind::Assign { place, value } => (
                format!("(assign {site} {} {value})", place_text(place)),
                format!("{} := {}", infix.place(place), infix.expr(*value)),
            ),
            StmtKind::Copy { to, from } => (
                format!("(copy {site} {} {})", place_text(to), place_text(from)),
                format!("{} := {}", infix.place(to), infix.place(from)),
            ),
            StmtKind::Clear(place) => (
                format!("(clear {site} {})", place_text(place)),
                format!("clear {}", infix.place(place)),
            ),
            StmtKind::Undefine(place) => (
                format!("(undefine {site} {})", place_text(place)),
                format!("undefine {}", infix.place(place)),
            ),
            StmtKind::If { arms, otherwise } => {
                self.line(depth, format_args!("(if {site}"));
                for (condition, block) in arms {
                    let comment = infix.expr(*condition);
                    self.line_with(depth + 1, format_args!("({condition}"), &comment);
                    for stmt in block {
                        self.stmt(depth + 2, stmt, frame);
                    }
                    self.line(depth + 1, ")");
                }
                self.block(depth + 1, "(else", otherwise, "))", frame);
                return;
            }
            StmtKind::For { var, domain, body } => {
                let comment = format!("for {}{}", infix.local(*var), infix.domain(domain));
                let text = format!("(for {site} {var} {}", domain_text(domain));
                self.line_with(depth, text, &comment);
                self.block(depth + 1, "(do", body, "))", frame);
                return;
            }
            StmtKind::While { condition, body } => {
                let comment = format!("while {}", infix.expr(*condition));
                self.line_with(depth, format_args!("(while {site} {condition}"), &comment);
                self.block(depth + 1, "(do", body, "))", frame);
                return;
            }
            StmtKind::Bind { local, place } => (
                format!("(bind {site} {local} {})", place_text(place)),
                format!("alias {}: {}", infix.local(*local), infix.place(place)),
            ),
            StmtKind::Call { function, args } => (
                format!("(call {site} {function}{})", args_text(args)),
                infix.call(*function, args),
            ),
            StmtKind::Return(ReturnValue::Nothing) => {
                (format!("(return {site})"), "return".to_owned())
            }
            StmtKind::Return(ReturnValue::Value(value)) => (
                format!("(return {site} (value {value}))"),
                format!("return {}", infix.expr(*value)),
            ),
            StmtKind::Return(ReturnValue::Copy(place)) => (
                format!("(return {site} (copy {}))", place_text(place)),
                format!("return {}", infix.place(place)),
            ),
            StmtKind::Assert {
                condition,
                message,
                goes_on,
            } => {
                let mode = if *goes_on { " goes-on" } else { "" };
                (
                    format!("(assert {site} {condition} {}{mode})", quoted(message)),
                    format!("assert {}", infix.expr(*condition)),
                )
            }
            StmtKind::Error { kind, message } => {
                let class = match kind {
                    FaultKind::Error => String::new(),
                    kind => format!("{kind} "),
                };
                (
                    format!("(error {site} {class}{})", quoted(message)),
                    "error".to_owned(),
                )
            }
            StmtKind::Assume(condition) => (
                format!("(assume {site} {condition})"),
                format!("assume {}", infix.expr(*condition)),
            ),
            StmtKind::Cover { point, condition } => (
                format!("(cover {site} c{point} {condition})"),
                format!("cover {}", infix.expr(*condition)),
            ),
            StmtKind::Put(PutItem::Text(text)) => (
                format!("(put {site} (text {}))", quoted(text)),
                "put".to_owned(),
            ),
            StmtKind::Put(PutItem::Value(value, ty)) => (
                format!("(put {site} (value {value} {ty}))"),
                format!("put {}", infix.expr(*value)),
            ),
            StmtKind::Put(PutItem::Number(value, notation)) => (
                format!("(put {site} ({} {value}))", notation.name()),
                format!("put {}", infix.expr(*value)),
            ),
            StmtKind::Put(PutItem::Place(place, name)) => (
                format!(
                    "(put {site} (place {} {}))",
                    place_text(place),
                    quoted(name)
                ),
                format!("put {}", infix.place(place)),
            ),
            StmtKind::MultisetAdd { multiset, value } => (
                format!(
                    "(multiset-add {site} {}{})",
                    place_text(multiset),
                    args_text(std::slice::from_ref(value))
                ),
                format!("multisetadd to {}", infix.place(multiset)),
            ),
            StmtKind::MultisetRemove { multiset, slot } => (
                format!("(multiset-remove {site} {} {slot})", place_text(multiset)),
                format!(
                    "multisetremove {} from {}",
                    infix.expr(*slot),
                    infix.place(multiset)
                ),
            ),
        };
        self.line_with(depth, text, &comment);
    }
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Simple(simple) => {
            let (lo, hi) = (simple.lo, simple.hi);
            let text = match &simple.kind {
                SimpleKind::Boolean => format!("(boolean {lo} {hi})"),
                SimpleKind::Range => format!("(range {lo} {hi})"),
                SimpleKind::Enum(members) => format!("(enum {lo} {hi}{})", names_text(members)),
                SimpleKind::Scalarset(id) => format!("(scalarset {lo} {hi} {id})"),
                SimpleKind::Union(parts) => {
                    let parts: String = parts
                        .iter()
                        .map(|part| match part {
                            UnionPart::Enum(members) => format!(" (enum{})", names_text(members)),
                            UnionPart::Scalarset(id) => format!(" {id}"),
                        })
                        .collect();
                    format!("(union {lo} {hi}{parts})")
                }
            };
            match simple.is_total {
                true => format!("(total {text})"),
                false => text,
            }
        }
        Type::Array { index, element } => format!("(array {index} {element})"),
        Type::Record { fields } => {
            let fields: String = fields
                .iter()
                .map(|field| format!(" ({} {})", quoted(&field.name), field.ty))
                .collect();
            format!("(record{fields})")
        }
        Type::Multiset { capacity, element } => format!("(multiset {capacity} {element})"),
    }
}

fn names_text(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!(" {}", quoted(name)))
        .collect()
}

fn expr_text(expr: &Expr) -> String {
    let list =
        |ids: &[crate::ids::ExprId]| -> String { ids.iter().map(|id| format!(" {id}")).collect() };
    match expr {
        Expr::Int(value) => format!("(int {value})"),
        Expr::Bool(value) => format!("({value})"),
        Expr::Undefined => "(undefined)".to_owned(),
        Expr::Read(place) => format!("(read {})", place_text(place)),
        Expr::Defined(value) => format!("(defined {value})"),
        Expr::Unary(op, value) => format!("({} {value})", unary_name(*op)),
        Expr::Binary(op, left, right) => format!("({} {left} {right})", binary_name(*op)),
        Expr::And(parts) => format!("(and{})", list(parts)),
        Expr::Or(parts) => format!("(or{})", list(parts)),
        Expr::Cond(condition, yes, no) => format!("(cond {condition} {yes} {no})"),
        Expr::Quantified {
            quantifier,
            var,
            domain,
            body,
        } => format!(
            "({} {var} {} {body})",
            quantifier_name(*quantifier),
            domain_text(domain)
        ),
        Expr::IsUndefined(place) => format!("(is-undefined {})", place_text(place)),
        Expr::SameBits(a, b) => format!("(same-bits {} {})", place_text(a), place_text(b)),
        Expr::Call { function, args } => format!("(call {function}{})", args_text(args)),
        Expr::Remap { value, map } => format!("(remap {map} {value})"),
        Expr::InRange { value, lo, hi } => format!("(in-range {value} {lo} {hi})"),
        Expr::Present { multiset, slot } => format!("(present {} {slot})", place_text(multiset)),
    }
}

fn domain_text(domain: &Domain) -> String {
    match domain {
        Domain::Type(ty) => format!("(type {ty})"),
        Domain::Span { from, to, by } => match by {
            By::Constant(step) => format!("(span {from} {to} (by {step}))"),
            By::Toward => format!("(span {from} {to} toward)"),
            By::Step(step) => format!("(span {from} {to} (step {step}))"),
        },
    }
}

fn place_text(place: &Place) -> String {
    let root = match &place.root {
        Root::Var(id) => id.to_string(),
        Root::Local(id) => id.to_string(),
        Root::Result {
            function,
            args,
            into,
            site,
        } => format!("(result {site} {function} {into}{})", args_text(args)),
    };
    if place.path.is_empty() {
        return root;
    }
    let path: String = place
        .path
        .iter()
        .map(|step| match step {
            Projection::Field(n) => format!(" .{n}"),
            Projection::Index(index) => format!(" [{index}]"),
        })
        .collect();
    format!("(at {root}{path})")
}

fn args_text(args: &[Arg]) -> String {
    args.iter()
        .map(|arg| match arg {
            Arg::Value(value) => format!(" (value {value})"),
            Arg::Copy(place) => format!(" (copy {})", place_text(place)),
            Arg::Ref(place) => format!(" (ref {})", place_text(place)),
        })
        .collect()
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The word for an operation; the parser looks it up the other way round.
pub(super) fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Not => "not",
        UnaryOp::BitNot => "bit-not",
    }
}

/// The word for an operation; the parser looks it up the other way round.
pub(super) fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Rem => "rem",
        BinaryOp::Eq => "eq",
        BinaryOp::Ne => "ne",
        BinaryOp::Same => "same",
        BinaryOp::Lt => "lt",
        BinaryOp::Le => "le",
        BinaryOp::Gt => "gt",
        BinaryOp::Ge => "ge",
        BinaryOp::BitAnd => "bit-and",
        BinaryOp::BitOr => "bit-or",
        BinaryOp::BitXor => "bit-xor",
        BinaryOp::Shl => "shl",
        BinaryOp::Shr => "shr",
    }
}

/// The word for a quantifier; the parser looks it up the other way round.
pub(super) fn quantifier_name(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Forall => "forall",
        Quantifier::Exists => "exists",
        Quantifier::Count => "count",
    }
}
