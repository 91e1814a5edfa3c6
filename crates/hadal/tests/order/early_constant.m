-- A function returns a constant from within the loop, and another one behind it: existence does
-- not depend on the order.
--
-- order: innocent
-- off: verified
-- orbits: 6
const N: 4;
type Reader: scalarset(N);
var
  reading: array [Reader] of boolean;
  writing: boolean;
function someone_reads(): boolean;
begin
  for r: Reader do
    if reading[r] then return true; end;
  end;
  return false;
end;
startstate for r: Reader do reading[r] := false; end; writing := false; end;
ruleset r: Reader do
  rule "read" !writing & !reading[r] ==> reading[r] := true; end;
  rule "leave" reading[r] ==> reading[r] := false; end;
end;
rule "write" !writing & !someone_reads() ==> writing := true; end;
rule "done" writing ==> writing := false; end;
invariant "no one reads while someone writes" !(writing & someone_reads());
