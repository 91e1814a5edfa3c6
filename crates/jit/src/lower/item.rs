//! Whole native functions: rules, startstates, properties, measures and functions of the program.
//!
//! A rule runs through its instances itself, one loop per parameter, and evaluates each part of
//! its guard at the level that [`guard`](crate::analysis::guard) found for it. A successor is made
//! in its final place: the source is copied there once, the body works on the copy, and only when
//! all is well the columns are filled and the counters moved on. Whatever goes wrong before that
//! leaves no trace, so the interpreter can start again from the same instance.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8X16, I32, I64};
use cranelift_codegen::ir::{Block, Function, InstBuilder, MemFlagsData, Value};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use hadal_ir::expr::Place;
use hadal_ir::ids::{ExprId, LocalId};
use hadal_ir::program::{Frame, Param, ParamDomain, ParamMode, PropertyKind};
use hadal_ir::stmt::Stmt;
use hadal_model::BitRanges;

use super::call::{N_HIDDEN, entry_signature};
use super::place::Target;
use super::value::Int;
use super::{Exit, Home, Known, Lower};
use crate::analysis::calls::reaches_cover;
use crate::analysis::guard::{self, Part, Plan};
use crate::analysis::locals::LocalFacts;
use crate::analysis::mark::Mark;
use crate::call::{ANY_MARK, Helper, STILL_MARK, Status, field};
use crate::size::Extent;
use crate::unit::{Bag, Item, Parts, Registers, Unit, domain_len};

/// Fills `function` with the code of an item, as far as `extent` goes; returns the bytes of locals
/// it needs.
pub(crate) fn lower(
    unit: &Unit<'_>,
    item: Item,
    extent: Extent,
    function: &mut Function,
    builder: &mut FunctionBuilderContext,
    call_conv: CallConv,
    config: TargetFrontendConfig,
) -> u64 {
    if extent == Extent::Nothing {
        leave_out(item, FunctionBuilder::new(function, builder), config);
        return 0;
    }
    let program = unit.program;
    let (frame, params, blocks, condition): (_, &[Param], Vec<&[Stmt]>, _) = match item {
        Item::Function(index) => {
            let function = &program.functions[index];
            (&function.frame, &[], vec![&function.body], None)
        }
        Item::Rule(index) => {
            let rule = &program.rules[index];
            let blocks: Vec<&[Stmt]> = vec![&rule.guard.prologue, &rule.body];
            (&rule.frame, &rule.params, blocks, rule.guard.condition)
        }
        Item::Start(index) => {
            let start = &program.starts[index];
            (&start.frame, &start.params, vec![&start.body], None)
        }
        Item::Property(index) => {
            let property = &program.properties[index];
            let blocks: Vec<&[Stmt]> = vec![&property.condition.prologue];
            let condition = property.condition.condition;
            (&property.frame, &property.params, blocks, condition)
        }
        Item::Measure(index) => {
            let measure = &program.measures[index];
            let blocks: Vec<&[Stmt]> = vec![&measure.body];
            (&measure.frame, &[], blocks, Some(measure.value))
        }
    };
    let facts = LocalFacts::of(program, frame, params, &blocks, condition);
    let lower = Lower::new(
        unit,
        FunctionBuilder::new(function, builder),
        call_conv,
        frame,
        facts,
        unit.number(item),
    );
    match item {
        Item::Function(index) => lower.function(index, config),
        Item::Rule(index) => lower.rule(index, extent, config),
        Item::Start(index) => lower.start_item(index, config),
        Item::Property(index) => lower.property(index, config),
        Item::Measure(index) => lower.measure(index, config),
    }
}

/// Fills a function that leaves all to the interpreter, from the first instance on.
fn leave_out(item: Item, mut b: FunctionBuilder<'_>, config: TargetFrontendConfig) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let status = b.ins().iconst(I64, Status::FAULT);
    if let Item::Function(_) = item {
        b.ins().return_(&[status, status]);
    } else {
        let (ctx, first) = (b.block_params(entry)[0], b.block_params(entry)[2]);
        let flags = MemFlagsData::trusted();
        b.ins().store(flags, first, ctx, field::INSTANCE);
        b.ins().return_(&[status]);
    }
    b.seal_all_blocks();
    b.finalize(config);
}

/// The loops over the parameters of an item.
struct Nest<'p> {
    params: &'p [Param],
    lens: Vec<u64>,
    /// Where the outermost loop ends, unless at the end of its domain.
    end: Option<Value>,
    /// The position of each parameter within its domain.
    digits: Vec<Variable>,
    headers: Vec<Block>,
    /// Where each loop continues with its next value.
    nexts: Vec<Block>,
    /// Behind the outermost loop.
    done: Block,
}

