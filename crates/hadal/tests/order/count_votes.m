-- A loop counts votes; sums do not depend on the order.
--
-- order: innocent
-- off: verified
-- orbits: 10
const N: 4;
type Voter: scalarset(N);
var
  yes: array [Voter] of boolean;
  passed: boolean;
startstate for v: Voter do yes[v] := false; end; passed := false; end;
ruleset v: Voter do
  rule "change mind" yes[v] := !yes[v]; end;
end;
rule "count"
  var n: 0..N;
begin
  n := 0;
  for v: Voter do if yes[v] then n := n + 1; end; end;
  passed := n > N / 2;
end;
rule "veto" passed ==>
  for v: Voter do yes[v] := false; end;
  passed := false;
end;
cover "a vote passes" passed;
