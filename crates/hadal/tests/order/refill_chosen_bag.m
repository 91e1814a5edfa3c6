-- A rule takes a message out of a bag and refills the same bag with one message of each process.
-- The slot it was chosen for is not used again.
--
-- order: innocent
-- off: verified
-- orbits: 17
type
  Proc: scalarset(2);
  Message: record who: Proc; end;
var
  net: multiset [3] of Message;
  up, known: array [Proc] of boolean;
  any: boolean;
startstate
  undefine net; any := false;
  for p: Proc do up[p] := false; known[p] := true; end;
end;
ruleset p: Proc do
  rule "send" multisetcount(i: net, true) = 0 ==>
    var m: Message;
  begin
    m.who := p; multisetadd(m, net);
  end;
  rule "toggle" up[p] := !up[p]; end;
end;
choose i: net do
  rule "broadcast" multisetcount(j: net, true) = 1 ==>
    var m: Message;
  begin
    multisetremove(i, net);
    for p: Proc do
      m.who := p; multisetadd(m, net);
      any := any | up[p] | known[p];
    end;
  end;
  rule "drop" multisetremove(i, net); end;
end;
