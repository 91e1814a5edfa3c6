//! A checked program: typed, flattened, without names to look up.
//!
//! Structures are flattened: a variable `t x[2]` whose type has a field `byte a[3]` is the variable
//! `x.a` with the dimensions 2 and 3. Every variable is thus a scalar or an array of scalars, and a
//! [`Place`] has one index for each dimension.
//!
//! Values are those of C's `int`: 32 bits, wrap-around, division towards zero. A store truncates to
//! the type of the variable, see [`Scalar::truncate`].

use std::sync::Arc;

pub use crate::ast::{BinaryOp, QueueOp, UnaryOp};
use hadal_syntax::Outside;

use crate::automaton::Automaton;
use crate::text::TokenSpan;

/// A checked program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The sets of symbolic constants; the first is the plain `mtype`.
    pub mtypes: Vec<MtypeSet>,
    /// The global variables, in the order of their declarations.
    pub globals: Vec<Variable>,
    /// The kinds of channels that declarations create.
    pub channels: Vec<ChannelType>,
    /// The process types, `init` among them, in the order of the text.
    pub proctypes: Vec<Proctype>,
    /// The processes of the initial state, in the order of their pids: indices of `proctypes`.
    pub initial: Vec<usize>,
    /// The never claims.
    pub claims: Vec<Claim>,
    /// The `ltl` formulas.
    pub formulas: Vec<NamedFormula>,
    /// The `trace` and `notrace` automata: what is written, as it is not checked.
    pub traces: Vec<TokenSpan>,
    /// Expressions from outside of the text.
    pub outside: Outside<OutsideExpr>,
    /// Whether `_last` is mentioned, and so a part of the state.
    pub uses_last: bool,
    /// Whether a priority is mentioned, so that priorities decide what may run.
    pub uses_priorities: bool,
}

/// A set of symbolic constants.
#[derive(Debug, Clone)]
pub struct MtypeSet {
    /// Its name; the plain set has none.
    pub name: Option<Arc<str>>,
    /// The constants and their values, in the order of the text.
    pub names: Vec<(Arc<str>, u8)>,
}

/// The type of a variable or of a field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// 1 bit
    Bit,
    /// 8 bits, 0 to 255; `pid` too
    Byte,
    /// 16 bits with a sign
    Short,
    /// 32 bits with a sign
    Int,
    /// 1 to 32 bits
    Unsigned(u8),
    /// A symbolic constant of a set, 8 bits
    Mtype(usize),
    /// The number of a channel, 8 bits; 0 is none
    Chan,
}

impl Scalar {
    /// What a store makes of a value.
    pub fn truncate(self, value: i32) -> i32 {
        match self {
            Scalar::Bit => value & 1,
            Scalar::Byte | Scalar::Mtype(_) | Scalar::Chan => value & 0xff,
            Scalar::Short => i32::from(value as i16),
            Scalar::Int => value,
            Scalar::Unsigned(bits) if bits >= 32 => value,
            Scalar::Unsigned(bits) => value & ((1 << bits) - 1),
        }
    }

    /// The least and the greatest value.
    pub fn range(self) -> (i64, i64) {
        match self {
            Scalar::Bit => (0, 1),
            Scalar::Byte | Scalar::Mtype(_) | Scalar::Chan => (0, 255),
            Scalar::Short => (i16::MIN.into(), i16::MAX.into()),
            Scalar::Int => (i32::MIN.into(), i32::MAX.into()),
            Scalar::Unsigned(bits) => (0, (1i64 << bits) - 1),
        }
    }
}

/// A variable: a scalar, or an array of them.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name, with those of its fields: `x.a`.
    pub name: Arc<str>,
    /// The type of its elements.
    pub ty: Scalar,
    /// The sizes of its dimensions, the first outermost; none for a scalar.
    pub dims: Vec<u32>,
    /// For each dimension, how much of the name it belongs to: in `t[2].a[3]` the first one to `t`.
    pub dim_ends: Vec<usize>,
    /// Whether it is not a part of the state: it is declared `hidden`, and never read.
    pub hidden: bool,
    /// Its value when it is created.
    pub initial: Initial,
    /// The declaration.
    pub span: TokenSpan,
}

