-- Resources are taken in the order of a loop; if the broken one is taken, nothing can go on.
--
-- order: dependent
-- off: violated
const N: 3;
type Res: scalarset(N);
var
  broken: array [Res] of boolean;
  held: Res;
startstate undefine held; for r: Res do broken[r] := false; end; end;
ruleset r: Res do
  rule "break" isundefined(held) & !exists s: Res do broken[s] end ==> broken[r] := true; end;
end;
rule "take" isundefined(held) ==>
  for r: Res do if isundefined(held) then held := r; end; end;
end;
rule "use" !isundefined(held) & !broken[held] ==>
  undefine held;
  for r: Res do broken[r] := false; end;
end;
