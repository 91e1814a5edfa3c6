-- Nested loops over two scalarsets: caches and lines.
--
-- order: innocent
-- off: verified
-- orbits: 13
type Cache: scalarset(2); Line: scalarset(2); State: enum { Invalid, Shared, Owned };
var line: array [Cache] of array [Line] of State;
startstate for c: Cache; l: Line do line[c][l] := Invalid; end; end;
ruleset c: Cache; l: Line do
  rule "read" line[c][l] = Invalid ==>
    for d: Cache do if line[d][l] = Owned then line[d][l] := Shared; end; end;
    line[c][l] := Shared;
  end;
  rule "write" line[c][l] != Owned ==>
    for d: Cache do if d != c then line[d][l] := Invalid; end; end;
    line[c][l] := Owned;
  end;
end;
rule "flush"
  for c: Cache do
    for l: Line do
      if line[c][l] = Shared then line[c][l] := Invalid; end;
    end;
  end;
end;
invariant "one owner" forall c: Cache; d: Cache; l: Line do
  c != d & line[c][l] = Owned -> line[d][l] = Invalid
end;
