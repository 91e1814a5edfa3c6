//! Counting the different keys among many: sorted in pieces, then merged.
//!
//! Strategies that forget cannot tell how many different states they saw; their authors counted
//! afterwards, and so does this.

use hadal_store::Error;

use super::records::{Cursor, Records, Shelf};

/// How many different records there are among the first `n`. Takes about `budget_bytes` of memory.
pub(super) fn count(records: &mut Records, n: u64, budget_bytes: u64) -> Result<u64, Error> {
    let shelf = records.shelf().beside();
    let mut runs = sort_pieces(records, n, budget_bytes, &shelf)?;
    let (mut distinct, mut last) = (0, None::<Vec<u8>>);
    merge(&mut runs, &mut |record| {
        if last.as_deref() != Some(record) {
            distinct += 1;
            last = Some(record.to_vec());
        }
        Ok(())
    })?;
    Ok(distinct)
}

/// Sorts the first `n` records in pieces that fit the budget; equal ones keep their order.
pub(super) fn sort_pieces(
    records: &mut Records,
    n: u64,
    budget_bytes: u64,
    shelf: &Shelf,
) -> Result<Vec<Records>, Error> {
    let record_len = records.record_len();
    let piece = (budget_bytes / (record_len as u64 + 8)).clamp(2, 1 << 30);
    let (mut runs, mut at) = (Vec::new(), 0);
    while at < n {
        let end = n.min(at + piece);
        let mut bytes = Vec::with_capacity((end - at) as usize * record_len);
        records.for_each(at..end, &mut |record| bytes.extend_from_slice(record))?;
        let mut order: Vec<usize> = (0..(end - at) as usize).collect();
        order.sort_by(|&a, &b| {
            let record = |at: usize| &bytes[at * record_len..][..record_len];
            record(a).cmp(record(b))
        });
        let mut run = shelf.records(record_len)?;
        for at in order {
            run.push(&bytes[at * record_len..][..record_len])?;
        }
        run.finish()?;
        runs.push(run);
        at = end;
    }
    Ok(runs)
}

/// Calls `each` with the records of all runs in order; of equal ones those of earlier runs first.
pub(super) fn merge<E: From<Error>>(
    runs: &mut [Records],
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut cursors: Vec<Cursor> = runs.iter().map(|_| Cursor::new()).collect();
    let mut heap = std::collections::BinaryHeap::new();
    for (number, (cursor, run)) in cursors.iter_mut().zip(runs.iter_mut()).enumerate() {
        if let Some(record) = cursor.peek(run)? {
            heap.push(std::cmp::Reverse((record.to_vec(), number)));
        }
    }
    while let Some(std::cmp::Reverse((mut record, number))) = heap.pop() {
        each(&record)?;
        let (cursor, run) = (&mut cursors[number], &mut runs[number]);
        cursor.advance();
        if let Some(next) = cursor.peek(run)? {
            record.copy_from_slice(next);
            heap.push(std::cmp::Reverse((record, number)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::records::Shelf;
    use super::super::tables::Random;
    use super::count;

    #[test]
    fn different_records_are_counted_once() {
        let mut random = Random::new(3);
        for n in [0, 1, 50, 3000] {
            let mut records = Shelf::in_memory().records(4).unwrap();
            let mut plain = HashSet::new();
            for at in 0..n {
                let record = (random.next() as u32 % 700).to_be_bytes();
                records.push(&record).unwrap();
                if at < n * 2 / 3 {
                    plain.insert(record);
                }
            }
            for budget in [0, 1000, 1 << 20] {
                let found = count(&mut records, n * 2 / 3, budget).unwrap();
                assert_eq!(found, plain.len() as u64);
            }
        }
    }
}
