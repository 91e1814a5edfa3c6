-- A procedure stores its element through a `var` parameter; called in a loop, the last one stays.
--
-- order: dependent
-- off: violated
const N: 3; MAX: 2;
type Proc: scalarset(N);
var
  load: array [Proc] of 0..MAX;
  target: Proc;
procedure note(var best: Proc; p: Proc);
begin
  if load[p] < MAX then best := p; end;
end;
startstate
  for p: Proc do load[p] := 0; end;
  undefine target;
end;
ruleset p: Proc do
  rule "work" isundefined(target) & load[p] < MAX ==> load[p] := load[p] + 1; end;
end;
rule "balance" isundefined(target) ==>
  for p: Proc do note(target, p); end;
end;
rule "give" !isundefined(target) ==> load[target] := MAX; undefine target; end;
rule "idle" isundefined(target) & forall p: Proc do load[p] = MAX end ==>
  for p: Proc do load[p] := 0; end;
end;
invariant "work goes to the least loaded"
  !isundefined(target) -> forall p: Proc do load[target] <= load[p] end;
