//! Formulas of Hennessy–Milner logic, with until for invisible steps.

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

/// A formula about a state. Parts are shared, so a formula that is small in memory may be long when
/// it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// The part does not hold.
    Not(Rc<Formula>),
    /// All parts hold; without parts it is true.
    And(Vec<Rc<Formula>>),
    /// Some step with this label leads to a state where the part holds.
    Diamond {
        /// The label.
        label: String,
        /// What holds after the step.
        then: Rc<Formula>,
    },
    /// After some invisible steps, `stay` holding in all states up to then, a step with this label
    /// leads to a state where `then` holds. If the label is invisible itself, `then` may also hold
    /// at once.
    Until {
        /// What holds before the step.
        stay: Rc<Formula>,
        /// The label.
        label: String,
        /// Whether the label is invisible.
        is_tau: bool,
        /// What holds after the step.
        then: Rc<Formula>,
    },
}

impl Formula {
    /// How many steps are nested.
    pub fn depth(&self) -> usize {
        self.fold(&|formula, parts| {
            let deepest = parts.iter().copied().max().unwrap_or(0);
            deepest + usize::from(formula.label().is_some())
        })
    }

    /// Characters that it takes to print, at most; saturating.
    pub fn printed_len(&self) -> u64 {
        self.fold(&|formula, parts: &[u64]| {
            let label = formula.label().map_or(0, str::len) as u64;
            let between = 4 * parts.len() as u64;
            let own = label + between + 10;
            parts
                .iter()
                .fold(own, |sum, part| sum.saturating_add(*part))
        })
    }

    /// The label of a step.
    pub(super) fn label(&self) -> Option<&str> {
        match self {
            Formula::Diamond { label, .. } | Formula::Until { label, .. } => Some(label),
            Formula::Not(_) | Formula::And(_) => None,
        }
    }

    /// The parts, in order.
    pub(super) fn parts(&self) -> Vec<&Rc<Formula>> {
        match self {
            Formula::Not(part) => vec![part],
            Formula::And(parts) => parts.iter().collect(),
            Formula::Diamond { then, .. } => vec![then],
            Formula::Until { stay, then, .. } => vec![stay, then],
        }
    }

    /// Combines the values of its parts, from the innermost outwards. A part that is shared is
    /// visited once.
    fn fold<T: Copy>(&self, combine: &impl Fn(&Formula, &[T]) -> T) -> T {
        fn visit<T: Copy>(
            formula: &Formula,
            combine: &impl Fn(&Formula, &[T]) -> T,
            known: &mut FxHashMap<*const Formula, T>,
        ) -> T {
            let mut values = Vec::new();
            for part in formula.parts() {
                let place = Rc::as_ptr(part);
                let value = match known.get(&place) {
                    Some(&value) => value,
                    None => {
                        let value = visit(part, combine, known);
                        known.insert(place, value);
                        value
                    }
                };
                values.push(value);
            }
            combine(formula, &values)
        }
        visit(self, combine, &mut FxHashMap::default())
    }

    fn is_true(&self) -> bool {
        matches!(self, Formula::And(parts) if parts.is_empty())
    }

    /// Writes the formula, or what it means that it does not hold. Negation is pushed inwards, which
    /// turns `<a>` into `[a]`.
    fn write(&self, f: &mut fmt::Formatter<'_>, is_negated: bool) -> fmt::Result {
        match self {
            Formula::Not(part) => part.write(f, !is_negated),
            Formula::And(parts) if parts.is_empty() => f.write_str(match is_negated {
                true => "false",
                false => "true",
            }),
            Formula::And(parts) => {
                let between = match is_negated {
                    true => " || ",
                    false => " && ",
                };
                f.write_str("(")?;
                for (position, part) in parts.iter().enumerate() {
                    if position > 0 {
                        f.write_str(between)?;
                    }
                    part.write(f, is_negated)?;
                }
                f.write_str(")")
            }
            Formula::Diamond { label, then } => {
                let (open, close) = match is_negated {
                    true => ('[', ']'),
                    false => ('<', '>'),
                };
                write!(f, "{open}{label:?}{close}")?;
                then.write(f, is_negated)
            }
            Formula::Until {
                stay, label, then, ..
            } => {
                if is_negated {
                    f.write_str("!")?;
                }
                f.write_str("(")?;
                if !stay.is_true() {
                    stay.write(f, false)?;
                    f.write_str(" ")?;
                }
                write!(f, "<<{label:?}>> ")?;
                then.write(f, false)?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Formula {
    /// `<"a">f` (some step), `["a"]f` (every step), `(f <<"a">> g)` (until), `&&`, `||`, `!`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}
