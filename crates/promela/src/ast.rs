//! The syntax tree: what was written, before anything is known of names and types.
//!
//! Positions are ranges of tokens of the expanded [`Text`](crate::Text). Calls of `inline`s are
//! expanded already: see [`StmtKind::Inline`].
//!
//! The height of a tree is bounded, whatever the file contains: the parser rejects what is nested
//! deeper. Every later pass, and dropping the tree, may recurse. A node whose text could not be
//! parsed is an `Error` node; it was reported, so later passes skip it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use hadal_syntax::Outside;

use crate::text::TokenSpan;

/// A whole model, items in the order they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What the model declares.
    pub items: Vec<Item>,
    /// Expressions from outside of its text.
    pub outside: Outside<Expr>,
}

/// Something at the top level of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Global variables.
    Decl(Decl),
    /// `mtype = { ack, nak }`
    Mtype(Mtype),
    /// `typedef t { byte a; bit b }`
    Typedef(Typedef),
    /// `proctype` or `init`.
    Proctype(Box<Proctype>),
    /// `never { ... }`
    Never(Never),
    /// `trace { ... }` or `notrace { ... }`
    Trace(Trace),
    /// `ltl name { formula }`
    Ltl(Ltl),
}

/// A name where it was written. Names that are spelled alike share their text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The spelling.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: TokenSpan,
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// Declarations

/// Some variables, fields or parameters of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Decl {
    /// A prefix such as `hidden`.
    pub prefix: Option<Prefix>,
    /// The type that they share.
    pub ty: Type,
    /// The names, at least one unless there was an error.
    pub vars: Vec<Var>,
    /// The text.
    pub span: TokenSpan,
}

/// A prefix of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// Not a part of the state.
    Hidden,
    /// Of interest to a simulation only.
    Show,
    /// A promise that one process uses it; a hint for reductions.
    Local,
}

/// A type as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Its text.
    pub span: TokenSpan,
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// `bit` and `bool`
    Bit,
    /// `byte`
    Byte,
    /// `pid`
    Pid,
    /// `short`
    Short,
    /// `int`
    Int,
    /// `unsigned`, whose width stands at each name
    Unsigned,
    /// `mtype`, possibly of a named set
    Mtype(Option<Name>),
    /// `chan`
    Chan,
    /// A `typedef`.
    Name(Name),
}

/// One declared name.
#[derive(Debug, Clone, PartialEq)]
pub struct Var {
    /// The name.
    pub name: Name,
    /// The width in bits, of an `unsigned`.
    pub width: Option<Expr>,
    /// The number of elements, of an array.
    pub len: Option<Expr>,
    /// The initial value.
    pub init: Option<Init>,
    /// The text.
    pub span: TokenSpan,
}

/// An initial value.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// `= e`
    Expr(Expr),
    /// `= { e, f }`
    List(Vec<Expr>, TokenSpan),
    /// `= [capacity] of { types }`
    Chan(ChanInit),
}

/// `[capacity] of { types }`
#[derive(Debug, Clone, PartialEq)]
pub struct ChanInit {
    /// Number of messages that it holds; 0 for a rendezvous channel.
    pub capacity: Expr,
    /// The types of the fields of a message.
    pub fields: Vec<Type>,
    /// The text.
    pub span: TokenSpan,
}

/// Names of constants.
#[derive(Debug, Clone, PartialEq)]
pub struct Mtype {
    /// The name of the set; the plain set has none.
    pub set: Option<Name>,
    /// The constants.
    pub names: Vec<Name>,
    /// The text.
    pub span: TokenSpan,
}

/// A structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Typedef {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Decl>,
    /// The text.
    pub span: TokenSpan,
}

/// A process type; `init` is one whose name is `init`.
#[derive(Debug, Clone, PartialEq)]
pub struct Proctype {
    /// Its name.
    pub name: Name,
    /// Whether it is `init`.
    pub is_init: bool,
    /// Whether it was declared with `D_proctype`.
    pub deterministic: bool,
    /// Number of instances in the initial state, if it is `active`.
    pub active: Option<Active>,
    /// Its parameters.
    pub params: Vec<Decl>,
    /// `priority n`
    pub priority: Option<Expr>,
    /// `provided (e)`
    pub provided: Option<Expr>,
    /// Its statements.
    pub body: Seq,
    /// The text up to the body.
    pub span: TokenSpan,
}

