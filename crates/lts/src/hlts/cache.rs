//! Successors of any state, through a cache of decoded blocks that threads share.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::block::Block;
use super::reader::Hlts;
use crate::parallel::lock;
use crate::{Edge, Error};

/// Decoded blocks, up to a number of bytes. Two generations: blocks that are used move to the young
/// one; when that has half of the room, the old one is forgotten.
#[derive(Debug)]
pub struct BlockCache {
    limit_bytes: u64,
    blocks: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: FxHashMap<usize, Arc<Block>>,
    old: FxHashMap<usize, Arc<Block>>,
    young_bytes: u64,
}

impl BlockCache {
    /// A cache that holds up to `limit_bytes`, and at least one block.
    pub fn new(limit_bytes: u64) -> Self {
        BlockCache {
            limit_bytes,
            blocks: Mutex::default(),
        }
    }

    /// A block of `graph`, from the cache if it is there. A thread that decodes a block does not
    /// keep others waiting.
    fn get(&self, graph: &Hlts, number: usize) -> Result<Arc<Block>, Error> {
        let found = {
            let mut blocks = lock(&self.blocks);
            match blocks.young.get(&number) {
                Some(block) => return Ok(Arc::clone(block)),
                None => blocks.old.remove(&number),
            }
        };
        let block = match found {
            Some(block) => block,
            None => {
                let mut block = Block::default();
                graph.decode(number, &mut block)?;
                Arc::new(block)
            }
        };
        let mut blocks = lock(&self.blocks);
        let bytes = block.bytes();
        if blocks.young_bytes + bytes > self.limit_bytes / 2 {
            blocks.old = std::mem::take(&mut blocks.young);
            blocks.young_bytes = 0;
        }
        blocks.young_bytes += bytes;
        blocks.young.insert(number, Arc::clone(&block));
        Ok(block)
    }
}

/// One thread's access to the successors of any state.
#[derive(Debug)]
pub struct Walker<'a> {
    graph: &'a Hlts,
    cache: &'a BlockCache,
    /// The block that was used last: the next state is often in it as well.
    last: Option<(usize, Arc<Block>)>,
}

/// A position among the edges of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    block: usize,
    at: u32,
    end: u32,
}

impl Place {
    const END: Place = Place {
        block: usize::MAX,
        at: 0,
        end: 0,
    };
}

impl<'a> Walker<'a> {
    /// Access to `graph` through `cache`, which is for this graph alone.
    pub fn new(graph: &'a Hlts, cache: &'a BlockCache) -> Self {
        Walker {
            graph,
            cache,
            last: None,
        }
    }

    /// Replaces `edges` by those that leave `source`, in order.
    pub fn successors(&mut self, source: u64, edges: &mut Vec<Edge>) -> Result<(), Error> {
        edges.clear();
        let mut place = self.first(source)?;
        while let Some(edge) = self.next(source, &mut place)? {
            edges.push(edge);
        }
        Ok(())
    }

    /// The position of the first edge of `source`.
    pub(crate) fn first(&mut self, source: u64) -> Result<Place, Error> {
        let blocks = &self.graph.edges;
        let from = blocks.partition_point(|block| block.first < source);
        if let Some(before) = from.checked_sub(1) {
            let block = self.block(before)?;
            if let Ok(position) = block.sources.binary_search(&source) {
                let (at, end) = block.range(position);
                return Ok(Place {
                    block: before,
                    at,
                    end,
                });
            }
        }
        self.in_block(source, from)
    }

    /// The position of the first edge of `source` in a block that begins with it.
    fn in_block(&mut self, source: u64, number: usize) -> Result<Place, Error> {
        let place = self.graph.edges.get(number);
        if place.is_none_or(|block| block.first != source) {
            return Ok(Place::END);
        }
        let (at, end) = self.block(number)?.range(0);
        Ok(Place {
            block: number,
            at,
            end,
        })
    }

    /// The edge at a position, which moves on; `None` behind the last.
    pub(crate) fn next(&mut self, source: u64, place: &mut Place) -> Result<Option<Edge>, Error> {
        while *place != Place::END {
            let block = self.block(place.block)?;
            if place.at < place.end {
                let edge = block.edge(source, place.at);
                place.at += 1;
                return Ok(Some(edge));
            }
            *place = match place.end == block.len() {
                true => self.in_block(source, place.block + 1)?,
                false => Place::END,
            };
        }
        Ok(None)
    }

    fn block(&mut self, number: usize) -> Result<&Block, Error> {
        let is_last = matches!(self.last, Some((last, _)) if last == number);
        if !is_last {
            self.last = Some((number, self.cache.get(self.graph, number)?));
        }
        let (_, block) = self.last.as_ref().expect("it was set above");
        Ok(block)
    }
}
