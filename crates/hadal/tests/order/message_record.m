-- One local record is used for all messages of a loop; every field is written before it is used.
--
-- order: innocent
-- off: verified
-- orbits: 8
const N: 3;
type
  Node: scalarset(N);
  Msg: record to_: Node; hop: 0..1; end;
  Inbox: record full: boolean; msg: Msg; end;
var inbox: array [Node] of Inbox; hop: 0..1;
startstate
  for n: Node do inbox[n].full := false; undefine inbox[n].msg; end;
  hop := 0;
end;
rule "send" forall n: Node do !inbox[n].full end ==>
  var m: Msg;
begin
  for n: Node do
    m.to_ := n;
    m.hop := hop;
    inbox[n].msg := m;
    inbox[n].full := true;
  end;
  hop := 1 - hop;
end;
ruleset n: Node do
  rule "receive" inbox[n].full ==>
    assert inbox[n].msg.to_ = n "delivered to the right node";
    inbox[n].full := false; undefine inbox[n].msg;
  end;
end;