impl<'a, 'p> Lower<'a, 'p> {
    fn new(
        unit: &'a Unit<'p>,
        mut b: FunctionBuilder<'a>,
        call_conv: CallConv,
        frame: &'p Frame,
        facts: LocalFacts,
        number: u32,
    ) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let params = b.block_params(entry);
        let (ctx, state) = (params[0], params[1]);
        let (fault, stopped, propagate) = (b.create_block(), b.create_block(), b.create_block());
        for block in [fault, stopped, propagate] {
            b.set_cold_block(block);
        }
        b.append_block_param(propagate, I64);
        Lower {
            unit,
            b,
            call_conv,
            frame,
            facts,
            ctx,
            state,
            state_is_source: false,
            scattered: Vec::new(),
            frame_ptr: ctx,
            depth: ctx,
            locals: Vec::new(),
            defined: Vec::new(),
            fault,
            stopped,
            propagate,
            exit: Exit::Body(fault),
            frame_size: 0,
            copies: Vec::new(),
            unpolled: 0,
            sigs: Vec::new(),
            callees: Vec::new(),
            number,
        }
    }

    // Functions

    fn function(mut self, index: usize, config: TargetFrontendConfig) -> u64 {
        let function = &self.unit.program.functions[index];
        let entry = self.b.current_block().expect("just begun");
        let params: Vec<Value> = self.b.block_params(entry).to_vec();
        self.frame_ptr = params[2];
        self.depth = params[3];
        self.exit = Exit::Function {
            result: function.result,
            to: params[4],
        };
        self.check_room();
        if self.unit.recursive[index] {
            self.poll();
        }
        self.open_frame();
        for (number, mode) in function.params.iter().enumerate() {
            let value = params[N_HIDDEN + number];
            let local = LocalId::new(number);
            let ty = function.frame.local(local).kind.ty();
            let is_simple = matches!(self.parts(ty), Parts::Simple(_));
            if *mode == ParamMode::Value && is_simple {
                self.set_local(local, value);
            } else {
                // References, and aggregates that the caller has copied.
                let var = self.b.declare_var(I64);
                self.b.def_var(var, value);
                self.locals[number] = Home::Behind(var);
            }
        }
        if self.block(&function.body) {
            if function.result.is_some() {
                let fault = self.fault;
                self.jump(fault);
            } else {
                self.return_raw(None);
            }
        }
        for (block, status) in [
            (self.fault, Some(Status::FAULT)),
            (self.stopped, Some(Status::STOPPED)),
            (self.propagate, None),
        ] {
            self.b.switch_to_block(block);
            let status = match status {
                Some(status) => self.iconst(status),
                None => self.b.block_params(block)[0],
            };
            let zero = self.iconst(0);
            self.b.ins().return_(&[zero, status]);
        }
        self.finish(config)
    }

    /// Asks for more where the memory for locals ends, and leaves to the interpreter what does not
    /// fit the stack: where that ends here, it ends for the interpreter, whose frames are larger,
    /// and is a fault.
    fn check_room(&mut self) {
        let own = self.own_frame_bytes();
        let top = self.b.ins().iadd(self.frame_ptr, own);
        let end = self.load_ctx(field::FRAMES_END);
        let too_large = self.b.ins().icmp(IntCC::UnsignedGreaterThan, top, end);
        let (ask, fits) = (self.cold_block(), self.b.create_block());
        self.b.ins().brif(too_large, ask, &[], fits, &[]);
        self.start(ask);
        let status = self.iconst(Status::NO_FRAMES);
        self.b.ins().jump(self.propagate, &[super::arg(status)]);
        self.start(fits);
        let here = self.b.ins().get_stack_pointer(I64);
        let limit = self.load_ctx(field::STACK_LIMIT);
        let too_deep = self.b.ins().icmp(IntCC::UnsignedLessThan, here, limit);
        self.fault_if(too_deep);
    }

    // What is run through instances

    /// The beginning of rules, startstates, properties and measures.
    fn enter(&mut self) -> Value {
        let entry = self.b.current_block().expect("just begun");
        let first = self.b.block_params(entry)[2];
        self.frame_ptr = self.load_ctx(field::FRAMES);
        self.depth = self.iconst(i64::from(self.unit.limits.call_depth));
        first
    }

    /// Where the first parameter of a rule ends.
    fn end_param(&mut self) -> Value {
        let entry = self.b.current_block().expect("just begun");
        self.b.block_params(entry)[3]
    }

    /// Starts the loops over the parameters, the outermost one up to `end` where there is one.
    fn nest(&mut self, params: &'p [Param], first: Value, end: Option<Value>) -> Nest<'p> {
        let lens = params
            .iter()
            .map(|param| domain_len(self.unit.program, &param.domain))
            .collect::<Vec<u64>>();
        let digits: Vec<Variable> = params.iter().map(|_| self.b.declare_var(I64)).collect();
        let zero = self.iconst(0);
        for &digit in &digits {
            self.b.def_var(digit, zero);
        }
        let done = self.b.create_block();
        if lens.contains(&0) {
            self.jump(done);
            let unreachable = self.b.create_block();
            self.start(unreachable);
        } else if let (&[digit], Some(end)) = (&digits[..], end) {
            self.b.def_var(digit, first);
            let is_below = self.b.ins().icmp(IntCC::UnsignedLessThan, first, end);
            let begin = self.b.create_block();
            self.b.ins().brif(is_below, begin, &[], done, &[]);
            self.start(begin);
        } else if !params.is_empty() {
            let (resume, begin) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(first, resume, &[], begin, &[]);
            self.start(resume);
            let mut rest = first;
            for (&digit, &len) in digits[1..].iter().zip(&lens[1..]).rev() {
                let len = self.iconst(len as i64);
                let value = self.b.ins().urem(rest, len);
                self.b.def_var(digit, value);
                rest = self.b.ins().udiv(rest, len);
            }
            self.b.def_var(digits[0], rest);
            let end = match end {
                Some(end) => end,
                None => self.iconst(lens[0] as i64),
            };
            let is_below = self.b.ins().icmp(IntCC::UnsignedLessThan, rest, end);
            self.b.ins().brif(is_below, begin, &[], done, &[]);
            self.start(begin);
        }
        Nest {
            params,
            headers: params.iter().map(|_| self.b.create_block()).collect(),
            nexts: params.iter().map(|_| self.b.create_block()).collect(),
            lens,
            end,
            digits,
            done,
        }
    }

    /// Opens the loop of a parameter; code for its value follows.
    fn open_level(&mut self, nest: &Nest<'p>, level: usize) {
        self.jump(nest.headers[level]);
        self.b.switch_to_block(nest.headers[level]);
    }

    /// The value of a parameter in the current instance.
    fn param_value(&mut self, nest: &Nest<'p>, level: usize) -> Int {
        let digit = self.b.use_var(nest.digits[level]);
        let last = nest.lens[level].wrapping_sub(1) as i64;
        match nest.params[level].domain {
            ParamDomain::Type(ty) => {
                let simple = self.unit.simple(ty);
                Int {
                    base: digit,
                    add: simple.lo,
                    lo: simple.lo,
                    hi: simple.hi,
                    trusted: true,
                }
            }
            ParamDomain::Span { from, by, .. } => {
                let end = from.wrapping_add(last.wrapping_mul(by));
                let offset = self.b.ins().imul_imm_s(digit, by);
                Int {
                    base: offset,
                    add: from,
                    lo: from.min(end),
                    hi: from.max(end),
                    trusted: true,
                }
            }
            ParamDomain::Slots { .. } => Int {
                base: digit,
                add: 0,
                lo: 0,
                hi: last,
                trusted: true,
            },
        }
    }

    fn bind_param(&mut self, nest: &Nest<'p>, level: usize) -> Known {
        let value = self.param_value(nest, level);
        let local = nest.params[level].local;
        let simple = self.local_simple(local);
        let known = self.set_local_int(local, value);
        debug_assert!(simple.lo <= known.lo && known.hi <= simple.hi);
        self.defined.push((local, known));
        known
    }

    /// Goes to `absent` where a slot that a parameter stands for holds no element.
    fn slot_test(&mut self, nest: &Nest<'p>, level: usize, absent: Block) {
        let ParamDomain::Slots { multiset, capacity } = &nest.params[level].domain else {
            return;
        };
        let present = self.slot_present(nest, level, multiset, *capacity);
        let next = self.b.create_block();
        self.b.ins().brif(present, next, &[], absent, &[]);
        self.start(next);
    }

    fn slot_present(
        &mut self,
        nest: &Nest<'p>,
        level: usize,
        multiset: &Place,
        capacity: u32,
    ) -> Value {
        let (target, _) = self.resolve(multiset);
        let Target::Memory(addr) = target else {
            unreachable!("verified: it is part of the state");
        };
        let slot = self.param_value(nest, level);
        let at = self.indexed(addr, 0, u64::from(capacity), 1, slot);
        self.load_field(at, 1)
    }

    /// Closes the loops, innermost first, and leaves control behind them.
    fn close_levels(&mut self, nest: &Nest<'p>) {
        let zero_rounds = self.unpolled;
        let mut rounds = 1u64;
        for level in (0..nest.params.len()).rev() {
            self.start(nest.nexts[level]);
            let zero = self.iconst(0);
            for &inner in &nest.digits[level + 1..] {
                self.b.def_var(inner, zero);
            }
            rounds = rounds.saturating_mul(nest.lens[level]);
            if rounds.saturating_mul(1 + zero_rounds) > crate::call::FUEL as u64 {
                self.poll();
                rounds = 1;
            }
            let digit = self.b.use_var(nest.digits[level]);
            let next = self.b.ins().iadd_imm_s(digit, 1);
            self.b.def_var(nest.digits[level], next);
            let len = nest.lens[level] as i64;
            let goes_on = match nest.end {
                Some(end) if level == 0 => self.b.ins().icmp(IntCC::UnsignedLessThan, next, end),
                _ => self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, next, len),
            };
            let outer = match level {
                0 => nest.done,
                level => nest.nexts[level - 1],
            };
            self.b
                .ins()
                .brif(goes_on, nest.headers[level], &[], outer, &[]);
            self.b.seal_block(nest.headers[level]);
        }
        self.start(nest.done);
    }

    /// Where the next instance begins from the innermost level.
    fn next_instance(nest: &Nest<'p>, level: usize) -> Block {
        match level {
            0 => nest.done,
            level => nest.nexts[level - 1],
        }
    }

    /// The number of the current instance.
    fn instance(&mut self, nest: &Nest<'p>) -> Value {
        let mut instance = self.iconst(0);
        for (&digit, &len) in nest.digits.iter().zip(&nest.lens) {
            instance = self.b.ins().imul_imm_s(instance, len as i64);
            let digit = self.b.use_var(digit);
            instance = self.b.ins().iadd(instance, digit);
        }
        instance
    }

    /// Leaves with a status and the number of the instance.
    fn leave_at(&mut self, nest: &Nest<'p>, status: i64) {
        let instance = self.instance(nest);
        self.store_ctx(field::INSTANCE, instance);
        let status = self.iconst(status);
        self.b.ins().return_(&[status]);
    }

    /// Fills the blocks for what ends a rule, startstate, property or measure early.
    fn exits(&mut self, nest: &Nest<'p>, abandoned: Option<Block>) {
        self.b.switch_to_block(self.propagate);
        let status = self.b.block_params(self.propagate)[0];
        if let Some(abandoned) = abandoned {
            let is_false = self.b.ins().icmp_imm_s(IntCC::Equal, status, Status::FALSE);
            let other = self.cold_block();
            self.b.ins().brif(is_false, abandoned, &[], other, &[]);
            self.start(other);
        }
        let instance = self.instance(nest);
        self.store_ctx(field::INSTANCE, instance);
        self.b.ins().return_(&[status]);
        self.b.switch_to_block(self.fault);
        self.leave_at(nest, Status::FAULT);
        self.b.switch_to_block(self.stopped);
        let status = self.iconst(Status::STOPPED);
        self.b.ins().return_(&[status]);
    }

    /// Evaluates parts of a guard; `no` is taken where one is false.
    fn guard_parts(&mut self, plan: &Plan<'p>, level: usize, no: Block) {
        let mut conditions: Vec<ExprId> = Vec::new();
        for placed in plan.parts.iter().filter(|placed| placed.level == level) {
            match placed.part {
                Part::Condition(id) => conditions.push(id),
                Part::Stmt(stmt) => {
                    self.stmt(stmt);
                }
            }
        }
        // Prologues come first in the text, so at one level they come first as well.
        for id in conditions {
            let yes = self.b.create_block();
            self.branch(id, yes, no);
            self.start(yes);
        }
    }

    /// Opens all loops and evaluates the guard; control continues where an instance passes.
    /// Without `split`, everything is evaluated at the innermost level.
    fn open_levels(&mut self, nest: &Nest<'p>, plan: &Plan<'p>, first_byte: u64) {
        let depth = nest.params.len();
        if plan.is_split {
            self.guard_parts(plan, 0, nest.done);
        }
        for level in 0..depth {
            self.open_level(nest, level);
            self.bind_param(nest, level);
            self.slot_test(nest, level, nest.nexts[level]);
            if plan.is_split {
                self.guard_parts(plan, level + 1, nest.nexts[level]);
            }
        }
        if !plan.is_split {
            let params: Vec<LocalId> = nest.params.iter().map(|param| param.local).collect();
            self.undefine_locals(first_byte, &params);
            // Undefining took what lies in memory along.
            self.rebind_params(nest);
            self.guard_parts(plan, depth, Self::next_instance(nest, depth));
        }
    }

    /// Sets the parameters again.
    fn rebind_params(&mut self, nest: &Nest<'p>) {
        self.defined.clear();
        for level in 0..nest.params.len() {
            self.bind_param(nest, level);
        }
    }

    // Shared by rules and startstates

    /// The number and place of the next successor, and where control goes if there is no room.
    fn take_slot(&mut self) -> (Value, Value, Block) {
        let no_room = self.cold_block();
        let n = self.load_ctx(field::LEN);
        let capacity = self.load_ctx(field::CAPACITY);
        let is_full = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, n, capacity);
        self.leave_if(is_full, no_room);
        (n, self.load_ctx(field::SLOT), no_room)
    }

    /// Drops pending hits of cover points if a body may reach some; returns whether it may.
    fn forget_covers(&mut self, body: &[Stmt]) -> bool {
        let covers = reaches_cover(self.unit.program, &self.unit.covers, body);
        if covers {
            let ctx = self.ctx;
            self.helper(Helper::ForgetCovers, &[ctx]);
        }
        covers
    }

    /// Pushes the successor that has been made, unless control comes from `discarded`, and counts
    /// the hits of cover points in both cases.
    fn deliver(&mut self, index: usize, n: Value, slot: Value, covers: bool, discarded: Block) {
        let number = self.iconst(index as i64);
        self.push(n, slot, number);
        let counted = self.b.create_block();
        self.jump(counted);
        self.start(discarded);
        let (ctx, flags) = (self.ctx, self.flags());
        self.bump(ctx, field::DISCARDED, flags);
        self.jump(counted);
        self.start(counted);
        if covers {
            let ctx = self.ctx;
            self.helper(Helper::CountCovers, &[ctx]);
        }
    }

    /// Closes the loops and fills the blocks for all ways to leave.
    fn close_item(&mut self, nest: &Nest<'p>, no_room: Block, abandoned: Block) {
        self.close_levels(nest);
        let status = self.iconst(Status::DONE);
        self.b.ins().return_(&[status]);
        self.start(no_room);
        self.leave_at(nest, Status::NO_ROOM);
        self.exits(nest, Some(abandoned));
    }

    // Rules

    fn rule(mut self, index: usize, extent: Extent, config: TargetFrontendConfig) -> u64 {
        let unit = self.unit;
        let rule = &unit.program.rules[index];
        let (first, end) = (self.enter(), self.end_param());
        let source = self.state;
        self.state_is_source = true;
        let plan = guard::plan(
            unit,
            self.number as usize,
            &rule.frame,
            &rule.params,
            &rule.guard,
            true,
        );
        self.open_frame();
        let nest = self.nest(&rule.params, first, Some(end));
        self.open_levels(&nest, &plan, 0);
        if extent == Extent::Guard {
            let fault = self.fault;
            self.jump(fault);
            self.close_levels(&nest);
            let status = self.iconst(Status::DONE);
            self.b.ins().return_(&[status]);
            self.exits(&nest, None);
            return self.finish(config);
        }

        let next = Self::next_instance(&nest, rule.params.len());
        let (n, slot, no_room) = self.take_slot();

        // The body has locals of its own, all undefined again.
        self.copy_state(source, slot);
        self.state = slot;
        self.state_is_source = false;
        let (end, abandoned) = (self.b.create_block(), self.b.create_block());
        self.exit = Exit::Body(end);
        let covers = self.forget_covers(&rule.body);
        self.open_frame();
        self.rebind_params(&nest);
        if self.block(&rule.body) {
            self.jump(end);
        }
        self.start(end);
        let writes = &unit.effects.rules[index].writes;
        self.normalise(writes);
        let discarded = self.cold_block();
        match unit.marks[index] {
            // It leads away for sure.
            Some(Mark::Moved(_)) => {
                let one = self.iconst(1);
                self.store_ctx(field::PROGRESS, one);
            }
            _ => self.note_progress(source, writes),
        }
        self.check_assumptions(discarded);

        if let Some(registers) = unit.registers {
            self.write_record(index, &nest, registers);
        }
        self.deliver(index, n, slot, covers, discarded);
        let flags = self.flags();
        let fired = self.load_ctx(field::FIRED_BY_RULE);
        self.bump(fired, index as i32 * 8, flags);
        self.jump(next);

        self.b.switch_to_block(abandoned);
        let ctx = self.ctx;
        self.bump(ctx, field::ABANDONED, flags);
        self.jump(next);

        self.close_item(&nest, no_room, abandoned);
        self.finish(config)
    }

    /// Adds one to a counter in memory.
    fn bump(&mut self, at: Value, offset: i32, flags: MemFlagsData) {
        let before = self.b.ins().load(I64, flags, at, offset);
        let after = self.b.ins().iadd_imm_s(before, 1);
        self.b.ins().store(flags, after, at, offset);
    }

    fn words(&self) -> u64 {
        (self.unit.layout.state_len as u64).div_ceil(8)
    }

    /// Copies the source to where the successor is to be.
    fn copy_state(&mut self, source: Value, slot: Value) {
        let words = self.words();
        if words > 64 {
            let from = self.b.ins().ishl_imm_u(source, 3);
            let to = self.b.ins().ishl_imm_u(slot, 3);
            let width = self.iconst(self.unit.layout.state_len as i64 * 8);
            self.helper(Helper::CopyBits, &[from, to, width]);
            return;
        }
        // Neither readonly nor movable: such loads would be moved before the guard, and their values
        // kept in memory until they are stored.
        let flags = self.flags();
        let mut at = 0;
        while at < words as i32 * 8 {
            let ty = match words as i32 * 8 - at {
                8 => I64,
                _ => I8X16,
            };
            let value = self.b.ins().load(ty, flags, source, at);
            self.b.ins().store(flags, value, slot, at);
            at += ty.bytes() as i32;
        }
    }

    /// Normalises the multisets that may have been written.
    fn normalise(&mut self, writes: &BitRanges) {
        let is_written = |bag: &Bag| {
            let mut bits = BitRanges::new();
            let width = self.unit.bits(bag.ty) as usize;
            bits.insert(bag.first_bit, bag.first_bit + width);
            bits.intersects(writes)
        };
        let written: Vec<bool> = self.unit.bags.iter().map(is_written).collect();
        let mut first = 0;
        while first < written.len() {
            let n = written[first..]
                .iter()
                .take_while(|written| **written)
                .count();
            if n > 0 {
                let (ctx, state) = (self.ctx, self.state);
                let (from, end) = (self.iconst(first as i64), self.iconst((first + n) as i64));
                self.helper(Helper::Normalise, &[ctx, state, from, end]);
            }
            first += n + 1;
        }
    }

    /// Records whether the successor differs from the source.
    fn note_progress(&mut self, source: Value, writes: &BitRanges) {
        let (ask, known) = (self.b.create_block(), self.b.create_block());
        let so_far = self.load_ctx(field::PROGRESS);
        self.b.ins().brif(so_far, known, &[], ask, &[]);
        self.start(ask);
        let state_bits = self.unit.layout.state_len as u64 * 8;
        let mut words: Vec<u64> = Vec::new();
        for (first, end) in writes.iter() {
            for word in first as u64 / 64..=(end as u64 - 1) / 64 {
                if words.last() != Some(&word) {
                    words.push(word);
                }
            }
        }
        let slot = self.state;
        let differs = if words.len() > 64 {
            let a = self.b.ins().ishl_imm_u(source, 3);
            let b = self.b.ins().ishl_imm_u(slot, 3);
            let width = self.iconst(state_bits as i64);
            let equal = self
                .helper(Helper::EqualBits, &[a, b, width])
                .expect("there is a result");
            self.b.ins().bxor_imm_s(equal, 1)
        } else {
            let mut differences = self.iconst(0);
            let flags = self.flags();
            for word in words {
                let offset = word as i32 * 8;
                let before = self.b.ins().load(I64, flags, source, offset);
                let after = self.b.ins().load(I64, flags, slot, offset);
                let mut difference = self.b.ins().bxor(before, after);
                let used = (state_bits - word * 64).min(64);
                if used < 64 {
                    let swapped = self.b.ins().bswap(difference);
                    difference = self.b.ins().ushr_imm_u(swapped, 64 - used as i64);
                }
                differences = self.b.ins().bor(differences, difference);
            }
            differences
        };
        let differs = self.b.ins().icmp_imm_s(IntCC::NotEqual, differs, 0);
        let differs = self.b.ins().uextend(I64, differs);
        self.pending_progress(differs, known);
    }

    /// Stores progress. Should an assumption fault afterwards, the interpreter finds the same.
    fn pending_progress(&mut self, differs: Value, known: Block) {
        self.store_ctx(field::PROGRESS, differs);
        self.jump(known);
        self.start(known);
    }

    /// Goes to `discarded` where an assumption of the program is false in the successor.
    fn check_assumptions(&mut self, discarded: Block) {
        if self.unit.assumptions.is_empty() {
            return;
        }
        // Their locals lie behind ours.
        let own = self.own_frame_bytes();
        let top = self.b.ins().iadd(self.frame_ptr, own);
        self.store_ctx(field::FRAMES, top);
        let (restore_no, restore_bad) = (self.cold_block(), self.cold_block());
        let status_param = self.b.append_block_param(restore_bad, I64);
        for &property in &self.unit.assumptions {
            let number = self.unit.number(Item::Property(property as usize));
            let signature = entry_signature(self.call_conv);
            let callee = self.callee(number, signature);
            let zero = self.iconst(0);
            let args = [self.ctx, self.state, zero, zero];
            let call = self.b.ins().call(callee, &args);
            let status = self.b.inst_results(call)[0];
            let (bad, next) = (self.cold_block(), self.b.create_block());
            self.b.ins().brif(status, bad, &[], next, &[]);
            self.start(bad);
            let is_false = self.b.ins().icmp_imm_s(IntCC::Equal, status, Status::FALSE);
            self.b.ins().brif(
                is_false,
                restore_no,
                &[],
                restore_bad,
                &[super::arg(status)],
            );
            self.start(next);
        }
        self.store_ctx(field::FRAMES, self.frame_ptr);
        let on = self.b.create_block();
        self.jump(on);
        self.start(restore_no);
        self.store_ctx(field::FRAMES, self.frame_ptr);
        self.jump(discarded);
        self.start(restore_bad);
        self.store_ctx(field::FRAMES, self.frame_ptr);
        self.b
            .ins()
            .jump(self.propagate, &[super::arg(status_param)]);
        self.start(on);
    }

    /// Writes the record beside the successor that has been made: its mark and its registers. Where
    /// the rule does not write these, they are 0, as the source's are where records matter.
    fn write_record(&mut self, index: usize, nest: &Nest<'p>, registers: Registers) {
        let mark = match self.unit.marks[index] {
            None => self.iconst(ANY_MARK),
            Some(Mark::Still) => self.iconst(STILL_MARK),
            Some(Mark::Moved(to)) => {
                let field = (to.first_bit + 1) << 16 | u64::from(to.to);
                match nest.digits.first() {
                    Some(&digit) if to.step > 0 => {
                        let digit = self.b.use_var(digit);
                        let offset = self.b.ins().imul_imm_s(digit, (to.step << 16) as i64);
                        self.b.ins().iadd_imm_s(offset, field as i64)
                    }
                    _ => self.iconst(field as i64),
                }
            }
        };
        let mut bits = BitRanges::new();
        let first = registers.rest_len * 8;
        bits.insert(first, first + registers.n_bits);
        let is_written = bits.intersects(&self.unit.effects.rules[index].writes);
        let (flags, record) = (self.flags(), self.load_ctx(field::RECORD));
        self.b.ins().store(flags, mark, record, 0);
        let mut all = self.iconst(0);
        for (part, (first_bit, width)) in registers.parts().enumerate() {
            let value = match is_written {
                false => self.iconst(0),
                true => {
                    let addr = super::memory::Addr {
                        base: Some(self.state),
                        readonly: false,
                        bit: first_bit as u64,
                        dynamic: None,
                        step: 0,
                        extent: None,
                    };
                    self.load_field(addr, u64::from(width))
                }
            };
            self.b
                .ins()
                .store(flags, value, record, part as i32 * 8 + 8);
            all = self.b.ins().bor(all, value);
        }
        if is_written {
            let before = self.load_ctx(field::TRANSIENT);
            let after = self.b.ins().bor(before, all);
            self.store_ctx(field::TRANSIENT, after);
        }
        let by = self.load_ctx(field::RECORD_STRIDE);
        let next = self.b.ins().iadd(record, by);
        self.store_ctx(field::RECORD, next);
    }

    /// Fills the columns for the successor that has been made.
    fn push(&mut self, n: Value, slot: Value, rule: Value) {
        let flags = self.flags();
        let column = self.b.ins().ishl_imm_u(n, 2);
        let source = self.b.ins().load(I32, flags, self.ctx, field::SOURCE);
        let index = self.b.ins().ireduce(I32, n);
        let before = self.b.ins().load(I32, flags, self.ctx, field::INDEX_OFFSET);
        let index = self.b.ins().iadd(index, before);
        let rule = self.b.ins().ireduce(I32, rule);
        for (offset, value) in [
            (field::SOURCES_OF, source),
            (field::INDICES, index),
            (field::RULES, rule),
        ] {
            let base = self.load_ctx(offset);
            let at = self.b.ins().iadd(base, column);
            self.b.ins().store(flags, value, at, 0);
        }
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.store_ctx(field::LEN, n);
        let slot = match self.unit.registers {
            None => {
                let len = self.unit.layout.state_len as i64;
                self.b.ins().iadd_imm_s(slot, len)
            }
            // It depends on whether the buffer has room for them.
            Some(_) => {
                let len = self.load_ctx(field::STRIDE);
                self.b.ins().iadd(slot, len)
            }
        };
        self.store_ctx(field::SLOT, slot);
    }

    // Startstates

    fn start_item(mut self, index: usize, config: TargetFrontendConfig) -> u64 {
        let unit = self.unit;
        let start = &unit.program.starts[index];
        let first = self.enter();
        let nest = self.nest(&start.params, first, None);
        for level in 0..start.params.len() {
            self.open_level(&nest, level);
        }
        let next = Self::next_instance(&nest, start.params.len());
        let (n, slot, no_room) = self.take_slot();
        self.state = slot;
        let whole = super::memory::Addr {
            base: Some(slot),
            readonly: false,
            bit: 0,
            dynamic: None,
            step: 0,
            extent: None,
        };
        self.zero_bits(whole, unit.layout.state_len as u64 * 8);
        self.open_frame();
        for level in 0..start.params.len() {
            self.bind_param(&nest, level);
            self.slot_test(&nest, level, next);
        }
        let (end, abandoned) = (self.b.create_block(), self.b.create_block());
        self.exit = Exit::Body(end);
        let covers = self.forget_covers(&start.body);
        if self.block(&start.body) {
            self.jump(end);
        }
        self.start(end);
        let mut everything = BitRanges::new();
        everything.insert(0, unit.layout.state_bits);
        self.normalise(&everything);
        let discarded = self.cold_block();
        self.check_assumptions(discarded);
        self.deliver(index, n, slot, covers, discarded);
        self.jump(next);
        self.b.switch_to_block(abandoned);
        self.jump(next);

        self.close_item(&nest, no_room, abandoned);
        self.finish(config)
    }

    // Properties

    fn property(mut self, index: usize, config: TargetFrontendConfig) -> u64 {
        let unit = self.unit;
        let property = &unit.program.properties[index];
        let first = self.enter();
        self.check_room();
        // An assumption is evaluated on a successor, but after its body has ended.
        self.state_is_source = true;
        let condition = &property.condition;
        let plan = guard::plan(
            unit,
            self.number as usize,
            &property.frame,
            &property.params,
            condition,
            false,
        );
        self.open_frame();
        let verdict = self.b.declare_var(I64);
        let holds = self.iconst(Status::DONE);
        self.b.def_var(verdict, holds);
        let nest = self.nest(&property.params, first, None);
        let is_goal = matches!(property.kind, PropertyKind::Cover | PropertyKind::Liveness);
        // All instances of an assumption or end are evaluated, as in the interpreter.
        let is_assumption = matches!(property.kind, PropertyKind::Assume | PropertyKind::End);
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.open_levels_to(&nest, &plan, no);
        self.jump(yes);
        self.start(yes);
        let next = Self::next_instance(&nest, property.params.len());
        if is_goal {
            self.set_goal(&nest, unit.first_goals[index]);
        }
        self.jump(next);
        self.start(no);
        if is_assumption {
            let is_false = self.iconst(Status::FALSE);
            self.b.def_var(verdict, is_false);
        }
        if is_goal || is_assumption {
            self.jump(next);
        } else {
            self.leave_at(&nest, Status::FALSE);
        }
        self.close_levels(&nest);
        let status = self.b.use_var(verdict);
        self.b.ins().return_(&[status]);
        self.exits(&nest, None);
        self.finish(config)
    }

    /// As [`open_levels`](Self::open_levels), but a false condition leads to `no`.
    fn open_levels_to(&mut self, nest: &Nest<'p>, plan: &Plan<'p>, no: Block) {
        let depth = nest.params.len();
        for level in 0..depth {
            self.open_level(nest, level);
            self.bind_param(nest, level);
            self.slot_test(nest, level, nest.nexts[level]);
        }
        let params: Vec<LocalId> = nest.params.iter().map(|param| param.local).collect();
        self.undefine_locals(0, &params);
        self.rebind_params(nest);
        self.guard_parts(plan, depth, no);
    }

    // Measures

    fn measure(mut self, index: usize, config: TargetFrontendConfig) -> u64 {
        let measure = &self.unit.program.measures[index];
        let first = self.enter();
        self.check_room();
        // Nothing but locals is written.
        self.state_is_source = true;
        self.open_frame();
        let nest = self.nest(&[], first, None);
        if self.block(&measure.body) {
            let value = self.int(measure.value);
            let (lo, hi) = value.range();
            let most = u32::MAX;
            let fits = value.trusted && 0 <= lo && hi <= i128::from(most);
            let value = self.int_value(value);
            if !fits {
                // What is negative is too large without its sign. The interpreter reports either.
                let most = self.iconst(i64::from(most));
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, value, most);
                self.fault_if(outside);
            }
            self.store_ctx(field::MEASURED, value);
        }
        self.jump(nest.done);
        self.close_levels(&nest);
        let status = self.iconst(Status::DONE);
        self.b.ins().return_(&[status]);
        self.exits(&nest, None);
        self.finish(config)
    }

    fn set_goal(&mut self, nest: &Nest<'p>, first_goal: u32) {
        let instance = self.instance(nest);
        let bit = self.b.ins().iadd_imm_s(instance, i64::from(first_goal));
        let word = self.b.ins().ushr_imm_u(bit, 6);
        let offset = self.b.ins().ishl_imm_u(word, 3);
        let goals = self.load_ctx(field::GOALS);
        let at = self.b.ins().iadd(goals, offset);
        let within = self.b.ins().band_imm_s(bit, 63);
        let one = self.iconst(1);
        let mask = self.b.ins().ishl(one, within);
        let flags = self.flags();
        let before = self.b.ins().load(I64, flags, at, 0);
        let after = self.b.ins().bor(before, mask);
        self.b.ins().store(flags, after, at, 0);
    }
}
