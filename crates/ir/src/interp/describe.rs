//! States as text.

use hadal_model::PAD_BYTES;

use super::prepare::Prepared;
use crate::bits;
use crate::ids::{TypeId, VarId};
use crate::types::Type;

/// The leaves of a state by name. Free slots of multisets are left out: a bag has only elements.
pub(super) fn state(code: &Prepared, state: &[u8]) -> Vec<(String, String)> {
    let mut padded = state.to_vec();
    padded.resize(state.len() + PAD_BYTES, 0);
    let mut leaves = Vec::new();
    for (index, var) in code.program.vars.iter().enumerate() {
        let at = code.layout.var(VarId::new(index));
        describe(
            code,
            &padded,
            var.ty,
            &mut var.name.clone(),
            at,
            &mut leaves,
        );
    }
    leaves
}

fn describe(
    code: &Prepared,
    bytes: &[u8],
    ty: TypeId,
    name: &mut String,
    at: usize,
    leaves: &mut Vec<(String, String)>,
) {
    let types = &code.program.types;
    let kept = name.len();
    match types.get(ty) {
        Type::Simple(_) => leaves.push((name.clone(), types.leaf_name(bytes, ty, at))),
        Type::Array { index, element } => {
            let Some(simple) = types.simple(*index) else {
                return;
            };
            let stride = types.bits(*element) as usize;
            for (position, value) in (simple.lo..=simple.hi).enumerate() {
                name.push_str(&format!("[{}]", types.value_name(*index, value)));
                describe(code, bytes, *element, name, at + position * stride, leaves);
                name.truncate(kept);
            }
        }
        Type::Record { fields } => {
            let mut at = at;
            for field in fields {
                name.push('.');
                name.push_str(&field.name);
                describe(code, bytes, field.ty, name, at, leaves);
                name.truncate(kept);
                at += types.bits(field.ty) as usize;
            }
        }
        Type::Multiset { capacity, element } => {
            for slot in 0..*capacity as usize {
                if bits::get(bytes, at + slot, 1) == 0 {
                    continue;
                }
                name.push_str(&format!("{{{slot}}}"));
                let at = at + types.slot_offset(*capacity, *element, slot);
                describe(code, bytes, *element, name, at, leaves);
                name.truncate(kept);
            }
        }
    }
}
