-- Five processes queue up one after the other and the scheduler takes the last one of its loop.
--
-- order: dependent
-- off: violated
const N: 5; MAX: 3;
type Proc: scalarset(N);
var
  asked: array [Proc] of boolean;
  age: array [Proc] of 0..MAX;
  owner: Proc;
startstate
  for p: Proc do asked[p] := false; age[p] := 0; end;
  undefine owner;
end;
ruleset p: Proc do
  rule "ask" isundefined(owner) & !asked[p] ==> asked[p] := true; end;
  rule "wait" asked[p] & age[p] < MAX & isundefined(owner) ==> age[p] := age[p] + 1; end;
end;
rule "grant" isundefined(owner) & forall p: Proc do age[p] >= 2 end ==>
  for p: Proc do if asked[p] then owner := p; end; end;
end;
rule "reset" !isundefined(owner) ==>
  for p: Proc do asked[p] := false; age[p] := 0; end;
  undefine owner;
end;
invariant "the owner has waited longest"
  !isundefined(owner) -> forall p: Proc do age[p] <= age[owner] end;
