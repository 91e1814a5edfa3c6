-- A message is taken out of the bag and forwarded to all others that have not seen it.
--
-- order: innocent
-- off: verified
-- orbits: 5
const N: 3;
type Node: scalarset(N); Msg: record dst: Node; ttl: 0..1; end;
var
  net: multiset [N] of Msg;
  seen: array [Node] of boolean;
startstate undefine net; for n: Node do seen[n] := false; end; end;
ruleset n: Node do
  rule "publish" multisetcount(i: net, true) = 0 & forall m: Node do !seen[m] end ==>
    var x: Msg;
  begin
    x.dst := n; x.ttl := 1;
    multisetadd(x, net);
  end;
end;
choose i: net do
  rule "forward" net[i].ttl = 1 ==>
    var n: Node; x: Msg;
  begin
    n := net[i].dst;
    multisetremove(i, net);
    seen[n] := true;
    for m: Node do
      if !seen[m] then x.dst := m; x.ttl := 0; multisetadd(x, net); end;
    end;
  end;
  rule "deliver" net[i].ttl = 0 ==> seen[net[i].dst] := true; multisetremove(i, net); end;
end;
rule "forget" multisetcount(i: net, true) = 0 & exists n: Node do seen[n] end ==>
  assert forall n: Node do seen[n] end "everyone has heard";
  for n: Node do seen[n] := false; end;
end;
