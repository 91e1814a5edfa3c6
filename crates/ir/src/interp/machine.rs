//! Evaluates expressions and runs statements over one packed memory.
//!
//! Memory is the state followed by the frames of locals, innermost last. An address is a bit
//! offset into it. A simple value is read as an integer, or as [`UNDEFINED`], which no arithmetic
//! produces.

use hadal_model::{FaultKind, PAD_BYTES, Stop};

use super::Limits;
use super::arithmetic::{self, Failed};
use super::prepare::{FrameLayout, Parts, Prepared};
use crate::bits;
use crate::expr::{Arg, By, Domain, Expr, Place, Projection, Quantifier, Root};
use crate::ids::{ExprId, FunctionId, LocalId, SiteId, TypeId};
use crate::program::{Frame, LocalKind};
use crate::stmt::{Block, PutItem, ReturnValue, Stmt, StmtKind};

/// Stands for undefined where a value is expected.
pub(super) const UNDEFINED: i64 = i64::MIN;

/// Why an evaluation ended early.
#[derive(Debug)]
pub(super) enum Halt {
    /// Something is wrong with the model.
    Fault(Box<RawFault>),
    /// An assumption was false: the step does not count.
    Abandoned,
    /// The run is to stop.
    Stopped,
}

/// A fault, before it is known which rule it belongs to.
#[derive(Debug)]
pub(super) struct RawFault {
    pub(super) kind: FaultKind,
    pub(super) message: String,
    pub(super) site: SiteId,
}

/// Whether a block ran to its end.
#[derive(PartialEq, Eq)]
enum Ended {
    Normally,
    ByReturn,
}

pub(super) struct Machine<'p> {
    code: &'p Prepared,
    limits: Limits,
    stop: &'p Stop,
    memory: Vec<u8>,
    current: Activation<'p>,
    /// What the last `return` handed back, if that was a simple value.
    returned: i64,
    /// Loop rounds since the stop flag was last looked at.
    rounds: u32,
    /// Address of a variable at the bottom of the stack, to know how deep we are.
    stack_bottom: usize,
    /// What `put` prints, where someone listens.
    pub(super) output: Option<String>,
    /// Cover points hit since the list was last emptied.
    pub(super) covered: Vec<u32>,
}

/// The function (or rule, property, startstate) that is running.
#[derive(Clone, Copy)]
struct Activation<'p> {
    frame: &'p FrameLayout,
    names: &'p Frame,
    /// First bit of its frame.
    frame_bit: usize,
    /// First byte behind its frame.
    top: usize,
    /// How many calls it is inside of.
    call_depth: u32,
    /// The function; `None` in a rule, property or startstate.
    function: Option<FunctionId>,
    /// Where an aggregate result is to go.
    return_bit: usize,
}

static NO_FRAME: FrameLayout = FrameLayout {
    locals: Vec::new(),
    bytes: 0,
};
static NO_NAMES: Frame = Frame { locals: Vec::new() };

impl<'p> Machine<'p> {
    pub(super) fn new(code: &'p Prepared, limits: Limits, stop: &'p Stop) -> Self {
        let state_bytes = code.layout.state_len + PAD_BYTES;
        Machine {
            code,
            limits,
            stop,
            memory: vec![0; state_bytes + 256],
            current: Activation {
                frame: &NO_FRAME,
                names: &NO_NAMES,
                frame_bit: state_bytes * 8,
                top: state_bytes,
                call_depth: 0,
                function: None,
                return_bit: 0,
            },
            returned: UNDEFINED,
            rounds: 0,
            stack_bottom: 0,
            output: None,
            covered: Vec::new(),
        }
    }

    /// Notes where the stack is now; to be called on entry from outside.
    pub(super) fn enter(&mut self) {
        self.stack_bottom = stack_address();
    }

    /// Forgets what earlier firings printed and covered.
    pub(super) fn forget_effects(&mut self) {
        self.covered.clear();
        if let Some(output) = &mut self.output {
            output.clear();
        }
    }

    pub(super) fn stop_raised(&self) -> bool {
        self.stop.is_raised()
    }

