-- All messages of a crashed node are removed from the bag at once.
--
-- order: innocent
-- off: verified
-- orbits: 21
const N: 3;
type Node: scalarset(N); Msg: record src: Node; dst: Node; end;
var
  net: multiset [2] of Msg;
  up: array [Node] of boolean;
startstate undefine net; for n: Node do up[n] := true; end; end;
ruleset n: Node; m: Node do
  rule "send" n != m & up[n] & multisetcount(i: net, true) < 2 ==>
    var x: Msg;
  begin
    x.src := n; x.dst := m;
    multisetadd(x, net);
  end;
end;
ruleset n: Node do
  rule "crash" up[n] ==> up[n] := false; multisetremovepred(i: net, !up[net[i].src]); end;
  rule "restart" !up[n] ==> up[n] := true; end;
end;
invariant "no messages of the dead" multisetcount(i: net, !up[net[i].src]) = 0;
