-- Twelve elements, more than can be checked in all orders: the loops have to be proved.
--
-- order: innocent
-- off: verified
-- orbits: 4
const N: 12;
type Lamp: scalarset(N);
var on: array [Lamp] of boolean; n: 0..N;
startstate for l: Lamp do on[l] := false; end; n := 0; end;
ruleset l: Lamp do
  rule "switch on" n < 3 & !on[l] ==> on[l] := true; n := n + 1; end;
end;
rule "reset" for l: Lamp do on[l] := false; end; n := 0; end;
rule "recount"
  n := 0;
  for l: Lamp do if on[l] then n := n + 1; end; end;
end;
invariant "no more than three" n <= 3;
