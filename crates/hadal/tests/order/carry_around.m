-- Values move from element to element through a local: a rotation in the order of the loop.
--
-- order: dependent
-- off: violated
const N: 3;
type Cell: scalarset(N);
var
  value: array [Cell] of 0..2;
  moved: boolean;
startstate for c: Cell do value[c] := 0; end; moved := false; end;
ruleset c: Cell do
  rule "count" !moved & value[c] < 2 ==> value[c] := value[c] + 1; end;
end;
rule "shift" !moved ==>
  var carry, t: 0..2;
begin
  carry := 0;
  for c: Cell do t := value[c]; value[c] := carry; carry := t; end;
  moved := true;
end;
rule "go on" moved ==> moved := false; for c: Cell do value[c] := 0; end; end;
invariant "the greatest value is shifted out"
  moved -> forall c: Cell do value[c] < 2 end;