    /// Whether a slot of a multiset, which there is, holds an element.
    pub(super) fn slot_present(&mut self, multiset: &'p Place, slot: i64) -> Result<bool, Halt> {
        let (at, _) = self.resolve(multiset)?;
        Ok(bits::get(&self.memory, at + slot as usize, 1) == 1)
    }

    pub(super) fn state(&self) -> &[u8] {
        &self.memory[..self.code.layout.state_len]
    }

    pub(super) fn load_state(&mut self, state: &[u8]) {
        self.memory[..state.len()].copy_from_slice(state);
    }

    pub(super) fn clear_state(&mut self) {
        self.memory[..self.code.layout.state_len].fill(0);
    }

    pub(super) fn normalise_bags(&mut self) {
        for &(ty, first_bit) in &self.code.bags {
            let types = &self.code.program.types;
            types.normalise_multisets(&mut self.memory, ty, first_bit);
        }
    }

    /// Makes `frame` the only frame, all locals undefined.
    pub(super) fn open_frame(&mut self, frame: &'p FrameLayout, names: &'p Frame) {
        let base = self.code.layout.state_len + PAD_BYTES;
        self.current = Activation {
            frame,
            names,
            frame_bit: base * 8,
            top: base + frame.bytes,
            call_depth: 0,
            function: None,
            return_bit: 0,
        };
        self.reserve();
        self.memory[base..base + frame.bytes].fill(0);
    }

    /// Sets a value local, which can hold the value.
    pub(super) fn set_local(&mut self, local: LocalId, value: i64) {
        let slot = self.current.frame.slot(local);
        self.store(self.current.frame_bit + slot.offset, slot.kind.ty(), value);
    }

    fn reserve(&mut self) {
        let needed = self.current.top + PAD_BYTES;
        if self.memory.len() < needed {
            self.memory.resize(needed.next_power_of_two(), 0);
        }
    }

    fn load(&self, at: usize, ty: TypeId) -> i64 {
        let Parts::Simple { lo, bits, .. } = self.code.parts[ty.index()] else {
            return UNDEFINED;
        };
        match bits::get(&self.memory, at, bits) {
            0 => UNDEFINED,
            raw => (raw as i64).wrapping_add(lo).wrapping_sub(1),
        }
    }

    /// Stores a value that the type can hold, or undefined.
    fn store(&mut self, at: usize, ty: TypeId, value: i64) {
        let Parts::Simple { lo, bits, .. } = self.code.parts[ty.index()] else {
            return;
        };
        let raw = match value {
            UNDEFINED => 0,
            value => value.wrapping_sub(lo).wrapping_add(1) as u64,
        };
        bits::set(&mut self.memory, at, bits, raw);
    }

    fn fault<T>(&self, kind: FaultKind, message: String, site: SiteId) -> Result<T, Halt> {
        Err(Halt::Fault(Box::new(RawFault {
            kind,
            message,
            site,
        })))
    }

    /// Counts a round of a loop and, now and then, looks whether to stop.
    fn poll(&mut self) -> Result<(), Halt> {
        self.rounds += 1;
        if self.rounds >= 4096 {
            self.rounds = 0;
            if self.stop.is_raised() {
                return Err(Halt::Stopped);
            }
        }
        Ok(())
    }

    /// Whether a value that may be undefined can be held by a simple type.
    fn fits(&self, ty: TypeId, value: i64) -> bool {
        match self.code.parts[ty.index()] {
            Parts::Simple { lo, hi, .. } => value == UNDEFINED || (lo <= value && value <= hi),
            _ => false,
        }
    }

    // Places

