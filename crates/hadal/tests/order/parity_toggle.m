-- Every pass toggles one global bit: an exclusive or, which does not depend on the order.
--
-- order: innocent
-- off: verified
-- orbits: 5
const N: 4;
type Bit: scalarset(N);
var set: array [Bit] of boolean; parity: boolean;
startstate for b: Bit do set[b] := false; end; parity := false; end;
ruleset b: Bit do rule "flip" set[b] := !set[b]; parity := !parity; end; end;
rule "recompute"
  parity := false;
  for b: Bit do if set[b] then parity := !parity; end; end;
end;
rule "clear"
  for b: Bit do if set[b] then parity := !parity; set[b] := false; end; end;
end;
invariant "parity of nothing is even" (forall b: Bit do !set[b] end) -> !parity;
