//! From the tree to Cranelift's intermediate code, one native function per rule, startstate,
//! property, measure and function.
//!
//! - [`value`]: what is in a register and what is known about it.
//! - [`memory`]: bit fields.
//! - `place`, `expr`, `arith`, `stmt`, `call`: the tree.
//! - [`item`]: whole rules, startstates, properties, measures and functions.
//!
//! Native code does not describe faults. It detects that something is wrong (or that a limit of
//! its own is reached) and leaves through the fault block; the interpreter then runs the same
//! state from the same instance on and reports the fault.

mod arith;
pub(crate) mod call;
mod expr;
pub(crate) mod item;
pub(crate) mod memory;
mod place;
mod stmt;
pub(crate) mod value;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, SigRef, Signature, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use hadal_ir::expr::Arg;
use hadal_ir::ids::{LocalId, TypeId};
use hadal_ir::program::{Frame, LocalKind};

use crate::analysis::locals::LocalFacts;
use crate::call::{FUEL, Helper, field};
use crate::unit::{Parts, Unit};
use memory::Addr;
use value::{Int, Raw};

/// One native function in the making.
pub(crate) struct Lower<'a, 'p> {
    pub(crate) unit: &'a Unit<'p>,
    pub(crate) b: FunctionBuilder<'a>,
    call_conv: CallConv,
    frame: &'p Frame,
    facts: LocalFacts,
    /// The context.
    ctx: Value,
    /// The state that variables live in: the source for guards, the successor for bodies.
    state: Value,
    /// Whether that is the source, which is never written.
    state_is_source: bool,
    /// Where the body has stored less than words of the grid in the successor, as ranges of bits.
    scattered: Vec<(u64, u64)>,
    /// This function's own memory for locals.
    frame_ptr: Value,
    /// Calls that may still nest.
    depth: Value,
    locals: Vec<Home>,
    /// Locals that hold a value for sure, innermost last, with their ranges.
    defined: Vec<(LocalId, Known)>,
    /// Left to the interpreter from here on.
    fault: Block,
    stopped: Block,
    /// Takes the status of a call that did not end normally.
    propagate: Block,
    /// Where `return` leads, and with what.
    exit: Exit,
    /// Bytes of locals so far.
    frame_size: u64,
    /// Copies of arguments, by argument.
    copies: Vec<(*const Arg, u64)>,
    /// Rounds of loops since the stop flag was last polled.
    unpolled: u64,
    sigs: Vec<(Helper, SigRef)>,
    callees: Vec<(u32, FuncRef)>,
    /// The number of this item, for its entry in the table of frame sizes.
    number: u32,
}

/// Where a local lives.
#[derive(Clone, Copy, Debug)]
enum Home {
    /// In a register, as it is stored.
    Register(Variable),
    /// In the frame, at this byte.
    Frame(u64),
    /// Behind a bit address in a register.
    Behind(Variable),
    /// A reference bound by one statement, whose form is known once that has been lowered.
    Bound(Option<Bound>),
}

/// What a reference refers to.
#[derive(Clone, Copy, Debug)]
struct Bound {
    base: BoundBase,
    readonly: bool,
    bit: u64,
    dynamic: Option<Variable>,
    step: u64,
    extent: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
enum BoundBase {
    State,
    Frame,
    Nothing,
}

/// What is known about a local that has a value.
#[derive(Clone, Copy, Debug)]
struct Known {
    lo: i64,
    hi: i64,
    trusted: bool,
}

/// Where `return` leads.
#[derive(Clone, Copy, Debug)]
enum Exit {
    /// The end of a rule's or startstate's body.
    Body(Block),
    /// Out of a function, with an aggregate result to be copied to a bit address.
    Function { result: Option<TypeId>, to: Value },
}

impl<'a, 'p> Lower<'a, 'p> {
    fn iconst(&mut self, value: i64) -> Value {
        self.b.ins().iconst(I64, value)
    }

    fn add_imm(&mut self, value: Value, by: i64) -> Value {
        if by == 0 {
            return value;
        }
        self.b.ins().iadd_imm_s(value, by)
    }

