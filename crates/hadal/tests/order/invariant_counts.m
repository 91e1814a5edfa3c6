-- The invariant is violated, and finds that out by counting in a function.
--
-- order: innocent
-- off: violated
const N: 4; ROOM: 2;
type Car: scalarset(N);
var parked: array [Car] of boolean;
function n_parked(): 0..N;
var n: 0..N;
begin
  n := 0;
  for c: Car do if parked[c] then n := n + 1; end; end;
  return n;
end;
startstate for c: Car do parked[c] := false; end; end;
ruleset c: Car do
  rule "park" !parked[c] ==> parked[c] := true; end;
  rule "leave" parked[c] ==> parked[c] := false; end;
end;
invariant "there is room" n_parked() <= ROOM;
