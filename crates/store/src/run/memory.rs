//! Blocks in memory: for tests, and for runs too small to be worth a file.

use std::ops::Range;

use crate::{BlockReader, BlockSink, BlockSource, Error};

/// Blocks of one "file", both sink and source.
#[derive(Clone, Debug, Default)]
pub struct MemoryBlocks {
    /// The blocks, in order.
    pub blocks: Vec<Vec<u8>>,
}

impl MemoryBlocks {
    /// Bytes of all blocks.
    pub fn data_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.len() as u64).sum()
    }
}

impl BlockSink for MemoryBlocks {
    fn put(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.blocks.push(payload.to_vec());
        Ok(())
    }
}

impl BlockSource for MemoryBlocks {
    fn read(&self, wanted: Vec<Range<u32>>) -> Box<dyn BlockReader + '_> {
        Box::new(Reader {
            blocks: &self.blocks,
            wanted: wanted.into_iter(),
            current: 0..0,
            last: None,
        })
    }
}

struct Reader<'a> {
    blocks: &'a [Vec<u8>],
    wanted: std::vec::IntoIter<Range<u32>>,
    current: Range<u32>,
    last: Option<u32>,
}

impl BlockReader for Reader<'_> {
    fn next(&mut self) -> Result<Option<(u32, &[u8])>, Error> {
        loop {
            if let Some(number) = self.current.next() {
                self.last = Some(number);
                return match self.blocks.get(number as usize) {
                    Some(block) => Ok(Some((number, block))),
                    None => Err(Error::Damaged {
                        file: "blocks in memory".to_owned(),
                        offset: 0,
                        what: format!("there is no block {number}"),
                    }),
                };
            }
            match self.wanted.next() {
                Some(range) => self.current = range,
                None => return Ok(None),
            }
        }
    }

    fn last(&self) -> Option<(u32, &[u8])> {
        let number = self.last?;
        Some((number, self.blocks.get(number as usize)?))
    }
}
