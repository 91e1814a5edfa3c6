-- The votes are counted by a procedure that assumes every vote to be valid and asserts that no one
-- voted twice; an invalid vote hides a double one if it is looked at first.
--
-- order: dependent
-- off: violated
const N: 3;
type Voter: scalarset(N);
var
  votes: array [Voter] of 0..2;
  invalid: array [Voter] of boolean;
  closed: boolean;
procedure check(v: Voter);
begin
  assume !invalid[v];
  assert votes[v] < 2 "no one votes twice";
end;
startstate
  for v: Voter do votes[v] := 0; invalid[v] := false; end;
  closed := false;
end;
ruleset v: Voter do
  rule "spoil" votes[v] = 0 & !exists w: Voter do invalid[w] end ==> invalid[v] := true; end;
  rule "vote" !invalid[v] & votes[v] < 2 & exists w: Voter do invalid[w] end ==>
    votes[v] := votes[v] + 1;
  end;
  rule "withdraw" invalid[v] & forall w: Voter do votes[w] = 0 end ==> invalid[v] := false; end;
  rule "take back" votes[v] > 0 ==> votes[v] := 0; end;
end;
rule "count" for v: Voter do check(v); end; closed := !closed; end;
