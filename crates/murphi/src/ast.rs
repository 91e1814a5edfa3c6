//! The syntax tree: what was written, before anything is known of names and types.
//!
//! It is the union of what the two existing tools accept, and some things that we parse only to
//! refuse them by name (reals, external functions, probabilistic properties). Every node has the
//! span of its text, parentheses included.
//!
//! The height of a tree is bounded by [`MAX_HEIGHT`], whatever the file contains: chains of
//! left-associative operators, of accesses and of `elsif` are kept as lists, and the parser
//! refuses what is nested deeper. Every later pass, and dropping the tree, may recurse.
//!
//! A node whose text could not be parsed is an `Error` node. It was reported, so later passes
//! skip it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use hadal_syntax::Span;

/// No path from the root of a tree has more nodes than this.
pub const MAX_HEIGHT: usize = 3 * crate::parser::MAX_NESTING;

/// A whole file, items in the order they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What the file declares. A name must be declared before it is used.
    pub items: Vec<Item>,
    /// The whole text.
    pub span: Span,
}

/// Something at the top level of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A constant, a type or some variables.
    Decl(Decl),
    /// A function or procedure.
    Function(Function),
    /// A function or procedure in C++: parsed only to be refused.
    Extern(ExternFunction),
    /// A rule, a start state, a property, or a group of them.
    Rule(Rule),
    /// A trailing `pctl` section, unparsed: it reaches to the end of the file. Parsed only to
    /// be refused.
    Pctl(Span),
}

impl Item {
    /// The text of the item.
    pub fn span(&self) -> Span {
        match self {
            Item::Decl(decl) => decl.span(),
            Item::Function(function) => function.span,
            Item::Extern(function) => function.span,
            Item::Rule(rule) => rule.span,
            Item::Pctl(span) => *span,
        }
    }
}

/// A name where it was written. Names that are spelled alike share their text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// The spelling; case matters.
    pub text: Arc<str>,
    /// Where it stands.
    pub span: Span,
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:?}", self.text, self.span)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A string, its escapes resolved as the dialect has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The characters meant.
    pub value: Arc<str>,
    /// Where it stands, quotes included.
    pub span: Span,
}

// Declarations

/// A declaration, global or local.
#[derive(Debug, Clone, PartialEq)]
pub enum Decl {
    /// `const N: 3;`
    Const(ConstDecl),
    /// `type t: 0..N;`
    Type(TypeDecl),
    /// `var a, b: t;`
    Var(VarDecl),
}

impl Decl {
    /// The text of the declaration, without the word that opens its section.
    pub fn span(&self) -> Span {
        match self {
            Decl::Const(decl) => decl.span,
            Decl::Type(decl) => decl.span,
            Decl::Var(decl) => decl.span,
        }
    }
}

/// Some constants of one value, as a rule one.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their value.
    pub value: Expr,
    /// The text from the first name to the value.
    pub span: Span,
}

/// Some names for one type, as a rule one.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// What they stand for.
    pub ty: TypeExpr,
    /// The text from the first name to the type.
    pub span: Span,
}

/// Some names of one type: variables, or fields of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct VarDecl {
    /// The names, at least one.
    pub names: Vec<Name>,
    /// The type they share.
    pub ty: TypeExpr,
    /// The text from the first name to the type.
    pub span: Span,
}

/// A type as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Its text.
    pub span: Span,
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// `boolean`
    Boolean,
    /// A name declared before.
    Name(Name),
    /// `lo .. hi`
    Range {
        /// The least value.
        lo: Box<Expr>,
        /// The greatest value.
        hi: Box<Expr>,
    },
    /// `enum { a, b }`, possibly empty.
    Enum(Vec<Name>),
    /// `record a, b: t; end`, possibly empty.
    Record(Vec<VarDecl>),
    /// `array [index] of element`
    Array {
        /// The type of the index.
        index: Box<TypeExpr>,
        /// The type of the elements.
        element: Box<TypeExpr>,
    },
    /// `scalarset(n)`
    Scalarset(Box<Expr>),
    /// `union { a, b }`; the checker asks for two members or more.
    Union(Vec<TypeExpr>),
    /// `multiset [n] of element`
    Multiset {
        /// How many elements it holds at most.
        bound: Box<Expr>,
        /// The type of the elements.
        element: Box<TypeExpr>,
    },
    /// `real(digits, exponent)`: parsed only to be refused. The arguments may be missing.
    Real(Vec<Expr>),
    /// Not a type; reported.
    Error,
}

/// A function (with a result) or procedure (without).
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Its parameters, in groups of one type.
    pub params: Vec<Param>,
    /// The type of the result; `None` for a procedure.
    pub result: Option<TypeExpr>,
    /// Local declarations.
    pub decls: Vec<Decl>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The text from `function` to `end`.
    pub span: Span,
}

