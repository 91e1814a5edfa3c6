-- A call inside `put` changes the index that a loop then uses.
--
-- order: dependent
-- off: violated
type P: scalarset(3); B: 0..210; R: record f: boolean; end; E: enum {e0, e1};
var tt: boolean; done: boolean; boot: B; a, b: array [P] of boolean; cnt: array [E] of 0..3;
function rec(var u: E; var w: E; n: 0..1): R;
var z: R;
begin
  if n = 1 then return rec(w, u, 0); end;
  u := e1;
  z.f := true;
  return z;
end;
startstate tt := false; boot := 0; done := false; cnt[e0] := 0; cnt[e1] := 0; for p: P do a[p] := false; b[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
rule "go" boot = 200 & exists q: P do a[q] end & !done ==>
var v: E; d: E; w: E;
begin
  done := true;
  v := e0; d := e0; w := e1;
  put rec(d, v, 1);
  for p: P do 
    b[p] := cnt[w] = 1;
    cnt[v] := cnt[v] + 1;
  end;
end;
invariant forall p: P do !(a[p] & b[p]) end;
