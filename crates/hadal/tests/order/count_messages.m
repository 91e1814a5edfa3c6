-- Each pass counts the messages for its own node.
--
-- order: innocent
-- off: verified
-- orbits: 25
const N: 3;
type Node: scalarset(N);
var
  net: multiset [2] of Node;
  load: array [Node] of 0..2;
startstate undefine net; for n: Node do load[n] := 0; end; end;
ruleset n: Node do
  rule "send" multisetcount(i: net, true) < 2 ==> multisetadd(n, net); end;
end;
choose i: net do rule "lose" multisetremove(i, net); end; end;
rule "measure" for n: Node do load[n] := multisetcount(i: net, net[i] = n); end; end;
invariant "no more than there can be"
  forall n: Node; m: Node do n != m -> load[n] + load[m] <= 2 end;
