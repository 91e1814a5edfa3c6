-- Each pass takes the lock if it is free and frees it if it is taken: with an odd number of
-- processes the last one has it.
--
-- order: dependent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var
  owner: Proc;
  dead: array [Proc] of boolean;
startstate undefine owner; for p: Proc do dead[p] := false; end; end;
ruleset p: Proc do
  rule "die" isundefined(owner) & forall q: Proc do !dead[q] end ==> dead[p] := true; end;
  rule "revive" dead[p] & isundefined(owner) ==> dead[p] := false; end;
end;
rule "race" isundefined(owner) ==>
  for p: Proc do
    if isundefined(owner) then owner := p; else undefine owner; end;
  end;
end;
rule "free" !isundefined(owner) ==> undefine owner; end;
invariant "the owner lives" isundefined(owner) | !dead[owner];
