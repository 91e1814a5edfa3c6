-- A loop over a union of the memory and the processors keeps the last node with a copy.
--
-- order: dependent
-- off: violated
type
  Proc: scalarset(3);
  Home: enum { Memory };
  Node: union { Home, Proc };
var
  copy, fresh: array [Node] of boolean;
  supplier: Node;
startstate
  for n: Node do copy[n] := false; fresh[n] := false; end;
  copy[Memory] := true;
  undefine supplier;
end;
ruleset p: Proc do
  rule "load" isundefined(supplier) & !copy[p] ==> copy[p] := true; end;
  rule "store" isundefined(supplier) & copy[p] & !exists n: Node do fresh[n] end ==>
    fresh[p] := true;
  end;
  rule "evict" isundefined(supplier) & copy[p] & !fresh[p] ==> copy[p] := false; end;
end;
rule "find supplier" isundefined(supplier) ==>
  for n: Node do if copy[n] then supplier := n; end; end;
end;
rule "supply" !isundefined(supplier) ==>
  for n: Node do fresh[n] := false; end;
  undefine supplier;
end;
invariant "fresh data is supplied"
  !isundefined(supplier) & (exists n: Node do fresh[n] end) -> fresh[supplier];
