//! From text to program.

use hadal_model::{FaultKind, MeasureKind};

use super::items::{CoverId, Items, Result, id, id_word, text, word};
use super::print::{binary_name, quantifier_name, unary_name};
use super::sexpr::{self, Kind, Sexpr};
use crate::expr::{Arg, BinaryOp, By, Domain, Expr, Place, Projection, Quantifier, Root, UnaryOp};
use crate::ids::{ExprId, FileId, FunctionId, LocalId, MapId, ScalarsetId, SiteId, TypeId, VarId};
use crate::program::{
    Arithmetic, CoverPoint, Frame, Function, Guard, LocalKind, Measure, Param, ParamDomain,
    ParamMode, Program, Property, PropertyKind, Rule, Segment, Site, Start, ValueMap, Var,
};
use crate::stmt::{Block, Notation, PutItem, ReturnValue, Stmt, StmtKind};
use crate::types::{Field, Simple, SimpleKind, Type, UnionPart};

/// Why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// What was found and what was expected.
    pub message: String,
}

/// Reads a program. It has the shape of one, no more: see [`verify`](crate::verify::verify).
pub fn parse(text: &str) -> Result<Program> {
    let whole = sexpr::read(text)?;
    let mut items = Items::of(&whole)?;
    items.keyword("program")?;
    let mut program = Program::default();
    while let Some(item) = items.next_if_any() {
        add_item(&mut program, item)?;
    }
    Ok(program)
}

fn add_item(program: &mut Program, item: &Sexpr) -> Result<()> {
    let mut items = Items::of(item)?;
    match items.word()? {
        "arithmetic" => {
            program.arithmetic = Arithmetic {
                min: items.number()?,
                max: items.number()?,
                wraps: match items.word()? {
                    "wraps" => true,
                    "checked" => false,
                    _ => return Err(item.error("`wraps` or `checked` is expected")),
                },
            };
        }
        "file" => {
            items.new_id::<FileId>(program.files.len())?;
            program.files.push(items.text()?);
        }
        "site" => {
            items.new_id::<SiteId>(program.sites.len())?;
            program.sites.push(Site {
                file: items.id()?,
                line: items.number()?,
                column: items.number()?,
                used_at: items.next_if_any().map(id).transpose()?,
            });
        }
        "scalarset" => {
            items.new_id::<ScalarsetId>(program.types.scalarsets.len())?;
            let name = items.text()?;
            program.types.add_scalarset(name, items.number()?);
        }
        "type" => {
            items.new_id::<TypeId>(program.types.len())?;
            let ty = ty(items.next()?, program.types.len())?;
            program.types.add(ty);
        }
        "map" => {
            items.new_id::<MapId>(program.maps.len())?;
            let from = items.id()?;
            program.maps.push(ValueMap {
                from,
                segments: items.all(segment)?,
            });
            return Ok(());
        }
        "cover" => {
            items.new_id::<CoverId>(program.cover_points.len())?;
            program.cover_points.push(CoverPoint {
                name: items.text()?,
                site: items.id()?,
            });
        }
        "var" => {
            items.new_id::<VarId>(program.vars.len())?;
            program.vars.push(Var {
                name: items.text()?,
                ty: items.id()?,
            });
        }
        "registers" => program.n_registers = items.number()?,
        "expr" => {
            items.new_id::<ExprId>(program.exprs.len())?;
            let site = items.id()?;
            program.exprs.push((expr(items.next()?)?, site));
        }
        "function" => {
            items.new_id::<FunctionId>(program.functions.len())?;
            program.functions.push(function(&mut items)?);
        }
        "start" => program.starts.push(Start {
            name: items.text()?,
            site: items.id()?,
            params: items.named("params")?.all(param)?,
            frame: frame(items.named("locals")?)?,
            body: items.named("body")?.all(stmt)?,
        }),
        "rule" => program.rules.push(rule(&mut items)?),
        "property" => program.properties.push(property(&mut items)?),
        "measure" => program.measures.push(measure(&mut items)?),
        _ => return Err(item.error("there is no such item of a program")),
    }
    items.end()
}

