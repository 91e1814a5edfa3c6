//! Expressions from outside the text of a model: what is looked for, what steps cost, and how far a
//! state is from a violation.
//!
//! They are written in the language of the model and use its names. A front-end takes them along
//! with the text through all its stages, so the container is generic: of texts first, then of
//! trees, then of what these are lowered to.

/// What there is from outside, as texts, trees or whatever a stage makes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside<T> {
    /// A condition: a state where it holds is looked for.
    pub goal: Option<T>,
    /// What a step costs, in the state that it leads to.
    pub cost: Option<T>,
    /// Estimates of the cost from a state to a violation.
    pub estimates: Vec<T>,
}

/// What an expression from outside is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideRole {
    /// It is looked for.
    Goal,
    /// It is the cost of a step.
    Cost,
    /// It is the estimate of this number, from 0 on.
    Estimate(usize),
}

impl OutsideRole {
    /// What its text is called in positions.
    pub fn file_name(self) -> String {
        match self {
            OutsideRole::Goal => "<goal>".to_owned(),
            OutsideRole::Cost => "<cost>".to_owned(),
            OutsideRole::Estimate(index) => format!("<heuristic {}>", index + 1),
        }
    }

    /// What it is in a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            OutsideRole::Goal => "the goal",
            OutsideRole::Cost => "the cost",
            OutsideRole::Estimate(_) => "the heuristic",
        }
    }

    /// What anything of the kind is in a sentence.
    pub fn any(self) -> &'static str {
        match self {
            OutsideRole::Goal => "a goal",
            OutsideRole::Cost => "a cost",
            OutsideRole::Estimate(_) => "a heuristic",
        }
    }
}

impl<T> Outside<T> {
    /// The same, by reference.
    pub fn as_ref(&self) -> Outside<&T> {
        Outside {
            goal: self.goal.as_ref(),
            cost: self.cost.as_ref(),
            estimates: self.estimates.iter().collect(),
        }
    }

    /// What a stage makes of each: goal, cost and estimates in this order.
    pub fn map<U>(self, mut f: impl FnMut(OutsideRole, T) -> U) -> Outside<U> {
        let estimates = self.estimates.into_iter().enumerate();
        Outside {
            goal: self.goal.map(|it| f(OutsideRole::Goal, it)),
            cost: self.cost.map(|it| f(OutsideRole::Cost, it)),
            estimates: estimates
                .map(|(index, it)| f(OutsideRole::Estimate(index), it))
                .collect(),
        }
    }

    /// As [`map`](Self::map), up to the first failure.
    pub fn try_map<U, E>(
        self,
        mut f: impl FnMut(OutsideRole, T) -> Result<U, E>,
    ) -> Result<Outside<U>, E> {
        let estimates = self.estimates.into_iter().enumerate();
        let goal = self.goal.map(|it| f(OutsideRole::Goal, it));
        let cost = self.cost.map(|it| f(OutsideRole::Cost, it));
        Ok(Outside {
            goal: goal.transpose()?,
            cost: cost.transpose()?,
            estimates: estimates
                .map(|(index, it)| f(OutsideRole::Estimate(index), it))
                .collect::<Result<_, E>>()?,
        })
    }
}

impl<T> Default for Outside<T> {
    fn default() -> Self {
        Outside {
            goal: None,
            cost: None,
            estimates: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_come_in_one_order_and_have_files_of_their_own() {
        let all = Outside {
            goal: Some("g"),
            cost: Some("c"),
            estimates: vec!["a", "b"],
        };
        let mut seen = Vec::new();
        let named = all.map(|role, text| {
            seen.push(text);
            role.file_name()
        });
        assert_eq!(seen, ["g", "c", "a", "b"]);
        assert_eq!(named.goal.as_deref(), Some("<goal>"));
        assert_eq!(named.cost.as_deref(), Some("<cost>"));
        assert_eq!(named.estimates, ["<heuristic 1>", "<heuristic 2>"]);
    }
}