/// Some parameters of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Passed by reference: written with `var`.
    pub by_reference: bool,
    /// The names, at least one.
    pub names: Vec<Name>,
    /// The type they share.
    pub ty: TypeExpr,
    /// The text from `var` or the first name to the type.
    pub span: Span,
}

/// `externfun` or `externproc`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternFunction {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of the result; `None` for a procedure.
    pub result: Option<TypeExpr>,
    /// The C++ header that holds it.
    pub header: Option<Text>,
    /// The whole text.
    pub span: Span,
}

// Rules

/// A rule, a start state, a property, or a group of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What it is.
    pub kind: RuleKind,
    /// Its text.
    pub span: Span,
}

/// The kinds of rules.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleKind {
    /// `rule 10 "name" guard ==> var … begin … end`
    Simple {
        /// Only enabled rules of the least priority fire; `None` is 0.
        priority: Option<Priority>,
        /// Its name, if it has one.
        name: Option<Text>,
        /// When it may fire; `None` is always.
        guard: Option<Expr>,
        /// Local declarations.
        decls: Vec<Decl>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `startstate "name" var … begin … end`
    Startstate {
        /// Its name, if it has one.
        name: Option<Text>,
        /// Local declarations.
        decls: Vec<Decl>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `invariant "message" condition` and its kin.
    Property {
        /// Which one.
        kind: PropertyKind,
        /// Its name, written before or after the condition.
        message: Option<Text>,
        /// What is claimed.
        condition: Expr,
    },
    /// `ruleset i: t; j: u do … end`
    Ruleset {
        /// The parameters, at least one.
        quantifiers: Vec<Quantifier>,
        /// What they multiply.
        rules: Vec<Rule>,
    },
    /// `alias a: x; b: y do … end`
    Alias {
        /// The aliases, at least one.
        aliases: Vec<Alias>,
        /// What may use them.
        rules: Vec<Rule>,
    },
    /// `choose i: m do … end`: the rules once for every element present in a multiset.
    Choose {
        /// The name of the element's index.
        name: Name,
        /// The multiset.
        multiset: Designator,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// Not a rule; reported.
    Error,
}

/// The priority of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// The least goes first.
    pub value: i64,
    /// Where it stands.
    pub span: Span,
}

/// What is claimed of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// Holds in every reachable state; `assert` is a synonym.
    Invariant,
    /// States without it are not looked at.
    Assume,
    /// Holds in some reachable state.
    Cover,
    /// From every reachable state, one with it can be reached.
    Liveness,
}

/// A name that runs over some values, in quantified expressions, `for` and `ruleset`.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantifier {
    /// The name.
    pub name: Name,
    /// The values.
    pub domain: Domain,
    /// The text from the name to the domain.
    pub span: Span,
}

/// The values of a quantifier.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// `i: t`
    Type(TypeExpr),
    /// `i := from to last by step`
    Range {
        /// The first value.
        from: Box<Expr>,
        /// The last value.
        to: Box<Expr>,
        /// The step; `None` is 1, or what the dialect makes of it.
        by: Option<Box<Expr>>,
    },
}

/// A name for a variable or a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Alias {
    /// The name.
    pub name: Name,
    /// What it stands for; a reference if this is a designator.
    pub value: Expr,
    /// The text from the name to the value.
    pub span: Span,
}

