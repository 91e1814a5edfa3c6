-- A ring buffer with an off-by-one in its fast path.  Single packets are stored
-- with the index wrapped around properly.  The fast path stores a pair at once
-- and wraps only the first index: when the write position is the last slot,
-- the second packet goes behind the end of the array.  Tests with short bursts
-- do not see it; the search needs to bring the write position to the end
-- with room for two packets.
--
-- expect: violated
-- exit: 1
-- violation: index depth 5

const
  SLOTS: 8;

type
  Slot:   0..SLOTS - 1;
  Fill:   0..SLOTS;
  Packet: enum { Control, Payload };

var
  slot: array [Slot] of Packet;          -- undefined: free
  head: Slot;                            -- where to write next
  tail: Slot;                            -- where to read next
  fill: Fill;

ruleset p: Packet do
  rule "store one packet"
    fill < SLOTS
  ==>
  begin
    slot[head] := p;
    head := (head + 1) % SLOTS;
    fill := fill + 1;
  end;
end;

rule "store a pair"
  fill + 2 <= SLOTS
==>
begin
  slot[head] := Control;
  slot[head + 1] := Payload;             -- the bug: not wrapped around
  head := (head + 2) % SLOTS;
  fill := fill + 2;
end;

rule "fetch a packet"
  fill > 0
==>
begin
  undefine slot[tail];
  tail := (tail + 1) % SLOTS;
  fill := fill - 1;
end;

startstate "empty"
begin
  undefine slot;
  head := 0;
  tail := 0;
  fill := 0;
end;

invariant "positions agree with the fill"
  (tail + fill) % SLOTS = head;

invariant "stored packets are there"
  forall s: Slot do
    (s < fill) -> !isundefined(slot[(tail + s) % SLOTS])
  end;
