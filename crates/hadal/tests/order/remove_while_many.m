-- The predicate of `multisetremovepred` counts the bag that it empties: messages in the first
-- slots go, the last one stays.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  inbox: multiset [3] of Node;
  marked: array [Node] of boolean;
  thinned: boolean;
function crowded(): boolean;
begin
  return multisetcount(i: inbox, true) > 1;
end;
startstate
  undefine inbox;
  for n: Node do marked[n] := false; end;
  thinned := false;
end;
ruleset n: Node do
  rule "mark" !exists m: Node do marked[m] end ==> marked[n] := true; end;
  rule "send"
    !thinned & multisetcount(i: inbox, inbox[i] = n) = 0 & exists m: Node do marked[m] end
  ==>
    multisetadd(n, inbox);
  end;
end;
rule "thin out" multisetcount(i: inbox, true) = 3 ==>
  multisetremovepred(i: inbox, crowded());
  thinned := true;
end;
rule "clear" thinned ==>
  thinned := false;
  undefine inbox;
  for n: Node do marked[n] := false; end;
end;
invariant "the marked message is not the one that stays"
  thinned -> forall n: Node do marked[n] -> multisetcount(i: inbox, inbox[i] = n) = 0 end;
