-- A function adds up credits and an invariant compares the sum with a total kept by the rules.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3; MAX: 3;
type Node: scalarset(N);
var
  credit: array [Node] of 0..MAX;
  total: 0..N * MAX;
function sum(): 0..N * MAX;
var s: 0..N * MAX;
begin
  s := 0;
  for n: Node do s := s + credit[n]; end;
  return s;
end;
startstate for n: Node do credit[n] := 0; end; total := 0; end;
ruleset n: Node do
  rule "earn" credit[n] < MAX ==> credit[n] := credit[n] + 1; total := total + 1; end;
  rule "pay" credit[n] = MAX ==> total := total - credit[n]; credit[n] := 0; end;
end;
invariant "no credit is lost" sum() = total;
