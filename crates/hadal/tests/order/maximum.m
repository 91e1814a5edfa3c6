-- The greatest ticket is found by a loop with a running maximum.
--
-- order: innocent
-- off: verified
-- orbits: 7
const N: 3; MAX: 3;
type Proc: scalarset(N); Ticket: 0..MAX;
var
  ticket: array [Proc] of Ticket;
startstate for p: Proc do ticket[p] := 0; end; end;
ruleset p: Proc do
  rule "draw" ticket[p] = 0 ==>
    var m: Ticket;
  begin
    m := 0;
    for q: Proc do if ticket[q] > m then m := ticket[q]; end; end;
    if m < MAX then ticket[p] := m + 1; end;
  end;
  rule "leave" ticket[p] > 0 & forall q: Proc do ticket[q] = 0 | ticket[q] >= ticket[p] end ==>
    ticket[p] := 0;
  end;
end;
invariant "tickets differ" forall p: Proc; q: Proc do
  p != q & ticket[p] > 0 -> ticket[p] != ticket[q]
end;
