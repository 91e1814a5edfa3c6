//! The syntax tree as text, in one canonical form: every operator in parentheses, every
//! optional word written. What it prints can be parsed again.

use std::fmt::Write;

use hadal_murphi::ast::*;

/// The whole model, one line for each simple thing.
pub(crate) fn model(model: &Model) -> String {
    let mut printer = Printer::default();
    for item in &model.items {
        printer.item(item);
    }
    printer.out
}

/// An expression, fully parenthesised.
pub(crate) fn expr(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Int(value) if *value < 0 => format!("({value})"),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Real(text) => text.to_string(),
        ExprKind::Undefined => "UNDEFINED".to_owned(),
        ExprKind::Designator(path) => designator(path),
        ExprKind::Call { callee, args } => format!("{callee}({})", exprs(args)),
        ExprKind::Unary { op, operand } => format!("({}{})", op.symbol(), self::expr(operand)),
        ExprKind::Binary { op, lhs, rhs, .. } => {
            format!("({} {} {})", self::expr(lhs), op.symbol(), self::expr(rhs))
        }
        ExprKind::Chain { first, rest } => {
            let mut out = format!("({}", self::expr(first));
            for link in rest {
                write!(out, " {} {}", link.op.symbol(), self::expr(&link.operand)).unwrap();
            }
            out + ")"
        }
        ExprKind::Conditional {
            condition,
            then,
            otherwise,
        } => format!(
            "({} ? {} : {})",
            self::expr(condition),
            self::expr(then),
            self::expr(otherwise)
        ),
        ExprKind::Quantified {
            kind,
            quantifiers,
            body,
        } => {
            let word = match kind {
                QuantifiedKind::Forall => "forall",
                QuantifiedKind::Exists => "exists",
            };
            let over = self::quantifiers(quantifiers);
            format!("{word} {over} do {} end", self::expr(body))
        }
        ExprKind::IsUndefined(value) => format!("isundefined({})", self::expr(value)),
        ExprKind::IsMember { value, ty } => {
            format!("ismember({}, {})", self::expr(value), type_expr(ty))
        }
        ExprKind::MultisetCount {
            name,
            multiset,
            condition,
        } => {
            let (multiset, condition) = (designator(multiset), self::expr(condition));
            format!("multisetcount({name}: {multiset}, {condition})")
        }
        ExprKind::Error => "<error>".to_owned(),
    }
}

pub(crate) fn type_expr(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Boolean => "boolean".to_owned(),
        TypeKind::Name(name) => name.to_string(),
        TypeKind::Range { lo, hi } => format!("{} .. {}", expr(lo), expr(hi)),
        TypeKind::Enum(members) => format!("enum {{ {} }}", names(members)),
        TypeKind::Record(fields) => {
            let fields: String = fields
                .iter()
                .map(|field| format!("{}: {}; ", names(&field.names), type_expr(&field.ty)))
                .collect();
            format!("record {fields}end")
        }
        TypeKind::Array { index, element } => {
            format!("array [{}] of {}", type_expr(index), type_expr(element))
        }
        TypeKind::Scalarset(size) => format!("scalarset({})", expr(size)),
        TypeKind::Union(members) => {
            let members: Vec<String> = members.iter().map(type_expr).collect();
            format!("union {{ {} }}", members.join(", "))
        }
        TypeKind::Multiset { bound, element } => {
            format!("multiset [{}] of {}", expr(bound), type_expr(element))
        }
        TypeKind::Real(args) => format!("real({})", exprs(args)),
        TypeKind::Error => "<error>".to_owned(),
    }
}

