-- Nested loops over one scalarset fill the rows of a matrix that only the outer pass owns.
--
-- order: innocent
-- off: verified
-- orbits: 19
const N: 3;
type Node: scalarset(N);
var
  up: array [Node] of boolean;
  sees: array [Node] of array [Node] of boolean;
startstate
  for n: Node do up[n] := false; for m: Node do sees[n][m] := false; end; end;
end;
ruleset n: Node do
  rule "start" !up[n] ==> up[n] := true; end;
  rule "crash" up[n] ==> up[n] := false; for m: Node do sees[n][m] := false; end; end;
end;
rule "heartbeat"
  for n: Node do
    if up[n] then
      for m: Node do sees[n][m] := up[m]; end;
    end;
  end;
end;
invariant "who is down sees nothing" forall n: Node; m: Node do !up[n] -> !sees[n][m] end;
