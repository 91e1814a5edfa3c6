-- The predicate of `multisetremovepred` calls a function that uses up a quota, so it removes the
-- first two messages only.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  net: multiset [3] of Node;
  quota: 0..2;
  old: array [Node] of boolean;
function allowed(): boolean;
begin
  if quota > 0 then quota := quota - 1; return true; end;
  return false;
end;
startstate
  undefine net;
  quota := 2;
  for n: Node do old[n] := false; end;
end;
ruleset n: Node do
  rule "send" quota = 2 & multisetcount(i: net, net[i] = n) = 0 ==> multisetadd(n, net); end;
  rule "age" quota = 2 & multisetcount(i: net, net[i] = n) = 1 & !exists m: Node do old[m] end ==>
    old[n] := true;
  end;
end;
rule "deliver" quota = 2 & multisetcount(i: net, true) = 3 ==>
  multisetremovepred(i: net, allowed());
end;
rule "next round" quota = 0 ==>
  quota := 2; undefine net;
  for n: Node do old[n] := false; end;
end;
invariant "old messages are delivered"
  quota = 0 -> multisetcount(i: net, old[net[i]]) = 0;
