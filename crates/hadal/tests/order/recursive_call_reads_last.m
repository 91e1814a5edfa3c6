-- A call that calls itself with its references exchanged reads what the iteration before has
-- assigned.
--
-- order: dependent
-- off: violated
type P: scalarset(3); B: 0..210;
var tt: boolean; x: P; boot: B; a: array [P] of boolean; 
procedure rec(var u: P; var w: P; n: 0..1);
begin
  if n = 1 then rec(w, u, 0);
  else
    if !isundefined(u) then x := u; end;
  end;
end;
startstate tt := false; boot := 0; undefine x; for p: P do a[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
rule "go" boot = 200 & exists q: P do a[q] end & isundefined(x) ==>
var v: P; d: P;
begin
  undefine v; undefine d;
  for p: P do rec(d, v, 1); v := p; end;
end;
invariant isundefined(x) | !a[x];
