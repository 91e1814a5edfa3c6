-- The same cell is reached by a constant of an enumeration and by one of the union around it.
--
-- order: dependent
-- off: violated
type P: scalarset(3); B: 0..210; E: enum {ea, eb}; U: union {P, E};
var tt: boolean; done: boolean; boot: B; a, b: array [P] of boolean; cnt: array [U] of 0..3; 
startstate tt := false; boot := 0; done := false; clear cnt; for p: P do a[p] := false; b[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
rule "go" boot = 200 & exists q: P do a[q] end & !done ==>
var e: E; u: U;
begin
  done := true; e := eb; u := eb;
  for p: P do 
    b[p] := cnt[e] = 1;
    cnt[u] := cnt[u] + 1;
  end;
end;
invariant forall p: P do !(a[p] & b[p]) end;
