-- The grant loop keeps whoever comes last, and the bug shows only after a long boot. Canonical
-- forms sort processes by age, so the last one always is the oldest one.
--
-- order: dependent
-- off: violated
const N: 4; MAX: 3; BOOT: 64;
type Proc: scalarset(N);
var
  boot: 0..BOOT;
  asked: array [Proc] of boolean;
  age: array [Proc] of 0..MAX;
  owner: Proc;
startstate
  boot := 0;
  for p: Proc do asked[p] := false; age[p] := 0; end;
  undefine owner;
end;
rule "boot" boot < BOOT ==> boot := boot + 1; end;
ruleset p: Proc do
  rule "ask" boot = BOOT & !asked[p] ==> asked[p] := true; end;
  rule "wait" asked[p] & age[p] < MAX & isundefined(owner) ==> age[p] := age[p] + 1; end;
  rule "leave" !isundefined(owner) & owner = p ==>
    asked[p] := false; age[p] := 0; undefine owner;
  end;
end;
rule "grant" isundefined(owner) & forall p: Proc do asked[p] end ==>
  for p: Proc do owner := p; end;
end;
invariant "the owner has waited longest"
  !isundefined(owner) -> forall p: Proc do age[p] <= age[owner] end;
