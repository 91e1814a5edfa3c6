-- Each process gets the number of its pass as a rank, and ranks can be compared.
--
-- order: dependent
-- off: violated
const N: 3;
type Proc: scalarset(N); Rank: 0..N;
var
  rank: array [Proc] of Rank;
  weak: array [Proc] of boolean;
startstate
  for p: Proc do rank[p] := 0; weak[p] := false; end;
end;
ruleset p: Proc do
  rule "weaken" rank[p] = 0 & !exists q: Proc do weak[q] end ==> weak[p] := true; end;
end;
rule "rank" forall p: Proc do rank[p] = 0 end ==>
  var n: Rank;
begin
  n := 0;
  for p: Proc do n := n + 1; rank[p] := n; end;
end;
rule "reset" forall p: Proc do rank[p] > 0 end ==>
  for p: Proc do rank[p] := 0; weak[p] := false; end;
end;
invariant "the weak never lead" forall p: Proc do weak[p] -> rank[p] < N end;
