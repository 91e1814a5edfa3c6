-- A function with locals of its own is called in every pass; what one call leaves behind, the next
-- one never sees.
--
-- order: innocent
-- off: verified
-- orbits: 17
const N: 3;
type Node: scalarset(N);
var
  value: array [Node] of 0..2;
  rank: array [Node] of 0..N;
function smaller(n: Node): 0..N;
var k: 0..N; x: 0..2;
begin
  k := 0;
  x := value[n];
  for m: Node do
    if value[m] < x then k := k + 1; end;
  end;
  return k;
end;
startstate for n: Node do value[n] := 0; rank[n] := 0; end; end;
ruleset n: Node do
  rule "change" value[n] := (value[n] + 1) % 3; for m: Node do rank[m] := 0; end; end;
end;
rule "rank" for n: Node do rank[n] := smaller(n); end; end;
invariant "at least one is the least" exists n: Node do rank[n] = 0 end;
