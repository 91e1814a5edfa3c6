-- A rule chosen from one bag fills another one through a local record, and computes a flag from
-- three operands. The bag has room for all.
--
-- order: innocent
-- off: verified
-- orbits: 44
type
  Proc: scalarset(3);
  Message: record who: Proc; end;
var
  net: multiset [2] of Message;
  log: multiset [3] of Message;
  up, known: array [Proc] of boolean;
  any: boolean;
startstate
  undefine net; undefine log; any := false;
  for p: Proc do up[p] := false; known[p] := true; end;
end;
ruleset p: Proc do
  rule "send" multisetcount(i: net, true) < 2 ==>
    var m: Message;
  begin
    m.who := p; multisetadd(m, net);
  end;
  rule "toggle" up[p] := !up[p]; end;
end;
choose i: net do
  rule "broadcast" true ==>
    var m: Message;
  begin
    multisetremove(i, net);
    undefine log;
    any := false;
    for p: Proc do
      m.who := p; multisetadd(m, log);
      any := any | up[p] | known[p];
    end;
  end;
end;
