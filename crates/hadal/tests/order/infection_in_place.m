-- An infection spreads along links within one loop: those infected in earlier passes infect others
-- in later ones.
--
-- order: dependent
-- off: violated
const N: 3;
type Host: scalarset(N);
var
  link: array [Host] of Host;
  ill: array [Host] of boolean;
  days: 0..1;
startstate
  undefine link;
  for h: Host do ill[h] := false; end;
  days := 0;
end;
ruleset h: Host; g: Host do
  rule "link" h != g & days = 0 & isundefined(link[h]) & (isundefined(link[g]) | link[g] != h) ==>
    link[h] := g;
  end;
end;
ruleset h: Host do
  rule "infect" days = 0 & !exists g: Host do ill[g] end ==> ill[h] := true; end;
end;
rule "spread" days = 0 ==>
  for h: Host do
    if !isundefined(link[h]) & ill[link[h]] then ill[h] := true; end;
  end;
  days := 1;
end;
rule "cure" days = 1 ==>
  undefine link; days := 0;
  for h: Host do ill[h] := false; end;
end;
invariant "one day infects neighbours only" !forall h: Host do ill[h] end;
