//! Leaves found always defined are so, on random programs, in every reachable state.

use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::layout::Layout;
use hadal_ir::{ExprId, Place, Program, Projection, Type, TypeId, VarId};
use hadal_model::PAD_BYTES;
use hadal_testkit::oracle;
use hadal_testkit::random::{Config, program_from_seed};

/// Calls `visit` with the leaves of a place, each element of an array separately.
fn for_each_leaf(
    program: &Program,
    place: &Place,
    ty: TypeId,
    at: usize,
    visit: &mut dyn FnMut(&Place, TypeId, usize),
) {
    let types = &program.types;
    match types.get(ty) {
        Type::Simple(_) => visit(place, ty, at),
        Type::Array { index, element } => {
            let n = types.simple(*index).map_or(0, |simple| simple.len()) as usize;
            for position in 0..n {
                // Which element does not matter: all are taken together.
                let part = place.clone().at(ExprId::new(0));
                let at = at + position * types.bits(*element) as usize;
                for_each_leaf(program, &part, *element, at, visit);
            }
        }
        Type::Record { fields } => {
            let mut at = at;
            for (number, field) in fields.iter().enumerate() {
                let mut part = place.clone();
                part.path.push(Projection::Field(number as u32));
                for_each_leaf(program, &part, field.ty, at, visit);
                at += types.bits(field.ty) as usize;
            }
        }
        // Free slots hold nothing.
        Type::Multiset { .. } => {}
    }
}

#[test]
fn what_is_said_to_be_defined_is_defined_in_every_state() {
    let options = oracle::Options {
        deadlock: oracle::Deadlock::Off,
        max_states: 4000,
    };
    let (mut n_states, mut n_defined, mut n_undefined) = (0, 0u64, 0u64);
    for seed in 0..400 {
        let program = program_from_seed(seed, &Config::default());
        let interpreter = Interpreter::new(program, Limits::default());
        let program = interpreter.program();
        let definedness = interpreter.definedness();
        let report = oracle::search(&interpreter, &options);
        let layout = Layout::new(program);
        let any_rule = program.functions.len();
        if program.rules.is_empty() {
            continue;
        }
        for state in &report.states {
            let mut bytes = state.clone();
            bytes.resize(state.len() + PAD_BYTES, 0);
            for number in 0..program.vars.len() {
                let var = VarId::new(number);
                let ty = program.var(var).ty;
                let visit = &mut |place: &Place, ty: TypeId, at: usize| {
                    let is_defined = program.types.leaf_value(&bytes, ty, at).is_some();
                    let may_be_undefined = definedness.may_be_undefined(program, any_rule, place);
                    assert!(
                        is_defined || may_be_undefined,
                        "seed {seed}: a part of `{}` is undefined",
                        program.var(var).name
                    );
                    n_defined += u64::from(!may_be_undefined);
                    n_undefined += u64::from(!is_defined);
                };
                for_each_leaf(program, &Place::var(var), ty, layout.var(var), visit);
            }
            n_states += 1;
        }
    }
    assert!(n_states > 5_000, "only {n_states} states");
    assert!(
        n_defined > 5_000,
        "only {n_defined} leaves were found defined"
    );
    assert!(
        n_undefined > 5_000,
        "only {n_undefined} leaves were undefined"
    );
}