fn function(items: &mut Items<'_>) -> Result<Function> {
    let name = items.text()?;
    let site = items.id()?;
    let params = items.named("params")?.all(|item| match word(item)? {
        "value" => Ok(ParamMode::Value),
        "ref" => Ok(ParamMode::Ref),
        "const" => Ok(ParamMode::ConstRef),
        _ => Err(item.error("`value`, `ref` or `const` is expected here")),
    })?;
    let mut result = items.named("result")?;
    let result_ty = result.next_if_any().map(id).transpose()?;
    result.end()?;
    Ok(Function {
        name,
        params,
        result: result_ty,
        frame: frame(items.named("locals")?)?,
        body: items.named("body")?.all(stmt)?,
        site,
    })
}

fn rule(items: &mut Items<'_>) -> Result<Rule> {
    let name = items.text()?;
    let site = items.id()?;
    let mut priority = items.named("priority")?;
    let level = priority.number()?;
    priority.end()?;
    let cost = match items.named_if("cost") {
        Some(mut cost) => {
            let amount = cost.number()?;
            cost.end()?;
            amount
        }
        None => 1,
    };
    Ok(Rule {
        name,
        site,
        priority: level,
        cost,
        params: items.named("params")?.all(param)?,
        frame: frame(items.named("locals")?)?,
        guard: guard(items)?,
        body: items.named("body")?.all(stmt)?,
    })
}

fn property(items: &mut Items<'_>) -> Result<Property> {
    let kind = items.next()?;
    Ok(Property {
        kind: match word(kind)? {
            "invariant" => PropertyKind::Invariant,
            "assume" => PropertyKind::Assume,
            "cover" => PropertyKind::Cover,
            "liveness" => PropertyKind::Liveness,
            "end" => PropertyKind::End,
            _ => return Err(kind.error("there is no such kind of property")),
        },
        name: items.text()?,
        site: items.id()?,
        params: items.named("params")?.all(param)?,
        frame: frame(items.named("locals")?)?,
        condition: guard(items)?,
    })
}

fn measure(items: &mut Items<'_>) -> Result<Measure> {
    let kind = items.next()?;
    let kind = match word(kind)? {
        "cost" => MeasureKind::Cost,
        "estimate" => {
            let item = items.next()?;
            MeasureKind::Estimate {
                is_admissible: match word(item)? {
                    "admissible" => true,
                    "inadmissible" => false,
                    _ => return Err(item.error("`admissible` or `inadmissible` is expected here")),
                },
            }
        }
        _ => return Err(kind.error("there is no such kind of measure")),
    };
    let (name, site) = (items.text()?, items.id()?);
    let is_zero_at_faults = items.keyword_if("zero-at-faults");
    let frame = frame(items.named("locals")?)?;
    let body = items.named("body")?.all(stmt)?;
    let mut value = items.named("value")?;
    let number = value.id()?;
    value.end()?;
    Ok(Measure {
        kind,
        name,
        frame,
        body,
        value: number,
        is_zero_at_faults,
        site,
    })
}

/// A type; those it is made of must be among the first `n_types`, as the table demands.
fn ty(item: &Sexpr, n_types: usize) -> Result<Type> {
    let part = |item: &Sexpr| {
        let found: TypeId = id(item)?;
        if found.index() < n_types {
            Ok(found)
        } else {
            Err(item.error("a type is made of earlier types"))
        }
    };
    let mut items = Items::of(item)?;
    let found = match items.word()? {
        "array" => Type::Array {
            index: part(items.next()?)?,
            element: part(items.next()?)?,
        },
        "record" => {
            let fields = items.all(|item| {
                let mut items = Items::of(item)?;
                let field = Field {
                    name: items.text()?,
                    ty: part(items.next()?)?,
                };
                items.end()?;
                Ok(field)
            })?;
            return Ok(Type::Record { fields });
        }
        "multiset" => Type::Multiset {
            capacity: items.number()?,
            element: part(items.next()?)?,
        },
        "total" => match ty(items.next()?, n_types)? {
            Type::Simple(simple) => Type::Simple(simple.total()),
            _ => return Err(item.error("only a simple type can be total")),
        },
        name => {
            let (lo, hi) = (items.number()?, items.number()?);
            let kind = match name {
                "boolean" => SimpleKind::Boolean,
                "range" => SimpleKind::Range,
                "scalarset" => SimpleKind::Scalarset(items.id()?),
                "enum" | "union" => {
                    let kind = if name == "enum" {
                        SimpleKind::Enum(items.all(text)?)
                    } else {
                        SimpleKind::Union(items.all(union_part)?)
                    };
                    return Ok(Type::Simple(Simple {
                        lo,
                        hi,
                        kind,
                        is_total: false,
                    }));
                }
                _ => return Err(item.error("there is no such form of type")),
            };
            Type::Simple(Simple {
                lo,
                hi,
                kind,
                is_total: false,
            })
        }
    };
    items.end()?;
    Ok(found)
}

