//! Native code against the interpreter, on all states that can be reached.

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_testkit::agreement::{self, Bounds, Compared};

/// Compares native code and interpreter on up to `max_states` states, with blocks of `block_len`
/// states and a native buffer of `capacity`. Native code must not have left anything to the
/// interpreter where nothing faults.
pub(crate) fn compare(
    program: &Program,
    limits: Limits,
    max_states: usize,
    block_len: usize,
    capacity: usize,
) -> Result<Compared, String> {
    let interpreter = Interpreter::new(program.clone(), limits);
    let native = Native::new(program.clone(), limits).map_err(|error| error.to_string())?;
    let bounds = Bounds {
        max_states,
        until: None,
        block_len,
        capacity,
    };
    let compared = agreement::compare(&interpreter, &native, None, &bounds)?;
    let n_faults = compared.n_faults + compared.n_failures + compared.n_unmeasured;
    // Faults of such measures show nowhere else.
    let hides_faults = (program.measures.iter()).any(|measure| measure.is_zero_at_faults);
    let any_fault = n_faults > 0 || compared.start_faults || hides_faults;
    match native.n_interpreted() {
        0 => Ok(compared),
        _ if any_fault => Ok(compared),
        n => Err(format!(
            "{n} states were left to the interpreter without a fault"
        )),
    }
}
