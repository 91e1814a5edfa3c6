//! The graph of all states, and the walk back from the goals.

use hadal_model::Shape;

use super::maps::{IDENTITY, Inverses, Maps};
use super::resident::Edges;
use crate::strategy::Decided;

/// The edges of all states, block by block, and who reaches the liveness goals.
pub(super) struct Graph {
    n_states: usize,
    goal_words: usize,
    blocks: Vec<Edges>,
    n_edges: usize,
    maps: Maps,
    reached: Rows,
    n_seen: usize,
    /// Of everything but the maps.
    bytes: u64,
    spare_bytes: u64,
}

impl Graph {
    /// `None` if not even the bits of the goals fit, or states have numbers too large for edges.
    pub(super) fn new(shape: &Shape, n_states: u64, spare_bytes: u64) -> Option<Self> {
        let maps = Maps::new(shape);
        let n_goals = maps.goals().len();
        let bytes = Rows::bytes_for(n_states, n_goals);
        // Only a machine with far more memory than this engine is made for gets past 32 bits.
        if u32::try_from(n_states).is_err() || bytes > spare_bytes {
            return None;
        }
        let n_states = n_states as usize;
        Some(Graph {
            n_states,
            goal_words: shape.goal_words(),
            blocks: Vec::new(),
            n_edges: 0,
            reached: Rows::new(n_states, n_goals),
            maps,
            n_seen: 0,
            bytes,
            spare_bytes,
        })
    }

    /// Whether there is room for `n_edges` edges, walked backwards.
    pub(super) fn fits_with(&self, n_edges: u64) -> bool {
        let edges = n_edges.saturating_mul(8) + 4 * self.n_states as u64;
        let needed = self.data_bytes() + self.reversing_bytes();
        needed.saturating_add(edges) <= self.spare_bytes
    }

    /// Adds the next block; says whether there is room to go on.
    pub(super) fn add(&mut self, mut edges: Edges) -> bool {
        for (position, &goal) in self.maps.goals().iter().enumerate() {
            let goal = goal as usize;
            for state in 0..edges.degrees.len() {
                let word = edges.reached[state * self.goal_words + goal / 64];
                if (word >> (goal % 64)) & 1 == 1 {
                    self.reached.set(self.n_seen + state, position);
                }
            }
        }
        edges.reached = Vec::new();
        // From now on the numbers are those of all blocks together.
        let numbers = self.maps.add_all(&edges.maps);
        edges.maps = Maps::default();
        for map in &mut edges.map_of {
            *map = numbers[*map as usize];
        }
        self.n_seen += edges.degrees.len();
        self.n_edges += edges.targets.len();
        let words = edges.degrees.capacity() + edges.targets.capacity() + edges.map_of.capacity();
        self.bytes += (4 * words + size_of::<Edges>()) as u64;
        self.blocks.push(edges);
        self.data_bytes() + self.reversing_bytes() <= self.spare_bytes
    }

    /// Memory held, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        self.bytes + self.maps.data_bytes()
    }

    fn is_renamed(&self) -> bool {
        self.maps.data_bytes() > 0
    }

    /// Memory to hold the reversed edges and to walk them, in bytes.
    pub(super) fn reversing_bytes(&self) -> u64 {
        let words_an_edge = if self.is_renamed() { 2 } else { 1 };
        // Where the sources of a state end, and the states that wait.
        (4 * words_an_edge * self.n_edges + 8 * (self.n_states + 1) + 4 * self.n_states) as u64
            + Rows::bytes_for(self.n_states as u64, self.maps.goals().len())
            + self.maps.inverted_bytes()
    }

    pub(super) fn reverse(self) -> Reversed {
        let mut ends = vec![0usize; self.n_states + 1];
        for target in self.blocks.iter().flat_map(|block| &block.targets) {
            ends[*target as usize + 1] += 1;
        }
        for state in 0..self.n_states {
            ends[state + 1] += ends[state];
        }
        let n_maps = if self.is_renamed() { self.n_edges } else { 0 };
        let (mut sources, mut map_of) = (vec![0; self.n_edges], vec![IDENTITY; n_maps]);
        let mut source = 0u32;
        // While sources are filled in, `ends[s]` is where the next source of `s` goes; it ends up
        // at the end of the sources of `s`, which is where those of the state after begin.
        for block in self.blocks {
            let mut edges = block.targets.iter().enumerate();
            for degree in block.degrees {
                for (edge, &target) in edges.by_ref().take(degree as usize) {
                    let end = &mut ends[target as usize];
                    sources[*end] = source;
                    if let Some(&map) = block.map_of.get(edge) {
                        map_of[*end] = map;
                    }
                    *end += 1;
                }
                source += 1;
            }
        }
        Reversed {
            n_states: self.n_states,
            ends,
            sources,
            map_of,
            inverses: self.maps.inverted(),
            goals: self.maps.goals().to_vec(),
            reached: self.reached,
        }
    }
}

/// The edges by target.
pub(super) struct Reversed {
    n_states: usize,
    /// By target, where its sources end.
    ends: Vec<usize>,
    sources: Vec<u32>,
    /// By source, the map of the edge; empty where all maps are the identity.
    map_of: Vec<u32>,
    inverses: Inverses,
    /// The numbers of the liveness goals in the shape.
    goals: Vec<u32>,
    /// By state, the goals that are known to be reachable from it.
    reached: Rows,
}

