-- Of 65 cells one is marked and the loop takes the last one. That is the marked one in one case of
-- 65, and there are three orbits only.
--
-- order: dependent
-- off: violated
type Cell: scalarset(65);
var
  marked, taken: Cell;
startstate undefine marked; undefine taken; end;
ruleset c: Cell do
  rule "mark" isundefined(marked) ==> marked := c; end;
end;
rule "take" !isundefined(marked) & isundefined(taken) ==>
  for c: Cell do taken := c; end;
end;
rule "reset" !isundefined(taken) ==> undefine marked; undefine taken; end;
invariant "the marked cell is never taken" isundefined(taken) | marked != taken;
