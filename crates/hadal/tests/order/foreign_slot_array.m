-- The index chosen in the inbox of one server is used on the inbox of another one.
--
-- order: dependent
-- off: violated
type
  Server: scalarset(2);
  Client: scalarset(2);
var inbox: array [Server] of multiset [2] of Client; moved: boolean;
startstate undefine inbox; moved := false; end;
ruleset s: Server; c: Client do
  rule "call"
    multisetcount(i: inbox[s], true) < 2 & multisetcount(i: inbox[s], inbox[s][i] = c) = 0
  ==>
    multisetadd(c, inbox[s]);
  end;
end;
ruleset s: Server; t: Server do
  choose i: inbox[s] do
    rule "forward"
      s != t & multisetcount(k: inbox[s], true) = 2 & multisetcount(k: inbox[t], true) = 1
    ==>
      assert isundefined(inbox[t][i]) | inbox[t][i] = inbox[s][i] "the same client at both";
      moved := !moved;
      multisetremove(i, inbox[s]);
    end;
  end;
end;
rule "drain" forall s: Server do multisetcount(i: inbox[s], true) > 0 end ==> undefine inbox; end;
