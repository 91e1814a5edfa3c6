-- An address decoder with a gap.  The function that maps an address to a device
-- covers memory, the serial port and the timer, but one address between them
-- belongs to nobody; for it the function ends without a result.  A master that
-- sweeps the address space with all strides runs into it.
--
-- expect: violated
-- exit: 1
-- violation: no-return depth 4

const
  TOP: 15;

type
  Address: 0..TOP;
  Stride:  1..3;
  Device:  enum { Memory, Serial, Timer };

var
  address:  Address;
  stride:   Stride;
  selected: Device;

function decode(a: Address): Device;
begin
  if a < 8 then
    return Memory;
  elsif a < 12 then
    return Serial;
  elsif a > 12 then
    return Timer;
  end;
  -- address 12 falls through
end;

ruleset s: Stride do
  rule "change the stride"
    s != stride & address = 0
  ==>
  begin
    stride := s;
  end;
end;

rule "next access"
  address + stride <= TOP
==>
begin
  address := address + stride;
  selected := decode(address);
end;

rule "start over"
  address + stride > TOP
==>
begin
  address := 0;
  selected := decode(0);
end;

startstate "at the bottom"
begin
  address := 0;
  stride := 2;
  selected := Memory;
end;

invariant "low addresses are memory"
  address < 8 -> selected = Memory;
