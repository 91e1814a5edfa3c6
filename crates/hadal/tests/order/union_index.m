-- Arrays over a union of the directory and the caches are cleared and counted in loops.
--
-- order: innocent
-- off: verified
-- orbits: 28
type
  Cache: scalarset(3);
  Home: enum { Dir };
  Node: union { Home, Cache };
var
  copy: array [Node] of boolean;
  n: 0..4;
startstate for x: Node do copy[x] := false; end; copy[Dir] := true; n := 1; end;
ruleset c: Cache do
  rule "load" !copy[c] ==> copy[c] := true; end;
  rule "store" copy[c] ==> for x: Node do if x != c then copy[x] := false; end; end; end;
  rule "write back" copy[c] & !copy[Dir] ==> copy[Dir] := true; copy[c] := false; end;
end;
rule "count" n := 0; for x: Node do if copy[x] then n := n + 1; end; end; end;
invariant "someone has a copy" exists x: Node do copy[x] end;
