-- A state machine is run over all elements by one loop; a `switch` on its state tells the first
-- element from the second.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N); Role: enum { Nobody, Leader, Deputy, Member };
var
  role: array [Node] of Role;
  slow: array [Node] of boolean;
startstate for n: Node do role[n] := Nobody; slow[n] := false; end; end;
ruleset n: Node do
  rule "slow down" role[n] = Nobody & !exists m: Node do slow[m] end ==> slow[n] := true; end;
end;
rule "appoint" forall n: Node do role[n] = Nobody end ==>
  var next: Role;
begin
  next := Leader;
  for n: Node do
    role[n] := next;
    switch next
      case Leader: next := Deputy;
      case Deputy: next := Member;
      else next := Member;
    end;
  end;
end;
rule "dissolve" forall n: Node do role[n] != Nobody end ==>
  for n: Node do role[n] := Nobody; slow[n] := false; end;
end;
invariant "a slow node is a member"
  forall n: Node do slow[n] & role[n] != Nobody -> role[n] = Member end;
