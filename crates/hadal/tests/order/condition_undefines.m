-- A condition tests that a local is defined and then undefines it, so the statement behind it reads
-- an undefined value. An iteration over a spoilt element faults, one over a done element returns:
-- whichever comes first decides.
--
-- order: dependent
-- off: violated
const BOOT: 200;
type Proc: scalarset(2);
var
  boot: 0..BOOT;
  spoilt, done: array [Proc] of boolean;
  result: 0..2;
function wipe(var x: 0..1): boolean; begin undefine x; return true; end;
function scan(): boolean;
var x: 0..1;
begin
  for p: Proc do
    x := 1;
    if spoilt[p] & !isundefined(x) & wipe(x) then
      if x = 1 then return true; end;
    end;
    if done[p] then return true; end;
  end;
  return false;
end;
startstate
  boot := 0; result := 0;
  for p: Proc do done[p] := false; spoilt[p] := false; end;
end;
rule "boot" boot < BOOT - 1 ==> boot := boot + 1; end;
ruleset p: Proc; q: Proc do
  rule "prepare" boot = BOOT - 1 & p != q ==> done[p] := true; spoilt[q] := true; boot := BOOT; end;
end;
rule "scan" boot = BOOT ==>
  if scan() then result := 1; else result := 2; end;
  for p: Proc do done[p] := false; spoilt[p] := false; end;
  boot := 0;
end;
