//! Keys that were partitioned and spilled, and how they come back, on a disk in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Error;
use crate::run::{Batch, Sorted, Splitters};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::super::PartitionBuffers;
use super::super::spill::{MAX_SPILLS, Spills};
use super::{Buckets, SortLimits, most_at_once};
use crate::tiers::bench::Bench;

/// Keys of one word, some of them several times, by buffers of two threads.
struct Partitioned {
    buffers: PartitionBuffers,
    spills: Spills,
    n_keys: u64,
    /// The least ordinal of each.
    expected: BTreeMap<u64, u64>,
}

/// Partitions keys into buckets, learnt from the first of them, and spills them `n_spills` times.
fn partition(bench: &Bench, n_keys: usize, n_buckets: usize, n_spills: usize) -> Partitioned {
    let context = bench.context(2, false);
    let mut rng = Pcg64Mcg::seed_from_u64(n_keys as u64);
    // Half of them are close together, as no sample has foretold.
    let mut key = |at: usize| match at % 2 {
        0 => rng.random_range(0..n_keys as u64) << 20,
        _ => rng.random_range(0..n_keys as u64) << 40 | rng.random_range(0..2),
    };
    let keys: Vec<u64> = (0..n_keys).map(&mut key).collect();
    let splitters = Splitters::sample(1, &[&keys[..keys.len().min(1000)]], n_buckets);
    let mut partitioned = Partitioned {
        buffers: PartitionBuffers::default(),
        spills: Spills::default(),
        n_keys: n_keys as u64,
        expected: BTreeMap::new(),
    };
    let shape = bench.codec.newest();
    (partitioned.buffers).begin(splitters, shape, 2, 100_000, &Arc::default());
    let tasks: Vec<&[u64]> = keys.chunks(50).collect();
    let mut ordinal = 0;
    for (number, task) in tasks.iter().enumerate() {
        partitioned.buffers.partition(number * 7 % 2, task, ordinal);
        for key in *task {
            partitioned.expected.entry(*key).or_insert(ordinal);
            ordinal += 1;
        }
        let n_before = number * n_spills / tasks.len();
        if (number + 1) * n_spills / tasks.len() > n_before {
            let spilled = partitioned.spills.take(&mut partitioned.buffers, &context);
            spilled.expect("a spill");
        }
    }
    if n_spills > 0 {
        partitioned.spills.settle(&context).expect("all spills");
    }
    partitioned
}

/// All keys with their ordinals, row after row, of which `most` are sorted at once, with `part_bytes` for parts.
fn sorted(
    bench: &Bench,
    buckets: &Buckets<'_>,
    most: u64,
    part_bytes: u64,
) -> Result<Vec<(u64, u64)>, Error> {
    let mut found = Vec::new();
    for row in buckets.rows(3) {
        let n_before = found.len();
        let context = bench.context(1, false);
        let limits = SortLimits {
            most_keys: most,
            part_bytes,
        };
        let mut keys = buckets.sorted(row.clone(), limits, &context);
        let mut batch = Batch::default();
        while keys.next_batch(&mut batch)? {
            assert!(batch.ordinals.len() <= most_at_once(1).max(most as usize));
            found.extend(batch.keys.iter().copied().zip(batch.ordinals.clone()));
        }
        assert!((found.len() - n_before) as u64 <= buckets.n_in(&row));
    }
    Ok(found)
}

#[test]
fn keys_come_back_in_order_however_many_are_sorted_at_once() {
    for (n_keys, n_buckets, n_spills) in [
        (0, 3, 0),
        (40_000, 1, 0),
        (40_000, 30, 0),
        (40_000, 1, 3),
        (40_000, 30, 3),
        (60_000, 30, 2 * MAX_SPILLS + 3),
    ] {
        let bench = Bench::new();
        let partitioned = partition(&bench, n_keys, n_buckets, n_spills);
        let expected: Vec<(u64, u64)> = partitioned.expected.into_iter().collect();
        let buckets = Buckets::new(
            &partitioned.buffers,
            &partitioned.spills,
            partitioned.n_keys,
        )
        .expect("buckets");
        for (most, part_bytes) in [
            (1, 1 << 24),
            (300, 100_000),
            (5000, 10_000),
            (5000, 1 << 24),
            (15_000, 100_000),
            (1 << 20, 0),
        ] {
            let found = sorted(&bench, &buckets, most, part_bytes).expect("nothing is damaged");
            let context = (n_keys, n_buckets, n_spills, most, part_bytes);
            assert!(found == expected, "{context:?}");
        }
    }
}

/// It would need more parts than there may be.
#[test]
fn a_bucket_may_be_far_too_large() {
    let bench = Bench::new();
    let partitioned = partition(&bench, 700_000, 1, 0);
    let buckets = Buckets::new(
        &partitioned.buffers,
        &partitioned.spills,
        partitioned.n_keys,
    )
    .expect("buckets");
    let found = sorted(&bench, &buckets, 8, 1 << 20).expect("nothing is damaged");
    assert!(found == partitioned.expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn ordinals_that_no_candidate_has_are_damage() {
    let bench = Bench::new();
    let partitioned = partition(&bench, 10_000, 5, 2);
    let buckets = Buckets::new(&partitioned.buffers, &partitioned.spills, 9_999).expect("buckets");
    for most in [100, 1 << 20] {
        match sorted(&bench, &buckets, most, 20_000) {
            Err(Error::Damaged { file, .. }) => assert!(file.starts_with("bkts"), "{file}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Keys that are all but equal cannot be cut; of equal ones the first is kept.
#[test]
fn a_bucket_of_equal_keys_takes_no_more_memory_than_its_distinct_ones() {
    let bench = Bench::new();
    let context = bench.context(2, false);
    let (mut buffers, mut spills) = (PartitionBuffers::default(), Spills::default());
    let splitters = Splitters::sample(1, &[&[1 << 30]], 1);
    let shape = bench.codec.newest();
    buffers.begin(splitters, shape, 2, 100_000, &Arc::default());
    let n_keys = 300_000;
    for first in (0..n_keys).step_by(100) {
        let keys = [7 << 20; 100].map(|key| key + u64::from(first == 200_000));
        buffers.partition((first / 100 % 2) as usize, &keys, first);
        if first % 50_000 == 0 {
            spills.take(&mut buffers, &context).expect("a spill");
        }
    }
    spills.take(&mut buffers, &context).expect("a spill");
    spills.settle(&context).expect("all spills");
    let buckets = Buckets::new(&buffers, &spills, n_keys).expect("buckets");
    let found = sorted(&bench, &buckets, 1000, 10_000).expect("nothing is damaged");
    assert_eq!(found, [(7 << 20, 0), ((7 << 20) + 1, 200_000)]);
    let limits = SortLimits {
        most_keys: 1000,
        part_bytes: 10_000,
    };
    let context = bench.context(1, false);
    let mut row = buckets.sorted(0..1, limits, &context);
    while row.next_batch(&mut Batch::default()).expect("keys") {
        // A block of a spill is decoded at once.
        assert!(row.list.ordinals.capacity() < 100_000);
    }
}
