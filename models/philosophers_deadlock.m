-- Dining philosophers, the textbook failure: everyone takes the left fork
-- first.  When all N philosophers hold their left fork, every one of them
-- waits for the fork its right neighbour holds.  The checker reports the
-- deadlock with the shortest run leading to it: each philosopher gets hungry
-- and picks up one fork.
--
-- expect: violated
-- exit: 1
-- violation: deadlock depth 10

const
  N: 5;                          -- philosophers, and forks

type
  Seat: 0..N - 1;
  Mood: enum { Thinking, Hungry, HoldsLeft, Eating };

var
  mood:  array [Seat] of Mood;
  taken: array [Seat] of boolean;        -- fork s lies left of seat s

function rightFork(s: Seat): Seat;
begin
  return (s + 1) % N;
end;

ruleset s: Seat do

  rule "get hungry"
    mood[s] = Thinking
  ==>
  begin
    mood[s] := Hungry;
  end;

  rule "take the left fork"
    mood[s] = Hungry & !taken[s]
  ==>
  begin
    taken[s] := true;
    mood[s] := HoldsLeft;
  end;

  rule "take the right fork"
    mood[s] = HoldsLeft & !taken[rightFork(s)]
  ==>
  begin
    taken[rightFork(s)] := true;
    mood[s] := Eating;
  end;

  rule "put both forks down"
    mood[s] = Eating
  ==>
  begin
    taken[s] := false;
    taken[rightFork(s)] := false;
    mood[s] := Thinking;
  end;

end;

startstate "all think"
begin
  for s: Seat do
    mood[s] := Thinking;
    taken[s] := false;
  end;
end;

invariant "neighbours never eat at the same time"
  forall s: Seat do
    mood[s] = Eating -> mood[rightFork(s)] != Eating
  end;
