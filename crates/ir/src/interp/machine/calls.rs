//! Calls: a new frame, filled with the arguments while the caller's is still current.

use hadal_model::FaultKind;

use super::super::prepare::Parts;
use super::{Activation, Ended, Halt, Machine, UNDEFINED, stack_address};
use crate::bits;
use crate::expr::Arg;
use crate::ids::{FunctionId, SiteId, TypeId};

impl<'p> Machine<'p> {
    /// Runs a function. A simple result is returned, an aggregate one is copied to `result_bit`.
    pub(super) fn call(
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
            // The stack ends sooner inside checks, where this must not pass for a fault that all
            // orders have in common.
            let kind = match self.order {
                Some(_) => FaultKind::OrderDependence,
                None => FaultKind::CallLimit,
            };
            return self.fault(kind, message, site);
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

    pub(super) fn range_fault<T>(
        &self,
        value: i64,
        ty: TypeId,
        what: &str,
        site: SiteId,
    ) -> Result<T, Halt> {
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
}