    /// The address and type of a place.
    fn resolve(&mut self, place: &'p Place) -> Result<(usize, TypeId), Halt> {
        let (mut at, mut ty) = match &place.root {
            Root::Var(var) => (
                self.code.layout.var(*var),
                self.code.program.vars[var.index()].ty,
            ),
            Root::Local(local) => self.local_place(*local),
            Root::Result {
                function,
                args,
                into,
                site,
            } => {
                let (at, ty) = self.local_place(*into);
                self.call(*function, args, *site, at)?;
                (at, ty)
            }
        };
        for projection in &place.path {
            (at, ty) = match projection {
                Projection::Field(field) => match &self.code.parts[ty.index()] {
                    Parts::Record { fields } => {
                        let (offset, ty) = fields[*field as usize];
                        (at + offset, ty)
                    }
                    _ => unreachable!("verified: fields are of records"),
                },
                Projection::Index(index) => {
                    let value = self.eval(*index)?;
                    match self.element(at, ty, value) {
                        Some(found) => found,
                        None => return self.index_fault(place, ty, value, *index),
                    }
                }
            };
        }
        Ok((at, ty))
    }

    fn local_place(&self, local: LocalId) -> (usize, TypeId) {
        let slot = self.current.frame.slot(local);
        let at = self.current.frame_bit + slot.offset;
        match slot.kind {
            LocalKind::Value(ty) => (at, ty),
            LocalKind::Ref(ty) | LocalKind::ConstRef(ty) => {
                (bits::get(&self.memory, at, 64) as usize, ty)
            }
        }
    }

    /// Address and type of an element, if there is one at that index.
    fn element(&self, at: usize, ty: TypeId, value: i64) -> Option<(usize, TypeId)> {
        match self.code.parts[ty.index()] {
            Parts::Array {
                lo,
                len,
                stride,
                element,
                ..
            } => {
                let position = value.wrapping_sub(lo) as u64;
                (value >= lo && position < len).then(|| (at + position as usize * stride, element))
            }
            Parts::Multiset {
                capacity,
                stride,
                element,
            } => (value >= 0 && value < i64::from(capacity))
                .then(|| (at + capacity as usize + value as usize * stride, element)),
            _ => unreachable!("verified: elements are of arrays and multisets"),
        }
    }

    fn index_fault<T>(
        &mut self,
        place: &'p Place,
        ty: TypeId,
        value: i64,
        index: ExprId,
    ) -> Result<T, Halt> {
        let types = &self.code.program.types;
        let (shown, bounds) = match self.code.parts[ty.index()] {
            Parts::Array { index, lo, len, .. } => {
                let hi = lo.wrapping_add(len as i64).wrapping_sub(1);
                let bounds = format!(
                    "{}..{}",
                    types.value_name(index, lo),
                    types.value_name(index, hi)
                );
                (types.value_name(index, value), bounds)
            }
            Parts::Multiset { capacity, .. } => {
                (value.to_string(), format!("0..{}", i64::from(capacity) - 1))
            }
            _ => (value.to_string(), String::new()),
        };
        let name = self.root_name(place);
        let site = self.code.program.expr_site(index);
        let message = format!("index {shown} of `{name}` is outside {bounds}");
        self.fault(FaultKind::Index, message, site)
    }

    fn root_name(&self, place: &Place) -> String {
        match &place.root {
            Root::Var(var) => self.code.program.vars[var.index()].name.clone(),
            Root::Local(local) => self.current.names.local(*local).name.clone(),
            Root::Result { function, .. } => {
                format!("{}(...)", self.code.program.function(*function).name)
            }
        }
    }

    /// The name of a place with the values of its indices, for messages.
    fn place_name(&mut self, place: &'p Place) -> String {
        let mut name = self.root_name(place);
        let mut ty = match &place.root {
            Root::Var(var) => self.code.program.vars[var.index()].ty,
            Root::Local(local) | Root::Result { into: local, .. } => {
                self.current.frame.slot(*local).kind.ty()
            }
        };
        for projection in &place.path {
            match (projection, &self.code.parts[ty.index()]) {
                (Projection::Field(field), Parts::Record { fields }) => {
                    if let crate::types::Type::Record { fields } = self.code.program.types.get(ty) {
                        name.push('.');
                        name.push_str(&fields[*field as usize].name);
                    }
                    ty = fields[*field as usize].1;
                }
                (
                    Projection::Index(index),
                    Parts::Array {
                        index: by, element, ..
                    },
                ) => {
                    let shown = match self.eval_again(*index) {
                        Some(value) => self.code.program.types.value_name(*by, value),
                        None => "?".to_owned(),
                    };
                    name.push_str(&format!("[{shown}]"));
                    ty = *element;
                }
                (Projection::Index(index), Parts::Multiset { element, .. }) => {
                    let shown = self.eval_again(*index).unwrap_or(-1);
                    name.push_str(&format!("{{{shown}}}"));
                    ty = *element;
                }
                _ => unreachable!("verified: paths fit their types"),
            }
        }
        name
    }

