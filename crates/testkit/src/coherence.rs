//! Murphi models of any length, for measuring what a long text costs before the first state.
//!
//! A directory protocol over a few caches, with as many kinds of transactions as there is room for.
//! Each kind has messages, a procedure, rules and an invariant of its own, so that code grows with
//! the text; only one transaction is active at a time, so that the state space hardly does.

use std::fmt::Write;

/// Lines in front of and behind the transactions, and lines of a transaction.
const FRAME_LINES: usize = 56;
const TRANSACTION_LINES: usize = 50;

/// A model of `n_lines` lines; a hundred and six at least, for it has one transaction.
pub fn model(n_lines: usize) -> String {
    let n = (n_lines.saturating_sub(FRAME_LINES) / TRANSACTION_LINES).max(1);
    let mut text = head(n);
    for number in 0..n {
        text.push_str(&transaction(number));
    }
    text.push_str(TAIL);
    let n_written = text.lines().count();
    for _ in n_written..n_lines {
        text.push_str("-- .\n");
    }
    text
}

fn head(n: usize) -> String {
    let mut kinds = String::new();
    for number in 0..n {
        let _ = write!(
            kinds,
            ", Ask{number}, Fetch{number}, Done{number}, Give{number}"
        );
    }
    format!(
        "-- A directory protocol with {n} kinds of transactions, generated.
const
  NODES: 3;
type
  Node: scalarset(NODES);
  Line: enum {{ Invalid, Shared, Owned }};
  Kind: enum {{ Nothing{kinds} }};
var
  line: array [Node] of Line;
  toHome: array [Node] of Kind;
  toNode: array [Node] of Kind;
  serving: Kind;
  client: Node;

function quiet(): boolean;
begin
  return serving = Nothing &
    forall n: Node do toHome[n] = Nothing & toNode[n] = Nothing end;
end;

function answered(): boolean;
begin
  return forall n: Node do toHome[n] = Nothing & toNode[n] = Nothing end;
end;

startstate
begin
  for n: Node do
    line[n] := Invalid;
    toHome[n] := Nothing;
    toNode[n] := Nothing;
  end;
  serving := Nothing;
  undefine client;
end;

"
    )
}

/// Even ones share a line, odd ones own it.
fn transaction(number: usize) -> String {
    let (what, gives_up, keeps, gets) = match number % 2 {
        0 => ("shared", "line[n] = Owned", "Shared", "Shared"),
        _ => ("owned", "line[n] != Invalid", "Invalid", "Owned"),
    };
    format!(
        "-- Transaction {number}: a line becomes {what}.
procedure recall{number}();
begin
  for n: Node do
    if {gives_up} then
      toNode[n] := Fetch{number};
    end;
  end;
end;

ruleset n: Node do
  rule \"ask {number}\"
    quiet() & line[n] = Invalid
  ==>
    toHome[n] := Ask{number};
  end;

  rule \"serve {number}\"
    toHome[n] = Ask{number} & serving = Nothing
  ==>
    toHome[n] := Nothing;
    serving := Ask{number};
    client := n;
    recall{number}();
  end;

  rule \"give up {number}\"
    toNode[n] = Fetch{number}
  ==>
    toNode[n] := Nothing;
    line[n] := {keeps};
    toHome[n] := Done{number};
  end;

  rule \"hear {number}\"
    toHome[n] = Done{number} ==> toHome[n] := Nothing; end;

  rule \"take {number}\"
    toNode[n] = Give{number}
  ==>
    toNode[n] := Nothing; line[n] := {gets}; serving := Nothing;
  end;
end;

rule \"grant {number}\"
  serving = Ask{number} & !isundefined(client) & answered() ==> toNode[client] := Give{number}; undefine client; end;

invariant \"grant {number} goes to a node without the line\"
  forall n: Node do toNode[n] = Give{number} -> line[n] = Invalid end;

"
    )
}

const TAIL: &str = "-- A node may drop its line whenever nothing is under way.
ruleset n: Node do
  rule \"drop\"
    quiet() & line[n] != Invalid
  ==>
    line[n] := Invalid;
  end;
end;

invariant \"one owner, and nobody beside it\"
  forall a: Node do forall b: Node do
    a != b & line[a] = Owned -> line[b] = Invalid
  end end;
";
