//! Strongly connected components of a graph, or of its edges with some labels.
//!
//! States on no cycle are found first, by reading the file in order ([`trim`]). The rest is Tarjan's
//! algorithm with a stack of its own. Memory is proportional to states: edges are read through the
//! cache of blocks, again where it is too small. Where states do not fit into memory, components are
//! found on disk ([`external`]).

pub(crate) mod external;
mod trim;
pub(crate) mod two_way;

use crate::hlts::{Hlts, Place, Walker};
use crate::progress::Stage;
use crate::resources::Resources;
use crate::word::Word;
use crate::{BlockCache, Error};

/// The components of a graph. They are numbered such that edges between them lead to smaller
/// numbers.
pub(crate) struct Components<W> {
    /// By state, its component.
    pub(crate) of: Vec<W>,
    /// By component, the length of the longest path to other components.
    pub(crate) height: Vec<u32>,
    /// Components with a cycle.
    pub(crate) n_cyclic: u64,
    /// States in components with a cycle.
    pub(crate) n_in_cyclic: u64,
    /// States of the largest component.
    pub(crate) largest: u64,
}

/// Bytes a state that finding components takes, with words of `word` bytes.
pub(crate) const fn bytes_per_state(word: u64) -> u64 {
    // Order, low, component, stack; two heights; a frame.
    4 * word + 8 + size_of::<Frame>() as u64
}

/// A state whose edges are being followed.
struct Frame {
    state: u64,
    place: Place,
}

/// What is known about states while components are found.
struct Search<W> {
    /// Position in the order of discovery; `MAX` where not found yet.
    order: Vec<W>,
    /// Least position that is known to be reachable.
    low: Vec<W>,
    /// Greatest height that a path through closed components gives.
    height: Vec<u32>,
    /// States of components that are not closed.
    open: Vec<W>,
    frames: Vec<Frame>,
    n_found: u64,
}

/// Finds the components of `graph` by the edges whose label `keep` accepts.
pub(crate) fn components<W: Word>(
    graph: &Hlts,
    keep: impl Fn(u32) -> bool,
    resources: &Resources<'_>,
) -> Result<Components<W>, Error> {
    let n_states = graph.counts().n_states;
    let needed = n_states.saturating_mul(bytes_per_state(size_of::<W>() as u64));
    resources.require("finding strongly connected components", needed)?;
    let cache = BlockCache::new(resources.cache_bytes());
    let mut walker = Walker::new(graph, &cache);
    let n = n_states as usize;
    let mut search = Search {
        order: vec![W::MAX; n],
        low: vec![W::MAX; n],
        height: vec![0; n],
        open: Vec::new(),
        frames: Vec::new(),
        n_found: 0,
    };
    let mut found = Components {
        of: vec![W::MAX; n],
        height: Vec::new(),
        n_cyclic: 0,
        n_in_cyclic: 0,
        largest: 0,
    };
    resources.begin(Stage::Components, 0);
    trim::trim(graph, &keep, (&mut search, &mut found), resources)?;
    let mut n_steps = 0u64;
    for root in 0..n_states {
        if search.order[root as usize] != W::MAX {
            continue;
        }
        search.enter(root, walker.first(root)?);
        while let Some(frame) = search.frames.last_mut() {
            n_steps += 1;
            if n_steps.is_multiple_of(1 << 16) {
                resources.poll()?;
                resources.note(1 << 16);
            }
            let state = frame.state;
            match walker.next(state, &mut frame.place)? {
                Some(edge) if !keep(edge.label) => {}
                Some(edge) => {
                    let target = edge.target as usize;
                    if search.order[target] == W::MAX {
                        search.enter(edge.target, walker.first(edge.target)?);
                    } else if found.of[target] == W::MAX {
                        let low = search.order[target].min(search.low[state as usize]);
                        search.low[state as usize] = low;
                    } else {
                        let height = found.height[found.of[target].at()];
                        search.raise(state, height.saturating_add(1));
                    }
                    if edge.target == state {
                        search.height[target] |= LOOP;
                    }
                }
                None => search.leave(state, &mut found),
            }
        }
    }
    Ok(found)
}

/// Marks a state with an edge to itself, in its height: a cycle that its component does not show.
const LOOP: u32 = 1 << 31;

/// Heights that are greater are not told apart.
pub(crate) const MOST_HEIGHT: u32 = LOOP - 1;

impl<W: Word> Search<W> {
    fn enter(&mut self, state: u64, place: Place) {
        let order = W::new(self.n_found);
        self.n_found += 1;
        self.order[state as usize] = order;
        self.low[state as usize] = order;
        self.open.push(W::new(state));
        self.frames.push(Frame { state, place });
    }

    fn raise(&mut self, state: u64, height: u32) {
        let own = &mut self.height[state as usize];
        *own = *own & LOOP | (*own & !LOOP).max(height.min(MOST_HEIGHT));
    }

    /// All edges of `state` were followed: closes its component if it was found first in it.
    fn leave(&mut self, state: u64, found: &mut Components<W>) {
        self.frames.pop();
        let low = self.low[state as usize];
        if low == self.order[state as usize] {
            self.close(state, found);
        }
        let Some(parent) = self.frames.last().map(|frame| frame.state) else {
            return;
        };
        match found.of[state as usize] {
            open if open == W::MAX => {
                let least = low.min(self.low[parent as usize]);
                self.low[parent as usize] = least;
            }
            component => {
                let height = found.height[component.at()];
                self.raise(parent, height.saturating_add(1));
            }
        }
    }

    fn close(&mut self, state: u64, found: &mut Components<W>) {
        let component = W::new(found.height.len() as u64);
        let (mut height, mut size, mut has_loop) = (0, 0, false);
        while let Some(member) = self.open.pop() {
            found.of[member.at()] = component;
            height = height.max(self.height[member.at()] & !LOOP);
            has_loop |= self.height[member.at()] & LOOP != 0;
            size += 1;
            if member.get() == state {
                break;
            }
        }
        found.height.push(height);
        found.largest = found.largest.max(size);
        if size > 1 || has_loop {
            found.n_cyclic += 1;
            found.n_in_cyclic += size;
        }
    }
}
