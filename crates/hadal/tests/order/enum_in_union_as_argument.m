-- A constant of an enumeration reaches a union through a parameter: one iteration sets one
-- member, another one another member, and the last one wins.
--
-- order: dependent
-- off: violated
type P: scalarset(3); E: enum {ea, eb}; U: union {P, E};
var boot: 0..200; done, tt: boolean; a: array [P] of boolean; u: U;
startstate boot := 0; done := false; tt := false; undefine u; for p: P do a[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
procedure put_it(e: E); begin u := e; end;
rule "go" boot = 200 & exists q: P do a[q] end & !done ==>
begin
  done := true;
  for p: P do
    if a[p] then put_it(ea); else put_it(eb); end;
  end;
end;
invariant isundefined(u) | u = ea;
