-- A memory pool with a double free.  Freeing puts a block in front of the free
-- list; a cheap check refuses a block that is at the front already, but not one
-- further down.  A block freed twice with another one in between closes a cycle.
-- The audit, which walks the list and counts the free blocks, then never comes
-- to an end: the checker stops the loop at its limit.
--
-- expect: violated
-- exit: 1
-- violation: loop-limit depth 5

const
  BLOCKS: 4;

type
  Block:  1..BLOCKS;
  Link:   0..BLOCKS;                     -- 0: end of the list
  Status: enum { Free, InUse, Released };

var
  head:   Link;
  next:   array [Block] of Link;
  status: array [Block] of Status;
  audits: boolean;                       -- flips with every audit

procedure free(b: Block);
begin
  next[b] := head;
  head := b;
end;

rule "allocate"
  head != 0
==>
var
  b: Block;
begin
  b := head;
  head := next[b];
  next[b] := 0;
  status[b] := InUse;
end;

ruleset b: Block do

  rule "release"
    status[b] = InUse
  ==>
  begin
    free(b);
    status[b] := Released;               -- the owner still has the address
  end;

  rule "forget the address"
    status[b] = Released
  ==>
  begin
    status[b] := Free;
  end;

  rule "release once more"
    status[b] = Released & head != b       -- the check that is not enough
  ==>
  begin
    free(b);
  end;

end;

rule "audit"
  true
==>
var
  at:    Link;
  count: 0..BLOCKS;
begin
  count := 0;
  at := head;
  while at != 0 do
    count := (count < BLOCKS ? count + 1 : count);
    at := next[at];
  end;
  audits := !audits;
end;

startstate "all blocks free"
begin
  head := BLOCKS;
  for b: Block do
    next[b] := b - 1;
    status[b] := Free;
  end;
  audits := false;
end;
