-- Counters that go up one step at a time, change places with a smaller right
-- neighbour, and start over from the top: an easy way to a state space of a size
-- known beforehand, (N + 1)^C, in which every state is needed to decide whether
-- all counters can always be 0 again.  With TRAP = 1 they cannot any more once
-- all are at the top.
--
-- expect: verified
-- states: 1296
-- transitions: 6804
-- depth: 20
-- exit: 0
-- scale: N=30 states 923521 transitions 5034679
-- scale: N=99 states 100000000 transitions 548500000

const
  N: 5;       -- the top
  C: 4;       -- counters
  TRAP: 0;

type
  Value: 0..N;
  Index: 0..C - 1;

var
  x: array [Index] of Value;

function allAre(v: Value): boolean;
begin
  for i: Index do
    if x[i] != v then return false; end;
  end;
  return true;
end;

startstate "zero"
begin
  for i: Index do x[i] := 0; end;
end;

ruleset i: Index do
  rule "up" x[i] < N ==>
  begin
    x[i] := x[i] + 1;
  end;

  rule "start over" x[i] = N & !(TRAP = 1 & allAre(N)) ==>
  begin
    x[i] := 0;
  end;

  rule "change places" i < C - 1 & x[i] > x[(i + 1) % C] ==>
  var v: Value;
  begin
    v := x[i];
    x[i] := x[i + 1];
    x[i + 1] := v;
  end;
end;

invariant "in range" forall i: Index do x[i] <= N end;

liveness "all can start over" allAre(0);
