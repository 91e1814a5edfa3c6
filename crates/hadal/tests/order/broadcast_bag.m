-- An invalidation is sent to all but the sender, into a bag with room for all of them.
--
-- order: innocent
-- off: verified
-- orbits: 8
const N: 3;
type
  Node: scalarset(N);
  Msg: record dst: Node; src: Node; end;
var
  net: multiset [N] of Msg;
  valid: array [Node] of boolean;
startstate undefine net; for n: Node do valid[n] := true; end; end;
ruleset n: Node do
  rule "write" valid[n] & multisetcount(i: net, true) = 0 ==>
    var m: Msg;
  begin
    for d: Node do
      if d != n then
        undefine m;
        m.src := n;
        m.dst := d;
        multisetadd(m, net);
      end;
    end;
  end;
  rule "read" !valid[n] & multisetcount(i: net, true) = 0 ==> valid[n] := true; end;
end;
choose i: net do
  rule "invalidate" valid[net[i].dst] := false; multisetremove(i, net); end;
end;
invariant "nobody writes to itself" multisetcount(i: net, net[i].src = net[i].dst) = 0;
