-- A recursive procedure loops with a local that every iteration assigns before it reads it. Each
-- call has its own local.
--
-- order: innocent
-- off: verified
-- orbits: 70
type Proc: scalarset(3);
var
  next: array [Proc] of Proc;
  seen: array [Proc] of 0..1;
procedure visit(depth: 0..2);
var target: Proc;
begin
  for p: Proc do target := next[p]; if !isundefined(target) then seen[p] := 1; end; end;
  if depth > 0 then visit(depth - 1); end;
end;
startstate for p: Proc do undefine next[p]; seen[p] := 0; end; end;
ruleset p: Proc; q: Proc do rule "link" next[p] := q; end; end;
rule "visit" visit(2); end;
