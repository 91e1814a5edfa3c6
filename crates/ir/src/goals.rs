//! The goals of a program: how they are numbered, and which parameters a number stands for.
//!
//! Generators report goals by number only, so all of them must number goals alike.
//! The instances of the covers and liveness properties come first, properties in source order and
//! the instances of one with its last parameter fastest; then the cover points.
//! Invariants, assumptions and ends have no goals.

use crate::ids::TypeId;
use crate::program::{Param, ParamDomain, Program, PropertyKind};
use crate::types::Types;

/// The goals of a program by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goals {
    /// The properties whose instances are goals, in order.
    pub properties: Vec<GoalProperty>,
    /// The goal of the first cover point; the others follow.
    pub first_cover_point: u32,
    /// Number of goals, cover points included.
    pub n_goals: u32,
}

/// A property whose instances are goals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalProperty {
    /// Index into the program's properties.
    pub property: u32,
    /// Index into the properties of the shape, which leave out assumptions and ends.
    pub in_shape: u32,
    /// [`PropertyKind::Cover`] or [`PropertyKind::Liveness`].
    pub kind: PropertyKind,
    /// The goal of the first instance; the others follow.
    pub first_goal: u32,
    /// Number of instances.
    pub n_goals: u32,
    /// How the number of an instance encodes each parameter.
    pub digits: Vec<Digit>,
}

/// A parameter as a digit of the number of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digit {
    /// The difference between the numbers of two successive values of the parameter.
    pub stride: u32,
    /// Number of values of the parameter.
    pub n_values: u32,
    /// The type whose values, least first, the parameter takes; `None` where its values are given
    /// in another way.
    pub ty: Option<TypeId>,
}

impl Goals {
    /// Numbers the goals of a program.
    ///
    /// # Panics
    /// Where they cannot be counted with 32 bits, which front-ends reject.
    pub fn new(program: &Program) -> Self {
        let mut goals = Goals::default();
        let mut in_shape = 0;
        let mut next = 0;
        for (index, property) in program.properties.iter().enumerate() {
            if matches!(property.kind, PropertyKind::Assume | PropertyKind::End) {
                continue;
            }
            if matches!(property.kind, PropertyKind::Cover | PropertyKind::Liveness) {
                let n = count_instances(&program.types, &property.params);
                let n_goals = u32::try_from(n).expect("the front-end bounds goals");
                goals.properties.push(GoalProperty {
                    property: index as u32,
                    in_shape,
                    kind: property.kind,
                    first_goal: next,
                    n_goals,
                    digits: digits(&program.types, &property.params, n_goals),
                });
                next += n_goals;
            }
            in_shape += 1;
        }
        goals.first_cover_point = next;
        goals.n_goals = next + program.cover_points.len() as u32;
        goals
    }
}

/// Number of instances, slots of multisets counted whether they hold an element or not.
pub fn count_instances(types: &Types, params: &[Param]) -> u64 {
    params.iter().fold(1, |product: u64, param| {
        product.saturating_mul(param.domain.n_values(types))
    })
}

fn digits(types: &Types, params: &[Param], n_instances: u32) -> Vec<Digit> {
    // Without instances the numbers of values may be anything, and there is nothing to number.
    let mut stride = n_instances;
    let mut digits = Vec::new();
    for param in params {
        let n_values = param.domain.n_values(types);
        let n_values = u32::try_from(n_values).unwrap_or(u32::MAX);
        stride = stride.checked_div(n_values).unwrap_or(0);
        let ty = match param.domain {
            ParamDomain::Type(ty) => Some(ty),
            ParamDomain::Span { .. } | ParamDomain::Slots { .. } => None,
        };
        digits.push(Digit {
            stride,
            n_values,
            ty,
        });
    }
    digits
}

impl GoalProperty {
    /// The goals of its instances.
    pub fn goals(&self) -> std::ops::Range<u32> {
        self.first_goal..self.first_goal + self.n_goals
    }

