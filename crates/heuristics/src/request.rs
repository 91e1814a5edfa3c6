//! What a user asks for: `auto`, or estimates of which the largest counts.

use std::fmt;

/// The estimates that direct a search, as the user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Whatever suits what the search may find.
    Auto,
    /// The maximum of some.
    Maximum(Vec<Term>),
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// One that is derived from the program; where a name is given, from the property of that name.
    Derived(Derived, Option<String>),
    /// An expression of the model's language, by its number among [`Request::expressions`].
    Expression(usize),
    /// The sum of some. What is derived in it adds up what it would take the maximum of.
    Sum(Vec<Term>),
}

/// An estimate that is derived from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// How many processes have an enabled step.
    Active,
    /// How far a state is from violating a property, or from a goal.
    Formula,
    /// How far processes are from where that may be.
    Control,
    /// How far all processes are from being blocked.
    Blocked,
    /// How many variables have other values than in a given state.
    Hamming,
}

impl Derived {
    /// All of them.
    pub const ALL: [Derived; 5] = [
        Derived::Active,
        Derived::Formula,
        Derived::Control,
        Derived::Blocked,
        Derived::Hamming,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Derived::Active => "active",
            Derived::Formula => "formula",
            Derived::Control => "control",
            Derived::Blocked => "blocked",
            Derived::Hamming => "hamming",
        }
    }
}

/// A request that is none, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No estimate has this name.
    #[error(
        "there is no heuristic `{0}`: it is `auto`, or some of `active`, `formula`, `control`, \
         `blocked`, `hamming`, `expr:EXPR` and `sum(...)`, separated by commas"
    )]
    Unknown(String),
    /// Nothing stands between two commas or parentheses.
    #[error("a heuristic is missing in `{0}`")]
    Missing(String),
    /// Parentheses do not match.
    #[error("the parentheses in `{0}` do not match")]
    Parentheses(String),
    /// `auto` stands beside others.
    #[error("`auto` chooses all heuristics itself: it stands alone")]
    NotAlone,
}

/// A request, and the texts of its expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The request.
    pub request: Request,
    /// By number.
    pub expressions: Vec<String>,
}

const EXPRESSION: &str = "expr:";
const AUTO: &str = "auto";

impl Parsed {
    /// What `text` asks for.
    pub fn new(text: &str) -> Result<Self, RequestError> {
        let mut expressions = Vec::new();
        if text.trim() == AUTO {
            let request = Request::Auto;
            return Ok(Parsed {
                request,
                expressions,
            });
        }
        let terms = terms(text, &mut expressions)?;
        Ok(Parsed {
            request: Request::Maximum(terms),
            expressions,
        })
    }
}

fn terms(text: &str, expressions: &mut Vec<String>) -> Result<Vec<Term>, RequestError> {
    let mut terms = Vec::new();
    for part in split(text)? {
        let part = part.trim();
        let derived = derived(part);
        let inner = part
            .strip_prefix("sum")
            .map(str::trim_start)
            .and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        terms.push(if let Some((derived, name)) = derived {
            Term::Derived(derived, name)
        } else if let Some(expression) = part.strip_prefix(EXPRESSION) {
            if expression.trim().is_empty() {
                return Err(RequestError::Missing(text.to_owned()));
            }
            expressions.push(expression.trim().to_owned());
            Term::Expression(expressions.len() - 1)
        } else if let Some(inner) = inner {
            Term::Sum(self::terms(inner, expressions)?)
        } else if part.is_empty() {
            return Err(RequestError::Missing(text.to_owned()));
        } else if part == AUTO {
            return Err(RequestError::NotAlone);
        } else {
            return Err(RequestError::Unknown(part.to_owned()));
        });
    }
    Ok(terms)
}

