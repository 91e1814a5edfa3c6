-- The operand of a quantifier calls a function that uses up a budget: those first in order pass,
-- the others do not.
--
-- order: dependent
-- off: violated
const N: 3;
type Task: scalarset(N);
var
  urgent, done: array [Task] of boolean;
  all_done: boolean;
  budget: 0..2;
function run(t: Task): boolean;
begin
  if budget = 0 then return false; end;
  budget := budget - 1;
  done[t] := true;
  return true;
end;
startstate
  for t: Task do urgent[t] := false; done[t] := false; end;
  budget := 2;
  all_done := false;
end;
ruleset t: Task do
  rule "press" budget = 2 & !exists u: Task do urgent[u] end ==> urgent[t] := true; end;
end;
rule "run all" budget = 2 ==> all_done := forall t: Task do run(t) end; end;
rule "refill" budget = 0 ==>
  budget := 2;
  for t: Task do urgent[t] := false; done[t] := false; end;
end;
invariant "urgent tasks are done" budget = 2 | forall t: Task do urgent[t] -> done[t] end;
