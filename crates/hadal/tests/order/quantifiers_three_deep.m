-- Quantifiers three deep, in an assignment and in each pass of a loop.
--
-- order: innocent
-- off: verified
-- orbits: 30
const N: 3;
type Node: scalarset(N);
var
  edge: array [Node] of array [Node] of boolean;
  hub: array [Node] of boolean;
  transitive: boolean;
startstate
  for a: Node; b: Node do edge[a][b] := false; end;
  for a: Node do hub[a] := false; end;
  transitive := true;
end;
ruleset a: Node; b: Node do
  rule "connect" a != b & !edge[a][b] & forall h: Node do !hub[h] end ==>
    edge[a][b] := true;
    transitive := forall x: Node do forall y: Node do
      edge[x][y] -> forall z: Node do edge[y][z] & x != z -> edge[x][z] end
    end end;
  end;
end;
rule "find hubs"
  for h: Node do
    hub[h] := exists x: Node do
      edge[x][h] & forall y: Node do
        y = x | y = h | edge[h][y] | !exists z: Node do edge[z][y] end
      end
    end;
  end;
end;
rule "reset"
  for a: Node; b: Node do edge[a][b] := false; end;
  for a: Node do hub[a] := false; end;
  transitive := true;
end;
invariant "hubs are entered" forall h: Node do hub[h] -> exists x: Node do edge[x][h] end end;