    /// The position of each parameter of a goal within its domain, counted from 0.
    pub fn positions(&self, goal: u32) -> impl Iterator<Item = (Digit, u32)> + '_ {
        let instance = goal - self.first_goal;
        let position = move |digit: &Digit| instance / digit.stride % digit.n_values;
        self.digits
            .iter()
            .map(move |digit| (*digit, position(digit)))
    }
}

impl ParamDomain {
    /// Number of values, slots of multisets counted whether they hold an element or not.
    pub fn n_values(&self, types: &Types) -> u64 {
        match self {
            ParamDomain::Type(ty) => types.simple(*ty).map_or(0, |simple| simple.len()),
            ParamDomain::Span { from, to, by } => {
                let reach = (i128::from(*to) - i128::from(*from)) * i128::from(by.signum());
                if reach < 0 {
                    0
                } else {
                    (reach / i128::from(by.unsigned_abs())) as u64 + 1
                }
            }
            ParamDomain::Slots { capacity, .. } => u64::from(*capacity),
        }
    }

    /// The value at a position, counted from 0.
    #[inline]
    pub fn value(&self, types: &Types, position: u64) -> i64 {
        match self {
            ParamDomain::Type(ty) => {
                let lo = types.simple(*ty).map_or(0, |simple| simple.lo);
                lo.wrapping_add(position as i64)
            }
            ParamDomain::Span { from, by, .. } => {
                from.wrapping_add((position as i64).wrapping_mul(*by))
            }
            ParamDomain::Slots { .. } => position as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{CoverPoint, Frame, Guard, LocalKind, Property};
    use crate::types::{Simple, Type};
    use crate::{SiteId, interp};
    use hadal_model::Model;

    /// The numbers against the names that the interpreter gives to the instances.
    #[test]
    fn numbers_are_those_of_the_shape() {
        let mut program = Program::new("test");
        let three = program.types.add(Type::Simple(Simple::range(5, 7)));
        let spans = [
            ParamDomain::Type(three),
            ParamDomain::Span {
                from: 4,
                to: 1,
                by: -2,
            },
            ParamDomain::Type(three),
        ];
        for (kind, n_params) in [
            (PropertyKind::Liveness, 3),
            (PropertyKind::Invariant, 1),
            (PropertyKind::Assume, 1),
            (PropertyKind::Cover, 2),
            (PropertyKind::Cover, 0),
        ] {
            let mut frame = Frame::default();
            let params = spans[..n_params].iter().map(|domain| Param {
                local: frame.add("p", LocalKind::Value(three)),
                domain: domain.clone(),
            });
            program.properties.push(Property {
                kind,
                name: String::new(),
                params: params.collect(),
                frame,
                condition: Guard::always(),
                site: SiteId::new(0),
            });
        }
        program.cover_points.push(CoverPoint {
            name: String::new(),
            site: SiteId::new(0),
        });
        let goals = Goals::new(&program);
        let interpreter = interp::Interpreter::new(program, interp::Limits::default());
        let shape = interpreter.shape();
        assert_eq!(shape.goals.len(), goals.n_goals as usize);
        assert_eq!((goals.first_cover_point, goals.n_goals), (18 + 6 + 1, 26));
        assert_eq!(shape.goals[25].property, 4);
        for property in &goals.properties {
            for goal in property.goals() {
                let in_shape = &shape.goals[goal as usize];
                assert_eq!(in_shape.property, property.in_shape);
                let params = &interpreter.program().properties[property.property as usize].params;
                let values = property.positions(goal).zip(params);
                let values = values.map(|((_, position), param)| {
                    let types = &interpreter.program().types;
                    param.domain.value(types, position.into()).to_string()
                });
                let names = in_shape.parameters.iter().map(|(_, value)| value.clone());
                assert!(values.eq(names), "goal {goal}");
            }
        }
    }
}
