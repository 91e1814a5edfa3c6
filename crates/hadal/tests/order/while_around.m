-- A `while` runs the loop until both seats are taken; whoever comes first gets one.
--
-- order: dependent
-- off: violated
const N: 3; SEATS: 2;
type Guest: scalarset(N);
var
  late: array [Guest] of boolean;
  seated: array [Guest] of boolean;
  open: boolean;
startstate
  for g: Guest do late[g] := false; seated[g] := false; end;
  open := true;
end;
ruleset g: Guest do
  rule "come late" open & !exists h: Guest do late[h] end ==> late[g] := true; end;
end;
rule "seat" open ==>
  var n: 0..SEATS;
begin
  n := 0;
  while n < SEATS do
    for g: Guest do
      if n < SEATS & !seated[g] then seated[g] := true; n := n + 1; end;
    end;
  end;
  open := false;
end;
rule "clear" !open ==>
  for g: Guest do late[g] := false; seated[g] := false; end;
  open := true;
end;
invariant "who is late stands" open | forall g: Guest do late[g] -> !seated[g] end;
