-- The loop assigns the owner through an alias.
--
-- order: dependent
-- off: violated
const N: 5; MAX: 4;
type
  Proc: scalarset(N);
  Lock: record held: boolean; holder: Proc; end;
var
  lock: Lock;
  age: array [Proc] of 0..MAX;
startstate
  lock.held := false;
  for p: Proc do age[p] := 0; end;
end;
ruleset p: Proc do
  rule "wait" !lock.held & age[p] < MAX ==> age[p] := age[p] + 1; end;
end;
rule "grant" !lock.held & forall p: Proc do age[p] >= 2 end ==>
  alias current: lock.holder do
    for p: Proc do
      alias mine: age[p] do
        if mine > 0 then current := p; end;
      end;
    end;
  end;
  lock.held := true;
end;
rule "release" lock.held ==> age[lock.holder] := 0; undefine lock.holder; lock.held := false; end;
invariant "the holder has waited longest"
  lock.held -> forall p: Proc do age[p] <= age[lock.holder] end;
