-- Dining philosophers at a table that is laid first, step by step as in
-- Promela: a fork on the table is an empty place, and each philosopher puts the
-- left one there and then the right one, and takes them back in that order.
-- One rule lays the table for all; with --cost "laid() ? 3 * N + 2 : 1" it costs
-- as much as an atomic sequence of so many statements, and A* with the number of
-- philosophers who can act (--strategy a-star --heuristic active) then expands
-- 2 N^2 - 3 N + 2 states, of N^3 - N + 1 successors, up to the deadlock.
--
-- expect: violated
-- exit: 1
-- violation: deadlock depth 5
-- scale: N=1000

const
  N: 4;                          -- philosophers, and forks

type
  Seat: 0..N - 1;
  Point: enum { WantsLeft, WantsRight, ReturnsLeft, ReturnsRight };

var
  is_open: boolean;
  at: array [Seat] of Point;
  taken: array [Seat] of boolean;

-- The state in which everyone sits down; no shorter run leads to it again.
function laid(): boolean;
begin
  for s: Seat do
    if at[s] != WantsLeft then
      return false;
    end;
  end;
  return is_open;
end;

rule "lay the table"
  !is_open
==>
begin
  is_open := true;
end;

ruleset s: Seat do

  rule "take the left fork"
    is_open & at[s] = WantsLeft & !taken[s]
  ==>
  begin
    taken[s] := true;
    at[s] := WantsRight;
  end;

  rule "take the right fork"
    is_open & at[s] = WantsRight & !taken[(s + 1) % N]
  ==>
  begin
    taken[(s + 1) % N] := true;
    at[s] := ReturnsLeft;
  end;

  rule "return the left fork"
    is_open & at[s] = ReturnsLeft
  ==>
  begin
    taken[s] := false;
    at[s] := ReturnsRight;
  end;

  rule "return the right fork"
    is_open & at[s] = ReturnsRight
  ==>
  begin
    taken[(s + 1) % N] := false;
    at[s] := WantsLeft;
  end;

end;

startstate "nobody"
begin
  is_open := false;
  for s: Seat do
    at[s] := WantsLeft;
    taken[s] := false;
  end;
end;
