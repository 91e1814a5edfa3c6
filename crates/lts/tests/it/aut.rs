//! `.aut` texts: what is accepted, what is refused and why.

use expect_test::{Expect, expect};
use hadal_lts::{AutReader, Edge, Error, write_aut};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{edges, from_aut, resources};

#[track_caller]
fn refused(text: &str, expected: Expect) {
    let error = from_aut(text).expect_err("the text is wrong");
    expected.assert_eq(&format!("{error}\n"));
}

fn rewritten(text: &str) -> String {
    let graph = from_aut(text).expect("the text is right");
    let mut out = Vec::new();
    write_aut(&graph, &mut out, &resources()).expect("it can be written");
    String::from_utf8(out).expect("labels are Unicode")
}

#[test]
fn blanks_line_ends_and_quotes_may_be_anywhere() {
    let text = "  des(  1 ,4,3 )\r\n\r\n(0,a,1)\r\n ( 1 , \"a\" ,\t2 ) \r\n\
                (1, \"put(x, \"y\"), (z)\", 0)\r\n(2,\"\",2)";
    assert_eq!(
        rewritten(text),
        "des (1, 4, 3)\n(0, a, 1)\n(1, a, 2)\n(1, \"put(x, \"y\"), (z)\", 0)\n(2, \"\", 2)\n"
    );
}

#[test]
fn edges_in_any_order_are_sorted_by_source() {
    let text = "des (0, 4, 3)\n(2, c, 0)\n(0, b, 1)\n(2, a, 1)\n(0, a, 2)\n";
    let graph = from_aut(text).expect("the text is right");
    let sorted = [
        Edge::new(0, 1, 1),
        Edge::new(0, 2, 2),
        Edge::new(2, 0, 0),
        Edge::new(2, 2, 1),
    ];
    assert_eq!(edges(&graph), sorted);
}

#[test]
fn a_text_in_our_own_style_survives() {
    let text = "des (0, 3, 2)\n(0, i, 1)\n(0, \"G !TRUE\", 1)\n(1, \"a\"b\", 0)\n";
    assert_eq!(rewritten(text), text);
}

#[test]
fn labels_need_not_be_unicode() {
    let text = b"des (0, 1, 1)\n(0, \"\xff\xfe\", 0)\n";
    let graph = hadal_lts::read_aut(&text[..], &resources()).expect("the text is right");
    let mut out = Vec::new();
    write_aut(&graph, &mut out, &resources()).expect("it can be written");
    assert_eq!(out, text);
}

