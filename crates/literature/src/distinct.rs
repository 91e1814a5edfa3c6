//! Counting distinct keys: sorted in pieces, then merged.
//!
//! Strategies that forget do not know how many distinct states they saw; their authors counted
//! afterwards, and so does this.

use std::time::{Duration, Instant};

use hadal_search::Reason;
use hadal_search::strategy::{End, Halt, Run};
use hadal_store::Error;

use crate::record_dir::RecordDir;
use crate::records::{Cursor, Records};

/// How long counting may last after the stop flag was raised.
const GRACE: Duration = Duration::from_secs(2);

/// Different keys among the first `n` of the ledger of a search that ended like this. `None` where
/// there is no room for counting, or a stopped search would take too long to end.
pub(crate) fn count_at_end(
    run: &Run<'_>,
    end: &End,
    ledger: &mut Records,
    n: u64,
) -> Result<Option<u64>, hadal_search::Error> {
    let is_measured = run.options.process_limit.is_some() && !ledger.dir().is_on_disk();
    if is_measured && matches!(end, End::Stopped(Reason::Memory)) {
        return Ok(None);
    }
    let since = Instant::now();
    let check_stop = || match since.elapsed() > GRACE {
        true => run.check_stop(),
        false => Ok(()),
    };
    match count_within(run, ledger, n, &check_stop) {
        Ok(distinct) => Ok(distinct),
        // Also where what is left of the disk does not suffice for sorting.
        Err(Halt::Stop(_) | Halt::Enough) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// Different keys among the first `n` of the ledger. `None` where there is no room for counting.
pub(crate) fn count_within(
    run: &Run<'_>,
    ledger: &mut Records,
    n: u64,
    check_stop: StopCheck<'_>,
) -> Result<Option<u64>, Halt> {
    // Sorted pieces are kept beside the ledger, in memory if that is there.
    if !ledger.dir().is_on_disk()
        && let Some(limit) = run.options.process_limit
    {
        let needed = n * ledger.record_len() as u64 + sort_bytes(run);
        if (limit.held_bytes)() + needed > limit.most_bytes {
            return Ok(None);
        }
    }
    count(ledger, n, sort_bytes(run), check_stop).map(Some)
}

/// Memory for sorting what is counted. It is not charged to the strategy.
fn sort_bytes(run: &Run<'_>) -> u64 {
    (run.options.memory_bytes / 16).clamp(1 << 20, 64 << 20)
}

/// Whether to continue; asked in every loop that may take long.
pub(crate) type StopCheck<'a> = &'a dyn Fn() -> Result<(), Halt>;

/// How many different records there are among the first `n`. Takes about `budget_bytes` of memory.
fn count(
    records: &mut Records,
    n: u64,
    budget_bytes: u64,
    check_stop: StopCheck<'_>,
) -> Result<u64, Halt> {
    let dir = records.dir().beside();
    let mut runs = sort_pieces(records, n, budget_bytes, &dir, check_stop)?;
    let (mut distinct, mut last) = (0, None::<Vec<u8>>);
    merge(&mut runs, &mut |record| {
        check_stop()?;
        if last.as_deref() != Some(record) {
            distinct += 1;
            last = Some(record.to_vec());
        }
        Ok::<(), Halt>(())
    })?;
    Ok(distinct)
}

/// Runs that are merged at once, so that few files are open at a time however many there are.
const FAN_IN: usize = 64;

/// Most records sorted at once: a sort cannot be interrupted.
const MOST_SORTED: u64 = 1 << 20;

/// Sorts the first `n` records in pieces that fit the budget, of which no more than some dozens are
/// left; equal ones keep their order.
pub(crate) fn sort_pieces(
    records: &mut Records,
    n: u64,
    budget_bytes: u64,
    dir: &RecordDir,
    check_stop: StopCheck<'_>,
) -> Result<Vec<Records>, Halt> {
    let record_len = records.record_len();
    let piece = (budget_bytes / (record_len as u64 + 8)).clamp(2, MOST_SORTED);
    // With each run, how often it was merged.
    let (mut runs, mut at): (Vec<(u32, Records)>, _) = (Vec::new(), 0);
    while at < n {
        check_stop()?;
        let end = n.min(at + piece);
        let mut bytes = Vec::with_capacity((end - at) as usize * record_len);
        records.for_each(at..end, &mut |record| {
            bytes.extend_from_slice(record);
            Ok::<(), Error>(())
        })?;
        let mut order: Vec<usize> = (0..(end - at) as usize).collect();
        order.sort_by(|&a, &b| {
            let record = |at: usize| &bytes[at * record_len..][..record_len];
            record(a).cmp(record(b))
        });
        let mut run = dir.records(record_len)?;
        for at in order {
            run.push(&bytes[at * record_len..][..record_len])?;
        }
        run.finish()?;
        runs.push((0, run));
        merge_last(&mut runs, dir, check_stop)?;
        at = end;
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Merges the last runs while there are enough that were merged equally often.
fn merge_last(
    runs: &mut Vec<(u32, Records)>,
    dir: &RecordDir,
    check_stop: StopCheck<'_>,
) -> Result<(), Halt> {
    while let Some(first) = runs.len().checked_sub(FAN_IN)
        && let level = runs[first].0
        && runs[first..].iter().all(|(other, _)| *other == level)
    {
        let mut last: Vec<Records> = runs.drain(first..).map(|(_, run)| run).collect();
        let mut longer = dir.records(last[0].record_len())?;
        merge(&mut last, &mut |record| -> Result<(), Halt> {
            check_stop()?;
            Ok(longer.push(record)?)
        })?;
        longer.finish()?;
        runs.push((level + 1, longer));
    }
    Ok(())
}

/// Calls `each` with the records of all runs in order; of equal ones those of earlier runs first.
pub(crate) fn merge<E: From<Error>>(
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

    use super::{FAN_IN, count, merge, sort_pieces};
    use crate::record_dir::RecordDir;
    use crate::tables::Random;

    #[test]
    fn few_runs_are_left_and_nothing_is_lost() {
        let mut records = RecordDir::in_memory().records(8).unwrap();
        let mut random = Random::new(4);
        for at in 0..20_000u32 {
            let key = (random.next() as u32 % 500).to_be_bytes();
            records.push(&[key, at.to_be_bytes()].concat()).unwrap();
        }
        let dir = RecordDir::in_memory();
        let Ok(mut runs) = sort_pieces(&mut records, 20_000, 0, &dir, &|| Ok(())) else {
            panic!("it is in memory");
        };
        assert!(runs.len() < 3 * FAN_IN, "{} runs", runs.len());
        let (mut n, mut last) = (0, Vec::new());
        let each = &mut |record: &[u8]| {
            assert!(last.as_slice() < record);
            last = record.to_vec();
            n += 1;
            Ok::<(), hadal_store::Error>(())
        };
        merge(&mut runs, each).unwrap();
        assert_eq!(n, 20_000);
    }

    #[test]
    fn different_records_are_counted_once() {
        let mut random = Random::new(3);
        for n in [0, 1, 50, 3000] {
            let mut records = RecordDir::in_memory().records(4).unwrap();
            let mut plain = HashSet::new();
            for at in 0..n {
                let record = (random.next() as u32 % 700).to_be_bytes();
                records.push(&record).unwrap();
                if at < n * 2 / 3 {
                    plain.insert(record);
                }
            }
            for budget in [0, 1000, 1 << 20] {
                let found = count(&mut records, n * 2 / 3, budget, &|| Ok(()));
                assert!(matches!(found, Ok(found) if found == plain.len() as u64));
            }
        }
    }
}
