//! The different ways in which edges rename the liveness goals, each of them held once.

use std::collections::HashMap;

use hadal_model::{GoalKind, Shape};

/// The map that leaves every goal what it is.
pub(super) const IDENTITY: u32 = 0;

/// Numbered maps of the liveness goals, which are counted among themselves here: a map says for
/// each of them which one it becomes.
#[derive(Debug, Default)]
pub(super) struct Maps {
    /// The numbers of the liveness goals in the shape, in order.
    goals: Vec<u32>,
    /// By number of a goal in the shape, its position in `goals`, if it is there.
    positions: Vec<u32>,
    /// By number, but for the identity.
    maps: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// The map that is looked for.
    wanted: Vec<u32>,
}

impl Maps {
    /// Only the identity.
    pub(super) fn new(shape: &Shape) -> Self {
        let mut maps = Maps {
            positions: vec![u32::MAX; shape.goals.len()],
            ..Maps::default()
        };
        for (goal, entry) in shape.goals.iter().enumerate() {
            if entry.kind == GoalKind::Liveness {
                maps.positions[goal] = maps.goals.len() as u32;
                maps.goals.push(goal as u32);
            }
        }
        maps
    }

    /// The numbers of the liveness goals in the shape.
    pub(super) fn goals(&self) -> &[u32] {
        &self.goals
    }

    /// The number of the map that makes of each goal of the shape what `images` says.
    pub(super) fn number_of(&mut self, images: &[u32]) -> u32 {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        let image = |&goal: &u32| self.positions[images[goal as usize] as usize];
        wanted.extend(self.goals.iter().map(image));
        let number = self.number_of_map(&wanted);
        self.wanted = wanted;
        number
    }

    /// The number of a map, if it has one.
    pub(super) fn known(&self, map: &[u32]) -> Option<u32> {
        match map.iter().enumerate().all(|(goal, &to)| goal as u32 == to) {
            true => Some(IDENTITY),
            false => self.numbers.get(map).copied(),
        }
    }

    /// The number of a map, which gets one if it has none.
    pub(super) fn number_of_map(&mut self, map: &[u32]) -> u32 {
        debug_assert!(map.iter().all(|&goal| (goal as usize) < self.goals.len()));
        if let Some(number) = self.known(map) {
            return number;
        }
        let number = self.maps.len() as u32 + 1;
        self.maps.push(map.into());
        self.numbers.insert(map.into(), number);
        number
    }

    /// Adds all maps of `other`; returns their numbers here by their numbers there.
    pub(super) fn add_all(&mut self, other: &Maps) -> Vec<u32> {
        let added = other.maps.iter().map(|map| self.number_of_map(map));
        let mut numbers = vec![IDENTITY];
        numbers.extend(added);
        numbers
    }

    /// Whether only the identity is there.
    pub(super) fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// Number of maps but for the identity.
    pub(super) fn len(&self) -> usize {
        self.maps.len()
    }

    /// The maps in the order of their numbers, but for the identity.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.maps.iter().map(|map| &**map)
    }

    /// Memory held by the maps, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        // Each is there twice, and an entry of a table is rarely the only one of its places.
        (self.maps.len() * (8 * self.goals.len() + 96)) as u64
    }

    /// Memory of a map of `n_goals` goals and of its inverse, in bytes.
    pub(super) fn bytes_for(n_goals: usize) -> u64 {
        (12 * n_goals + 96) as u64
    }

    /// The goals by image instead of images by goal, one map after the other, for walking back.
    pub(super) fn inverted(&self) -> Inverses {
        let n_goals = self.goals.len();
        let mut origins = vec![0; (self.maps.len() + 1) * n_goals];
        let identity = 0..n_goals as u32;
        for (goal, origin) in identity.zip(&mut origins) {
            *origin = goal;
        }
        for (number, map) in self.maps.iter().enumerate() {
            let origins = &mut origins[(number + 1) * n_goals..][..n_goals];
            for (goal, &image) in map.iter().enumerate() {
                origins[image as usize] = goal as u32;
            }
        }
        Inverses { n_goals, origins }
    }

    /// Memory that the inverses take, in bytes.
    pub(super) fn inverted_bytes(&self) -> u64 {
        (4 * (self.maps.len() + 1) * self.goals.len()) as u64
    }
}

/// The maps, backwards.
#[derive(Debug)]
pub(super) struct Inverses {
    n_goals: usize,
    origins: Vec<u32>,
}

impl Inverses {
    /// The identity of `n_goals` goals.
    #[cfg(test)]
    pub(super) fn identity(n_goals: usize) -> Self {
        Inverses {
            n_goals,
            origins: (0..n_goals as u32).collect(),
        }
    }

    /// Number of maps, the identity included.
    pub(super) fn len(&self) -> usize {
        self.origins.len() / self.n_goals.max(1)
    }

    /// The goal that a map turns into `image`.
    pub(super) fn origin(&self, map: u32, image: usize) -> usize {
        self.origins[map as usize * self.n_goals + image] as usize
    }
}