#[test]
fn wrong_headers_are_refused() {
    refused(
        "",
        expect![[r#"
        line 1: the file is empty; it must begin with `des (initial, transitions, states)`
    "#]],
    );
    refused(
        "\n\ndse (0, 0, 1)",
        expect![[r#"
        line 3: expected `des (initial, transitions, states)`
    "#]],
    );
    refused(
        "des (0, 0, 1, 2)",
        expect![[r#"
        line 1: expected `des (initial, transitions, states)`
    "#]],
    );
    refused(
        "des (0, x, 1)",
        expect![[r#"
        line 1: the number of edges is not a number from 0 to 2^64-1: `x`
    "#]],
    );
    refused(
        "des (0, 0, 18446744073709551616)",
        expect![[r#"
        line 1: the number of states is not a number from 0 to 2^64-1: `18446744073709551616`
    "#]],
    );
    refused(
        "des (2, 0, 2)",
        expect![[r#"
            line 1: the initial state 2 is not one of 2 states, which are numbered from 0
        "#]],
    );
}

#[test]
fn wrong_edges_are_refused_with_their_line() {
    refused(
        "des (0, 1, 2)\n(0, a 1)",
        expect![[r#"
        line 2: expected `(from, label, to)`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n0, a, 1",
        expect![[r#"
        line 2: expected `(from, label, to)`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n\n(0, a, -1)",
        expect![[r#"
        line 3: the target state is not a number from 0 to 2^64-1: `-1`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, a, 1)\n(0, a, 1)",
        expect![[r#"
        line 3: there are more edges than the 1 that the header declares
    "#]],
    );
    refused(
        "des (0, 2, 2)\n(0, a, 1)\n",
        expect![[r#"
        line 2: the file ends after 1 of the 2 edges that the header declares
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, a, 2)",
        expect![[r#"
            line 2: the target state 2 is out of range: the header declares 2 states, which are numbered from 0
        "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, , 1)",
        expect![[r#"
        line 2: the label is missing; write "" for an empty one
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, \"a, 1)",
        expect![[r#"
        line 2: the label's quotes do not match: `"a`
    "#]],
    );
}

#[test]
fn probabilities_are_refused_as_such() {
    refused(
        "des (0 1/2 1, 0, 2)",
        expect![[r#"
        line 1: probabilities and rates are not supported: `0 1/2 1`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, a, 0 1/3 1)",
        expect![[r#"
        line 2: probabilities and rates are not supported: `0 1/3 1`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, \"prob 0.5\", 1)",
        expect![[r#"
        line 2: probabilities and rates are not supported: `prob 0.5`
    "#]],
    );
    refused(
        "des (0, 1, 2)\n(0, \"a; rate 2\", 1)",
        expect![[r#"
        line 2: probabilities and rates are not supported: `a; rate 2`
    "#]],
    );
    // An ordinary label that only looks similar.
    from_aut("des (0, 1, 2)\n(0, \"prob high\", 1)").expect("no number, no probability");
}

#[test]
fn memory_is_bounded_by_the_limit_not_by_the_file() {
    let long = format!("des (0, 1, 1)\n(0, {}, 0)", "a".repeat(5000));
    let mut reader = AutReader::new(long.as_bytes(), 4000).expect("the header is short");
    let error = reader.next_edge().expect_err("the line is too long");
    assert_eq!(
        error.to_string(),
        "line 2: the line is longer than 4000 bytes"
    );
    let many = |n: u32| {
        let lines = (0..n).map(|n| format!("(0, label{n}, 0)\n"));
        format!("des (0, {n}, 1)\n{}", lines.collect::<String>())
    };
    let text = many(1000);
    let mut reader = AutReader::new(text.as_bytes(), 4000).expect("the header is short");
    let error = loop {
        match reader.next_edge() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the labels do not fit"),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, Error::LabelMemory { limit: 4000 }),
        "{error}"
    );
    // The same label again and again takes no more.
    let text = format!("des (0, 5000, 1)\n{}", "(0, a, 0)\n".repeat(5000));
    let mut reader = AutReader::new(text.as_bytes(), 4000).expect("the header is short");
    let mut n = 0;
    while reader.next_edge().expect("it fits").is_some() {
        n += 1;
    }
    assert_eq!(n, 5000);
}

#[test]
fn states_beyond_32_bits_are_states() {
    let (n, a) = (1u64 << 40, 1u64 << 32);
    let text = format!(
        "des ({a}, 2, {n})\n({a}, x, {})\n({}, y, {a})\n",
        n - 1,
        n - 1
    );
    assert_eq!(rewritten(&text), text);
    let graph = from_aut(&text).expect("the text is right");
    assert_eq!(graph.counts().initial, a);
    assert!(graph.file_len() < 300, "{}", graph.file_len());
}

/// Edges by the texts of their labels, which are numbered in the order of the file.
fn named(graph: &hadal_lts::Hlts) -> Vec<(u64, Vec<u8>, u64)> {
    let text = |label| graph.labels().bytes(label).to_vec();
    let edges = edges(graph).into_iter();
    edges
        .map(|it| (it.source, text(it.label), it.target))
        .collect()
}

#[test]
fn no_mutation_of_a_text_panics() {
    let text = "des (0, 4, 3)\n(0, \"a(b, c)\", 1)\n(1, i, 2)\r\n(2, \"x\"y\", 0)\n(0, tau, 0)\n";
    let mut random = Pcg64Mcg::seed_from_u64(18);
    let alphabet = b"0123456789(),\" \t\r\ndesiau/.;-\0\xff";
    let (mut n_right, mut n_wrong) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..bytes.len().max(1));
            if bytes.len() < 2 {
                break;
            }
            let byte = alphabet[random.random_range(0..alphabet.len())];
            match random.random_range(0..4) {
                0 => bytes.insert(at, byte),
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at.max(1)),
                _ => bytes[at] = byte,
            }
        }
        match hadal_lts::read_aut(&bytes[..], &resources()) {
            Ok(graph) => {
                // What is accepted can be written, and read again.
                let mut out = Vec::new();
                write_aut(&graph, &mut out, &resources()).expect("labels have no line breaks");
                let again = hadal_lts::read_aut(&out[..], &resources()).expect("we wrote it");
                assert_eq!(named(&again), named(&graph));
                n_right += 1;
            }
            Err(Error::Aut { line, .. }) => {
                assert!((1..=20).contains(&line));
                n_wrong += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(n_right > 1000 && n_wrong > 1000, "{n_right} {n_wrong}");
}
