-- Alarms are accumulated with `|`, votes with `&`.
--
-- order: innocent
-- off: verified
-- orbits: 80
const N: 3;
type Zone: scalarset(N);
var
  smoke, armed: array [Zone] of boolean;
  alarm, ready: boolean;
startstate
  for z: Zone do smoke[z] := false; armed[z] := false; end;
  alarm := false; ready := false;
end;
ruleset z: Zone do
  rule "smoke" !smoke[z] ==> smoke[z] := true; end;
  rule "air" smoke[z] ==> smoke[z] := false; end;
  rule "arm" !armed[z] ==> armed[z] := true; end;
  rule "disarm" armed[z] ==> armed[z] := false; end;
end;
rule "evaluate"
  alarm := false; ready := true;
  for z: Zone do
    alarm := alarm | smoke[z] & armed[z];
    ready := ready & armed[z];
  end;
end;
