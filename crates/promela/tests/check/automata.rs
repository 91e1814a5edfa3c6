//! Automata as text. The points and edges are those that SPIN prints with `pan -d`.

use expect_test::{Expect, expect};
use hadal_promela::automaton::Automaton;
use hadal_promela::program::Action;

use crate::compile_text;

/// The automaton of a process with this body.
fn check(body: &str, expected: Expect) {
    let text = format!("byte x; active proctype P() {{ {body} }}");
    let program = compile_text(&text).program.expect("a program");
    expected.assert_eq(&print(&program.proctypes[0].automaton));
}

fn print(automaton: &Automaton) -> String {
    let mut out = format!("start {}, end {}\n", automaton.start.0, automaton.end.0);
    for (idx, point) in automaton.points.iter().enumerate() {
        let mut marks = String::new();
        for (is_marked, text) in [
            (point.is_end, " end"),
            (point.is_progress, " progress"),
            (point.is_accept, " accept"),
            (point.in_dstep, " d_step"),
        ] {
            marks += if is_marked { text } else { "" };
        }
        out += &format!("{idx}:{marks}\n");
        for edge in &point.edges {
            let keeps = if edge.keeps_control {
                " keeps control"
            } else {
                ""
            };
            let escape = edge.escape.map(|it| format!(" escape {it}"));
            let inner = match &edge.action {
                Action::DStep { entry, exit } => format!(" ({} to {})", entry.0, exit.0),
                _ => String::new(),
            };
            out += &format!(
                "  {}{inner} -> {}{keeps}{}\n",
                edge.text,
                edge.target.0,
                escape.unwrap_or_default()
            );
        }
    }
    out
}

#[test]
fn jumps_are_no_steps() {
    check(
        "goto M; M: x = 1; if :: goto N :: x == 2; goto N fi; N: do :: break :: x = 3 od",
        expect![[r#"
            start 0, end 1
            0:
              x = 1 -> 2
            1:
            2:
              goto N -> 3
              x == 2 -> 3
            3:
              break -> 1
              x = 3 -> 3
        "#]],
    );
}

#[test]
fn jumps_in_an_atomic() {
    check(
        "atomic { x = 1; if :: x == 1 -> goto Out :: x == 2 fi; x = 2 }; Out: atomic { do :: x < 3 -> x++ :: else -> break od }",
        expect![[r#"
            start 0, end 1
            0:
              x = 1 -> 2 keeps control
            1:
            2:
              x == 1 -> 3 keeps control
              x == 2 -> 4 keeps control
            3:
              goto Out -> 5
            4:
              goto -> 6 keeps control
            5:
              x < 3 -> 7 keeps control
              else -> 8 keeps control
            6:
              x = 2 -> 5
            7:
              x++ -> 9 keeps control
            8:
              break -> 10 keeps control
            9:
              x < 3 -> 7 keeps control
              else -> 8 keeps control
            10:
              goto -> 1
        "#]],
    );
}

#[test]
fn blocks_have_points() {
    check(
        "{ do :: x == 1 -> x = 2 :: x == 4; break od }; x = 3",
        expect![[r#"
        start 0, end 1
        0:
          x == 1 -> 2
          x == 4 -> 3
        1:
        2:
          x = 2 -> 4
        3:
          x = 3 -> 1
        4:
          x == 1 -> 2
          x == 4 -> 3
    "#]],
    );
}

#[test]
fn escapes() {
    check(
        "{ x = 1; { x = 2 } unless { x == 4 -> x = 5 } } unless { x == 7 }; end: x = 8",
        expect![[r#"
            start 0, end 1
            0:
              x == 7 -> 2 escape 1
              x = 1 -> 3
            1:
            2: end
              x = 8 -> 1
            3:
              x == 7 -> 2 escape 1
              x == 4 -> 4 escape 0
              x = 2 -> 2
            4:
              x == 7 -> 2 escape 1
              x = 5 -> 2
        "#]],
    );
}

#[test]
fn d_steps_and_loops() {
    check(
        "d_step { x = 1; if :: x == 1 :: else -> x = 3 fi }; byte i; for (i : 1 .. 2) { x++ }; select (i : 0 .. x)",
        expect![[r#"
            start 0, end 1
            0:
              d_step (2 to 3) -> 4
            1:
            2: d_step
              x = 1 -> 5
            3: d_step
            4:
              i = 0 -> 6
            5: d_step
              x == 1 -> 3
              else -> 7
            6:
              i = 1 -> 8
            7: d_step
              x = 3 -> 3
            8:
              i <= 2 -> 9
              else -> 10
            9:
              x++ -> 11
            10:
              i = 0 -> 12
            11:
              i++ -> 8
            12:
              break -> 1
              i < x -> 13
            13:
              i++ -> 12
        "#]],
    );
}
