-- A procedure with value parameters adds to the bag of its destination.
--
-- order: innocent
-- off: verified
-- orbits: 6
const N: 3;
type
  Node: scalarset(N);
  Kind: enum { Inv, Ack };
var
  net: array [Node] of multiset [2] of Kind;
procedure send(dst: Node; k: Kind);
begin
  multisetadd(k, net[dst]);
end;
startstate undefine net; end;
ruleset n: Node do
  rule "invalidate" forall m: Node do multisetcount(i: net[m], true) = 0 end ==>
    for m: Node do
      if m != n then send(m, Inv); send(m, Ack); end;
    end;
  end;
  choose i: net[n] do
    rule "receive" net[n][i] = Inv | multisetcount(k: net[n], net[n][k] = Inv) = 0 ==>
      multisetremove(i, net[n]);
    end;
  end;
end;
