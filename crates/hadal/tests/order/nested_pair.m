-- Two nested loops look for a pair that may trade; the last pair stays.
--
-- order: dependent
-- off: violated
const N: 3;
type Agent: scalarset(N);
var
  coins: array [Agent] of 0..2;
  giver, taker: Agent;
startstate
  for a: Agent do coins[a] := 1; end;
  undefine giver; undefine taker;
end;
ruleset a: Agent do
  rule "earn" isundefined(giver) & coins[a] < 2 ==> coins[a] := coins[a] + 1; end;
  rule "spend" isundefined(giver) & coins[a] > 0 ==> coins[a] := coins[a] - 1; end;
end;
rule "match" isundefined(giver) ==>
  for a: Agent do
    for b: Agent do
      if coins[a] > coins[b] then giver := a; taker := b; end;
    end;
  end;
end;
rule "trade" !isundefined(giver) ==>
  coins[giver] := coins[giver] - 1;
  coins[taker] := coins[taker] + 1;
  undefine giver; undefine taker;
end;
invariant "the richest gives"
  !isundefined(giver) -> forall a: Agent do coins[a] <= coins[giver] end;
