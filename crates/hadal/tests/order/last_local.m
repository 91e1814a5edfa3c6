-- A local keeps the last element with work, and is used after the loop.
--
-- order: dependent
-- off: violated
const N: 3; MAX: 2;
type Core: scalarset(N);
var jobs: array [Core] of 0..MAX;
startstate for c: Core do jobs[c] := 0; end; end;
ruleset c: Core do
  rule "spawn" jobs[c] < MAX ==> jobs[c] := jobs[c] + 1; end;
end;
rule "steal" exists c: Core do jobs[c] > 0 end ==>
  var victim: Core;
begin
  for c: Core do if jobs[c] > 0 then victim := c; end; end;
  assert forall c: Core do jobs[c] <= jobs[victim] end "the fullest queue is robbed";
  jobs[victim] := jobs[victim] - 1;
end;
