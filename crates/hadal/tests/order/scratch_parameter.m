-- A procedure uses a `var` parameter as scratch memory in a loop. The caller's local holds what the
-- last iteration left there, and the caller does not read it.
--
-- order: innocent
-- off: verified
-- orbits: 504
type Proc: scalarset(3);
var
  up, reaches: array [Proc] of boolean;
  next: array [Proc] of Proc;
procedure scan(var target: Proc);
begin
  for p: Proc do
    target := next[p];
    if !isundefined(target) then reaches[p] := up[target]; else reaches[p] := false; end;
  end;
end;
startstate for p: Proc do undefine next[p]; up[p] := false; reaches[p] := false; end; end;
ruleset p: Proc do
  rule "toggle" up[p] := !up[p]; end;
  ruleset q: Proc do rule "link" next[p] := q; end; end;
end;
rule "scan" var scratch: Proc; begin scan(scratch); end;