/// `active` or `active [n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    /// The number of instances, 1 if absent.
    pub count: Option<Expr>,
    /// The text.
    pub span: TokenSpan,
}

/// A never claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Never {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Its statements.
    pub body: Seq,
    /// The word `never`.
    pub span: TokenSpan,
}

/// An event automaton.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Whether it is a `notrace`.
    pub negated: bool,
    /// Its statements.
    pub body: Seq,
    /// The word `trace` or `notrace`.
    pub span: TokenSpan,
}

/// A formula of linear temporal logic.
#[derive(Debug, Clone, PartialEq)]
pub struct Ltl {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// The formula.
    pub formula: Formula,
    /// The text.
    pub span: TokenSpan,
}

/// A formula of linear temporal logic.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// An expression of the state.
    Atom(Expr),
    /// `!f`
    Not(Box<Formula>),
    /// `X f`
    Next(Box<Formula>),
    /// `[] f`
    Always(Box<Formula>),
    /// `<> f`
    Eventually(Box<Formula>),
    /// `f op g`
    Binary(FormulaOp, Box<Formula>, Box<Formula>),
}

/// A binary operator of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormulaOp {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `->`
    Implies,
    /// `<->`
    Iff,
    /// `U`
    Until,
    /// `W`
    WeakUntil,
    /// `V`
    Release,
}

// Statements

/// A sequence of statements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seq {
    /// The statements, declarations among them.
    pub stmts: Vec<Stmt>,
    /// The text, braces included where there are some.
    pub span: TokenSpan,
}

/// A statement with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// The labels in front of it.
    pub labels: Vec<Name>,
    /// What it is.
    pub kind: StmtKind,
    /// The text without labels.
    pub span: TokenSpan,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// Local variables.
    Decl(Decl),
    /// A local set of constants.
    Mtype(Mtype),
    /// `xr q` or `xs q`: promises that have no effect.
    Exclusive(Vec<VarRef>),
    /// A condition; `run` too.
    Expr(Expr),
    /// `else`
    Else,
    /// `x = e`
    Assign(VarRef, Expr),
    /// `x++`
    Increment(VarRef),
    /// `x--`
    Decrement(VarRef),
    /// `q!e` or `q!!e`
    Send(Send),
    /// `q?x` and its variants.
    Receive(Receive),
    /// `assert(e)`
    Assert(Expr),
    /// `printf("...", e)`
    Printf(Arc<str>, Vec<Expr>),
    /// `printm(e)`
    Printm(Expr),
    /// `goto L`
    Goto(Name),
    /// `break`
    Break,
    /// `return e`, in an `inline` that is used as a value: the target and the value.
    Return(VarRef, Expr),
    /// `set_priority(p, e)`
    SetPriority(Expr, Expr),
    /// `if :: ... fi`
    If(Vec<Seq>),
    /// `do :: ... od`
    Do(Vec<Seq>),
    /// `for (x : a .. b) { ... }`
    ForRange(VarRef, Expr, Expr, Seq),
    /// `for (x in a) { ... }`
    ForIn(VarRef, VarRef, Seq),
    /// `select (x : a .. b)`
    Select {
        /// What gets the value.
        var: VarRef,
        /// The least value.
        lo: Expr,
        /// The greatest value.
        hi: Expr,
        /// Whether both bounds are written as numbers, outside an `inline`. SPIN lists the values of
        /// such a statement, which is then one step; others are loops.
        is_literal: bool,
    },
    /// `atomic { ... }`
    Atomic(Seq),
    /// `d_step { ... }`
    DStep(Seq),
    /// `{ ... }`
    Block(Seq),
    /// `s unless t`
    Unless(Box<Stmt>, Box<Stmt>),
    /// A call of an `inline`, and its body with the arguments in place.
    Inline(Name, Seq),
    /// Something that could not be parsed.
    Error,
}

/// A send statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// The channel.
    pub chan: VarRef,
    /// Whether it is `!!`.
    pub sorted: bool,
    /// The fields of the message.
    pub args: Vec<Expr>,
}

