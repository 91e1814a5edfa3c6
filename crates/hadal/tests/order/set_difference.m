-- Sets are kept as arrays of flags; union, difference and intersection go element by element.
--
-- order: innocent
-- off: verified
-- orbits: 35
const N: 3;
type Item: scalarset(N);
var have, want, todo: array [Item] of boolean;
startstate for i: Item do have[i] := false; want[i] := false; todo[i] := false; end; end;
ruleset i: Item do
  rule "want" !want[i] ==> want[i] := true; end;
  rule "fetch" todo[i] ==> have[i] := true; todo[i] := false; end;
end;
rule "plan" for i: Item do todo[i] := want[i] & !have[i]; end; end;
rule "keep common"
  for i: Item do have[i] := have[i] & want[i]; want[i] := false; todo[i] := false; end;
end;
invariant "what is to do is wanted" forall i: Item do todo[i] -> want[i] | have[i] end;
