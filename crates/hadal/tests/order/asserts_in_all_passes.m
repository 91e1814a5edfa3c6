-- Several passes fail an assertion. Which one is reported first depends on the order; that the
-- step fails does not.
--
-- order: innocent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var at: array [Proc] of 0..2; seen: boolean;
startstate for p: Proc do at[p] := 0; end; seen := false; end;
ruleset p: Proc do rule "move" at[p] < 2 ==> at[p] := at[p] + 1; end; end;
rule "inspect" forall p: Proc do at[p] > 0 end ==>
  for p: Proc do assert at[p] < 2 "too far"; end;
  seen := !seen;
end;
