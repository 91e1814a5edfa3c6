-- The rules are innocent; the invariant asks a function that returns the first reader.
--
-- order: dependent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var
  reading, upgraded: array [Proc] of boolean;
function first_reader_upgraded(): boolean;
begin
  for p: Proc do
    if reading[p] then return upgraded[p]; end;
  end;
  return false;
end;
startstate for p: Proc do reading[p] := false; upgraded[p] := false; end; end;
ruleset p: Proc do
  rule "read" !reading[p] ==> reading[p] := true; end;
  rule "upgrade" reading[p] & !exists q: Proc do upgraded[q] end ==> upgraded[p] := true; end;
  rule "leave" reading[p] ==> reading[p] := false; upgraded[p] := false; end;
end;
invariant "an upgraded reader is alone or not the first"
  first_reader_upgraded() -> !exists p: Proc do reading[p] & !upgraded[p] end;
