-- A loop over a union starts a sum at the memory and adds the processors. Members of a union always
-- come in their order, and only the processors are interchangeable.
--
-- order: innocent
-- off: verified
-- orbits: 126
type
  Proc: scalarset(2);
  Home: enum { Memory };
  Node: union { Home, Proc };
var
  value: array [Node] of 0..2;
  total: 0..9;
startstate for n: Node do value[n] := 1; end; total := 0; end;
ruleset n: Node do rule "change" value[n] := (value[n] + 1) % 3; end; end;
rule "sum"
  for n: Node do
    if n = Memory then total := value[n]; else total := total + value[n]; end;
  end;
end;
