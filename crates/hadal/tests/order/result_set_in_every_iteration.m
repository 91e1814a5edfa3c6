-- Every iteration writes the result parameter through a second procedure, and the first iteration
-- that matches returns: what it wrote last stays.
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
procedure set(var x: Proc; p: Proc); begin x := p; end;
procedure find(var out: Proc);
begin
  for p: Proc do
    set(out, p);
    if asked[p] then return; end;
  end;
  error "nobody has asked";
end;
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
  var found: Proc;
begin
  find(found); owner := found;
end;
invariant "the owner has waited least"
  !isundefined(owner) -> forall p: Proc do age[p] >= age[owner] end;
