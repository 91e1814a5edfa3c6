-- A function returns the first process that waits; which one is first depends on their names.
--
-- order: dependent
-- off: violated
const N: 5; MAX: 4;
type Proc: scalarset(N);
var
  age: array [Proc] of 0..MAX;
  running: Proc;

function next(): Proc;
begin
  for p: Proc do
    if age[p] > 0 then return p; end;
  end;
  return undefined;
end;

startstate
  for p: Proc do age[p] := 0; end;
  undefine running;
end;
ruleset p: Proc do
  rule "wait" isundefined(running) & age[p] < MAX ==> age[p] := age[p] + 1; end;
end;
rule "dispatch" isundefined(running) & forall p: Proc do age[p] >= 2 end ==> running := next(); end;
rule "finish" !isundefined(running) ==> age[running] := 0; undefine running; end;
invariant "no one is overtaken"
  !isundefined(running) -> forall p: Proc do age[p] >= age[running] end;
