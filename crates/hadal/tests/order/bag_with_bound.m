-- The loop adds to a bag as long as there is room, so the first ones get in.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  wants, urgent: array [Node] of boolean;
  queue: multiset [2] of Node;
startstate
  for n: Node do wants[n] := false; urgent[n] := false; end;
  undefine queue;
end;
ruleset n: Node do
  rule "want" !wants[n] ==> wants[n] := true; end;
  rule "hurry" wants[n] & !exists m: Node do urgent[m] end ==> urgent[n] := true; end;
end;
rule "enqueue" forall n: Node do wants[n] end & multisetcount(i: queue, true) = 0 ==>
  for n: Node do
    if wants[n] & multisetcount(i: queue, true) < 2 then
      multisetadd(n, queue);
      wants[n] := false;
    end;
  end;
end;
choose i: queue do
  rule "serve" urgent[queue[i]] := false; multisetremove(i, queue); end;
end;
invariant "the urgent one gets in"
  multisetcount(i: queue, true) < 2
  | forall n: Node do urgent[n] -> multisetcount(i: queue, queue[i] = n) > 0 end;
