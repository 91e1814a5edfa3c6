-- Arrivals and departures are added up in a counter without room for all arrivals at once: whether
-- it leaves its range depends on who is counted first.
--
-- order: dependent
-- off: violated
const N: 3;
type Gate: scalarset(N); Move: enum { None, In, Out };
var
  move: array [Gate] of Move;
  inside: 0..2;
startstate for g: Gate do move[g] := None; end; inside := 1; end;
ruleset g: Gate do
  rule "enter" move[g] = None & inside = 1 & !exists h: Gate do move[h] = Out end ==>
    move[g] := In;
  end;
  rule "exit" move[g] = None & exists h: Gate do move[h] = In end ==> move[g] := Out; end;
  rule "turn back" move[g] != None ==> move[g] := None; end;
end;
rule "count"
  (forall g: Gate do move[g] != None end) & (exists g: Gate do move[g] = Out end)
  & exists g: Gate; h: Gate do g != h & move[g] = In & move[h] = In end
==>
  for g: Gate do
    if move[g] = In then inside := inside + 1; else inside := inside - 1; end;
    move[g] := None;
  end;
end;
rule "close" inside = 2 ==> inside := 1; end;
