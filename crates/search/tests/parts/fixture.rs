//! What a part needs to run without a search around it: keys and threads for a model, a disk, and
//! the states of a graph as a plain loop finds them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use hadal_model::{Expander, Model, PAD_BYTES, Source, States, Stop, Successors, for_each_batch};
use hadal_store::Parent;
use hadal_store::codec::Headroom;
use hadal_store::disk::{Disk, Folder, FolderOptions};
use hadal_store::key_space::KeySpace;
use hadal_testkit::disk::CrashDisk;

use crate::StoreKind;
use crate::pool::Pool;
use crate::worker::Worker;

/// Keys for the states of `model`.
pub(crate) fn keys_for(model: &dyn Model, store: StoreKind) -> KeySpace {
    KeySpace::new(model.shape().state_len, 1 << 16, store, 7)
}

/// A pool whose workers expand `model`.
pub(crate) fn pool_for<'m>(
    model: &'m dyn Model,
    stop: &'m Stop,
    keys: &KeySpace,
    n_threads: usize,
) -> Pool<'m> {
    let worker = |number| Worker::new(number, model.expander(stop), &keys.codec);
    Pool::new(n_threads, 1 << 20, worker).expect("there are threads")
}

/// An empty folder on `disk`, whose input and output are sequential.
pub(crate) fn folder_on(disk: &Arc<CrashDisk>) -> Folder {
    let options = FolderOptions {
        buffer_bytes: 1 << 18,
        reserve_bytes: 0,
        threads: false,
        ..FolderOptions::default()
    };
    let disk = Arc::clone(disk) as Arc<dyn Disk>;
    Folder::open(disk, options).expect("the disk works").0
}

/// The codec's keys of `states`, in the newest layout, which is widened as far as they need it.
pub(crate) fn encode(keys: &KeySpace, states: &[Vec<u8>]) -> Vec<u64> {
    let mut bytes = states.concat();
    bytes.resize(bytes.len() + PAD_BYTES, 0);
    let (mut encoder, mut words) = (keys.codec.encoder(), Vec::new());
    while (encoder.encode(&keys.codec, &bytes, states.len(), &mut words)).is_err() {
        keys.widen(Headroom::Ordered);
    }
    words
}

/// A successor in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) parent: Parent,
    pub(crate) cost: u32,
    pub(crate) state: Vec<u8>,
}

/// The successors of the state `ordinal`, or the startstates if there is none, one buffer of room
/// for all; and what happened at the source.
pub(crate) fn expand_plainly(
    model: &dyn Model,
    expander: &mut dyn Expander,
    source: Option<(u64, &[u8])>,
) -> (Vec<Step>, Source) {
    let mut bytes = source.map_or(Vec::new(), |(_, state)| state.to_vec());
    bytes.resize(bytes.len() + PAD_BYTES, 0);
    let state_len = model.shape().state_len;
    let block = source.map(|_| States::new(&bytes, state_len, 1));
    let mut out = Successors::with_costs(model.shape(), 1 << 10);
    let mut steps = Vec::new();
    let ended = for_each_batch(expander, block, &mut out, |expander, out| {
        expander.canonicalise(out.states_mut());
        steps.extend((0..out.len()).map(|at| Step {
            parent: Parent {
                ordinal: source.map_or(Parent::START, |(ordinal, _)| ordinal),
                index: out.index(at),
            },
            cost: out.cost(at),
            state: out.state(at).to_vec(),
        }));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(ended, Ok(ControlFlow::Continue(())));
    (steps, out.sources()[0].clone())
}

/// All reachable states in the order of their ordinals.
#[derive(Debug, Default)]
pub(crate) struct Reachable {
    pub(crate) states: Vec<Vec<u8>>,
    pub(crate) parents: Vec<Parent>,
    /// Number of states of each depth.
    pub(crate) layers: Vec<u64>,
}

impl Reachable {
    /// Breadth-first search by a plain loop.
    pub(crate) fn of(model: &dyn Model) -> Self {
        let stop = Stop::new();
        let mut expander = model.expander(&stop);
        let (mut found, mut known) = (Reachable::default(), HashSet::new());
        let (mut steps, _) = expand_plainly(model, &mut *expander, None);
        loop {
            let first = found.states.len();
            for step in steps.drain(..) {
                if known.insert(step.state.clone()) {
                    found.states.push(step.state);
                    found.parents.push(step.parent);
                }
            }
            let layer = first..found.states.len();
            if layer.is_empty() {
                return found;
            }
            found.layers.push(layer.len() as u64);
            for ordinal in layer {
                let source = Some((ordinal as u64, &found.states[ordinal][..]));
                steps.extend(expand_plainly(model, &mut *expander, source).0);
            }
        }
    }
}
