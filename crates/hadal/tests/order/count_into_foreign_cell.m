-- Each voter adds one to the counter of its candidate: several passes write the same place, and
-- additions commute.
--
-- order: innocent
-- off: verified
-- orbits: 26
type Voter: scalarset(3); Candidate: scalarset(2);
var
  vote: array [Voter] of Candidate;
  tally: array [Candidate] of 0..3;
startstate undefine vote; for c: Candidate do tally[c] := 0; end; end;
ruleset v: Voter; c: Candidate do
  rule "vote" isundefined(vote[v]) ==> vote[v] := c; end;
end;
rule "count"
  (forall c: Candidate do tally[c] = 0 end) & forall v: Voter do !isundefined(vote[v]) end
==>
  for v: Voter do tally[vote[v]] := tally[vote[v]] + 1; end;
  undefine vote;
end;
rule "publish" for c: Candidate do tally[c] := 0; end; end;
invariant "every vote counts" forall c: Candidate; d: Candidate do
  c != d & tally[c] + tally[d] > 0 -> tally[c] + tally[d] = 3
end;