// Statements

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its text.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StmtKind {
    /// `target := value`; the value may be `undefined`.
    Assign {
        /// What is written.
        target: Designator,
        /// What is stored.
        value: Expr,
    },
    /// `if … then … elsif … then … else … end`
    If {
        /// Conditions and what they guard, at least one.
        branches: Vec<Branch>,
        /// What is done if none holds; `Some` of nothing for an empty `else`.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `switch subject case a, b: … else … end`
    Switch {
        /// What is compared.
        subject: Expr,
        /// The cases, possibly none.
        cases: Vec<Case>,
        /// What is done if no case matches; `Some` of nothing for an empty `else`.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `for i: t; j: u do … end`
    For {
        /// What to run over, at least one; the last is the innermost.
        quantifiers: Vec<Quantifier>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `while condition do … end`
    While {
        /// When to continue.
        condition: Expr,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `alias a: x; b: y do … end`
    Alias {
        /// The aliases, at least one; each may use those before it.
        aliases: Vec<Alias>,
        /// What may use them.
        body: Vec<Stmt>,
    },
    /// `return value`
    Return(Option<Expr>),
    /// `error "text"`
    Error(Text),
    /// `assert condition "message"` and its kin.
    Property {
        /// Which one; never [`PropertyKind::Liveness`].
        kind: PropertyKind,
        /// The message, written before or after the condition.
        message: Option<Text>,
        /// What is claimed.
        condition: Expr,
    },
    /// `put value`
    Put(Expr),
    /// `put "text"`
    PutText(Text),
    /// `clear d`
    Clear(Designator),
    /// `undefine d`
    Undefine(Designator),
    /// A call of a procedure, or of a function whose result is not wanted.
    Call {
        /// What is called.
        callee: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `multisetadd(element, m)`
    MultisetAdd {
        /// What is put in.
        element: Expr,
        /// Where.
        multiset: Designator,
    },
    /// `multisetremove(i, m)`
    MultisetRemove {
        /// The index of the element to take out, bound by `choose`.
        index: Expr,
        /// Where from.
        multiset: Designator,
    },
    /// `multisetremovepred(i: m, condition)`
    MultisetRemovePred {
        /// The name of the element's index.
        name: Name,
        /// Where from.
        multiset: Designator,
        /// Which elements to take out.
        condition: Expr,
    },
    /// Not a statement; reported.
    Missing,
}

/// A condition of an `if` and the statements it guards.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// When.
    pub condition: Expr,
    /// What.
    pub body: Vec<Stmt>,
    /// The text from `if` or `elsif` to the last statement.
    pub span: Span,
}

/// A case of a `switch`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The values it is for, at least one.
    pub labels: Vec<Expr>,
    /// What is done.
    pub body: Vec<Stmt>,
    /// The text from `case` to the last statement.
    pub span: Span,
}

// Expressions

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its text, with the parentheses around it.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number, as written; the parser has reported it as unsupported.
    Real(Arc<str>),
    /// `undefined`, if nothing of that name was declared above it.
    Undefined,
    /// A variable, constant, parameter, alias, or a part of one.
    Designator(Designator),
    /// A call of a function.
    Call {
        /// What is called.
        callee: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// A prefix operator.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// What it is applied to.
        operand: Box<Expr>,
    },
    /// An operator that cannot be chained: a comparison or `->`.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Where the operator stands.
        op_span: Span,
        /// On its left.
        lhs: Box<Expr>,
        /// On its right.
        rhs: Box<Expr>,
    },
    /// Left-associative operators of one precedence: `first op operand op operand …`, to be
    /// read from the left. In a chain of logical operators all are the same operator.
    Chain {
        /// The leftmost operand.
        first: Box<Expr>,
        /// The other operands, at least one, each with the operator before it.
        rest: Vec<Link>,
    },
    /// `condition ? then : otherwise`
    Conditional {
        /// What decides.
        condition: Box<Expr>,
        /// The value if it holds.
        then: Box<Expr>,
        /// The value if not.
        otherwise: Box<Expr>,
    },
    /// `forall i: t; j: u do … end` or `exists …`
    Quantified {
        /// Which of the two.
        kind: QuantifiedKind,
        /// What to run over, at least one.
        quantifiers: Vec<Quantifier>,
        /// What must hold.
        body: Box<Expr>,
    },
    /// `isundefined(d)`; the checker asks for a designator.
    IsUndefined(Box<Expr>),
    /// `ismember(d, t)`
    IsMember {
        /// A value of a union; the checker asks for a designator.
        value: Box<Expr>,
        /// A member of the union.
        ty: Box<TypeExpr>,
    },
    /// `multisetcount(i: m, condition)`
    MultisetCount {
        /// The name of the element's index.
        name: Name,
        /// The multiset.
        multiset: Box<Designator>,
        /// Which elements to count.
        condition: Box<Expr>,
    },
    /// Not an expression; reported.
    Error,
}

/// A link of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The operator.
    pub op: BinaryOp,
    /// Where the operator stands.
    pub op_span: Span,
    /// What stands on its right.
    pub operand: Expr,
}

/// A name, and the way to a part of what it names: `a.b[i].c`.
#[derive(Debug, Clone, PartialEq)]
pub struct Designator {
    /// The name.
    pub base: Name,
    /// The steps, from the left; often none.
    pub steps: Vec<Step>,
    /// Its text.
    pub span: Span,
}

/// A step of a designator.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `.field`
    Field(Name),
    /// `[index]`
    Index {
        /// The index.
        index: Box<Expr>,
        /// The text from `[` to `]`.
        span: Span,
    },
}

/// The two quantified expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuantifiedKind {
    /// For all values.
    Forall,
    /// For some value.
    Exists,
}

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `~`, of bits.
    BitNot,
}

/// An operator between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `->`
    Implies,
    /// `||` and `∨`: as `|` on booleans, but looser than `&&`.
    OrOr,
    /// `&&` and `∧`: as `&` on booleans, but looser than `|`.
    AndAnd,
    /// `|`: of booleans, or of bits.
    Or,
    /// `^`, of bits.
    Xor,
    /// `&`: of booleans, or of bits.
    And,
    /// `=` and `==`
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
    Mod,
}

impl UnaryOp {
    /// The spelling in ASCII.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Neg => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
        }
    }
}

impl BinaryOp {
    /// The spelling in ASCII.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Implies => "->",
            BinaryOp::OrOr => "||",
            BinaryOp::AndAnd => "&&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Eq => "=",
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
            BinaryOp::Mod => "%",
        }
    }

    /// Whether this is one of `= != < <= > >=`.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        )
    }
}
