-- Undefined links are read behind a test.
--
-- order: innocent
-- off: verified
-- orbits: 12
const N: 3;
type Node: scalarset(N);
var parent: array [Node] of Node; orphan: array [Node] of boolean;
startstate undefine parent; for n: Node do orphan[n] := false; end; end;
ruleset n: Node; m: Node do
  rule "adopt" n != m & isundefined(parent[n]) & isundefined(parent[m]) ==>
    parent[n] := m; orphan[n] := false;
  end;
end;
ruleset q: Node do
  rule "leave" exists n: Node do !isundefined(parent[n]) & parent[n] = q end ==>
    for p: Node do
      if !isundefined(parent[p]) & parent[p] = q then undefine parent[p]; orphan[p] := true; end;
    end;
  end;
end;
invariant "orphans have no parent" forall n: Node do orphan[n] -> isundefined(parent[n]) end;
