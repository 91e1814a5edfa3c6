//! `.hlts` files: what is written is read, and what is damaged is found.

use hadal_lts::{BlockCache, Edge, Error, Hlts, HltsWriter, Walker};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{edges, graph, labels, random_edges, resources, written};

/// Reads all of a file: labels, edges, values.
fn read_all(bytes: Vec<u8>) -> Result<(Vec<Edge>, Vec<u8>), Error> {
    let graph = Hlts::from_bytes(bytes)?;
    let (mut edges, mut values) = (Vec::new(), Vec::new());
    graph.for_each_edge(&resources(), |edge| {
        edges.push(edge);
        Ok(())
    })?;
    graph.for_each_value(|value| {
        values.extend_from_slice(value);
        Ok(())
    })?;
    Ok((edges, values))
}

/// A small file with all that a file can have: values, multiplicities, states without edges.
fn small_file() -> Vec<u8> {
    let mut writer = HltsWriter::new(Vec::new(), 2, 3).expect("memory can be written");
    for state in 0..5u8 {
        writer
            .push_value(&[state, 7, 9])
            .expect("values are in order");
    }
    for (edge, multiplicity) in [
        (Edge::new(0, 1, 4), 1),
        (Edge::new(0, 0, 0), 300),
        (Edge::new(3, 1, 1), 1),
    ] {
        let edge = Edge {
            multiplicity,
            ..edge
        };
        writer.push(edge).expect("edges are in order");
    }
    let labels = labels(&["tick", ""]);
    writer.finish(5, &labels).expect("all is named")
}

#[test]
fn random_graphs_survive_and_can_be_read_at_any_source() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for n_edges in [0, 1, 10, 1000, 40_000] {
        for n_states in [1, 50, 5000] {
            let mut expected = random_edges(&mut random, n_states, n_edges, 40);
            if n_states == 50 {
                for edge in expected.iter_mut().skip(n_edges / 2) {
                    edge.multiplicity = random.random_range(1..500);
                }
            }
            let texts: Vec<String> = (0..40).map(|n| format!("label {n}")).collect();
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            let graph = graph(n_states, &expected, &texts);
            assert_eq!(graph.counts().n_edges, n_edges as u64);
            assert_eq!(graph.labels().text(39), "label 39");
            assert_eq!(edges(&graph), expected);
            for cache_bytes in [0, 100_000, 1 << 30] {
                let cache = BlockCache::new(cache_bytes);
                let mut walker = Walker::new(&graph, &cache);
                let mut found = Vec::new();
                for _ in 0..100 {
                    let source = random.random_range(0..n_states);
                    walker
                        .successors(source, &mut found)
                        .expect("it can be read");
                    let own = expected.iter().filter(|edge| edge.source == source);
                    assert_eq!(found, own.copied().collect::<Vec<_>>());
                }
            }
        }
    }
}

#[test]
fn a_source_with_more_edges_than_a_block_is_one_source() {
    // Targets far apart take several bytes, so these are many blocks.
    let mut expected = vec![Edge::new(3, 0, 1)];
    expected.extend((0..50_000).map(|n| Edge::new(7, 1, n * 7919 % 1_000_003)));
    expected.push(Edge::new(8, 0, 2));
    let graph = graph(1_000_003, &expected, &["a", "b"]);
    assert!(graph.file_len() > 4 * (16 << 10));
    assert_eq!(edges(&graph), expected);
    let cache = BlockCache::new(0);
    let mut walker = Walker::new(&graph, &cache);
    let mut found = Vec::new();
    for (source, n) in [(2, 0), (3, 1), (7, 50_000), (8, 1), (9, 0)] {
        walker
            .successors(source, &mut found)
            .expect("it can be read");
        assert_eq!(found.len(), n, "{source}");
    }
    let info = hadal_lts::Info::of(&graph, &[], &resources()).expect("it can be examined");
    assert_eq!((info.most_out, info.n_deadlocks), (50_000, 1_000_000));
}

#[test]
fn states_beyond_32_bits_survive() {
    let base = (1u64 << 32) + 12_345;
    let mut random = Pcg64Mcg::seed_from_u64(2);
    let shifted = random_edges(&mut random, 1000, 20_000, 3).into_iter();
    let shifted: Vec<Edge> = shifted
        .map(|edge| Edge::new(edge.source + base, edge.label, edge.target + base))
        .collect();
    let graph = graph(base + 1000, &shifted, &["a", "b", "c"]);
    assert_eq!(edges(&graph), shifted);
    let cache = BlockCache::new(1 << 20);
    let mut found = Vec::new();
    let mut walker = Walker::new(&graph, &cache);
    walker
        .successors(base + 500, &mut found)
        .expect("it can be read");
    let own = shifted.iter().filter(|edge| edge.source == base + 500);
    assert_eq!(found, own.copied().collect::<Vec<_>>());
}

#[test]
fn values_can_be_read_at_any_state() {
    for (n_states, len) in [(1u64, 1usize), (10_000, 5), (40, 3000), (3, 40_000)] {
        let value = |state: u64| -> Vec<u8> {
            (0..len)
                .map(|at| (state as usize * 31 + at) as u8)
                .collect()
        };
        let mut writer = HltsWriter::new(Vec::new(), 0, len as u32).expect("memory");
        for state in 0..n_states {
            writer
                .push_value(&value(state))
                .expect("values are in order");
        }
        let bytes = writer.finish(n_states, &labels(&[])).expect("all is there");
        let graph = Hlts::from_bytes(bytes).expect("what was written can be read");
        for state in [0, n_states / 2, n_states - 1] {
            assert_eq!(
                graph.value(state).expect("it can be read"),
                Some(value(state))
            );
        }
        assert_eq!(graph.value(n_states).expect("it can be read"), None);
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = small_file();
    let whole = read_all(bytes.clone()).expect("it is intact");
    assert_eq!(whole.0.len(), 3);
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read_all(flipped) {
            Err(Error::Damaged { .. }) => {}
            Err(Error::NotHlts) if bit < 64 => {}
            other => panic!("bit {bit}: {other:?}"),
        }
    }
}

