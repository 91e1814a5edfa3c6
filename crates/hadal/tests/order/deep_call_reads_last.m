-- A long chain of calls reads what the iteration before has assigned.
--
-- order: dependent
-- off: violated
type P: scalarset(3); B: 0..210;
var tt: boolean; x: P; boot: B; a: array [P] of boolean; 
procedure c0(var t: P);
begin if !isundefined(t) then x := t; end; end;
procedure c1(var t: P); begin c0(t); end;
procedure c2(var t: P); begin c1(t); end;
procedure c3(var t: P); begin c2(t); end;
procedure c4(var t: P); begin c3(t); end;
procedure c5(var t: P); begin c4(t); end;
procedure c6(var t: P); begin c5(t); end;
procedure c7(var t: P); begin c6(t); end;
procedure c8(var t: P); begin c7(t); end;
procedure c9(var t: P); begin c8(t); end;
procedure c10(var t: P); begin c9(t); end;
procedure c11(var t: P); begin c10(t); end;
procedure c12(var t: P); begin c11(t); end;
procedure c13(var t: P); begin c12(t); end;
procedure c14(var t: P); begin c13(t); end;
procedure c15(var t: P); begin c14(t); end;
procedure c16(var t: P); begin c15(t); end;
procedure c17(var t: P); begin c16(t); end;
procedure c18(var t: P); begin c17(t); end;
procedure c19(var t: P); begin c18(t); end;
procedure c20(var t: P); begin c19(t); end;
procedure c21(var t: P); begin c20(t); end;
procedure c22(var t: P); begin c21(t); end;
procedure c23(var t: P); begin c22(t); end;
procedure c24(var t: P); begin c23(t); end;
procedure c25(var t: P); begin c24(t); end;
procedure c26(var t: P); begin c25(t); end;
procedure c27(var t: P); begin c26(t); end;
rule "go" boot = 200 & exists q: P do a[q] end & isundefined(x) ==>
var v: P;
begin
  for p: P do c27(v); v := p; end;
end;
startstate tt := false; boot := 0; undefine x;  for p: P do a[p] := false; end; end;
rule boot < 200 ==> boot := boot + 1; end;
rule "tick" boot = 200 ==> tt := !tt; end;
ruleset p: P do rule boot = 200 & forall q: P do !a[q] end ==> a[p] := true; end; end;
invariant isundefined(x) | !a[x];
