//! Graphs in files, by their names.

use std::path::Path;

use expect_test::expect;
use hadal_lts::{Error, FileKind, Format, MOST_IN_DOT, open, open_any, read, save};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::{edges, from_aut, graph, random_edges, resources};

#[test]
fn names_say_what_a_file_is() {
    let kind = |name: &str| FileKind::of(Path::new(name)).ok();
    let is = |format, is_compressed| {
        Some(FileKind {
            format,
            is_compressed,
        })
    };
    assert_eq!(kind("a/b.aut"), is(Format::Aut, false));
    assert_eq!(kind("b.HLTS"), is(Format::Hlts, false));
    assert_eq!(kind("b.v2.dot.zst"), is(Format::Dot, true));
    assert_eq!(kind("b.zst"), None);
    assert_eq!(kind("aut"), None);
    assert_eq!(kind("b.aut.gz"), None);
}

#[test]
fn each_format_compressed_and_not_gives_the_same_graph() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let all = random_edges(&mut random, 3000, 30_000, 2);
    let graph = graph(3000, &all, &["push(1, 2)", "i"]);
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    for name in ["g.aut", "g.hlts", "g.aut.zst", "g.hlts.zst"] {
        let path = folder.path().join(name);
        save(&graph, &path, &resources()).expect("it can be written");
        let again = open(&path, &resources()).expect("it can be read");
        assert_eq!(again.counts(), graph.counts());
        let texts = |graph: &hadal_lts::Hlts, edges: Vec<hadal_lts::Edge>| {
            let text = |label| graph.labels().text(label).into_owned();
            let parts = edges
                .into_iter()
                .map(|it| (it.source, text(it.label), it.target));
            parts.collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&again, edges(&again)),
            texts(&graph, all.clone()),
            "{name}"
        );
    }
    let len = |name: &str| {
        folder
            .path()
            .join(name)
            .metadata()
            .expect("it exists")
            .len()
    };
    assert!(len("g.aut.zst") < len("g.aut") / 2);
    assert!(len("g.hlts") < len("g.aut") / 3);
    // Nothing else is left in the folder.
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 4);
}

#[test]
fn conversion_there_and_back_changes_no_byte() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    let graph = graph(100, &random_edges(&mut random, 100, 1000, 2), &["a b", "c"]);
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    let path = |name: &str| folder.path().join(name);
    save(&graph, &path("1.aut"), &resources()).expect("it can be written");
    for (from, to) in [
        ("1.aut", "2.hlts"),
        ("2.hlts", "3.aut"),
        ("3.aut", "4.hlts"),
    ] {
        let graph = open(&path(from), &resources()).expect("it can be read");
        save(&graph, &path(to), &resources()).expect("it can be written");
    }
    let bytes = |name: &str| std::fs::read(path(name)).expect("it exists");
    assert_eq!(bytes("1.aut"), bytes("3.aut"));
    assert_eq!(bytes("2.hlts"), bytes("4.hlts"));
}

#[test]
fn a_file_larger_than_its_memory_is_sorted_on_disk() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut all = random_edges(&mut random, 1000, 60_000, 2);
    let lines = |edges: &[hadal_lts::Edge]| {
        let line =
            |it: &hadal_lts::Edge| format!("({}, l{}, {})\n", it.source, it.label, it.target);
        format!(
            "des (0, 60000, 1000)\n{}",
            edges.iter().map(line).collect::<String>()
        )
    };
    let sorted = lines(&all);
    // By target: as far from the order of sources as can be, each source's edges in order.
    all.sort_by_key(|edge| edge.target);
    let shuffled = lines(&all);
    let mut small = resources();
    small.memory_bytes = 1 << 20;
    let read = |text: &str, resources: &hadal_lts::Resources<'_>| {
        let graph = hadal_lts::read_aut(text.as_bytes(), resources).expect("the text is right");
        let edges = edges(&graph);
        edges
            .into_iter()
            .map(|it| (it.source, it.target))
            .collect::<Vec<_>>()
    };
    all.sort_by_key(|edge| edge.source);
    let expected: Vec<(u64, u64)> = all.iter().map(|it| (it.source, it.target)).collect();
    assert_eq!(read(&shuffled, &small), expected);
    assert_eq!(read(&shuffled, &resources()), expected);
    assert_eq!(read(&sorted, &small), read(&sorted, &resources()));
}