#[test]
fn every_truncated_file_is_refused() {
    let bytes = small_file();
    for len in 0..bytes.len() {
        match read_all(bytes[..len].to_vec()) {
            Err(Error::Damaged { .. }) => {}
            Err(Error::NotHlts) if len < 8 => {}
            other => panic!("length {len}: {other:?}"),
        }
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(matches!(read_all(longer), Err(Error::Damaged { .. })));
}

#[test]
fn another_version_is_not_damage() {
    let mut bytes = small_file();
    bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
    let checksum = crc32c_of(&bytes[..28]);
    bytes[28..32].copy_from_slice(&checksum.to_le_bytes());
    let error = Hlts::from_bytes(bytes).expect_err("it is of another version");
    assert_eq!(
        error.to_string(),
        "this .hlts file has version 2 of the format; this program reads version 1"
    );
}

/// CRC-32C by its definition, bit by bit.
fn crc32c_of(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (crc & 1).wrapping_neg() & 0x82f6_3b78;
        }
    }
    !crc
}

#[test]
fn blocks_that_change_places_are_found() {
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let expected = random_edges(&mut random, 3000, 60_000, 5);
    let bytes = written(3000, &expected, &["a", "b", "c", "d", "e"]);
    // The first two blocks of edges, by the lengths in their frames.
    let len =
        |at: usize| 24 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().expect("4")) as usize;
    let (first, second) = (32, 32 + len(32));
    let end = second + len(second);
    let swapped = [
        &bytes[..first],
        &bytes[second..end],
        &bytes[first..second],
        &bytes[end..],
    ];
    let error = read_all(swapped.concat()).expect_err("the index names others");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn random_bytes_with_right_checksums_do_not_panic() {
    let mut random = Pcg64Mcg::seed_from_u64(4);
    let bytes = small_file();
    let len = |bytes: &[u8], at: usize| {
        24 + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().expect("4 bytes")) as usize
    };
    let mut n_refused = 0;
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        // Some bytes of a block, frame or payload, then its checksum again.
        let mut places = vec![32];
        while bytes[places[places.len() - 1]..].len() > 72 {
            let at = places[places.len() - 1];
            places.push(at + len(&bytes, at));
        }
        let at = places[random.random_range(0..places.len() - 1)];
        let end = at + len(&bytes, at);
        for _ in 0..random.random_range(1..4) {
            let place = random.random_range(at + 8..end);
            bytes[place] = random.random();
        }
        let checksum = crc32c_of(&bytes[at + 4..end]);
        bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
        match read_all(bytes) {
            Err(Error::Damaged { .. }) => n_refused += 1,
            Err(error) => panic!("{error}"),
            Ok((edges, _)) => {
                assert!(edges.iter().all(|edge| edge.source < 5 && edge.target < 5));
            }
        }
    }
    assert!(n_refused > 5000, "{n_refused}");
}

#[test]
fn a_writer_refuses_what_no_reader_would_take() {
    let mut writer = HltsWriter::new(Vec::new(), 0, 0).expect("memory can be written");
    writer.push(Edge::new(4, 0, 0)).expect("the first edge");
    assert!(matches!(writer.push(Edge::new(3, 0, 0)), Err(Error::Order)));
    let finished = writer.finish(4, &labels(&["a"]));
    assert!(matches!(finished, Err(Error::NoSuchState { state: 4, .. })));
    let mut writer = HltsWriter::new(Vec::new(), 0, 0).expect("memory can be written");
    writer.push(Edge::new(0, 1, 0)).expect("the first edge");
    let finished = writer.finish(1, &labels(&["a"]));
    assert!(matches!(finished, Err(Error::Order)));
}

#[test]
fn an_edge_takes_few_bytes() {
    // A grid numbered in the order of discovery: two edges a state, most of them to new states.
    let side = 300u64;
    let number = |x: u64, y: u64| {
        let sum = x + y;
        let before = match sum < side {
            true => sum * (sum + 1) / 2,
            false => side * side - (2 * side - 1 - sum) * (2 * side - sum) / 2,
        };
        before + x - sum.saturating_sub(side - 1)
    };
    let mut grid = Vec::new();
    for x in 0..side {
        for y in 0..side {
            if x + 1 < side {
                grid.push(Edge::new(number(x, y), 0, number(x + 1, y)));
            }
            if y + 1 < side {
                grid.push(Edge::new(number(x, y), 1, number(x, y + 1)));
            }
        }
    }
    grid.sort_by_key(|edge| (edge.source, edge.target));
    let len = written(side * side, &grid, &["right", "up"]).len();
    let per_edge = len as f64 / grid.len() as f64;
    assert!(per_edge < 2.6, "{per_edge}");
    // Multiplicities cost nothing where all are 1, and one byte an edge where they are small.
    let mut heavy = grid.clone();
    heavy.iter_mut().for_each(|edge| edge.multiplicity = 2);
    let heavy = written(side * side, &heavy, &["right", "up"]).len();
    assert!(heavy > len + grid.len() && heavy < len + grid.len() + grid.len() / 50);
}
