-- Both halves of a symmetric matrix are written by nested loops, the same value from both sides.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3;
type City: scalarset(N);
var
  open: array [City] of boolean;
  road: array [City] of array [City] of boolean;
startstate for a: City do open[a] := false; for b: City do road[a][b] := false; end; end; end;
ruleset a: City do rule "open or close" open[a] := !open[a]; end; end;
rule "build"
  for a: City; b: City do
    if a != b & open[a] & open[b] then road[a][b] := true; road[b][a] := true; end;
  end;
end;
rule "flood" for a: City; b: City do road[a][b] := false; end; end;
invariant "roads go both ways" forall a: City; b: City do road[a][b] = road[b][a] end;
