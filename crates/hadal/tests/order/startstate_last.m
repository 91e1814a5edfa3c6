-- The startstate makes the last element of a loop the first owner. Startstates need not be
-- symmetric: this one stands for its renamings.
--
-- order: innocent
-- off: verified
-- orbits: 3
const N: 3;
type Node: scalarset(N);
var
  token: Node;
  asked: array [Node] of boolean;
startstate
  for n: Node do asked[n] := false; token := n; end;
end;
ruleset n: Node do
  rule "ask" token != n & !asked[n] ==> asked[n] := true; end;
  rule "pass" asked[n] ==> asked[n] := false; token := n; end;
end;
invariant "the owner does not ask" !asked[token];
