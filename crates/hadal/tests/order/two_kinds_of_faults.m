-- One pass reads an undefined value and another one leaves the range: the firing fails in every
-- order.
--
-- order: innocent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var next: array [Proc] of Proc; level: array [Proc] of 0..2; used: array [Proc] of boolean;
startstate
  for p: Proc do next[p] := p; level[p] := 0; used[p] := false; end;
end;
ruleset p: Proc do
  rule "unlink" !exists q: Proc do isundefined(next[q]) end ==> undefine next[p]; end;
  rule "rise" level[p] < 2 & !isundefined(next[p]) ==> level[p] := level[p] + 1; end;
end;
rule "raise all"
  (exists p: Proc do isundefined(next[p]) end) & exists p: Proc do level[p] = 2 end
==>
  for p: Proc do
    used[next[p]] := true;
    level[p] := level[p] + 1;
  end;
end;
