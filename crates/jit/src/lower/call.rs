//! Calls of functions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, InstBuilder, Signature, UserExternalName, Value,
};
use cranelift_codegen::isa::CallConv;
use hadal_ir::expr::Arg;
use hadal_ir::ids::FunctionId;

use super::{Lower, arg};
use crate::unit::Item;

/// What every function takes before its own parameters: context, state, memory for locals, calls
/// that may still nest, and where an aggregate result is to go.
pub(super) const N_HIDDEN: usize = 5;

/// The signature of a function of the program: it returns a simple value as it is stored, and a
/// status.
pub(crate) fn function_signature(call_conv: CallConv, n_params: usize) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params = vec![AbiParam::new(I64); N_HIDDEN + n_params];
    signature.returns = vec![AbiParam::new(I64); 2];
    signature
}

/// The signature of rules, startstates, properties and measures: context, state, first instance, and
/// where the first parameter of a rule ends, to a status.
pub(crate) fn entry_signature(call_conv: CallConv) -> Signature {
    let mut signature = Signature::new(call_conv);
    signature.params = vec![AbiParam::new(I64); 4];
    signature.returns = vec![AbiParam::new(I64)];
    signature
}

impl Lower<'_, '_> {
    /// The reference to another native function.
    pub(super) fn callee(&mut self, number: u32, signature: Signature) -> FuncRef {
        if let Some((_, known)) = self.callees.iter().find(|(known, _)| *known == number) {
            return *known;
        }
        let signature = self.b.import_signature(signature);
        let name = self
            .b
            .func
            .declare_imported_user_function(UserExternalName::new(0, number));
        let callee = self.b.import_function(ExtFuncData {
            name: ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        self.callees.push((number, callee));
        callee
    }

    /// Calls a function; returns a simple result as it is stored. An aggregate one is copied to
    /// the bit address `to`.
    pub(super) fn call_function(&mut self, function: FunctionId, args: &[Arg], to: Value) -> Value {
        let callee = self.unit.function(function);
        let too_deep = self.b.ins().icmp_imm_s(IntCC::Equal, self.depth, 0);
        self.fault_if(too_deep);
        self.unpolled += 1;
        let mut values = vec![self.ctx, self.state];
        let mut own = Vec::new();
        for (argument, local) in args.iter().zip(&callee.frame.locals) {
            let ty = local.kind.ty();
            own.push(match argument {
                Arg::Value(value) => {
                    let value = self.eval(*value);
                    self.stored(value, self.unit.simple(ty))
                }
                Arg::Copy(place) => {
                    let (from, ty) = self.address(place);
                    let width = self.unit.bits(ty);
                    let byte = self.copy_room(argument, width);
                    let copy = self.frame_addr(byte);
                    self.copy_bits(from, copy, width);
                    self.bit_address(copy)
                }
                Arg::Ref(place) => {
                    let (addr, _) = self.address(place);
                    self.bit_address(addr)
                }
            });
        }
        let frame_bytes = self.own_frame_bytes();
        values.push(self.b.ins().iadd(self.frame_ptr, frame_bytes));
        values.push(self.b.ins().iadd_imm_s(self.depth, -1));
        values.push(to);
        values.extend(own);
        let number = self.unit.number(Item::Function(function.index()));
        let signature = function_signature(self.call_conv, args.len());
        let callee = self.callee(number, signature);
        let call = self.b.ins().call(callee, &values);
        let results = self.b.inst_results(call);
        let (value, status) = (results[0], results[1]);
        let next = self.b.create_block();
        self.b
            .ins()
            .brif(status, self.propagate, &[arg(status)], next, &[]);
        self.start(next);
        value
    }

    /// Room in the frame for the copy of an argument, or for another aggregate without a name.
    pub(super) fn copy_room(&mut self, argument: *const Arg, width: u64) -> u64 {
        if let Some((_, byte)) = self.copies.iter().find(|(known, _)| *known == argument) {
            return *byte;
        }
        let byte = self.frame_size;
        self.frame_size += width.div_ceil(8).next_multiple_of(8);
        self.copies.push((argument, byte));
        byte
    }
}
