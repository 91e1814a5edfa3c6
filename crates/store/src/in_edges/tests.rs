//! Edges by target, written and read back, whole and damaged.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{InEdge, InEdgeBlock, InEdgeWriter, InEdges};
use crate::BlockSource;
use crate::tiers::bench::Bench;

type Edges = BTreeMap<u64, Vec<InEdge>>;

fn random_edges(rng: &mut Pcg64Mcg, base: u64, n_targets: usize, with_labels: bool) -> Edges {
    let mut edges = Edges::new();
    for _ in 0..n_targets {
        let target = base + rng.random_range(0..4 * n_targets as u64);
        let n = match rng.random_range(0..40) {
            0 => rng.random_range(1..3000),
            _ => rng.random_range(1..6),
        };
        let edge = |_| InEdge {
            source: match rng.random_range(0..5) {
                0 => rng.random(),
                _ => base + rng.random_range(0..1000),
            },
            label: match with_labels && rng.random_range(0..3) == 0 {
                true => rng.random::<u64>() >> rng.random_range(0..64),
                false => 0,
            },
        };
        edges.entry(target).or_default().extend((0..n).map(edge));
    }
    edges
}

/// What a file has of a target.
fn edges_into(file: &InEdges, target: u64) -> Vec<InEdge> {
    let mut found = Vec::new();
    for sequence in 0..file.n_sequences() {
        let blocks: Vec<usize> = file.blocks_of(sequence, target).collect();
        let mut each = |at: usize, block: InEdgeBlock| {
            let (first, last) = file.targets_of_block((sequence, at)).expect("it is there");
            let (least, most) = block.range().expect("blocks are not empty");
            assert!(first == least && most <= last);
            for near in [0, 3, 1 << 20] {
                let groups = block.groups_of(target, near);
                assert_eq!(groups, block.groups_of(target, 0));
            }
            for group in block.groups_of(target, 7) {
                block.each_edge(group, |edge| found.push(edge));
            }
        };
        file.read(sequence, &blocks, &mut each)
            .expect("it is whole");
    }
    found.sort_unstable();
    found
}

#[test]
fn edges_are_found_by_target_in_all_sequences() {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let bench = Bench::new();
    // Ordinals beyond 32 bits, and the greatest ones.
    for (base, with_labels) in [(0, false), (1 << 33, true), (u64::MAX - (1 << 20), true)] {
        for is_durable in [false, true] {
            let mut all = Edges::new();
            let mut writer =
                InEdgeWriter::create(&bench.folder, is_durable).expect("there is room");
            for n_targets in [3000, 1, 0, 700] {
                let edges = random_edges(&mut rng, base, n_targets, with_labels);
                writer.begin_sequence().expect("there is room");
                for (&target, edges) in &edges {
                    writer.push(target, edges).expect("there is room");
                    all.entry(target).or_default().extend(edges);
                }
            }
            let mut file = writer.finish().expect("there is room");
            assert!(file.n_sequences() == 3 && file.n_blocks() > 3);
            for _ in 0..1 + usize::from(is_durable) {
                for target in (0..40).map(|n| base + n) {
                    let mut expected = all.get(&target).cloned().unwrap_or_default();
                    expected.sort_unstable();
                    assert_eq!(edges_into(&file, target), expected);
                }
                for (&target, edges) in all.iter().step_by(50) {
                    let mut expected = edges.clone();
                    expected.sort_unstable();
                    assert_eq!(edges_into(&file, target), expected);
                }
                if is_durable {
                    let entry = file.entry();
                    (bench.folder.commit(1, b"lists the file")).expect("there is room");
                    file = InEdges::open(&bench.folder, &entry).expect("it is whole");
                }
            }
        }
    }
}

#[test]
fn a_damaged_block_is_none_or_other_edges_and_never_a_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let bench = Bench::new();
    let mut writer = InEdgeWriter::create(&bench.folder, false).expect("there is room");
    for (target, edges) in random_edges(&mut rng, 5, 200, true) {
        writer.push(target, &edges).expect("there is room");
    }
    let file = writer.finish().expect("there is room");
    let mut payload = Vec::new();
    file.file.get(0, &mut payload).expect("it is whole");
    let mut n_refused = 0;
    for _ in 0..2000 {
        let mut damaged = payload.clone();
        let at = rng.random_range(0..damaged.len());
        match rng.random_range(0..3) {
            0 => damaged.truncate(at),
            1 => damaged[at] ^= 1 << rng.random_range(0..8),
            _ => damaged[at..]
                .iter_mut()
                .for_each(|byte| *byte = rng.random()),
        }
        match InEdgeBlock::read(&damaged) {
            None => n_refused += 1,
            Some(block) => {
                for group in 0..block.n_groups() {
                    block.each_edge(group, |_| ());
                }
            }
        }
    }
    assert!(n_refused > 500, "{n_refused}");
    let mut reader = file.file.read(Vec::new());
    assert!(reader.next().expect("nothing was asked for").is_none());
}
