-- The first process is kept in a field of a local record whose other field every iteration assigns.
-- Canonical forms sort processes by age, so the first one always is the youngest one.
--
-- order: dependent
-- off: violated
const N: 4; MAX: 3; BOOT: 200;
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
  var scan: record current: Proc; first: Proc; end;
begin
  for p: Proc do
    scan.current := p;
    if isundefined(scan.first) then scan.first := scan.current; end;
  end;
  owner := scan.first;
end;
invariant "the owner has waited least"
  !isundefined(owner) -> forall p: Proc do age[p] >= age[owner] end;
