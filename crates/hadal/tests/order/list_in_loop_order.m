-- A loop writes the nodes into a list, in an array indexed by numbers: their names leak into the
-- order of the list.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N); Place: 0..N - 1;
var
  level: array [Node] of 0..1;
  list: array [Place] of Node;
  n: 0..N;
startstate
  for x: Node do level[x] := 0; end;
  undefine list;
  n := 0;
end;
ruleset x: Node do
  rule "raise" n = 0 & level[x] = 0 ==> level[x] := 1; end;
end;
rule "collect" n = 0 ==>
  for x: Node do list[n] := x; n := n + 1; end;
end;
rule "scatter" n = N ==>
  undefine list; n := 0;
  for x: Node do level[x] := 0; end;
end;
invariant "the list is sorted"
  n < N | forall i: Place; j: Place do i < j -> level[list[i]] >= level[list[j]] end;
