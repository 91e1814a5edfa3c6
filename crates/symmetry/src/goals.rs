//! What a renaming does to the goals of a program.
//!
//! The instances of a property with scalarset parameters are renamed like anything else: after the
//! exchange of `p` and `q`, the instance of `p` is that of `q`.
//!
//! Where the startstates are closed under renamings (which is checked where it matters), so are
//! the reachable states, so instances that a renaming turns into each other are covered together;
//! but a search visits only one state of each orbit, and may thus see only one of the instances
//! reached. Hence a representative that reaches one covers them all.
//! Instances fall into orbits by which of their parameters are equal: `(p, p)` is never renamed to
//! `(p, q)`.

use std::collections::HashMap;

use hadal_ir::goals::{GoalProperty, Goals};
use hadal_ir::{Program, PropertyKind, ScalarsetId, Simple, SimpleKind, TypeId, UnionPart};

use crate::Permutation;
use crate::action::Action;

/// The group's action on the goals of one program.
#[derive(Clone, Debug)]
pub(crate) struct GoalAction {
    n_goals: u32,
    /// The properties with parameters that a renaming can change.
    moved: Vec<GoalProperty>,
    /// Whether a liveness property is among them: images of others are not used.
    moves_liveness: bool,
    /// By scalarset, whether its elements are parameters of goals.
    scalarsets: Vec<bool>,
    /// Orbits of goals of covers, those of a single goal left out.
    cover_orbits: Vec<Vec<u32>>,
}

impl GoalAction {
    /// The action on the goals of `program`.
    pub(crate) fn new(program: &Program, action: &Action) -> Self {
        let Goals {
            mut properties,
            n_goals,
            ..
        } = Goals::new(program);
        properties.retain(|property| {
            let mut digits = property.digits.iter();
            digits.any(|digit| digit.ty.is_some_and(|ty| action.moves(ty)))
        });
        let is_cover = |property: &&GoalProperty| property.kind == PropertyKind::Cover;
        let cover_orbits = (properties.iter().filter(is_cover))
            .flat_map(|property| orbits(action, property))
            .filter(|orbit| orbit.len() > 1);
        let mut scalarsets = vec![false; program.types.scalarsets.len()];
        let digits = properties.iter().flat_map(|property| &property.digits);
        for simple in digits.filter_map(|digit| action.types.simple(digit.ty?)) {
            match &simple.kind {
                SimpleKind::Scalarset(id) => scalarsets[id.index()] = true,
                SimpleKind::Union(parts) => {
                    for part in parts {
                        if let UnionPart::Scalarset(id) = part {
                            scalarsets[id.index()] = true;
                        }
                    }
                }
                SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => {}
            }
        }
        GoalAction {
            n_goals,
            scalarsets,
            moves_liveness: !properties.iter().all(|property| is_cover(&property)),
            cover_orbits: cover_orbits.collect(),
            moved: properties,
        }
    }

    /// Whether some goals concern single elements. Representatives decide these only if
    /// the startstates, and so the reachable states, are closed under renamings.
    pub(crate) fn needs_symmetric_starts(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Whether following liveness goals through renamings makes a difference.
    pub(crate) fn moves(&self) -> bool {
        self.moves_liveness
    }

    /// By scalarset, whether its elements are parameters of goals.
    pub(crate) fn scalarsets(&self) -> &[bool] {
        &self.scalarsets
    }

    /// Appends the image of each goal. Returns whether one of them moves.
    pub(crate) fn append_images(
        &self,
        action: &Action,
        renaming: &Permutation,
        images: &mut Vec<u32>,
    ) -> bool {
        let begin = images.len();
        images.extend(0..self.n_goals);
        if renaming.is_identity() {
            return false;
        }
        let images = &mut images[begin..];
        let mut moves = false;
        for property in &self.moved {
            for goal in property.goals() {
                let mut image = i64::from(goal);
                for (digit, position) in property.positions(goal) {
                    if let Some(simple) = digit.ty.and_then(|ty| action.types.simple(ty)) {
                        let position = i64::from(position);
                        let renamed = action.renamed(simple, position, renaming);
                        image += (renamed - position) * i64::from(digit.stride);
                    }
                }
                moves |= image != i64::from(goal);
                images[goal as usize] = image as u32;
            }
        }
        moves
    }

    /// Where a goal of a cover is reached by a state, marks its whole orbit.
    pub(crate) fn spread_covers(&self, reached: &mut [u64], n_states: usize) {
        if self.cover_orbits.is_empty() {
            return;
        }
        let n_words = reached.len() / n_states.max(1);
        for state in reached.chunks_exact_mut(n_words) {
            for orbit in &self.cover_orbits {
                let is_reached = |&goal: &u32| state[goal as usize / 64] >> (goal % 64) & 1 == 1;
                if orbit.iter().any(is_reached) {
                    for &goal in orbit {
                        state[goal as usize / 64] |= 1 << (goal % 64);
                    }
                }
            }
        }
    }
}

/// What no renaming changes about a parameter of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    /// A value that stays.
    Value(u32),
    /// An element, by its scalarset and the first parameter that is the same element.
    Element(ScalarsetId, usize),
}

/// The instances of a property, by orbit.
fn orbits(action: &Action, property: &GoalProperty) -> Vec<Vec<u32>> {
    let mut number_of: HashMap<Vec<Pattern>, usize> = HashMap::new();
    let mut orbits: Vec<Vec<u32>> = Vec::new();
    let mut elements: Vec<Option<(ScalarsetId, u32)>> = Vec::new();
    for goal in property.goals() {
        elements.clear();
        let pattern = property.positions(goal).map(|(digit, position)| {
            let element = digit.ty.and_then(|ty| element(action, ty, position));
            elements.push(element);
            match element {
                None => Pattern::Value(position),
                Some((scalarset, _)) => {
                    let first = elements.iter().position(|other| *other == element);
                    Pattern::Element(scalarset, first.unwrap_or(elements.len()))
                }
            }
        });
        let pattern: Vec<Pattern> = pattern.collect();
        let number = *number_of.entry(pattern).or_insert(orbits.len());
        if number == orbits.len() {
            orbits.push(Vec::new());
        }
        orbits[number].push(goal);
    }
    orbits
}

/// The element that the value of a type at a position is, if it is one.
fn element(action: &Action, ty: TypeId, position: u32) -> Option<(ScalarsetId, u32)> {
    let simple: &Simple = action.types.simple(ty)?;
    match &simple.kind {
        SimpleKind::Scalarset(id) => Some((*id, position)),
        SimpleKind::Union(parts) => {
            let mut first = 0;
            for part in parts {
                let n = action.types.union_part_len(part) as u32;
                if position - first < n {
                    return match part {
                        UnionPart::Enum(_) => None,
                        UnionPart::Scalarset(id) => Some((*id, position - first)),
                    };
                }
                first += n;
            }
            None
        }
        SimpleKind::Boolean | SimpleKind::Range | SimpleKind::Enum(_) => None,
    }
}
