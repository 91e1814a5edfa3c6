-- A list over plain numbers is compacted in a loop: numbers have an order, the processes in the
-- list have none.
--
-- order: innocent
-- off: verified
-- orbits: 4
const N: 3;
type Proc: scalarset(N); Pos: 0..N - 1;
var
  queue: array [Pos] of Proc;
  n: 0..N;
startstate undefine queue; n := 0; end;
ruleset p: Proc do
  rule "enqueue" n < N & !exists i: Pos do !isundefined(queue[i]) & queue[i] = p end ==>
    queue[n] := p; n := n + 1;
  end;
  rule "leave" exists i: Pos do !isundefined(queue[i]) & queue[i] = p end ==>
    var k: 0..N;
  begin
    k := 0;
    for i: Pos do
      if !isundefined(queue[i]) & queue[i] != p then queue[k] := queue[i]; k := k + 1; end;
    end;
    for i := k to N - 1 do undefine queue[i]; end;
    n := k;
  end;
end;
invariant "no holes" forall i: Pos do isundefined(queue[i]) = (i >= n) end;