impl Variable {
    /// The number of elements; 1 for a scalar.
    pub fn n_elements(&self) -> usize {
        self.dims.iter().map(|&it| it as usize).product()
    }

    /// What the index of a dimension selects an element of.
    pub fn array_name(&self, dim: usize) -> &str {
        let end = self.dim_ends.get(dim).copied();
        end.and_then(|end| self.name.get(..end))
            .unwrap_or(&self.name)
    }
}

/// The value of a variable when it is created.
#[derive(Debug, Clone)]
pub enum Initial {
    /// 0 in every element.
    Zero,
    /// The same expression for every element. In a local variable it may use parameters and
    /// earlier locals.
    Expr(Expr),
    /// An expression for each element; further elements are 0.
    List(Vec<Expr>),
    /// Each element is a new channel, created in the order of elements.
    Channel(usize),
    /// The argument of `run`; 0 in an `active` process.
    Param,
}

/// A kind of channel.
#[derive(Debug, Clone)]
pub struct ChannelType {
    /// Number of messages that it holds; 0 for a rendezvous channel.
    pub capacity: u32,
    /// The types of the fields of a message, structures flattened.
    pub fields: Vec<Scalar>,
}

/// A process type.
#[derive(Debug, Clone)]
pub struct Proctype {
    /// Its name.
    pub name: Arc<str>,
    /// The variables of an instance: parameters first, then all locals, those of inner blocks
    /// too.
    pub locals: Vec<Variable>,
    /// The number of parameters.
    pub n_params: usize,
    /// The priority of its `active` instances.
    pub priority: u8,
    /// The condition without which no step is possible.
    pub provided: Option<Expr>,
    /// What it does.
    pub automaton: Automaton,
    /// The declaration.
    pub span: TokenSpan,
}

/// An expression that is not in the text of the model.
#[derive(Debug, Clone)]
pub struct OutsideExpr {
    /// The expression; it mentions nothing that only a process has.
    pub expr: Expr,
    /// Where it stands.
    pub span: TokenSpan,
}

/// A never claim.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// Its local variables.
    pub locals: Vec<Variable>,
    /// What it observes.
    pub automaton: Automaton,
    /// The word `never`.
    pub span: TokenSpan,
}

/// An `ltl` formula.
#[derive(Debug, Clone)]
pub struct NamedFormula {
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// The formula.
    pub formula: Formula,
    /// The text.
    pub span: TokenSpan,
}

/// A formula of linear temporal logic.
#[derive(Debug, Clone)]
pub enum Formula {
    /// An expression of the state, and its text.
    Atom(Expr, Arc<str>),
    /// Negation.
    Not(Box<Formula>),
    /// Next.
    Next(Box<Formula>),
    /// Always.
    Always(Box<Formula>),
    /// Eventually.
    Eventually(Box<Formula>),
    /// A binary operator.
    Binary(crate::ast::FormulaOp, Box<Formula>, Box<Formula>),
}

/// Which variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarId {
    /// One of [`Program::globals`].
    Global(usize),
    /// One of [`Proctype::locals`] of the process that executes.
    Local(usize),
    /// `_`, which can be written only.
    Scratch,
}

/// A variable, or an element of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The variable.
    pub var: VarId,
    /// An index for each dimension.
    pub indices: Vec<Expr>,
    /// The text.
    pub span: TokenSpan,
}

/// An expression without side effects. Its value is a C `int`.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(i32),
    /// The value of a variable.
    Read(Place),
    /// `_pid`
    Pid,
    /// `_nr_pr`
    NrPr,
    /// `_last`
    Last,
    /// `_priority`
    Priority,
    /// An operator with one operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator with two operands; `&&` and `||` do not evaluate the second one if the first
    /// decides. The span is that of the operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>, TokenSpan),
    /// `(c -> e : f)`
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A question about the channel that an expression names.
    Queue(QueueOp, Box<Expr>, TokenSpan),
    /// Whether a receive could be executed; false for a rendezvous channel.
    Poll(Box<Receive>),
    /// `timeout`
    Timeout,
    /// `np_`
    Np,
    /// `enabled(p)`
    Enabled(Box<Expr>),
    /// `pc_value(p)`
    PcValue(Box<Expr>),
    /// `get_priority(p)`
    GetPriority(Box<Expr>),
    /// Whether an instance of a process type is at a label.
    RemoteLabel {
        /// Index of the process type.
        proctype: usize,
        /// Its pid; the first instance if absent.
        pid: Option<Box<Expr>>,
        /// A label of its automaton.
        label: Arc<str>,
    },
    /// A local variable of another process.
    RemoteVar {
        /// Index of the process type.
        proctype: usize,
        /// Its pid; the first instance if absent.
        pid: Option<Box<Expr>>,
        /// Index of the local variable.
        var: usize,
        /// An index for each dimension, evaluated in the process that reads.
        indices: Vec<Expr>,
        /// The text.
        span: TokenSpan,
    },
}

