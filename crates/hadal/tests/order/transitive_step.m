-- One step of a transitive closure reads a copy taken before the loop, so all passes see the same.
--
-- order: innocent
-- off: verified
-- orbits: 27
const N: 3;
type Node: scalarset(N); Row: array [Node] of boolean; Matrix: array [Node] of Row;
var reach: Matrix; steps: 0..1;
startstate for a: Node; b: Node do reach[a][b] := false; end; steps := 0; end;
ruleset a: Node; b: Node do
  rule "connect" a != b & steps = 0 & !reach[a][b] ==> reach[a][b] := true; end;
end;
rule "step" steps = 0 ==>
  var old: Matrix;
begin
  old := reach;
  for a: Node do
    for b: Node do
      for c: Node do
        if old[a][b] & old[b][c] then reach[a][c] := true; end;
      end;
    end;
  end;
  steps := 1;
end;
rule "restart" steps = 1 ==> for a: Node; b: Node do reach[a][b] := false; end; steps := 0; end;
