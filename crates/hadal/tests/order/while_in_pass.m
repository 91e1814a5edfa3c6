-- Each pass runs a `while` over its own data.
--
-- order: innocent
-- off: verified
-- orbits: 120
const N: 3; MAX: 3;
type Proc: scalarset(N);
var work: array [Proc] of 0..MAX; odd: array [Proc] of boolean;
startstate for p: Proc do work[p] := 0; odd[p] := false; end; end;
ruleset p: Proc do rule "add" work[p] < MAX ==> work[p] := work[p] + 1; end; end;
rule "work off"
  var left: 0..MAX;
begin
  for p: Proc do
    left := work[p];
    odd[p] := false;
    while left > 0 do odd[p] := !odd[p]; left := left - 1; end;
    work[p] := 0;
  end;
end;