fn exprs(list: &[Expr]) -> String {
    list.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn names(list: &[Name]) -> String {
    let texts: Vec<&str> = list.iter().map(|name| &**name).collect();
    texts.join(", ")
}

fn text(text: &Text) -> String {
    let value = text.value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", value.replace('\n', "\\n"))
}

fn designator(path: &Designator) -> String {
    let mut out = path.base.to_string();
    for step in &path.steps {
        match step {
            Step::Field(name) => write!(out, ".{name}").unwrap(),
            Step::Index { index, .. } => write!(out, "[{}]", expr(index)).unwrap(),
        }
    }
    out
}

fn quantifiers(list: &[Quantifier]) -> String {
    let texts: Vec<String> = list
        .iter()
        .map(|quantifier| {
            let name = &quantifier.name;
            match &quantifier.domain {
                Domain::Type(ty) => format!("{name}: {}", type_expr(ty)),
                Domain::Range { from, to, by } => {
                    let by = by.as_ref().map(|by| format!(" by {}", expr(by)));
                    let by = by.unwrap_or_default();
                    format!("{name} := {} to {}{by}", expr(from), expr(to))
                }
            }
        })
        .collect();
    texts.join("; ")
}

fn aliases(list: &[Alias]) -> String {
    let texts: Vec<String> = list
        .iter()
        .map(|alias| format!("{}: {}", alias.name, expr(&alias.value)))
        .collect();
    texts.join("; ")
}

fn property(kind: PropertyKind, message: &Option<Text>, condition: &Expr) -> String {
    let word = match kind {
        PropertyKind::Invariant => "invariant",
        PropertyKind::Assume => "assume",
        PropertyKind::Cover => "cover",
        PropertyKind::Liveness => "liveness",
    };
    match message {
        Some(message) => format!("{word} {} {};", text(message), expr(condition)),
        None => format!("{word} {};", expr(condition)),
    }
}

#[derive(Default)]
struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self, text: impl AsRef<str>) {
        let (indent, text) = (self.indent * 2, text.as_ref());
        writeln!(self.out, "{:indent$}{text}", "").unwrap();
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Decl(decl) => self.decl(decl),
            Item::Function(function) => self.function(function),
            Item::Extern(function) => {
                let params = params(&function.params);
                let header = function.header.as_ref().map(text).unwrap_or_default();
                let name = &function.name;
                match &function.result {
                    Some(ty) => {
                        let ty = type_expr(ty);
                        self.line(format!("externfun {name}({params}): {ty} {header};"));
                    }
                    None => self.line(format!("externproc {name}({params}) {header};")),
                }
            }
            Item::Rule(rule) => self.rule(rule),
            Item::Pctl(_) => self.line("pctl"),
        }
    }

    fn decl(&mut self, decl: &Decl) {
        match decl {
            Decl::Const(decl) => {
                self.line(format!(
                    "const {}: {};",
                    names(&decl.names),
                    expr(&decl.value)
                ));
            }
            Decl::Type(decl) => {
                self.line(format!(
                    "type {}: {};",
                    names(&decl.names),
                    type_expr(&decl.ty)
                ));
            }
            Decl::Var(decl) => {
                self.line(format!(
                    "var {}: {};",
                    names(&decl.names),
                    type_expr(&decl.ty)
                ));
            }
        }
    }

    fn function(&mut self, function: &Function) {
        let (name, params) = (&function.name, params(&function.params));
        match &function.result {
            Some(ty) => self.line(format!("function {name}({params}): {};", type_expr(ty))),
            None => self.line(format!("procedure {name}({params});")),
        }
        self.body(&function.decls, &function.body);
    }

    fn body(&mut self, decls: &[Decl], body: &[Stmt]) {
        self.indent += 1;
        for decl in decls {
            self.decl(decl);
        }
        self.indent -= 1;
        self.line("begin");
        self.block(body);
        self.line("end;");
    }

    fn block(&mut self, body: &[Stmt]) {
        self.indent += 1;
        for stmt in body {
            self.stmt(stmt);
        }
        self.indent -= 1;
    }

    fn rules(&mut self, rules: &[Rule]) {
        self.indent += 1;
        for rule in rules {
            self.rule(rule);
        }
        self.indent -= 1;
        self.line("end;");
    }

    fn rule(&mut self, rule: &Rule) {
        match &rule.kind {
            RuleKind::Simple {
                priority,
                name,
                guard,
                decls,
                body,
            } => {
                let mut head = "rule".to_owned();
                if let Some(priority) = priority {
                    write!(head, " {}", priority.value).unwrap();
                }
                if let Some(name) = name {
                    write!(head, " {}", text(name)).unwrap();
                }
                if let Some(guard) = guard {
                    write!(head, " {} ==>", expr(guard)).unwrap();
                }
                self.line(head);
                self.body(decls, body);
            }
            RuleKind::Startstate { name, decls, body } => {
                let name = name.as_ref().map(|name| format!(" {}", text(name)));
                self.line(format!("startstate{}", name.unwrap_or_default()));
                self.body(decls, body);
            }
            RuleKind::Property {
                kind,
                message,
                condition,
            } => self.line(property(*kind, message, condition)),
            RuleKind::Ruleset {
                quantifiers: list,
                rules,
            } => {
                self.line(format!("ruleset {} do", quantifiers(list)));
                self.rules(rules);
            }
            RuleKind::Alias {
                aliases: list,
                rules,
            } => {
                self.line(format!("alias {} do", aliases(list)));
                self.rules(rules);
            }
            RuleKind::Choose {
                name,
                multiset,
                rules,
            } => {
                self.line(format!("choose {name}: {} do", designator(multiset)));
                self.rules(rules);
            }
            RuleKind::Error => self.line("<error>"),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign { target, value } => {
                self.line(format!("{} := {};", designator(target), expr(value)));
            }
            StmtKind::If {
                branches,
                otherwise,
            } => {
                for (idx, branch) in branches.iter().enumerate() {
                    let word = if idx == 0 { "if" } else { "elsif" };
                    self.line(format!("{word} {} then", expr(&branch.condition)));
                    self.block(&branch.body);
                }
                self.otherwise(otherwise);
            }
            StmtKind::Switch {
                subject,
                cases,
                otherwise,
            } => {
                self.line(format!("switch {}", expr(subject)));
                for case in cases {
                    self.line(format!("case {}:", exprs(&case.labels)));
                    self.block(&case.body);
                }
                self.otherwise(otherwise);
            }
            StmtKind::For {
                quantifiers: list,
                body,
            } => {
                self.line(format!("for {} do", quantifiers(list)));
                self.block(body);
                self.line("end;");
            }
            StmtKind::While { condition, body } => {
                self.line(format!("while {} do", expr(condition)));
                self.block(body);
                self.line("end;");
            }
            StmtKind::Alias {
                aliases: list,
                body,
            } => {
                self.line(format!("alias {} do", aliases(list)));
                self.block(body);
                self.line("end;");
            }
            StmtKind::Return(None) => self.line("return;"),
            StmtKind::Return(Some(value)) => self.line(format!("return {};", expr(value))),
            StmtKind::Error(message) => self.line(format!("error {};", text(message))),
            StmtKind::Property {
                kind,
                message,
                condition,
            } => self.line(property(*kind, message, condition)),
            StmtKind::Put(value) => self.line(format!("put {};", expr(value))),
            StmtKind::PutText(message) => self.line(format!("put {};", text(message))),
            StmtKind::Clear(path) => self.line(format!("clear {};", designator(path))),
            StmtKind::Undefine(path) => self.line(format!("undefine {};", designator(path))),
            StmtKind::Call { callee, args } => self.line(format!("{callee}({});", exprs(args))),
            StmtKind::MultisetAdd { element, multiset } => {
                let multiset = designator(multiset);
                self.line(format!("multisetadd({}, {multiset});", expr(element)));
            }
            StmtKind::MultisetRemove { index, multiset } => {
                let multiset = designator(multiset);
                self.line(format!("multisetremove({}, {multiset});", expr(index)));
            }
            StmtKind::MultisetRemovePred {
                name,
                multiset,
                condition,
            } => {
                let (multiset, condition) = (designator(multiset), expr(condition));
                self.line(format!(
                    "multisetremovepred({name}: {multiset}, {condition});"
                ));
            }
            StmtKind::Missing => self.line("<error>"),
        }
    }

    fn otherwise(&mut self, otherwise: &Option<Vec<Stmt>>) {
        if let Some(body) = otherwise {
            self.line("else");
            self.block(body);
        }
        self.line("end;");
    }
}

fn params(params: &[Param]) -> String {
    let texts: Vec<String> = params
        .iter()
        .map(|param| {
            let var = if param.by_reference { "var " } else { "" };
            format!("{var}{}: {}", names(&param.names), type_expr(&param.ty))
        })
        .collect();
    texts.join("; ")
}
