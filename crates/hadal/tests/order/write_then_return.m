-- Each pass marks its element before it looks whether to return, so the marked ones are those in
-- front of the first hit.
--
-- order: dependent
-- off: verified
const N: 3;
type Node: scalarset(N);
var
  faulty, probed: array [Node] of boolean;
procedure probe();
begin
  for n: Node do
    probed[n] := true;
    if faulty[n] then return; end;
  end;
end;
startstate
  for n: Node do faulty[n] := false; probed[n] := false; end;
end;
ruleset n: Node do
  rule "break" !faulty[n] ==> faulty[n] := true; end;
  rule "repair" faulty[n] & probed[n] ==> faulty[n] := false; end;
end;
rule "probe" probe(); end;
rule "forget" for n: Node do probed[n] := false; end; end;
invariant "a probe finds a fault"
  (exists n: Node do probed[n] end) & (forall n: Node do faulty[n] end)
  -> exists n: Node do probed[n] & faulty[n] end;