impl Reversed {
    /// For each goal, the least state that has no way to it; `None` if stopped.
    pub(super) fn decide(mut self, is_stopped: &dyn Fn() -> bool) -> Option<Decided> {
        if !self.walk_back(is_stopped) {
            return None;
        }
        let mut least = vec![None; self.goals.len()];
        let mut n_open = least.len();
        for state in 0..self.n_states {
            if n_open == 0 {
                break;
            }
            for (position, least) in least.iter_mut().enumerate() {
                if least.is_none() && !self.reached.get(state, position) {
                    *least = Some(state as u64);
                    n_open -= 1;
                }
            }
        }
        let goals = self.goals.iter().map(|&goal| goal as usize);
        Some(goals.zip(least).collect())
    }

    /// Carries the goals from each state to its sources until nothing changes. Whether it was not
    /// stopped before.
    fn walk_back(&mut self, is_stopped: &dyn Fn() -> bool) -> bool {
        let n_goals = self.goals.len();
        // The goals of a state that its sources have not heard of. A state waits once, while it
        // has some.
        let mut fresh = self.reached.clone();
        let mut waiting: Vec<u32> = Vec::with_capacity(self.n_states);
        let has_goals = |&state: &u32| fresh.has_any(state as usize);
        waiting.extend((0..self.n_states as u32).filter(has_goals));
        let mut news: Vec<u64> = vec![0; n_goals.div_ceil(64)];
        let mut n_steps = 0u32;
        while let Some(state) = waiting.pop() {
            n_steps = n_steps.wrapping_add(1);
            if n_steps.is_multiple_of(1 << 16) && is_stopped() {
                return false;
            }
            let state = state as usize;
            for (part, word) in news.iter_mut().enumerate() {
                *word = fresh.take(state, part);
            }
            let begin = if state == 0 { 0 } else { self.ends[state - 1] };
            for edge in begin..self.ends[state] {
                let source = self.sources[edge] as usize;
                let map = self.map_of.get(edge).copied().unwrap_or(IDENTITY);
                let waits = fresh.has_any(source);
                let mut learns = false;
                for (part, &word) in news.iter().enumerate() {
                    if map == IDENTITY {
                        let unknown = word & !self.reached.part(source, part);
                        if unknown != 0 {
                            self.reached.add(source, part, unknown);
                            fresh.add(source, part, unknown);
                            learns = true;
                        }
                        continue;
                    }
                    let mut left = word;
                    while left != 0 {
                        let image = 64 * part + left.trailing_zeros() as usize;
                        left &= left - 1;
                        let goal = self.inverses.origin(map, image);
                        if !self.reached.get(source, goal) {
                            self.reached.set(source, goal);
                            fresh.set(source, goal);
                            learns = true;
                        }
                    }
                }
                if learns && !waits {
                    waiting.push(source as u32);
                }
            }
        }
        true
    }
}

/// A set of goals for each state, packed: there may be one goal and a billion states.
///
/// A row is looked at in parts of 64 goals, the last of which may be shorter.
#[derive(Clone, Debug)]
struct Rows {
    n_goals: usize,
    words: Vec<u64>,
}

impl Rows {
    fn new(n_states: usize, n_goals: usize) -> Self {
        Rows {
            n_goals,
            // A part may be read across the end of its last word.
            words: vec![0; (n_states * n_goals).div_ceil(64) + 1],
        }
    }

    /// Memory in bytes.
    fn bytes_for(n_states: u64, n_goals: usize) -> u64 {
        n_states.saturating_mul(n_goals as u64) / 8 + 16
    }

    fn get(&self, state: usize, goal: usize) -> bool {
        let at = state * self.n_goals + goal;
        (self.words[at / 64] >> (at % 64)) & 1 == 1
    }

    fn set(&mut self, state: usize, goal: usize) {
        let at = state * self.n_goals + goal;
        self.words[at / 64] |= 1 << (at % 64);
    }

    fn n_parts(&self) -> usize {
        self.n_goals.div_ceil(64)
    }

    /// First bit of a part, and a one for each of its goals.
    fn locate(&self, state: usize, part: usize) -> (usize, u64) {
        let n = (self.n_goals - 64 * part).min(64);
        (
            state * self.n_goals + 64 * part,
            u64::MAX >> (64 - n as u32),
        )
    }

    fn part(&self, state: usize, part: usize) -> u64 {
        let (at, mask) = self.locate(state, part);
        let low = self.words[at / 64] >> (at % 64);
        // In two steps, for there is no shift by 64.
        let high = self.words[at / 64 + 1] << 1 << (63 - at % 64);
        (low | high) & mask
    }

    fn add(&mut self, state: usize, part: usize, goals: u64) {
        let (at, _) = self.locate(state, part);
        self.words[at / 64] |= goals << (at % 64);
        self.words[at / 64 + 1] |= goals >> 1 >> (63 - at % 64);
    }

    /// Empties a part and returns what was in it.
    fn take(&mut self, state: usize, part: usize) -> u64 {
        let goals = self.part(state, part);
        let (at, _) = self.locate(state, part);
        self.words[at / 64] ^= goals << (at % 64);
        self.words[at / 64 + 1] ^= goals >> 1 >> (63 - at % 64);
        goals
    }

    fn has_any(&self, state: usize) -> bool {
        (0..self.n_parts()).any(|part| self.part(state, part) != 0)
    }
}

#[cfg(test)]
#[path = "../../tests/parts/liveness_graph.rs"]
mod tests;
