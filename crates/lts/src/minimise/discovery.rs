//! A graph with its states in the order of a breadth-first search, and without those that cannot be
//! reached.

use std::collections::VecDeque;

use crate::hlts::Walker;
use crate::progress::Stage;
use crate::resources::Resources;
use crate::word::Word;
use crate::{BlockCache, Edge, Error, Hlts, Labels};

/// The part of `graph` that can be reached, with states numbered in the order of a breadth-first
/// search and labels in the order of their first use.
pub(super) fn in_order<W: Word>(graph: &Hlts, resources: &Resources<'_>) -> Result<Hlts, Error> {
    let counts = graph.counts();
    let cache = BlockCache::new(resources.cache_bytes());
    let mut reader = BatchReader {
        walker: Walker::new(graph, &cache),
        edges: Vec::new(),
        ranges: Vec::new(),
    };
    let most = batch_len(graph, resources);
    let mut numbers = vec![W::MAX; counts.n_states as usize];
    let mut labels = Renamed::new(graph.labels());
    let mut queue = VecDeque::from([W::new(counts.initial)]);
    numbers[counts.initial as usize] = W::new(0);
    let (mut n_found, mut source) = (1, 0);
    resources.begin(Stage::Numbering, counts.n_states);
    Hlts::build(0, resources, |writer| {
        while !queue.is_empty() {
            resources.poll()?;
            let batch: Vec<W> = queue.drain(..queue.len().min(most)).collect();
            reader.read(&batch)?;
            resources.note(batch.len() as u64);
            for &(begin, end) in &reader.ranges {
                for edge in &reader.edges[begin..end] {
                    let number = &mut numbers[edge.target as usize];
                    if *number == W::MAX {
                        *number = W::new(n_found);
                        n_found += 1;
                        queue.push_back(W::new(edge.target));
                    }
                    let label = labels.of(edge.label);
                    writer.push(Edge::new(source, label, number.get()))?;
                }
                source += 1;
            }
        }
        Ok((n_found, labels.new))
    })
}

/// States whose edges are read at once.
fn batch_len(graph: &Hlts, resources: &Resources<'_>) -> usize {
    let counts = graph.counts();
    let mean_degree = counts.n_edges / counts.n_states.max(1) + 1;
    let state_bytes = 32 + mean_degree * size_of::<Edge>() as u64;
    (resources.memory_bytes / 8 / state_bytes).clamp(1 << 10, 1 << 20) as usize
}

/// Reads the edges of many states in the order of the file, so that each block is decoded once,
/// whatever the order of discovery.
struct BatchReader<'a> {
    walker: Walker<'a>,
    edges: Vec<Edge>,
    /// By position in the batch, where its edges are.
    ranges: Vec<(usize, usize)>,
}

impl BatchReader<'_> {
    fn read<W: Word>(&mut self, batch: &[W]) -> Result<(), Error> {
        let mut positions: Vec<usize> = (0..batch.len()).collect();
        positions.sort_unstable_by_key(|&position| batch[position]);
        self.edges.clear();
        self.ranges.clear();
        self.ranges.resize(batch.len(), (0, 0));
        let mut own = Vec::new();
        for position in positions {
            self.walker.successors(batch[position].get(), &mut own)?;
            let begin = self.edges.len();
            self.edges.append(&mut own);
            self.ranges[position] = (begin, self.edges.len());
        }
        Ok(())
    }
}

/// Labels that get new numbers in the order of their first use.
pub(super) struct Renamed<'a> {
    old: &'a Labels,
    numbers: Vec<Option<u32>>,
    pub(super) new: Labels,
}

impl<'a> Renamed<'a> {
    pub(super) fn new(old: &'a Labels) -> Self {
        Renamed {
            old,
            numbers: vec![None; old.len()],
            new: Labels::new(),
        }
    }

    pub(super) fn of(&mut self, label: u32) -> u32 {
        let number = &mut self.numbers[label as usize];
        *number.get_or_insert_with(|| {
            let pushed = self.new.push(self.old.bytes(label));
            pushed.expect("there are no more new labels than old ones")
        })
    }
}