fn union_part(item: &Sexpr) -> Result<UnionPart> {
    match &item.kind {
        Kind::List(_) => {
            let mut items = Items::of(item)?;
            items.keyword("enum")?;
            Ok(UnionPart::Enum(items.all(text)?))
        }
        _ => Ok(UnionPart::Scalarset(id(item)?)),
    }
}

fn segment(item: &Sexpr) -> Result<Segment> {
    let mut items = Items::of(item)?;
    let segment = Segment {
        lo: items.number()?,
        hi: items.number()?,
        to: items.number()?,
    };
    items.end()?;
    Ok(segment)
}

fn frame(mut items: Items<'_>) -> Result<Frame> {
    let mut frame = Frame::default();
    while let Some(item) = items.next_if_any() {
        let mut local = Items::of(item)?;
        local.new_id::<LocalId>(frame.locals.len())?;
        let name = local.text()?;
        let kind = match local.word()? {
            "value" => LocalKind::Value,
            "ref" => LocalKind::Ref,
            "const" => LocalKind::ConstRef,
            _ => return Err(item.error("a local is `value`, `ref` or `const`")),
        };
        frame.add(name, kind(local.id()?));
        local.end()?;
    }
    Ok(frame)
}

fn param(item: &Sexpr) -> Result<Param> {
    let mut items = Items::of(item)?;
    let local = items.id()?;
    let mut domain = items.list()?;
    let values = match domain.word()? {
        "type" => ParamDomain::Type(domain.id()?),
        "span" => ParamDomain::Span {
            from: domain.number()?,
            to: domain.number()?,
            by: domain.number()?,
        },
        "slots" => ParamDomain::Slots {
            multiset: place(domain.next()?)?,
            capacity: domain.number()?,
        },
        _ => return Err(item.error("there is no such domain of a parameter")),
    };
    domain.end()?;
    items.end()?;
    Ok(Param {
        local,
        domain: values,
    })
}

fn guard(items: &mut Items<'_>) -> Result<Guard> {
    let prologue = items.named("prologue")?.all(stmt)?;
    let mut condition = items.named("condition")?;
    let found = condition.next_if_any().map(id).transpose()?;
    condition.end()?;
    Ok(Guard {
        prologue,
        condition: found,
    })
}

fn place(item: &Sexpr) -> Result<Place> {
    let Kind::List(_) = &item.kind else {
        return Ok(Place {
            root: root(item)?,
            path: Vec::new(),
        });
    };
    let mut items = Items::of(item)?;
    if items.word()? != "at" {
        return Ok(Place {
            root: root(item)?,
            path: Vec::new(),
        });
    }
    Ok(Place {
        root: root(items.next()?)?,
        path: items.all(projection)?,
    })
}

fn root(item: &Sexpr) -> Result<Root> {
    match &item.kind {
        Kind::List(_) => {
            let mut items = Items::of(item)?;
            items.keyword("result")?;
            Ok(Root::Result {
                site: items.id()?,
                function: items.id()?,
                into: items.id()?,
                args: items.all(arg)?,
            })
        }
        _ => match id_word(word(item)?) {
            Some(var) => Ok(Root::Var(var)),
            None => id(item)
                .map(Root::Local)
                .map_err(|_| item.error("a place such as `v0`, `l0` or `(at v0 ...)` is expected")),
        },
    }
}