/// An estimate by its name, and that of a property behind a colon.
fn derived(part: &str) -> Option<(Derived, Option<String>)> {
    let (name, property) = match part.split_once(':') {
        Some((name, property)) => (name.trim_end(), Some(property.trim().to_owned())),
        None => (part, None),
    };
    let derived = *Derived::ALL.iter().find(|it| it.name() == name)?;
    let is_aimed = matches!(derived, Derived::Formula | Derived::Control);
    let is_valid = property
        .as_ref()
        .is_none_or(|it| is_aimed && !it.is_empty());
    is_valid.then_some((derived, property))
}

/// The parts of `text` between commas that stand in no parentheses, brackets or braces.
fn split(text: &str) -> Result<Vec<&str>, RequestError> {
    let (mut parts, mut first, mut closers) = (Vec::new(), 0, Vec::new());
    let mismatch = || RequestError::Parentheses(text.to_owned());
    for (at, character) in text.char_indices() {
        match character {
            '(' => closers.push(')'),
            '[' => closers.push(']'),
            '{' => closers.push('}'),
            ')' | ']' | '}' if closers.pop() != Some(character) => return Err(mismatch()),
            ',' if closers.is_empty() => {
                parts.push(&text[first..at]);
                first = at + 1;
            }
            _ => {}
        }
    }
    if !closers.is_empty() {
        return Err(mismatch());
    }
    parts.push(&text[first..]);
    Ok(parts)
}

impl Parsed {
    /// Whether it is made of this estimate, among others.
    pub fn mentions(&self, derived: Derived) -> bool {
        fn is_in(terms: &[Term], derived: Derived) -> bool {
            terms.iter().any(|term| match term {
                Term::Derived(other, _) => *other == derived,
                Term::Expression(_) => false,
                Term::Sum(terms) => is_in(terms, derived),
            })
        }
        match &self.request {
            Request::Auto => false,
            Request::Maximum(terms) => is_in(terms, derived),
        }
    }

    /// As one would write it.
    pub fn text(&self) -> String {
        match &self.request {
            Request::Auto => AUTO.to_owned(),
            Request::Maximum(terms) => self.list(terms),
        }
    }

    fn list(&self, terms: &[Term]) -> String {
        let term = |term: &Term| match term {
            Term::Derived(derived, None) => derived.name().to_owned(),
            Term::Derived(derived, Some(name)) => format!("{}:{name}", derived.name()),
            Term::Expression(number) => format!("{EXPRESSION}{}", self.expressions[*number]),
            Term::Sum(terms) => format!("sum({})", self.list(terms)),
        };
        let terms: Vec<String> = terms.iter().map(term).collect();
        terms.join(",")
    }
}

impl fmt::Display for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::{Parsed, RequestError};

    #[test]
    fn a_request_is_a_list_of_names_sums_and_expressions() {
        for text in [
            "auto",
            "active",
            "active,formula",
            "sum(active,formula),control",
            "sum(formula)",
            "expr:max(x, y[2,3]) + 1,active",
            "hamming,expr:{a, b}",
            "sum(expr:x,sum(blocked,active))",
            "formula:at most one writes,sum(control:no (two) at once)",
        ] {
            let parsed = Parsed::new(text).expect(text);
            assert_eq!(parsed.text(), text);
        }
        let spaced = Parsed::new(" active , sum ( formula ) ").expect("blanks are allowed");
        assert_eq!(spaced.text(), "active,sum(formula)");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let error = |text: &str| Parsed::new(text).expect_err(text);
        assert_eq!(error("activ"), RequestError::Unknown("activ".to_owned()));
        for text in ["", "active,", "expr:", "sum()", ",", "expr: ,active"] {
            assert!(matches!(error(text), RequestError::Missing(_)), "{text}");
        }
        for text in ["sum(active", "active)", "expr:(x]"] {
            assert!(
                matches!(error(text), RequestError::Parentheses(_)),
                "{text}"
            );
        }
        assert_eq!(error("auto,active"), RequestError::NotAlone);
        assert_eq!(error("sum(auto)"), RequestError::NotAlone);
    }
}