    fn load_ctx(&mut self, offset: i32) -> Value {
        let flags = self.flags();
        self.b.ins().load(I64, flags, self.ctx, offset)
    }

    fn store_ctx(&mut self, offset: i32, value: Value) {
        let flags = self.flags();
        self.b.ins().store(flags, value, self.ctx, offset);
    }

    /// Starts a block that has all its predecessors.
    fn start(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// Goes to `target` where the condition is true, else on.
    fn leave_if(&mut self, condition: Value, target: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, target, &[], next, &[]);
        self.start(next);
    }

    fn fault_if(&mut self, condition: Value) {
        self.leave_if(condition, self.fault);
    }

    /// A fault for sure; what follows is never run.
    fn fault_now(&mut self) {
        self.b.ins().jump(self.fault, &[]);
        let next = self.b.create_block();
        self.start(next);
    }

    fn jump(&mut self, block: Block) {
        self.b.ins().jump(block, &[]);
    }

    /// A block behind everything that is usually run.
    fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Calls a helper.
    fn helper(&mut self, helper: Helper, args: &[Value]) -> Option<Value> {
        let (address, n_params, returns) = helper.signature();
        debug_assert_eq!(n_params, args.len());
        let sig = match self.sigs.iter().find(|(known, _)| *known == helper) {
            Some((_, sig)) => *sig,
            None => {
                let mut signature = Signature::new(self.call_conv);
                signature.params = vec![AbiParam::new(I64); n_params];
                signature.returns = vec![AbiParam::new(I64); usize::from(returns)];
                let sig = self.b.import_signature(signature);
                self.sigs.push((helper, sig));
                sig
            }
        };
        let callee = self.iconst(address as i64);
        let call = self.b.ins().call_indirect(sig, callee, args);
        returns.then(|| self.b.inst_results(call)[0])
    }

    /// Counts a round of a loop and polls the stop flag now and then.
    fn poll(&mut self) {
        let fuel = self.load_ctx(field::FUEL);
        let fuel = self.b.ins().iadd_imm_s(fuel, -1);
        self.store_ctx(field::FUEL, fuel);
        let (look, next) = (self.cold_block(), self.b.create_block());
        let is_empty = self
            .b
            .ins()
            .icmp_imm_s(IntCC::SignedLessThanOrEqual, fuel, 0);
        self.b.ins().brif(is_empty, look, &[], next, &[]);
        self.start(look);
        let full = self.iconst(FUEL);
        self.store_ctx(field::FUEL, full);
        let stop = self.load_ctx(field::STOP);
        let flags = self.flags();
        let raised = self.b.ins().load(I8, flags, stop, 0);
        self.b.ins().brif(raised, self.stopped, &[], next, &[]);
        self.start(next);
    }

    /// Called at the end of a loop's body: polls the stop flag where the loop may take long.
    /// `before` is what [`unpolled`](Self::unpolled) was before the loop.
    fn end_round(&mut self, before: u64, trips: Option<u64>) {
        let body = self.unpolled - before + 1;
        let total = trips.and_then(|trips| trips.checked_mul(body));
        match total {
            Some(total) if total <= FUEL as u64 => self.unpolled = before + total,
            _ => {
                self.poll();
                self.unpolled = before + body;
            }
        }
    }

    // Locals

    /// Allocates each local, all undefined. Memory is allocated behind what is in use.
    fn open_frame(&mut self) {
        let frame = self.frame;
        let zero = self.iconst(0);
        self.locals.clear();
        self.defined.clear();
        let first = self.frame_size;
        for (number, local) in frame.locals.iter().enumerate() {
            let home = match local.kind {
                LocalKind::Value(ty) if self.facts.in_memory[number] => {
                    let at = self.frame_size;
                    self.frame_size += self.unit.bits(ty).div_ceil(8);
                    Home::Frame(at)
                }
                LocalKind::Value(_) => {
                    let var = self.b.declare_var(I64);
                    self.b.def_var(var, zero);
                    Home::Register(var)
                }
                LocalKind::Ref(_) | LocalKind::ConstRef(_) if self.facts.n_binds[number] <= 1 => {
                    Home::Bound(None)
                }
                LocalKind::Ref(_) | LocalKind::ConstRef(_) => {
                    let var = self.b.declare_var(I64);
                    self.b.def_var(var, zero);
                    Home::Behind(var)
                }
            };
            self.locals.push(home);
        }
        // Whole words from here on: copies of arguments and other frames.
        self.frame_size = self.frame_size.next_multiple_of(8);
        self.undefine_frame(first);
    }

