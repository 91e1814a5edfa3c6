-- A counter that saturates adds and subtracts in one loop: the sum depends on the order.
--
-- order: dependent
-- off: violated
const N: 3; TOP: 2;
type Sensor: scalarset(N);
var
  up, ready: array [Sensor] of boolean;
  level: 0..TOP;
startstate
  for s: Sensor do up[s] := true; ready[s] := false; end;
  level := TOP;
end;
ruleset s: Sensor do
  rule "report" !ready[s] ==> ready[s] := true; end;
  rule "fall" !ready[s] & forall t: Sensor do up[t] end ==> up[s] := false; end;
end;
rule "sum" level = TOP & forall s: Sensor do ready[s] end ==>
  for s: Sensor do
    if up[s] then
      if level < TOP then level := level + 1; end;
    else
      if level > 0 then level := level - 1; end;
    end;
    ready[s] := false;
  end;
end;
rule "refill" level < TOP ==> level := TOP; end;
rule "reset" for s: Sensor do up[s] := true; ready[s] := false; end; level := TOP; end;
invariant "the level does not fall" level = TOP;
