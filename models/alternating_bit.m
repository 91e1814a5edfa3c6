-- The alternating bit protocol over lossy channels.  The sender repeats the
-- current item, tagged with one bit, until the receiver acknowledges that bit;
-- then it flips the bit and goes on.  The receiver delivers an item only when
-- its bit is the expected one, and acknowledges whatever arrives.  Both
-- channels are bounded queues which keep the order but may lose any message,
-- also in the middle.
--
-- Items are numbered modulo ITEMS, so that the receiver can check that it gets
-- each one exactly once and in order.
--
-- expect: verified
-- states: 450
-- transitions: 2478
-- depth: 28
-- exit: 0
-- scale: CAPACITY=6 ITEMS=4 states 1536 transitions 14460
-- scale: CAPACITY=10 ITEMS=5 states 14400 transitions 205730

const
  CAPACITY: 3;                   -- messages in flight per direction
  ITEMS:    3;

type
  Bit:    0..1;
  Item:   0..ITEMS - 1;
  Slot:   0..CAPACITY - 1;
  Length: 0..CAPACITY;

  DataChannel: record
    length: Length;
    bit:    array [Slot] of Bit;
    item:   array [Slot] of Item;
  end;
  AckChannel: record
    length: Length;
    bit:    array [Slot] of Bit;
  end;

var
  sendBit:  Bit;
  sendItem: Item;                -- the item being transferred
  wantBit:  Bit;                 -- what the receiver waits for
  wantItem: Item;                -- what it must deliver next
  data:     DataChannel;
  acks:     AckChannel;

procedure dropData(slot: Slot);
begin
  for s: Slot do
    if s >= slot & s + 1 < data.length then
      data.bit[s] := data.bit[s + 1];
      data.item[s] := data.item[s + 1];
    end;
  end;
  data.length := data.length - 1;
  undefine data.bit[data.length];
  undefine data.item[data.length];
end;

procedure dropAck(slot: Slot);
begin
  for s: Slot do
    if s >= slot & s + 1 < acks.length then
      acks.bit[s] := acks.bit[s + 1];
    end;
  end;
  acks.length := acks.length - 1;
  undefine acks.bit[acks.length];
end;

rule "send or repeat the item"
  data.length < CAPACITY
==>
begin
  data.bit[data.length] := sendBit;
  data.item[data.length] := sendItem;
  data.length := data.length + 1;
end;

rule "receive an item"
  data.length > 0 & acks.length < CAPACITY
==>
begin
  if data.bit[0] = wantBit then
    assert data.item[0] = wantItem "item lost, duplicated or out of order";
    wantItem := (wantItem + 1) % ITEMS;
    wantBit := 1 - wantBit;
  end;
  acks.bit[acks.length] := data.bit[0];
  acks.length := acks.length + 1;
  dropData(0);
end;

rule "receive an acknowledgement"
  acks.length > 0
==>
begin
  if acks.bit[0] = sendBit then
    sendBit := 1 - sendBit;
    sendItem := (sendItem + 1) % ITEMS;
  end;
  dropAck(0);
end;

ruleset s: Slot do
  rule "lose an item"
    s < data.length
  ==>
  begin
    dropData(s);
  end;

  rule "lose an acknowledgement"
    s < acks.length
  ==>
  begin
    dropAck(s);
  end;
end;

startstate "nothing sent"
begin
  sendBit := 0;
  sendItem := 0;
  wantBit := 0;
  wantItem := 0;
  data.length := 0;
  undefine data.bit;
  undefine data.item;
  acks.length := 0;
  undefine acks.bit;
end;

invariant "the receiver is level with the sender or one ahead"
  wantItem = sendItem | wantItem = (sendItem + 1) % ITEMS;

invariant "equal bits mean equal items"
  (sendBit = wantBit) = (sendItem = wantItem);

ruleset i: Item do
  liveness "every item can be delivered"
    wantItem = i;
end;
