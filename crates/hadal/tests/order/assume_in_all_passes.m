-- Every pass assumes something of its own element: the firing is abandoned in every order, or in
-- none.
--
-- order: innocent
-- off: verified
-- orbits: 8
const N: 3;
type Node: scalarset(N);
var
  voted: array [Node] of boolean;
  epoch: 0..1;
startstate for n: Node do voted[n] := false; end; epoch := 0; end;
ruleset n: Node do
  rule "vote" !voted[n] ==> voted[n] := true; end;
end;
rule "next epoch"
  for n: Node do assume voted[n]; voted[n] := false; end;
  epoch := 1 - epoch;
end;
