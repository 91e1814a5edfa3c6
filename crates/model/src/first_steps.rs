//! Sources whose steps may consist of several micro steps, with their first micro steps.

use crate::PAD_BYTES;

/// The first micro steps of some sources at rest that are not known to be their steps; see
/// [`Expander::expand_at_rest`](crate::Expander::expand_at_rest).
#[derive(Debug, Default)]
pub struct FirstSteps {
    /// Length of a state with its registers.
    state_len: usize,
    sources: Vec<u32>,
    /// By source, where its micro steps begin.
    firsts: Vec<u32>,
    rules: Vec<u32>,
    /// States with their registers, and padding.
    states: Vec<u8>,
}

impl FirstSteps {
    /// None, of a model whose states have `state_len` bytes, registers included.
    pub fn new(state_len: usize) -> Self {
        FirstSteps {
            state_len,
            ..FirstSteps::default()
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.sources.clear();
        self.firsts.clear();
        self.rules.clear();
    }

    /// Adds a source, whose micro steps follow.
    pub fn begin(&mut self, source: u32) {
        self.sources.push(source);
        self.firsts.push(self.rules.len() as u32);
    }

    /// Adds a micro step of the last source; the state it leads to is to be written to the result,
    /// all of it. Padding follows, which may be overwritten.
    pub fn push(&mut self, rule: u32) -> &mut [u8] {
        let at = self.rules.len() * self.state_len;
        let needed = at + self.state_len + PAD_BYTES;
        if self.states.len() < needed {
            self.states.resize(needed.next_power_of_two(), 0);
        }
        self.rules.push(rule);
        &mut self.states[at..needed]
    }

    /// The sources, as numbers within their batch, ascending.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The rules of all micro steps.
    pub fn rules(&self) -> &[u32] {
        &self.rules
    }

    /// The micro steps of the source with this number among [`sources`](Self::sources): the rule of
    /// each and the state it leads to.
    pub fn steps_of(&self, number: usize) -> impl Iterator<Item = (u32, &[u8])> {
        let end = self.firsts.get(number + 1);
        let end = end.map_or(self.rules.len(), |end| *end as usize);
        let range = self.firsts[number] as usize..end;
        range.map(|at| {
            let state = &self.states[at * self.state_len..][..self.state_len];
            (self.rules[at], state)
        })
    }
}
