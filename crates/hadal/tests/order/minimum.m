-- The least clock is found by a function and all clocks are set back by it, each pass its own.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3; MAX: 3;
type Proc: scalarset(N); Time: 0..MAX;
var clock: array [Proc] of Time;
function least(): Time;
var m: Time;
begin
  m := MAX;
  for p: Proc do if clock[p] < m then m := clock[p]; end; end;
  return m;
end;
startstate for p: Proc do clock[p] := 0; end; end;
ruleset p: Proc do
  rule "tick" clock[p] < MAX ==> clock[p] := clock[p] + 1; end;
end;
rule "set back" least() > 0 ==>
  var m: Time;
begin
  m := least();
  for p: Proc do clock[p] := clock[p] - m; end;
end;