    /// Sets what lies in memory from a byte of the frame on to undefined.
    fn undefine_frame(&mut self, first: u64) {
        let addr = self.frame_addr(first);
        self.zero_bits(addr, (self.frame_size - first) * 8);
    }

    /// Sets all locals but parameters to undefined.
    fn undefine_locals(&mut self, first: u64, params: &[LocalId]) {
        let zero = self.iconst(0);
        for number in 0..self.locals.len() {
            if let Home::Register(var) = self.locals[number]
                && !params.contains(&LocalId::new(number))
            {
                self.b.def_var(var, zero);
            }
        }
        self.undefine_frame(first);
    }

    fn frame_addr(&self, byte: u64) -> Addr {
        Addr {
            base: Some(self.frame_ptr),
            readonly: false,
            bit: byte * 8,
            dynamic: None,
            step: 0,
            extent: None,
        }
    }

    /// Sets a value local to a value as it is stored.
    fn set_local(&mut self, local: LocalId, raw: Value) {
        match self.locals[local.index()] {
            Home::Register(var) => self.b.def_var(var, raw),
            Home::Frame(byte) => {
                let addr = self.frame_addr(byte);
                let simple = self.local_simple(local);
                self.store_simple(addr, simple, raw);
            }
            Home::Behind(_) | Home::Bound(_) => unreachable!("verified: it holds values"),
        }
    }

    fn local_simple(&self, local: LocalId) -> crate::unit::Simple {
        self.unit.simple(self.frame.local(local).kind.ty())
    }

    /// Sets a local to an integer that it can hold, and returns what is then known about it.
    fn set_local_int(&mut self, local: LocalId, value: Int) -> Known {
        let simple = self.local_simple(local);
        let raw = self.add_imm(value.base, value.add.wrapping_sub(simple.offset()));
        self.set_local(local, raw);
        let fits = simple.lo <= value.lo && value.hi <= simple.hi;
        Known {
            lo: value.lo.max(simple.lo),
            hi: value.hi.min(simple.hi),
            trusted: value.trusted && fits,
        }
    }

    /// The integer in a register.
    fn int_value(&mut self, int: Int) -> Value {
        match int.constant() {
            Some(value) => self.iconst(value),
            None => self.add_imm(int.base, int.add),
        }
    }

    fn const_int(&mut self, value: i64) -> Int {
        Int {
            base: self.iconst(value),
            add: 0,
            lo: value,
            hi: value,
            trusted: true,
        }
    }

    /// A stored value that is known to be there, as an integer.
    fn raw_int(&mut self, raw: Raw) -> Int {
        Int {
            base: raw.raw,
            add: raw.simple.offset(),
            lo: raw.simple.lo,
            hi: raw.simple.hi,
            trusted: raw.simple.is_tight(),
        }
    }

    fn parts(&self, ty: TypeId) -> &'a Parts {
        self.unit.parts(ty)
    }

    /// Bytes of this function's locals; known only at the end, hence loaded from a table.
    fn own_frame_bytes(&mut self) -> Value {
        let table = self.unit.frame_bytes.as_ptr() as i64;
        let table = self.iconst(table);
        let flags = self.flags().with_readonly().with_can_move();
        self.b.ins().load(I64, flags, table, self.number as i32 * 8)
    }

    /// Ends the lowering: blocks are complete.
    fn finish(mut self, config: cranelift_codegen::isa::TargetFrontendConfig) -> u64 {
        self.b.seal_all_blocks();
        self.b.finalize(config);
        self.frame_size
    }
}

fn arg(value: Value) -> BlockArg {
    BlockArg::Value(value)
}
