//! Formulas of Hennessy–Milner logic, with until for invisible steps.

use std::fmt;
use std::rc::Rc;

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
        match self {
            Formula::Not(part) => part.depth(),
            Formula::And(parts) => parts.iter().map(|part| part.depth()).max().unwrap_or(0),
            Formula::Diamond { then, .. } => 1 + then.depth(),
            Formula::Until { stay, then, .. } => 1 + then.depth().max(stay.depth()),
        }
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

    /// Characters that it takes to print, saturating. Shared parts are measured once.
    pub fn printed_len(&self) -> u64 {
        fn measure(
            formula: &Formula,
            known: &mut rustc_hash::FxHashMap<*const Formula, u64>,
        ) -> u64 {
            let mut part = |part: &Rc<Formula>| {
                let place = Rc::as_ptr(part);
                if let Some(&len) = known.get(&place) {
                    return len;
                }
                let len = measure(part, known);
                known.insert(place, len);
                len
            };
            match formula {
                Formula::Not(inner) => part(inner).saturating_add(1),
                Formula::And(parts) => parts.iter().fold(5, |sum: u64, inner| {
                    sum.saturating_add(part(inner)).saturating_add(4)
                }),
                Formula::Diamond { label, then } => {
                    part(then).saturating_add(label.len() as u64 + 4)
                }
                Formula::Until {
                    stay, label, then, ..
                } => {
                    let parts = part(stay).saturating_add(part(then));
                    parts.saturating_add(label.len() as u64 + 10)
                }
            }
        }
        measure(self, &mut rustc_hash::FxHashMap::default())
    }
}

impl fmt::Display for Formula {
    /// `<"a">f` (some step), `["a"]f` (every step), `(f <<"a">> g)` (until), `&&`, `||`, `!`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}
