-- The search through the table reads an undefined key unless it ends before that.
--
-- order: dependent
-- off: violated
const N: 3;
type Slot: scalarset(N); Key: 0..1;
var key: array [Slot] of Key; hit: boolean;
function contains(k: Key): boolean;
begin
  for s: Slot do
    if key[s] = k then return true; end;
  end;
  return false;
end;
startstate for s: Slot do key[s] := 0; end; hit := false; end;
ruleset s: Slot do
  rule "delete" !isundefined(key[s]) & exists t: Slot do
    t != s & !isundefined(key[t]) & key[t] = 1
  end ==>
    undefine key[s];
  end;
  rule "insert" isundefined(key[s]) | key[s] = 0 ==> key[s] := 1; end;
  rule "reset" !isundefined(key[s]) ==> key[s] := 0; end;
end;
rule "look up" exists s: Slot do !isundefined(key[s]) & key[s] = 1 end ==> hit := contains(1); end;