impl Expr {
    /// Whether `is_it` holds for this expression or one inside it. Every kind is listed, so that
    /// no part of a new one is overlooked.
    pub(crate) fn any(&self, is_it: &dyn Fn(&Expr) -> bool) -> bool {
        if is_it(self) {
            return true;
        }
        match self {
            Expr::Const(_)
            | Expr::Pid
            | Expr::NrPr
            | Expr::Last
            | Expr::Priority
            | Expr::Timeout
            | Expr::Np => false,
            Expr::Read(place) => place.any(is_it),
            Expr::Unary(_, a)
            | Expr::Queue(_, a, _)
            | Expr::Enabled(a)
            | Expr::PcValue(a)
            | Expr::GetPriority(a) => a.any(is_it),
            Expr::Binary(_, a, b, _) => a.any(is_it) || b.any(is_it),
            Expr::Cond(a, b, c) => [a, b, c].into_iter().any(|it| it.any(is_it)),
            Expr::Poll(receive) => receive.any(is_it),
            Expr::RemoteLabel { pid, .. } => pid.as_deref().is_some_and(|it| it.any(is_it)),
            Expr::RemoteVar { pid, indices, .. } => {
                let mut parts = pid.as_deref().into_iter().chain(indices);
                parts.any(|it| it.any(is_it))
            }
        }
    }
}

impl Place {
    fn any(&self, is_it: &dyn Fn(&Expr) -> bool) -> bool {
        self.indices.iter().any(|it| it.any(is_it))
    }
}

/// A basic statement: the label of an edge.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Executable iff the expression is not 0.
    Cond(Expr),
    /// Executable iff no edge listed before it at its point is.
    Else,
    /// Always executable, without effect: a jump, or the end of a selection.
    Goto,
    /// An assignment.
    Assign(Place, Expr),
    /// `q!e`
    Send(Send),
    /// `q?x`
    Receive(Receive),
    /// Creates a process, and stores its pid in the target, if there is one. It is an error if there
    /// is no room for one more.
    Run(Run, Option<Place>),
    /// `assert(e)`, and the text of `e`.
    Assert(Expr, Arc<str>),
    /// `printf`, and `printm(e)` as `printf("%e", e)`.
    Print(Vec<Printed>),
    /// `set_priority(p, e)`: an error if there is a process `p` and `e` is not 1 to 255.
    SetPriority(Expr, Expr),
    /// `_priority = e`, which is truncated as any assignment to a byte.
    AssignPriority(Expr),
    /// The declaration of a structure after the first statement: a step without effect.
    Declare,
    /// A `d_step`: runs from `entry` until `exit` is reached, at each point by the first edge
    /// that is executable, and then continues at the target of its own edge. Executable iff an
    /// edge of `entry` is.
    DStep {
        /// The first point inside.
        entry: crate::automaton::PointId,
        /// The point inside at which it is over, which has no edges.
        exit: crate::automaton::PointId,
    },
}

