-- A loop hands out a budget of two to those that want it.
--
-- order: dependent
-- off: violated
const N: 3; FUNDS: 2;
type Dept: scalarset(N);
var
  wants, critical, granted: array [Dept] of boolean;
startstate for d: Dept do wants[d] := false; critical[d] := false; granted[d] := false; end; end;
ruleset d: Dept do
  rule "apply" !wants[d] & !granted[d] ==> wants[d] := true; end;
  rule "escalate" wants[d] & !exists e: Dept do critical[e] end ==> critical[d] := true; end;
end;
rule "decide" forall d: Dept do !granted[d] end & exists d: Dept do wants[d] end ==>
  var left: 0..FUNDS;
begin
  left := FUNDS;
  for d: Dept do
    if wants[d] & left > 0 then left := left - 1; granted[d] := true; end;
    wants[d] := false;
  end;
end;
rule "new year" exists d: Dept do granted[d] end ==>
  for d: Dept do granted[d] := false; critical[d] := false; end;
end;
invariant "critical ones are granted"
  (exists d: Dept do granted[d] end) -> forall d: Dept do critical[d] & !wants[d] -> granted[d] end;
