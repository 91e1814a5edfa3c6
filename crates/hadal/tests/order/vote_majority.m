-- Votes for each candidate are counted by nested loops over two scalarsets; each outer pass owns
-- its counter.
--
-- order: innocent
-- off: verified
-- orbits: 19
type Voter: scalarset(3); Candidate: scalarset(2);
var
  vote: array [Voter] of Candidate;
  tally: array [Candidate] of 0..3;
startstate undefine vote; for c: Candidate do tally[c] := 0; end; end;
ruleset v: Voter; c: Candidate do
  rule "vote" isundefined(vote[v]) ==> vote[v] := c; end;
end;
rule "count"
  for c: Candidate do
    tally[c] := 0;
    for v: Voter do
      if !isundefined(vote[v]) & vote[v] = c then tally[c] := tally[c] + 1; end;
    end;
  end;
end;
rule "again" undefine vote; for c: Candidate do tally[c] := 0; end; end;
invariant "no more votes than voters" forall c: Candidate; d: Candidate do
  c != d -> tally[c] + tally[d] <= 3
end;
