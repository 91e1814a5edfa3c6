//! What is fixed about a model before its first state: lengths, components, rules, properties.

/// The fixed facts about a model.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Length of a state in bits, before rounding up to bytes.
    pub state_bits: usize,
    /// The last bits of a state that are *registers*: a state is at rest where they are 0. They begin
    /// at a byte, so a state at rest is known by the bytes before them. None for most models.
    pub register_bits: usize,
    /// Length of a state in bytes. States are equal if and only if these bytes are.
    pub state_len: usize,
    /// The named parts of a state, in the order of their bits.
    pub components: Vec<Component>,
    /// The rules, in the order of their numbers in [`Successors::rule`](crate::Successors::rule).
    pub rules: Vec<Rule>,
    /// The properties, in declaration order.
    pub properties: Vec<Property>,
    /// What some state or step must reach, an entry per instance of a property.
    pub goals: Vec<Goal>,
    /// Numbers that states have, for searches that are directed or weighed; at most one of a kind.
    pub measures: Vec<Measure>,
    /// Whether [`Source::may_end`](crate::Source::may_end) is ever set: the model says where it may
    /// end.
    pub has_ends: bool,
    /// Memory that an expander takes at least, beside its stack and what it is passed, where that is
    /// worth counting. A search has one for each thread.
    pub expander_bytes: u64,
}

impl Shape {
    /// Words of 64 goal bits that [`reach_goals`](crate::Expander::reach_goals) fills per state.
    pub fn goal_words(&self) -> usize {
        self.goals.len().div_ceil(64)
    }
}

/// A named range of bits of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The variable's name.
    pub name: String,
    /// First bit, counted from the most significant bit of the first byte.
    pub first_bit: usize,
    /// Number of bits.
    pub n_bits: usize,
}

/// A rule: a family of transitions that share a name and a place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, unique enough for people.
    pub name: String,
    /// Where it stands, as `file:line:column`.
    pub at: String,
    /// Bits of the state its guard and body may read.
    pub reads: BitRanges,
    /// Bits of the state its body may write.
    pub writes: BitRanges,
    /// What a firing costs.
    pub cost: u32,
}

impl Default for Rule {
    fn default() -> Self {
        Rule {
            name: String::new(),
            at: String::new(),
            reads: BitRanges::default(),
            writes: BitRanges::default(),
            cost: 1,
        }
    }
}

/// A number that each state has ([`measure`](crate::Expander::measure)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What it stands for.
    pub kind: MeasureKind,
    /// What it is called, for people: the heuristic or expression as it was asked for.
    pub name: String,
}

/// What a number of a state stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureKind {
    /// An estimate of what a run from the state to a violation costs.
    Estimate {
        /// Whether it is proved that it is never more than what a run to a state costs in which an
        /// invariant is false.
        is_admissible: bool,
    },
    /// What each step to the state costs, in place of the [cost](crate::Successors::cost) it has of
    /// its own.
    Cost,
}

/// A property of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// What it asks.
    pub kind: PropertyKind,
    /// Its name or message.
    pub name: String,
    /// Where it stands, as `file:line:column`.
    pub at: String,
}

/// What a property asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// True in every reachable state.
    Invariant,
    /// True in some reachable state, or during some step.
    Cover,
    /// From every reachable state, a state where it is true can be reached.
    Liveness,
    /// True in no reachable state, where someone looks for one: where it is true, the state fails.
    Goal,
    /// About whole runs, as an automaton or formula. No search of the model alone decides it: where
    /// nothing else is violated, it is left open.
    Claim,
}

impl PropertyKind {
    /// The name used in the run record.
    pub fn name(self) -> &'static str {
        match self {
            PropertyKind::Invariant => "invariant",
            PropertyKind::Cover => "cover",
            PropertyKind::Liveness => "liveness",
            PropertyKind::Goal => "goal",
            PropertyKind::Claim => "claim",
        }
    }
}

/// One instance of a property that must be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Index into [`Shape::properties`].
    pub property: u32,
    /// How it is reached.
    pub kind: GoalKind,
    /// The parameters of this instance, by name.
    pub parameters: Vec<(String, String)>,
}

/// How a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalKind {
    /// By a state; see [`reach_goals`](crate::Expander::reach_goals).
    CoverState,
    /// By a step; see [`Successors::goal_hits`](crate::Successors::goal_hits).
    CoverStep,
    /// By a state, from every state.
    Liveness,
}

/// A set of bit positions of the state, as sorted, disjoint, non-adjacent ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitRanges {
    ranges: Vec<(usize, usize)>,
}

impl BitRanges {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the bits from `first` (included) to `end` (excluded).
    pub fn insert(&mut self, first: usize, end: usize) {
        if first >= end {
            return;
        }
        let from = self.ranges.partition_point(|range| range.1 < first);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        let merged = self.ranges[from..to]
            .iter()
            .fold((first, end), |sum, range| {
                (sum.0.min(range.0), sum.1.max(range.1))
            });
        self.ranges.splice(from..to, [merged]);
    }

    /// Adds every bit of `other`.
    pub fn extend(&mut self, other: &BitRanges) {
        for &(first, end) in &other.ranges {
            self.insert(first, end);
        }
    }

    /// Whether the two sets have a bit in common.
    pub fn intersects(&self, other: &BitRanges) -> bool {
        let (mut a, mut b) = (
            self.ranges.iter().peekable(),
            other.ranges.iter().peekable(),
        );
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            if x.0 < y.1 && y.0 < x.1 {
                return true;
            }
            if x.1 <= y.1 {
                a.next()
            } else {
                b.next()
            };
        }
        false
    }

    /// The ranges as (first, end), sorted.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.ranges.iter().copied()
    }

    /// Whether no bit is in the set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `bit` is in the set.
    pub fn contains(&self, bit: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= bit);
        after > 0 && bit < self.ranges[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::BitRanges;

    #[test]
    fn ranges_agree_with_a_plain_set_of_bits() {
        // A small deterministic generator; the plain set is the oracle.
        let mut seed = 7u32;
        let mut next = |n: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % n
        };
        for _ in 0..200 {
            let (mut ranges, mut plain) = (BitRanges::new(), [false; 64]);
            let (mut other, mut other_plain) = (BitRanges::new(), [false; 64]);
            for _ in 0..next(8) {
                let first = next(60) as usize;
                let end = (first + next(9) as usize).min(64);
                ranges.insert(first, end);
                plain[first..end].fill(true);
            }
            for _ in 0..next(4) {
                let first = next(60) as usize;
                other.insert(first, first + 2);
                other_plain[first..first + 2].fill(true);
            }
            for (bit, &expected) in plain.iter().enumerate() {
                assert_eq!(ranges.contains(bit), expected);
            }
            let meet = (0..64).any(|bit| plain[bit] && other_plain[bit]);
            assert_eq!(ranges.intersects(&other), meet);
            assert!(
                ranges
                    .iter()
                    .zip(ranges.iter().skip(1))
                    .all(|(a, b)| a.1 < b.0)
            );
        }
    }
}