/// A receive statement, or the operand of a poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Receive {
    /// The channel.
    pub chan: VarRef,
    /// Whether it is `??`.
    pub random: bool,
    /// Whether the message stays in the channel, `?<x>`.
    pub keeps: bool,
    /// What is matched or assigned.
    pub args: Vec<ReceiveArg>,
}

/// An argument of a receive statement.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiveArg {
    /// A variable, or the name of a constant.
    Var(VarRef),
    /// `eval(e)`
    Eval(Expr),
    /// A number.
    Const(Expr),
}

// Expressions

/// A variable, an element or a field: `a[i].b`.
#[derive(Debug, Clone, PartialEq)]
pub struct VarRef {
    /// At least one name with its index.
    pub parts: Vec<Part>,
    /// The text.
    pub span: TokenSpan,
}

/// A name and its index.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The name.
    pub name: Name,
    /// `[i]`
    pub index: Option<Box<Expr>>,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The text.
    pub span: TokenSpan,
    /// The number of nodes on the longest path below.
    pub(crate) height: u32,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A number or character; `true` and `skip` are 1, `false` is 0.
    Const(i64),
    /// A variable, or the name of a constant.
    Var(VarRef),
    /// `-e`, `!e`, `~e`
    Unary(UnaryOp, Box<Expr>),
    /// `e op f`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `(c -> e : f)`
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `len(q)` and its relatives.
    Queue(QueueOp, VarRef),
    /// `q?[x]` or `q??[x]`
    Poll(Box<Receive>),
    /// `run P(e)`, possibly with a priority.
    Run(Name, Vec<Expr>, Option<Box<Expr>>),
    /// `timeout`
    Timeout,
    /// `np_`
    Np,
    /// `enabled(e)`
    Enabled(Box<Expr>),
    /// `pc_value(e)`
    PcValue(Box<Expr>),
    /// `get_priority(e)`
    GetPriority(Box<Expr>),
    /// `P[e]@label`
    RemoteLabel(Name, Option<Box<Expr>>, Name),
    /// `P[e]:x`
    RemoteVar(Name, Option<Box<Expr>>, VarRef),
    /// Something that could not be parsed.
    Error,
}

/// An operator with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

/// A question about a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueOp {
    /// `len`
    Len,
    /// `empty`
    Empty,
    /// `nempty`
    Nempty,
    /// `full`
    Full,
    /// `nfull`
    Nfull,
}

impl UnaryOp {
    /// The spelling.
    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
        }
    }
}

impl BinaryOp {
    /// The spelling.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    /// The precedence; higher binds tighter.
    pub(crate) fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 0,
            BinaryOp::And => 1,
            BinaryOp::BitOr => 2,
            BinaryOp::BitXor => 3,
            BinaryOp::BitAnd => 4,
            BinaryOp::Eq | BinaryOp::Ne => 5,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 6,
            BinaryOp::Shl | BinaryOp::Shr => 7,
            BinaryOp::Add | BinaryOp::Sub => 8,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 9,
        }
    }
}

impl QueueOp {
    /// The spelling.
    pub fn text(self) -> &'static str {
        match self {
            QueueOp::Len => "len",
            QueueOp::Empty => "empty",
            QueueOp::Nempty => "nempty",
            QueueOp::Full => "full",
            QueueOp::Nfull => "nfull",
        }
    }

    /// The question that is true where this one is false.
    pub fn negated(self) -> Option<QueueOp> {
        Some(match self {
            QueueOp::Len => return None,
            QueueOp::Empty => QueueOp::Nempty,
            QueueOp::Nempty => QueueOp::Empty,
            QueueOp::Full => QueueOp::Nfull,
            QueueOp::Nfull => QueueOp::Full,
        })
    }
}

impl TypeKind {
    /// The spelling.
    pub fn text(&self) -> String {
        match self {
            TypeKind::Bit => "bit".to_owned(),
            TypeKind::Byte => "byte".to_owned(),
            TypeKind::Pid => "pid".to_owned(),
            TypeKind::Short => "short".to_owned(),
            TypeKind::Int => "int".to_owned(),
            TypeKind::Unsigned => "unsigned".to_owned(),
            TypeKind::Mtype(None) => "mtype".to_owned(),
            TypeKind::Mtype(Some(set)) => format!("mtype:{set}"),
            TypeKind::Chan => "chan".to_owned(),
            TypeKind::Name(name) => name.to_string(),
        }
    }
}