fn projection(item: &Sexpr) -> Result<Projection> {
    let step = word(item)?;
    let found = if let Some(field) = step.strip_prefix('.') {
        field.parse().ok().map(Projection::Field)
    } else {
        step.strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .and_then(id_word)
            .map(Projection::Index)
    };
    found.ok_or_else(|| item.error("a step such as `.0` or `[e0]` is expected here"))
}

fn arg(item: &Sexpr) -> Result<Arg> {
    let mut items = Items::of(item)?;
    let arg = match items.word()? {
        "value" => Arg::Value(items.id()?),
        "copy" => Arg::Copy(place(items.next()?)?),
        "ref" => Arg::Ref(place(items.next()?)?),
        _ => return Err(item.error("an argument is `value`, `copy` or `ref`")),
    };
    items.end()?;
    Ok(arg)
}

fn domain(item: &Sexpr) -> Result<Domain> {
    let mut items = Items::of(item)?;
    let domain = match items.word()? {
        "type" => Domain::Type(items.id()?),
        "span" => Domain::Span {
            from: items.id()?,
            to: items.id()?,
            by: by(items.next()?)?,
        },
        _ => return Err(item.error("a domain is `type` or `span`")),
    };
    items.end()?;
    Ok(domain)
}

fn by(item: &Sexpr) -> Result<By> {
    if let Kind::Word(word) = &item.kind
        && word == "toward"
    {
        return Ok(By::Toward);
    }
    let mut items = Items::of(item)?;
    let by = match items.word()? {
        "by" => By::Constant(items.number()?),
        "step" => By::Step(items.id()?),
        _ => return Err(item.error("`toward`, `(by N)` or `(step E)` is expected")),
    };
    items.end()?;
    Ok(by)
}

const UNARY: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot];

const BINARY: [BinaryOp; 17] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Same,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::Gt,
    BinaryOp::Ge,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

const QUANTIFIERS: [Quantifier; 3] = [Quantifier::Forall, Quantifier::Exists, Quantifier::Count];

fn expr(item: &Sexpr) -> Result<Expr> {
    let mut items = Items::of(item)?;
    let expr = match items.word()? {
        "int" => Expr::Int(items.number()?),
        "true" => Expr::Bool(true),
        "false" => Expr::Bool(false),
        "undefined" => Expr::Undefined,
        "read" => Expr::Read(place(items.next()?)?),
        "defined" => Expr::Defined(items.id()?),
        "and" => return Ok(Expr::And(items.all(id)?)),
        "or" => return Ok(Expr::Or(items.all(id)?)),
        "cond" => Expr::Cond(items.id()?, items.id()?, items.id()?),
        "is-undefined" => Expr::IsUndefined(place(items.next()?)?),
        "same-bits" => Expr::SameBits(place(items.next()?)?, place(items.next()?)?),
        "call" => {
            return Ok(Expr::Call {
                function: items.id()?,
                args: items.all(arg)?,
            });
        }
        "remap" => Expr::Remap {
            map: items.id()?,
            value: items.id()?,
        },
        "in-range" => Expr::InRange {
            value: items.id()?,
            lo: items.number()?,
            hi: items.number()?,
        },
        "present" => Expr::Present {
            multiset: place(items.next()?)?,
            slot: items.id()?,
        },
        name => {
            if let Some(op) = UNARY.into_iter().find(|op| unary_name(*op) == name) {
                Expr::Unary(op, items.id()?)
            } else if let Some(op) = BINARY.into_iter().find(|op| binary_name(*op) == name) {
                Expr::Binary(op, items.id()?, items.id()?)
            } else if let Some(quantifier) = QUANTIFIERS
                .into_iter()
                .find(|quantifier| quantifier_name(*quantifier) == name)
            {
                Expr::Quantified {
                    quantifier,
                    var: items.id()?,
                    domain: domain(items.next()?)?,
                    body: items.id()?,
                }
            } else {
                return Err(item.error("there is no such expression"));
            }
        }
    };
    items.end()?;
    Ok(expr)
}

