-- The winner resets all others.
--
-- order: innocent
-- off: verified
-- orbits: 5
const N: 3;
type Proc: scalarset(N); State: enum { Idle, Trying, Won };
var state: array [Proc] of State;
startstate for p: Proc do state[p] := Idle; end; end;
ruleset q: Proc do
  rule "try" state[q] = Idle & !exists p: Proc do state[p] = Won end ==> state[q] := Trying; end;
  rule "win" state[q] = Trying ==>
    for p: Proc do
      if p != q then state[p] := Idle; else state[p] := Won; end;
    end;
  end;
  rule "rest" state[q] = Won ==> state[q] := Idle; end;
end;
invariant "one winner" forall p: Proc; q: Proc do state[p] = Won & state[q] = Won -> p = q end;
