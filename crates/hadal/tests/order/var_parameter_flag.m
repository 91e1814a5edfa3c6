-- A `var` parameter tells the function whether someone was found already: only the first pass
-- takes the token.
--
-- order: dependent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var
  wants, starving, token: array [Proc] of boolean;
procedure claim(var taken: boolean; var mine: boolean; want: boolean);
begin
  if want & !taken then mine := true; taken := true; end;
end;
startstate
  for p: Proc do wants[p] := false; starving[p] := false; token[p] := false; end;
end;
ruleset p: Proc do
  rule "want" !wants[p] ==> wants[p] := true; end;
  rule "starve" wants[p] & !token[p] & !exists q: Proc do starving[q] end ==>
    starving[p] := true;
  end;
  rule "return" token[p] ==> token[p] := false; wants[p] := false; starving[p] := false; end;
end;
rule "offer" forall p: Proc do !token[p] & wants[p] end ==>
  var taken: boolean;
begin
  taken := false;
  for p: Proc do claim(taken, token[p], wants[p]); end;
end;
invariant "starving ones come first"
  forall p: Proc do token[p] & !starving[p] -> forall q: Proc do !starving[q] | !wants[q] end end;
