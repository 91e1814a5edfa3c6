-- The last element of a loop is read by a call inside `return`.
--
-- order: dependent
-- off: violated
type P: scalarset(3); B: 0..210; R: record f: boolean; end;
var tt: boolean; x: P; boot: B; a: array [P] of boolean; r: R;
function rec(var u: P; var w: P; n: 0..1): R;
var z: R;
begin
  if n = 1 then return rec(w, u, 0); end;
  if !isundefined(u) then x := u; end;
  z.f := true;
  return z;
end;
function F(): R;
var v: P; d: P;
begin
  undefine v; undefine d;
  for p: P do v := p; end;
  return rec(d, v, 1);
end;
rule "go" boot = 200 & exists q: P do a[q] end & isundefined(x) ==>
begin
  r := F();
end;
startstate tt := false; boot := 0; undefine x; r.f := false; for p: P do a[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
invariant isundefined(x) | a[x];
