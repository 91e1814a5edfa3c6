-- An assumption leaves out states by what a function says of the first active node, so which
-- states are left out depends on names.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  active, dirty: array [Node] of boolean;
function first_is_clean(): boolean;
begin
  for n: Node do
    if active[n] then return !dirty[n]; end;
  end;
  return true;
end;
startstate for n: Node do active[n] := false; dirty[n] := false; end; end;
ruleset n: Node do
  rule "start" !active[n] ==> active[n] := true; end;
  rule "soil" active[n] & !dirty[n] ==> dirty[n] := true; end;
  rule "stop" active[n] ==> active[n] := false; dirty[n] := false; end;
end;
assume "the first one is clean" first_is_clean();
invariant "clean ones are fewer than two"
  !exists n: Node do dirty[n] end
  | !exists n: Node; m: Node do n != m & active[n] & active[m] & !dirty[n] & !dirty[m] end;
