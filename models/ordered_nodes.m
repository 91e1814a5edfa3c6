-- A model that must be refused.  The nodes are declared interchangeable, yet
-- the rule picks the smaller of two node numbers.  Symmetry reduction would
-- be unsound: renaming the nodes changes what the model does.  A scalarset has
-- no order, no arithmetic and no literals, and the checker has to say so at the
-- comparison instead of checking something else.
--
-- expect: rejected
-- exit: 2

const
  NODES: 3;

type
  Node: scalarset(NODES);

var
  leader:    Node;
  candidate: array [Node] of boolean;

ruleset n: Node do

  rule "stand for election"
    !candidate[n]
  ==>
  begin
    candidate[n] := true;
  end;

  rule "take over from a larger node"
    candidate[n] & n < leader                -- no order on a scalarset
  ==>
  begin
    leader := n;
  end;

end;

ruleset n: Node do
  startstate "any leader"
  begin
    leader := n;
    for m: Node do
      candidate[m] := false;
    end;
  end;
end;

invariant "there is a leader"
  exists n: Node do leader = n end;
