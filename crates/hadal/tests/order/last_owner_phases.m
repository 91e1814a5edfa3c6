-- Phases keep requests, waiting and the grant apart, so that every grant is made among processes
-- that canonical forms have sorted by age.
--
-- order: dependent
-- off: violated
const N: 5; MAX: 4;
type
  Proc: scalarset(N);
  Phase: enum { Waiting, Granting, Working };
var
  phase: Phase;
  age: array [Proc] of 0..MAX;
  owner: Proc;
startstate
  phase := Waiting;
  for p: Proc do age[p] := 0; end;
  undefine owner;
end;
ruleset p: Proc do
  rule "wait" phase = Waiting & age[p] < MAX ==> age[p] := age[p] + 1; end;
  rule "leave" phase = Working & owner = p ==>
    age[p] := 0; undefine owner; phase := Waiting;
  end;
end;
rule "close" phase = Waiting & forall p: Proc do age[p] >= 2 end ==> phase := Granting; end;
rule "grant" phase = Granting ==>
  for p: Proc do owner := p; end;
  phase := Working;
end;
invariant "the owner has waited longest"
  phase = Working -> forall p: Proc do age[p] <= age[owner] end;