fn stmt(item: &Sexpr) -> Result<Stmt> {
    let mut items = Items::of(item)?;
    let name = items.word()?;
    let site = items.id()?;
    let kind = match name {
        "assign" => StmtKind::Assign {
            place: place(items.next()?)?,
            value: items.id()?,
        },
        "copy" => StmtKind::Copy {
            to: place(items.next()?)?,
            from: place(items.next()?)?,
        },
        "clear" => StmtKind::Clear(place(items.next()?)?),
        "undefine" => StmtKind::Undefine(place(items.next()?)?),
        "if" => if_stmt(&mut items)?,
        "for" => StmtKind::For {
            var: items.id()?,
            domain: domain(items.next()?)?,
            body: items.named("do")?.all(stmt)?,
        },
        "while" => StmtKind::While {
            condition: items.id()?,
            body: items.named("do")?.all(stmt)?,
        },
        "bind" => StmtKind::Bind {
            local: items.id()?,
            place: place(items.next()?)?,
        },
        "call" => {
            let function = items.id()?;
            let args = items.all(arg)?;
            let kind = StmtKind::Call { function, args };
            return Ok(Stmt { kind, site });
        }
        "return" => StmtKind::Return(match items.next_if_any() {
            None => ReturnValue::Nothing,
            Some(item) => match arg(item)? {
                Arg::Value(value) => ReturnValue::Value(value),
                Arg::Copy(place) => ReturnValue::Copy(place),
                Arg::Ref(_) => return Err(item.error("nothing is returned by reference")),
            },
        }),
        "assert" => StmtKind::Assert {
            condition: items.id()?,
            message: items.text()?,
            goes_on: match items.next_if_any() {
                None => false,
                Some(item) if word(item)? == "goes-on" => true,
                Some(item) => return Err(item.error("`goes-on` or nothing is expected here")),
            },
        },
        "error" => {
            let item = items.next()?;
            match &item.kind {
                Kind::Text(message) => StmtKind::Error {
                    kind: FaultKind::Error,
                    message: message.clone(),
                },
                _ => StmtKind::Error {
                    kind: fault_kind(item)?,
                    message: items.text()?,
                },
            }
        }
        "assume" => StmtKind::Assume(items.id()?),
        "cover" => StmtKind::Cover {
            point: items.id::<CoverId>()?.0,
            condition: items.id()?,
        },
        "put" => StmtKind::Put(put_item(items.next()?)?),
        "multiset-add" => StmtKind::MultisetAdd {
            multiset: place(items.next()?)?,
            value: arg(items.next()?)?,
        },
        "multiset-remove" => StmtKind::MultisetRemove {
            multiset: place(items.next()?)?,
            slot: items.id()?,
        },
        _ => return Err(item.error("there is no such statement")),
    };
    items.end()?;
    Ok(Stmt { kind, site })
}

fn fault_kind(item: &Sexpr) -> Result<FaultKind> {
    let name = word(item)?;
    let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| item.error("there is no such class of fault"))
}

/// Arms of the form `(condition statement...)`, then `(else statement...)`.
fn if_stmt(items: &mut Items<'_>) -> Result<StmtKind> {
    let mut arms: Vec<(ExprId, Block)> = Vec::new();
    loop {
        let mut arm = items.list()?;
        let head = arm.next()?;
        if word(head)? == "else" {
            let otherwise = arm.all(stmt)?;
            return Ok(StmtKind::If { arms, otherwise });
        }
        arms.push((id(head)?, arm.all(stmt)?));
    }
}

fn put_item(item: &Sexpr) -> Result<PutItem> {
    let mut items = Items::of(item)?;
    let found = match items.word()? {
        "text" => PutItem::Text(items.text()?),
        "value" => PutItem::Value(items.id()?, items.id()?),
        "place" => PutItem::Place(place(items.next()?)?, items.text()?),
        word => {
            let mut notations = Notation::ALL.into_iter();
            let Some(notation) = notations.find(|it| it.name() == word) else {
                let message = "`text`, `value`, `place` or a notation is expected";
                return Err(item.error(message));
            };
            PutItem::Number(items.id()?, notation)
        }
    };
    items.end()?;
    Ok(found)
}
