-- Each pass swaps the two buffers of its element through a local and a procedure with `var`
-- parameters.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3;
type Port: scalarset(N); Data: 0..1;
var front, back: array [Port] of Data;
procedure swap(var a, b: Data);
var t: Data;
begin
  t := a; a := b; b := t;
end;
startstate for p: Port do front[p] := 0; back[p] := 0; end; end;
ruleset p: Port do rule "draw" back[p] = 0 ==> back[p] := 1; end; end;
rule "flip" for p: Port do swap(front[p], back[p]); end; end;
rule "erase"
  var t: Data;
begin
  for p: Port do t := back[p]; back[p] := 0; if t = 1 then front[p] := 0; end; end;
end;
