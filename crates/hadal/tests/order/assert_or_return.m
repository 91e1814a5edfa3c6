-- One element fails an assertion and another one makes the procedure return: which comes first?
--
-- order: dependent
-- off: violated
const N: 3;
type Disk: scalarset(N);
  State: enum { Good, Slow, Bad };
var state: array [Disk] of State; used: boolean;
procedure read();
begin
  for d: Disk do
    assert state[d] != Bad "a bad disk is read";
    if state[d] = Good then return; end;
  end;
end;
startstate
  for d: Disk do state[d] := Slow; end;
  used := false;
end;
ruleset d: Disk do
  rule "improve" state[d] = Slow ==> state[d] := Good; end;
  rule "break" state[d] = Slow & exists e: Disk do state[e] = Good end ==> state[d] := Bad; end;
  rule "repair" state[d] != Slow ==> state[d] := Slow; end;
end;
rule "read" exists d: Disk do state[d] = Good end ==> read(); used := !used; end;
