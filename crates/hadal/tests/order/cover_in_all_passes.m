-- A cover statement in a loop that never ends early, and a liveness property of every element.
--
-- order: innocent
-- off: verified
-- orbits: 4
const N: 3;
type Node: scalarset(N);
var warm: array [Node] of boolean;
startstate for n: Node do warm[n] := false; end; end;
ruleset n: Node do
  rule "warm" !warm[n] ==> warm[n] := true; end;
  rule "cool" warm[n] ==> warm[n] := false; end;
end;
rule "inspect"
  for n: Node do
    cover warm[n] & exists m: Node do !warm[m] end "a warm one among cold ones";
    put warm[n];
  end;
end;
ruleset n: Node do
  liveness "can be warm" warm[n];
  cover "alone and warm" warm[n] & forall m: Node do m = n | !warm[m] end;
end;
