-- A quantifier looks at every element, but one operand makes the firing be abandoned and another
-- one is undefined: the first of them decides what happens.
--
-- order: dependent
-- off: violated
const N: 3;
type Sensor: scalarset(N);
var
  value: array [Sensor] of 0..1;
  masked: array [Sensor] of boolean;
  alarm: boolean;
function above(s: Sensor): boolean;
begin
  assume !masked[s];
  return value[s] > 0;
end;
startstate
  for s: Sensor do value[s] := 0; masked[s] := false; end;
  alarm := false;
end;
ruleset s: Sensor do
  rule "mask" !exists t: Sensor do masked[t] end ==> masked[s] := true; end;
  rule "lose" !masked[s] & exists t: Sensor do masked[t] end ==> undefine value[s]; end;
  rule "unmask" masked[s] & forall t: Sensor do !isundefined(value[t]) end ==>
    masked[s] := false; value[s] := 1 - value[s];
  end;
  rule "recover" isundefined(value[s]) ==> value[s] := 0; end;
end;
rule "poll" alarm := exists s: Sensor do above(s) end; end;
