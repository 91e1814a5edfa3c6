-- The grant loop of a lock keeps the last process. No boot counter hides it: there are enough
-- states in front of the first grant.
--
-- order: dependent
-- off: violated
const N: 4; MAX: 4;
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
  rule "ask" !asked[p] ==> asked[p] := true; end;
  rule "wait" asked[p] & age[p] < MAX & isundefined(owner) ==> age[p] := age[p] + 1; end;
  rule "leave" !isundefined(owner) & owner = p ==>
    asked[p] := false; age[p] := 0; undefine owner;
  end;
end;
rule "grant" isundefined(owner) & forall p: Proc do asked[p] & age[p] >= 2 end ==>
  for p: Proc do owner := p; end;
end;
invariant "the owner has waited longest"
  !isundefined(owner) -> forall p: Proc do age[p] <= age[owner] end;