#[test]
fn a_small_graph_is_a_picture() {
    let graph = from_aut("des (1, 2, 2)\n(1, \"say \"hi\"\", 0)\n(0, i, 0)\n").expect("right");
    let mut out = Vec::new();
    hadal_lts::write_dot(&graph, &mut out, &resources()).expect("it is small");
    expect![[r#"
        digraph lts {
          node [shape=circle];
          start [shape=point];
          start -> 1;
          0 -> 0 [label="i"];
          1 -> 0 [label="say \"hi\""];
        }
    "#]]
    .assert_eq(&String::from_utf8_lossy(&out));
    let large = from_aut(&format!("des (0, 0, {})", MOST_IN_DOT + 1)).expect("right");
    let written = hadal_lts::write_dot(&large, &mut Vec::new(), &resources());
    assert!(matches!(written, Err(Error::TooLargeForDot { .. })));
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    let path = folder.path().join("old.aut");
    std::fs::write(&path, "precious").expect("it can be written");
    let graph = graph(1, &[hadal_lts::Edge::new(0, 0, 0)], &["two\nlines"]);
    let saved = save(&graph, &path, &resources());
    assert!(matches!(saved, Err(Error::LineBreak { .. })));
    assert_eq!(std::fs::read(&path).expect("it exists"), b"precious");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
}

#[test]
fn a_compressed_file_that_is_cut_is_an_error() {
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    for name in ["g.aut.zst", "g.hlts.zst"] {
        let path = folder.path().join(name);
        let mut random = Pcg64Mcg::seed_from_u64(8);
        let graph = graph(300, &random_edges(&mut random, 300, 3000, 1), &["a"]);
        save(&graph, &path, &resources()).expect("it can be written");
        let bytes = std::fs::read(&path).expect("it exists");
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("it can be written");
        assert!(open(&path, &resources()).is_err(), "{name}");
    }
}

/// A text has no checksums, but its compressed form has one.
#[test]
fn a_flipped_bit_of_a_compressed_text_is_found() {
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    let lines: String = (0..300)
        .map(|n| format!("({n}, \"step {}\", {})\n", n % 7, n * n % 300))
        .collect();
    let graph = from_aut(&format!("des (0, 300, 300)\n{lines}")).expect("the text is right");
    let path = folder.path().join("graph.aut.zst");
    save(&graph, &path, &resources()).expect("it can be written");
    let bytes = std::fs::read(&path).expect("it is there");
    let mut n_refused = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&path, &flipped).expect("it can be written");
        match open(&path, &resources()) {
            Err(_) => n_refused += 1,
            // What nothing depends on.
            Ok(other) => assert_eq!(edges(&other), edges(&graph), "byte {at}"),
        }
    }
    assert!(n_refused + 10 > bytes.len(), "{n_refused}");
}

#[test]
fn a_raised_flag_stops_reading() {
    let stop = hadal_model::Stop::new();
    stop.raise();
    let resources = hadal_lts::Resources::new(&stop);
    let graph = from_aut("des (0, 1, 1)\n(0, a, 0)\n").expect("right");
    let read = graph.for_each_edge(&resources, |_| Ok(()));
    assert!(matches!(read, Err(Error::Stopped)));
}

#[test]
fn a_file_of_any_name_is_known_by_how_it_begins() {
    let mut random = Pcg64Mcg::seed_from_u64(6);
    let all = random_edges(&mut random, 300, 3000, 2);
    let graph = graph(300, &all, &["push(1, 2)", "i"]);
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    for name in ["g.aut", "g.hlts", "g.aut.zst", "g.hlts.zst"] {
        let path = folder.path().join(name);
        save(&graph, &path, &resources()).expect("it can be written");
        let plain = folder.path().join("graph");
        std::fs::rename(&path, &plain).expect("it can be renamed");
        let again = open_any(&plain, &resources()).expect("it can be read");
        assert_eq!(again.counts(), graph.counts(), "{name}");
        let bytes = std::fs::read(&plain).expect("it is there");
        let again = read(&bytes[..], &resources()).expect("it can be read");
        assert_eq!(edges(&again).len(), all.len(), "{name}");
    }
    for few in [&b""[..], b"h", b"hadal", &[0x28, 0xb5]] {
        assert!(read(few, &resources()).is_err());
    }
}

#[test]
fn a_digest_is_of_the_graph_and_not_of_its_file() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut all = random_edges(&mut random, 3000, 30_000, 2);
    let digest = |graph: &hadal_lts::Hlts| graph.digest(&resources()).expect("it can be read");
    let labels = ["a", "b"];
    let own = digest(&graph(3000, &all, &labels));
    let folder = tempfile::tempdir().expect("there is a folder for scratch files");
    for name in ["g.hlts", "g.hlts.zst"] {
        let path = folder.path().join(name);
        save(&graph(3000, &all, &labels), &path, &resources()).expect("it can be written");
        assert_eq!(
            digest(&open(&path, &resources()).expect("it can be read")),
            own
        );
    }
    let mut others = vec![
        digest(&graph(3001, &all, &labels)),
        digest(&graph(3000, &all, &["a", "c"])),
        digest(&graph(3000, &all[1..], &labels)),
    ];
    for at in [0, 17, 15_000, 29_999] {
        let before = all[at];
        all[at].target = (before.target + 1) % 3000;
        others.push(digest(&graph(3000, &all, &labels)));
        all[at] = before;
        all[at].label ^= 1;
        others.push(digest(&graph(3000, &all, &labels)));
        all[at] = before;
    }
    assert!(others.iter().all(|&other| other != own));
    others.sort_unstable();
    others.dedup();
    assert_eq!(others.len(), 11, "they differ among themselves");
}
