-- All counters are stepped by one loop, each modulo its own limit.
--
-- order: innocent
-- off: verified
-- orbits: 120
const N: 3;
type Timer: scalarset(N);
var
  t: array [Timer] of 0..3;
  on: array [Timer] of boolean;
startstate for x: Timer do t[x] := 0; on[x] := false; end; end;
ruleset x: Timer do rule "switch" on[x] := !on[x]; end; end;
rule "tick" for x: Timer do if on[x] then t[x] := (t[x] + 1) % 4; end; end; end;