impl Action {
    /// Whether `is_it` holds for an expression that the statement evaluates, or one inside it. What
    /// is inside a `d_step` belongs to other edges.
    pub(crate) fn any_expr(&self, is_it: &dyn Fn(&Expr) -> bool) -> bool {
        let any = |values: &[Expr]| values.iter().any(|it| it.any(is_it));
        match self {
            Action::Else | Action::Goto | Action::Declare | Action::DStep { .. } => false,
            Action::Cond(value) | Action::Assert(value, _) => value.any(is_it),
            Action::Assign(place, value) => place.any(is_it) || value.any(is_it),
            Action::Send(send) => send.chan.any(is_it) || any(&send.args),
            Action::Receive(receive) => receive.any(is_it),
            Action::Run(run, target) => {
                any(&run.args)
                    || run.priority.as_ref().is_some_and(|it| it.any(is_it))
                    || target.as_ref().is_some_and(|it| it.any(is_it))
            }
            Action::Print(parts) => parts.iter().any(|part| match part {
                Printed::Text(_) => false,
                Printed::Value(value, _) => value.any(is_it),
            }),
            Action::SetPriority(pid, value) => pid.any(is_it) || value.any(is_it),
            Action::AssignPriority(value) => value.any(is_it),
        }
    }
}

/// A part of what a `printf` prints.
#[derive(Debug, Clone, PartialEq)]
pub enum Printed {
    /// As it stands.
    Text(String),
    /// A value.
    Value(Expr, Conversion),
}

/// How a `printf` prints a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// `%d`
    Decimal,
    /// `%u`
    Unsigned,
    /// `%o`
    Octal,
    /// `%x`
    Hexadecimal,
    /// `%c`
    Character,
    /// `%e`: the name in this set of an `mtype`.
    Symbol(usize),
}

/// `q!e1,e2` or `q!!e1,e2`
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// The channel.
    pub chan: Expr,
    /// Whether the message goes before the first that is greater. Its fields are compared before
    /// they are truncated, as SPIN does.
    pub sorted: bool,
    /// The fields; missing ones are 0.
    pub args: Vec<Expr>,
    /// The channel's text.
    pub span: TokenSpan,
}

/// `q?x,y` and its variants, or the operand of a poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Receive {
    /// The channel.
    pub chan: Expr,
    /// Whether any message may match, `??`.
    pub random: bool,
    /// Whether the message stays in the channel, `?<x>`.
    pub keeps: bool,
    /// What is matched or assigned; further fields are dropped.
    pub args: Vec<Match>,
    /// The channel's text.
    pub span: TokenSpan,
}

impl Receive {
    fn any(&self, is_it: &dyn Fn(&Expr) -> bool) -> bool {
        let in_arg = |arg: &Match| match arg {
            Match::Any => false,
            Match::Assign(place) => place.any(is_it),
            Match::Equal(value) => value.any(is_it),
        };
        self.chan.any(is_it) || self.args.iter().any(in_arg)
    }
}

/// An argument of a receive.
#[derive(Debug, Clone, PartialEq)]
pub enum Match {
    /// `_`
    Any,
    /// The field is assigned.
    Assign(Place),
    /// The field must have this value.
    Equal(Expr),
}

/// `run P(e)`
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Index of the process type.
    pub proctype: usize,
    /// The arguments, one for each parameter.
    pub args: Vec<Expr>,
    /// The priority; 1 if absent.
    pub priority: Option<Expr>,
}

/// The value of a binary operation, or `None` for a division by zero. `&&` and `||` too.
pub fn apply_binary(op: BinaryOp, a: i32, b: i32) -> Option<i32> {
    Some(match op {
        BinaryOp::Or => i32::from(a != 0 || b != 0),
        BinaryOp::And => i32::from(a != 0 && b != 0),
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::BitAnd => a & b,
        BinaryOp::Eq => i32::from(a == b),
        BinaryOp::Ne => i32::from(a != b),
        BinaryOp::Lt => i32::from(a < b),
        BinaryOp::Le => i32::from(a <= b),
        BinaryOp::Gt => i32::from(a > b),
        BinaryOp::Ge => i32::from(a >= b),
        // The processors that SPIN's verifiers run on take the shift modulo 32.
        BinaryOp::Shl => a.wrapping_shl(b as u32),
        BinaryOp::Shr => a.wrapping_shr(b as u32),
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return None,
        BinaryOp::Div => a.wrapping_div(b),
        BinaryOp::Rem => a.wrapping_rem(b),
    })
}

/// The value of a unary operation.
pub fn apply_unary(op: UnaryOp, a: i32) -> i32 {
    match op {
        UnaryOp::Neg => a.wrapping_neg(),
        UnaryOp::Not => i32::from(a == 0),
        UnaryOp::Complement => !a,
    }
}
