//! The keys of a block, sorted by partition.

use crate::Placing;
use crate::key::with_cell_words;
use crate::table::N_PARTITIONS;

/// The keys of a block as cells, by partition and then in order.
#[derive(Debug)]
pub struct Keys {
    /// Partition and cell of each key in order.
    partitions: Vec<u8>,
    unsorted: Vec<u64>,
    /// Words of the cells, by partition.
    cells: Vec<u64>,
    /// Position in the block of each cell in `cells`.
    positions: Vec<u32>,
    /// Where each partition begins in `positions`; one more for the end.
    begins: [u32; N_PARTITIONS + 1],
    cell_words: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            partitions: Vec::new(),
            unsorted: Vec::new(),
            cells: Vec::new(),
            positions: Vec::new(),
            begins: [0; N_PARTITIONS + 1],
            cell_words: 0,
        }
    }
}

impl Keys {
    /// Bytes held for each key.
    pub fn bytes_for_key(placing: Placing) -> usize {
        1 + 4 + 16 * placing.cell_words()
    }

    /// Takes the keys that lie one after the other in `keys`.
    pub fn fill(&mut self, placing: Placing, keys: &[u64]) {
        self.cell_words = placing.cell_words();
        if placing.is_wide() {
            return self.fill_wide(placing, keys);
        }
        with_cell_words!(placing.cell_words(), self.fill_words(placing, keys));
    }

    fn fill_wide(&mut self, placing: Placing, keys: &[u64]) {
        let n_words = placing.key_words();
        self.begins = [0; N_PARTITIONS + 1];
        self.partitions.clear();
        self.unsorted.clear();
        self.unsorted.extend_from_slice(keys);
        for cell in self.unsorted.chunks_exact_mut(n_words) {
            let number = placing.place_wide(cell);
            self.partitions.push(number as u8);
            self.begins[number + 1] += 1;
        }
        for partition in 0..N_PARTITIONS {
            self.begins[partition + 1] += self.begins[partition];
        }
        let mut next = self.begins;
        self.cells.resize(keys.len(), 0);
        self.positions.resize(self.partitions.len(), 0);
        let cells = self.unsorted.chunks_exact(n_words);
        for (position, (cell, &partition)) in cells.zip(&self.partitions).enumerate() {
            let at = &mut next[usize::from(partition)];
            self.cells[*at as usize * n_words..][..n_words].copy_from_slice(cell);
            self.positions[*at as usize] = position as u32;
            *at += 1;
        }
    }

    fn fill_words<const N: usize>(&mut self, placing: Placing, keys: &[u64]) {
        let n_keys = keys.len() / placing.key_words();
        self.begins = [0; N_PARTITIONS + 1];
        self.partitions.resize(n_keys, 0);
        self.unsorted.resize(n_keys * N, 0);
        let (unsorted, _) = self.unsorted.as_chunks_mut::<N>();
        let keys = keys.chunks_exact(placing.key_words());
        for ((cell, partition), key) in unsorted.iter_mut().zip(&mut self.partitions).zip(keys) {
            let (number, found) = placing.place::<N>(key);
            *cell = found;
            *partition = number as u8;
            self.begins[number + 1] += 1;
        }
        for partition in 0..N_PARTITIONS {
            self.begins[partition + 1] += self.begins[partition];
        }
        let mut next = self.begins;
        self.cells.resize(n_keys * N, 0);
        self.positions.resize(n_keys, 0);
        let (cells, _) = self.cells.as_chunks_mut::<N>();
        for (position, (&cell, &partition)) in unsorted.iter().zip(&self.partitions).enumerate() {
            let at = &mut next[usize::from(partition)];
            cells[*at as usize] = cell;
            self.positions[*at as usize] = position as u32;
            *at += 1;
        }
    }

    /// Adds to `counts` how many keys belong to each partition.
    pub fn add_counts(&self, counts: &mut [usize; N_PARTITIONS]) {
        for (count, bounds) in counts.iter_mut().zip(self.begins.windows(2)) {
            *count += (bounds[1] - bounds[0]) as usize;
        }
    }

    /// The words of the cells that belong to `partition`, in order.
    pub fn cells(&self, partition: usize) -> &[u64] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.cells[from as usize * self.cell_words..to as usize * self.cell_words]
    }

    /// The positions in the block of the keys that belong to `partition`, in order.
    pub fn positions(&self, partition: usize) -> &[u32] {
        let (from, to) = (self.begins[partition], self.begins[partition + 1]);
        &self.positions[from as usize..to as usize]
    }
}
