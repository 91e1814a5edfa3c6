//! The instances of a rule: every combination of its parameters, the last one fastest.

use crate::program::{Frame, LocalKind, Param, ParamDomain, Program};

/// The position of each parameter within its domain, as an odometer.
#[derive(Clone, Debug, Default)]
pub(super) struct Odometer {
    lens: Vec<u64>,
    pub(super) digits: Vec<u64>,
    /// Number of the instance.
    pub(super) instance: u64,
    /// Past the last instance.
    pub(super) done: bool,
}

impl Odometer {
    /// Sets the odometer to an instance.
    pub(super) fn set(&mut self, program: &Program, params: &[Param], instance: u64) {
        self.lens.clear();
        self.lens.extend(
            params
                .iter()
                .map(|param| param.domain.n_values(&program.types)),
        );
        self.digits.clear();
        self.digits.resize(params.len(), 0);
        self.instance = instance;
        let mut rest = instance;
        self.done = self.lens.contains(&0);
        if self.done {
            return;
        }
        for (digit, &len) in self.digits.iter_mut().zip(&self.lens).rev() {
            *digit = rest % len;
            rest /= len;
        }
        self.done = rest > 0;
    }

    /// Moves on to the next instance.
    pub(super) fn advance(&mut self) {
        self.instance += 1;
        for position in (0..self.digits.len()).rev() {
            self.digits[position] += 1;
            if self.digits[position] < self.lens[position] {
                return;
            }
            self.digits[position] = 0;
        }
        self.done = true;
    }
}

/// The display name of a parameter's value.
pub(super) fn value_name(program: &Program, frame: &Frame, param: &Param, value: i64) -> String {
    match (&param.domain, frame.local(param.local).kind) {
        (ParamDomain::Slots { .. }, _) => format!("{{{value}}}"),
        (_, LocalKind::Value(ty)) => program.types.value_name(ty, value),
        _ => value.to_string(),
    }
}

/// Names and values of the parameters of an instance.
pub(super) fn names(
    program: &Program,
    frame: &Frame,
    params: &[Param],
    instance: u64,
) -> Vec<(String, String)> {
    let mut odometer = Odometer::default();
    odometer.set(program, params, instance);
    let digits = params.iter().zip(&odometer.digits);
    digits
        .map(|(param, &digit)| {
            let value = param.domain.value(&program.types, digit);
            let name = frame.local(param.local).name.clone();
            (name, value_name(program, frame, param, value))
        })
        .collect()
}
