-- `put` prints a field of the peer that a node points to, which is undefined for a node without a
-- peer; a node that is done ends the loop before that.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  peer: array [Node] of Node;
  done: array [Node] of boolean;
  dumped: boolean;
procedure dump();
begin
  for n: Node do
    if done[n] then return; end;
    put done[peer[n]];
  end;
end;
startstate
  for n: Node do peer[n] := n; done[n] := false; end;
  dumped := false;
end;
ruleset n: Node do
  rule "finish" !exists m: Node do done[m] end ==> done[n] := true; end;
  rule "unlink" !done[n] & !isundefined(peer[n]) & exists m: Node do done[m] end ==>
    undefine peer[n];
  end;
  rule "restart" done[n] ==> done[n] := false; for m: Node do peer[m] := m; end; end;
end;
rule "dump" exists n: Node do done[n] end ==> dump(); dumped := !dumped; end;
