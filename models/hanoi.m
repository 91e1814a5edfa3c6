-- The towers of Hanoi.  The invariant says that the tower never stands on the
-- last peg; the shortest run against it moves DISKS disks in 2^DISKS - 1 moves.
-- A demonstration of long counterexamples.
--
-- With the property taken away (or asking for an impossible position) all
-- 3^DISKS positions are visited.
--
-- expect: violated
-- exit: 1
-- violation: invariant "the tower never gets to the last peg" depth 63

const
  DISKS: 6;

type
  Disk: 1..DISKS;                        -- by size
  Peg:  enum { First, Middle, Last };

var
  on: array [Disk] of Peg;

-- A disk can be moved when no smaller one lies on it, to a peg where it would
-- not come to lie on a smaller one.
function smallestOn(d: Disk; p: Peg): boolean;
begin
  return forall e: Disk do e < d -> on[e] != p end;
end;

ruleset d: Disk; target: Peg do
  rule "move a disk"
    target != on[d] & smallestOn(d, on[d]) & smallestOn(d, target)
  ==>
  begin
    on[d] := target;
  end;
end;

startstate "the tower stands on the first peg"
begin
  for d: Disk do
    on[d] := First;
  end;
end;

invariant "the tower never gets to the last peg"
  exists d: Disk do on[d] != Last end;
