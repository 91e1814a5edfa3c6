-- One element reaches `error`, another one makes the firing be abandoned.
--
-- order: dependent
-- off: violated
const N: 3;
type Peer: scalarset(N);
var
  busy, lost: array [Peer] of boolean;
  round: 0..1;
startstate
  for p: Peer do busy[p] := false; lost[p] := false; end;
  round := 0;
end;
ruleset p: Peer do
  rule "work" busy[p] := !busy[p]; end;
  rule "lose" (exists q: Peer do busy[q] end) & !busy[p] & !lost[p] ==> lost[p] := true; end;
  rule "find" lost[p] ==> lost[p] := false; end;
end;
rule "commit" forall p: Peer do !lost[p] | !busy[p] end & exists p: Peer do busy[p] end ==>
  for p: Peer do
    assume !busy[p];
    if lost[p] then error "a lost peer takes part"; end;
  end;
  round := 1 - round;
end;
