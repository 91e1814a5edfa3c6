-- The loop is in a function that only reads; a guard compares each process with the one it
-- returns.
--
-- order: dependent
-- off: violated
const N: 3; MAX: 2;
type Proc: scalarset(N);
var
  ticket: array [Proc] of 0..MAX;
  inside: array [Proc] of boolean;
function chosen(p: Proc): boolean;
var best: Proc;
begin
  for q: Proc do
    if ticket[q] > 0 then
      if isundefined(best) then best := q;
      elsif ticket[q] < ticket[best] then best := q;
      end;
    end;
  end;
  return best = p;
end;
startstate for p: Proc do ticket[p] := 0; inside[p] := false; end; end;
ruleset p: Proc do
  rule "draw" ticket[p] < MAX & !inside[p] ==> ticket[p] := ticket[p] + 1; end;
  rule "enter" ticket[p] > 0 & !inside[p] & chosen(p) ==> inside[p] := true; end;
  rule "leave" inside[p] ==> inside[p] := false; ticket[p] := 0; end;
end;
invariant "at most one is inside or tickets are equal"
  forall p: Proc; q: Proc do inside[p] & inside[q] -> p = q end;
