-- The other branch of the same trick: `isundefined(x) | wipe(x)` is false where x was defined, and
-- in the `else` branch x is not defined any more.
--
-- order: dependent
-- off: violated
const BOOT: 200;
type Proc: scalarset(2);
var
  boot: 0..BOOT;
  spoilt, done: array [Proc] of boolean;
  result: 0..2;
function wipe(var x: 0..1): boolean; begin undefine x; return false; end;
function scan(): boolean;
var x: 0..1;
begin
  for p: Proc do
    x := 1;
    if spoilt[p] then
      if isundefined(x) | wipe(x) then else if x = 1 then return true; end; end;
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