    /// Evaluates an index once more, for a message. A fault on the way leaves no mess.
    fn eval_again(&mut self, index: ExprId) -> Option<i64> {
        let before = self.current;
        let value = self.eval(index).ok();
        self.current = before;
        value
    }

    // Expressions

    /// Evaluates a truth value.
    pub(super) fn holds(&mut self, expr: ExprId) -> Result<bool, Halt> {
        Ok(self.eval(expr)? != 0)
    }

    /// Evaluates an expression. [`UNDEFINED`] comes only from those that may be undefined.
    pub(super) fn eval(&mut self, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        match code.program.expr(id) {
            Expr::Int(value) => Ok(*value),
            Expr::Bool(value) => Ok(i64::from(*value)),
            Expr::Undefined => Ok(UNDEFINED),
            Expr::Read(place) => {
                let (at, ty) = self.resolve(place)?;
                Ok(self.load(at, ty))
            }
            Expr::Defined(operand) => match self.eval(*operand)? {
                UNDEFINED => self.undefined_fault(*operand, id),
                value => Ok(value),
            },
            Expr::Unary(op, operand) => {
                let value = self.eval(*operand)?;
                let result = arithmetic::unary(code.program.arithmetic, *op, value);
                result.or_else(|failed| self.arithmetic_fault(failed, id))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.eval(*a)?, self.eval(*b)?);
                let result = arithmetic::binary(code.program.arithmetic, *op, a, b);
                result.or_else(|failed| self.arithmetic_fault(failed, id))
            }
            Expr::And(operands) => {
                for &operand in operands {
                    if !self.holds(operand)? {
                        return Ok(0);
                    }
                }
                Ok(1)
            }
            Expr::Or(operands) => {
                for &operand in operands {
                    if self.holds(operand)? {
                        return Ok(1);
                    }
                }
                Ok(0)
            }
            Expr::Cond(condition, then, otherwise) => {
                if self.holds(*condition)? {
                    self.eval(*then)
                } else {
                    self.eval(*otherwise)
                }
            }
            Expr::Quantified {
                quantifier,
                var,
                domain,
                body,
            } => self.quantified(*quantifier, *var, domain, *body, id),
            Expr::IsUndefined(place) => {
                let (at, ty) = self.resolve(place)?;
                Ok(i64::from(self.load(at, ty) == UNDEFINED))
            }
            Expr::SameBits(a, b) => {
                // Resolving the right side may call a function, but that can only write locals
                // made for it: the left address stays good.
                let (a, ty) = self.resolve(a)?;
                let (b, _) = self.resolve(b)?;
                let n_bits = code.program.types.bits(ty) as usize;
                Ok(i64::from(bits::equal(&self.memory, a, b, n_bits)))
            }
            Expr::Call { function, args } => {
                let site = code.program.expr_site(id);
                self.call(*function, args, site, 0)
            }
            Expr::Remap { value, map } => self.remap(*value, *map, id),
            Expr::InRange { value, lo, hi } => {
                let value = self.eval(*value)?;
                Ok(i64::from(*lo <= value && value <= *hi))
            }
            Expr::Present { multiset, slot } => {
                let (at, ty) = self.resolve(multiset)?;
                let value = self.eval(*slot)?;
                match self.element(at, ty, value) {
                    Some(_) => Ok(bits::get(&self.memory, at + value as usize, 1) as i64),
                    None => self.index_fault(multiset, ty, value, *slot),
                }
            }
        }
    }

    fn arithmetic_fault(&self, failed: Failed, id: ExprId) -> Result<i64, Halt> {
        let site = self.code.program.expr_site(id);
        self.fault(failed.kind, failed.message, site)
    }

    fn undefined_fault(&mut self, operand: ExprId, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        let mut inner = operand;
        while let Expr::Remap { value, .. } = code.program.expr(inner) {
            inner = *value;
        }
        let message = match code.program.expr(inner) {
            Expr::Read(place) => format!("`{}` is undefined", self.place_name(place)),
            Expr::Call { function, .. } => {
                let name = &code.program.function(*function).name;
                format!("function `{name}` returned an undefined value")
            }
            _ => "an undefined value is used".to_owned(),
        };
        self.fault(FaultKind::Undefined, message, code.program.expr_site(id))
    }

    fn quantified(
        &mut self,
        quantifier: Quantifier,
        var: LocalId,
        domain: &'p Domain,
        body: ExprId,
        id: ExprId,
    ) -> Result<i64, Halt> {
        let mut values = self.domain(domain, self.code.program.expr_site(id))?;
        let mut count = 0;
        while let Some(value) = values.next() {
            self.poll()?;
            self.set_local(var, value);
            let holds = self.holds(body)?;
            match quantifier {
                Quantifier::Forall if !holds => return Ok(0),
                Quantifier::Exists if holds => return Ok(1),
                _ => count += i64::from(holds),
            }
        }
        Ok(match quantifier {
            Quantifier::Forall => 1,
            Quantifier::Exists => 0,
            Quantifier::Count => count,
        })
    }

    fn remap(&mut self, value: ExprId, map: crate::ids::MapId, id: ExprId) -> Result<i64, Halt> {
        let code = self.code;
        let value = self.eval(value)?;
        if value == UNDEFINED {
            return Ok(UNDEFINED);
        }
        let map = code.program.map(map);
        let segment = map
            .segments
            .iter()
            .find(|segment| segment.lo <= value && value <= segment.hi);
        match segment {
            Some(segment) => Ok(value - segment.lo + segment.to),
            None => {
                let shown = code.program.types.value_name(map.from, value);
                let message = format!("{shown} is not a value of the type wanted here");
                self.fault(FaultKind::Range, message, code.program.expr_site(id))
            }
        }
    }

    fn domain(&mut self, domain: &Domain, site: SiteId) -> Result<Values, Halt> {
        let (from, to, by) = match domain {
            Domain::Type(ty) => match self.code.parts[ty.index()] {
                Parts::Simple { lo, hi, .. } => (lo, hi, 1),
                _ => unreachable!("verified: domains are simple"),
            },
            Domain::Span { from, to, by } => {
                let (from, to) = (self.eval(*from)?, self.eval(*to)?);
                let by = match by {
                    By::Constant(by) => *by,
                    By::Toward => {
                        if from <= to {
                            1
                        } else {
                            -1
                        }
                    }
                    By::Step(step) => {
                        let step = self.eval(*step)?;
                        let away = (step > 0 && from > to) || (step < 0 && from < to);
                        if step == 0 || away {
                            let message = format!("a loop from {from} to {to} cannot go by {step}");
                            return self.fault(FaultKind::Step, message, site);
                        }
                        step
                    }
                };
                (from, to, by)
            }
        };
        Ok(Values {
            next: Some(from),
            to,
            by,
        })
    }

    // Calls

    /// Runs a function. A simple result is returned, an aggregate one is copied to `result_bit`.
    fn call(
        &mut self,
        function: FunctionId,
        args: &'p [Arg],
        site: SiteId,
        result_bit: usize,
    ) -> Result<i64, Halt> {
        let code = self.code;
        let callee = code.program.function(function);
        let layout = &code.function_frames[function.index()];
        if self.current.call_depth >= self.limits.call_depth {
            let limit = self.limits.call_depth;
            let message = format!("calls of `{}` nest deeper than {limit}", callee.name);
            return self.fault(FaultKind::CallLimit, message, site);
        }
        if self.stack_bottom.abs_diff(stack_address()) > self.limits.stack_bytes {
            let message = format!(
                "calls of `{}` nest deeper than the stack allows",
                callee.name
            );
            return self.fault(FaultKind::CallLimit, message, site);
        }
        self.poll()?;

        // The new frame is filled while the caller's is still current: arguments are the
        // caller's expressions, and a call among them builds its frame above this one.
        let caller = self.current;
        let new_frame = caller.top;
        self.current.top += layout.bytes;
        self.reserve();
        self.memory[new_frame..new_frame + layout.bytes].fill(0);
        for (position, arg) in args.iter().enumerate() {
            let slot = layout.locals[position];
            let at = new_frame * 8 + slot.offset;
            match arg {
                Arg::Value(value) => {
                    let value = self.eval(*value)?;
                    let ty = slot.kind.ty();
                    if !self.fits(ty, value) {
                        let name = format!(
                            "parameter `{}` of `{}`",
                            callee.frame.locals[position].name, callee.name
                        );
                        return self.range_fault(value, ty, &name, site);
                    }
                    self.store(at, ty, value);
                }
                Arg::Copy(place) => {
                    let (from, ty) = self.resolve(place)?;
                    let n_bits = code.program.types.bits(ty) as usize;
                    bits::copy_within(&mut self.memory, from, at, n_bits);
                }
                Arg::Ref(place) => {
                    let (to, _) = self.resolve(place)?;
                    bits::set(&mut self.memory, at, 64, to as u64);
                }
            }
        }

        self.current = Activation {
            frame: layout,
            names: &callee.frame,
            frame_bit: new_frame * 8,
            top: self.current.top,
            call_depth: caller.call_depth + 1,
            function: Some(function),
            return_bit: result_bit,
        };
        self.returned = UNDEFINED;
        let ended = self.run(&callee.body)?;
        if ended == Ended::Normally && callee.result.is_some() {
            let message = format!("function `{}` ended without a return", callee.name);
            return self.fault(FaultKind::NoReturn, message, callee.site);
        }
        self.current = caller;
        Ok(self.returned)
    }

    fn range_fault<T>(&self, value: i64, ty: TypeId, what: &str, site: SiteId) -> Result<T, Halt> {
        let types = &self.code.program.types;
        let bounds = match self.code.parts[ty.index()] {
            Parts::Simple { lo, hi, .. } => {
                format!("{}..{}", types.value_name(ty, lo), types.value_name(ty, hi))
            }
            _ => String::new(),
        };
        let message = format!("value {value} is out of range for {what}, which holds {bounds}");
        self.fault(FaultKind::Range, message, site)
    }

    // Statements

    /// Runs the body of a rule or startstate, or a prologue.
    pub(super) fn run_body(&mut self, body: &'p Block) -> Result<(), Halt> {
        self.run(body).map(|_| ())
    }

    fn run(&mut self, block: &'p Block) -> Result<Ended, Halt> {
        for stmt in block {
            if self.step(stmt)? == Ended::ByReturn {
                return Ok(Ended::ByReturn);
            }
        }
        Ok(Ended::Normally)
    }

    fn step(&mut self, stmt: &'p Stmt) -> Result<Ended, Halt> {
        let code = self.code;
        match &stmt.kind {
            StmtKind::Assign { place, value } => {
                let value = self.eval(*value)?;
                let (at, ty) = self.resolve(place)?;
                if !self.fits(ty, value) {
                    let name = format!("`{}`", self.place_name(place));
                    return self.range_fault(value, ty, &name, stmt.site);
                }
                self.store(at, ty, value);
            }
            StmtKind::Copy { to, from } => {
                let (from, ty) = self.resolve(from)?;
                let (to, _) = self.resolve(to)?;
                let n_bits = code.program.types.bits(ty) as usize;
                bits::copy_within(&mut self.memory, from, to, n_bits);
            }
            StmtKind::Clear(place) => {
                let (at, ty) = self.resolve(place)?;
                self.clear(at, ty);
            }
            StmtKind::Undefine(place) => {
                let (at, ty) = self.resolve(place)?;
                bits::zero(&mut self.memory, at, code.program.types.bits(ty) as usize);
            }
            StmtKind::If { arms, otherwise } => {
                for (condition, block) in arms {
                    if self.holds(*condition)? {
                        return self.run(block);
                    }
                }
                return self.run(otherwise);
            }
            StmtKind::For { var, domain, body } => {
                let mut values = self.domain(domain, stmt.site)?;
                while let Some(value) = values.next() {
                    self.poll()?;
                    self.set_local(*var, value);
                    if self.run(body)? == Ended::ByReturn {
                        return Ok(Ended::ByReturn);
                    }
                }
            }
            StmtKind::While { condition, body } => {
                let mut rounds = 0;
                while self.holds(*condition)? {
                    if rounds >= self.limits.loop_rounds {
                        let limit = self.limits.loop_rounds;
                        let message = format!("a while loop ran more than {limit} times");
                        return self.fault(FaultKind::LoopLimit, message, stmt.site);
                    }
                    rounds += 1;
                    self.poll()?;
                    if self.run(body)? == Ended::ByReturn {
                        return Ok(Ended::ByReturn);
                    }
                }
            }
            StmtKind::Bind { local, place } => {
                let (to, _) = self.resolve(place)?;
                let at = self.current.frame_bit + self.current.frame.slot(*local).offset;
                bits::set(&mut self.memory, at, 64, to as u64);
            }
            StmtKind::Call { function, args } => {
                // An aggregate result that nobody wants goes to room set aside above this frame.
                let before = self.current;
                let result_bit = before.top * 8;
                if let Some(ty) = code.program.function(*function).result {
                    self.current.top += (code.program.types.bits(ty) as usize).div_ceil(8);
                    self.reserve();
                }
                self.call(*function, args, stmt.site, result_bit)?;
                self.current = before;
            }
            StmtKind::Return(value) => {
                self.return_value(value, stmt.site)?;
                return Ok(Ended::ByReturn);
            }
            StmtKind::Assert { condition, message } => {
                if !self.holds(*condition)? {
                    return self.fault(FaultKind::Assertion, message.clone(), stmt.site);
                }
            }
            StmtKind::Error { message } => {
                return self.fault(FaultKind::Error, message.clone(), stmt.site);
            }
            StmtKind::Assume(condition) => {
                if !self.holds(*condition)? {
                    return Err(Halt::Abandoned);
                }
            }
            StmtKind::Cover { point, condition } => {
                if self.holds(*condition)? {
                    self.covered.push(*point);
                }
            }
            StmtKind::Put(item) => self.put(item)?,
            StmtKind::MultisetAdd { multiset, value } => {
                self.multiset_add(multiset, value, stmt.site)?;
            }
            StmtKind::MultisetRemove { multiset, slot } => {
                let value = self.eval(*slot)?;
                let (at, ty) = self.resolve(multiset)?;
                let Some((element_at, element)) = self.element(at, ty, value) else {
                    return self.index_fault(multiset, ty, value, *slot);
                };
                bits::set(&mut self.memory, at + value as usize, 1, 0);
                let n_bits = code.program.types.bits(element) as usize;
                bits::zero(&mut self.memory, element_at, n_bits);
            }
        }
        Ok(Ended::Normally)
    }

    fn return_value(&mut self, value: &'p ReturnValue, site: SiteId) -> Result<(), Halt> {
        match value {
            ReturnValue::Nothing => {}
            ReturnValue::Value(value) => {
                let value = self.eval(*value)?;
                self.check_returned(value, site)?;
                self.returned = value;
            }
            ReturnValue::Copy(place) => {
                let (from, ty) = self.resolve(place)?;
                let n_bits = self.code.program.types.bits(ty) as usize;
                bits::copy_within(&mut self.memory, from, self.current.return_bit, n_bits);
            }
        }
        Ok(())
    }

    /// A returned value must be one of the function's result type.
    fn check_returned(&self, value: i64, site: SiteId) -> Result<(), Halt> {
        let Some(function) = self.current.function else {
            return Ok(());
        };
        let function = self.code.program.function(function);
        match function.result {
            Some(ty) if !self.fits(ty, value) => {
                let what = format!("the result of `{}`", function.name);
                self.range_fault(value, ty, &what, site)
            }
            _ => Ok(()),
        }
    }

    /// Sets every leaf to its least value and empties multisets.
    fn clear(&mut self, at: usize, ty: TypeId) {
        match &self.code.parts[ty.index()] {
            Parts::Simple { lo, hi, .. } => {
                let least = if lo <= hi { *lo } else { UNDEFINED };
                self.store(at, ty, least);
            }
            Parts::Array {
                len,
                stride,
                element,
                ..
            } => {
                for position in 0..*len as usize {
                    self.clear(at + position * stride, *element);
                }
            }
            Parts::Record { fields } => {
                for &(offset, field) in fields {
                    self.clear(at + offset, field);
                }
            }
            Parts::Multiset { .. } => {
                let n_bits = self.code.program.types.bits(ty) as usize;
                bits::zero(&mut self.memory, at, n_bits);
            }
        }
    }

    fn multiset_add(
        &mut self,
        multiset: &'p Place,
        value: &'p Arg,
        site: SiteId,
    ) -> Result<(), Halt> {
        // The element is evaluated first, as the value of an assignment is.
        enum Element {
            Value(i64),
            At(usize),
        }
        let element_value = match value {
            Arg::Value(value) => Element::Value(self.eval(*value)?),
            Arg::Copy(place) | Arg::Ref(place) => Element::At(self.resolve(place)?.0),
        };
        let (at, ty) = self.resolve(multiset)?;
        let Parts::Multiset {
            capacity,
            stride,
            element,
        } = self.code.parts[ty.index()]
        else {
            unreachable!("verified: elements are added to multisets");
        };
        let slots = 0..capacity as usize;
        let Some(slot) = { slots }.find(|slot| bits::get(&self.memory, at + slot, 1) == 0) else {
            let name = self.place_name(multiset);
            let message = format!("multiset `{name}` already holds {capacity} elements");
            return self.fault(FaultKind::MultisetFull, message, site);
        };
        let to = at + capacity as usize + slot * stride;
        match element_value {
            Element::Value(value) => {
                if !self.fits(element, value) {
                    let name = format!("an element of `{}`", self.place_name(multiset));
                    return self.range_fault(value, element, &name, site);
                }
                self.store(to, element, value);
            }
            Element::At(from) => bits::copy_within(&mut self.memory, from, to, stride),
        }
        bits::set(&mut self.memory, at + slot, 1, 1);
        Ok(())
    }

    fn put(&mut self, item: &'p PutItem) -> Result<(), Halt> {
        let types = &self.code.program.types;
        let text = match item {
            PutItem::Text(text) => text.clone(),
            PutItem::Value(value, ty) => match self.eval(*value)? {
                UNDEFINED => "undefined".to_owned(),
                value => types.value_name(*ty, value),
            },
            PutItem::Place(place, name) => {
                let (at, ty) = self.resolve(place)?;
                let mut lines = String::new();
                types.for_each_leaf(ty, &mut name.clone(), at, &mut |name, ty, at| {
                    let value = types.leaf_name(&self.memory, ty, at);
                    lines.push_str(&format!("{name}:{value}\n"));
                });
                lines
            }
        };
        if let Some(output) = &mut self.output {
            output.push_str(&text);
        }
        Ok(())
    }
}

/// The values a loop runs over.
struct Values {
    next: Option<i64>,
    to: i64,
    by: i64,
}

impl Values {
    fn next(&mut self) -> Option<i64> {
        let value = self.next?;
        let inside = if self.by > 0 {
            value <= self.to
        } else {
            value >= self.to
        };
        if !inside {
            self.next = None;
            return None;
        }
        self.next = value.checked_add(self.by);
        Some(value)
    }
}

/// About where the stack is.
#[inline(never)]
fn stack_address() -> usize {
    let here = 0u8;
    &raw const here as usize
}
