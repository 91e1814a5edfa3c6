-- A quantifier over a scalarset looks at every element, so an undefined operand is a fault
-- wherever it stands, even if another element has decided.
--
-- order: innocent
-- off: violated
const N: 3;
type Node: scalarset(N);
var load: array [Node] of 0..2; busy: boolean;
startstate for n: Node do load[n] := 0; end; busy := false; end;
ruleset n: Node do
  rule "work" !isundefined(load[n]) & load[n] < 2 ==> load[n] := load[n] + 1; end;
  rule "crash" !isundefined(load[n]) & load[n] = 2 ==> undefine load[n]; end;
end;
rule "measure" busy := exists n: Node do load[n] = 1 end; end;
