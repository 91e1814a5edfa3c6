//! Programs: variables, functions, startstates, rules and properties.

use hadal_model::MeasureKind;

use crate::expr::{Expr, Place};
use crate::ids::{ExprId, FileId, FunctionId, LocalId, MapId, SiteId, TypeId, VarId};
use crate::stmt::Block;
use crate::types::Types;

/// A whole model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Names of the source files, for positions; the one that the user named comes first.
    pub files: Vec<String>,
    /// All types.
    pub types: Types,
    /// The state variables; the first one in the most significant bits.
    pub vars: Vec<Var>,
    /// How many of the last variables are registers: all 0 in a state at rest. They begin at a
    /// byte, and only total types have a place in them.
    pub n_registers: usize,
    /// The functions; one may call itself and those before it.
    pub functions: Vec<Function>,
    /// The startstates.
    pub starts: Vec<Start>,
    /// The rules, in source order.
    pub rules: Vec<Rule>,
    /// The properties, in source order.
    pub properties: Vec<Property>,
    /// Numbers of states, for searches that are directed or weighed; at most one of a kind.
    pub measures: Vec<Measure>,
    /// The `cover` statements.
    pub cover_points: Vec<CoverPoint>,
    /// The mappings between value numberings.
    pub maps: Vec<ValueMap>,
    /// All expressions, with where they come from. An expression refers only to earlier ones, so
    /// walks always end.
    pub exprs: Vec<(Expr, SiteId)>,
    /// What an index selects an element of, for messages, where that is not the variable as the
    /// program names it. No part of the text form.
    pub index_names: std::collections::BTreeMap<ExprId, String>,
    /// Positions in the text.
    pub sites: Vec<Site>,
    /// How integers behave.
    pub arithmetic: Arithmetic,
}

/// A state variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

/// The locals of a rule, property, startstate or function. All start undefined, or 0 where their
/// type is total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// By id.
    pub locals: Vec<Local>,
}

/// A local.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its name, for people; need not be unique.
    pub name: String,
    /// What it holds.
    pub kind: LocalKind,
}

/// What a local holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// A value of a type.
    Value(TypeId),
    /// A reference to a place of a type, through which one may write.
    Ref(TypeId),
    /// A reference through which one may only read.
    ConstRef(TypeId),
}

/// A function or procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The first `params.len()` locals of the frame are the parameters.
    pub params: Vec<ParamMode>,
    /// What it returns; nothing for a procedure.
    pub result: Option<TypeId>,
    /// Its locals.
    pub frame: Frame,
    /// What it does. A no-return fault where a function falls off its end.
    pub body: Block,
    /// Where it stands.
    pub site: SiteId,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamMode {
    /// By value; a range fault where the parameter's type cannot hold the argument.
    Value,
    /// By reference, to be written.
    Ref,
    /// By reference, only to be read.
    ConstRef,
}

/// A startstate, or a family of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its name.
    pub name: String,
    /// Its parameters, the last one fastest.
    pub params: Vec<Param>,
    /// Its locals, parameters included.
    pub frame: Frame,
    /// Runs on a state of zero bits: undefined, or 0 where a type is total.
    pub body: Block,
    /// Where it stands.
    pub site: SiteId,
}

/// A rule, or a family of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its parameters, the last one fastest.
    pub params: Vec<Param>,
    /// Its locals, parameters included. They start undefined for guard and body alike.
    pub frame: Frame,
    /// In each state only enabled rules of the least priority fire.
    pub priority: i64,
    /// What a firing costs; 1 unless the body stands for several statements, or for none.
    pub cost: u32,
    /// When it may fire.
    pub guard: Guard,
    /// What it does, on a copy of the state.
    pub body: Block,
    /// Where it stands.
    pub site: SiteId,
}

/// A condition with what must be bound before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Assignments to locals and bindings of references only.
    pub prologue: Block,
    /// The condition; `None` is true.
    pub condition: Option<ExprId>,
}

/// A parameter of a rule, startstate or property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The local that holds it.
    pub local: LocalId,
    /// Its values.
    pub domain: ParamDomain,
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamDomain {
    /// All values of a simple type, least first.
    Type(TypeId),
    /// The values `from`, `from + by`, ... that do not pass `to`.
    Span {
        /// First value.
        from: i64,
        /// Bound of the last value.
        to: i64,
        /// Not 0.
        by: i64,
    },
    /// The slots of a multiset that hold an element, counted from 0.
    /// The place may depend on earlier parameters.
    Slots {
        /// The multiset.
        multiset: Place,
        /// Its capacity, the number of instances tried.
        capacity: u32,
    },
}

/// A property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// What it asks.
    pub kind: PropertyKind,
    /// Its name or message.
    pub name: String,
    /// Its parameters. An invariant must hold for all instances; covers and liveness properties
    /// are one property per instance.
    pub params: Vec<Param>,
    /// Its locals, parameters included.
    pub frame: Frame,
    /// The condition.
    pub condition: Guard,
    /// Where it stands.
    pub site: SiteId,
}

/// What a property asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// True in every state.
    Invariant,
    /// States where it is false are left out.
    Assume,
    /// True in some state.
    Cover,
    /// From every state, a state where it is true can be reached.
    Liveness,
    /// A state where no rule is enabled is a legitimate end if it is true there for all instances
    /// of all such properties.
    End,
}

