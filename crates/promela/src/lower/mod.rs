//! From automata to a program of the intermediate representation.
//!
//! Every edge of an automaton is a rule, with the instance of the process type as its parameter: the
//! program is one of *micro steps*. What holds only between two micro steps is in registers, the
//! last variables of the state, which are 0 in every state at rest:
//!
//! - `control`: the pid, plus 1, of the process that has exclusive control inside an `atomic`, or
//!   [`HANDSHAKE`] between the two halves of a rendezvous;
//! - the channel, the sender and the fields of the message that is being handed over.
//!
//! In a product with a never claim, `control` also records whether the claim has moved ([`claim`]).
//!
//! All rules ask `control` first, so that in a transient state only the process that has control, or
//! a receiver of the message, can move. A state in which it cannot comes to rest.
//!
//! What is where:
//!
//! - [`layout`]: the variables of a state; [`channels`]: those that hold channels; [`instances`]: how
//!   many processes there can be;
//! - [`origins`]: which channels an expression may name;
//! - [`exprs`], [`queues`]: expressions, and access to channels;
//! - [`executable`]: whether an edge is executable, as an expression;
//! - [`steps`], [`effects`], [`dsteps`], [`processes`]: rules and their bodies;
//! - [`claim`]: the product with a never claim; [`outside`]: a goal and numbers of states;
//! - [`coverage`]: which rules execute which statements;
//! - [`build`]: adds expressions and statements to a program.

mod build;
mod channels;
mod claim;
mod coverage;
mod dsteps;
mod effects;
mod executable;
mod exprs;
mod instances;
mod layout;
mod origins;
mod outside;
mod processes;
mod queues;
mod steps;

use std::sync::Arc;

use hadal_ir::types::MAX_STATE_BITS;
use hadal_ir::{Measure, Program as Ir};
use hadal_syntax::Diagnostic;
use rustc_hash::FxHashMap;

use crate::MAX_INSTANCES;
use crate::naming::Naming;
use crate::program::{Claim, Initial, Program};
use crate::text::{Text, TokenSpan};
use build::Builder;
use claim::Observer;
use coverage::Coverage;
use layout::Layout;

pub use coverage::Statement;

/// The value of the register `control` between the two halves of a rendezvous. No pid, plus 1, is.
const HANDSHAKE: i64 = 256;

/// How a program is lowered.
#[derive(Debug, Clone)]
pub struct LowerOptions {
    /// Whether a send to a full channel loses its message.
    pub lossy: bool,
    /// How many instances of a process type there is room for where the program does not bound
    /// their number.
    pub instances: u32,
}

/// Instances of a process type that there is room for unless told otherwise.
pub const GUESSED_INSTANCES: u32 = 8;

impl Default for LowerOptions {
    fn default() -> Self {
        LowerOptions {
            lossy: false,
            instances: GUESSED_INSTANCES,
        }
    }
}

/// A program of micro steps.
#[derive(Debug)]
pub struct Lowered {
    /// The program.
    pub ir: Ir,
    /// The estimates from outside, which refer to the program but are no part of it.
    pub estimates: Vec<Measure>,
    /// How its variables are called in Promela.
    pub naming: Naming,
    /// The statements of all process types, with the rules that execute them.
    pub statements: Vec<Statement>,
    /// Whether the number of instances is a guess: a search that needs more reports it.
    pub is_guess: bool,
}

/// Lowers a checked program. What it cannot express is reported. Where there is a goal, the last
/// property of the program is an invariant that it is false.
pub fn lower(
    program: &Program,
    text: &Text,
    options: &LowerOptions,
) -> Result<Lowered, Vec<Diagnostic>> {
    lower_with(program, None, text, options)
}

/// Lowers the product of a program and a claim that [`asked`](crate::asked) has for it. Its only
/// violations are those of the claim, which `title` names, and run-time errors.
pub fn lower_product(
    program: &Program,
    claim: &Claim,
    title: &str,
    text: &Text,
    options: &LowerOptions,
) -> Result<Lowered, Vec<Diagnostic>> {
    lower_with(program, Some(Observer { claim, title }), text, options)
}

fn lower_with(
    program: &Program,
    observer: Option<Observer<'_>>,
    text: &Text,
    options: &LowerOptions,
) -> Result<Lowered, Vec<Diagnostic>> {
    if let Some(span) = too_many_channels(program) {
        let message = format!("more than {MAX_INSTANCES} channels in the initial state");
        return Err(vec![text.error(message, span)]);
    }
    let mut builder = Builder::new(text, &program.mtypes);
    let claim = observer.map(|it| it.claim);
    let layout = Layout::new(program, claim, options, &mut builder);
    let vars = builder.ir.vars.iter();
    let n_bits = vars.fold(0u64, |sum, var| {
        sum.saturating_add(builder.ir.types.bits(var.ty))
    });
    if n_bits > MAX_STATE_BITS {
        let message = format!("a state would have {n_bits} bits; at most {MAX_STATE_BITS} fit");
        let start = TokenSpan::new(0, 1);
        return Err(vec![text.error(message, start)]);
    }
    let mut lowering = Lowering {
        program,
        observer,
        text,
        options,
        builder,
        layout,
        receivable: Vec::new(),
        no_channel: FxHashMap::default(),
        outranked: [None; 2],
        escaping: FxHashMap::default(),
        coverage: Coverage::default(),
        diagnostics: Vec::new(),
    };
    lowering.start();
    lowering.claim_rules();
    lowering.rules();
    if observer.is_none() {
        lowering.ends();
        lowering.outside();
    }
    let estimates = match observer {
        None => lowering.estimates(),
        Some(_) => Vec::new(),
    };
    if !lowering.diagnostics.is_empty() {
        return Err(lowering.diagnostics);
    }
    let statements = lowering.statements();
    Ok(Lowered {
        estimates,
        statements,
        naming: lowering.layout.naming(program),
        ir: lowering.builder.finish(),
        is_guess: lowering.layout.is_guess,
    })
}

/// The declaration with which there are more channels in the initial state than have a number.
fn too_many_channels(program: &Program) -> Option<TokenSpan> {
    let initial = program.initial.iter();
    let locals = initial.flat_map(|&proctype| &program.proctypes[proctype].locals);
    let mut n = 0;
    for variable in program.globals.iter().chain(locals) {
        if let Initial::Channel(_) = variable.initial {
            n += variable.n_elements();
        }
        if n > MAX_INSTANCES {
            return Some(variable.span);
        }
    }
    None
}

/// A process type, whether there is a timeout, and the edges of an escape.
type EscapeKey = (usize, bool, Vec<(TokenSpan, Arc<str>)>);

/// A program on its way.
struct Lowering<'p> {
    program: &'p Program,
    /// The claim, where this is a product.
    observer: Option<Observer<'p>>,
    text: &'p Text,
    options: &'p LowerOptions,
    builder: Builder<'p>,
    layout: Layout,
    /// Functions that look for a receiver, by the channels that it may receive from.
    receivable: Vec<(origins::Origins, hadal_ir::ids::FunctionId)>,
    /// Functions that report a channel that does not exist, by place in the text.
    no_channel: FxHashMap<hadal_ir::ids::SiteId, hadal_ir::ids::FunctionId>,
    /// The functions that look for a process of a higher priority, without `timeout` and with.
    outranked: [Option<hadal_ir::ids::FunctionId>; 2],
    /// The functions that ask whether an escape is executable.
    escaping: FxHashMap<EscapeKey, hadal_ir::ids::FunctionId>,
    coverage: Coverage,
    diagnostics: Vec<Diagnostic>,
}
