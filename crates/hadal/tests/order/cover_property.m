-- A cover property asks a function for the first sleeper; with sorted states it may never be a
-- tired one.
--
-- order: dependent
-- off: verified
const N: 3;
type Worker: scalarset(N);
var asleep, tired: array [Worker] of boolean;
function first(): Worker;
begin
  for w: Worker do
    if asleep[w] then return w; end;
  end;
  return undefined;
end;
function first_is_tired(): boolean;
var w: Worker;
begin
  w := first();
  if isundefined(w) then return false; end;
  return tired[w] & exists v: Worker do v != w & asleep[v] & !tired[v] end;
end;
startstate for w: Worker do asleep[w] := false; tired[w] := false; end; end;
ruleset w: Worker do
  rule "tire" !asleep[w] ==> tired[w] := true; end;
  rule "sleep" !asleep[w] ==> asleep[w] := true; end;
  rule "wake" asleep[w] ==> asleep[w] := false; tired[w] := false; end;
end;
cover "the first sleeper is a tired one" first_is_tired();
cover "the first sleeper is a fresh one"
  !first_is_tired() & (exists w: Worker do asleep[w] & tired[w] end)
  & exists w: Worker do asleep[w] & !tired[w] end;
