-- A liveness property asks whether the last of those that wait can be the one with the ticket.
--
-- order: dependent
-- off: violated
const N: 3;
type Proc: scalarset(N);
var
  waits, ticket: array [Proc] of boolean;
function last_has_ticket(): boolean;
var found: boolean;
begin
  found := false;
  for p: Proc do
    if waits[p] then found := ticket[p]; end;
  end;
  return found;
end;
startstate for p: Proc do waits[p] := true; ticket[p] := false; end; end;
ruleset p: Proc do
  rule "draw" !exists q: Proc do ticket[q] end ==> ticket[p] := true; end;
  rule "leave" waits[p] & !ticket[p] & (exists q: Proc do waits[q] & ticket[q] end)
    & exists q: Proc do q != p & waits[q] & !ticket[q] end ==> waits[p] := false;
  end;
  rule "come back" !waits[p] ==> waits[p] := true; end;
end;
liveness "the ticket comes last" last_has_ticket();
