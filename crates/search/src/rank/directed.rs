//! Orders of directed search: by estimates of what is left to a violation.

use std::fmt;

use super::{Rank, RankOrder, Steps, TooCostly};

/// Ranks states by the cost of a path and an estimate of what is left, f = g + W h, and those of one
/// f by g: the algorithm A*.
///
/// f is in the upper half of a rank and g in the lower one. A step along which h falls by more than
/// its cost leads to a lower rank. So a state may be expanded before the cheapest path to it is known,
/// and is then opened again.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByTotal {
    /// W.
    pub weight: Weight,
}

/// By how much an estimate counts more than a cost: 1 or more, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    thousandths: u32,
}

impl Default for Weight {
    fn default() -> Self {
        Weight { thousandths: 1000 }
    }
}

impl Weight {
    /// The greatest weight.
    pub const MOST: u32 = 1000;

    /// A weight of this many thousandths, if it is from 1 to [`MOST`](Self::MOST).
    pub fn from_thousandths(thousandths: u32) -> Option<Self> {
        let is_valid = (1000..=1000 * Self::MOST).contains(&thousandths);
        is_valid.then_some(Weight { thousandths })
    }

    /// In thousandths.
    pub fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// The weight that `text` gives as a decimal number of at most three decimals, such as `1.5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 3 {
            return None;
        }
        let thousandths: u32 = format!("{decimals:0<3}").parse().ok()?;
        let whole: u32 = whole.parse().ok()?;
        Self::from_thousandths(whole.checked_mul(1000)?.checked_add(thousandths)?)
    }

    /// W h, rounded down.
    fn times(self, estimate: u32) -> u64 {
        u64::from(estimate) * u64::from(self.thousandths) / 1000
    }

    /// The h of which `weighted` is W h: no two have the same.
    fn estimate_of(self, weighted: u32) -> u32 {
        let least = (u64::from(weighted) * 1000).div_ceil(u64::from(self.thousandths));
        least as u32
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.thousandths / 1000, self.thousandths % 1000);
        match decimals {
            0 => write!(f, "{whole}"),
            _ => {
                let decimals = format!("{decimals:03}");
                write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
            }
        }
    }
}

impl RankOrder for ByTotal {
    fn name(&self) -> &'static str {
        "a-star"
    }

    fn identity(&self) -> String {
        format!("a-star, weight {}", self.weight)
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        let from = steps.from.map_or(0, |from| from.0 & u64::from(u32::MAX));
        for position in 0..steps.len() {
            let cost = from + u64::from(steps.cost(position));
            let total = cost + self.weight.times(steps.estimate(position));
            if total > u64::from(u32::MAX) {
                return Err(TooCostly);
            }
            ranks.push(Rank(total << 32 | cost));
        }
        Ok(())
    }

    fn needs_costs(&self) -> bool {
        true
    }

    fn needs_estimates(&self) -> bool {
        true
    }

    fn may_reopen(&self) -> bool {
        true
    }

    fn cost_of(&self, rank: Rank) -> Option<u64> {
        Some(rank.0 & u64::from(u32::MAX))
    }

    fn estimate_of(&self, rank: Rank) -> Option<u32> {
        let (total, cost) = ((rank.0 >> 32) as u32, rank.0 as u32);
        Some(self.weight.estimate_of(total - cost))
    }

    fn is_first_least(&self, is_admissible: bool) -> bool {
        is_admissible && self.weight == Weight::default()
    }
}

/// Ranks states by the estimate alone: greedy best-first search. No state is expanded twice, and the
/// costs of paths do not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByEstimate;

impl RankOrder for ByEstimate {
    fn name(&self) -> &'static str {
        "best-first"
    }

    fn rank_successors(&self, steps: &Steps<'_>, ranks: &mut Vec<Rank>) -> Result<(), TooCostly> {
        let rank = |position| Rank(u64::from(steps.estimate(position)));
        ranks.extend((0..steps.len()).map(rank));
        Ok(())
    }

    /// Not for ranks, but to count the steps along which the estimate falls by more than they cost.
    fn needs_costs(&self) -> bool {
        true
    }

    fn needs_estimates(&self) -> bool {
        true
    }

    fn estimate_of(&self, rank: Rank) -> Option<u32> {
        u32::try_from(rank.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Weight;

    #[test]
    fn a_weight_is_a_decimal_number() {
        for (text, shown) in [
            ("1", "1"),
            ("1.5", "1.5"),
            ("2.250", "2.25"),
            ("1000", "1000"),
        ] {
            let weight = Weight::parse(text).expect("it is a weight");
            assert_eq!(weight.to_string(), shown);
        }
        for text in [
            "",
            "0",
            "0.9",
            "1.",
            ".5",
            "1.0001",
            "1000.1",
            "-2",
            "1e3",
            "99999999999",
        ] {
            assert_eq!(Weight::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_estimate_is_known_by_its_weighted_value() {
        for thousandths in [1000, 1001, 1499, 1500, 1999, 2000, 3333, 1_000_000] {
            let weight = Weight::from_thousandths(thousandths).expect("it is a weight");
            for estimate in (0..3000).chain([65_536, 4_294_000]) {
                let Ok(weighted) = u32::try_from(weight.times(estimate)) else {
                    continue;
                };
                assert_eq!(weight.estimate_of(weighted), estimate, "{thousandths}");
            }
        }
        let refused = [0, 999, 1_000_001, u32::MAX].map(Weight::from_thousandths);
        assert_eq!(refused, [None; 4]);
    }
}
