-- An iteration takes a value of its element into a local, and the condition that tests the local
-- also undefines it. An iteration whose element has a value faults, one whose element is cold
-- returns.
--
-- order: dependent
-- off: violated
const N: 3; BOOT: 200;
type Proc: scalarset(N);
var
  boot: 0..BOOT;
  hot: array [Proc] of boolean;
  last: array [Proc] of 0..1;
  done: boolean;
function wipe(var x: 0..1): boolean; begin undefine x; return true; end;
function look(): boolean;
var x: 0..1;
begin
  for p: Proc do
    x := last[p];
    if !isundefined(x) & wipe(x) then
      if x = 1 then return true; end;
    end;
    if !hot[p] then return true; end;
  end;
  return false;
end;
startstate
  boot := 0; done := false;
  for p: Proc do hot[p] := true; undefine last[p]; end;
end;
rule "boot" boot < BOOT ==> boot := boot + 1; end;
ruleset p: Proc do
  rule "note" boot = BOOT & hot[p] & forall q: Proc do isundefined(last[q]) end ==>
    last[p] := 0;
  end;
  rule "cool" boot = BOOT & isundefined(last[p]) & (forall q: Proc do hot[q] end)
      & (exists q: Proc do !isundefined(last[q]) end) ==>
    hot[p] := false;
  end;
end;
rule "look" boot = BOOT & !done & exists p: Proc do !hot[p] end ==> done := look(); end;
rule "idle" boot = BOOT ==> done := false; end;
