//! The kernels of a search, each on a fixed block of states, for counting their instructions.
//!
//! A kernel is prepared (model loaded, states found, buffers made) and then run; only the run is
//! to be counted. What is prepared lives to the end of the process, which measures one kernel.

use std::collections::HashSet;
use std::ops::ControlFlow;

use hadal_ir::Program;
use hadal_ir::interp::{Interpreter, Limits};
use hadal_jit::Native;
use hadal_model::{Expander, Model, PAD_BYTES, States, Stop, Successors, for_each_batch};
use hadal_store::codec::{Codec, Encoder};
use hadal_store::disk::ParentLog;
use hadal_store::{Keys, N_PARTITIONS, Parent, Placing, Set};
use hadal_symmetry::Symmetric;

use crate::workload;

/// States of a block; the first ones in breadth-first order.
const N_STATES: usize = 4096;

/// States expanded at once.
const BLOCK_LEN: usize = 256;

/// Expansion of a block of states.
pub struct Expansion {
    expander: Box<dyn Expander>,
    states: Vec<u8>,
    state_len: usize,
    out: Successors,
}

impl Expansion {
    /// By native code.
    pub fn native(model: &str, constants: &[(&str, &str)]) -> Self {
        let program = load(model, constants);
        let model = Native::new(program, Limits::default()).expect("there is native code");
        Self::of(Box::leak(Box::new(model)))
    }

    /// By the interpreter.
    pub fn interpreted(model: &str, constants: &[(&str, &str)]) -> Self {
        let program = load(model, constants);
        Self::of(Box::leak(Box::new(Interpreter::new(
            program,
            Limits::default(),
        ))))
    }

    fn of(model: &'static dyn Model) -> Self {
        let mut expander = model.expander(never());
        let states = first_states(model, &mut *expander);
        let mut this = Expansion {
            expander,
            states,
            state_len: model.shape().state_len,
            out: Successors::new(model.shape(), 1 << 14),
        };
        // Whatever is allocated on first use is not what is to be counted.
        this.run();
        this
    }

    /// Expands all states; returns the number of successors.
    pub fn run(&mut self) -> usize {
        let n_states = (self.states.len() - PAD_BYTES) / self.state_len;
        let mut n = 0;
        for first in (0..n_states).step_by(BLOCK_LEN) {
            let len = BLOCK_LEN.min(n_states - first);
            let block = States::new(&self.states[first * self.state_len..], self.state_len, len);
            let all = for_each_batch(&mut *self.expander, Some(block), &mut self.out, |_, out| {
                n += out.len();
                ControlFlow::<()>::Continue(())
            });
            assert!(all.is_ok(), "nobody stops it");
        }
        n
    }
}

/// Canonical forms of a block of raw successors.
pub struct Canonical {
    expander: Box<dyn Expander>,
    states: Vec<u8>,
}

impl Canonical {
    /// Of the first states of a model.
    pub fn new(model: &str, constants: &[(&str, &str)]) -> Self {
        let program = load(model, constants);
        let native = Native::new(program.clone(), Limits::default()).expect("there is native code");
        let mut raw = native.expander(never());
        let states = first_states(&native, &mut *raw);
        drop(raw);
        let symmetric = Symmetric::trusting(Box::new(native), &program);
        let symmetric: &'static dyn Model = Box::leak(Box::new(symmetric));
        let mut expander = symmetric.expander(never());
        let mut states = states;
        states.truncate(states.len() - PAD_BYTES);
        expander.canonicalise(&mut states.clone());
        Canonical { expander, states }
    }

    /// Brings all into their canonical form; returns a byte, so that it cannot be left out.
    pub fn run(&mut self) -> u8 {
        self.expander.canonicalise(&mut self.states);
        self.states[0]
    }
}

/// Keys of a block of states, and their insertion into the set.
pub struct Insertion {
    codec: Codec,
    encoder: Encoder,
    set: Set,
    words: Vec<u64>,
    keys: Keys,
    states: Vec<u8>,
    n_states: usize,
}

impl Insertion {
    /// Of the first states of a model, into an empty set.
    pub fn new(model: &str, constants: &[(&str, &str)]) -> Self {
        let native = Native::new(load(model, constants), Limits::default());
        let native = native.expect("there is native code");
        let states = first_states(&native, &mut *native.expander(never()));
        let state_len = native.shape().state_len;
        let codec = Codec::plain(state_len);
        Insertion {
            encoder: codec.encoder(),
            set: Set::new(Placing::new(codec.newest().n_bits)),
            codec,
            words: Vec::new(),
            keys: Keys::default(),
            n_states: (states.len() - PAD_BYTES) / state_len,
            states,
        }
    }

    /// Inserts all states twice, as a search meets them; returns how many were new.
    pub fn run(&mut self) -> usize {
        let mut n_new = 0;
        for _ in 0..2 {
            self.encoder
                .encode(&self.codec, &self.states, self.n_states, &mut self.words)
                .expect("states are their own keys");
            self.keys.fill(self.set.placing(), &self.words);
            for partition in 0..N_PARTITIONS {
                let mut owned = self.set.partition(partition).write().expect("one thread");
                owned.add_all(std::iter::once(self.keys.cells(partition)), |_, _| {
                    n_new += 1
                });
            }
        }
        n_new
    }
}

/// Appends a fixed run of entries to the log of parents; returns its length.
pub fn append_parents(log: &mut ParentLog) -> u64 {
    for number in 0..N_STATES as u64 * 4 {
        log.push(Parent {
            ordinal: number / 3,
            index: (number % 7) as u32,
        })
        .expect("a log in memory takes everything");
    }
    log.len()
}

fn load(model: &str, constants: &[(&str, &str)]) -> Program {
    let constants: Vec<(String, String)> = constants
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let path = workload::our_folder().join(model);
    workload::load(&path, &constants).expect("it is one of our models")
}

/// A flag that nobody raises.
fn never() -> &'static Stop {
    Box::leak(Box::new(Stop::new()))
}

/// The first states in breadth-first order, and padding.
fn first_states(model: &dyn Model, expander: &mut dyn Expander) -> Vec<u8> {
    let len = model.shape().state_len;
    let mut out = Successors::new(model.shape(), 1 << 12);
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut states: Vec<u8> = Vec::new();
    let mut next = None;
    loop {
        let source: Option<Vec<u8>> = next.map(|at: usize| {
            let mut bytes = states[at * len..][..len].to_vec();
            bytes.resize(len + PAD_BYTES, 0);
            bytes
        });
        let block = source.as_ref().map(|bytes| States::new(bytes, len, 1));
        let all = for_each_batch(expander, block, &mut out, |_, out| {
            for state in out.states().iter() {
                if seen.len() < N_STATES && seen.insert(state.to_vec()) {
                    states.extend_from_slice(state);
                }
            }
            ControlFlow::<()>::Continue(())
        });
        assert!(all.is_ok(), "nobody stops it");
        let at = next.map_or(0, |at| at + 1);
        if seen.len() >= N_STATES || at >= seen.len() {
            states.resize(states.len() + PAD_BYTES, 0);
            return states;
        }
        next = Some(at);
    }
}
