-- A request is written into the channel of every other node.
--
-- order: innocent
-- off: verified
-- orbits: 4
const N: 3;
type Node: scalarset(N); Kind: enum { None, Ask, Ack };
var
  chan: array [Node] of Kind;
  leader: Node;
startstate for n: Node do chan[n] := None; end; undefine leader; end;
ruleset n: Node do
  rule "ask all" isundefined(leader) ==>
    leader := n;
    for d: Node do
      if d != n then chan[d] := Ask; end;
    end;
  end;
  rule "answer" chan[n] = Ask ==> chan[n] := Ack; end;
end;
rule "finish" !isundefined(leader) & forall d: Node do d = leader | chan[d] = Ack end ==>
  for d: Node do chan[d] := None; end;
  undefine leader;
end;
invariant "the leader gets no request" isundefined(leader) | chan[leader] = None;