/// A number that each state has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What it stands for.
    pub kind: MeasureKind,
    /// What it is called, for people.
    pub name: String,
    /// Its locals.
    pub frame: Frame,
    /// Computes locals, and writes nothing else.
    pub body: Block,
    /// The number, an integer from 0 to [`u32::MAX`]; evaluated behind the body.
    pub value: ExprId,
    /// Whether states where it faults have the number 0. Otherwise they end the search.
    pub is_zero_at_faults: bool,
    /// Where it stands.
    pub site: SiteId,
}

/// A `cover` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverPoint {
    /// Its message.
    pub name: String,
    /// Where it stands.
    pub site: SiteId,
}

/// A mapping from one numbering of values to another: a list of segments, first match wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueMap {
    /// Disjoint.
    pub segments: Vec<Segment>,
    /// The type that names the values on the left, for messages.
    pub from: TypeId,
}

/// The values `lo..=hi` become `to..`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Least value.
    pub lo: i64,
    /// Greatest value.
    pub hi: i64,
    /// What the least value becomes.
    pub to: i64,
}

/// A position in the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The file.
    pub file: FileId,
    /// Counted from 1; 0 where there is no text.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// For text in the body of a macro or inline: where that was used. An earlier site, so that
    /// chains of uses end.
    pub used_at: Option<SiteId>,
}

impl Site {
    /// The site of what has no text.
    pub const NOWHERE: Site = Site {
        file: FileId(0),
        line: 0,
        column: 0,
        used_at: None,
    };
}

/// How integer operations behave at the edge of their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Least integer.
    pub min: i64,
    /// Greatest integer.
    pub max: i64,
    /// Whether to wrap around (then the range must be that of a two's complement width) or to
    /// fault.
    pub wraps: bool,
}

impl Arithmetic {
    /// Whether these are unsigned integers of some number of bits: negation then wraps around,
    /// as in C, although all other operations fault.
    pub fn is_unsigned(self) -> bool {
        self.min == 0 && !self.wraps && (self.max as u64 + 1).is_power_of_two()
    }
}

impl Default for Arithmetic {
    /// 64 bits, checked; the least 64-bit integer is kept out of use.
    fn default() -> Self {
        Arithmetic {
            min: -i64::MAX,
            max: i64::MAX,
            wraps: false,
        }
    }
}

impl Program {
    /// An empty program whose only file so far is `root_name`. Site 0 is [`Site::NOWHERE`].
    pub fn new(root_name: impl Into<String>) -> Self {
        Program {
            files: vec![root_name.into()],
            sites: vec![Site::NOWHERE],
            ..Program::default()
        }
    }

    /// Adds a source file.
    pub fn add_file(&mut self, name: impl Into<String>) -> FileId {
        self.files.push(name.into());
        FileId::new(self.files.len() - 1)
    }

    /// Adds an expression.
    pub fn add_expr(&mut self, expr: Expr, site: SiteId) -> ExprId {
        self.exprs.push((expr, site));
        ExprId::new(self.exprs.len() - 1)
    }

    /// Adds a position in the text.
    pub fn add_site(&mut self, site: Site) -> SiteId {
        self.sites.push(site);
        SiteId::new(self.sites.len() - 1)
    }

    /// The expression behind an id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()].0
    }

    /// Whether an expression may yield undefined, by its form.
    pub fn may_yield_undefined(&self, id: ExprId) -> bool {
        match self.expr(id) {
            Expr::Undefined | Expr::Read(_) | Expr::Call { .. } => true,
            Expr::Remap { value, .. } => self.may_yield_undefined(*value),
            Expr::Cond(_, yes, no) => {
                self.may_yield_undefined(*yes) || self.may_yield_undefined(*no)
            }
            _ => false,
        }
    }

    /// Where an expression comes from.
    pub fn expr_site(&self, id: ExprId) -> SiteId {
        self.exprs[id.index()].1
    }

    /// The variable behind an id.
    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.index()]
    }

    /// The function behind an id.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// The mapping behind an id.
    pub fn map(&self, id: MapId) -> &ValueMap {
        &self.maps[id.index()]
    }

    /// Whether the program says where it may end.
    pub fn has_ends(&self) -> bool {
        let mut properties = self.properties.iter();
        properties.any(|property| property.kind == PropertyKind::End)
    }

    /// A site as `file:line:column`.
    pub fn position(&self, site: SiteId) -> String {
        let Site {
            file, line, column, ..
        } = self.sites[site.index()];
        format!("{}:{line}:{column}", self.files[file.index()])
    }
}

impl LocalKind {
    /// The type of what the local holds or refers to.
    pub fn ty(self) -> TypeId {
        match self {
            LocalKind::Value(ty) | LocalKind::Ref(ty) | LocalKind::ConstRef(ty) => ty,
        }
    }
}

impl Frame {
    /// Adds a local.
    pub fn add(&mut self, name: impl Into<String>, kind: LocalKind) -> LocalId {
        self.locals.push(Local {
            name: name.into(),
            kind,
        });
        LocalId::new(self.locals.len() - 1)
    }

    /// The local behind an id.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }
}

impl Guard {
    /// A condition that is always true.
    pub fn always() -> Self {
        Guard {
            prologue: Vec::new(),
            condition: None,
        }
    }
}
