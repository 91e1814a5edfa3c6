-- A cover statement lies behind an early return: it is hit only if an idle node comes before a
-- busy one.
--
-- order: dependent
-- off: verified
const N: 2;
type Node: scalarset(N);
var busy: array [Node] of boolean;
procedure scan();
begin
  for n: Node do
    if busy[n] then return; end;
    cover exists m: Node do busy[m] end "an idle node is seen before a busy one";
  end;
end;
startstate for n: Node do busy[n] := false; end; end;
ruleset n: Node do
  rule "start" !exists m: Node do busy[m] end ==> busy[n] := true; end;
  rule "stop" busy[n] ==> busy[n] := false; end;
end;
rule "scan" exists n: Node do busy[n] end ==> scan(); end;
